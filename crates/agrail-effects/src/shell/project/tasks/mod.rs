//! Recipes of task runners: which command lines they run.
//!
//! Each format has a reader from its text to the steps that the chosen tasks run, in order. A part that a template or a
//! variable computes is [`crate::UNKNOWN_SPAN`].

mod ansible;
mod cmake;
mod ini;
mod json;
mod just;
mod marked;
mod mix;
mod python;
mod sources;
mod xml;
mod yaml;

use crate::UNKNOWN_SPAN;

/// The folder of the file itself.
pub(super) const BESIDE: &str = "";
/// Most steps of one file.
const MOST: usize = 200;

/// A command line, or other source, that a task runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub language: &'static str,
    pub text: String,
    /// The folder in which it runs, relative to that of the command.
    pub folder: Option<String>,
}

impl Step {
    pub(super) fn shell(text: impl Into<String>) -> Self {
        Step { language: "bash", text: text.into(), folder: None }
    }
}

/// The steps that the chosen tasks of a text run; without a choice, the default task or all. `None` if it does not parse.
type Reader = fn(text: &str, chosen: &[String]) -> Option<Vec<Step>>;

/// The formats by name.
const FORMATS: [(&str, Reader); 28] = [
    ("ansible", |text, _| ansible::steps(text)),
    ("build-xml", |text, _| xml::steps(text)),
    ("cargo-config", |text, _| sources::cargo(text)),
    ("cdk", |text, _| json::cdk(text)),
    ("cmake", |text, _| Some(cmake::steps(text))),
    ("composer", json::composer),
    ("deno-tasks", json::deno),
    ("devcontainer", |text, _| json::devcontainer(text)),
    ("go-generate", |text, _| Some(marked::go_generate(text))),
    ("goreleaser", |text, _| yaml::goreleaser(text)),
    ("gyp", |text, _| Some(marked::gyp(text))),
    ("just", |text, chosen| Some(just::steps(text, chosen))),
    ("lefthook", |text, _| yaml::lefthook(text)),
    ("meson", |text, _| Some(marked::meson(text))),
    ("mix", |text, chosen| Some(mix::steps(text, chosen))),
    ("ninja", |text, _| Some(marked::ninja(text))),
    ("npm-sources", |text, _| sources::npm(text)),
    ("npmrc", |text, _| Some(sources::npmrc(text))),
    ("pre-commit", |text, _| yaml::pre_commit(text)),
    ("procfile", |text, _| Some(marked::procfile(text))),
    ("pylintrc", |text, _| Some(ini::pylintrc(text))),
    ("python-tasks", |text, _| Some(python::steps(text))),
    ("python-test", |text, _| Some(python::tests(text))),
    ("requirements", |text, _| Some(sources::requirements(text))),
    // settings that run nothing themselves, but name files of code
    ("settings", |_, _| Some(Vec::new())),
    ("taskfile", yaml::taskfile),
    ("terraform", |text, _| Some(marked::terraform(text))),
    ("tox", |text, chosen| Some(ini::steps(text, chosen))),
];

/// Whether there is a format with that name.
pub(super) fn is_format(name: &str) -> bool {
    FORMATS.iter().any(|(format, _)| *format == name)
}

/// The steps of a text in a format. `None` if there is no such format. A text that does not parse has no steps.
pub(super) fn steps(format: &str, text: &str, chosen: &[String]) -> Option<Vec<Step>> {
    let (_, read) = FORMATS.iter().find(|(name, _)| *name == format)?;
    let mut steps = read(text, chosen).unwrap_or_default();
    steps.truncate(MOST);
    Some(steps)
}

/// Replaces what `open` and `close` enclose by its value; [`UNKNOWN_SPAN`] without one.
fn fill(text: &str, open: &str, close: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        out.push_str(before);
        let Some((name, after)) = after.split_once(close) else {
            out.push(UNKNOWN_SPAN);
            return out;
        };
        match value(name.trim()) {
            Some(value) => out.push_str(&value),
            None => out.push(UNKNOWN_SPAN),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
