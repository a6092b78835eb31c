//! `make`: interprets the recipes of the targets as far as they are constant.
//!
//! [`parse`] finds the variables and rules, [`expand`] replaces variables and functions. A variable that is not set is
//! empty, as in `make`. A recipe is judged like any other script: unknown parts stay unknown.

mod expand;
mod parse;
#[cfg(test)]
mod tests;

use crate::shell::{Output, ReadError, Shell, tidy};
use crate::{Cause, Detail, Effect, Target, Verb};
use expand::{Scope, stem};
use parse::{Makefile, Parser, Rule};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Most recipe lines that are interpreted.
const LINES: usize = 400;
/// Options that name a makefile.
const FILES: [&str; 3] = ["-f", "--file", "--makefile"];
/// Shells, and options with which they run one line as it stands.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "ksh"];
const FLAGS: [&str; 14] =
    ["-c", "-ec", "-e", "-u", "-o", "pipefail", "-euc", "-eu", "-euo", "-eo", "-uc", "errexit", "nounset", "-xec"];
/// Most targets that are looked at.
const GOALS: usize = 4_000;
/// Options with which `make` reads no makefile, and those with which it runs only lines that begin with `+`, and what it
/// asks while it reads.
const ALONE: [&str; 4] = ["--version", "-v", "--help", "-h"];
const QUERIES: [&str; 7] = ["-n", "--dry-run", "--just-print", "--recon", "--question", "-q", "-t"];
/// Variables that change how `make` reads a makefile, or runs a recipe.
const CHANGES: [&str; 6] =
    [".RECIPEPREFIX", ".SHELLFLAGS", ".SECONDEXPANSION", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES"];
/// Variables with the programs of built-in rules, which run without a rule of the makefile.
const TOOLS: [&str; 8] = ["CC", "CXX", "CPP", "AR", "AS", "LD", "RM", "FC"];

/// A makefile that was read, and what it runs.
struct Plan {
    /// Command lines of `$(shell ...)`.
    asked: Vec<String>,
    /// Lines of the recipes in order, and those among them that always run.
    lines: Vec<String>,
    always: Vec<String>,
    problems: Vec<String>,
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
        let (mut given, mut goals) = (HashMap::new(), Vec::new());
        for word in operands {
            match word.split_once('=') {
                Some((name, value)) => {
                    drop(given.insert(name.trim_end_matches([':', '+']).to_owned(), value.to_owned()));
                }
                None => goals.push(word),
            }
        }
        let folder = self.path(&folder);
        let mut texts = self.makefiles(program, &folder, file.as_deref(), stdin);
        if texts.is_empty() {
            texts.push(String::new());
        }
        for text in texts {
            let text = format!("{}\n{text}", evals.join("\n"));
            let mut plan = self.plan(&text, &folder, &given, &goals);
            if asks_only {
                plan.lines = plan.always.clone();
            }
            plan.problems.iter().for_each(|problem| self.unknown(Cause::Dynamic, problem, program));
            self.run_plan(program, &folder, &plan);
        }
        Output::default()
    }

    /// Interprets the command lines of a makefile, each in a shell of its own.
    fn run_plan(&mut self, program: &str, folder: &str, plan: &Plan) {
        let lines: Vec<&String> = plan.asked.iter().chain(&plan.lines).collect();
        if lines.len() > LINES {
            self.unknown(Cause::Budget, "the makefile has too many recipe lines", program);
        }
        for line in lines.into_iter().take(LINES) {
            self.child(program, |shell| {
                shell.state.cwd = Some(folder.to_owned());
                shell.state.arguments = Some(Vec::new());
                shell.nested(program, line, Output::default())
            });
        }
    }

    /// Reads a makefile and chooses the recipes of some goals and of all that they need.
    fn plan(&self, text: &str, folder: &str, given: &HashMap<String, String>, goals: &[String]) -> Plan {
        let asked: RefCell<Vec<(String, Option<String>)>> = RefCell::default();
        let mut variables = self.make_environment(folder);
        variables.extend(given.clone());
        let run = |command: &str| {
            let mut asked = asked.borrow_mut();
            if let Some((_, text)) = asked.iter().find(|(known, _)| known == command) {
                return text.clone();
            }
            if asked.len() > LINES {
                return None;
            }
            let text = self.printed(command, folder);
            asked.push((command.to_owned(), text.clone()));
            text
        };
        let mut scope = Scope::new(variables, Box::new(run));
        let include = |name: &str| {
            let path = if name.starts_with('/') { name.to_owned() } else { tidy(&format!("{folder}/{name}")) };
            let content = self.read_contents(&path).ok()?.into_iter().next()?;
            Some(String::from_utf8_lossy(&content).into_owned())
        };
        let mut parser = Parser::new(&mut scope, &include);
        parser.read(text, 0);
        let file = std::mem::take(&mut parser.file);
        let included = std::mem::take(&mut parser.included);
        if included
            .iter()
            .any(|name| rule_of(&file, name, &mut Vec::new()).is_some_and(|(rule, _)| !rule.recipe.is_empty()))
        {
            scope.problems.push("the makefile makes a file that it includes".to_owned());
        }
        let goals = if goals.is_empty() {
            let chosen = scope.variables.get(".DEFAULT_GOAL").cloned().filter(|goal| !goal.is_empty());
            chosen.or_else(|| file.first.clone()).into_iter().collect()
        } else {
            goals.to_vec()
        };
        // the values of the command line are handed to each recipe in its environment
        given.values().for_each(|value| drop(scope.expand(value)));
        let lines = recipes(&file, &mut scope, goals);
        let mut problems = std::mem::take(&mut scope.problems);
        problems.extend(changes(&mut scope, &file));
        let always = std::mem::take(&mut scope.always);
        drop(scope);
        Plan { always, asked: asked.into_inner().into_iter().map(|(command, _)| command).collect(), lines, problems }
    }

    /// What a command line prints that only computes a path.
    fn printed(&self, command: &str, folder: &str) -> Option<String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./ ~".contains(c);
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let (program, arguments) = words.split_first()?;
        if !command.chars().all(plain) {
            return None;
        }
        if program == "pwd" {
            return Some(folder.to_owned());
        }
        self.computed(program, arguments)
    }

    /// The variables that a makefile gets from outside: exported ones, the home, and the folder.
    fn make_environment(&self, folder: &str) -> HashMap<String, String> {
        let exported = self.state.exported.iter().filter_map(|name| Some((name, self.state.variables.get(name)?)));
        let mut all: HashMap<String, String> =
            exported.map(|(name, values)| (name.clone(), values.join(" "))).collect();
        all.entry("HOME".to_owned()).or_insert_with(|| self.state.home.clone());
        all.extend(["CURDIR", "PWD"].map(|name| (name.to_owned(), folder.to_owned())));
        all.entry("MAKEFILE_LIST".to_owned()).or_insert_with(|| format!("{folder}/Makefile"));
        all
    }

    /// The possible contents of the makefile; one that cannot be read is an effect.
    fn makefiles(&mut self, program: &str, folder: &str, file: Option<&str>, stdin: &Output) -> Vec<String> {
        let stream = file.and_then(|name| self.stream(name));
        if file == Some("-") || stream.is_some() {
            let stdin = &stream.unwrap_or_else(|| stdin.clone());
            if stdin.text.is_none() {
                self.unknown(Cause::Dynamic, "the makefile comes from its input", program);
            }
            return stdin.text.iter().cloned().collect();
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
                    return contents.iter().map(|content| String::from_utf8_lossy(content).into_owned()).collect();
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
        Vec::new()
    }
}

/// What changes how `make` reads the file or runs its recipes, so that they are not what they seem.
fn changes(scope: &mut Scope<'_>, file: &Makefile) -> Vec<String> {
    let mut found = Vec::new();
    for name in CHANGES {
        let set = scope.variables.get(name).is_some_and(|value| !value.trim().is_empty());
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
    for name in TOOLS {
        let value = scope.value(name);
        if scope.variables.contains_key(name) && value.contains([';', '&', '|', '`', '>', '<', '(']) {
            found.push(format!("{name} is a command line"));
        }
    }
    found
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

/// The recipe lines of some goals and of all their prerequisites.
fn recipes(file: &Makefile, scope: &mut Scope<'_>, goals: Vec<String>) -> Vec<String> {
    let mut open: Vec<(String, Vec<usize>)> = goals.into_iter().map(|goal| (goal, Vec::new())).collect();
    let (mut seen, mut lines) = (HashSet::new(), Vec::new());
    while let Some((goal, mut used)) = open.pop() {
        if !seen.insert(goal.clone()) || lines.len() > LINES {
            continue;
        }
        if seen.len() > GOALS {
            scope.problems.push("the makefile has too many targets".to_owned());
            break;
        }
        let Some((rule, stem)) = rule_of(file, &goal, &mut used) else { continue };
        let needs: Vec<String> = rule.needs.iter().map(|need| need.replace('%', &stem)).collect();
        open.extend(needs.iter().map(|need| (need.clone(), used.clone())));
        lines.extend(recipe(file, scope, &goal, &rule, &needs, stem));
    }
    lines
}

/// The recipe lines of one target, with the variables that `make` sets for it.
fn recipe(
    file: &Makefile,
    scope: &mut Scope<'_>,
    goal: &str,
    rule: &Rule,
    needs: &[String],
    stem: String,
) -> Vec<String> {
    if rule.recipe.is_empty() {
        return Vec::new();
    }
    let before = scope.variables.clone();
    let automatic = [
        ("@", goal.to_owned()),
        ("<", needs.first().cloned().unwrap_or_default()),
        ("^", needs.join(" ")),
        ("+", needs.join(" ")),
        ("?", needs.join(" ")),
        ("*", stem),
    ];
    for (name, value) in automatic {
        let parts = |part: fn(&str) -> &str| value.split_whitespace().map(part).collect::<Vec<_>>().join(" ");
        let folders = parts(|path| path.rsplit_once('/').map_or(".", |(folder, _)| folder));
        let files = parts(|path| path.rsplit('/').next().unwrap_or(path));
        scope.variables.insert(format!("{name}D"), folders);
        scope.variables.insert(format!("{name}F"), files);
        scope.variables.insert(name.to_owned(), value);
    }
    for (name, value) in &rule.variables {
        scope.set(name, value.clone());
    }
    let mut recipe = Vec::new();
    for line in rule.recipe.iter().take(LINES) {
        // a variable may hold several lines
        for line in scope.expand(line).lines() {
            let marks: String = line.chars().take_while(|c| "@-+ \t".contains(*c)).collect();
            if marks.contains('+') {
                scope.always.push(line.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned());
            }
            recipe.push(line.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned());
        }
    }
    scope.variables = before;
    if file.one_shell { vec![recipe.join("\n")] } else { recipe }
}

/// The rule of a target and what `%` stands for: its own, and the recipe of a pattern if it has none.
///
/// `used` holds the patterns that led to the target: `make` uses none of them twice in a chain.
fn rule_of(file: &Makefile, goal: &str, used: &mut Vec<usize>) -> Option<(Rule, String)> {
    let own = file.rules.get(goal);
    if let Some(rule) = own.filter(|rule| !rule.recipe.is_empty()) {
        return Some((rule.clone(), String::new()));
    }
    let mut unused = file.patterns.iter().enumerate().filter(|(at, _)| !used.contains(at));
    let pattern = unused.find_map(|(at, (pattern, rule))| Some((at, rule, stem(pattern, goal)?.to_owned())));
    used.extend(pattern.as_ref().map(|(at, ..)| *at));
    match (own, pattern) {
        (Some(own), Some((_, rule, stem))) => {
            let mut both = rule.clone();
            both.needs.splice(0..0, own.needs.iter().cloned());
            both.variables.extend(own.variables.iter().cloned());
            Some((both, stem))
        }
        (Some(own), None) => Some((own.clone(), String::new())),
        (None, Some((_, rule, stem))) => Some((rule.clone(), stem)),
        (None, None) => None,
    }
}
