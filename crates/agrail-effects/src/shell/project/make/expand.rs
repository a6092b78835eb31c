//! Variables and functions of `make`, as far as their values are constant.

use crate::UNKNOWN_SPAN;
use std::collections::HashMap;

/// Deepest nesting of variables and functions.
const DEEPEST: usize = 24;
/// Longest value, in bytes, and most expansions of one makefile.
const LONGEST: usize = 64 * 1024;
const MOST: usize = 20_000;

/// Runs a command line; returns what it prints, if that is known.
pub(super) type Run<'s> = Box<dyn FnMut(&str) -> Option<String> + 's>;

/// The variables of a makefile, and what its functions ask.
pub(super) struct Scope<'s> {
    pub variables: HashMap<String, String>,
    pub run: Run<'s>,
    /// Names that the command line or the environment sets, which an assignment does not change.
    pub given: Vec<String>,
    pub problems: Vec<String>,
    /// Lines of recipes that run even if recipes are only shown.
    pub always: Vec<String>,
    expansions: usize,
}

impl<'s> Scope<'s> {
    pub(super) fn new(variables: HashMap<String, String>, run: Run<'s>) -> Self {
        let given = variables.keys().cloned().collect();
        Scope { variables, run, given, problems: Vec::new(), always: Vec::new(), expansions: 0 }
    }

    pub(super) fn set(&mut self, name: &str, value: String) {
        if !self.given.iter().any(|given| given == name) {
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// Assigns as the mark in front of `=` says. `maybe`: the assignment may not happen.
    pub(super) fn assign(&mut self, name: &str, mark: &str, value: &str, maybe: bool) {
        let name = self.expand(name);
        let before = self.variables.get(&name).cloned();
        let value = match mark {
            "?" if before.is_some() => return,
            "+" => match &before {
                Some(before) => format!("{before} {value}"),
                None => value.to_owned(),
            },
            "!" => {
                let command = self.expand(value);
                (self.run)(&command).unwrap_or_else(|| UNKNOWN_SPAN.to_string())
            }
            // the others are expanded where they are used
            ":" | "::" | ":::" => self.expand(value),
            _ => value.to_owned(),
        };
        match before {
            Some(before) if maybe && before != value => self.set(&name, UNKNOWN_SPAN.to_string()),
            _ => self.set(&name, value),
        }
    }

    /// The text with its variables and functions replaced; [`UNKNOWN_SPAN`] stands for what is not constant.
    pub(super) fn expand(&mut self, text: &str) -> String {
        self.expanded(text, 0)
    }

    fn expanded(&mut self, text: &str, depth: usize) -> String {
        self.expansions += 1;
        if depth > DEEPEST || self.expansions > MOST {
            return UNKNOWN_SPAN.to_string();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if out.len() > LONGEST {
                return UNKNOWN_SPAN.to_string();
            }
            match after.chars().next() {
                Some('$') => {
                    out.push('$');
                    rest = after.get(1..).unwrap_or_default();
                }
                Some(open @ ('(' | '{')) => match closed(after, open) {
                    Some(end) => {
                        let inside = after.get(1..end).unwrap_or_default();
                        out.push_str(&self.reference(inside, depth + 1));
                        rest = after.get(end + 1..).unwrap_or_default();
                    }
                    None => {
                        out.push(UNKNOWN_SPAN);
                        rest = "";
                    }
                },
                Some(name) => {
                    out.push_str(&self.variable(&name.to_string(), depth));
                    rest = after.get(name.len_utf8()..).unwrap_or_default();
                }
                None => rest = "",
            }
        }
        out.push_str(rest);
        out
    }

    /// The value of a variable.
    pub(super) fn value(&mut self, name: &str) -> String {
        self.variable(name, 0)
    }

    fn variable(&mut self, name: &str, depth: usize) -> String {
        match self.variables.get(name).cloned() {
            Some(value) => self.expanded(&value, depth + 1),
            None => built_in(name).unwrap_or_default().to_owned(),
        }
    }

    /// The value of `NAME`, `NAME:a=b` or `function arguments`.
    fn reference(&mut self, inside: &str, depth: usize) -> String {
        let (word, arguments) = inside.split_once([' ', '\t']).unwrap_or((inside, ""));
        if !arguments.is_empty()
            && let Some(value) = self.function(word, arguments, depth)
        {
            return value;
        }
        let inside = self.expanded(inside, depth);
        if let Some((name, (from, to))) =
            inside.split_once(':').and_then(|(name, rest)| Some((name, rest.split_once('=')?)))
        {
            let value = self.variable(name, depth);
            let pattern = |text: &str| if text.contains('%') { text.to_owned() } else { format!("%{text}") };
            return each(&value, |word| patsubst(&pattern(from), &pattern(to), word));
        }
        let name = |c: char| c.is_ascii_alphanumeric() || "_-.@<^*?+/".contains(c);
        if inside.chars().all(name) { self.variable(&inside, depth) } else { UNKNOWN_SPAN.to_string() }
    }

    fn function(&mut self, name: &str, arguments: &str, depth: usize) -> Option<String> {
        let raw = split(arguments);
        let all = |scope: &mut Self| raw.iter().map(|one| scope.expanded(one, depth)).collect::<Vec<String>>();
        Some(match (name, raw.len()) {
            ("shell", _) => {
                let command = self.expanded(arguments, depth);
                (self.run)(&command).map_or_else(|| UNKNOWN_SPAN.to_string(), |text| text.trim_end().replace('\n', " "))
            }
            ("if", 2 | 3) => self.choice(&raw, depth)?,
            ("or", _) => all(self).into_iter().find(|one| !one.trim().is_empty()).unwrap_or_default(),
            ("and", _) => {
                let all = all(self);
                if all.iter().any(|one| one.trim().is_empty()) {
                    String::new()
                } else {
                    all.last().cloned().unwrap_or_default()
                }
            }
            ("foreach", 3) => self.foreach(&raw, depth)?,
            ("call", _) => {
                let all = all(self);
                self.call(&all, depth)
            }
            ("eval", _) => {
                let text = self.expanded(arguments, depth);
                // a rule made by a program is not followed
                if text.contains(UNKNOWN_SPAN) || text.contains('\n') || !text.contains('=') {
                    self.problems.push("the makefile makes rules while it is read".to_owned());
                } else if let Some((name, value)) = text.split_once('=') {
                    self.assign(name.trim_end_matches([':', '?', '+']).trim(), "", value.trim(), false);
                }
                String::new()
            }
            ("info" | "warning" | "error", _) => {
                self.expanded(arguments, depth);
                String::new()
            }
            ("file", _) => {
                self.problems.push("the makefile writes or reads a file".to_owned());
                UNKNOWN_SPAN.to_string()
            }
            ("origin" | "flavor" | "value" | "intcmp" | "guile" | "load", _) => UNKNOWN_SPAN.to_string(),
            _ => text_function(name, &all(self))?,
        })
    }

    /// `$(if CONDITION,YES,NO)`.
    fn choice(&mut self, raw: &[&str], depth: usize) -> Option<String> {
        let condition = self.expanded(raw.first()?, depth);
        let (yes, no) = (raw.get(1)?, raw.get(2).copied().unwrap_or_default());
        Some(match condition.trim() {
            "" => self.expanded(no, depth),
            known if !known.contains(UNKNOWN_SPAN) => self.expanded(yes, depth),
            _ => {
                let both = (self.expanded(yes, depth), self.expanded(no, depth));
                if both.0 == both.1 { both.0 } else { UNKNOWN_SPAN.to_string() }
            }
        })
    }

    /// `$(foreach NAME,LIST,TEXT)`.
    fn foreach(&mut self, raw: &[&str], depth: usize) -> Option<String> {
        let (name, list) = (self.expanded(raw.first()?, depth), self.expanded(raw.get(1)?, depth));
        let (name, text) = (name.trim(), raw.get(2)?);
        let before = self.variables.get(name).cloned();
        let mut words = Vec::new();
        for word in list.split_whitespace() {
            self.variables.insert(name.to_owned(), word.to_owned());
            words.push(self.expanded(text, depth));
        }
        match before {
            Some(before) => drop(self.variables.insert(name.to_owned(), before)),
            None => drop(self.variables.remove(name)),
        }
        Some(words.join(" "))
    }

    /// `$(call NAME,ARGUMENT...)`.
    fn call(&mut self, arguments: &[String], depth: usize) -> String {
        let Some((name, values)) = arguments.split_first() else { return String::new() };
        let Some(body) = self.variables.get(name.trim()).cloned() else { return String::new() };
        let before: Vec<(String, Option<String>)> =
            (1..10).map(|at| (at.to_string(), self.variables.get(&at.to_string()).cloned())).collect();
        for at in 1..10 {
            self.variables
                .insert(at.to_string(), values.get(at - 1).map(|value| value.trim().to_owned()).unwrap_or_default());
        }
        let value = self.expanded(&body, depth + 1);
        for (name, old) in before {
            match old {
                Some(old) => drop(self.variables.insert(name, old)),
                None => drop(self.variables.remove(&name)),
            }
        }
        value
    }
}

/// Functions that change texts only. `None`: there is no such function.
fn text_function(name: &str, all: &[String]) -> Option<String> {
    let at = |index: usize| all.get(index).map(|one| one.trim()).unwrap_or_default();
    let folder = |word: &str| word.rsplit_once('/').map_or("./".to_owned(), |(folder, _)| format!("{folder}/"));
    let file = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let matches = |word: &str| at(0).split_whitespace().any(|pattern| stem(pattern, word).is_some());
    let vague = all.iter().any(|one| one.contains(UNKNOWN_SPAN));
    Some(match name {
        "wildcard" => at(0).to_owned(),
        "patsubst" => each(at(2), |word| patsubst(at(0), at(1), word)),
        "subst" => all.get(2)?.replace(all.first()?.as_str(), all.get(1)?),
        "addprefix" => each(at(1), |word| format!("{}{word}", at(0))),
        "addsuffix" => each(at(1), |word| format!("{word}{}", at(0))),
        "notdir" => each(at(0), file),
        "dir" => each(at(0), folder),
        "basename" => each(at(0), |word| match word.rsplit_once('.') {
            Some((begin, end)) if !end.contains('/') => begin.to_owned(),
            _ => word.to_owned(),
        }),
        "suffix" => each(at(0), |word| match word.rsplit_once('.') {
            Some((_, end)) if !end.contains('/') => format!(".{end}"),
            _ => String::new(),
        }),
        "abspath" | "realpath" => at(0).to_owned(),
        "strip" => each(at(0), str::to_owned),
        "sort" => {
            let mut words: Vec<&str> = at(0).split_whitespace().collect();
            words.sort_unstable();
            words.dedup();
            words.join(" ")
        }
        "join" | "filter" | "filter-out" | "findstring" | "word" | "wordlist" | "words" | "firstword" | "lastword"
            if vague =>
        {
            UNKNOWN_SPAN.to_string()
        }
        "filter" => at(1).split_whitespace().filter(|word| matches(word)).collect::<Vec<_>>().join(" "),
        "filter-out" => at(1).split_whitespace().filter(|word| !matches(word)).collect::<Vec<_>>().join(" "),
        "findstring" => {
            if at(1).contains(at(0)) {
                at(0).to_owned()
            } else {
                String::new()
            }
        }
        "word" => {
            at(1).split_whitespace().nth(at(0).parse::<usize>().ok()?.checked_sub(1)?).unwrap_or_default().to_owned()
        }
        "words" => at(0).split_whitespace().count().to_string(),
        "firstword" => at(0).split_whitespace().next().unwrap_or_default().to_owned(),
        "lastword" => at(0).split_whitespace().next_back().unwrap_or_default().to_owned(),
        "join" | "wordlist" => UNKNOWN_SPAN.to_string(),
        _ => return None,
    })
}

fn each(words: &str, change: impl Fn(&str) -> String) -> String {
    words.split_whitespace().map(change).collect::<Vec<_>>().join(" ")
}

/// What `%` stands for if a word matches a pattern.
pub(super) fn stem<'w>(pattern: &str, word: &'w str) -> Option<&'w str> {
    match pattern.split_once('%') {
        Some((begin, end)) => word.strip_prefix(begin)?.strip_suffix(end),
        None => (pattern == word).then_some(""),
    }
}

fn patsubst(pattern: &str, to: &str, word: &str) -> String {
    match stem(pattern, word) {
        Some(stem) => to.replacen('%', stem, 1),
        None => word.to_owned(),
    }
}

/// The index of the bracket that closes the one at the beginning.
fn closed(text: &str, open: char) -> Option<usize> {
    let close = if open == '(' { ')' } else { '}' };
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// The parts between commas outside of brackets.
fn split(arguments: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, c) in arguments.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(arguments.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(arguments.get(begin..));
    parts
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
