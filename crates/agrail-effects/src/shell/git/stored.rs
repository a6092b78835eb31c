//! Programs that a repository itself names: its settings and its hooks.

use super::settings::{KNOWN, Runs, runs};
use crate::shell::{Output, Shell};

/// Hooks by the subcommands that run them.
const HOOKS: [(&[&str], &[&str]); 9] = [
    (
        &["commit", "ci", "merge", "revert", "cherry-pick"],
        &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
    ),
    (&["add", "status", "commit", "checkout", "switch", "reset", "rm", "mv"], &["post-index-change"]),
    (
        &["commit", "merge", "pull", "fetch", "branch", "tag", "reset", "rebase", "checkout", "switch", "stash"],
        &["reference-transaction"],
    ),
    (&["push"], &["pre-push"]),
    (&["checkout", "switch", "worktree"], &["post-checkout"]),
    (&["merge", "pull"], &["pre-merge-commit", "post-merge", "post-checkout"]),
    (&["rebase"], &["pre-rebase", "post-rewrite", "post-checkout"]),
    (&["am"], &["applypatch-msg", "pre-applypatch", "post-applypatch"]),
    (&["gc"], &["pre-auto-gc"]),
];
/// Subcommands that look at no file of the repository.
const ALONE: [&str; 6] = ["config", "version", "help", "init", "clone", "ls-remote"];

impl Shell<'_> {
    /// Interprets the programs that a subcommand runs by the settings of the repository and by its hooks.
    pub(super) fn stored_programs(&mut self, command: &str) {
        if ALONE.contains(&command) || self.via.iter().any(|outer| outer == "git") {
            return;
        }
        self.via.push("git".to_owned());
        let mut folders = vec![".git/hooks".to_owned(), ".husky".to_owned()];
        let mut texts = self.nearest_texts(".git/config");
        texts.extend(self.nearest_texts(".git/config.worktree"));
        for text in texts {
            for (key, value) in settings(&text) {
                if key == "include.path" || key.starts_with("includeif.") {
                    let place = if value.starts_with(['/', '~']) { value } else { format!(".git/{value}") };
                    let more = self.own_settings(&place).map(|text| settings(&text)).unwrap_or_default();
                    for (key, value) in more.iter().filter(|(key, value)| runs(key, value) == Runs::Program) {
                        if !key.starts_with("alias.") {
                            self.stored_program(key, value);
                        }
                    }
                } else if key == "core.worktree" && value.starts_with(['/', '~']) {
                    self.surely_unknown(crate::Cause::Arguments, &format!("git works in {value}"), "git");
                } else if key == "core.hookspath" {
                    folders.push(value);
                } else if !key.starts_with("alias.") && runs(&key, &value) == Runs::Program {
                    self.stored_program(&key, &value);
                }
            }
        }
        let hooks = HOOKS.iter().filter(|(commands, _)| commands.contains(&command)).flat_map(|(_, hooks)| *hooks);
        for hook in hooks {
            for folder in &folders {
                self.load_nearest("git", "bash", &format!("{folder}/{hook}"));
            }
        }
        self.via.pop();
    }

    /// What a subcommand that git does not have means by the settings of the repository or of the user: the words of a
    /// command line, or a command line of a shell after `!`.
    pub(super) fn stored_alias(&self, command: &str) -> Option<String> {
        let row = crate::table::Table::shipped().row("git")?;
        if row.sub(command).is_some() || self.via.iter().any(|outer| outer == "git alias") {
            return None;
        }
        let of_user = self.own_settings("~/.gitconfig");
        let texts = self.nearest_texts(".git/config").into_iter().chain(of_user);
        let key = format!("alias.{}", command.to_ascii_lowercase());
        texts.flat_map(|text| settings(&text)).find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn own_settings(&self, path: &str) -> Option<String> {
        let content = self.read_contents(&self.path(path)).ok()?.into_iter().next()?;
        String::from_utf8(content).ok()
    }

    /// Interprets the value of a setting as git runs it.
    fn stored_program(&mut self, key: &str, value: &str) {
        // helpers of git itself have no path
        let helper = key.ends_with("helper") && !value.starts_with(['!', '/', '~', '.']);
        if helper || KNOWN.contains(&value) {
            return;
        }
        let line = value.trim_start_matches('!');
        self.certain(|shell| drop(shell.child(key, |shell| shell.nested(key, line, Output::default()))));
    }
}

/// The settings of a file: keys in lower case, except for the middle part.
fn settings(text: &str) -> Vec<(String, String)> {
    let (mut all, mut section) = (Vec::new(), String::new());
    let text = text.replace("\\\n", "");
    // a setting may follow its section on the same line
    let lines =
        text.lines().map(str::trim).flat_map(|line| match line.split_once(']').filter(|_| line.starts_with('[')) {
            Some((head, rest)) => vec![head, rest.trim()],
            None => vec![line],
        });
    for line in lines {
        if let Some(head) = line.strip_prefix('[') {
            let (name, sub) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
            let sub = sub.trim().trim_matches('"');
            let dot = if sub.is_empty() { "" } else { "." };
            section = format!("{}{dot}{sub}", name.to_ascii_lowercase());
        } else if !line.starts_with(['#', ';'])
            && let Some((name, value)) = line.split_once('=')
        {
            let value = value.trim();
            let value = value.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(value);
            all.push((format!("{section}.{}", name.trim().to_ascii_lowercase()), value.replace("\\\"", "\"")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn settings_have_whole_keys() {
        let file = "[core]\n\tfsMonitor = ./a\n# x = y\n[diff \"B\"]\n textconv = \"sh -c \\\"c\\\"\"\n";
        let all = settings(file);
        let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(all, [("core.fsmonitor", "./a"), ("diff.B.textconv", "sh -c \"c\"")]);
    }
}
