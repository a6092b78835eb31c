//! Commands with their own small language: a table from the `special` entry of a row to the method that interprets it.

use super::{Output, Shell};
use crate::table::{Options, Table};

/// Interprets the arguments of a program, which may be one of several of that kind. `None`: the row's own roles apply.
type Special = fn(&mut Shell<'_>, program: &str, words: &[String], stdin: &Output) -> Option<Output>;

/// The methods by the name in the row.
const SPECIAL: [(&str, Special); 33] = [
    ("alias", |shell, program, words, _| Some(shell.alias(program, words))),
    ("base64", |shell, program, words, stdin| shell.base64(program, words, stdin)),
    ("cd", |shell, _, words, _| Some(shell.cd(words))),
    ("command", |shell, program, words, stdin| Some(shell.command_builtin(program, words, stdin))),
    ("echo", |shell, program, words, _| Some(shell.echo(program, words))),
    ("env", |shell, program, words, stdin| Some(shell.env(program, words, stdin))),
    ("eval", |shell, _, words, stdin| Some(shell.nested("eval", &words.join(" "), stdin.clone()))),
    ("exec", |shell, program, words, stdin| Some(shell.exec(program, words, stdin))),
    ("export", |shell, program, words, _| Some(shell.export_words(program, words))),
    ("find", |shell, _, words, _| Some(shell.find(words))),
    ("flock", |shell, _, words, stdin| Some(shell.flock(words, stdin))),
    ("git", |shell, program, words, stdin| shell.git(program, words, stdin)),
    ("interpreter", |shell, program, words, stdin| shell.interpreter(program, words, stdin)),
    ("make", |shell, program, words, stdin| Some(shell.make(program, words, stdin))),
    ("pack", |shell, program, words, _| shell.pack(program, words)),
    // if no script runs, the row applies
    ("package-scripts", |shell, program, words, _| shell.package_scripts(program, words).then(Output::default)),
    ("read", |shell, program, words, _| Some(shell.read_into(program, words))),
    ("rev", |shell, program, words, stdin| Some(shell.rev(program, words, stdin))),
    ("rimraf", |shell, program, words, stdin| shell.rimraf(program, words, stdin)),
    // a status query changes nothing
    ("service", |_, _, words, _| matches!(words, [_, asked] if asked == "status").then(Output::default)),
    ("set", |shell, _, words, _| Some(shell.set(words))),
    ("sh", |shell, program, words, stdin| Some(shell.sh(program, words, stdin))),
    ("shell-state", |shell, program, words, _| Some(shell.change_shell(program, words))),
    ("source", |shell, _, words, _| Some(shell.source_file(words))),
    ("split", |shell, program, words, _| shell.split(program, words)),
    ("ssh", |shell, _, words, stdin| Some(shell.ssh(words, stdin))),
    ("su", |shell, _, words, stdin| Some(shell.su(words, stdin))),
    ("sudo", |shell, program, words, stdin| Some(shell.sudo(program, words, stdin))),
    ("tr", |shell, _, words, stdin| Some(shell.tr(words, stdin))),
    ("trap", |shell, _, words, _| Some(shell.trap(words))),
    ("watch", |shell, program, words, stdin| Some(shell.watch(program, words, stdin))),
    ("xargs", |shell, program, words, stdin| Some(shell.xargs(program, words, stdin))),
    ("xxd", |_, _, words, stdin| super::text::xxd(words, stdin)),
];

impl Shell<'_> {
    /// Interprets a command with a `special` entry in its row. `None`: the row's own roles apply.
    pub(crate) fn special(&mut self, special: &str, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let (_, interpret) = SPECIAL.iter().find(|(name, _)| *name == special)?;
        interpret(self, program, words, stdin)
    }

    /// The options at the beginning of a program's arguments, by its row. Options with an unknown effect are reported.
    pub(crate) fn options(&mut self, program: &str, words: &[String]) -> Options {
        let options = Self::options_of(program, words);
        self.unlisted_options(program, &options.unlisted, false, false);
        self.changes_by_options(program, words, &options);
        options
    }

    /// Adds the effects of options on paths, by the roles of the row.
    pub(super) fn changes_by_options(&mut self, program: &str, words: &[String], options: &Options) {
        let bound = Table::shipped().row(program).map(|row| row.changes_of(options)).unwrap_or_default();
        self.effects(program, words, &bound, &Output::default());
    }

    /// The options and the operands of a program that accepts options after operands. Options with an unknown effect are
    /// reported.
    pub(super) fn permuted(&mut self, program: &str, words: &[String]) -> (Options, Vec<String>) {
        let row = Table::shipped().row(program);
        let (options, operands) = row.map(|row| row.permuted(words)).unwrap_or_default();
        self.unlisted_options(program, &options.unlisted, false, false);
        (options, operands)
    }

    /// As [`Self::options`], but reports nothing.
    pub(super) fn options_of(program: &str, words: &[String]) -> Options {
        Table::shipped().row(program).map(|row| row.options(words)).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn special_entries_have_a_method() {
        let used: BTreeSet<&str> = Table::shipped()
            .names()
            .filter_map(|name| Table::shipped().row(name).unwrap().special.as_deref())
            .collect();
        let known: BTreeSet<&str> = SPECIAL.iter().map(|(name, _)| *name).collect();
        assert_eq!(used, known);
    }
}
