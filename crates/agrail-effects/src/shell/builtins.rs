//! Builtins that change the meaning of later words: variables, arguments, the working directory.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Verb;

impl Shell<'_> {
    /// `read`, `mapfile`, `getopts`: they set variables to values from outside the script.
    pub(crate) fn read_into(&mut self, program: &str, words: &[String]) -> Output {
        let takes = match program {
            "read" => ["-d", "-i", "-n", "-N", "-p", "-t", "-u"].as_slice(),
            "mapfile" | "readarray" => ["-d", "-n", "-O", "-s", "-u", "-C", "-c"].as_slice(),
            _ => [].as_slice(),
        };
        let mut names = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if word == "-C"
                && let Some(callback) = rest.as_slice().first().cloned()
            {
                self.nested("mapfile -C", &callback, Output::default());
            }
            if takes.contains(&word.as_str()) {
                rest.next();
            } else if !word.starts_with('-') {
                names.push(word.clone());
            }
        }
        match program {
            "getopts" => names = vec![names.get(1).cloned().unwrap_or_default(), "OPTARG".to_owned()],
            "read" if names.is_empty() => names.push("REPLY".to_owned()),
            "mapfile" | "readarray" if names.is_empty() => names.push("MAPFILE".to_owned()),
            _ => {}
        }
        for name in names {
            self.assign(&name, vec![UNKNOWN_SPAN.to_string()]);
        }
        Output::silent()
    }

    /// `let a=1`, `unset a`, `shift`, `pushd`, `popd`.
    pub(crate) fn change_shell(&mut self, program: &str, words: &[String]) -> Output {
        match program {
            "let" => {
                for word in words {
                    let name: String = word.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    self.assign(&name, vec![UNKNOWN_SPAN.to_string()]);
                }
            }
            "unset" => {
                for word in words {
                    self.functions.remove(word);
                    self.assign(word, vec![String::new()]);
                }
            }
            "shift" => {
                let count = words.first().map_or(1, |w| w.parse().unwrap_or(usize::MAX));
                let from = count.min(self.arguments.len());
                self.arguments.drain(..from);
            }
            "pushd" => {
                let known = words.iter().find(|w| !w.starts_with(['-', '+']));
                match known {
                    Some(folder) => return self.cd(std::slice::from_ref(folder)),
                    None => self.forget_folder(),
                }
            }
            _ => self.forget_folder(),
        }
        Output::default()
    }

    fn forget_folder(&mut self) {
        if self.cwd.as_deref() != Some("") {
            self.cwd = None;
        }
    }

    pub(super) fn alias(&mut self, words: &[String]) -> Output {
        for word in words {
            if let Some((name, value)) = word.split_once('=') {
                self.aliases.insert(name.to_owned(), value.to_owned());
            }
        }
        Output::default()
    }

    /// `command PROGRAM...`; `-v` and `-V` only look the program up.
    pub(super) fn command_builtin(&mut self, words: &[String], stdin: &Output) -> Output {
        if words.first().is_some_and(|w| w == "-v" || w == "-V") {
            return Output::default();
        }
        let rest: Vec<String> = words.iter().skip_while(|w| w.starts_with('-')).cloned().collect();
        self.wrapped("command", &rest, stdin.clone())
    }

    pub(super) fn exec(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        match words.iter().enumerate().position(|(at, w)| {
            let named = at.checked_sub(1).and_then(|before| words.get(before));
            !w.starts_with('-') && named.is_none_or(|option| !option.starts_with('-') || !option.ends_with('a'))
        }) {
            Some(at) => self.wrapped(program, words.get(at..).unwrap_or_default(), stdin.clone()),
            None => Output::default(),
        }
    }

    /// `export` with words that the parser does not take for a declaration.
    pub(super) fn export_words(&mut self, words: &[String]) -> Output {
        let options: String = words.iter().filter(|w| w.starts_with('-')).map(String::as_str).collect();
        self.exports_functions |= options.contains('f');
        for word in words.iter().filter(|w| !w.starts_with('-')) {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
            self.export(name, !options.contains('n'));
            if let Some(value) = value {
                self.assign(name, vec![value.to_owned()]);
            }
        }
        if words.iter().any(|w| !w.starts_with('-')) { Output::silent() } else { Output::default() }
    }

    pub(super) fn set(&mut self, words: &[String]) -> Output {
        self.exports_functions |= words.iter().any(|w| w == "allexport" || (w.starts_with('-') && w.contains('a')));
        let first = words.iter().position(|w| w == "--").map(|at| at + 1);
        let plain = |(at, w): (usize, &String)| {
            let named = at.checked_sub(1).and_then(|before| words.get(before));
            !w.starts_with(['-', '+']) && named.is_none_or(|option| option != "-o" && option != "+o")
        };
        if let Some(at) = first.or_else(|| words.iter().enumerate().position(plain)) {
            self.arguments = words.get(at..).unwrap_or_default().to_vec();
        }
        if words.is_empty() { Output::default() } else { Output::silent() }
    }

    /// `source FILE ARGUMENT...`
    pub(super) fn source_file(&mut self, words: &[String]) -> Output {
        match words.split_first() {
            Some((file, rest)) => self.run_file(file, rest, Some("source")),
            None => Output::default(),
        }
    }

    pub(super) fn trap(&mut self, words: &[String]) -> Output {
        if let Some(action) = words.iter().find(|w| !w.starts_with('-')).filter(|_| words.len() > 1) {
            self.nested("trap", action, Output::default());
        }
        Output::default()
    }

    pub(crate) fn cd(&mut self, words: &[String]) -> Output {
        let target =
            words.iter().find(|w| !w.starts_with('-') || *w == "-").cloned().unwrap_or_else(|| self.home.clone());
        if target == "-" {
            self.cwd = None;
        } else if self.cwd.as_deref() != Some("") {
            let path = self.path(&target);
            // `cd` to a missing folder fails, and the following commands run in the previous folder
            let changed =
                self.reading.effects.iter().any(|e| !matches!(e.verb, Verb::Read | Verb::List | Verb::Variable));
            if changed || path.contains(UNKNOWN_SPAN) || self.around.folder(&path) != Some(false) {
                self.cwd = Some(path);
            } else {
                self.step(|| format!("cd fails: there is no folder {path}"));
            }
        } else if target.starts_with('/') {
            self.cwd = Some(super::tidy(&target));
        }
        // with `-` or CDPATH, cd prints the new folder
        let path = self.variables.get("CDPATH").is_some_and(|path| path.iter().any(|p| !p.is_empty()));
        if path && !target.starts_with(['/', '.']) {
            self.cwd = None;
            return Output::default();
        }
        if target == "-" {
            return Output::default();
        }
        Output::silent()
    }
}
