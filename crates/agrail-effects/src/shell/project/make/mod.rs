//! `make`: interprets the recipes of the targets as far as they are constant.
//!
//! [`parse`] finds the variables and rules, [`expand`] replaces variables and functions, [`recipes`] chooses what the goals
//! run. A variable that is not set is empty, as in `make`. A recipe is judged like any other script: unknown parts stay unknown.

mod expand;
mod parse;
mod recipes;
#[cfg(test)]
mod tests;

use super::suspect::fetches_by_number;
use crate::shell::decided::SYSTEM;
use crate::shell::{Output, ReadError, Shell, UNKNOWN_SPAN, tidy};
use crate::{Cause, Detail, Effect, Target, Verb};
use expand::{Defined, Given, Scope};
use foldhash::{HashMap, HashSet};
use parse::{Included, Makefile, Parser};
use recipes::{ALIKE, LINES, Line, only_lists_needs, only_makes_files, recipes, rules_of};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Options that name a makefile.
const FILES: [&str; 3] = ["-f", "--file", "--makefile"];
/// Shells, and options with which they run one line as it stands.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "ksh"];
const FLAGS: [&str; 14] =
    ["-c", "-ec", "-e", "-u", "-o", "pipefail", "-euc", "-eu", "-euo", "-eo", "-uc", "errexit", "nounset", "-xec"];
/// Options with which `make` reads no makefile, and those with which it runs only lines that begin with `+`, and what it
/// asks while it reads.
const ALONE: [&str; 4] = ["--version", "-v", "--help", "-h"];
const QUERIES: [&str; 7] = ["-n", "--dry-run", "--just-print", "--recon", "--question", "-q", "-t"];
/// Variables that change how `make` reads a makefile, or runs a recipe.
const CHANGES: [&str; 6] =
    [".RECIPEPREFIX", ".SHELLFLAGS", ".SECONDEXPANSION", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES"];
/// Variables with the programs of built-in rules, which run without a rule of the makefile, and with their options.
const TOOLS: [&str; 8] = ["CC", "CXX", "CPP", "AR", "AS", "LD", "RM", "FC"];
const TOOL_OPTIONS: [&str; 7] = ["CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS", "ARFLAGS", "ASFLAGS"];
/// Variables that every environment has; their values are not known here.
const ENVIRONMENT: [&str; 6] = ["HOSTNAME", "LANG", "LOGNAME", "PATH", "TERM", "USER"];

/// Most makefiles that are kept, each with the variables that it got.
const MAKEFILES: usize = 16;
/// Variable with the goals of the command line.
const GOALS: &str = "MAKECMDGOALS";

/// The command lines of `$(shell ...)`, with what each prints if that is known.
type Asked = Vec<(String, Option<String>)>;

/// A makefile that was read.
pub(in crate::shell) struct ReadMakefile {
    file: Makefile,
    /// Included files that are not there.
    included: Vec<String>,
    defined: Defined,
    asked: Asked,
    /// Whether it includes a file from outside of the project.
    foreign: bool,
}

/// The text of a makefile, its folder, the variables that it gets, and those among them that it cannot change.
pub(in crate::shell) type MakefileKey = (String, String, Vec<(String, String)>, Vec<String>);

/// What a makefile runs.
struct Plan {
    /// Command lines of `$(shell ...)`.
    asked: Vec<String>,
    /// Lines of the recipes in order.
    lines: Vec<Line>,
    /// Those among them that always run.
    always: Vec<String>,
    problems: Vec<String>,
    /// Whether it includes a file from outside of the project.
    foreign: bool,
}

impl Shell<'_> {
    pub(crate) fn make(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let (options, operands) = self.permuted(program, words);
        if options.has(&ALONE) {
            return Output::default();
        }
        let asks_only = options.has(&QUERIES);
        if options.has(&["-I", "--include-dir"])
            || options.given.iter().filter(|given| FILES.contains(&given.name.as_str())).count() > 1
        {
            self.unknown(Cause::Arguments, "several makefiles, or folders of makefiles", program);
        }
        let values = |names: [&'static str; 2]| {
            let of = options.given.iter().filter(move |given| names.contains(&given.name.as_str()));
            of.filter_map(|given| given.value.clone())
        };
        let folder = values(["-C", "--directory"]).fold(".".to_owned(), |folder, named| inside(&folder, &named));
        let file = values(["--file", "--makefile"]).next_back();
        let evals: Vec<String> = values(["-E", "--eval"]).collect();
        let (mut given, mut goals) = (HashMap::default(), Vec::new());
        for word in operands {
            match word.split_once('=') {
                Some((name, value)) => {
                    drop(given.insert(name.trim_end_matches([':', '+']).to_owned(), value.to_owned()));
                }
                None => goals.push(word),
            }
        }
        let folder = self.path(&folder);
        let (mut texts, own) = self.makefiles(program, &folder, file.as_deref(), stdin);
        let own = own && evals.is_empty();
        // words of the command line are none of the project
        let exported = self.state.exported.iter().filter_map(|name| self.state.variables.get(name)).flatten();
        let typed: Vec<&str> = given.values().chain(exported).flat_map(|value| words_of(value)).collect();
        let typed: HashSet<String> =
            typed.into_iter().filter(|word| !word.is_empty() && !word.starts_with('-')).map(str::to_owned).collect();
        if texts.is_empty() {
            texts.push(String::new());
        }
        for text in texts {
            let text = format!("{}\n{text}", evals.join("\n"));
            let environment_wins = options.has(&["-e", "--environment-overrides"]);
            if asks_only {
                given.insert("MAKE".to_owned(), "make -n".to_owned());
            }
            let mut plan = self.plan(&text, &folder, (&given, environment_wins), &goals);
            if asks_only {
                plan.lines = plan.always.iter().cloned().map(Line::from).collect();
            }
            plan.problems.iter().for_each(|problem| self.unknown(Cause::Dynamic, problem, program));
            let own = own && !plan.foreign;
            self.run_plan(program, &folder, &plan, &|line| own && !words_of(line).any(|word| typed.contains(word)));
        }
        Output::default()
    }

    /// Interprets the command lines of a makefile, each in a shell of its own. `own`: whether a line is code of the project.
    fn run_plan(&mut self, program: &str, folder: &str, plan: &Plan, own: &dyn Fn(&str) -> bool) {
        let asked: Vec<Line> = plan.asked.iter().cloned().map(Line::from).collect();
        let (mut seen, mut uniform) = (HashSet::default(), HashMap::default());
        let mut left = LINES;
        for line in asked.iter().chain(&plan.lines).filter(|line| seen.insert(&line.text)) {
            if line.shape.as_ref().is_some_and(|shape| uniform.get(shape).is_some_and(|count| *count >= ALIKE)) {
                continue;
            }
            if left == 0 {
                return self.unknown(Cause::Budget, "the makefile has too many recipe lines", program);
            }
            left -= 1;
            let before = (self.reading.effects.len(), self.reading.scripts.len());
            let own = own(&line.text);
            if own && fetches_by_number(&line.text) {
                // what comes from there may run in many ways
                let mut effect = Effect::new(Verb::Execute, Target::Path(folder.to_owned()), program);
                "suspect".clone_into(&mut effect.operation);
                self.add(effect);
            }
            self.as_own_code(own, |shell| {
                shell.child(program, |shell| {
                    shell.state.cwd = Some(folder.to_owned());
                    shell.state.arguments = Some(Vec::new());
                    shell.nested(program, &line.text, Output::default())
                })
            });
            if let Some(shape) = &line.shape
                && self.reading.scripts.len() == before.1
                && self.reading.effects.iter().skip(before.0).all(|effect| only_makes_files(effect, folder))
            {
                *uniform.entry(shape.clone()).or_insert(0) += 1;
            }
        }
    }

    /// Reads a makefile and chooses the recipes of some goals and of all that they need. `given`: the variables of the
    /// command line, and whether those of the environment count as such.
    fn plan(
        &self,
        text: &str,
        folder: &str,
        (given, environment_wins): (&HashMap<String, String>, bool),
        goals: &[String],
    ) -> Plan {
        let mut variables = self.make_environment(folder);
        let mut kept: Vec<String> = given.keys().cloned().collect();
        kept.extend(variables.keys().filter(|_| environment_wins).cloned());
        variables.extend(given.clone());
        let read = self.makefile(text, folder, Given { variables, kept }, goals);
        let (asked, looked) = (RefCell::new(read.asked.clone()), Cell::new(false));
        let mut scope =
            Scope::new(Given::default(), Box::new(|command: &str| self.ask(command, folder, &asked, &looked)));
        scope.start(&read.defined);
        scope.variables.insert(GOALS.to_owned(), goals.join(" "));
        let file = &read.file;
        let remade = |name: &&String| rules_of(file, name, &[]).iter().any(|(rule, ..)| !rule.recipe.is_empty());
        let remade: Vec<String> = read.included.iter().filter(remade).cloned().collect();
        let making: Vec<String> = recipes(file, &mut scope, remade).into_iter().map(|line| line.text).collect();
        if !making.iter().all(|line| only_lists_needs(line)) {
            scope.problems.push("the makefile makes a file that it includes".to_owned());
        }
        let chosen = scope.value(".DEFAULT_GOAL");
        let goals = match goals {
            [] if chosen.trim().is_empty() => file.first.clone(),
            [] => vec![chosen.trim().to_owned()],
            goals => goals.to_vec(),
        };
        let lines = recipes(file, &mut scope, goals);
        let tools = handed_on(file, &mut scope, given);
        let mut problems = std::mem::take(&mut scope.problems);
        problems.extend(changes(&mut scope, file));
        let always = std::mem::take(&mut scope.always);
        drop(scope);
        let mut asked: Vec<String> = asked.into_inner().into_iter().map(|(command, _)| command).collect();
        asked.extend(making);
        asked.extend(tools);
        Plan { always, asked, lines, problems, foreign: read.foreign }
    }

    /// Reads the lines of a makefile. With the same variables it is read once: recipes often call `make` for each of many
    /// goals.
    fn makefile(&self, text: &str, folder: &str, mut given: Given, goals: &[String]) -> Rc<ReadMakefile> {
        given.variables.insert(GOALS.to_owned(), goals.join(" "));
        let matters = |(name, _): &(String, String)| name != GOALS || text.contains(GOALS);
        let mut variables: Vec<(String, String)> = given.variables.clone().into_iter().filter(matters).collect();
        variables.sort_unstable();
        let key = (text.to_owned(), folder.to_owned(), variables, given.kept.clone());
        if let Some(known) = self.makefiles.borrow().get(&key) {
            return Rc::clone(known);
        }
        let (asked, looked, foreign) = (RefCell::default(), Cell::new(false), Cell::new(false));
        let mut scope = Scope::new(given, Box::new(|command: &str| self.ask(command, folder, &asked, &looked)));
        let include = |name: &str| {
            looked.set(true);
            foreign.set(foreign.get() || !self.is_own_include(folder, name));
            self.included(folder, name)
        };
        let mut parser = Parser::new(&mut scope, &include);
        parser.read(text, 0);
        let (file, included) = (std::mem::take(&mut parser.file), std::mem::take(&mut parser.included));
        let defined = scope.defined();
        let read = Rc::new(ReadMakefile { file, included, defined, asked: asked.into_inner(), foreign: foreign.get() });
        if !looked.get() && self.makefiles.borrow().len() < MAKEFILES {
            self.makefiles.borrow_mut().insert(key, Rc::clone(&read));
        }
        read
    }

    /// What `$(shell ...)` prints, if that is known. `looked` is set if it depends on files, which may change.
    fn ask(&self, command: &str, folder: &str, asked: &RefCell<Asked>, looked: &Cell<bool>) -> Option<String> {
        let mut asked = asked.borrow_mut();
        if let Some((_, text)) = asked.iter().find(|(known, _)| known == command) {
            return text.clone();
        }
        if asked.len() > LINES {
            return None;
        }
        let text = self.printed(command, folder, looked);
        asked.push((command.to_owned(), text.clone()));
        text
    }

    /// Whether a file that a makefile includes is of the project, and untouched.
    fn is_own_include(&self, folder: &str, name: &str) -> bool {
        self.included_paths(folder, name).is_some_and(|paths| paths.iter().all(|path| self.is_untouched(path)))
    }

    /// The paths of the files that a makefile includes by a name or a pattern; `None` if they are not known.
    fn included_paths(&self, folder: &str, name: &str) -> Option<Vec<String>> {
        let path = if name.starts_with('/') { name.to_owned() } else { tidy(&format!("{folder}/{name}")) };
        let (above, last) = path.rsplit_once('/')?;
        let is_pattern = |part: &str| part.contains(['*', '?', '[']);
        if is_pattern(above) {
            return None;
        }
        Some(if is_pattern(last) { self.files_like(above, last) } else { vec![path.clone()] })
    }

    /// What is known of a file that a makefile includes, or of all files that a pattern matches.
    fn included(&self, folder: &str, name: &str) -> Included {
        let Some(paths) = self.included_paths(folder, name) else { return Included::Unread };
        let mut texts = Vec::new();
        for path in &paths {
            match self.read_contents(path) {
                Ok(contents) => {
                    texts.extend(contents.iter().map(|content| String::from_utf8_lossy(content).into_owned()));
                }
                Err(unread) if unread.is_missing() => return Included::Missing,
                Err(_) => return Included::Unread,
            }
        }
        Included::Texts(texts)
    }

    /// What a command line prints that only computes a path. `looked` is set if it depends on files.
    fn printed(&self, command: &str, folder: &str, looked: &Cell<bool>) -> Option<String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./ ~".contains(c);
        // `sh -c 'uname -s 2>/dev/null || echo not'`
        let command = command.strip_prefix("sh -c '").and_then(|inner| inner.strip_suffix('\'')).unwrap_or(command);
        let first = command.split_once("||").map_or(command, |(first, _)| first).trim();
        let first = first.strip_suffix("2>/dev/null").or(first.strip_suffix("2> /dev/null")).unwrap_or(first).trim();
        let command = if matches!(first, "uname" | "uname -s") { first } else { command };
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let (program, arguments) = words.split_first()?;
        if !command.chars().all(plain) {
            return None;
        }
        match (program.as_str(), arguments) {
            ("pwd", _) => return Some(folder.to_owned()),
            ("uname", []) => return SYSTEM.map(str::to_owned),
            ("uname", [option]) if option == "-s" => return SYSTEM.map(str::to_owned),
            _ => {}
        }
        let text = self.computed(program, arguments);
        looked.set(looked.get() || text.is_some() && !matches!(program.as_str(), "basename" | "dirname" | "seq"));
        text
    }

    /// The variables that a makefile gets from outside: exported ones, the home, and the folder.
    fn make_environment(&self, folder: &str) -> HashMap<String, String> {
        let exported = self.state.exported.iter().filter_map(|name| Some((name, self.state.variables.get(name)?)));
        let mut all: HashMap<String, String> =
            exported.map(|(name, values)| (name.clone(), values.join(" "))).collect();
        all.entry("HOME".to_owned()).or_insert_with(|| self.state.home.clone());
        all.extend(["CURDIR", "PWD"].map(|name| (name.to_owned(), folder.to_owned())));
        all.entry("MAKEFILE_LIST".to_owned()).or_insert_with(|| format!("{folder}/Makefile"));
        for name in ENVIRONMENT {
            all.entry(name.to_owned()).or_insert_with(|| UNKNOWN_SPAN.to_string());
        }
        all
    }

    /// The possible contents of the makefile, and whether it is the project's own; one that cannot be read is an effect.
    fn makefiles(&mut self, program: &str, folder: &str, file: Option<&str>, stdin: &Output) -> (Vec<String>, bool) {
        let stream = file.and_then(|name| self.stream(name));
        if file == Some("-") || stream.is_some() {
            let stdin = &stream.unwrap_or_else(|| stdin.clone());
            if stdin.text.is_none() {
                self.unknown(Cause::Dynamic, "the makefile comes from its input", program);
            }
            return (stdin.text.iter().cloned().collect(), false);
        }
        let names = file.map_or_else(|| vec!["GNUmakefile", "makefile", "Makefile"], |name| vec![name]);
        let mut why = ReadError::Missing("no makefile".to_owned());
        for name in &names {
            let path = if name.starts_with('/') { (*name).to_owned() } else { tidy(&format!("{folder}/{name}")) };
            match self.read_contents(&path) {
                Ok(contents) => {
                    for content in &contents {
                        let mut effect = Effect::new(Verb::Execute, Target::Path(path.clone()), program);
                        "source".clone_into(&mut effect.operation);
                        let digest = crate::shell::file::digest(content);
                        self.reading.scripts.push((path.clone(), digest.clone()));
                        effect.detail = Detail::Digest(digest);
                        self.add(effect);
                    }
                    let own = self.is_untouched(&path);
                    let texts = contents.iter().map(|content| String::from_utf8_lossy(content).into_owned());
                    return (texts.collect(), own);
                }
                Err(unread) => {
                    // the file exists, so `make` would use it
                    let exists = !unread.is_missing();
                    why = unread;
                    if exists {
                        break;
                    }
                }
            }
        }
        let path = tidy(&format!("{folder}/{}", names.last().unwrap_or(&"Makefile")));
        self.step(|| format!("cannot read {path}: {why}"));
        self.unread(&path, why, program);
        (Vec::new(), false)
    }
}

/// The words of a command line, without what separates commands.
fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || ";|&()`'\"".contains(c))
}

/// What changes how `make` reads the file or runs its recipes, so that they are not what they seem.
fn changes(scope: &mut Scope<'_>, file: &Makefile) -> Vec<String> {
    let mut found = Vec::new();
    for name in CHANGES {
        let set =
            scope.variables.get(name).is_some_and(|value| !value.trim().is_empty()) || scope.others.contains_key(name);
        let flags = name == ".SHELLFLAGS" && scope.value(name).split_whitespace().all(|word| FLAGS.contains(&word));
        if (set || file.rules.contains_key(name))
            && !flags
            && !(name == "MAKEFLAGS" && scope.value(name).split_whitespace().all(is_harmless_flag))
        {
            found.push(format!("the makefile sets {name}"));
        }
    }
    let shell = scope.value("SHELL");
    let base = shell.trim().trim_start_matches("/usr/bin/env ").rsplit('/').next().unwrap_or_default().to_owned();
    if !SHELLS.contains(&base.as_str()) {
        found.push(format!("the makefile runs its recipes with {}", shell.trim()));
    }
    found
}

/// Expands the variables that recipes get in their environment, which may run commands, and returns what built-in rules
/// would run with the tools that the makefile or the command line sets.
fn handed_on(file: &Makefile, scope: &mut Scope<'_>, given: &HashMap<String, String>) -> Vec<String> {
    let exported: Vec<String> = match &file.exported {
        Some(names) => names.iter().chain(given.keys()).cloned().collect(),
        None => scope.variables.keys().cloned().collect(),
    };
    exported.iter().for_each(|name| drop(scope.expand_all(&format!("$({name})"))));
    let set = |scope: &mut Scope<'_>, name: &&str| {
        let set = scope.variables.contains_key(*name) || scope.others.contains_key(*name);
        let mut values = if set { scope.expand_all(&format!("$({name})")) } else { Vec::new() };
        values.retain(|value| !value.trim().is_empty() && !value.contains(UNKNOWN_SPAN));
        values
    };
    let tools: Vec<String> = TOOLS.iter().flat_map(|name| set(scope, name)).collect();
    let options: Vec<String> = TOOL_OPTIONS.iter().flat_map(|name| set(scope, name)).collect();
    tools.into_iter().chain(options.iter().map(|value| format!("cc {value}"))).collect()
}

/// Whether a flag of `make` changes only what it prints or how many jobs it runs.
fn is_harmless_flag(flag: &str) -> bool {
    let flag = flag.trim_start_matches('-');
    matches!(
        flag,
        "no-print-directory"
            | "warn-undefined-variables"
            | "no-builtin-rules"
            | "no-builtin-variables"
            | "silent"
            | "keep-going"
            | "rR"
            | "Rr"
            | "r"
            | "R"
            | "s"
            | "k"
    ) || flag
        .strip_prefix('j')
        .or_else(|| flag.strip_prefix("jobs="))
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        || flag.starts_with("output-sync")
}

/// A folder named relative to another one.
fn inside(folder: &str, named: &str) -> String {
    if named.starts_with('/') { named.to_owned() } else { format!("{folder}/{named}") }
}
