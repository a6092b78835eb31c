//! The lines of a makefile: variables, rules and recipes.
//!
//! Both branches of a condition count unless it is certain which one is taken: then a variable to which both assign has
//! several values.

use super::expand::Scope;
use crate::UNKNOWN_SPAN;
use foldhash::{HashMap, HashSet};

/// Deepest nesting of included files.
const DEEPEST: usize = 4;
/// Most lines of all files together.
const LINES: usize = 20_000;

#[derive(Debug)]
pub(super) struct Makefile {
    pub rules: HashMap<String, Rule>,
    /// Rules for targets with a `%`.
    pub patterns: Vec<(String, Rule)>,
    /// The targets of which one is the default: the first one, and those before it that may not exist.
    pub first: Vec<String>,
    first_is_certain: bool,
    /// Whether a recipe is one script.
    pub one_shell: bool,
    /// Names of exported variables: each recipe gets their values. `None`: all of them.
    pub exported: Option<Vec<String>>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Rule {
    pub needs: Vec<String>,
    pub recipe: Vec<String>,
    /// Variables of this target and of all that it needs: name, mark and value.
    pub variables: Vec<(String, String, String)>,
}

/// An open condition.
struct Condition {
    /// Whether the current branch is taken; `None`: not known.
    taken: Option<bool>,
    /// Whether one of the branches before it was.
    before: Option<bool>,
    /// Whether it was not known of some branch.
    was_open: bool,
    /// Whether one of the branches is certainly taken.
    complete: bool,
    /// The variables to which each branch that may be taken assigns.
    branches: Vec<HashSet<String>>,
}

impl Condition {
    fn new(holds: Option<bool>) -> Self {
        let branches = if holds == Some(false) { Vec::new() } else { vec![HashSet::default()] };
        Self { taken: holds, before: Some(false), was_open: holds.is_none(), complete: holds == Some(true), branches }
    }

    /// Goes on to the next branch, which is taken if `holds` and none before it was.
    fn next(&mut self, holds: Option<bool>, last: bool) {
        self.before = match (self.before, self.taken) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        self.taken = match (self.before, holds) {
            (Some(true), _) | (_, Some(false)) => Some(false),
            (Some(false), holds) => holds,
            (None, _) => None,
        };
        self.was_open |= self.taken.is_none();
        self.complete |= last || self.taken == Some(true);
        if self.taken != Some(false) {
            self.branches.push(HashSet::default());
        }
    }

    /// The variables to which all branches assign, if one of them is certainly taken.
    fn certain(&self) -> Vec<String> {
        let Some((first, others)) = self.branches.split_first().filter(|_| self.complete) else { return Vec::new() };
        first.iter().filter(|name| others.iter().all(|branch| branch.contains(*name))).cloned().collect()
    }
}

impl Default for Makefile {
    fn default() -> Self {
        Self {
            rules: HashMap::default(),
            patterns: Vec::new(),
            first: Vec::new(),
            first_is_certain: false,
            one_shell: false,
            exported: Some(Vec::new()),
        }
    }
}

/// What is known of a file that a makefile includes.
pub(super) enum Included {
    /// Its possible contents; those of several files for a pattern.
    Texts(Vec<String>),
    /// It does not exist.
    Missing,
    /// It cannot be read, or is brought by the action itself.
    Unread,
}

/// Reads the files that a makefile includes.
pub(super) type Include<'i> = dyn Fn(&str) -> Included + 'i;

pub(super) struct Parser<'p, 's> {
    pub scope: &'p mut Scope<'s>,
    pub include: &'p Include<'p>,
    pub file: Makefile,
    /// The targets of the rule in progress.
    targets: Vec<String>,
    conditions: Vec<Condition>,
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
                if !self.is_skipped() {
                    self.assigned(name);
                    self.overridden(whole.trim().starts_with("override "), name);
                    self.scope.set_perhaps(name, body.join("\n"), self.is_open());
                }
                continue;
            }
            self.line(&whole, depth);
        }
    }

    fn is_skipped(&self) -> bool {
        self.conditions.iter().any(|condition| condition.taken == Some(false))
    }

    /// Whether it is not known if the current line counts.
    fn is_open(&self) -> bool {
        self.conditions.iter().any(|condition| condition.taken.is_none())
    }

    /// `override NAME = value` changes what the command line sets, too.
    fn overridden(&mut self, overrides: bool, name: &str) {
        if overrides {
            self.scope.given.retain(|given| given != name);
        }
    }

    fn line(&mut self, line: &str, depth: usize) {
        if let Some(recipe) =
            line.strip_prefix('\t').filter(|_| !self.targets.is_empty() || !self.file.first.is_empty())
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
            "override" => {
                self.overridden(true, assignment(rest).map_or("", |(name, ..)| name));
                self.statement(rest);
            }
            "export" => self.exports(rest),
            "private" => self.statement(rest),
            "unexport" | "vpath" | "undefine" => {}
            _ => self.statement(line),
        }
    }

    /// `export`, `export NAME...`, `export NAME = value`.
    fn exports(&mut self, rest: &str) {
        if rest.trim().is_empty() {
            self.file.exported = None;
            return;
        }
        let assigned = assignment(rest).map(|(name, ..)| name);
        let names = assigned.map_or_else(|| rest.split_whitespace().collect(), |name| vec![name]);
        if let Some(exported) = &mut self.file.exported {
            exported.extend(names.into_iter().map(str::to_owned));
        }
        if assigned.is_some() {
            self.statement(rest);
        }
    }

    /// Reads the files that the line names. One that is not there is made by a rule, or missing.
    fn included(&mut self, names: &str, depth: usize) {
        let names = self.scope.expand_all(names).join(" ");
        for name in names.split_whitespace() {
            let known = depth < DEEPEST && !name.contains(UNKNOWN_SPAN);
            match if known { (self.include)(name) } else { Included::Unread } {
                Included::Texts(texts) => texts.iter().for_each(|text| self.read(text, depth + 1)),
                Included::Missing => self.included.push(name.to_owned()),
                Included::Unread => self.scope.problems.push(format!("the makefile includes {name}")),
            }
        }
    }

    /// Follows a line of a condition. Returns whether it is one.
    fn condition(&mut self, line: &str) -> bool {
        match line.split_once([' ', '(']).unwrap_or((line, "")).0 {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                let holds = self.holds(line);
                self.conditions.push(Condition::new(holds));
            }
            "else" => {
                let rest = line.get("else".len()..).unwrap_or_default().trim();
                let holds = if rest.is_empty() { Some(true) } else { self.holds(rest) };
                if let Some(condition) = self.conditions.last_mut() {
                    condition.next(holds, rest.is_empty());
                }
            }
            "endif" => {
                let Some(condition) = self.conditions.pop() else { return true };
                for name in condition.certain() {
                    if !self.is_open() && condition.was_open {
                        self.scope.certainly(&name);
                    }
                    self.assigned(&name);
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether `ifeq (a,b)`, `ifneq`, `ifdef NAME` or `ifndef` holds; `None`: not known.
    fn holds(&mut self, line: &str) -> Option<bool> {
        let (word, rest) = line.split_once([' ', '(']).unwrap_or((line, ""));
        match word {
            "ifeq" | "ifneq" => {
                let (left, right) = sides(line.get(word.len()..).unwrap_or_default().trim())?;
                let (left, right) = (self.scope.expand(left.trim()), self.scope.expand(right.trim()));
                let known = !left.contains(UNKNOWN_SPAN) && !right.contains(UNKNOWN_SPAN);
                known.then(|| (left.trim() == right.trim()) == (word == "ifeq"))
            }
            "ifdef" | "ifndef" => {
                let name = rest.trim();
                let value = self.scope.variables.get(name).filter(|_| !self.scope.others.contains_key(name))?;
                Some(value.is_empty() != (word == "ifdef"))
            }
            _ => None,
        }
    }

    /// Notes that the current branch assigns to a variable.
    fn assigned(&mut self, name: &str) {
        if let Some(branch) = self.conditions.last_mut().and_then(|condition| condition.branches.last_mut()) {
            branch.insert(name.to_owned());
        }
    }

    /// An assignment or the head of a rule.
    fn statement(&mut self, line: &str) {
        if let Some((name, mark, value)) = assignment(line) {
            self.targets.clear();
            let open = self.is_open();
            if !matches!(mark, "?" | "+") {
                self.assigned(name);
            }
            return self.scope.assign(name, mark, value, open);
        }
        let Some(colon) = outside(line, ':') else {
            // `$(eval ...)`, `$(info ...)`
            self.scope.expand(line);
            return;
        };
        let (targets, after) = line.split_at_checked(colon).unwrap_or((line, ""));
        let after = after.trim_start_matches(':');
        let targets = self.scope.expand_all(targets).join(" ");
        self.targets = targets.split_whitespace().map(as_pattern).collect();
        // `target: NAME = value`
        let own = ["export ", "override ", "private "].iter().find_map(|word| after.trim_start().strip_prefix(word));
        if let Some((name, mark, value)) = assignment(own.unwrap_or(after)) {
            for target in self.targets.clone() {
                self.rule(&target).variables.push((name.to_owned(), mark.to_owned(), value.to_owned()));
            }
            return self.targets.clear();
        }
        self.rules(&targets, after);
    }

    /// The head of a rule for the current targets: `needs`, or `pattern: needs`, and perhaps the first line of the recipe.
    fn rules(&mut self, written: &str, after: &str) {
        let end = outside(after, ';').unwrap_or(after.len());
        let (needs, first) = after.split_at_checked(end).unwrap_or((after, ""));
        let first = first.trim_start_matches(';').trim();
        let (pattern, needs) = match outside(needs, ':') {
            Some(colon) => (needs.get(..colon), needs.get(colon + 1..).unwrap_or_default()),
            None => (None, needs),
        };
        let pattern = pattern.map(|pattern| self.scope.expand(pattern).trim().to_owned());
        let needs = self.scope.expand_all(needs).join(" ").replace('|', " ");
        for (target, own) in self.targets.clone().into_iter().zip(written.split_whitespace()) {
            match target.as_str() {
                ".ONESHELL" => self.file.one_shell = true,
                ".EXPORT_ALL_VARIABLES" => self.file.exported = None,
                _ => {}
            }
            let stem = pattern.as_ref().and_then(|pattern| super::expand::stem(pattern, &target)).map(str::to_owned);
            let needs = match &stem {
                Some(stem) => needs.replace('%', stem),
                None => needs.clone(),
            };
            let rule = self.rule(&target);
            rule.needs.extend(needs.split_whitespace().map(str::to_owned));
            rule.needs.extend(suffix_need(own));
            rule.recipe.extend((!first.is_empty()).then(|| first.to_owned()));
            let stands = !target.contains('%') && (!target.starts_with('.') || target.contains('/'));
            if stands && !self.file.first_is_certain {
                self.file.first_is_certain = !self.is_open();
                self.file.first.push(target);
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
    let end = outside(line, '#').filter(|at| !line.get(..*at).is_some_and(|before| before.ends_with('\\')));
    end.and_then(|at| line.get(..at)).unwrap_or(line)
}

/// Where a character stands outside of the brackets of `$(...)` and `${...}`.
fn outside(text: &str, wanted: char) -> Option<usize> {
    let (mut depth, mut dollar) = (0_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' if dollar || depth > 0 => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ if c == wanted && depth == 0 => return Some(at),
            _ => {}
        }
        dollar = c == '$';
    }
    None
}

/// The pattern of a rule by endings: `.c.o` is `%.o`. Any other target stays as it is.
fn as_pattern(target: &str) -> String {
    match endings(target) {
        Some((_, to)) => format!("%.{to}"),
        None => target.to_owned(),
    }
}

/// What a rule by endings needs: `.c.o` needs `%.c`.
fn suffix_need(target: &str) -> Option<String> {
    endings(target).map(|(from, _)| format!("%.{from}"))
}

fn endings(target: &str) -> Option<(&str, &str)> {
    let (from, to) = target.strip_prefix('.')?.split_once('.')?;
    let plain = |ending: &str| !ending.is_empty() && ending.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
    (plain(from) && plain(to)).then_some((from, to))
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
    let at = outside(line, '=')?;
    let (before, value) = (line.get(..at)?, line.get(at + 1..)?.trim());
    let marks = ["?", "+", "!", ":::", "::", ":"];
    let mark = marks.iter().find(|mark| before.ends_with(*mark)).copied().unwrap_or("");
    let name = before.strip_suffix(mark)?.trim();
    // `a: b = c` is a rule with a variable of its own
    (!name.is_empty() && outside(name, ':').is_none() && outside(name, ' ').is_none()).then_some((name, mark, value))
}
