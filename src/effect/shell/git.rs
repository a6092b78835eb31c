//! `git -c KEY=VALUE` and `git config KEY VALUE`: settings that make git run programs are told from those that do not.
//!
//! A program in a setting for this once (`-c`) is read like any script. One that stays is a change of the file of settings,
//! which other tools run by themselves what is written in; a program that is known and runs no others (`vim`, `less`) is
//! left alone, and so is a folder of hooks within the project.

use super::{HOLE, Output, Shell};
use crate::effect::table::Table;
use crate::effect::{Cause, Effect, Target, Verb};

/// Settings whose value git runs; `*` stands for any part between.
const PROGRAMS: [&str; 35] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "sequence.editor",
    "gpg.program",
    "gpg.*.program",
    "interactive.difffilter",
    "uploadpack.packobjectshook",
    "credential.helper",
    "credential.*.helper",
    "remote.*.uploadpack",
    "remote.*.receivepack",
    "remote.*.vcs",
    "filter.*.clean",
    "filter.*.smudge",
    "filter.*.process",
    "merge.*.driver",
    "difftool.*.cmd",
    "difftool.*.path",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "browser.*.cmd",
    "man.*.cmd",
    "guitool.*.cmd",
    "trailer.*.command",
    "trailer.*.cmd",
    "tar.*.command",
    "pager.*",
];
/// Settings whose value is a place from which git takes programs or more settings.
const PLACES: [&str; 4] = ["core.hookspath", "init.templatedir", "include.path", "includeif.*.path"];

/// What a setting makes git run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    Nothing,
    Program,
    Place,
}

impl Shell<'_> {
    /// `None`: the row's own roles apply.
    pub(crate) fn git(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        // settings for this once stand before the subcommand
        let (mut rest, mut own, mut given) = (words.iter(), vec![program.to_owned()], false);
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-c" => {
                    given = true;
                    self.once(program, rest.next().map_or("", String::as_str));
                }
                "-C" | "--git-dir" | "--work-tree" | "--namespace" => {
                    own.push(word.clone());
                    own.extend(rest.next().cloned());
                }
                _ if word.starts_with('-') => own.push(word.clone()),
                _ => {
                    if word == "config" {
                        self.setting(program, rest.as_slice());
                    }
                    own.push(word.clone());
                    own.extend(rest.by_ref().cloned());
                }
            }
        }
        given.then(|| self.wrapped(program, &own, stdin.clone()))
    }

    /// `KEY=VALUE` for this once.
    fn once(&mut self, program: &str, setting: &str) {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        match runs(key, value) {
            Runs::Nothing => {}
            Runs::Program => {
                self.nested(&format!("{program} -c {key}"), value.trim_start_matches('!'), Output::default());
            }
            Runs::Place => self.unknown(Cause::Arguments, &format!("{program} -c {setting}"), program),
        }
    }

    /// `git config ...`: a setting that stays.
    fn setting(&mut self, program: &str, words: &[String]) {
        let (mut operands, mut file) = (Vec::new(), None);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--global" => file = Some(format!("{}/.gitconfig", self.home)),
                "--system" => file = Some("/etc/gitconfig".to_owned()),
                // the row says that the file is written
                "-f" | "--file" | "--get" | "--get-all" | "--list" | "-l" | "--unset" | "--unset-all" => return,
                "--type" | "--default" | "--comment" | "--value" => {
                    rest.next();
                }
                _ if word.starts_with('-') => {}
                _ => operands.push(word.as_str()),
            }
        }
        let operands = operands.strip_prefix(&["set"]).unwrap_or(&operands);
        let [key, value, ..] = operands else { return };
        let inside = file.is_none() && !value.starts_with(['/', '~']) && !value.contains("..") && !value.contains(HOLE);
        let judged = match runs(key, value) {
            Runs::Nothing => false,
            Runs::Program => !known(value),
            Runs::Place => !inside,
        };
        if judged {
            let file = file.unwrap_or_else(|| self.path(".git/config"));
            self.add(Effect::new(Verb::Append, Target::Path(file), program));
        }
    }
}

/// What a setting makes git run, whatever its file.
fn runs(key: &str, value: &str) -> Runs {
    let key = key.to_ascii_lowercase();
    let is = |pattern: &&str| match pattern.split_once('*') {
        None => **pattern == key,
        Some((begin, end)) => key.len() > begin.len() + end.len() && key.starts_with(begin) && key.ends_with(end),
    };
    if key.contains(HOLE) {
        return Runs::Place;
    }
    if PLACES.iter().any(is) {
        return Runs::Place;
    }
    let shell = value.starts_with('!') && (key.starts_with("alias.") || key.ends_with(".update"));
    let switch =
        matches!(value.to_ascii_lowercase().as_str(), "" | "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1");
    // a helper without a path is one of git's own
    let helper = key.ends_with("helper")
        && value.split_whitespace().next().is_some_and(|first| !first.starts_with(['!', '/', '~', '.']));
    if shell || (PROGRAMS.iter().any(is) && !switch && !helper) {
        Runs::Program
    } else {
        Runs::Nothing
    }
}

/// A program of the table that runs no others, with plain words.
fn known(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=: ".contains(c);
    let row = value.split_whitespace().next().and_then(|first| Table::shipped().row(first));
    value.chars().all(plain) && row.is_some_and(|row| row.special.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_told_from_others() {
        for (key, value) in [
            ("core.pager", "sh -c id"),
            ("core.sshCommand", "ssh -i k"),
            ("Alias.x", "!rm -rf ~"),
            ("filter.lfs.clean", "git-lfs clean"),
            ("credential.helper", "!f() { cat; }; f"),
            ("credential.https://h.example.helper", "/tmp/x"),
            ("core.fsmonitor", "./x"),
            ("pager.log", "x"),
        ] {
            assert_eq!(runs(key, value), Runs::Program, "{key}={value}");
        }
        for (key, value) in [
            ("user.name", "Ann"),
            ("alias.co", "checkout"),
            ("core.fsmonitor", "true"),
            ("credential.helper", "store"),
            ("pager.log", "false"),
            ("pull.rebase", "true"),
        ] {
            assert_eq!(runs(key, value), Runs::Nothing, "{key}={value}");
        }
        assert_eq!(runs("core.hooksPath", "/tmp/x"), Runs::Place);
        assert!(known("vim") && known("less -R") && !known("sh -c id") && !known("vim; id") && !known("./less"));
    }
}
