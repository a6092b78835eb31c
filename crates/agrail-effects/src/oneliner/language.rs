//! What is known about a language: its marks and its vocabulary.

use super::description::{Description, Quote, Syntax};
use foldhash::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The descriptions by name, compiled by `build.rs`.
static COMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/oneliner.bin"));

/// Words of the names of functions and methods of packages that reach beyond the program.
const EFFECTS: [&str; 60] = [
    "chgrp", "chmod", "chown", "chroot", "command", "connect", "copy", "cp", "curl", "delete", "del", "destroy",
    "download", "drop", "dump", "erase", "eval", "exec", "execute", "extract", "fork", "ftp", "http", "install",
    "kill", "link", "ln", "mail", "mkdir", "mount", "move", "mv", "patch", "popen", "post", "process", "publish",
    "purge", "put", "remove", "rename", "request", "rm", "rmdir", "rmtree", "run", "save", "scp", "send", "shell",
    "spawn", "ssh", "symlink", "system", "touch", "truncate", "unlink", "upload", "wipe", "write",
];

/// Role of a call that starts a command and may write to its input.
pub const FED: &str = "fed";

/// The effect of a call.
#[derive(Debug)]
pub struct Row {
    /// In the notation of `commands/README.md`; `open` depends on the mode in the next argument, and [`FED`] is a command
    /// line that may get a text on its input.
    pub role: String,
    pub recursive: bool,
    pub place: Place,
}

/// Where the target is taken from.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    At(usize),
    Each,
    /// All arguments, joined to a command line.
    Words,
    /// The name itself.
    Name,
    /// All texts up to the end of the statement: `new("sh").arg("-c")`.
    Chain,
    /// The value before a method: `"ls".execute()`, `File("a").delete()`.
    Receiver,
}

/// A language.
#[derive(Debug)]
pub struct Language {
    pub name: String,
    pub comments: Vec<String>,
    pub blocks: Vec<[String; 2]>,
    pub quotes: Vec<Quote>,
    pub command: Option<char>,
    pub sigils: String,
    pub word: String,
    pub members: Vec<String>,
    pub assigns: Vec<String>,
    pub functions: HashSet<String>,
    pub binders: HashSet<String>,
    pub keywords: HashSet<String>,
    pub inert: HashSet<String>,
    pub methods: HashSet<String>,
    pub acts: HashSet<String>,
    pub system: HashSet<String>,
    pub modules: HashSet<String>,
    pub homes: Vec<Vec<char>>,
    pub joins: HashSet<String>,
    pub same: HashSet<String>,
    pub variables: HashSet<String>,
    pub callbacks: BTreeMap<String, usize>,
    pub rows: HashMap<String, Vec<Row>>,
    syntax: Vec<Syntax>,
}

impl Language {
    /// The language with a name. `None` without a description.
    pub fn named(name: &str) -> Option<&'static Language> {
        static ALL: OnceLock<Vec<Language>> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            let described: BTreeMap<String, Description> = postcard::from_bytes(COMPILED).unwrap_or_default();
            described.into_iter().map(|(name, description)| Language::new(name, description)).collect()
        });
        all.iter().find(|language| language.name == name)
    }

    fn new(name: String, from: Description) -> Self {
        let set = |text: &str| text.split_whitespace().map(str::to_owned).collect::<HashSet<String>>();
        let rows = from.calls.iter().flat_map(|(names, row)| {
            names.split_whitespace().map(|name| (name.to_owned(), row.split("; ").filter_map(Row::parse).collect()))
        });
        Language {
            name,
            rows: rows.collect(),
            functions: set(&from.functions),
            binders: set(&from.binders),
            keywords: set(&from.keywords),
            inert: set(&from.inert),
            methods: set(&from.methods),
            acts: set(&from.acts),
            system: set(&from.system),
            homes: from.homes.iter().map(|home| home.chars().collect()).collect(),
            modules: set(&from.modules),
            joins: set(&from.joins),
            same: set(&from.same),
            variables: set(&from.variables),
            comments: from.comments,
            blocks: from.blocks,
            quotes: from.quotes,
            command: from.command,
            sigils: from.sigils,
            word: from.word,
            members: from.members,
            assigns: from.assigns,
            callbacks: from.callbacks,
            syntax: from.syntax,
        }
    }

    pub fn has(&self, syntax: Syntax) -> bool {
        self.syntax.contains(&syntax)
    }

    /// Whether a character is part of words.
    pub fn is_word(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_' || self.word.contains(c)
    }

    /// Whether a dotted name is listed, or all members of what it belongs to.
    pub fn is_inert(&self, name: &str) -> bool {
        self.inert.contains(name)
            || name
                .match_indices('.')
                .any(|(at, _)| name.get(..at).is_some_and(|family| self.inert.contains(&format!("{family}.*"))))
    }

    /// Whether only listed members of a name have a meaning: `File`, `os`.
    pub fn is_space(&self, name: &str) -> bool {
        let begin = format!("{name}.");
        self.inert.iter().chain(self.rows.keys()).any(|known| known.starts_with(&begin))
    }

    /// Whether a name that has no meaning here may be one of the language itself, or says that it reaches beyond the
    /// program.
    pub fn may_reach(&self, name: &str) -> bool {
        let name = name.trim_start_matches('.');
        let parts = || name.split(['.', ':']).filter(|part| !part.is_empty());
        let listed = |part: &str| self.system.contains(part) || self.acts.contains(part);
        let space = parts().next().filter(|_| parts().nth(1).is_some());
        self.system.is_empty()
            || self.system.contains(name)
            || parts().next().is_some_and(listed)
            || parts().next_back().is_some_and(listed)
            || space.is_some_and(|space| self.is_space(space))
            || parts().next_back().is_some_and(says_so)
    }

    /// Whether `NAME = function` cannot make a name harmless.
    pub fn is_taken(&self, name: &str) -> bool {
        self.acts.contains(name) || self.rows.contains_key(name)
    }
}

/// Whether a word of a name, as `removeTree` and `remove_tree` have two, is that of an effect.
fn says_so(name: &str) -> bool {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if !c.is_alphanumeric()
            || c.is_uppercase() && words.last().is_some_and(|word| !word.ends_with(char::is_uppercase))
        {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.push(c);
        }
    }
    words.iter().any(|word| EFFECTS.contains(&word.to_lowercase().as_str()))
}

impl Row {
    /// `ROLE PLACE` or `ROLE recursive PLACE`.
    fn parse(text: &str) -> Option<Self> {
        let (role, rest) = text.split_once(' ')?;
        let (recursive, place) = rest.strip_prefix("recursive ").map_or((false, rest), |place| (true, place));
        let place = match place {
            "each" => Place::Each,
            "words" => Place::Words,
            "name" => Place::Name,
            "chain" => Place::Chain,
            "receiver" => Place::Receiver,
            index => Place::At(index.parse().ok()?),
        };
        Some(Row { role: role.to_owned(), recursive, place })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::role::Role;

    #[test]
    fn every_description_is_valid() {
        let all: BTreeMap<String, Description> = postcard::from_bytes(COMPILED).unwrap();
        assert_eq!(all.len(), 13);
        for (name, description) in all {
            for row in description.calls.values() {
                for part in row.split("; ") {
                    let row = Row::parse(part).unwrap_or_else(|| panic!("{name}: {row}"));
                    assert!(
                        ["open", FED].contains(&row.role.as_str()) || Role::parse(&row.role).is_ok(),
                        "{name}: {}",
                        row.role
                    );
                }
            }
            assert!(Language::named(&name).is_some());
        }
    }
}
