//! `npm test` and its like: the scripts of `package.json` are read before they are run.
//!
//! What a script names that is not in the table, and source that has no reader, is code of the project and its packages,
//! which the row of the command already says to be executed; with raised privilege it is unknown, as everywhere. The rest of
//! a script is judged like any other: what is unknown in it is unknown. Where there is no `package.json`, nothing runs. Not
//! read: the scripts of other packages, as in workspaces.

use super::command::quote_all;
use super::{Output, Shell};
use crate::effect::{Cause, Effect, Target, Verb};
use serde_json::{Map, Value};

/// Folders above in which `package.json` is looked for, as the package managers do.
const ABOVE: usize = 16;
/// What an installation runs of the project itself, in order.
const INSTALL: [&str; 7] =
    ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];
/// What comes before and after publishing or packing.
const PACK: [&str; 7] = ["prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish", "prepublish"];

/// They run the scripts that their words name; `build:*` names all that begin so.
const RUNNERS: [&str; 4] = ["run-s", "run-p", "npm-run-all", "npm-run-all2"];

/// What is run of a project, in order.
#[derive(Debug, Default)]
struct Plan {
    folder: String,
    scripts: Vec<String>,
    /// The one that was asked for by name, and the words for it.
    script: String,
    words: Vec<String>,
}

impl Shell<'_> {
    /// Adds what the scripts of the project do that a package manager runs. A script was asked for by its name, and there
    /// is one: the command does nothing else.
    pub(crate) fn package_scripts(&mut self, program: &str, words: &[String]) -> bool {
        let plan = plan(program, words);
        if plan.scripts.is_empty() {
            return false;
        }
        let start = self.path(&plan.folder);
        let Some((folder, scripts)) = self.package(program, &start) else { return false };
        let before = (self.cwd.clone(), std::mem::replace(&mut self.packaged, true));
        let named = |pattern: &String| -> Vec<String> {
            match pattern.split_once('*') {
                Some((begin, _)) => scripts.keys().filter(|name| name.starts_with(begin)).cloned().collect(),
                None => vec![pattern.clone()],
            }
        };
        for name in &plan.scripts.iter().flat_map(named).collect::<Vec<_>>() {
            let Some(line) = scripts.get(name).and_then(Value::as_str) else { continue };
            let words = if *name == plan.script { quote_all(&plan.words) } else { String::new() };
            let how = format!("{program} {name}");
            if self.via.contains(&how) {
                self.unknown(Cause::Budget, "a script runs itself", &how);
                continue;
            }
            self.cwd = Some(folder.clone());
            self.nested(&how, format!("{line} {words}").trim_end(), Output::default());
        }
        (self.cwd, self.packaged) = before;
        let found = scripts.contains_key(&plan.script);
        if found {
            self.add(Effect::new(Verb::Execute, Target::Path(folder), program));
        }
        found
    }

    /// The nearest `package.json`: its folder and its scripts. One that cannot be read is an effect.
    fn package(&mut self, program: &str, start: &str) -> Option<(String, Map<String, Value>)> {
        let mut folder = start;
        for _ in 0..ABOVE {
            let path = super::tidy(&format!("{folder}/package.json"));
            match self.around.script(&path, super::MAX_SOURCE) {
                Ok(content) => {
                    self.reading.scripts.push((path.clone(), super::source::digest(&content)));
                    let Ok(Value::Object(mut package)) = serde_json::from_slice(&content) else {
                        self.unknown(Cause::Parse, &path, program);
                        return None;
                    };
                    return match package.remove("scripts") {
                        Some(Value::Object(scripts)) => Some((folder.to_owned(), scripts)),
                        _ => None,
                    };
                }
                Err(unread) if unread.nothing => folder = folder.rsplit_once('/').map(|(above, _)| above)?,
                Err(unread) => {
                    self.step(|| format!("cannot read {path}: {unread}"));
                    self.unknown(Cause::Script, &path, program);
                    return None;
                }
            }
        }
        None
    }
}

/// What the words of a package manager run of the project itself.
fn plan(program: &str, words: &[String]) -> Plan {
    let mut plan = Plan { folder: ".".to_owned(), ..Plan::default() };
    let (mut operands, mut ignored) = (Vec::new(), false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v.to_owned())));
        match name {
            "--" => plan.words.extend(rest.by_ref().cloned()),
            "--prefix" | "-C" | "--dir" | "--cwd" => {
                plan.folder = value.or_else(|| rest.next().cloned()).unwrap_or_default();
            }
            // nothing of this project is run
            "-g" | "--global" | "--version" | "-v" | "--help" | "-h" => return Plan::default(),
            "--ignore-scripts" => ignored = value.is_none_or(|value| value != "false"),
            "-w" | "--workspace" | "--filter" | "--registry" | "--loglevel" | "--userconfig" if value.is_none() => {
                rest.next();
            }
            _ if word.starts_with('-') => {}
            _ => operands.push(word.as_str()),
        }
    }
    if RUNNERS.contains(&program) {
        plan.scripts = operands.iter().map(|name| (*name).to_owned()).collect();
        return plan;
    }
    let (command, after) = match operands.split_first() {
        Some((command, after)) => (*command, after),
        None if program == "yarn" => ("install", &[] as &[&str]),
        None => return Plan::default(),
    };
    let lifecycle =
        |names: &[&str]| names.iter().map(|name| (*name).to_owned()).filter(|_| !ignored).collect::<Vec<_>>();
    // the test runner of bun is its own
    let script = match command {
        "t" | "tst" | "test" | "install-test" | "it" | "cit" | "install-ci-test" if program != "bun" => Some("test"),
        "start" | "stop" if program != "bun" => Some(command),
        "run" | "run-script" | "rum" | "urn" => after.first().copied(),
        _ => None,
    };
    plan.scripts = match command {
        "install" | "i" | "ci" | "in" | "isntall" | "clean-install" | "rebuild" | "rb" | "link" | "ln"
            if after.is_empty() =>
        {
            lifecycle(&INSTALL)
        }
        "install-test" | "it" | "cit" | "install-ci-test" => lifecycle(&INSTALL),
        "publish" | "pack" => lifecycle(&PACK),
        "version" => lifecycle(&["preversion", "version", "postversion"]),
        "restart" => lifecycle(&["prestop", "stop", "poststop", "prerestart", "restart", "postrestart", "start"]),
        _ => Vec::new(),
    };
    // with npm only names of commands are commands, others run what is named so
    let named = script.or_else(|| (program != "npm" && plan.scripts.is_empty()).then_some(command));
    if let Some(name) = named {
        plan.scripts.extend([format!("pre{name}"), name.to_owned(), format!("post{name}")]);
        let own = after.iter().skip(usize::from(command.starts_with(['r', 'u']))).map(|word| (*word).to_owned());
        plan.words.splice(0..0, own);
        plan.script = name.to_owned();
    }
    plan
}
