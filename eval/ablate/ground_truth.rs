//! Ground-truth checklists for kinds of actions (`eval/checklists.toml`), written by hand before any model ran.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::HashMap;

const CATEGORIES: &[&str] = &["confidentiality", "integrity", "availability"];

/// A kind of action.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Name.
    pub name: String,
    /// Verbs of effects that identify the kind.
    pub verbs: Vec<String>,
    /// The checks of a careful expert.
    pub checks: Vec<Wanted>,
}

/// A check that belongs on the list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// `confidentiality`, `integrity` or `availability`.
    pub category: String,
    /// Name.
    pub name: String,
    /// Condition that must be true.
    pub definition: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "kind")]
    kinds: Vec<Kind>,
}

/// All kinds, in the order of matching.
///
/// # Errors
/// If the file does not parse, a category is unknown, a kind has no check, or two kinds share a verb.
pub fn load() -> Result<Vec<Kind>> {
    parse(include_str!("../checklists.toml")).context("eval/checklists.toml")
}

fn parse(text: &str) -> Result<Vec<Kind>> {
    let file: File = toml::from_str(text)?;
    let mut marked: HashMap<&str, &str> = HashMap::new();
    for kind in &file.kinds {
        let name = &kind.name;
        ensure!(!kind.checks.is_empty() && !kind.verbs.is_empty(), "kind \"{name}\" needs verbs and checks");
        for verb in &kind.verbs {
            let other = marked.insert(verb, name);
            ensure!(other.is_none(), "kind \"{name}\": verb \"{verb}\" marks \"{}\" too", other.unwrap_or_default());
        }
        for Wanted { category, name: check, .. } in &kind.checks {
            let known = CATEGORIES.contains(&category.as_str());
            let allowed = CATEGORIES.join(", ");
            ensure!(known, "kind \"{name}\", check \"{check}\": category = \"{category}\"; allowed are {allowed}");
        }
    }
    Ok(file.kinds)
}

/// The first kind, in file order, that has one of the verbs.
#[must_use]
pub fn kind_of<'a>(kinds: &'a [Kind], verbs: &[String]) -> Option<&'a Kind> {
    kinds.iter().find(|kind| kind.verbs.iter().any(|verb| verbs.contains(verb)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shipped_kinds_have_three_to_five_checks_with_names_of_their_own() {
        let kinds = load().unwrap();
        assert_eq!(kinds.len(), 8);
        for kind in &kinds {
            assert!((3..=5).contains(&kind.checks.len()), "{}", kind.name);
            let names: std::collections::HashSet<_> = kind.checks.iter().map(|check| &check.name).collect();
            assert!(names.len() == kind.checks.len() && kind.checks.iter().all(|c| c.definition.ends_with('.')));
        }
    }

    #[test]
    fn the_first_kind_of_the_file_wins() {
        let kinds = load().unwrap();
        let name = |verbs: &[&str]| {
            let verbs: Vec<String> = verbs.iter().map(|verb| (*verb).to_owned()).collect();
            kind_of(&kinds, &verbs).map(|kind| kind.name.as_str())
        };
        assert_eq!(name(&["read", "delete"]), Some("delete"));
        assert_eq!(name(&["read", "write", "send"]), Some("network-send"));
        assert_eq!(name(&["move", "overwrite"]), Some("overwrite-or-move"));
        assert_eq!(name(&["list"]), Some("read-secret"));
        assert_eq!((name(&["unknown"]), name(&[])), (None, None));
    }

    #[test]
    fn mistakes_in_the_file_are_told() {
        let kind = |name: &str, category: &str| {
            format!(
                "[[kind]]\nname = \"{name}\"\nverbs = [\"read\"]\n\
                 checks = [{{ category = \"{category}\", name = \"n\", definition = \"d\" }}]\n"
            )
        };
        let twice = kind("a", "integrity") + &kind("b", "integrity");
        for (text, part) in [(kind("a", "honour"), "confidentiality, integrity"), (twice, "\"read\" marks \"a\" too")] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(parse("[[kind]]\nname = \"a\"\nverbs = []\nchecks = []\n").is_err());
    }
}
