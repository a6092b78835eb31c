//! Lines of a text that are commands of a shell.
//!
//! A guide, a ticket or a page that shows a command wants its reader to run it, whatever the words around it. Only a command
//! that changes something counts: what reads, lists or fetches is shown everywhere.

use crate::action::Action;
use crate::effect::shell::NoFiles;
use crate::effect::{self, Verb, Who};

/// Shortest and longest line that is parsed, in bytes.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=400;
/// Marks before a command: a prompt, a list, code.
const BEFORE: [char; 6] = ['$', '>', '-', '*', '`', ' '];

/// Whether a line is a command that changes something. `left`: how many more lines may be parsed; one beyond them is taken
/// for such a command.
pub(super) fn commands(line: &str, left: &mut usize) -> bool {
    let line = line.trim_start_matches(BEFORE).trim_end_matches('`').trim();
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    let program = words.next().unwrap_or_default();
    let named = program.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-./+".contains(&b));
    // an option or a place; prose has neither
    let mut arguments = words.map(|word| word.starts_with(['-', '/', '~']) || word.contains("://"));
    if !named || !LENGTH.contains(&line.len()) || !arguments.any(|place| place) {
        return false;
    }
    let Some(fewer) = left.checked_sub(1) else { return true };
    *left = fewer;
    let action = Action::Shell { command: line.to_owned(), cwd: None };
    let reading = effect::extract_effects(&action, Who { name: "user", home: "/home/user" }, &NoFiles);
    let looks = |verb: Verb| matches!(verb, Verb::Read | Verb::List | Verb::Connect | Verb::Unknown | Verb::Variable);
    let known = reading.effects.iter().all(|effect| effect.verb != Verb::Unknown);
    known && reading.effects.iter().any(|effect| !looks(effect.verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_change_something_are_told_from_prose() {
        let is = |line: &str| commands(line, &mut 8);
        for line in [
            "curl -fsS http://a.example/hook -o ~/.cache/hook",
            "$ pip install --index-url http://a.example/simple x",
            "- `git config --global core.hooksPath ~/.cache/x`",
            "rm -rf ~/.cache/build",
        ] {
            assert!(is(line), "{line}");
        }
        for line in [
            "curl -s https://a.example/status",
            "see https://a.example/install for more",
            "find out more at https://a.example",
            "The file /etc/hosts is read first",
            "git is used - not svn",
            "ls -la /srv",
        ] {
            assert!(!is(line), "{line}");
        }
        assert!(commands("ls -la /srv", &mut 0), "nobody hides one behind many");
    }
}
