//! `make`: interprets the recipes of the targets as far as they are constant.
//!
//! [`parse`] finds the variables and rules, [`expand`] replaces variables and functions. A variable that is not set is
//! empty, as in `make`. A recipe is judged like any other script: unknown parts stay unknown.

mod expand;
mod parse;
#[cfg(test)]
mod tests;

use crate::shell::content::Content;
use crate::shell::decided::SYSTEM;
use crate::shell::{Output, ReadError, Shell, UNKNOWN_SPAN, tidy};
use crate::{Cause, Detail, Effect, Target, Verb};
use expand::{Scope, stem};
use parse::{Included, Makefile, Parser, Rule};
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
/// After so many lines of a pattern rule that only read and write files of the folder, the others do as well.
const ALIKE: usize = 2;
/// Most targets that are looked at.
const GOALS: usize = 4_000;
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
/// Compilers that write which files an object needs.
const COMPILERS: [&str; 8] = ["cc", "gcc", "g++", "c++", "clang", "clang++", "gfortran", "nvcc"];
/// Variables that every environment has; their values are not known here.
const ENVIRONMENT: [&str; 6] = ["HOSTNAME", "LANG", "LOGNAME", "PATH", "TERM", "USER"];

/// A makefile that was read, and what it runs.
struct Plan {
    /// Command lines of `$(shell ...)`.
    asked: Vec<String>,
    /// Lines of the recipes in order.
    lines: Vec<Line>,
    /// Those among them that always run.
    always: Vec<String>,
    problems: Vec<String>,
}

/// A line of a recipe, and the line of a pattern rule from which it was made for a plain name.
#[derive(Debug, Clone)]
struct Line {
    text: String,
    pattern: Option<(String, usize)>,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Line { text, pattern: None }
    }
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
        let (mut texts, own) = self.makefiles(program, &folder, file.as_deref(), stdin);
        let packaged = std::mem::replace(&mut self.packaged, own);
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
            self.run_plan(program, &folder, &plan);
        }
        self.packaged = packaged;
        Output::default()
    }

    /// Interprets the command lines of a makefile, each in a shell of its own.
    fn run_plan(&mut self, program: &str, folder: &str, plan: &Plan) {
        let asked: Vec<Line> = plan.asked.iter().cloned().map(Line::from).collect();
        let (mut seen, mut uniform) = (HashSet::new(), HashMap::new());
        let mut left = LINES;
        for line in asked.iter().chain(&plan.lines).filter(|line| seen.insert(&line.text)) {
            if line.pattern.as_ref().is_some_and(|pattern| uniform.get(pattern).is_some_and(|count| *count >= ALIKE)) {
                continue;
            }
            if left == 0 {
                return self.unknown(Cause::Budget, "the makefile has too many recipe lines", program);
            }
            left -= 1;
            let before = (self.reading.effects.len(), self.reading.scripts.len());
            self.child(program, |shell| {
                shell.state.cwd = Some(folder.to_owned());
                shell.state.arguments = Some(Vec::new());
                shell.nested(program, &line.text, Output::default())
            });
            if let Some(pattern) = &line.pattern
                && self.reading.scripts.len() == before.1
                && self.reading.effects.iter().skip(before.0).all(|effect| only_makes_files(effect, folder))
            {
                *uniform.entry(pattern.clone()).or_insert(0) += 1;
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
        let asked: RefCell<Vec<(String, Option<String>)>> = RefCell::default();
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
        let mut variables = self.make_environment(folder);
        let mut kept: Vec<String> = given.keys().cloned().collect();
        kept.extend(variables.keys().filter(|_| environment_wins).cloned());
        variables.extend(given.clone());
        variables.insert("MAKECMDGOALS".to_owned(), goals.join(" "));
        let mut scope = Scope::new(variables, kept, Box::new(run));
        let include = |name: &str| self.included(folder, name);
        let mut parser = Parser::new(&mut scope, &include);
        parser.read(text, 0);
        let file = std::mem::take(&mut parser.file);
        let included = std::mem::take(&mut parser.included);
        let remade = |name: &String| rules_of(&file, name, &[]).iter().any(|(rule, ..)| !rule.recipe.is_empty());
        let remade: Vec<String> = included.into_iter().filter(remade).collect();
        let making: Vec<String> = recipes(&file, &mut scope, remade).into_iter().map(|line| line.text).collect();
        if !making.iter().all(|line| only_lists_needs(line)) {
            scope.problems.push("the makefile makes a file that it includes".to_owned());
        }
        let chosen = scope.value(".DEFAULT_GOAL");
        let goals = match goals {
            [] if chosen.trim().is_empty() => file.first.clone(),
            [] => vec![chosen.trim().to_owned()],
            goals => goals.to_vec(),
        };
        let lines = recipes(&file, &mut scope, goals);
        let tools = handed_on(&file, &mut scope, given);
        let mut problems = std::mem::take(&mut scope.problems);
        problems.extend(changes(&mut scope, &file));
        let always = std::mem::take(&mut scope.always);
        drop(scope);
        let mut asked: Vec<String> = asked.into_inner().into_iter().map(|(command, _)| command).collect();
        asked.extend(making);
        asked.extend(tools);
        Plan { always, asked, lines, problems }
    }

    /// What is known of a file that a makefile includes, or of all files that a pattern matches.
    fn included(&self, folder: &str, name: &str) -> Included {
        let path = if name.starts_with('/') { name.to_owned() } else { tidy(&format!("{folder}/{name}")) };
        let Some((above, last)) = path.rsplit_once('/') else { return Included::Unread };
        if above.contains(['*', '?', '[']) {
            return Included::Unread;
        }
        let paths = if last.contains(['*', '?', '[']) { self.files_like(above, last) } else { vec![path.clone()] };
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

    /// What a command line prints that only computes a path.
    fn printed(&self, command: &str, folder: &str) -> Option<String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./ ~".contains(c);
        // `sh -c 'uname -s 2>/dev/null || echo not'`
        let command = command.strip_prefix("sh -c '").and_then(|inner| inner.strip_suffix('\'')).unwrap_or(command);
        let command = command.split_once("||").map_or(command, |(first, _)| first).trim();
        let command = command.strip_suffix("2>/dev/null").or(command.strip_suffix("2> /dev/null")).unwrap_or(command);
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
                    let own = self.is_own_file(&path) && self.contents(&path) == [Content::Before(path.clone())];
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

/// Variables of targets: name, mark and value.
type Variables = Vec<(String, String, String)>;

/// The recipe lines of some goals and of all their prerequisites.
fn recipes(file: &Makefile, scope: &mut Scope<'_>, goals: Vec<String>) -> Vec<Line> {
    let mut open: Vec<(String, Vec<usize>, Variables)> =
        goals.into_iter().map(|goal| (goal, Vec::new(), Vec::new())).collect();
    let (mut seen, mut lines) = (HashSet::new(), Vec::new());
    while let Some((goal, used, inherited)) = open.pop() {
        if !seen.insert((goal.clone(), inherited.clone())) || lines.len() > LINES {
            continue;
        }
        if seen.len() > GOALS {
            scope.problems.push("the makefile has too many targets".to_owned());
            break;
        }
        let rules = rules_of(file, &goal, &used);
        // the variables of a target are those of all that it needs
        let mut variables = inherited;
        variables.extend(rules.iter().flat_map(|(rule, ..)| rule.variables.iter().cloned()));
        for (rule, stem, pattern) in rules {
            let needs: Vec<String> = rule.needs.iter().map(|need| need.replace('%', &stem)).collect();
            let used: Vec<usize> = used.iter().copied().chain(pattern).collect();
            open.extend(needs.iter().map(|need| (need.clone(), used.clone(), variables.clone())));
            lines.extend(recipe(file, scope, &goal, (&rule.recipe, &variables), &needs, stem));
        }
    }
    lines
}

/// The recipe lines of one target, with the variables that `make` sets for it.
fn recipe(
    file: &Makefile,
    scope: &mut Scope<'_>,
    goal: &str,
    (written, variables): (&[String], &Variables),
    needs: &[String],
    stem: String,
) -> Vec<Line> {
    let own = needs.iter().map(String::as_str).filter(|need| need.contains(stem.as_str()));
    let plain = !stem.is_empty() && [goal].into_iter().chain(own).all(is_plain);
    if written.is_empty() {
        return Vec::new();
    }
    let before = (scope.variables.clone(), scope.others.clone());
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
    for (name, mark, value) in variables {
        scope.assign(name, mark, value, false);
    }
    let mut recipe = Vec::new();
    // one more than the most shows that there are too many
    for written in written.iter().take(LINES + 1) {
        let again = ["$(MAKE)", "${MAKE}"].iter().any(|name| written.contains(name));
        // a variable may hold several lines
        let texts = scope.expand_all(written);
        for (at, line) in texts.iter().flat_map(|text| text.lines()).enumerate() {
            let command = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
            let marks = line.get(..line.len() - command.len()).unwrap_or_default();
            if again || marks.contains('+') {
                scope.always.push(command.to_owned());
            }
            recipe.push(Line { text: unannounced(command).to_owned(), pattern: plain.then(|| (written.clone(), at)) });
        }
    }
    (scope.variables, scope.others) = before;
    if file.one_shell {
        return vec![recipe.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n").into()];
    }
    recipe
}

/// A command line without what it prints before: `printf 'CC a.c' 1>&2; cc -c a.c`.
fn unannounced(line: &str) -> &str {
    let Some((before, rest)) = line.split_once("1>&2;") else { return line };
    let prints = before.starts_with("printf ") || before.starts_with("echo ");
    if prints && !before.contains(['`', '$', ';', '|', '&', '>']) { rest.trim_start() } else { line }
}

/// Whether a command line only lets a compiler write which files an object needs.
fn only_lists_needs(line: &str) -> bool {
    let computed = line.contains("$(") || line.contains('`');
    // `printf ... 1>&2;cc -MM a.c > a.d || true`
    let mut parts = line.split([';', '|', '&']).filter(|part| !part.trim().is_empty());
    !computed
        && parts.all(|part| match part.split_whitespace().next().unwrap_or_default() {
            "printf" | "echo" => part.ends_with('>'),
            "2" | "true" | "set" | "rm" | "mkdir" => true,
            program => COMPILERS.contains(&program) && part.split_whitespace().any(|word| word.starts_with("-M")),
        })
}

/// Whether a word is the relative path of an ordinary file, for which a command means the same as for another one.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    word.chars().all(plain)
        && word.split('/').all(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// Whether an effect reads or writes a file of the folder, or is a program's start.
fn only_makes_files(effect: &Effect, folder: &str) -> bool {
    match effect.verb {
        Verb::Read | Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite => {
            matches!(&effect.target, Target::Path(path)
                if path == "/dev/null" || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        }
        Verb::List => true,
        _ => false,
    }
}

/// The rules of a target, each with what `%` stands for and the number of its pattern: its own, and, if that has no recipe,
/// those of all patterns that match; without any, that of `.DEFAULT`.
///
/// `used` holds the patterns that led to the target: `make` uses none of them twice in a chain.
fn rules_of<'f>(file: &'f Makefile, goal: &str, used: &[usize]) -> Vec<(&'f Rule, String, Option<usize>)> {
    let own = file.rules.get(goal);
    let mut all: Vec<_> = own.into_iter().map(|rule| (rule, String::new(), None)).collect();
    if own.is_none_or(|rule| rule.recipe.is_empty()) {
        let unused = file.patterns.iter().enumerate().filter(|(at, _)| !used.contains(at));
        all.extend(unused.filter_map(|(at, (pattern, rule))| Some((rule, stem(pattern, goal)?.to_owned(), Some(at)))));
    }
    if all.is_empty() {
        all.extend(file.rules.get(".DEFAULT").map(|rule| (rule, String::new(), None)));
    }
    all
}
