//! Builtins that change the meaning of later words: variables, arguments, the working directory.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::table::Given;
use crate::{Target, Verb};

impl Shell<'_> {
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
                    self.state.functions.remove(word);
                    self.assign(word, vec![String::new()]);
                }
            }
            "shift" => {
                let count = words.first().map_or(Some(1), |word| word.parse::<usize>().ok());
                self.state.arguments = match (self.state.arguments.take(), count) {
                    // one that is too large fails, and changes nothing
                    (Some(all), Some(count)) => Some(all.get(count..).map_or_else(|| all.clone(), <[String]>::to_vec)),
                    _ => None,
                };
            }
            "pushd" => {
                let known = words.iter().find(|w| !w.starts_with(['-', '+']));
                let before = self.state.cwd.clone();
                match known {
                    Some(folder) => {
                        self.state.stack.push(before);
                        return self.cd(std::slice::from_ref(folder));
                    }
                    None => self.forget_folder(),
                }
            }
            // popd
            _ if words.is_empty() && self.state.cwd.as_deref() != Some("") => {
                self.state.cwd = self.state.stack.pop().flatten();
            }
            _ => self.forget_folder(),
        }
        Output::default()
    }

    fn forget_folder(&mut self) {
        self.state.stack.clear();
        if self.state.cwd.as_deref() != Some("") {
            self.state.cwd = None;
        }
    }

    pub(super) fn alias(&mut self, program: &str, words: &[String]) -> Output {
        for word in words.get(self.options(program, words).used..).unwrap_or_default() {
            if let Some((name, value)) = word.split_once('=') {
                self.state.aliases.insert(name.to_owned(), value.to_owned());
            }
        }
        Output::default()
    }

    /// `command PROGRAM...`; `-v` and `-V` only look the program up.
    pub(super) fn command_builtin(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let options = self.options(program, words);
        if options.has(&["-v", "-V"]) {
            return Output::default();
        }
        self.wrapped("command", words.get(options.used..).unwrap_or_default(), stdin.clone())
    }

    pub(super) fn exec(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        match words.get(self.options(program, words).used..) {
            Some(rest) if !rest.is_empty() => self.wrapped(program, rest, stdin.clone()),
            _ => Output::default(),
        }
    }

    /// `export` with words that the parser does not take for a declaration.
    pub(super) fn export_words(&mut self, program: &str, words: &[String]) -> Output {
        let (options, operands) = self.permuted(program, words);
        self.state.exports_functions |= options.has(&["-f"]);
        for word in &operands {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
            self.export(name, !options.has(&["-n"]));
            if let Some(value) = value {
                self.assign(name, vec![value.to_owned()]);
            }
        }
        if operands.is_empty() { Output::default() } else { Output::silent() }
    }

    pub(super) fn set(&mut self, words: &[String]) -> Output {
        let options = self.options("set", words);
        let all = |given: &Given| given.name == "-a" || given.value.as_deref() == Some("allexport");
        self.state.exports_functions |= options.given.iter().any(all);
        let fails = |given: &Given| given.name == "-e" || given.value.as_deref() == Some("errexit");
        self.state.ends_on_failure |= options.given.iter().any(fails);
        self.state.ends_on_failure &= !words.iter().any(|word| word.starts_with('+') && word.contains(['e', 'o']));
        let rest = words.get(options.used..).unwrap_or_default();
        // a single dash ends the options, too
        let operands = if options.ended { rest } else { rest.strip_prefix(&["-".to_owned()]).unwrap_or(rest) };
        if options.ended || !operands.is_empty() {
            self.state.arguments = Some(operands.to_vec());
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

    /// `trap ACTION SIGNAL...`; a dash restores the default.
    pub(super) fn trap(&mut self, words: &[String]) -> Output {
        let options = self.options("trap", words);
        if let Some([action, _, ..]) = words.get(options.used..)
            && !options.has(&["-l", "-p", "-P"])
            && action != "-"
        {
            self.nested("trap", action, Output::default());
        }
        Output::default()
    }

    /// `cd [FOLDER]`: entering the folder is an effect.
    pub(crate) fn cd(&mut self, words: &[String]) -> Output {
        let target = words.get(self.options("cd", words).used).cloned();
        if let Some(folder) = target.as_deref().filter(|folder| !matches!(*folder, "-" | "." | "..")) {
            let mut effect = self.at(Verb::List, folder, "cd");
            "enter".clone_into(&mut effect.operation);
            let here = self.state.cwd.as_deref().filter(|cwd| !cwd.is_empty());
            let within = |cwd: &str| {
                effect.target.name().strip_prefix(cwd).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if !here.is_some_and(within) {
                self.add(effect);
            }
        }
        let target = target.unwrap_or_else(|| self.state.home.clone());
        self.enter(&target);
        // with `-` or CDPATH, cd prints the new folder
        let path = self.state.variables.get("CDPATH").is_some_and(|path| path.iter().any(|p| !p.is_empty()));
        if path && !target.starts_with(['/', '.']) {
            self.state.cwd = None;
            return Output::default();
        }
        if target == "-" {
            return Output::default();
        }
        Output::silent()
    }

    /// Whether the last that this action did to a folder, or to one above it, was to delete or move it.
    pub(super) fn is_gone(&self, path: &str) -> bool {
        let covers = |target: &str| {
            let target = target.trim_end_matches('/');
            path.strip_prefix(target).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // what is written below a folder that is gone fails, unless its folders are made, too
        let made = |target: &str, program: &str| {
            target == path || program == "mkdir" && target.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        let last = self.reading.effects.iter().rev().find_map(|effect| {
            let Target::Path(target) = &effect.target else { return None };
            match effect.verb {
                Verb::Delete | Verb::Move if covers(target) => Some(true),
                Verb::Create | Verb::Overwrite | Verb::Link | Verb::Write if made(target, &effect.program) => {
                    Some(false)
                }
                _ => None,
            }
        });
        last.unwrap_or(false)
    }

    /// Makes a folder the working folder of a program that an option sends there.
    pub(super) fn work_in(&mut self, folder: &str) {
        if self.state.cwd.as_deref() != Some("") || folder.starts_with('/') {
            self.state.cwd = Some(self.path(folder));
        }
    }

    /// Makes a folder the working folder.
    pub(super) fn enter(&mut self, target: &str) {
        if target == "-" {
            self.state.cwd = None;
        } else if self.state.cwd.as_deref() != Some("") {
            let path = self.path(target);
            // `cd` to a missing folder fails, and the following commands run in the previous folder
            let changed =
                self.reading.effects.iter().any(|e| !matches!(e.verb, Verb::Read | Verb::List | Verb::Variable));
            let missing = !path.contains(UNKNOWN_SPAN) && self.around.folder(&path) == Some(false);
            let gone = self.is_gone(&path);
            if missing && !changed && !gone {
                return self.step(|| format!("cd fails: there is no folder {path}"));
            }
            // something before may have made the folder, or deleted it
            let fails =
                (gone || missing && !self.is_made(&path)) && !(self.state.ends_on_failure && self.tolerant == 0);
            let before = self.state.cwd.replace(path);
            if fails {
                self.state.elsewhere =
                    before.into_iter().filter(|before| self.state.cwd.as_ref() != Some(before)).collect();
            }
        } else if target.starts_with('/') {
            self.state.cwd = Some(super::tidy(target));
        }
    }
}
