//! Assigns roles to the arguments of a command line.

use super::row::{Attribute, Listed, Opt, Pattern, Row, Slot, Style, Word};
use crate::Verb;
use crate::role::Role;

/// Parts of names of subcommands that do more than run the code of the project.
const ACTS: [&str; 64] = [
    "activate",
    "add",
    "apply",
    "approve",
    "auth",
    "cancel",
    "clean",
    "clear",
    "clobber",
    "cloud",
    "config",
    "create",
    "delete",
    "deploy",
    "deprecate",
    "destroy",
    "dlx",
    "down",
    "drop",
    "env",
    "eval",
    "exec",
    "execute",
    "export",
    "flush",
    "fresh",
    "import",
    "install",
    "kill",
    "link",
    "load",
    "login",
    "logout",
    "migrate",
    "nuke",
    "owner",
    "patch",
    "promote",
    "publish",
    "purge",
    "push",
    "release",
    "remove",
    "replant",
    "reset",
    "rm",
    "rollback",
    "run",
    "secret",
    "send",
    "set",
    "shell",
    "sql",
    "ssh",
    "token",
    "truncate",
    "uninstall",
    "unpublish",
    "up",
    "update",
    "upgrade",
    "upload",
    "wipe",
    "yank",
];

/// Whether the name of a subcommand, or a part of it, says that it does more than run the code of the project.
fn acts(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    !name.chars().all(plain) || name.split(['-', '_', ':', '.']).any(|part| ACTS.contains(&part))
}

/// The result of [`Row::bind`].
#[derive(Debug, Default)]
pub struct Bound {
    /// Role and value of each argument with a role, and its index among the arguments.
    pub arguments: Vec<(Role, String, Option<usize>)>,
    /// How many of them are values of options; the operands follow.
    pub option_values: usize,
    /// Effects that do not depend on the arguments.
    pub fixed: Vec<(Role, String)>,
    /// Options of the command line, in canonical form if the row lists them.
    pub seen: Vec<String>,
    /// Names of the chosen subcommands.
    pub subcommands: Vec<String>,
    /// Whether paths below the operands are affected, too.
    pub recursive: bool,
    /// Whether existing files are kept.
    pub keep: bool,
    /// Whether the command only reads and changes nothing.
    pub dry: bool,
    /// Whether new links are symbolic: then their target is not touched.
    pub symbolic: bool,
    /// Arguments that the row does not cover.
    pub unrecognised: Vec<String>,
    /// Whether the first of them may be a subcommand of a program whose other subcommands run the project's code.
    pub perhaps_own: bool,
    /// Options that the row does not list, or lists as unknown.
    pub unlisted: Vec<Unlisted>,
    /// Role of the standard input, if the program or the subcommand runs it.
    pub stdin: Option<Role>,
    /// Whether the program passes on its input.
    pub passes_input: bool,
    /// Whether what it writes comes from elsewhere.
    pub brings: bool,
    /// Whether it brings that into the working folder, if it names no other.
    pub brings_here: bool,
    /// Files of the project that the program and its subcommand run as code: language and pattern.
    pub loads: Vec<(String, String)>,
    /// Its operands, if it runs such files.
    pub operands: Vec<String>,
}

/// An option with an unknown effect: the row does not list it, or lists it as unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    /// The option as written, without its value.
    pub name: String,
    /// The value after `=`, or the rest of the word after a letter.
    pub value: Option<String>,
    /// A letter without a value, on a row that does not claim to list all options.
    pub perhaps_harmless: bool,
    /// Not listed at all, and its value, if any, is a plain word: the code that the program runs may define it.
    pub perhaps_own: bool,
}

/// A word of a command line that begins an option.
struct OptionWord<'a> {
    text: &'a str,
    /// The word after it.
    next: Option<&'a str>,
    /// Its index among the arguments.
    place: usize,
}

/// Whether a value names no path, address or command.
pub(crate) fn is_plain(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | ':' | '%' | '+'))
        && !value.starts_with('.')
}

impl Row {
    /// Assigns each argument its role; the arguments do not include the program's name.
    #[must_use]
    pub fn bind(&self, arguments: &[String]) -> Bound {
        let mut bound = Bound::default();
        self.bind_from(arguments, 0, &[], &mut bound);
        if let Some(at) = self.variants.iter().position(|v| v.flags.iter().any(|f| bound.seen.contains(f)))
            && let Some(variant) = self.variants.get(at).filter(|v| !v.options.is_empty())
        {
            // the variant assigns other roles to its options: parse the options again with those
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
                let word = OptionWord { text: argument, next: arguments.get(index).map(String::as_str), place: here };
                let before = bound.arguments.len();
                index += if !bundle && self.is_long(argument, parents) {
                    self.bind_long(&word, parents, bound)
                } else {
                    self.bind_letters(&word, bundle, parents, bound)
                };
                // `java -jar FILE`: what follows is for the code in the file
                only_operands = bound.arguments.iter().skip(before).any(|(role, _, _)| *role == Role::Rest);
            } else if let (false, Some(command), Some(Opt::Role(roles))) =
                (only_operands, argument.strip_prefix('+'), self.options.get("+"))
            {
                // `vim +10 file` is a position in the file; anything else is a command of the editor
                if !command.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | 'g' | 'G')) {
                    bound.value(roles, command, here);
                }
            } else {
                if operands.is_empty()
                    && let Some(sub) = self.subs.iter().find(|s| s.names.iter().any(|n| n == argument))
                {
                    bound.subcommands.push(argument.clone());
                    let mut chain: Vec<&Self> = parents.to_vec();
                    chain.push(self);
                    bound.fixed.extend(self.effects.iter().cloned());
                    bound.loads.extend(self.loads.iter().cloned());
                    return sub.bind_from(arguments, index, &chain, bound);
                }
                operands.push((here, argument));
                if stop_after.is_some_and(|most| operands.len() >= most) {
                    operands.extend((index..arguments.len()).filter_map(|i| arguments.get(i).map(|a| (i, a.as_str()))));
                    break;
                }
            }
        }
        if let [(at, only)] = operands.as_slice()
            && let Some((kind, name)) = self.pair(only)
        {
            operands = vec![(*at, kind), (*at, name)];
        }
        self.bind_operands(&operands, bound);
    }

    /// Assigns the operands their roles, and adds the effects and the input role of the row.
    fn bind_operands(&self, operands: &[(usize, &str)], bound: &mut Bound) {
        bound.option_values = bound.arguments.len();
        bound.stdin = self.stdin.clone();
        bound.passes_input = self.passes_input;
        bound.loads.extend(self.loads.iter().cloned());
        if !bound.loads.is_empty() {
            bound.operands = operands.iter().map(|(_, operand)| (*operand).to_owned()).collect();
        }
        let variant = self.variants.iter().find(|v| v.flags.iter().any(|f| bound.seen.contains(f)));
        bound.brings_here |= variant.is_some_and(|variant| variant.brings);
        bound.brings |= self.brings || bound.brings_here;
        if let Some(stdin) = variant.and_then(|v| v.stdin.as_ref()) {
            bound.stdin.clone_from(stdin);
        }
        let effects = variant.and_then(|v| v.effects.as_ref()).unwrap_or(&self.effects);
        bound.fixed.extend(effects.iter().cloned());
        match variant.and_then(|v| v.operands.as_ref()).or(self.operands.as_ref()) {
            Some(pattern) => pattern.bind(operands, bound),
            None => {
                let first = operands.first().map(|(_, first)| (*first).to_owned());
                // an address, a path elsewhere, or code is no argument of the project's own command
                let plain = |text: &str| {
                    let part = |c: char| c.is_ascii_alphanumeric() || "_-./@:=,+*".contains(c);
                    text.chars().all(part) && !text.contains("://") && !text.starts_with('/') && !text.contains("..")
                };
                let plain = operands.iter().all(|(_, operand)| plain(operand));
                bound.perhaps_own = plain && self.runs_project() && first.as_deref().is_some_and(|name| !acts(name));
                bound.unrecognised.extend(first);
            }
        }
    }

    /// Whether most subcommands that do more than look run the project's code.
    fn runs_project(&self) -> bool {
        let runs = |sub: &&Self| {
            let here = |(role, target): &(Role, String)| {
                matches!(role, Role::Act { verb: Verb::Execute, .. }) && target == "."
            };
            sub.effects.iter().any(here)
        };
        let acting = self.subs.iter().filter(|sub| !sub.effects.is_empty()).count();
        acting > 0 && self.subs.iter().filter(runs).count() * 2 >= acting
    }

    /// The number of operands after which no option is the program's own: those before the arguments of its code, or up
    /// to the name of the program that it runs.
    pub(super) fn run_position(&self) -> Option<usize> {
        let pattern = self.operands.as_ref()?;
        let end = |slot: &Slot, before: usize| match slot.role {
            Role::Run => Some(before + 1),
            Role::Rest => Some(before.max(1)),
            _ => None,
        };
        let slots = pattern.before.iter().chain(&pattern.repeated).enumerate();
        slots.into_iter().find_map(|(before, slot)| end(slot, before))
    }

    pub(super) fn lookup<'a>(&'a self, parents: &[&'a Self], option: &str) -> Option<&'a Opt> {
        self.options.get(option).or_else(|| parents.iter().rev().find_map(|p| p.options.get(option)))
    }

    /// Whether a word that begins with a dash is one long option: also with one dash, if a row lists it (`-DskipTests`).
    pub(super) fn is_long(&self, word: &str, parents: &[&Self]) -> bool {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        word.starts_with("--") || self.style.is_single() || (name.len() > 2 && self.lookup(parents, name).is_some())
    }

    fn dd_operand(&self, argument: &str, place: usize, bound: &mut Bound) {
        let Some((key, value)) = argument.split_once('=') else { return };
        match self.options.get(&format!("{key}=")) {
            Some(Opt::Role(roles)) => bound.value(roles, value, place),
            Some(_) => {}
            None => bound.unrecognised.push(argument.to_owned()),
        }
    }

    /// Parses one long option; returns how many further arguments it consumed.
    fn bind_long(&self, word: &OptionWord<'_>, parents: &[&Self], bound: &mut Bound) -> usize {
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text, None),
        };
        let mut abbreviated = false;
        let (name, found) = match self.lookup(parents, name) {
            Some(found) => (name.to_owned(), Some(found)),
            None => match self.abbreviation(parents, name) {
                Some((full, found)) => {
                    abbreviated = true;
                    (full, Some(found))
                }
                None if self.style.is_single() && name.starts_with("--") => {
                    let single = name.trim_start_matches('-');
                    (name.to_owned(), self.lookup(parents, &format!("-{single}")))
                }
                None => (name.to_owned(), None),
            },
        };
        if found.is_none() && self.style == Style::Joined && self.bind_joined(word, parents, bound) {
            return 0;
        }
        bound.seen.push(name.clone());
        match (found, value) {
            // an abbreviation may also be a flag that no row lists: the next word then counts as its value and as an
            // operand
            (Some(Opt::Takes), None) => usize::from(!abbreviated),
            (Some(Opt::Takes | Opt::Optional), _) => 0,
            (Some(Opt::Role(roles)), Some(value)) => {
                bound.value(roles, value, word.place);
                0
            }
            (Some(Opt::Role(roles)), None) => {
                bound.value(roles, word.next.unwrap_or_default(), word.place + 1);
                usize::from(!abbreviated)
            }
            (Some(Opt::Flag(words)), value) => {
                bound.apply(words);
                // a value that a flag does not take: `--build=FILE`
                value
                    .filter(|value| !is_plain(value))
                    .into_iter()
                    .for_each(|value| bound.unlisted(name.clone(), Some(value)));
                0
            }
            (Some(Opt::Unknown { valued }), value) => {
                let separate = word.next.filter(|_| *valued && value.is_none());
                bound.unlisted(name, value.or(separate));
                usize::from(separate.is_some() && !abbreviated)
            }
            (None, value) => {
                let mut rows = std::iter::once(&self).chain(parents);
                let of_variant = rows.any(|row| row.variants.iter().any(|variant| variant.flags.contains(&name)));
                // `kill -15`
                let number = name.trim_start_matches('-').chars().all(|c| c.is_ascii_digit());
                if !of_variant && !number {
                    let value = value.map(str::to_owned);
                    let perhaps_own = value.as_deref().is_none_or(is_plain);
                    bound.unlisted.push(Unlisted { name, value, perhaps_harmless: false, perhaps_own });
                }
                0
            }
        }
    }

    /// Parses a letter with an attached value (`-lm`), or an option with a list (`-Wl,x`). Whether the row lists it.
    fn bind_joined(&self, word: &OptionWord<'_>, parents: &[&Self], bound: &mut Bound) -> bool {
        let parts = word.text.split_once(',').filter(|(name, _)| self.lookup(parents, name).is_some());
        let parts = parts.or_else(|| word.text.split_at_checked(2).filter(|(letter, _)| *letter != "--"));
        let Some((letter, value)) = parts else { return false };
        match self.lookup(parents, letter) {
            Some(Opt::Role(roles)) => bound.value(roles, value, word.place),
            Some(Opt::Unknown { .. }) => bound.unlisted(letter.to_owned(), Some(value)),
            Some(Opt::Takes | Opt::Optional) => {}
            Some(Opt::Flag(_)) | None => return false,
        }
        bound.seen.push(letter.to_owned());
        true
    }

    /// Parses a word of short options; returns how many further arguments they consumed. In a `bundle` without a dash,
    /// all values follow the word.
    fn bind_letters(&self, word: &OptionWord<'_>, bundle: bool, parents: &[&Self], bound: &mut Bound) -> usize {
        let mut used = 0;
        let mut rest = word.text.trim_start_matches('-').chars();
        while let Some(letter) = rest.next() {
            let name = format!("-{letter}");
            let found = self.lookup(parents, &name);
            bound.seen.push(name);
            match found {
                Some(Opt::Flag(words)) => bound.apply(words),
                Some(Opt::Unknown { valued: false }) => bound.unlisted(format!("-{letter}"), None),
                // the rest of the word is its value
                Some(Opt::Optional) => break,
                Some(opt) => {
                    let inline = rest.as_str();
                    let (at, value) = if inline.is_empty() || bundle {
                        used += 1;
                        (word.place + used, word.next.unwrap_or_default())
                    } else {
                        (word.place, inline.strip_prefix('=').unwrap_or(inline))
                    };
                    match opt {
                        Opt::Role(roles) => bound.value(roles, value, at),
                        Opt::Unknown { .. } => bound.unlisted(format!("-{letter}"), Some(value)),
                        _ => {}
                    }
                    if !bundle {
                        break;
                    }
                }
                None => self.unlisted_letter(letter, rest.as_str(), word, bundle, bound),
            }
        }
        used
    }

    /// Reports a letter that the row does not list. The letters after it are still bound: they may be flags, or the
    /// value of this one.
    fn unlisted_letter(&self, letter: char, rest: &str, word: &OptionWord<'_>, bundle: bool, bound: &mut Bound) {
        let name = format!("-{letter}");
        let of_variant = self.variants.iter().any(|variant| variant.flags.contains(&name));
        // a digit is a number: `head -5`
        if of_variant || bundle || letter.is_ascii_digit() {
            return;
        }
        let attached = Some(rest).filter(|rest| !rest.is_empty());
        // the next word may be its value
        let alone = attached.is_none() && word.next.is_none_or(|next| next.starts_with('-'));
        bound.unlisted.push(Unlisted {
            name,
            value: attached.map(str::to_owned),
            perhaps_harmless: alone && self.listed == Listed::Partial,
            perhaps_own: attached.is_none_or(is_plain),
        });
    }

    /// The only listed long option that begins with the name; getopt_long accepts such abbreviations.
    pub(super) fn abbreviation<'a>(&'a self, parents: &[&'a Self], name: &str) -> Option<(String, &'a Opt)> {
        let of_variant = |row: &Self| row.variants.iter().any(|variant| variant.flags.iter().any(|flag| flag == name));
        if !name.starts_with("--") || name.len() < 3 || of_variant(self) || parents.iter().any(|row| of_variant(row)) {
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
    /// Adds the value of an option with its roles.
    fn value(&mut self, roles: &[Role], value: &str, place: usize) {
        self.arguments.extend(roles.iter().map(|role| (role.clone(), value.to_owned(), Some(place))));
    }

    /// The folder in which the program works, if an option names it.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        self.arguments.iter().rev().find(|(role, ..)| *role == Role::Cwd).map(|(_, folder, _)| folder.as_str())
    }

    /// The folder to which an argument is relative: that of the last option before an operand that names one.
    #[must_use]
    pub fn base(&self, argument: usize) -> Option<&str> {
        let (_, _, place) = self.arguments.get(argument).filter(|_| argument >= self.option_values)?;
        let options = self.arguments.get(..self.option_values)?;
        let before = options.iter().rev().find(|(role, _, at)| *role == Role::Base && at < place);
        before.map(|(_, folder, _)| folder.as_str())
    }

    fn unlisted(&mut self, name: String, value: Option<&str>) {
        self.unlisted.push(Unlisted {
            name,
            value: value.map(str::to_owned),
            perhaps_harmless: false,
            perhaps_own: false,
        });
    }

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
            None => bound.unrecognised.extend(middle.iter().map(|(_, o)| (*o).to_owned())),
        }
        let mut give = |slot: &Slot, operand: &(usize, &str)| {
            bound.arguments.push((slot.role.clone(), operand.1.to_owned(), Some(operand.0)));
        };
        for (slot, operand) in self.after.iter().zip(last) {
            give(slot, operand);
        }
    }
}
