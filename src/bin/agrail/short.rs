//! Short names of verdicts: the end of the id, as messages show it, or `last`.

use anyhow::{Result, bail};

/// Fewest characters that name a verdict.
const FEWEST: usize = 4;

/// The id that is meant. `known`: ids, oldest first. An id that is not known is returned as it is, if it is whole.
///
/// # Errors
/// If several ids end or begin like this, or none does.
pub fn named(given: &str, known: &[String]) -> Result<String> {
    if given == "last" {
        match known.last() {
            Some(last) => return Ok(last.clone()),
            None => bail!("nothing is recorded yet, so there is no last one"),
        }
    }
    let wanted = given.to_ascii_uppercase();
    if known.contains(&wanted) || wanted.len() >= 26 {
        return Ok(if known.contains(&wanted) { wanted } else { given.to_owned() });
    }
    if wanted.len() < FEWEST {
        bail!("'{given}' is too short to name a verdict; give at least {FEWEST} characters of its id, or 'last'");
    }
    let like: Vec<&String> = known.iter().filter(|id| id.ends_with(&wanted) || id.starts_with(&wanted)).collect();
    match like.as_slice() {
        [one] => Ok((*one).clone()),
        [] => bail!("no verdict has an id that ends or begins with '{given}'"),
        [first, .., last] => {
            bail!("{} verdicts have an id like '{given}', from {first} to {last}; give more of it", like.len())
        }
    }
}

/// The part of an id that messages show.
pub fn shown(id: &str) -> &str {
    id.len().checked_sub(8).and_then(|from| id.get(from..)).unwrap_or(id)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_beginnings_name_one_id() {
        let known = ["01M8JKF48MFW0G68581CB6SB10".to_owned(), "01M8JKF48MFW0G68581CB6SB2A".to_owned()];
        let is = |given: &str| named(given, &known).map_err(|problem| problem.to_string());
        assert_eq!(is("b6sb10").unwrap(), known[0]);
        assert_eq!(is(shown(&known[0])).unwrap(), known[0]);
        assert_eq!(is(&known[1]).unwrap(), known[1]);
        assert_eq!(is("last").unwrap(), known[1]);
        assert!(is("01M8").unwrap_err().starts_with("2 verdicts"));
        assert!(is("A").unwrap_err().contains("too short"));
        assert!(is("ZZZZZZ").unwrap_err().contains("no verdict"));
        assert!(named("last", &[]).is_err());
        assert_eq!(is("01M8JKF48MFW0G68581CB6ZZZZ").unwrap(), "01M8JKF48MFW0G68581CB6ZZZZ");
    }
}
