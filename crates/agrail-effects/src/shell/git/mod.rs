//! `git -c KEY=VALUE` and `git config KEY VALUE`: distinguishes settings that make git run programs from all others.
//!
//! One-time settings (`-c`) that neither run nor redirect anything are ignored, according to an allowlist; all others
//! are unknown, as the row specifies. A permanent setting that runs a program is a change of the settings file, from
//! which other tools later run its value. Well-known editors, pagers and helpers are ignored, and so is a folder of
//! hooks inside the project. Programs that the settings of the repository name, and its hooks, are read (`stored`).

mod discards;
mod settings;
mod stored;

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Kind;
use crate::table::Table;
use crate::{Cause, Effect, Target, Verb};
use settings::{KNOWN, Runs, harmless, runs, weakens};

impl Shell<'_> {
    /// Interprets one-time settings and `git config`. `None`: the row's own roles apply.
    pub(crate) fn git(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let (before, from) = (self.state.fork(), self.reading.effects.len());
        let root = self.project_root();
        let output = self.git_here(program, words, stdin);
        self.state = before;
        // in another folder it is not the project that git changes, but all that is there
        let within = |path: &str| {
            root.as_ref().is_some_and(|root| {
                path.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        if words.iter().any(|word| word.starts_with("--work-tree")) {
            for effect in self.reading.effects.iter_mut().skip(from) {
                effect.recursive |= effect.verb == Verb::Delete && !within(effect.target.name());
            }
        }
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
            if let Some(alias) = self.stored_alias(command) {
                return Some(self.git_alias(program, &alias, arguments, stdin));
            }
            self.stored_programs(command);
            self.skipped_hooks(program, command, arguments);
            match command.as_str() {
                "push" => self.push_targets(program, arguments),
                "config" => self.setting(program, arguments),
                "remote" => self.remote_address(program, arguments),
                _ => {}
            }
            // otherwise the words are read once more, in that folder
            if !given {
                self.discards(program, command, arguments, stdin.piped);
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

    /// Adds the effect of `--no-verify`: the checks of the project do not run.
    fn skipped_hooks(&mut self, program: &str, command: &str, words: &[String]) {
        let skips: &[&str] = match command {
            "commit" => &["-n", "--no-verify"],
            "am" | "cherry-pick" | "merge" | "push" | "rebase" | "revert" => &["--no-verify"],
            _ => return,
        };
        let row = Table::shipped().row("git").and_then(|row| row.sub(command));
        if row.is_some_and(|row| row.permuted(words).0.has(skips)) {
            let option = Target::Named(Kind::Variable, "--no-verify".to_owned());
            let mut effect = Effect::new(Verb::Variable, option, program);
            "hooks".clone_into(&mut effect.operation);
            self.add(effect);
        }
    }

    /// Interprets an alias of the settings: words for git, or a command line after `!`.
    fn git_alias(&mut self, program: &str, alias: &str, arguments: &[String], stdin: &Output) -> Output {
        self.step(|| format!("git alias: {alias}"));
        let more: Vec<String> = arguments.iter().map(|word| crate::reading::quote(word)).collect();
        let line = match alias.strip_prefix('!') {
            Some(line) => format!("{line} {}", more.join(" ")),
            None => format!("{program} {alias} {}", more.join(" ")),
        };
        self.child("git alias", |shell| shell.nested("git alias", &line, stdin.clone()))
    }

    /// Adds the address of a remote that this action added, and the deletions of `git push`: a plus overwrites a remote
    /// branch, and a colon before a name deletes one.
    fn push_targets(&mut self, program: &str, words: &[String]) {
        let added = self.remotes.iter().rev().find(|(name, _)| words.contains(name));
        if let Some((_, address)) = added.cloned() {
            self.pushes_to(program, &address);
        }
        for target in words.iter().filter(|target| target.starts_with([':', '+']) && target.len() > 1) {
            let name = target.rsplit(':').next().unwrap_or_default().trim_start_matches('+');
            let mut effect = Effect::new(Verb::Remote, Target::Named(Kind::Remote, name.to_owned()), program);
            "delete".clone_into(&mut effect.operation);
            self.add(effect);
        }
    }

    /// Interprets `git remote add` and `git remote set-url`: later pushes go to the address that they set.
    fn remote_address(&mut self, program: &str, words: &[String]) {
        let row = Table::shipped().row("git").and_then(|row| row.sub("remote"));
        let operands = row.map(|row| row.permuted(words).1).unwrap_or_default();
        match operands.as_slice() {
            [change, name, address, ..] if change == "add" => self.remotes.push((name.clone(), address.clone())),
            [change, _, address, ..] if change == "set-url" => self.pushes_to(program, address),
            _ => {}
        }
    }

    fn pushes_to(&mut self, program: &str, address: &str) {
        let mut effect = Effect::new(Verb::Send, Target::Named(Kind::Url, address.to_owned()), program);
        "remote".clone_into(&mut effect.operation);
        self.add(effect);
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
        let lower = key.to_ascii_lowercase();
        if weakens(&lower, value, file.is_some()) {
            let variable = Target::Named(Kind::Variable, (*key).to_owned());
            let mut effect = Effect::new(Verb::Variable, variable, program);
            "unverified".clone_into(&mut effect.operation);
            self.add(effect);
        }
        if lower.starts_with("url.") && (lower.ends_with(".insteadof") || lower.ends_with(".pushinsteadof")) {
            let end = key.rfind('.').unwrap_or(key.len());
            let address = key.get(4..end).unwrap_or_default().to_owned();
            self.pushes_to(program, &address);
        } else if lower.starts_with("remote.") && (lower.ends_with(".url") || lower.ends_with(".pushurl")) {
            let address = (*value).to_owned();
            self.pushes_to(program, &address);
        }
        if lower.starts_with("credential.") && lower.ends_with("helper") && value.split(' ').next() == Some("store") {
            // passwords will lie there as plain text
            self.add(Effect::new(Verb::Write, Target::Path(format!("{}/.git-credentials", self.state.home)), program));
        }
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
