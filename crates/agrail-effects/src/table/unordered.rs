//! The normal form of a command line whose options may stand anywhere: `git push --delete origin x` and `git push origin
//! --delete x` become equal, and so do `kubectl -n a get pods` and `kubectl get pods -n a`.
//!
//! Only rows that say so (`unordered`) are reordered, and only if they list every option of the line: of an unlisted one
//! it is not known whether the next word is its value. Options of one name keep their order, because the last may win.
//! Lines with options that cancel each other or join others keep their order altogether.

use super::row::{Row, Style};

/// Options whose place among the others counts: operators of expressions, filters of which the last that fits wins, and
/// what begins a new part.
const JOINS: &str = "--and --or --not --next --include --exclude --filter \
--include-from --exclude-from --cvs-exclude";
/// Options of which the last one wins.
const CANCELS: &str = "-i -I -f -n --interactive --force --no-clobber --dry-run";

/// A command line, divided.
#[derive(Default)]
struct Parts {
    /// Subcommands and operands, in their order.
    operands: Vec<String>,
    /// Each option with its value, and the depth of the row that lists it.
    options: Vec<(usize, Vec<String>)>,
    /// What follows `--`, or the command that is run with its own options.
    rest: Vec<String>,
}

impl Row {
    /// The normal form; `None` if the order must be kept.
    pub(super) fn unordered(&self, arguments: &[String]) -> Option<Vec<String>> {
        let mut parts = Parts::default();
        self.divide(arguments, &[], &mut parts)?;
        let Parts { operands, mut options, rest } = parts;
        let named = |name: &str| options.iter().any(|(_, words)| option_name(words) == name);
        let negated = |words: &[String]| {
            let name = option_name(words).strip_prefix("--no-");
            // `--archive` stands for several options, each of which can be taken back
            name.is_some_and(|name| named(&format!("--{name}")) || named("--archive"))
        };
        let cancels = CANCELS.split_whitespace().filter(|name| named(name)).count() > 1;
        let joins = JOINS.split_whitespace().any(named);
        if cancels || joins || options.iter().any(|(_, words)| negated(words)) {
            return None;
        }
        options.sort_by(|one, other| (one.0, option_name(&one.1)).cmp(&(other.0, option_name(&other.1))));
        Some(operands.into_iter().chain(options.into_iter().flat_map(|(_, words)| words)).chain(rest).collect())
    }

    fn divide(&self, arguments: &[String], parents: &[&Self], parts: &mut Parts) -> Option<()> {
        if self.style != Style::Gnu {
            return None;
        }
        let stop_after = self.run_position();
        let (mut rest, mut operands) = (arguments, Vec::new());
        while let Some((argument, after)) = rest.split_first() {
            if argument == "--" {
                parts.rest = rest.to_vec();
                break;
            }
            rest = after;
            if argument.starts_with('-') && argument.len() > 1 {
                rest = after.get(self.option(argument, after, parents, parts)?..)?;
                continue;
            }
            let sub = self.subs.iter().find(|sub| operands.is_empty() && sub.names.contains(argument));
            operands.push(self.plain(argument, parents).to_owned());
            if let Some(sub) = sub {
                parts.operands.append(&mut operands);
                return sub.divide(rest, &[parents, &[self]].concat(), parts);
            }
            if stop_after.is_some_and(|most| operands.len() >= most) {
                // after `--`, so that `run IMAGE -it` and `run -it IMAGE` stay different
                parts.rest = std::iter::once("--".to_owned()).chain(self.inner(argument, rest)).collect();
                break;
            }
        }
        let pair = match operands.as_slice() {
            [only] if parts.rest.is_empty() => {
                self.pair(only).map(|(kind, name)| vec![kind.to_owned(), name.to_owned()])
            }
            _ => None,
        };
        parts.operands.append(&mut pair.unwrap_or(operands));
        Some(())
    }

    /// Adds one option, or the letters of a bundle; returns how many further arguments they consumed. `None` if no row
    /// lists it, or if it may take a part of the bundle as its value.
    fn option(&self, argument: &str, after: &[String], parents: &[&Self], parts: &mut Parts) -> Option<usize> {
        let mut words = Vec::new();
        let used = if self.is_long(argument, parents) {
            let name = argument.split_once('=').map_or(argument, |(name, _)| name);
            self.takes_value(name, parents)?;
            self.long(argument, after, parents, &mut words)
        } else {
            for letter in argument.chars().skip(1) {
                if self.takes_value(&format!("-{letter}"), parents)? {
                    break;
                }
            }
            self.bundle(argument, after, parents, &mut words)
        };
        // a bundle that was not understood stays one word
        let whole = |first: &String| first == argument && !self.is_long(argument, parents) && argument.len() > 2;
        if words.first().is_some_and(whole) {
            return None;
        }
        let mut words = words.into_iter();
        while let Some(name) = words.next() {
            let plain = name.split_once('=').map_or(name.as_str(), |(name, _)| name);
            let (depth, valued) = (self.depth(plain, parents), plain == name && self.takes_value(plain, parents)?);
            let value = if valued { words.next() } else { None };
            parts.options.push((depth, std::iter::once(name).chain(value).collect()));
        }
        Some(used)
    }

    /// Depth of the row that lists an option: 0 for the program's own.
    fn depth(&self, name: &str, parents: &[&Self]) -> usize {
        let own = self.options.contains_key(name) || self.variants.iter().any(|v| v.flags.iter().any(|f| f == name));
        let above = || parents.iter().rposition(|parent| parent.options.contains_key(name));
        if own { parents.len() } else { above().unwrap_or(parents.len()) }
    }
}

/// The name of an option without an attached value.
fn option_name(words: &[String]) -> &str {
    let first = words.first().map(String::as_str).unwrap_or_default();
    first.split_once('=').map_or(first, |(name, _)| name)
}
