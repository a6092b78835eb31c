//! The table of command semantics: rows of data (`commands/*.toml`) that turn arguments into roles.
//!
//! 1. The rows are parsed once, on first use; their format is `commands/README.md`.
//! 2. [`Table::row`] finds the row of a program.
//! 3. [`Row::bind`] reads the options as the row's style says, chooses the subcommand and the variant,
//!    and gives each argument its role. What the row does not say is reported, never dropped.

mod normal;
mod rows;

pub use rows::parse;

use super::role::Role;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

const FILES: &[(&str, &str)] = &[
    ("special.toml", include_str!("commands/special.toml")),
    ("coreutils.toml", include_str!("commands/coreutils.toml")),
    ("text.toml", include_str!("commands/text.toml")),
    ("archive.toml", include_str!("commands/archive.toml")),
    ("process.toml", include_str!("commands/process.toml")),
    ("users.toml", include_str!("commands/users.toml")),
    ("disks.toml", include_str!("commands/disks.toml")),
    ("media.toml", include_str!("commands/media.toml")),
    ("cloud.toml", include_str!("commands/cloud.toml")),
    ("containers.toml", include_str!("commands/containers.toml")),
    ("network.toml", include_str!("commands/network.toml")),
    ("packages.toml", include_str!("commands/packages.toml")),
    ("vcs-lang.toml", include_str!("commands/vcs-lang.toml")),
    ("databases.toml", include_str!("commands/databases.toml")),
];

/// About how many programs have a row.
const PROGRAMS: usize = 4_096;
/// Programs that are searched for one by one.
const SEARCHES: usize = 24;

/// Long options that a row does not list but whose name says that they act: their row is incomplete.
const TELLING: &[&str] = &["exec", "command", "outfile", "delete", "remove", "eval", "script", "hook"];

/// Name of a file and the text of a row in it.
type Place = (&'static str, &'static str);

/// All rows by program name.
#[derive(Debug)]
pub struct Table {
    /// File and text of each program's row; made where many are looked for.
    places: OnceLock<HashMap<&'static str, Place>>,
    /// How many were looked for one by one.
    searches: AtomicUsize,
    /// Rows that were met; `None`: does not parse.
    rows: RwLock<HashMap<&'static str, Option<&'static Row>>>,
}

/// How options are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Bundled short flags, long options, `--`.
    #[default]
    Gnu,
    /// Long options with one dash.
    Single,
    /// The first argument may be a bundle without dash.
    Bsd,
    /// `key=value` operands.
    Dd,
    /// Everything is an operand.
    None,
}

/// The semantics of one command or subcommand.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its names.
    pub names: Vec<String>,
    /// One line.
    pub about: String,
    /// Name of a reader in Rust, if it has a small language of its own.
    pub special: Option<String>,
    /// `script:LANG` if it runs its standard input.
    pub stdin: Option<Role>,
    /// It passes on what it reads.
    pub passes_input: bool,
    /// `[command line, effect ...]`, verified by a test.
    pub examples: Vec<Vec<String>>,
    style: Style,
    options: HashMap<String, Opt>,
    /// Long names of short options.
    aliases: HashMap<String, String>,
    operands: Option<Pattern>,
    effects: Vec<(Role, String)>,
    variants: Vec<Variant>,
    subs: Vec<Row>,
}

#[derive(Debug, Clone)]
enum Opt {
    Takes,
    Role(Vec<Role>),
    Flag(Vec<Word>),
}

#[derive(Debug, Clone)]
enum Word {
    Attribute(Attribute),
    Effect(Role, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attribute {
    Recursive,
    Force,
    Keep,
    Parents,
    Dry,
    Symbolic,
}

#[derive(Debug, Clone)]
struct Pattern {
    before: Vec<Slot>,
    repeated: Option<Slot>,
    after: Vec<Slot>,
}

#[derive(Debug, Clone)]
struct Slot {
    role: Role,
    optional: bool,
}

#[derive(Debug, Clone)]
struct Variant {
    flags: Vec<String>,
    operands: Option<Pattern>,
    effects: Option<Vec<(Role, String)>>,
    stdin: Option<Option<Role>>,
    options: HashMap<String, Opt>,
}

/// What [`Row::bind`] found out about a command line.
#[derive(Debug, Default)]
pub struct Bound {
    /// Role and value of each argument that has one; the number is its place among the arguments.
    pub arguments: Vec<(Role, String, Option<usize>)>,
    /// Effects whatever the arguments.
    pub fixed: Vec<(Role, String)>,
    /// Options seen, canonical where listed.
    pub seen: Vec<String>,
    /// Names of the subcommands that were chosen.
    pub subcommands: Vec<String>,
    /// Below the operands too.
    pub recursive: bool,
    /// Nothing is replaced.
    pub keep: bool,
    /// Nothing is changed, only read.
    pub dry: bool,
    /// Links that are made are symbolic: what they lead to is not touched.
    pub symbolic: bool,
    /// What the row does not account for.
    pub unexplained: Vec<String>,
    /// The row's (or subcommand's) standard input is run.
    pub stdin: Option<Role>,
    /// It passes on what it reads.
    pub passes_input: bool,
}

impl Table {
    /// The shipped table. Rows are only found at first, and each is parsed when its program is first met.
    pub fn shipped() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        let new = || Self { places: OnceLock::new(), searches: AtomicUsize::new(0), rows: RwLock::new(HashMap::new()) };
        TABLE.get_or_init(new)
    }

    fn places(&self) -> &HashMap<&'static str, Place> {
        self.places.get_or_init(|| {
            let mut places = HashMap::with_capacity(PROGRAMS);
            for (file, text) in FILES {
                places.extend(rows::names(text).into_iter().map(|(name, block)| (name, (*file, block))));
            }
            places
        })
    }

    /// Name, file and text of a program's row. The first few are searched for; an index costs more than that.
    fn place(&self, program: &str) -> Option<(&'static str, Place)> {
        if self.searches.fetch_add(1, Ordering::Relaxed) >= SEARCHES {
            return self.places().get_key_value(program).map(|(name, place)| (*name, *place));
        }
        let of = |(file, text): &(&'static str, &'static str)| {
            rows::found(text, program).map(|(name, block)| (name, (*file, block)))
        };
        FILES.iter().find_map(of)
    }

    /// Every file's rows, or the first error. For tests and `agrail doctor`.
    pub fn verify() -> Result<usize, String> {
        let mut seen: HashMap<String, &str> = HashMap::new();
        for (file, text) in FILES {
            for row in parse(file, text)? {
                for name in row.names {
                    let found = Self::shipped().row(&name).is_some_and(|row| row.names.contains(&name));
                    let same =
                        rows::found(text, &name) == rows::names(text).into_iter().find(|(known, _)| *known == name);
                    if !found || !same {
                        return Err(format!("{file}: the row of '{name}' is not found by its name"));
                    }
                    if let Some(other) = seen.insert(name.clone(), file) {
                        return Err(format!("{file}: '{name}' has a row in {other} already"));
                    }
                }
            }
        }
        Ok(seen.len())
    }

    /// The row of a program.
    #[must_use]
    pub fn row(&self, program: &str) -> Option<&'static Row> {
        self.exactly(program).or_else(|| {
            // python3.11, gcc-12, lua5.4: the name without its version
            let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
            (base.len() >= 2 && base != program).then(|| self.exactly(base)).flatten()
        })
    }

    fn exactly(&self, program: &str) -> Option<&'static Row> {
        if let Some(known) = self.rows.read().unwrap_or_else(PoisonError::into_inner).get(program) {
            return *known;
        }
        let (name, (file, block)) = self.place(program)?;
        // A row that does not parse is caught by the tests; here its program stays unknown. What is parsed stays for
        // the life of the process, as the text does.
        let row = parse(file, block).ok().and_then(|rows| rows.into_iter().next());
        let row: Option<&'static Row> = row.map(|row| &*Box::leak(Box::new(row)));
        *self.rows.write().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(row)
    }

    /// Names of all programs with a row.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places().keys().copied()
    }
}

impl Row {
    /// Gives each argument (without the program's name) its role.
    #[must_use]
    pub fn bind(&self, arguments: &[String]) -> Bound {
        let mut bound = Bound::default();
        self.bind_from(arguments, 0, &[], &mut bound);
        if let Some(at) = self.variants.iter().position(|v| v.flags.iter().any(|f| bound.seen.contains(f)))
            && let Some(variant) = self.variants.get(at).filter(|v| !v.options.is_empty())
        {
            // this variant gives its options other roles: read the options once more with those
            let mut row = self.clone();
            row.options.extend(variant.options.clone());
            bound = Bound::default();
            row.bind_from(arguments, 0, &[], &mut bound);
        }
        bound
    }

    fn bind_from(&self, arguments: &[String], start: usize, parents: &[&Self], bound: &mut Bound) {
        let mut operands: Vec<(usize, &str)> = Vec::new();
        let stop_after = self.run_position();
        let mut index = start;
        let mut only_operands = self.style == Style::None;
        while let Some(argument) = arguments.get(index) {
            let here = index;
            index += 1;
            if !only_operands && argument == "--" && self.style != Style::Dd {
                only_operands = true;
                continue;
            }
            let bundle = self.style == Style::Bsd && here == start && !argument.starts_with('-');
            if !only_operands && self.style == Style::Dd && argument.contains('=') {
                self.dd_operand(argument, here, bound);
            } else if !only_operands && (bundle || (argument.starts_with('-') && argument.len() > 1)) {
                let used =
                    self.option(argument, bundle, arguments.get(index).map(String::as_str), here, parents, bound);
                index += used;
            } else if let (false, Some(command), Some(Opt::Role(roles))) =
                (only_operands, argument.strip_prefix('+'), self.options.get("+"))
            {
                // `vim +10 file`: a place in the file, else a command of the editor
                if !command.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | 'g' | 'G')) {
                    for role in roles {
                        bound.arguments.push((role.clone(), command.to_owned(), Some(here)));
                    }
                }
            } else {
                if !self.subs.is_empty()
                    && operands.is_empty()
                    && let Some(sub) = self.subs.iter().find(|s| s.names.iter().any(|n| n == argument))
                {
                    bound.subcommands.push(argument.clone());
                    let mut chain: Vec<&Self> = parents.to_vec();
                    chain.push(self);
                    bound.fixed.extend(self.effects.iter().cloned());
                    return sub.bind_from(arguments, index, &chain, bound);
                }
                operands.push((here, argument));
                if stop_after.is_some_and(|n| operands.len() > n) {
                    operands.extend((index..arguments.len()).filter_map(|i| arguments.get(i).map(|a| (i, a.as_str()))));
                    break;
                }
            }
        }
        bound.stdin = self.stdin.clone();
        bound.passes_input = self.passes_input;
        let variant = self.variants.iter().find(|v| v.flags.iter().any(|f| bound.seen.contains(f)));
        if let Some(stdin) = variant.and_then(|v| v.stdin.as_ref()) {
            bound.stdin.clone_from(stdin);
        }
        let effects = variant.and_then(|v| v.effects.as_ref()).unwrap_or(&self.effects);
        bound.fixed.extend(effects.iter().cloned());
        match variant.and_then(|v| v.operands.as_ref()).or(self.operands.as_ref()) {
            Some(pattern) => pattern.bind(&operands, bound),
            None => {
                if !self.subs.is_empty() || !operands.is_empty() {
                    match operands.first() {
                        Some((_, first)) => bound.unexplained.push((*first).to_owned()),
                        None if self.subs.is_empty() || !bound.seen.is_empty() => {}
                        None => {}
                    }
                }
            }
        }
    }

    /// How many operands come before a command line that is run.
    fn run_position(&self) -> Option<usize> {
        let pattern = self.operands.as_ref()?;
        let at = pattern.before.iter().position(|s| s.role == Role::Run);
        at.or_else(|| pattern.repeated.as_ref().filter(|s| s.role == Role::Run).map(|_| pattern.before.len()))
    }

    fn lookup<'a>(&'a self, parents: &[&'a Self], option: &str) -> Option<&'a Opt> {
        self.options.get(option).or_else(|| parents.iter().rev().find_map(|p| p.options.get(option)))
    }

    fn dd_operand(&self, argument: &str, place: usize, bound: &mut Bound) {
        let Some((key, value)) = argument.split_once('=') else { return };
        match self.options.get(&format!("{key}=")) {
            Some(Opt::Role(roles)) => {
                for role in roles {
                    bound.arguments.push((role.clone(), value.to_owned(), Some(place)));
                }
            }
            Some(_) => {}
            None => bound.unexplained.push(argument.to_owned()),
        }
    }

    /// Reads one option; returns how many further arguments it used.
    fn option(
        &self,
        argument: &str,
        bundle: bool,
        next: Option<&str>,
        place: usize,
        parents: &[&Self],
        bound: &mut Bound,
    ) -> usize {
        if !bundle && (argument.starts_with("--") || self.style == Style::Single) {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument, None),
            };
            let mut abbreviated = false;
            let (name, found) = match self.lookup(parents, name) {
                Some(found) => (name.to_owned(), Some(found)),
                None => match self.abbreviation(parents, name) {
                    Some((full, found)) => {
                        abbreviated = true;
                        (full, Some(found))
                    }
                    None if self.style == Style::Single && name.starts_with("--") => {
                        let single = name.trim_start_matches('-');
                        (name.to_owned(), self.lookup(parents, &format!("-{single}")))
                    }
                    None => (name.to_owned(), None),
                },
            };
            bound.seen.push(name.clone());
            return match found {
                // an abbreviation may as well be a flag that no row lists: the next word then counts as both
                Some(Opt::Takes) => usize::from(value.is_none() && !abbreviated),
                Some(Opt::Role(roles)) => {
                    let (used, at, text) = match value {
                        Some(value) => (0, place, value),
                        None => (usize::from(!abbreviated), place + 1, next.unwrap_or_default()),
                    };
                    for role in roles {
                        bound.arguments.push((role.clone(), text.to_owned(), Some(at)));
                    }
                    used
                }
                Some(Opt::Flag(words)) => {
                    bound.apply(words);
                    0
                }
                None => {
                    let lower = name.to_ascii_lowercase();
                    let listed = std::iter::once(&self)
                        .chain(parents)
                        .any(|r| r.variants.iter().any(|v| v.flags.contains(&name)));
                    if listed {
                    } else if TELLING.iter().any(|t| lower.contains(t)) || (value.is_some() && lower.contains("output"))
                    {
                        bound.unexplained.push(name);
                    }
                    0
                }
            };
        }
        let letters = argument.trim_start_matches('-');
        let mut used = 0;
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let name = format!("-{letter}");
            let found = self.lookup(parents, &name);
            bound.seen.push(name);
            match found {
                Some(Opt::Flag(words)) => bound.apply(words),
                Some(opt) => {
                    let inline = rest.as_str();
                    let (at, value) = if inline.is_empty() || bundle {
                        used += 1;
                        (place + used, next.unwrap_or_default())
                    } else {
                        (place, inline.strip_prefix('=').unwrap_or(inline))
                    };
                    if let Opt::Role(roles) = opt {
                        for role in roles {
                            bound.arguments.push((role.clone(), value.to_owned(), Some(at)));
                        }
                    }
                    if !bundle {
                        break;
                    }
                }
                None => {}
            }
        }
        used
    }

    /// A long option that is an unambiguous prefix of a listed one, as getopt_long accepts it.
    fn abbreviation<'a>(&'a self, parents: &[&'a Self], name: &str) -> Option<(String, &'a Opt)> {
        if !name.starts_with("--") || name.len() < 3 {
            return None;
        }
        let mut all = self
            .options
            .iter()
            .chain(parents.iter().flat_map(|p| p.options.iter()))
            .filter(|(k, _)| k.starts_with(name));
        let first = all.next()?;
        all.next().is_none().then(|| (first.0.clone(), first.1))
    }
}

impl Bound {
    fn apply(&mut self, words: &[Word]) {
        for word in words {
            match word {
                Word::Attribute(Attribute::Recursive) => self.recursive = true,
                Word::Attribute(Attribute::Keep) => self.keep = true,
                Word::Attribute(Attribute::Dry) => self.dry = true,
                Word::Attribute(Attribute::Symbolic) => self.symbolic = true,
                Word::Attribute(Attribute::Force | Attribute::Parents) => {}
                Word::Effect(role, target) => self.fixed.push((role.clone(), target.clone())),
            }
        }
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        let mut pattern = Self { before: Vec::new(), repeated: None, after: Vec::new() };
        for word in text.split_whitespace() {
            let (name, suffix) = match word.strip_suffix(['+', '*', '?']) {
                Some(name) => (name, word.chars().last()),
                None => (word, None),
            };
            let slot = Slot { role: Role::parse(name)?, optional: suffix == Some('?') };
            match suffix {
                Some('+' | '*') if pattern.repeated.is_none() => pattern.repeated = Some(slot),
                Some('+' | '*') => return Err(format!("'{word}': only one role may repeat")),
                _ if pattern.repeated.is_some() => pattern.after.push(slot),
                _ => pattern.before.push(slot),
            }
        }
        Ok(pattern)
    }

    fn bind(&self, operands: &[(usize, &str)], bound: &mut Bound) {
        let mut give = |slot: &Slot, operand: &(usize, &str)| {
            bound.arguments.push((slot.role.clone(), operand.1.to_owned(), Some(operand.0)));
        };
        let required_after = self.after.iter().filter(|s| !s.optional).count();
        let mut left = operands;
        for slot in &self.before {
            if slot.optional && left.len() <= required_after {
                continue;
            }
            let Some((first, rest)) = left.split_first() else { return };
            give(slot, first);
            left = rest;
            if slot.role == Role::Run {
                return;
            }
        }
        let after = self.after.len().min(left.len());
        let (middle, last) = left.split_at(left.len() - after);
        match &self.repeated {
            Some(slot) => {
                middle.iter().take(if slot.role == Role::Run { 1 } else { usize::MAX }).for_each(|o| give(slot, o))
            }
            None => bound.unexplained.extend(middle.iter().map(|(_, o)| (*o).to_owned())),
        }
        let mut give = |slot: &Slot, operand: &(usize, &str)| {
            bound.arguments.push((slot.role.clone(), operand.1.to_owned(), Some(operand.0)));
        };
        for (slot, operand) in self.after.iter().zip(last) {
            give(slot, operand);
        }
    }
}
