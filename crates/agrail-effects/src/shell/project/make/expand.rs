//! Variables and functions of `make`, as far as their values are constant.

use crate::{UNKNOWN_SPAN, budget};
use foldhash::HashMap;

/// Deepest nesting of variables and functions.
const DEEPEST: usize = 24;
/// Longest value, in bytes, and most expansions of one makefile.
const LONGEST: usize = 64 * 1024;
const MOST: usize = 20_000;

/// Runs a command line; returns what it prints, if that is known.
pub(super) type Run<'s> = Box<dyn FnMut(&str) -> Option<String> + 's>;

/// Variables that `make` sets for each target: its name, the first of its needs, all of them in three ways, and the stem.
pub(super) const AUTOMATIC: [&str; 6] = ["@", "<", "^", "+", "?", "*"];
/// Most other values of one variable, and most texts that they lead to.
const OTHERS: usize = 8;
const TEXTS: usize = 8;

/// The variables that a makefile gets.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub variables: HashMap<String, String>,
    /// Names that an assignment does not change.
    pub kept: Vec<String>,
}

/// The variables after a makefile was read.
#[derive(Debug, Clone)]
pub(super) struct Defined {
    variables: HashMap<String, String>,
    others: HashMap<String, Vec<String>>,
    given: Vec<String>,
    problems: Vec<String>,
    expansions: usize,
}

/// The variables of a makefile, and what its functions ask.
pub(super) struct Scope<'s> {
    pub variables: HashMap<String, String>,
    /// Other values that a variable may have, because of conditions that are not known.
    pub others: HashMap<String, Vec<String>>,
    /// While all texts are wanted, the values that are taken.
    choices: Option<Vec<Choice>>,
    pub run: Run<'s>,
    /// Names that the command line sets, which an assignment does not change.
    pub given: Vec<String>,
    pub problems: Vec<String>,
    /// Lines of recipes that run even if recipes are only shown.
    pub always: Vec<String>,
    expansions: usize,
}

/// A variable with several values, and which of them is taken.
struct Choice {
    name: String,
    at: usize,
    of: usize,
}

impl<'s> Scope<'s> {
    pub(super) fn new(given: Given, run: Run<'s>) -> Self {
        let (problems, always, others) = (Vec::new(), Vec::new(), HashMap::default());
        let Given { variables, kept } = given;
        Scope { variables, others, choices: None, run, given: kept, problems, always, expansions: 0 }
    }

    /// What is defined now, for [`Self::start`].
    pub(super) fn defined(self) -> Defined {
        let Self { variables, others, given, problems, expansions, .. } = self;
        Defined { variables, others, given, problems, expansions }
    }

    /// Goes on from what another scope defined.
    pub(super) fn start(&mut self, defined: &Defined) {
        let Defined { variables, others, given, problems, expansions } = defined.clone();
        (self.variables, self.others, self.given) = (variables, others, given);
        (self.problems, self.expansions) = (problems, expansions);
    }

    pub(super) fn set(&mut self, name: &str, value: String) {
        if !self.given.iter().any(|given| given == name) {
            self.variables.insert(name.to_owned(), value);
            self.others.remove(name);
        }
    }

    /// Assigns as the mark in front of `=` says. `maybe`: the assignment may not happen.
    pub(super) fn assign(&mut self, name: &str, mark: &str, value: &str, maybe: bool) {
        let name = self.expand(name);
        let before = self.variables.get(&name).cloned();
        if mark == "+" && self.others.contains_key(&name) {
            return self.append(&name, value, maybe);
        }
        let value = match mark {
            "?" if before.is_some() && !self.others.contains_key(&name) => return,
            // without one of the other values it may not be set
            "?" if before.is_some() => return self.set_perhaps(&name, value.to_owned(), true),
            "+" => match &before {
                Some(before) => format!("{before} {value}"),
                None => value.to_owned(),
            },
            "!" => {
                let command = self.expand(value);
                (self.run)(&command).unwrap_or_else(|| UNKNOWN_SPAN.to_string())
            }
            ":" | "::" | ":::" => {
                for (at, one) in self.expand_all(value).into_iter().enumerate() {
                    self.set_perhaps(&name, one, maybe || at > 0);
                }
                return;
            }
            // the others are expanded where they are used
            _ => value.to_owned(),
        };
        self.set_perhaps(&name, value, maybe);
    }

    /// Appends to a variable with several values.
    fn append(&mut self, name: &str, value: &str, maybe: bool) {
        let before = self.variables.get(name).cloned().unwrap_or_default();
        let values = std::iter::once(before).chain(self.others.get(name).cloned().unwrap_or_default());
        let values: Vec<String> = values.map(|before| format!("{before} {value}")).collect();
        for (at, value) in values.into_iter().enumerate() {
            // the first one replaces all values without it
            self.set_perhaps(name, value, maybe || at > 0);
        }
    }

    /// Sets a variable; if that may not happen, it keeps its value as another one.
    pub(super) fn set_perhaps(&mut self, name: &str, value: String, maybe: bool) {
        if !maybe {
            return self.set(name, value);
        }
        let before = self.variables.get(name).cloned();
        let before = before.unwrap_or_else(|| built_in(name).unwrap_or_default().to_owned());
        if self.given.iter().any(|given| given == name) {
            return;
        }
        let others = self.others.entry(name.to_owned()).or_default();
        if !others.contains(&value) {
            others.push(value);
        }
        let many = others.len() > OTHERS;
        if many {
            self.unchosen(name, 0);
            self.others.remove(name);
        }
        self.variables.insert(name.to_owned(), if many { UNKNOWN_SPAN.to_string() } else { before });
    }

    /// The place of a variable with too many values. A value with commands of its own is a problem then.
    fn unchosen(&mut self, name: &str, depth: usize) -> String {
        let choices = self.choices.take();
        let values = self.variables.get(name).into_iter().chain(self.others.get(name).into_iter().flatten());
        let values: Vec<String> = values.cloned().collect();
        // within its own values it is not constant
        let others = self.others.remove(name);
        let own = self.variables.insert(name.to_owned(), UNKNOWN_SPAN.to_string());
        let commands = |value: String| value.contains(['\n', ';', '&', '|', '`', '>']);
        if values.into_iter().any(|value| commands(self.expanded(&value, depth + 1))) {
            let problem = format!("the variable {name} of the makefile may have many values");
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        self.others.extend(others.map(|others| (name.to_owned(), others)));
        match own {
            Some(own) => drop(self.variables.insert(name.to_owned(), own)),
            None => drop(self.variables.remove(name)),
        }
        self.choices = choices;
        UNKNOWN_SPAN.to_string()
    }

    /// Notes that one of the other values was certainly assigned.
    pub(super) fn certainly(&mut self, name: &str) {
        if let Some(others) = self.others.get_mut(name).filter(|others| !others.is_empty()) {
            let one = others.remove(0);
            self.variables.insert(name.to_owned(), one);
        }
        self.others.retain(|_, others| !others.is_empty());
    }

    /// The text with its variables and functions replaced; [`UNKNOWN_SPAN`] stands for what is not constant.
    pub(super) fn expand(&mut self, text: &str) -> String {
        self.expanded(text, 0)
    }

    /// The text once for each combination of the values that its variables may have. With too many of them, the last
    /// variables are not constant.
    pub(super) fn expand_all(&mut self, text: &str) -> Vec<String> {
        if self.others.is_empty() && !text.contains("shell") {
            return vec![self.expand(text)];
        }
        let mut texts = Vec::new();
        self.choices = Some(Vec::new());
        loop {
            let one = self.expand(text);
            if !texts.contains(&one) {
                texts.push(one);
            }
            let Some(choices) = &mut self.choices else { break };
            while choices.last().is_some_and(|choice| choice.at + 1 == choice.of) {
                choices.pop();
            }
            match choices.last_mut() {
                Some(choice) => choice.at += 1,
                None => break,
            }
        }
        self.choices = None;
        texts
    }

    /// The value of a variable that may have others: the one that is chosen now. `None`: its first one.
    fn chosen(&mut self, name: &str, depth: usize) -> Option<String> {
        let others = self.others.get(name)?;
        let Some(choices) = &mut self.choices else { return Some(UNKNOWN_SPAN.to_string()) };
        if let Some(choice) = choices.iter().find(|choice| choice.name == name) {
            return choice.at.checked_sub(1).and_then(|at| others.get(at).cloned());
        }
        let of = others.len() + 1;
        let own = self.variables.get(name).into_iter().chain(others);
        let flags = own.clone().any(|value| !value.is_empty())
            && own.flat_map(|value| value.split_whitespace()).all(|word| word.starts_with('-'));
        if flags || choices.iter().map(|choice| choice.of).product::<usize>() * of > TEXTS {
            return Some(self.unchosen(name, depth));
        }
        choices.push(Choice { name: name.to_owned(), at: 0, of });
        None
    }

    fn expanded(&mut self, text: &str, depth: usize) -> String {
        self.expansions += 1;
        if depth > DEEPEST || self.expansions > MOST || budget::produces(text.len()) {
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
        match self.chosen(name, depth).or_else(|| self.variables.get(name).cloned()) {
            Some(value) if !value.contains('$') && depth < DEEPEST => value,
            Some(value) => self.expanded(&value, depth + 1),
            None => self.parts(name).unwrap_or_else(|| built_in(name).unwrap_or_default().to_owned()),
        }
    }

    /// `@D` and `<F`: the folders, or the names without them, of an automatic variable.
    fn parts(&self, name: &str) -> Option<String> {
        let (variable, part) = name.split_at_checked(1)?;
        let value = self.variables.get(variable).filter(|_| AUTOMATIC.contains(&variable))?;
        match part {
            "D" => Some(each(value, |path| path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned())),
            "F" => Some(each(value, |path| path.rsplit('/').next().unwrap_or(path).to_owned())),
            _ => None,
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
                let printed = (self.run)(&command);
                if let Some(name) = looked_up(&command) {
                    // the program may not be there
                    self.variables.insert(command.clone(), name.to_owned());
                    self.others.insert(command.clone(), vec![String::new()]);
                    return Some(self.variable(&command, depth));
                }
                printed.map_or_else(|| UNKNOWN_SPAN.to_string(), |text| text.trim_end().replace('\n', " "))
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

/// The program for which a command line looks: `which python3 || which python`, `command -v go 2>/dev/null`.
fn looked_up(command: &str) -> Option<&str> {
    let first = command.split(['|', ';', '>']).next()?;
    let mut words = first.strip_suffix('2').unwrap_or(first).split_whitespace();
    let (program, name) = match (words.next()?, words.next()?) {
        ("command", "-v") => ("command", words.next()?),
        (program, name) => (program, name),
    };
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c)) && !name.starts_with(['-', '.']);
    (matches!(program, "which" | "command") && plain && words.next().is_none()).then_some(name)
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
