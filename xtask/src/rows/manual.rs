//! The options of a program as its documentation lists them.

use std::collections::BTreeMap;

/// Whether an option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arity {
    /// `--verbose`
    None,
    /// `--color[=WHEN]`
    Optional,
    /// `--output FILE`
    Required,
}

/// One documented option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Documented {
    /// All its names, with dashes.
    pub names: Vec<String>,
    /// Whether it takes a value.
    pub arity: Arity,
    /// The value's name in the documentation, such as `FILE`; empty if it has none.
    pub value: String,
    /// The beginning of its description. It is only read to classify the option, and never copied.
    pub about: String,
}

/// The options of a program or subcommand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manual {
    /// The options, each once.
    pub options: Vec<Documented>,
    /// The subcommands by name.
    pub subs: BTreeMap<String, Manual>,
}

impl Manual {
    /// Adds an option. If a name is already known, both are the same option, and the greater arity holds.
    pub fn add(&mut self, option: Documented) {
        let known = self.options.iter_mut().find(|known| known.names.iter().any(|name| option.names.contains(name)));
        let Some(known) = known else { return self.options.push(option) };
        for name in option.names {
            if !known.names.contains(&name) {
                known.names.push(name);
            }
        }
        known.arity = known.arity.max(option.arity);
        for (text, more) in [(&mut known.value, option.value), (&mut known.about, option.about)] {
            if !more.is_empty() && !text.contains(&more) {
                text.push(' ');
                text.push_str(&more);
            }
        }
    }

    /// Adds the options and subcommands of another source.
    pub fn merge(&mut self, other: Self) {
        other.options.into_iter().for_each(|option| self.add(option));
        for (name, sub) in other.subs {
            self.subs.entry(name).or_default().merge(sub);
        }
    }

    /// The options of all subcommands as options of the program, for rows without subcommands.
    pub fn flatten(mut self) -> Self {
        for sub in std::mem::take(&mut self.subs).into_values() {
            sub.flatten().options.into_iter().for_each(|option| self.add(option));
        }
        self
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty() && self.subs.values().all(Self::is_empty)
    }
}
