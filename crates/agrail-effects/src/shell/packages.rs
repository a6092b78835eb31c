//! `npm test` and similar commands: interprets the scripts of `package.json` that they run.
//!
//! A program of a script that is not in the table, and source in another language, are code of the project and its
//! packages. The row of the command already reports their execution. With elevated privileges they are unknown, as
//! everywhere. The rest of a script is judged like any other script: unknown parts stay unknown. Without a
//! `package.json` nothing runs. Not followed: scripts of other packages, as in workspaces.

use super::command::quote_all;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::{Cause, Effect, Target, Verb};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Most parent folders in which `package.json` is searched, as the package managers do.
const ABOVE: usize = 16;
/// Scripts of the project that an installation runs, in order.
const INSTALL: [&str; 11] = [
    "pnpm:devPreinstall",
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "preprepare",
    "prepare",
    "postprepare",
    "predependencies",
    "dependencies",
    "postdependencies",
];
/// Scripts that run before and after publishing or packing.
const PACK: [&str; 7] = ["prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish", "prepublish"];

/// Subcommands that run a script by its name.
const RUN: [&str; 4] = ["run", "run-script", "rum", "urn"];
/// Subcommands of any of the package managers. A script of the same name is interpreted as well.
const BUILT_IN: [&str; 84] = [
    "a",
    "approve-builds",
    "patch-commit",
    "patch-remove",
    "pkg",
    "r",
    "runtime",
    "self-update",
    "view",
    "why",
    "workspace",
    "x",
    "access",
    "add",
    "audit",
    "bin",
    "build",
    "c",
    "cache",
    "ci",
    "cit",
    "clean-install",
    "config",
    "create",
    "dedupe",
    "deploy",
    "dlx",
    "doctor",
    "env",
    "exec",
    "explain",
    "fetch",
    "global",
    "help",
    "i",
    "import",
    "in",
    "info",
    "init",
    "install",
    "install-ci-test",
    "install-test",
    "isntall",
    "it",
    "licenses",
    "link",
    "list",
    "ln",
    "login",
    "logout",
    "ls",
    "node",
    "outdated",
    "owner",
    "pack",
    "patch",
    "plugin",
    "pm",
    "prune",
    "publish",
    "rb",
    "rebuild",
    "recursive",
    "remove",
    "repl",
    "restart",
    "rm",
    "root",
    "server",
    "set",
    "setup",
    "start",
    "stop",
    "store",
    "t",
    "test",
    "tst",
    "un",
    "uninstall",
    "unlink",
    "up",
    "update",
    "upgrade",
    "version",
];
/// Most `package.json` files that are parsed for one action.
const MOST: usize = 64;
/// Programs that run the scripts named by their arguments; `build:*` names all scripts that begin with `build:`.
const RUNNERS: [&str; 4] = ["run-s", "run-p", "npm-run-all", "npm-run-all2"];

/// The scripts of a project by name, each with all its possible command lines.
type Scripts = BTreeMap<String, Vec<String>>;

/// The scripts of a project that a command runs, in order.
#[derive(Debug, Default)]
struct Plan {
    folder: String,
    scripts: Vec<String>,
    /// The script that the command line names; `words` are the arguments for it.
    script: String,
    words: Vec<String>,
    /// Whether there are options: then the row applies as well, because a word may be an option's value.
    options: bool,
}

impl Shell<'_> {
    /// Adds the effects of the project scripts that a package manager runs. Returns whether that is all that the
    /// command does: it names an existing script.
    pub(crate) fn package_scripts(&mut self, program: &str, words: &[String]) -> bool {
        let plan = plan(program, words);
        if plan.scripts.is_empty() {
            return false;
        }
        let start = self.path(&plan.folder);
        if start.contains(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "the folder of the project is not constant", program);
            return false;
        }
        let Some((folder, scripts)) = self.package(program, &start) else { return false };
        if plan.scripts.iter().any(|name| name.contains(UNKNOWN_SPAN)) {
            self.unknown(Cause::Dynamic, "which script of the project would run is not constant", program);
        }
        // each script runs in a new shell
        let before =
            (self.cwd.clone(), std::mem::replace(&mut self.packaged, true), std::mem::take(&mut self.arguments));
        let named = |pattern: &String| -> Vec<String> {
            match pattern.split_once('*') {
                Some((begin, _)) => scripts.keys().filter(|name| name.starts_with(begin)).cloned().collect(),
                None => vec![pattern.clone()],
            }
        };
        // other patterns, and paths, are not followed
        let strange = |name: &String| name.contains([' ', '?', '[', '{', '!', '(']) || name.starts_with('/');
        if RUNNERS.contains(&program) && plan.scripts.iter().any(strange) || plan.script.starts_with('/') {
            self.unknown(Cause::Arguments, &format!("{program} {}", plan.scripts.join(" ")), program);
        }
        let mut seen = HashSet::new();
        let names = plan.scripts.iter().flat_map(named).filter(|name| seen.insert(name.clone()));
        for name in &names.collect::<Vec<_>>() {
            let lines = scripts.get(name).map(Vec::as_slice).unwrap_or_default();
            let words = if *name == plan.script { quote_all(&plan.words) } else { String::new() };
            let how = format!("{program} {name}");
            if self.via.contains(&how) {
                self.unknown(Cause::Budget, "a script runs itself", &how);
                continue;
            }
            for line in lines {
                self.cwd = Some(folder.clone());
                let line = format!("{line} {words}");
                self.child(&how, |shell| shell.nested(&how, line.trim_end(), Output::default()));
            }
        }
        (self.cwd, self.packaged, self.arguments) = before;
        // the rows of npm and yarn cover scripts; anything else is left to the row
        let whole = matches!(program, "pnpm" | "bun") && !plan.options && scripts.contains_key(&plan.script);
        if whole {
            self.add(Effect::new(Verb::Execute, Target::Path(folder), program));
        }
        whole
    }

    /// Folder and scripts of the nearest `package.json`. If it cannot be read, that is an effect.
    fn package(&mut self, program: &str, start: &str) -> Option<(String, Scripts)> {
        self.packages += 1;
        if self.packages > MOST {
            self.unknown(Cause::Budget, "too many scripts of packages", program);
            return None;
        }
        let mut folder = start;
        for _ in 0..ABOVE {
            let path = super::tidy(&format!("{folder}/package.json"));
            match self.read_contents(&path) {
                Ok(contents) => {
                    let mut scripts: Scripts = BTreeMap::new();
                    for content in contents {
                        self.reading.scripts.push((path.clone(), super::source::digest(&content)));
                        let Ok(Value::Object(mut package)) = serde_json::from_slice(&content) else {
                            self.unknown(Cause::Parse, &path, program);
                            return None;
                        };
                        let Some(Value::Object(own)) = package.remove("scripts") else { continue };
                        for (name, line) in own {
                            let lines = scripts.entry(name).or_default();
                            lines.extend(line.as_str().map(str::to_owned).filter(|line| !lines.contains(line)));
                        }
                    }
                    return (!scripts.is_empty()).then(|| (folder.to_owned(), scripts));
                }
                // pnpm reads other formats of it
                Err(unread) if unread.nothing && program == "pnpm" && self.other_form(folder) => {
                    self.unknown(Cause::Script, &path, program);
                    return None;
                }
                Err(unread) if unread.nothing => folder = folder.rsplit_once('/').map(|(above, _)| above)?,
                Err(unread) => {
                    self.step(|| format!("cannot read {path}: {unread}"));
                    self.unread(&path, unread.why, program);
                    return None;
                }
            }
        }
        self.unknown(Cause::Budget, "the package is too far above", program);
        None
    }

    fn other_form(&self, folder: &str) -> bool {
        let forms = ["package.json5", "package.yaml"];
        forms.iter().any(|form| {
            let read = self.read_contents(&super::tidy(&format!("{folder}/{form}")));
            !read.is_err_and(|unread| unread.nothing)
        })
    }
}

/// The scripts that a package manager runs for these arguments.
fn plan(program: &str, words: &[String]) -> Plan {
    let mut plan = Plan { folder: ".".to_owned(), ..Plan::default() };
    let (mut operands, mut ignored, mut global) = (Vec::new(), false, false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v.to_owned())));
        match name {
            "--" => {
                // the subcommand or the script may still follow
                let missing = match operands.first() {
                    None => 2,
                    Some(first) => usize::from(operands.len() == 1 && RUN.contains(first)),
                };
                operands.extend(rest.by_ref().take(missing).map(String::as_str));
                plan.words.extend(rest.by_ref().cloned());
            }
            "--prefix" | "-C" | "--dir" | "--cwd" => {
                plan.folder = value.or_else(|| rest.next().cloned()).unwrap_or_default();
            }
            "-g" | "--global" => global = value.is_none_or(|value| value != "false"),
            "--no-global" => global = false,
            "--ignore-scripts" if rest.as_slice().first().is_some_and(|next| next == "false") => {}
            "--ignore-scripts" => ignored = value.is_none_or(|value| value != "false"),
            _ if word.starts_with('-') => plan.options = true,
            _ => {
                operands.push(word.as_str());
                // the words after the name of a script are arguments of the script, except for npm
                let named = operands.len() > usize::from(RUN.contains(&operands.first().copied().unwrap_or_default()));
                if named && program != "npm" && !RUNNERS.contains(&program) && !BUILT_IN.contains(&word.as_str()) {
                    plan.words.extend(rest.by_ref().filter(|word| *word != "--").cloned());
                    // the name may be the value of an unknown option, so that the script comes after it
                    if plan.options {
                        plan.scripts.extend(plan.words.clone());
                    }
                }
            }
        }
    }
    if RUNNERS.contains(&program) {
        plan.scripts = operands.iter().map(|name| (*name).to_owned()).collect();
        return plan;
    }
    // the value of an unknown option may precede the subcommand
    let command = operands.iter().position(|word| RUN.contains(word) || BUILT_IN.contains(word));
    let after = operands.get(command.map_or(1, |at| at + 1)..).unwrap_or_default();
    let command = match operands.get(command.unwrap_or(0)) {
        Some(command) => *command,
        None if program == "yarn" => "install",
        None => return Plan::default(),
    };
    let lifecycle =
        |names: &[&str]| names.iter().map(|name| (*name).to_owned()).filter(|_| !ignored).collect::<Vec<_>>();
    plan.scripts.extend(match command {
        "install" | "i" | "in" | "isntall" | "add" | "rebuild" | "rb" | "link" | "ln"
            if !global && (plan.options || after.iter().all(|word| word.is_empty() || word.contains(['.', '/']))) =>
        {
            lifecycle(&INSTALL)
        }
        "ci" | "clean-install" | "install-test" | "it" | "cit" | "install-ci-test" => lifecycle(&INSTALL),
        "add" | "remove" | "upgrade" if program == "yarn" => lifecycle(&INSTALL),
        "publish" | "pack" => lifecycle(&PACK),
        "version" => lifecycle(&["preversion", "version", "postversion"]),
        "restart" => lifecycle(&["prestop", "stop", "poststop", "prerestart", "restart", "postrestart", "start"]),
        _ => Vec::new(),
    });
    let script = match command {
        // bun has a built-in test runner
        "t" | "tst" | "test" | "install-test" | "it" | "cit" | "install-ci-test" if program != "bun" => Some("test"),
        "start" | "stop" => Some(command),
        _ if RUN.contains(&command) => after.first().copied(),
        "install" | "i" | "in" | "isntall" | "ci" | "clean-install" | "add" | "rebuild" | "rb" | "link" | "ln" => None,
        // npm runs subcommands only; the others also run a script with that name, unless they have such a subcommand
        _ => (program != "npm").then_some(command),
    };
    // a word taken for a subcommand or a script may be the value of an option
    if plan.options {
        plan.scripts.extend(operands.iter().map(|word| (*word).to_owned()));
    }
    if let Some(name) = script {
        plan.scripts.extend([format!("pre{name}"), name.to_owned(), format!("post{name}")]);
        let own = after.iter().skip(usize::from(RUN.contains(&command))).map(|word| (*word).to_owned());
        plan.words.splice(0..0, own);
        plan.script = name.to_owned();
        plan.options |= BUILT_IN.contains(&command);
    }
    plan
}
