//! Programs that a repository itself names: its settings and its hooks.

use super::settings::{KNOWN, Runs, runs};
use crate::Cause;
use crate::shell::{MAX_SOURCE, Output, ReadError, Shell};

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

/// Longest file of settings, in bytes, and the deepest chain of files that include each other.
const LONGEST: usize = 256 * 1024;
const DEEPEST: usize = 4;

impl Shell<'_> {
    /// Interprets the programs that a subcommand runs by the settings of the repository and by its hooks.
    pub(super) fn stored_programs(&mut self, command: &str) {
        if ALONE.contains(&command) || self.via.iter().any(|outer| outer == "git") {
            return;
        }
        let Some(root) = self.repository() else { return };
        self.via.push("git".to_owned());
        let mut folders = vec![format!("{root}/.git/hooks"), format!("{root}/.husky")];
        for (key, value) in self.repository_settings(&root) {
            if key == "core.worktree" && value.starts_with(['/', '~']) {
                self.surely_unknown(Cause::Arguments, &format!("git works in {value}"), "git");
            } else if key == "core.hookspath" {
                folders.push(self.relative_to(&root, &value));
            } else if !key.starts_with("alias.") && runs(&key, &value) == Runs::Program {
                self.stored_program(&key, &value);
            }
        }
        let hooks = HOOKS.iter().filter(|(commands, _)| commands.contains(&command)).flat_map(|(_, hooks)| *hooks);
        for hook in hooks {
            for folder in &folders {
                let path = self.path(&format!("{folder}/{hook}"));
                self.load_path("git", "bash", &path);
            }
        }
        self.via.pop();
    }

    /// What a subcommand that git does not have means by the settings of the repository or of the user: the words of a
    /// command line, or a command line of a shell after `!`.
    pub(super) fn stored_alias(&mut self, command: &str) -> Option<String> {
        let row = crate::table::Table::shipped().row("git")?;
        if row.sub(command).is_some() || self.via.iter().any(|outer| outer == "git alias") {
            return None;
        }
        let mut all = self.settings_at(&format!("{}/.gitconfig", self.state.home), 0);
        all.extend(self.repository().map(|root| self.repository_settings(&root)).unwrap_or_default());
        let key = format!("alias.{}", command.to_ascii_lowercase());
        // the last one counts
        all.into_iter().rfind(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn repository_settings(&mut self, root: &str) -> Vec<(String, String)> {
        let files = ["config", "config.worktree"].map(|name| format!("{root}/.git/{name}"));
        files.iter().flat_map(|file| self.settings_at(file, 0)).collect()
    }

    /// The settings of a file and of those that it includes. Reports a file that is there but cannot be read.
    fn settings_at(&mut self, file: &str, depth: usize) -> Vec<(String, String)> {
        let path = self.path(file);
        // what the action itself changes in it is judged where it does so
        let before = || Ok(vec![self.around.script(&path, MAX_SOURCE)?]);
        let contents = match self.read_contents(&path) {
            Err(ReadError::Changed | ReadError::Brought) => before(),
            contents => contents,
        };
        if contents.as_ref().is_err_and(ReadError::is_missing) {
            return Vec::new();
        }
        let contents = contents.unwrap_or_default();
        if contents.is_empty() || contents.iter().any(|content| content.len() > LONGEST) || depth > DEEPEST {
            self.surely_unknown(Cause::Script, &format!("the settings in {path}"), "git");
        }
        let short = contents.iter().filter(|content| content.len() <= LONGEST);
        let texts: Vec<String> = short.map(|content| String::from_utf8_lossy(content).into_owned()).collect();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let mut all = Vec::new();
        for (key, value) in texts.iter().flat_map(|text| settings(text)) {
            let includes = key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path");
            if includes && depth <= DEEPEST {
                let file = self.relative_to(&folder, &value);
                all.extend(self.settings_at(&file, depth + 1));
            } else {
                all.push((key, value));
            }
        }
        all
    }

    /// A path of a setting: absolute, in the home, or relative to a folder.
    fn relative_to(&self, folder: &str, path: &str) -> String {
        match path.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.state.home),
            None if path.starts_with('/') => path.to_owned(),
            None => format!("{folder}/{path}"),
        }
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
