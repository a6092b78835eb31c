//! Programs that the user's request names: "use frob", "with `frob`", "the frob tool".

/// Words before the name of a program, and words after it.
const BEFORE: [&str; 12] =
    ["call", "calling", "execute", "install", "installed", "run", "running", "through", "use", "using", "via", "with"];
const AFTER: [&str; 9] = ["binary", "cli", "command", "executable", "library", "model", "package", "program", "tool"];
/// How many words may stand between.
const NEAR: usize = 2;

/// Whether the request names a program as such: quoted, or near a word that tells that it is one. A program whose name is
/// only a word of the request is not named.
pub(super) fn names_program(request: &str, program: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if program.len() < 3 || !program.chars().all(plain) {
        return false;
    }
    if ['`', '\'', '"'].iter().any(|quote| request.contains(&format!("{quote}{program}{quote}"))) {
        return true;
    }
    let words: Vec<&str> = request.split(|c: char| !plain(c)).filter(|word| !word.is_empty()).collect();
    let is = |word: &&str, cues: &[&str]| cues.iter().any(|cue| cue.eq_ignore_ascii_case(word));
    words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(program)).any(|(at, _)| {
        let before = words.get(at.saturating_sub(NEAR)..at).unwrap_or_default();
        let after = words.iter().skip(at + 1).take(NEAR);
        before.iter().any(|word| is(word, &BEFORE)) || after.into_iter().any(|word| is(word, &AFTER))
    })
}

#[cfg(test)]
mod tests {
    use super::names_program;

    #[test]
    fn programs_are_named_as_programs() {
        assert!(names_program("encrypt the files with frob, which I just installed", "frob"));
        assert!(names_program("Train a frob model on data/", "frob"));
        assert!(names_program("why does `frob` fail?", "frob"));
        assert!(names_program("use the new frob tool", "frob"));
        assert!(!names_program("set up the project", "project"));
        assert!(!names_program("clean the frobs", "frob"));
        assert!(!names_program("frob", "frob"));
        assert!(!names_program("", "frob"));
        assert!(!names_program("run a b", "a b"));
    }
}
