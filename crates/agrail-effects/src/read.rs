//! Turns an action into its effects: chooses the parser for the kind of action.

use super::budget;
use super::file;
use super::shell::{self, FileSource, Reading};
use super::tool_call::{self, Runs};
use super::{Cause, Detail, Effect, Target, Verb};
use crate::Action;
use crate::Kind;
use crate::words::words;

/// The operation of an effect that fetches a page for the agent itself; the complete URL policy applies to it.
/// Connections of a command line are judged less strictly, because developers talk to their own machines.
pub const FETCH: &str = "fetch";

/// Most characters of a page element that a verdict shows.
const ELEMENT: usize = 200;
/// First words of operations that stay within a page; any other operation may open another page.
const WITHIN: [&str; 34] = [
    "back",
    "blur",
    "check",
    "choose",
    "clear",
    "click",
    "copy",
    "dblclick",
    "double",
    "drag",
    "enter",
    "fill",
    "focus",
    "forward",
    "hover",
    "input",
    "key",
    "long",
    "mouse",
    "none",
    "paste",
    "press",
    "reload",
    "refresh",
    "right",
    "scroll",
    "select",
    "submit",
    "swipe",
    "tap",
    "terminate",
    "type",
    "uncheck",
    "wait",
];
/// Words of operations whose value is an address, with or without a scheme.
const OPENS: [&str; 11] =
    ["address", "browse", "go", "goto", "load", "navigate", "open", "redirect", "tab", "url", "visit"];

/// The account as which an action runs.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    /// Account name.
    pub name: &'a str,
    /// Home folder, absolute.
    pub home: &'a str,
}

/// What cannot be read: the source of a language, or what a description says.
fn source_of(language: &str) -> String {
    if language.contains(' ') { language.to_owned() } else { format!("{language} source") }
}

/// The effects of an action. An action that no parser covers is unknown.
#[must_use]
pub fn extract_effects(action: &Action, who: Who<'_>, around: &dyn FileSource) -> Reading {
    budget::within_any(|| {
        let mut reading = read(action, who, around);
        if budget::is_spent() {
            reading.effects.push(Effect::unknown(Cause::Budget, "there is too much to read", action.kind()));
        }
        reading
    })
}

fn read(action: &Action, who: Who<'_>, around: &dyn FileSource) -> Reading {
    match action {
        Action::Shell { command, cwd } => {
            let cwd = cwd.as_ref().map_or(who.home.into(), |c| c.to_string_lossy());
            if !cwd.starts_with('/') {
                return unknown(Cause::Arguments, "the working directory is not absolute", action.kind());
            }
            shell::extract_effects(command, who.name, who.home, &cwd, around)
        }
        Action::Code { language, source } => match language.to_ascii_lowercase().as_str() {
            language @ ("bash" | "sh" | "shell" | "python" | "python3" | "py") => {
                let language = if language.starts_with("py") { "python" } else { "bash" };
                shell::read_source(language, source, who.name, who.home, who.home, around)
            }
            _ => unknown(Cause::Language, &source_of(language), action.kind()),
        },
        Action::Message { .. } => {
            let effect = Effect::new(Verb::Answer, Target::Named(Kind::User, "user".to_owned()), action.kind());
            Reading { effects: vec![effect], ..Reading::default() }
        }
        Action::Sql { statement } => Reading { effects: super::sql::extract_effects(statement), ..Reading::default() },
        Action::Browse { operation, element, url, value } => {
            let element = element.as_deref().unwrap_or_default().chars().take(ELEMENT).collect();
            let mut effect = Effect::new(Verb::Browse, Target::Named(Kind::Element, element), "browse");
            effect.detail = Detail::Operation(operation.to_ascii_lowercase());
            let mut effects = vec![effect];
            let (url, value) = (url.as_deref().unwrap_or_default(), value.as_deref().unwrap_or_default());
            effects.extend(addresses(&words(operation), url, value).iter().map(|url| connect(url)));
            Reading { effects, ..Reading::default() }
        }
        Action::ToolCall { tool, arguments, .. } => {
            let mut reading = tool_call::extract_effects(tool, arguments, who.home);
            let scripts = file::scripts(&reading.effects, arguments);
            let runs = tool_call::runs(tool, arguments);
            if runs.as_ref().is_some_and(Vec::is_empty) {
                reading.effects.push(Effect::unknown(Cause::Arguments, "the source argument of the tool", tool));
            }
            for run in scripts.into_iter().map(|text| Runs::Shell(text.into())).chain(runs.into_iter().flatten()) {
                reading.join(match run {
                    Runs::Shell(text) => shell::extract_effects(&text, who.name, who.home, who.home, around),
                    Runs::Python(text) => shell::read_source("python", &text, who.name, who.home, who.home, around),
                });
            }
            let written = file::written(&reading.effects, arguments, around);
            reading.wait_for(written, shell::Place { user: who.name, home: who.home, cwd: "", around });
            reading
        }
        Action::Fetch { url } => Reading { effects: vec![connect(url)], ..Reading::default() },
    }
}

/// The effect of fetching a page for the agent itself.
fn connect(url: &str) -> Effect {
    let mut effect = Effect::new(Verb::Connect, Target::Named(Kind::Url, url.to_owned()), "fetch");
    FETCH.clone_into(&mut effect.operation);
    effect
}

/// The addresses that a step on the web leads to. For a step within a page, the page itself counts only if its URL is
/// not a web address: a web page was already judged when it was loaded.
fn addresses(operation: &[String], url: &str, value: &str) -> Vec<String> {
    let within = operation.first().is_some_and(|word| WITHIN.contains(&word.as_str()));
    let (url, value) = (url.trim(), value.trim());
    let web = ["http://", "https://"].iter().any(|web| url.to_lowercase().starts_with(web));
    let mut found = Vec::new();
    if !(url.is_empty() || url.eq_ignore_ascii_case("about:blank") || (within && web)) {
        found.push(url.to_owned());
    }
    // text typed into the address bar may lack the scheme
    let opens = operation.iter().any(|word| OPENS.contains(&word.as_str()));
    let host = value.contains(['.', ':', '/']) || value == "localhost";
    let address = ["javascript:", "data:", "file:"].iter().any(|scheme| value.to_lowercase().starts_with(scheme));
    let named = address || value.contains("://") || (opens && host);
    if !within && named && !value.contains(char::is_whitespace) {
        let scheme = value.split_once(':').is_some_and(|(scheme, rest)| {
            scheme.bytes().all(|b| b.is_ascii_alphanumeric()) && !rest.starts_with(|c: char| c.is_ascii_digit())
        });
        found.push(if scheme { value.to_owned() } else { format!("https://{value}") });
    }
    found
}

fn unknown(cause: Cause, what: &str, program: &str) -> Reading {
    Reading { effects: vec![Effect::unknown(cause, what, program)], ..Reading::default() }
}

impl Reading {
    /// Lists a command.
    pub(crate) fn list(&mut self, words: &[String]) {
        if !self.commands.iter().rev().take(shell::NEAR).any(|known| known == words) {
            self.commands.push(words.to_vec());
        }
    }

    /// Adds the findings of another reading of the same action.
    pub fn join(&mut self, other: Self) {
        for effect in other.effects {
            if !self.effects.contains(&effect) {
                self.effects.push(effect);
            }
        }
        self.steps.extend(other.steps.into_iter().map(|step| format!("canonical: {step}")));
        self.scripts.extend(other.scripts);
        other.commands.iter().for_each(|words| self.list(words));
        for later in other.later {
            if !self.later.contains(&later) {
                self.later.push(later);
            }
        }
    }
}
