//! How a parser reads the words of a command line.

use super::{Declared, Takes};
use crate::UNKNOWN_SPAN;

/// Words of a command line, read by the declared arguments.
pub(super) struct Words {
    /// The words of each occurrence of each declared argument.
    pub given: Vec<Vec<Vec<String>>>,
    /// The words that are no options.
    pub plain: Vec<String>,
}

impl Words {
    /// Whether an argument belongs to a command that the words name.
    pub fn counts(&self, declared: &[Declared], at: usize) -> bool {
        let command = declared.get(at).and_then(|declared| declared.command.as_ref());
        command.is_none_or(|command| self.plain.contains(command))
    }

    /// Reads words; `None` if it is not certain how a parser reads one of them.
    pub fn read(declared: &[Declared], words: &[String], by_position: bool) -> Option<Self> {
        let mut read = Words { given: vec![Vec::new(); declared.len()], plain: Vec::new() };
        let commands = declared.iter().filter_map(|declared| declared.command.as_deref());
        let named: Vec<&str> = commands.filter(|command| words.iter().any(|word| word == command)).collect();
        let counts = |declared: &Declared| declared.command.as_deref().is_none_or(|command| named.contains(&command));
        if declared.iter().any(|declared| declared.takes == Takes::Rest && counts(declared)) {
            return None;
        }
        let mut rest = words;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            if word.contains([UNKNOWN_SPAN, '*', '?', '[']) || word == "--" {
                return None;
            }
            if !is_option(word) {
                read.plain.push(word.clone());
                continue;
            }
            let (at, attached) = option(declared, &counts, word)?;
            let takes = declared.get(at)?.takes;
            let count = match (takes, &attached) {
                (Takes::None, Some(_)) => return None,
                (Takes::None, None) | (_, Some(_)) => 0,
                (Takes::One, None) => 1,
                (Takes::Exactly(count), None) => count,
                (Takes::Maybe, None) => rest.iter().take(1).take_while(|word| !is_option(word)).count(),
                (Takes::Any | Takes::Rest, None) => rest.iter().take_while(|word| !is_option(word)).count(),
            };
            let (mut own, after) = rest.split_at_checked(count)?;
            if own.iter().any(|word| is_option(word) || word.contains([UNKNOWN_SPAN, '*', '?', '['])) {
                return None;
            }
            rest = after;
            let attached = attached.map(|word| [word]);
            if let Some(attached) = &attached {
                own = attached;
            }
            read.given.get_mut(at)?.push(own.to_vec());
        }
        if by_position {
            read.by_position(declared, &counts)?;
        }
        Some(read)
    }

    /// Gives the words that are no options to the arguments by position.
    fn by_position(&mut self, declared: &[Declared], counts: &dyn Fn(&Declared) -> bool) -> Option<()> {
        let places = declared.iter().enumerate().filter(|(_, declared)| declared.is_by_position() && counts(declared));
        // those of a subcommand follow its name
        let (outer, inner): (Vec<_>, Vec<_>) = places.partition(|(_, declared)| declared.command.is_none());
        let order: Vec<(usize, Takes)> = outer.into_iter().chain(inner).map(|(at, one)| (at, one.takes)).collect();
        let least = |takes: Takes| match takes {
            Takes::One => 1,
            Takes::Exactly(count) => count,
            _ => 0,
        };
        let needed: usize = order.iter().map(|(_, takes)| least(*takes)).sum();
        let spare = self.plain.len().checked_sub(needed)?;
        let open = order.iter().filter(|(_, takes)| matches!(takes, Takes::Maybe | Takes::Any)).count();
        if open > 1 || open == 0 && spare > 0 {
            return None;
        }
        let mut words = self.plain.as_slice();
        for (at, takes) in order {
            let count = match takes {
                Takes::Maybe if spare > 1 => return None,
                Takes::Maybe | Takes::Any => spare,
                takes => least(takes),
            };
            let (own, after) = words.split_at_checked(count)?;
            words = after;
            if count > 0 {
                self.given.get_mut(at)?.push(own.to_vec());
            }
        }
        Some(())
    }
}

/// Whether a parser takes a word for an option: a number below zero may be either.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// The argument that a word sets, and the value that is attached to it. `None` if it is not certain.
fn option(declared: &[Declared], counts: &dyn Fn(&Declared) -> bool, word: &str) -> Option<(usize, Option<String>)> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
        _ => (word, None),
    };
    let with = |wanted: &str| {
        let all = declared.iter().enumerate().filter(|(_, one)| counts(one));
        let mut found = all.filter(|(_, one)| one.options.iter().any(|option| option == wanted));
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Some(at),
            _ => None,
        }
    };
    if let Some(at) = with(name) {
        return Some((at, attached));
    }
    if name.starts_with("--") {
        // its beginning, if it is that of no other
        let beginning = |option: &str| option.starts_with(name);
        let all = declared.iter().enumerate().filter(|(_, one)| counts(one));
        let mut found = all.flat_map(|(at, one)| one.options.iter().filter(|o| beginning(o)).map(move |_| at));
        return match (found.next(), found.next()) {
            (Some(at), None) if !beginning("--help") && !beginning("--version") => Some((at, attached)),
            _ => None,
        };
    }
    // `-j4`
    let short = word.get(..2).filter(|_| word.len() > 2)?;
    let longer = |one: &Declared| one.options.iter().any(|option| option.len() > 2 && !option.starts_with("--"));
    let at = with(short).filter(|_| !declared.iter().any(longer))?;
    let takes = declared.get(at).is_some_and(|one| one.takes != Takes::None);
    takes.then(|| (at, word.get(2..).map(|value| value.strip_prefix('=').unwrap_or(value).to_owned())))
}
