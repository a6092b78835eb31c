//! `make`: interprets the recipes of the targets as far as they are constant.
//!
//! A variable that is not set is empty, as in `make`; the result of a `make` function is not constant. A recipe is
//! judged like any other script: unknown parts stay unknown.

use crate::shell::{Output, ReadError, Shell, UNKNOWN_SPAN};
use crate::{Cause, Detail, Effect, Target, Verb};
use std::collections::{HashMap, HashSet};

/// Most recipe lines that are interpreted.
const LINES: usize = 400;

/// Options with which `make` runs no recipe.
const QUERIES: [&str; 7] = ["-n", "--dry-run", "--just-print", "--recon", "--question", "--version", "--help"];

#[derive(Default)]
struct Makefile {
    variables: HashMap<String, String>,
    rules: HashMap<String, Rule>,
    first: Option<String>,
}

#[derive(Default)]
struct Rule {
    needs: Vec<String>,
    recipe: Vec<String>,
}

impl Shell<'_> {
    pub(crate) fn make(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let (options, operands) = self.permuted(program, words);
        if options.has(&QUERIES) {
            return Output::default();
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
                Some((name, value)) => drop(given.insert(name.trim_end_matches(':').to_owned(), value.to_owned())),
                None => goals.push(word),
            }
        }
        let folder = self.path(&folder);
        let mut lines: Vec<String> = given.values().flat_map(|value: &String| shell_functions(value)).collect();
        let more = evals.join("\n");
        let mut texts = self.makefiles(program, &folder, file.as_deref(), stdin);
        if texts.is_empty() {
            texts.push(String::new());
        }
        for text in texts {
            let text = format!("{more}\n{text}");
            let mut makefile = parse(&text);
            makefile.variables.extend(given.clone());
            for (name, value) in self.make_environment(&folder) {
                makefile.variables.entry(name).or_insert(value);
            }
            let goals = if goals.is_empty() { makefile.first.iter().cloned().collect() } else { goals.clone() };
            lines.extend(shell_functions(&text).iter().map(|command| expand(command, &makefile, 0)));
            lines.extend(recipes(&makefile, goals));
        }
        if lines.len() > LINES {
            self.unknown(Cause::Budget, "the makefile has too many recipe lines", program);
        }
        for line in lines.iter().take(LINES) {
            self.child(program, |shell| {
                shell.state.cwd = Some(folder.clone());
                shell.state.arguments.clear();
                shell.nested(program, line, Output::default())
            });
        }
        Output::default()
    }

    /// The variables that a makefile gets from outside: exported ones, the home, and the folder.
    fn make_environment(&self, folder: &str) -> HashMap<String, String> {
        let exported = self.state.exported.iter().filter_map(|name| Some((name, self.state.variables.get(name)?)));
        let mut all: HashMap<String, String> =
            exported.map(|(name, values)| (name.clone(), values.join(" "))).collect();
        all.entry("HOME".to_owned()).or_insert_with(|| self.state.home.clone());
        all.extend(["CURDIR", "PWD"].map(|name| (name.to_owned(), folder.to_owned())));
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
            let path = if name.starts_with('/') {
                (*name).to_owned()
            } else {
                crate::shell::tidy(&format!("{folder}/{name}"))
            };
            match self.read_contents(&path) {
                Ok(contents) => {
                    for content in &contents {
                        let mut effect = Effect::new(Verb::Execute, Target::Path(path.clone()), program);
                        "source".clone_into(&mut effect.operation);
                        let digest = crate::shell::source::digest(content);
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
        let path = crate::shell::tidy(&format!("{folder}/{}", names.last().unwrap_or(&"Makefile")));
        self.step(|| format!("cannot read {path}: {why}"));
        self.unread(&path, why, program);
        Vec::new()
    }
}

/// A folder named relative to another one.
fn inside(folder: &str, named: &str) -> String {
    if named.starts_with('/') { named.to_owned() } else { format!("{folder}/{named}") }
}

fn parse(text: &str) -> Makefile {
    let mut makefile = Makefile::default();
    let mut current: Vec<String> = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        if let Some(recipe) = line.strip_prefix('\t') {
            for target in &current {
                makefile.rules.entry(target.clone()).or_default().recipe.push(recipe.to_owned());
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or_default().trim();
        let assigns = line.find('=').filter(|at| line.find(':').is_none_or(|colon| colon + 1 >= *at || colon > *at));
        if let Some(at) = assigns {
            let name = line.get(..at).unwrap_or_default().trim_end_matches([':', '?', '+', '!']).trim();
            let value = line.get(at + 1..).unwrap_or_default().trim();
            makefile.variables.insert(name.to_owned(), value.to_owned());
            continue;
        }
        let Some((targets, after)) = line.split_once(':') else { continue };
        let (needs, first) = after.trim_start_matches(':').split_once(';').unwrap_or((after, ""));
        current = targets.split_whitespace().map(str::to_owned).collect();
        for target in &current {
            let rule = makefile.rules.entry(target.clone()).or_default();
            rule.needs.extend(needs.split_whitespace().map(str::to_owned));
            rule.recipe.extend((!first.is_empty()).then(|| first.to_owned()));
            if makefile.first.is_none() && !target.starts_with('.') {
                makefile.first = Some(target.clone());
            }
        }
    }
    makefile
}

/// The recipe lines of some goals and of all their prerequisites.
fn recipes(makefile: &Makefile, goals: Vec<String>) -> Vec<String> {
    let (mut open, mut seen, mut lines) = (goals, HashSet::new(), Vec::new());
    while let Some(goal) = open.pop() {
        if !seen.insert(goal.clone()) {
            continue;
        }
        let Some(rule) = makefile.rules.get(&goal) else { continue };
        open.extend(rule.needs.iter().cloned());
        for line in &rule.recipe {
            if lines.len() <= LINES {
                lines.push(expand(line.trim_start_matches(['@', '-', '+', ' ']), makefile, 0));
            }
        }
    }
    lines
}

/// Variables that `make` itself sets.
fn built_in(name: &str) -> Option<&'static str> {
    Some(match name {
        "CC" => "cc",
        "CXX" | "CPP" => "c++",
        "AR" => "ar",
        "LD" => "ld",
        "AS" => "as",
        "RM" => "rm -f",
        "MAKE" => "make",
        "SHELL" => "/bin/sh",
        "INSTALL" => "install",
        _ => return None,
    })
}

/// The commands of `$(shell ...)` and `NAME != ...`: they run when `make` reads the makefile.
fn shell_functions(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for after in text.split("$(shell ").skip(1) {
        let mut depth = 1_u32;
        let inside = |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth > 0
        };
        commands.push(after.chars().take(4096).scan(inside, |inside, c| inside(c).then_some(c)).collect());
    }
    let assigned = text.lines().filter(|l| !l.starts_with('\t')).filter_map(|l| l.split_once("!="));
    commands.extend(assigned.map(|(_, command)| command.trim().to_owned()));
    commands
}

/// Expands `$(NAME)` and `${NAME}` if they are constant; [`UNKNOWN_SPAN`] replaces anything else that begins with `$`.
fn expand(text: &str, makefile: &Makefile, depth: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let close = match after.chars().next() {
            Some('$') => {
                out.push('$');
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            Some('(') => after.find(')'),
            Some('{') => after.find('}'),
            _ => None,
        };
        match close {
            Some(end) => {
                let name = after.get(1..end).unwrap_or_default();
                let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
                match makefile.variables.get(name).map(String::as_str).or_else(|| built_in(name)) {
                    Some(value) if depth < 5 => out.push_str(&expand(value, makefile, depth + 1)),
                    None if plain => {}
                    Some(_) | None => out.push(UNKNOWN_SPAN),
                }
                rest = after.get(end + 1..).unwrap_or_default();
            }
            None => {
                out.push(UNKNOWN_SPAN);
                rest = after.char_indices().nth(1).and_then(|(at, _)| after.get(at..)).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}
