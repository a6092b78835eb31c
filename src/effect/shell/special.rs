//! Commands with a small language of their own: what runs other commands, and what changes the shell.

use super::text::decode_hex;
use super::{HOLE, Output, Shell};
use crate::effect::{Cause, Verb};

/// `sleep` under a lock for longer than this holds it against others, seconds.
const LONG_LOCK: f64 = 300.0;

impl Shell<'_> {
    /// Interprets a command of the special list. `None`: the row's own roles apply.
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
                    self.hand_on(name, !options.contains('n'));
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
                // an option may have a value, which is then taken for a path: that is only stricter
                let rm = ["rm", "-rf", "--"].iter().map(|word| (*word).to_owned());
                let all: Vec<String> = rm.chain(words.iter().filter(|w| !w.starts_with('-')).cloned()).collect();
                return (options < words.len()).then(|| self.wrapped(program, &all, stdin.clone()));
            }
            // to ask how it is changes nothing
            "service" if matches!(words, [_, asked] if asked == "status") => Output::default(),
            "service" => return None,
            "git" => return self.git(program, words, stdin),
            "package-scripts" => {
                // what is no script is what the row says
                return self.package_scripts(program, words).then(Output::default);
            }
            "interpreter" => return self.interpreter(program, words, stdin),
            _ => return None,
        })
    }

    fn sudo(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let takes = [
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group", "--host",
            "--prompt", "--chdir", "--chroot",
        ];
        let mut index = 0;
        let mut user = "root".to_owned();
        let (mut shell, mut elsewhere) = (false, None);
        while let Some(word) = words.get(index) {
            if word == "--" {
                index += 1;
                break;
            }
            if let Some((name, value)) = word.split_once('=').filter(|(n, _)| !n.starts_with('-') && !n.contains('/')) {
                self.assign(name, vec![value.to_owned()]);
            } else if takes.contains(&word.as_str()) {
                if word == "-u" || word == "--user" {
                    user = words.get(index + 1).cloned().unwrap_or_default();
                }
                if word == "-D" || word == "--chdir" {
                    elsewhere = words.get(index + 1).cloned();
                }
                index += 1;
            } else if word.starts_with('-') {
                shell |= matches!(word.as_str(), "-i" | "-s" | "--login" | "--shell");
                if let Some(name) = word.strip_prefix("--user=") {
                    name.clone_into(&mut user);
                }
                if matches!(word.as_str(), "-e" | "--edit") {
                    for file in words.get(index + 1..).unwrap_or_default() {
                        let mut effect = self.at(Verb::Write, file, program);
                        effect.privileged = true;
                        self.add(effect);
                    }
                    return Output::default();
                }
                if matches!(word.as_str(), "-l" | "-v" | "-K" | "-V" | "--list" | "--validate") {
                    return Output::default();
                }
                let value = word.strip_prefix("--chdir=").or_else(|| word.strip_prefix("-D").filter(|v| !v.is_empty()));
                elsewhere = value.map(str::to_owned).or(elsewhere);
            } else {
                break;
            }
            index += 1;
        }
        let rest = words.get(index..).unwrap_or_default();
        let saved = self.privileged;
        self.privileged = user == "root" || user == "#0" || user.contains(HOLE) || saved;
        let output = if rest.is_empty() {
            if shell {
                self.named(Verb::Privilege, &format!("a shell as {user}"), program);
            }
            Output::default()
        } else {
            let cwd = self.cwd.clone();
            if shell && words.iter().any(|word| word.starts_with("-i") || word == "--login") {
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

    fn su(&mut self, words: &[String], stdin: &Output) -> Output {
        let mut user = "root".to_owned();
        let mut command = None;
        let mut login = false;
        let mut index = 0;
        while let Some(word) = words.get(index) {
            match word.as_str() {
                "-c" | "--command" => {
                    index += 1;
                    command = words.get(index).cloned();
                }
                "-s" | "-g" | "-G" | "--shell" | "--group" => index += 1,
                "-" | "-l" | "--login" => login = true,
                "-m" | "-p" => {}
                other if other.starts_with("--command=") => {
                    command = other.strip_prefix("--command=").map(str::to_owned)
                }
                other if !other.starts_with('-') => other.clone_into(&mut user),
                _ => {}
            }
            index += 1;
        }
        let (saved, cwd) = (self.privileged, self.cwd.clone());
        self.privileged = saved || user == "root";
        if login {
            self.cwd = self.home_of(&user);
        }
        let output = match command {
            Some(text) => self.child("su -c", |shell| shell.nested("su -c", &text, stdin.clone())),
            None => {
                self.named(Verb::Privilege, &format!("a shell as {user}"), "su");
                Output::default()
            }
        };
        (self.privileged, self.cwd) = (saved, cwd);
        output
    }

    /// Where a login of this account begins.
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
        while let Some(word) = words.get(index) {
            let next = words.get(index + 1).cloned().unwrap_or_default();
            if let Some((name, value)) = word.split_once('=').filter(|(n, _)| !n.starts_with('-')) {
                if name.starts_with("BASH_FUNC_") {
                    self.unknown(Cause::Dynamic, "a function is handed on to another shell", program);
                }
                self.assign(name, vec![value.to_owned()]);
            } else if !word.starts_with('-') || word == "-" {
                if word != "-" {
                    break;
                }
            } else if let Some((letter, value)) = option_with_value(word) {
                let rest = words.get(index + 1..).unwrap_or_default();
                match (letter, value) {
                    ('S', value) => {
                        let text = [&[value.unwrap_or_default().to_owned()], rest].concat().join(" ");
                        output = Some(self.child("env -S", |shell| shell.nested("env -S", &text, stdin.clone())));
                        break;
                    }
                    ('C', Some(folder)) => drop(self.cd(&[folder.to_owned()])),
                    ('C', None) => {
                        self.cd(&[next]);
                        index += 1;
                    }
                    (_, None) => index += 1,
                    _ => {}
                }
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
                let output = if text.trim() == HOLE.to_string() {
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
            // `cd` into what is not there fails, and what follows runs where the shell was before
            let changed =
                self.reading.effects.iter().any(|e| !matches!(e.verb, Verb::Read | Verb::List | Verb::Variable));
            if changed || path.contains(HOLE) || self.around.folder(&path) != Some(false) {
                self.cwd = Some(path);
            } else {
                self.step(|| format!("cd fails: there is no folder {path}"));
            }
        } else if target.starts_with('/') {
            self.cwd = Some(super::tidy(&target));
        }
        // with `-`, or with CDPATH, it prints where it went
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

    /// A lock that a long command holds keeps others out.
    fn flock(&mut self, words: &[String], stdin: &Output) -> Output {
        let mut index = 0;
        let mut exclusive = true;
        while let Some(word) = words.get(index).filter(|w| w.starts_with('-')) {
            exclusive &= !matches!(word.as_str(), "-s" | "--shared" | "-u" | "--unlock");
            if matches!(word.as_str(), "-w" | "-E" | "--timeout" | "--wait" | "--conflict-exit-code") {
                index += 1;
            }
            index += 1;
        }
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

/// The option of `env` in a word that takes a value, and the value where it stands in the same word.
fn option_with_value(word: &str) -> Option<(char, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let letter = [("unset", 'u'), ("chdir", 'C'), ("split-string", 'S')]
            .into_iter()
            .find(|(full, _)| name.len() > 1 && full.starts_with(name));
        return letter.map(|(_, letter)| (letter, value));
    }
    let letters = word.strip_prefix('-')?;
    let at = letters.find(['u', 'C', 'S', 'P', 'a'])?;
    let letter = letters.get(at..)?.chars().next()?;
    let value = letters.get(at + 1..).filter(|value| !value.is_empty());
    Some((letter, value))
}

/// Longest constant `sleep`, seconds; `None` if something else may take for ever (tail -f, cat, sleep infinity).
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
