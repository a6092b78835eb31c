//! Names that source in another language gets from files of the project that it loads.
//!
//! A file is read where the source loads it, and that adds the effects of all that it defines. So a name that the source
//! uses and the file defines needs no effect of its own.

use super::Shell;
use crate::Cause;
use crate::reading::Call;

/// Words before a name that define it.
const DEFINES: [&str; 12] = [
    "class",
    "const",
    "def",
    "defmodule",
    "enum",
    "function",
    "interface",
    "module",
    "package",
    "static",
    "sub",
    "trait",
];
/// The endings of the files of a language.
const ENDINGS: [(&str, &[&str]); 6] = [
    ("julia", &[".jl"]),
    ("lua", &[".lua"]),
    ("perl", &[".pl", ".pm"]),
    ("php", &[".php"]),
    ("r", &[".R", ".r"]),
    ("ruby", &[".rb"]),
];

impl Shell<'_> {
    /// Reports the names that nothing defines: neither the source nor a file of the project that was read for it.
    pub(super) fn undefined(&mut self, unknown: &[Call], language: &str) {
        if unknown.is_empty() {
            return;
        }
        let endings = ENDINGS.iter().find(|(name, _)| *name == language).map_or(&[][..], |(_, endings)| endings);
        let paths = self.reading.scripts.iter().map(|(path, _)| path.clone());
        let own: Vec<String> = paths
            .filter(|path| endings.iter().any(|ending| path.ends_with(ending)) && self.is_own_file(path))
            .filter_map(|path| self.own_text(&path))
            .collect();
        for call in unknown {
            let name = call.target.trim_start_matches('.').rsplit("::").next().unwrap_or_default();
            if own.iter().any(|text| defines(text, name)) {
                self.step(|| format!("{} is defined in the project", call.target));
            } else {
                self.surely_unknown(Cause::Program, &call.target, &call.via);
            }
        }
    }
}

/// Whether a text defines a name.
fn defines(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(part) {
        return false;
    }
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + name.len()..).unwrap_or_default());
        // `def self.name`, `function M.name`, `package A::Name`
        let path = |c: char| part(c) || matches!(c, '.' | ':');
        let owner = before.trim_end_matches(path);
        let joined = owner.len() == before.len() || before.ends_with(['.', ':']);
        let word = owner.trim_end().rsplit(|c: char| !part(c)).next().unwrap_or_default();
        joined && !after.starts_with(part) && owner.ends_with([' ', '\t']) && DEFINES.contains(&word)
    })
}

#[cfg(test)]
mod tests {
    use super::defines;

    #[test]
    fn definitions_are_found() {
        for (text, name, expected) in [
            ("class Slug\n  def self.make(x)\n", "make", true),
            ("module Csv\nend", "Csv", true),
            ("package Text::Table::Tiny2;", "Tiny2", true),
            ("sub clean { }", "clean", true),
            ("function M.read(x) end", "read", true),
            ("public static function make($a) {", "make", true),
            ("Slug.make(1)", "make", false),
            ("def remake(x)", "make", false),
            ("def make_all(x)", "make", false),
            ("# undefined make", "make", false),
        ] {
            assert_eq!(defines(text, name), expected, "{text}: {name}");
        }
    }
}
