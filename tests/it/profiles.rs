//! The profiles in `eval/profiles`, for tests of policies and of data agents' code.

use agrail::effect::python::Library;
use agrail::policy::Source;
use std::path::Path;

fn text(name: &str, file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("eval/profiles").join(name);
    std::fs::read_to_string(folder.join(file)).unwrap()
}

/// The policies of a profile, with their examples.
pub fn profile(name: &str) -> Source {
    let (policy, examples) = (text(name, "policy.cedar"), text(name, "policy.examples.toml"));
    Source { file: format!("{name}/policy.cedar"), text: policy, examples: Some(examples), organisation: false }
}

/// The functions that the profile of the EHR agent describes.
pub fn library() -> Library {
    toml::from_str(&text("ehr", "calls.toml")).unwrap()
}
