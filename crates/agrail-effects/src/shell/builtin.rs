//! Builtins that change the meaning of later words: variables, arguments, the working directory.

use super::{Output, Shell, UNKNOWN_SPAN};

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
                    Some(folder) => {
                        return self
                            .special("cd", "cd", std::slice::from_ref(folder), &Output::default())
                            .unwrap_or_default();
                    }
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

    /// `watch` joins its words and runs them in a shell, again and again.
    pub(crate) fn watch(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let options = Self::options("watch", words);
        let (index, exact) = (options.used, options.has(&["-x", "--exec"]));
        let rest = words.get(index..).unwrap_or_default();
        match (rest.is_empty(), exact) {
            (true, _) => Output::default(),
            (false, true) => self.wrapped(program, rest, stdin.clone()),
            (false, false) => self.child(program, |shell| shell.nested(program, &rest.join(" "), stdin.clone())),
        }
    }
}
