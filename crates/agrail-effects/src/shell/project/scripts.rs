//! `npm test` and similar commands: interprets the scripts of `package.json` that they run.
//!
//! A program of a script that is not in the table, and source in another language, are code of the project and its
//! packages. The row of the command already reports their execution. With elevated privileges they are unknown, as
//! everywhere. The rest of a script is judged like any other script: unknown parts stay unknown. Without a
//! `package.json` nothing runs. With `--filter`, `-r` or `--workspaces`, the scripts of all members of the workspace count,
//! whichever the filter selects.

use super::manifest::Scripts;
use crate::shell::command::quote_all;
use crate::shell::{Output, Shell, UNKNOWN_SPAN};
use crate::{Cause, Effect, Target, Verb};
use foldhash::HashSet;
use std::rc::Rc;

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
/// Most packages of the project whose installation is followed.
const LINKED: usize = 16;
/// Most `package.json` files that are parsed for one action.
const MOST: usize = 64;
/// Programs that run the scripts named by their arguments; `build:*` names all scripts that begin with `build:`.
const RUNNERS: [&str; 4] = ["run-s", "run-p", "npm-run-all", "npm-run-all2"];

/// The scripts of a project that a command runs, in order.
#[derive(Debug, Default)]
struct Plan {
    folder: String,
    scripts: Vec<String>,
    /// The script that the command line names; `words` are the arguments for it.
    script: String,
    words: Vec<String>,
    /// Whether the scripts are those of the members of the workspace.
    members: bool,
    /// Whether it installs the dependencies of the project.
    installs: bool,
    /// Whether there are options: then the row applies as well, because a word may be an option's value.
    options: bool,
}

impl Shell<'_> {
    /// Adds the effects of the project scripts that a package manager runs. Returns whether that is all that the
    /// command does: it names an existing script.
    pub(crate) fn package_scripts(&mut self, program: &str, words: &[String]) -> bool {
        if self.creates_project(program, words) || program == "npm" && self.sets_package(program, words) {
            return true;
        }
        let members = (program == "yarn").then(|| in_members(words)).flatten();
        // for several packages, the command lines are those of pnpm
        let plan = members.as_ref().map_or_else(|| plan(program, words), |line| plan("pnpm", line));
        if plan.scripts.is_empty() {
            return false;
        }
        let start = self.path(&plan.folder);
        if start.contains(UNKNOWN_SPAN) {
            self.unknown(Cause::Dynamic, "the folder of the project is not constant", program);
            return false;
        }
        if plan.members {
            let found = self.member_scripts(program, &plan, &start);
            // without such a script, yarn runs the program of that name
            if let Some(line) = members.as_ref().filter(|_| !found) {
                self.wrapped(program, line.get(2..).unwrap_or_default(), Output::default());
            }
            return matches!(program, "pnpm" | "bun") || members.is_some();
        }
        if plan.installs {
            self.linked_packages(program, &plan, &start);
        }
        let Some((folder, scripts)) = self.package(program, &start) else { return false };
        if !scripts.contains_key(&plan.script) && self.package_program(program, words, &plan) {
            return true;
        }
        if plan.scripts.iter().any(|name| name.contains(UNKNOWN_SPAN)) {
            self.unknown(Cause::Dynamic, "which script of the project would run is not constant", program);
        }
        // `bun run NAME` may also run a program of a package
        let named = words.iter().any(|word| word == "run") && !scripts.contains_key(&plan.script);
        if program == "bun" && named && !plan.script.is_empty() {
            let file = self.module_file(&self.path(&plan.script));
            if self.around.is_missing(&file) {
                self.unknown(Cause::Arguments, &format!("bun run {}", plan.script), program);
            }
        }
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
        let mut seen = HashSet::default();
        let names = plan.scripts.iter().flat_map(named).filter(|name| seen.insert(name.clone()));
        let names: Vec<String> = names.collect();
        self.run_scripts(program, &folder, &scripts, &names, &plan);
        // the rows of npm and yarn cover scripts; anything else is left to the row
        let whole = matches!(program, "pnpm" | "bun") && !plan.options && scripts.contains_key(&plan.script);
        if whole {
            self.add(Effect::new(Verb::Execute, Target::Path(folder), program));
        }
        whole
    }

    /// `npm create NAME` runs the program `create-NAME`, if the table knows it. Whether that is so.
    fn creates_project(&mut self, program: &str, words: &[String]) -> bool {
        let [command, name, rest @ ..] = words else { return false };
        let creates = command == "create" || program == "npm" && matches!(command.as_str(), "init" | "innit");
        let name = name.split('@').next().unwrap_or_default();
        let created = format!("create-{name}");
        if !creates || name.is_empty() || crate::table::Table::shipped().row(&created).is_none() {
            return false;
        }
        let rest = rest.iter().filter(|word| *word != "--").cloned();
        let line: Vec<String> = std::iter::once(created).chain(rest).collect();
        self.wrapped(program, &line, Output::default());
        true
    }

    /// Interprets scripts of a package, each in a new shell.
    fn run_scripts(&mut self, program: &str, folder: &str, scripts: &Scripts, names: &[String], plan: &Plan) {
        let own = self.is_untouched(&format!("{folder}/package.json"));
        let before = (std::mem::replace(&mut self.packaged, true), std::mem::replace(&mut self.own_code, own));
        for name in names {
            let lines = scripts.get(name).map(Vec::as_slice).unwrap_or_default();
            let words = if *name == plan.script { quote_all(&plan.words) } else { String::new() };
            let how = if plan.members { format!("{program} {name} in {folder}") } else { format!("{program} {name}") };
            if self.via.contains(&how) {
                self.unknown(Cause::Budget, "a script runs itself", &how);
                continue;
            }
            for line in lines {
                let line = format!("{line} {words}");
                self.child(&how, |shell| {
                    shell.state.cwd = Some(folder.to_owned());
                    shell.state.arguments = Some(Vec::new());
                    shell.nested(&how, line.trim_end(), Output::default())
                });
            }
        }
        (self.packaged, self.own_code) = before;
    }

    /// Interprets the scripts of the members of the workspace.
    fn member_scripts(&mut self, program: &str, plan: &Plan, start: &str) -> bool {
        let Some((root, members)) = self.members(start) else {
            self.unknown(Cause::Dynamic, "which packages of the workspace are meant", program);
            return true;
        };
        self.add(Effect::new(Verb::Execute, Target::Path(root), program));
        let mut any = false;
        for folder in members {
            if let Some((found, scripts)) = self.package(program, &folder).filter(|(found, _)| *found == folder) {
                any |= scripts.contains_key(&plan.script);
                self.run_scripts(program, &found, &scripts, &plan.scripts, plan);
            }
        }
        any
    }

    /// Interprets the scripts that an installation runs in packages of the project itself: members of its workspace, and
    /// dependencies by their folder.
    fn linked_packages(&mut self, program: &str, plan: &Plan, folder: &str) {
        let mut folders = self.members(folder).map(|(_, members)| members).unwrap_or_default();
        let texts = self.read_contents(&crate::shell::tidy(&format!("{folder}/package.json"))).unwrap_or_default();
        for manifest in texts.iter().filter_map(|text| self.package_file(text)) {
            let kinds = ["dependencies", "devDependencies", "optionalDependencies"];
            let all =
                kinds.iter().filter_map(|kind| manifest.file.get(*kind)?.as_object()).flat_map(|all| all.values());
            let linked = all.filter_map(|value| {
                let value = value.as_str()?;
                value.strip_prefix("file:").or_else(|| value.strip_prefix("link:"))
            });
            folders.extend(linked.map(|path| crate::shell::tidy(&format!("{folder}/{path}"))));
        }
        folders.sort();
        folders.dedup();
        for member in folders.iter().take(LINKED).filter(|member| *member != folder) {
            self.certain(|shell| {
                if let Some((found, scripts)) = shell.package(program, member).filter(|(found, _)| found == member) {
                    shell.run_scripts(
                        program,
                        &found,
                        &scripts,
                        &plan.scripts,
                        &Plan { members: true, ..Plan::default() },
                    );
                }
            });
        }
    }

    /// `pnpm PROGRAM` and `bun run PROGRAM` run a program of a package, if no script has the name. Whether that is so.
    fn package_program(&mut self, program: &str, words: &[String], plan: &Plan) -> bool {
        let runs = program == "bun" && words.iter().any(|word| word == "run") || program == "pnpm";
        if !runs || plan.script.is_empty() || plan.options || plan.script.contains(UNKNOWN_SPAN) {
            return false;
        }
        let is_file = plan.script.contains(['/', '.']);
        let listed = crate::table::Table::shipped().row(&plan.script).is_some();
        if listed && !is_file {
            let line = [vec![plan.script.clone()], plan.words.clone()].concat();
            self.wrapped(program, &line, Output::default());
            return true;
        }
        !is_file && self.project_program(&plan.script, &plan.words).is_some()
    }

    /// Folder and scripts of the nearest `package.json`. If it cannot be read, that is an effect.
    fn package(&mut self, program: &str, start: &str) -> Option<(String, Rc<Scripts>)> {
        self.packages += 1;
        if self.packages > MOST {
            self.unknown(Cause::Budget, "too many scripts of packages", program);
            return None;
        }
        let mut folder = start;
        for _ in 0..ABOVE {
            let path = crate::shell::tidy(&format!("{folder}/package.json"));
            match self.read_contents(&path) {
                Ok(contents) => {
                    let mut scripts: Rc<Scripts> = Rc::default();
                    for content in contents {
                        self.reading.scripts.push((path.clone(), crate::shell::file::digest(&content)));
                        let Some(manifest) = self.package_file(&content) else {
                            self.unknown(Cause::Parse, &path, program);
                            return None;
                        };
                        join(&mut scripts, &manifest.scripts);
                    }
                    return (!scripts.is_empty()).then(|| (folder.to_owned(), scripts));
                }
                // pnpm reads other formats of it
                Err(unread) if unread.is_missing() && program == "pnpm" && self.other_form(folder) => {
                    self.unknown(Cause::Script, &path, program);
                    return None;
                }
                Err(unread) if unread.is_missing() => folder = folder.rsplit_once('/').map(|(above, _)| above)?,
                Err(unread) => {
                    self.step(|| format!("cannot read {path}: {unread}"));
                    self.unread(&path, unread, program);
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
            let read = self.read_contents(&crate::shell::tidy(&format!("{folder}/{form}")));
            !read.is_err_and(|unread| unread.is_missing())
        })
    }
}

/// Adds the command lines of another possible content of the same package.
fn join(all: &mut Rc<Scripts>, other: &Rc<Scripts>) {
    if all.is_empty() {
        return all.clone_from(other);
    }
    let all = Rc::make_mut(all);
    for (name, more) in &**other {
        let lines = all.entry(name.clone()).or_default();
        more.iter().for_each(|line| {
            if !lines.contains(line) {
                lines.push(line.clone());
            }
        });
    }
}

/// The scripts that a package manager runs for these arguments.
fn plan(program: &str, words: &[String]) -> Plan {
    let mut plan = Plan { folder: ".".to_owned(), ..Plan::default() };
    let line = command_line(program, words, &mut plan);
    let operands: Vec<&str> = line.operands.iter().map(String::as_str).collect();
    if RUNNERS.contains(&program) {
        plan.scripts = line.operands;
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
    let project =
        !line.global && (plan.options || after.iter().all(|word| word.is_empty() || word.contains(['.', '/'])));
    let lifecycle = lifecycle(program, command, project).iter().filter(|_| !line.ignored);
    plan.scripts.extend(lifecycle.map(|name| (*name).to_owned()));
    plan.installs = plan.scripts.iter().any(|name| name == "postinstall");
    // a word taken for a subcommand or a script may be the value of an option
    if plan.options {
        plan.scripts.extend(line.operands.iter().cloned());
    }
    if let Some(name) = named_script(program, command, after) {
        plan.scripts.extend([format!("pre{name}"), name.to_owned(), format!("post{name}")]);
        let own = after.iter().skip(usize::from(RUN.contains(&command))).map(|word| (*word).to_owned());
        plan.words.splice(0..0, own);
        plan.script = name.to_owned();
        plan.options |= BUILT_IN.contains(&command) && (command != "build" || program == "bun");
    }
    plan
}

/// The script that `yarn workspace NAME run SCRIPT` or `yarn workspaces foreach run SCRIPT` runs in packages of the
/// workspace, as a command line of pnpm. `None`: it does something else.
fn in_members(words: &[String]) -> Option<Vec<String>> {
    let rest = match words {
        [first, _, rest @ ..] if first == "workspace" => rest,
        [first, second, ..] if first == "workspaces" && second == "run" => words.get(1..)?,
        [first, second, rest @ ..] if first == "workspaces" && second == "foreach" => {
            let at = rest.iter().enumerate().position(|(at, word)| {
                let value = at.checked_sub(1).and_then(|at| rest.get(at)).is_some_and(|before| takes_value(before));
                !word.starts_with('-') && !value
            })?;
            // `foreach exec rm` runs a program
            rest.get(at..).filter(|rest| rest.first().is_some_and(|word| word == "run"))?
        }
        _ => return None,
    };
    let rest = rest.strip_prefix(&["run".to_owned()]).unwrap_or(rest);
    let script = rest.first().filter(|name| !name.starts_with('-'))?;
    let own = matches!(script.as_str(), "test" | "start" | "build") || !BUILT_IN.contains(&script.as_str());
    own.then(|| ["-r", "run"].into_iter().map(str::to_owned).chain(rest.iter().cloned()).collect())
}

/// Whether an option of `yarn workspaces foreach` has its value in the next word.
fn takes_value(option: &str) -> bool {
    matches!(option, "--from" | "--include" | "--exclude" | "-j" | "--jobs")
}

/// The operands and options of a package manager's command line.
#[derive(Default)]
struct Line {
    operands: Vec<String>,
    /// No scripts of the life cycle run.
    ignored: bool,
    global: bool,
}

/// Parses the options and operands; the folder and the arguments of a script go to the plan.
fn command_line(program: &str, words: &[String], plan: &mut Plan) -> Line {
    let (mut line, mut at) = (Line::default(), 0);
    loop {
        let rest = words.get(at..).unwrap_or_default();
        let options = Shell::options_of(program, rest);
        at += options.used;
        for given in options.given {
            let on = given.value.as_deref() != Some("false");
            match given.name.as_str() {
                "--prefix" | "-C" | "--dir" | "--cwd" => plan.folder = given.value.unwrap_or_default(),
                "-g" | "--global" => line.global = on,
                "--no-global" => line.global = false,
                "-r" | "--recursive" | "--filter" | "-F" | "--filter-prod" | "--workspaces" | "-ws" | "--workspace" => {
                    plan.members = true;
                }
                "-w" if program == "npm" => plan.members = true,
                "--ignore-scripts" => line.ignored = on && words.get(at).is_none_or(|next| next != "false"),
                _ => {
                    plan.options = true;
                    // of several package managers, one may not know the option or its value
                    let separate = given.value.filter(|value| rest.get(given.end - 1) == Some(value));
                    line.operands.extend(separate);
                }
            }
        }
        let mut rest = words.get(at..).unwrap_or_default().iter().cloned();
        if options.ended {
            // the subcommand or the script may still follow
            let missing = match line.operands.first() {
                None => 2,
                Some(first) => usize::from(line.operands.len() == 1 && RUN.contains(&first.as_str())),
            };
            line.operands.extend(rest.by_ref().take(missing));
            plan.words.extend(rest);
            return line;
        }
        let Some(word) = rest.next() else { return line };
        let first = line.operands.first().unwrap_or(&word);
        // the words after the name of a script are arguments of the script, except for npm
        let named = line.operands.len() >= usize::from(RUN.contains(&first.as_str()));
        let own = named && program != "npm" && !RUNNERS.contains(&program) && !BUILT_IN.contains(&word.as_str());
        line.operands.push(word);
        if own {
            plan.words.extend(rest.filter(|word| word != "--"));
            // the name may be the value of an unknown option, so that the script comes after it
            if plan.options {
                plan.scripts.extend(plan.words.clone());
            }
            return line;
        }
        at += 1;
    }
}

/// The scripts that a subcommand runs before and after its own work. `project`: it installs the dependencies of the
/// project.
fn lifecycle(program: &str, command: &str, project: bool) -> &'static [&'static str] {
    match command {
        "install" | "i" | "in" | "isntall" | "add" | "rebuild" | "rb" | "link" | "ln" if project => &INSTALL,
        "ci" | "clean-install" | "install-test" | "it" | "cit" | "install-ci-test" => &INSTALL,
        "add" | "remove" | "upgrade" if program == "yarn" => &INSTALL,
        "publish" | "pack" => &PACK,
        "version" => &["preversion", "version", "postversion"],
        "restart" => &["prestop", "stop", "poststop", "prerestart", "restart", "postrestart", "start"],
        _ => &[],
    }
}

/// The script that the command line names.
fn named_script<'a>(program: &str, command: &'a str, after: &[&'a str]) -> Option<&'a str> {
    match command {
        // bun has a built-in test runner
        "t" | "tst" | "test" | "install-test" | "it" | "cit" | "install-ci-test" if program != "bun" => Some("test"),
        "start" | "stop" => Some(command),
        _ if RUN.contains(&command) => after.first().copied(),
        "install" | "i" | "in" | "isntall" | "ci" | "clean-install" | "add" | "rebuild" | "rb" | "link" | "ln" => None,
        // npm runs subcommands only; the others also run a script with that name, unless they have such a subcommand
        _ => (program != "npm").then_some(command),
    }
}
