//! The profiles of the benchmarks: rules, and the functions that the hosts of their agents provide.

use agrail::effect::python::Library;
use agrail::policy::Source;
use anyhow::{Context as _, Result};

/// Name, policies and examples of each profile. Each applies only to its own `context.agent`.
const POLICIES: [(&str, &str, &str); 2] = [
    ("ehr", include_str!("profiles/ehr/policy.cedar"), include_str!("profiles/ehr/policy.examples.toml")),
    ("web", include_str!("profiles/web/policy.cedar"), include_str!("profiles/web/policy.examples.toml")),
];
const EHR_CALLS: &str = include_str!("profiles/ehr/calls.toml");

/// The policies of all profiles.
pub fn policies() -> Vec<Source> {
    POLICIES
        .into_iter()
        .map(|(name, text, examples)| Source {
            file: format!("{name}/policy.cedar"),
            text: text.to_owned(),
            examples: Some(examples.to_owned()),
            organisation: false,
        })
        .collect()
}

/// The functions that the profiles describe.
///
/// # Errors
/// If the rows do not parse, which a test rules out.
pub fn library() -> Result<Library> {
    toml::from_str(EHR_CALLS).context("eval/profiles/ehr/calls.toml")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use agrail::policy::Policy;

    #[test]
    fn examples_of_all_profiles_hold() {
        let policy = Policy::load(&policies()).unwrap();
        assert!(policy.examples().len() > 20, "{}", policy.examples().len());
        library().unwrap().verify().unwrap();
    }
}
