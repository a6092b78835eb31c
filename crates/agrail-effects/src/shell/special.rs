//! Commands with their own small language: wrappers that run other commands, and builtins that change the shell.

use super::text::decode_hex;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::table::{Options, Table};
use crate::{Cause, Verb};

/// If a `sleep` keeps a lock for longer than this (in seconds), the lock blocks other programs.
const LONG_LOCK: f64 = 300.0;

impl Shell<'_> {
    /// Interprets a command with a `special` entry in its row. `None`: the row's own roles apply.
    pub(crate) fn special(&mut self, special: &str, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        Some(match special {
            "sudo" => self.sudo(program, words, stdin),
            "su" => self.su(words, stdin),
            "env" => self.env(program, words, stdin),
            "sh" => self.sh(program, words, stdin),
            "eval" => {
                let text = words.join(" ");
                self.nested("eval", &text, stdin.clone())
            }
            "source" => match words.split_first() {
                Some((file, rest)) => self.run_file(file, rest, Some("source")),
                None => Output::default(),
            },
            "exec" => match words.iter().enumerate().position(|(at, w)| {
                let named = at.checked_sub(1).and_then(|before| words.get(before));
                !w.starts_with('-') && named.is_none_or(|option| !option.starts_with('-') || !option.ends_with('a'))
            }) {
                Some(at) => self.wrapped(program, words.get(at..).unwrap_or_default(), stdin.clone()),
                None => Output::default(),
            },
            "command" if words.first().is_some_and(|w| w == "-v" || w == "-V") => Output::default(),
            "command" => self.command_builtin(words, stdin),
            "xargs" => self.xargs(program, words, stdin),
            "find" => self.find(words),
            "cd" => self.cd(words),
            "export" => {
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
            "alias" => {
                for word in words {
                    if let Some((name, value)) = word.split_once('=') {
                        self.aliases.insert(name.to_owned(), value.to_owned());
                    }
                }
                Output::default()
            }
            "set" => {
                self.exports_functions |=
                    words.iter().any(|w| w == "allexport" || (w.starts_with('-') && w.contains('a')));
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
            "trap" => {
                if let Some(action) = words.iter().find(|w| !w.starts_with('-')).filter(|_| words.len() > 1) {
                    self.nested("trap", action, Output::default());
                }
                Output::default()
            }
            "echo" => self.echo(program, words),
            "base64" if words.iter().any(|w| matches!(w.as_str(), "-d" | "-D" | "--decode" | "-di" | "-id")) => {
                self.base64(words, stdin)
            }
            "xxd" if words.iter().any(|w| w.starts_with("-r") || w == "-p") && stdin.text.is_some() => {
                decode_hex(stdin)
            }
            "rev" => {
                for file in words.iter().filter(|word| !word.starts_with('-')) {
                    let effect = self.at(Verb::Read, file, program);
                    self.add(effect);
                }
                if words.iter().any(|word| !word.starts_with('-')) {
                    return Some(Output::default());
                }
                Output {
                    text: stdin
                        .text
                        .as_ref()
                        .map(|t| t.lines().map(|l| l.chars().rev().collect::<String>() + "\n").collect()),
                    decoded: true,
                    ..stdin.clone()
                }
            }
            "tr" => self.tr(words, stdin),
            "flock" => self.flock(words, stdin),
            "ssh" => self.ssh(words, stdin),
            "make" => self.make(program, words, stdin),
            "read" => self.read_into(program, words),
            "shell-state" => self.change_shell(program, words),
            "watch" => self.watch(program, words, stdin),
            "rimraf" => {
                let options = words.iter().filter(|w| w.starts_with('-')).count();
                // the value of an option is taken for a path, which is only stricter
                let rm = ["rm", "-rf", "--"].iter().map(|word| (*word).to_owned());
                let all: Vec<String> = rm.chain(words.iter().filter(|w| !w.starts_with('-')).cloned()).collect();
                return (options < words.len()).then(|| self.wrapped(program, &all, stdin.clone()));
            }
            // a status query changes nothing
            "service" if matches!(words, [_, asked] if asked == "status") => Output::default(),
            "service" => return None,
            "git" => return self.git(program, words, stdin),
            "package-scripts" => {
                // if no script runs, the row applies
                return self.package_scripts(program, words).then(Output::default);
            }
            "interpreter" => return self.interpreter(program, words, stdin),
            _ => return None,
        })
    }

    /// The options that a wrapper gives itself, by its row.
    pub(crate) fn options(program: &str, words: &[String]) -> Options {
        Table::shipped().row(program).map(|row| row.options(words)).unwrap_or_default()
    }

    fn sudo(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let mut index = 0;
        let mut user = "root".to_owned();
        let (mut shell, mut login, mut elsewhere) = (false, false, None);
        loop {
            let options = Self::options(program, words.get(index..).unwrap_or_default());
            index += options.used;
            if options.has(&["--edit"]) {
                return self.edited(program, words.get(index..).unwrap_or_default());
            }
            if options.has(&["--list", "--validate", "--version", "-K", "--remove-timestamp"]) {
                return Output::default();
            }
            login |= options.has(&["-i", "--login"]);
            shell |= login || options.has(&["--shell"]);
            if let Some(name) = options.value(&["--user"]) {
                name.clone_into(&mut user);
            }
            elsewhere = options.value(&["-D", "--chdir"]).map(str::to_owned).or(elsewhere);
            let assigned = words.get(index).filter(|_| !options.ended).and_then(|word| word.split_once('='));
            let Some((name, value)) = assigned.filter(|(name, _)| !name.contains('/')) else { break };
            self.assign(name, vec![value.to_owned()]);
            index += 1;
        }
        let rest = words.get(index..).unwrap_or_default();
        let saved = self.privileged;
        self.privileged = user == "root" || user == "#0" || user.contains(UNKNOWN_SPAN) || saved;
        let output = if rest.is_empty() {
            if shell {
                self.named(Verb::Privilege, &format!("a shell as {user}"), program);
            }
            Output::default()
        } else {
            let cwd = self.cwd.clone();
            if login {
                self.cwd = self.home_of(&user);
            }
            if let Some(folder) = elsewhere {
                self.cd(&[folder]);
            }
            let output = self.wrapped(program, rest, stdin.clone());
            self.cwd = cwd;
            output
        };
        self.privileged = saved;
        output
    }

    /// `sudo -e FILE...`
    fn edited(&mut self, program: &str, files: &[String]) -> Output {
        for file in files {
            let mut effect = self.at(Verb::Write, file, program);
            effect.privileged = true;
            self.add(effect);
        }
        Output::default()
    }

    fn su(&mut self, words: &[String], stdin: &Output) -> Output {
        let (options, operands) = Self::permuted("su", words);
        let (mut login, mut operands) = (options.has(&["-i", "--login"]), operands.as_slice());
        if let [first, rest @ ..] = operands
            && first == "-"
        {
            (login, operands) = (true, rest);
        }
        let (user, arguments) = operands.split_first().map_or(("root", operands), |(user, rest)| (user.as_str(), rest));
        let (saved, cwd) = (self.privileged, self.cwd.clone());
        self.privileged = saved || user == "root" || user.contains(UNKNOWN_SPAN);
        if login {
            self.cwd = self.home_of(user);
        }
        let output = match options.value(&["--command", "--session-command"]) {
            Some(text) => self.child("su -c", |shell| shell.nested("su -c", text, stdin.clone())),
            // what follows the account is the shell's
            None if !arguments.is_empty() => self.child("su", |shell| shell.sh("sh", arguments, stdin)),
            None => {
                self.named(Verb::Privilege, &format!("a shell as {user}"), "su");
                Output::default()
            }
        };
        (self.privileged, self.cwd) = (saved, cwd);
        output
    }

    /// The options of a program that reads options after operands, too, and the operands.
    fn permuted(program: &str, words: &[String]) -> (Options, Vec<String>) {
        let (mut all, mut operands) = (Options::default(), Vec::new());
        while !all.ended && all.used < words.len() {
            let found = Self::options(program, words.get(all.used..).unwrap_or_default());
            all.used += found.used;
            all.ended = found.ended;
            all.given.extend(found.given);
            if let Some(word) = words.get(all.used).filter(|_| !all.ended) {
                operands.push(word.clone());
                all.used += 1;
            }
        }
        operands.extend(words.get(all.used..).unwrap_or_default().iter().cloned());
        (all, operands)
    }

    /// The home folder in which a login of this account starts; `None` if it is unknown.
    fn home_of(&self, user: &str) -> Option<String> {
        match user {
            "root" => Some("/root".to_owned()),
            own if own == self.user => Some(self.home.clone()),
            _ => None,
        }
    }

    fn env(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let (saved, cwd, home) = (self.variables.clone(), self.cwd.clone(), self.home.clone());
        let mut index = 0;
        let mut output = None;
        loop {
            let options = Self::options("env", words.get(index..).unwrap_or_default());
            index += options.used;
            if let Some(folder) = options.value(&["--chdir"]) {
                self.cd(&[folder.to_owned()]);
            }
            if let Some(text) = options.value(&["--split-string"]) {
                let rest = words.get(index..).unwrap_or_default();
                let text = [&[text.to_owned()], rest].concat().join(" ");
                output = Some(self.child("env -S", |shell| shell.nested("env -S", &text, stdin.clone())));
                break;
            }
            let Some(word) = words.get(index).filter(|word| *word == "-" || word.contains('=')) else { break };
            if let Some((name, value)) = word.split_once('=') {
                if name.starts_with("BASH_FUNC_") {
                    self.unknown(Cause::Dynamic, "a function is handed on to another shell", program);
                }
                self.assign(name, vec![value.to_owned()]);
            }
            index += 1;
        }
        let output = match (output, words.get(index..).filter(|rest| !rest.is_empty())) {
            (Some(output), _) => output,
            (None, Some(rest)) => self.wrapped(program, rest, stdin.clone()),
            (None, None) => Output::default(),
        };
        (self.variables, self.cwd, self.home) = (saved, cwd, home);
        output
    }

    fn command_builtin(&mut self, words: &[String], stdin: &Output) -> Output {
        let rest: Vec<String> = words.iter().skip_while(|w| w.starts_with('-')).cloned().collect();
        self.wrapped("command", &rest, stdin.clone())
    }

    fn sh(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let mut index = 0;
        let (mut command, mut reads) = (false, false);
        while let Some(word) = words.get(index) {
            if let Some(letters) = word.strip_prefix(['-', '+']).filter(|l| !l.starts_with('-') && !l.is_empty()) {
                command |= letters.contains('c');
                reads |= word.starts_with('-') && letters.contains('s') && !letters.contains('c');
                if letters.ends_with(['o', 'O']) {
                    index += 1;
                }
            } else if matches!(word.as_str(), "--rcfile" | "--init-file") {
                index += 1;
                if let Some(file) = words.get(index).cloned() {
                    self.run_file(&file, &[], Some("bash"));
                }
            } else if word == "-" || !word.starts_with('-') {
                break;
            }
            index += 1;
        }
        match words.get(index).cloned() {
            Some(text) if command => {
                let arguments =
                    std::mem::replace(&mut self.arguments, words.get(index + 2..).unwrap_or_default().to_vec());
                let zero = words.get(index + 1).cloned();
                let before = zero.map(|z| self.variables.insert("0".to_owned(), vec![z]));
                let output = if text.trim() == UNKNOWN_SPAN.to_string() {
                    self.unknown(Cause::Dynamic, "what it runs is not constant", program);
                    Output::default()
                } else {
                    let how = format!("{program} -c");
                    self.child(&how, |shell| shell.nested(&how, &text, stdin.clone()))
                };
                if let Some(before) = before {
                    match before {
                        Some(old) => self.variables.insert("0".to_owned(), old),
                        None => self.variables.remove("0"),
                    };
                }
                self.arguments = arguments;
                output
            }
            Some(_) if reads => {
                self.run_input("bash", program, stdin);
                Output::default()
            }
            Some(file) if file == "-" => {
                self.run_input("bash", program, stdin);
                Output::default()
            }
            Some(file) => self.run_file(&file, words.get(index + 1..).unwrap_or_default(), Some("bash")),
            None if words.iter().any(|w| w == "--version" || w == "--help") => Output::default(),
            None => {
                if stdin.piped {
                    self.run_input("bash", program, stdin);
                } else {
                    self.waits(program, stdin);
                }
                Output::default()
            }
        }
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

    /// A lock that a long command keeps blocks other programs.
    fn flock(&mut self, words: &[String], stdin: &Output) -> Output {
        let options = Self::options("flock", words);
        let index = options.used;
        let exclusive = !options.has(&["--shared", "--unlock"]);
        let Some(file) = words.get(index).cloned() else { return Output::default() };
        let mut rest = words.get(index + 1..).unwrap_or_default().to_vec();
        if rest.first().is_some_and(|w| w == "-c" || w == "--command") {
            let text = rest.get(1).cloned().unwrap_or_default();
            rest = vec!["sh".to_owned(), "-c".to_owned(), text];
        }
        if rest.is_empty() {
            return Output::default();
        }
        let held = longest_sleep(&rest);
        if exclusive && held.is_none_or(|s| s >= LONG_LOCK) {
            let mut effect = self.at(Verb::Limit, &file, "flock");
            "lock".clone_into(&mut effect.operation);
            effect.detail = held.map_or_else(|| "for ever".to_owned(), |s| format!("{s} s"));
            self.add(effect);
        } else {
            let mut effect = self.at(Verb::Create, &file, "flock");
            effect.keep = true;
            self.add(effect);
        }
        self.wrapped("flock", &rest, stdin.clone())
    }
}

/// The longest constant `sleep` in seconds; `None` if another command may never end (tail -f, cat, sleep infinity).
fn longest_sleep(words: &[String]) -> Option<f64> {
    let text = words.join(" ");
    let mut longest = 0.0_f64;
    let mut parts = text.split_whitespace().peekable();
    while let Some(word) = parts.next() {
        if word.ends_with("sleep") {
            let amount = parts.peek().copied().unwrap_or_default().trim_end_matches([';', '\'', '"', ')']);
            let (number, unit) = match amount.strip_suffix(['s', 'm', 'h', 'd']) {
                Some(number) => (number, amount.chars().next_back()),
                None => (amount, None),
            };
            let factor = match unit {
                Some('m') => 60.0,
                Some('h') => 3600.0,
                Some('d') => 86_400.0,
                _ => 1.0,
            };
            longest = longest.max(number.parse::<f64>().ok()? * factor);
        } else if matches!(word, "read" | "yes" | "infinity") {
            return None;
        }
    }
    Some(longest)
}
