//! The lines of a makefile: variables, rules and recipes.
//!
//! Both branches of a condition count unless it is certain which one is taken: then a variable to which both assign is not
//! constant.

use super::expand::Scope;
use crate::UNKNOWN_SPAN;
use std::collections::HashMap;

/// Deepest nesting of included files.
const DEEPEST: usize = 4;
/// Most lines of all files together.
const LINES: usize = 20_000;

#[derive(Debug, Default)]
pub(super) struct Makefile {
    pub rules: HashMap<String, Rule>,
    /// Rules for targets with a `%`.
    pub patterns: Vec<(String, Rule)>,
    pub first: Option<String>,
    /// Whether a recipe is one script.
    pub one_shell: bool,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Rule {
    pub needs: Vec<String>,
    pub recipe: Vec<String>,
    /// Variables of this target.
    pub variables: Vec<(String, String)>,
}

/// Reads the files that a makefile includes.
pub(super) type Include<'i> = dyn Fn(&str) -> Option<String> + 'i;

pub(super) struct Parser<'p, 's> {
    pub scope: &'p mut Scope<'s>,
    pub include: &'p Include<'p>,
    pub file: Makefile,
    /// The targets of the rule in progress.
    targets: Vec<String>,
    /// For each open condition, whether its current branch is taken; `None`: not known.
    conditions: Vec<Option<bool>>,
    /// Included files that are not there.
    pub included: Vec<String>,
    lines: usize,
}

impl<'p, 's> Parser<'p, 's> {
    pub(super) fn new(scope: &'p mut Scope<'s>, include: &'p Include<'p>) -> Self {
        Parser {
            scope,
            include,
            file: Makefile::default(),
            targets: Vec::new(),
            conditions: Vec::new(),
            included: Vec::new(),
            lines: 0,
        }
    }

    pub(super) fn read(&mut self, text: &str, depth: usize) {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut whole = line.to_owned();
            while let Some(open) = whole.strip_suffix('\\') {
                let next = lines.next().unwrap_or_default();
                // a recipe keeps its lines; in a shell a continued line is one line
                whole = format!("{open} {}", next.trim_start());
            }
            self.lines += 1;
            if self.lines > LINES {
                self.scope.problems.push("the makefile has too many lines".to_owned());
                return;
            }
            let head = whole.trim().strip_prefix("override ").unwrap_or(whole.trim());
            if let Some(name) = head.strip_prefix("define ").filter(|_| !whole.starts_with('\t')) {
                let body: Vec<&str> = lines.by_ref().take_while(|line| uncommented(line).trim() != "endef").collect();
                let name = name.trim_end_matches(['=', ':', ' ']).trim();
                self.scope.set(name, body.join("\n"));
                continue;
            }
            self.line(&whole, depth);
        }
    }

    fn is_skipped(&self) -> bool {
        self.conditions.contains(&Some(false))
    }

    fn line(&mut self, line: &str, depth: usize) {
        if let Some(recipe) = line.strip_prefix('\t').filter(|_| !self.targets.is_empty() || self.file.first.is_some())
        {
            if !self.is_skipped() {
                self.recipe(recipe);
            }
            return;
        }
        let line = uncommented(line).trim();
        if self.condition(line) || self.is_skipped() || line.is_empty() {
            return;
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "include" | "-include" | "sinclude" => self.included(rest, depth),
            "load" | "-load" => self.scope.problems.push("the makefile loads a library".to_owned()),
            "export" | "override" | "unexport" | "private" if rest.contains('=') => self.statement(rest),
            "export" | "unexport" | "vpath" | "undefine" => {}
            _ => self.statement(line),
        }
    }

    /// Reads the files that the line names. One that is not there is made by a rule, or missing.
    fn included(&mut self, names: &str, depth: usize) {
        let names = self.scope.expand(names);
        for name in names.split_whitespace() {
            if depth >= DEEPEST || name.contains(['*', '?', '[', UNKNOWN_SPAN]) {
                self.scope.problems.push(format!("the makefile includes {name}"));
            } else if let Some(text) = (self.include)(name) {
                self.read(&text, depth + 1);
            } else {
                self.included.push(name.to_owned());
            }
        }
    }

    /// Follows a line of a condition. Returns whether it is one.
    fn condition(&mut self, line: &str) -> bool {
        let (word, rest) = line.split_once([' ', '(']).unwrap_or((line, ""));
        match word {
            "ifeq" | "ifneq" => {
                let rest = line.get(word.len()..).unwrap_or_default().trim();
                let same = sides(rest).and_then(|(left, right)| {
                    let (left, right) = (self.scope.expand(left.trim()), self.scope.expand(right.trim()));
                    let known = !left.contains(UNKNOWN_SPAN) && !right.contains(UNKNOWN_SPAN);
                    known.then(|| (left.trim() == right.trim()) == (word == "ifeq"))
                });
                self.conditions.push(same);
            }
            "ifdef" | "ifndef" => {
                let set = self.scope.variables.get(rest.trim()).map(|value| !value.is_empty());
                self.conditions.push(set.map(|set| set == (word == "ifdef")));
            }
            "else" => {
                let taken = self.conditions.pop().flatten();
                let other = rest.trim().trim_end_matches(')');
                self.conditions.push(match (taken, other.is_empty()) {
                    (Some(taken), true) => Some(!taken),
                    // `else ifeq (...)` after a branch that is taken
                    (Some(true), false) => Some(false),
                    _ => None,
                });
            }
            "endif" => drop(self.conditions.pop()),
            _ => return false,
        }
        true
    }

    /// An assignment or the head of a rule.
    fn statement(&mut self, line: &str) {
        let open = self.conditions.contains(&None);
        if let Some((name, mark, value)) = assignment(line) {
            self.targets.clear();
            return self.scope.assign(name, mark, value, open);
        }
        let Some((targets, after)) = line.split_once(':') else {
            // `$(eval ...)`, `$(info ...)`
            self.scope.expand(line);
            return;
        };
        let after = after.trim_start_matches(':');
        let targets = self.scope.expand(targets);
        self.targets = targets.split_whitespace().map(str::to_owned).collect();
        // `target: NAME = value`
        if let Some((name, _, value)) = assignment(after) {
            for target in self.targets.clone() {
                let rule = self.rule(&target);
                rule.variables.push((name.to_owned(), value.to_owned()));
            }
            return self.targets.clear();
        }
        let (needs, first) = after.split_once(';').unwrap_or((after, ""));
        // `targets: %.o: %.c`
        let needs = needs.rsplit(':').next().unwrap_or(needs);
        let needs = self.scope.expand(needs).replace('|', " ");
        for target in self.targets.clone() {
            if target == ".ONESHELL" {
                self.file.one_shell = true;
            }
            let rule = self.rule(&target);
            rule.needs.extend(needs.split_whitespace().map(str::to_owned));
            rule.recipe.extend((!first.trim().is_empty()).then(|| first.trim().to_owned()));
            if self.file.first.is_none() && (!target.starts_with('.') || target.contains('/')) && !target.contains('%')
            {
                self.file.first = Some(target);
            }
        }
    }

    fn recipe(&mut self, line: &str) {
        for target in self.targets.clone() {
            self.rule(&target).recipe.push(line.to_owned());
        }
    }

    fn rule(&mut self, target: &str) -> &mut Rule {
        if target.contains('%') {
            let at = self.file.patterns.iter().position(|(pattern, _)| pattern == target);
            let at = at.unwrap_or_else(|| {
                self.file.patterns.push((target.to_owned(), Rule::default()));
                self.file.patterns.len() - 1
            });
            if let Some((_, rule)) = self.file.patterns.get_mut(at) {
                return rule;
            }
        }
        self.file.rules.entry(target.to_owned()).or_default()
    }
}

/// The line without its comment.
fn uncommented(line: &str) -> &str {
    let end =
        line.char_indices().find(|(at, c)| *c == '#' && !line.get(..*at).is_some_and(|before| before.ends_with('\\')));
    end.and_then(|(at, _)| line.get(..at)).unwrap_or(line)
}

/// The two sides of `(a,b)`, `'a' 'b'` or `"a" "b"`.
fn sides(text: &str) -> Option<(&str, &str)> {
    if let Some(inside) = text.strip_prefix('(') {
        let inside = inside.trim_end().strip_suffix(')')?;
        let mut depth = 0_i32;
        let comma = inside.char_indices().find(|(_, c)| {
            depth += match c {
                '(' | '{' => 1,
                ')' | '}' => -1,
                _ => 0,
            };
            *c == ',' && depth == 0
        });
        let at = comma?.0;
        return Some((inside.get(..at)?, inside.get(at + 1..)?));
    }
    let (left, right) = text.split_once(char::is_whitespace)?;
    Some((left.trim_matches(['"', '\'']), right.trim().trim_matches(['"', '\''])))
}

/// Name, mark and value of an assignment.
fn assignment(line: &str) -> Option<(&str, &str, &str)> {
    let at = line.find('=')?;
    let (before, value) = (line.get(..at)?, line.get(at + 1..)?.trim());
    let marks = ["?", "+", "!", ":::", "::", ":"];
    let mark = marks.iter().find(|mark| before.ends_with(*mark)).copied().unwrap_or("");
    let name = before.strip_suffix(mark)?.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.$(){}".contains(c);
    // `a: b = c` is a rule with a variable of its own
    (!name.is_empty() && name.chars().all(plain)).then_some((name, mark, value))
}
