//! Commands with a small language of their own: what runs other commands, and what changes the shell.

use super::command::{quote_all, remote_host};
use super::word::{ansi_c, below};
use super::{HOLE, Output, Shell};
use crate::effect::table::Table;
use crate::effect::{Cause, Effect, Target, Verb};
use base64::Engine as _;

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
                Some((file, _)) if file.starts_with("/dev/") => {
                    let network = self.network_text();
                    let text = if file == "/dev/stdin" { stdin.text.clone() } else { None };
                    self.run_input("bash", program, &Output { network, text, piped: true, ..Output::default() });
                    Output::default()
                }
                Some((file, rest)) => self.run_file(file, rest, Some("bash")),
                None => Output::default(),
            },
            "exec" => match words.iter().position(|w| !w.starts_with('-')) {
                Some(at) => self.wrapped(program, words.get(at..).unwrap_or_default(), stdin.clone()),
                None => Output::default(),
            },
            "command" if words.first().is_some_and(|w| w == "-v" || w == "-V") => Output::default(),
            "command" => self.command_builtin(words, stdin),
            "xargs" => self.xargs(program, words, stdin),
            "find" => self.find(words),
            "cd" => self.cd(words),
            "export" => {
                for word in words {
                    if let Some((name, value)) = word.split_once('=') {
                        self.assign(name, vec![value.to_owned()]);
                    }
                }
                Output::default()
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
                if let Some(at) = words.iter().position(|w| w == "--") {
                    self.arguments = words.get(at + 1..).unwrap_or_default().to_vec();
                }
                Output::default()
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
            "rev" => Output {
                text: stdin
                    .text
                    .as_ref()
                    .map(|t| t.lines().map(|l| l.chars().rev().collect::<String>() + "\n").collect()),
                decoded: true,
                ..stdin.clone()
            },
            "tr" => self.tr(words, stdin),
            "flock" => self.flock(words, stdin),
            "ssh" => self.ssh(words),
            "make" => self.make(program, words, stdin),
            "read" => self.read_into(program, words),
            "shell-state" => self.change_shell(program, words),
            "watch" => self.watch(program, words, stdin),
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
        let mut shell = false;
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
                if matches!(word.as_str(), "-l" | "-v" | "-k" | "-K" | "-V" | "--list" | "--validate") {
                    return Output::default();
                }
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
            self.wrapped(program, rest, stdin.clone())
        };
        self.privileged = saved;
        output
    }

    fn su(&mut self, words: &[String], stdin: &Output) -> Output {
        let mut user = "root".to_owned();
        let mut command = None;
        let mut index = 0;
        while let Some(word) = words.get(index) {
            match word.as_str() {
                "-c" | "--command" => {
                    index += 1;
                    command = words.get(index).cloned();
                }
                "-s" | "-g" | "-G" | "--shell" | "--group" => index += 1,
                "-" | "-l" | "--login" | "-m" | "-p" => {}
                other if other.starts_with("--command=") => {
                    command = other.strip_prefix("--command=").map(str::to_owned)
                }
                other if !other.starts_with('-') => other.clone_into(&mut user),
                _ => {}
            }
            index += 1;
        }
        let saved = self.privileged;
        self.privileged = saved || user == "root";
        let output = match command {
            Some(text) => self.nested("su -c", &text, stdin.clone()),
            None => {
                self.named(Verb::Privilege, &format!("a shell as {user}"), "su");
                Output::default()
            }
        };
        self.privileged = saved;
        output
    }

    fn env(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let saved = self.variables.clone();
        let mut index = 0;
        while let Some(word) = words.get(index) {
            if let Some((name, value)) = word.split_once('=').filter(|(n, _)| !n.starts_with('-')) {
                self.assign(name, vec![value.to_owned()]);
            } else if matches!(word.as_str(), "-u" | "-C" | "--unset" | "--chdir") {
                index += 1;
            } else if matches!(word.as_str(), "-S" | "--split-string") {
                let text = words.get(index + 1..).unwrap_or_default().join(" ");
                let output = self.nested("env -S", &text, stdin.clone());
                self.variables = saved;
                return output;
            } else if !word.starts_with('-') {
                break;
            }
            index += 1;
        }
        let output = match words.get(index..).filter(|rest| !rest.is_empty()) {
            Some(rest) => self.wrapped(program, rest, stdin.clone()),
            None => Output::default(),
        };
        self.variables = saved;
        output
    }

    fn command_builtin(&mut self, words: &[String], stdin: &Output) -> Output {
        let rest: Vec<String> = words.iter().skip_while(|w| w.starts_with('-')).cloned().collect();
        self.wrapped("command", &rest, stdin.clone())
    }

    fn sh(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let mut index = 0;
        let mut command = false;
        while let Some(word) = words.get(index) {
            if let Some(letters) = word.strip_prefix(['-', '+']).filter(|l| !l.starts_with('-') && !l.is_empty()) {
                command |= letters.contains('c');
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
                    let saved = (self.cwd.clone(), self.variables.clone(), self.functions.clone());
                    let output = self.nested(&format!("{program} -c"), &text, stdin.clone());
                    (self.cwd, self.variables, self.functions) = saved;
                    output
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
            Some(file) if file == "-" || file == "/dev/stdin" || file.starts_with("/dev/fd/") => {
                if file.starts_with("/dev/fd/") && self.network_text() {
                    self.run_input("bash", program, &Output { network: true, piped: true, ..Output::default() });
                } else {
                    self.run_input("bash", program, stdin);
                }
                Output::default()
            }
            Some(file) => self.run_file(&file, words.get(index + 1..).unwrap_or_default(), Some("bash")),
            None if words.iter().any(|w| w == "--version" || w == "--help") => Output::default(),
            None => {
                if stdin.piped {
                    self.run_input("bash", program, stdin);
                }
                Output::default()
            }
        }
    }

    /// xargs and parallel: the words that come in are appended or put in place.
    fn xargs(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let takes = [
            "-I",
            "-i",
            "-L",
            "-l",
            "-n",
            "-P",
            "-s",
            "-d",
            "-E",
            "-a",
            "-j",
            "--max-args",
            "--max-procs",
            "--replace",
            "--delimiter",
            "--arg-file",
            "--max-lines",
            "--jobs",
            "--colsep",
        ];
        let mut index = 0;
        let mut replace = (program == "parallel").then(|| "{}".to_owned());
        while let Some(word) = words.get(index).filter(|w| w.starts_with('-') && w.len() > 1) {
            if let Some(mark) = word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace=")) {
                replace = Some(if mark.is_empty() {
                    words.get(index + 1).cloned().unwrap_or_default()
                } else {
                    mark.to_owned()
                });
            } else if word == "-i" || word == "--replace" {
                replace = Some("{}".to_owned());
                index += 1;
                continue;
            }
            if takes.contains(&word.as_str()) && !matches!(word.as_str(), "-i" | "-l" | "--replace") {
                index += 1;
            }
            index += 1;
        }
        let command = words.get(index..).unwrap_or_default();
        let incoming: Vec<String> = match (&stdin.text, &stdin.names) {
            (Some(text), _) if replace.is_some() => text.lines().take(32).map(str::to_owned).collect(),
            (Some(text), _) => text.split_whitespace().take(32).map(str::to_owned).collect(),
            (None, Some(names)) => names.iter().map(|n| below(n)).collect(),
            (None, None) => vec![HOLE.to_string()],
        };
        if command.is_empty() {
            return Output { names: stdin.names.clone(), ..Output::default() };
        }
        let full: Vec<String> = match &replace {
            Some(mark) if !mark.is_empty() && command.iter().any(|w| w.contains(mark.as_str())) => {
                let filled = |value: &String| -> Vec<String> {
                    command.iter().map(|w| w.replace(mark.as_str(), value)).collect()
                };
                for value in incoming.iter().skip(1) {
                    self.wrapped(program, &filled(value), Output::default());
                }
                filled(incoming.first().unwrap_or(&HOLE.to_string()))
            }
            _ => command.iter().cloned().chain(incoming.clone()).collect(),
        };
        if stdin.network && command.first().is_some_and(|c| matches!(c.as_str(), "sh" | "bash")) {
            self.run_input("bash", program, stdin);
        }
        let mut output = self.wrapped(program, &full, Output::default());
        if output.names.is_none() {
            output.names.clone_from(&stdin.names);
        }
        output
    }

    fn find(&mut self, words: &[String]) -> Output {
        let mut starts: Vec<String> = Vec::new();
        let mut index = 0;
        while let Some(word) = words.get(index) {
            if matches!(word.as_str(), "-H" | "-L" | "-P" | "-d" | "-s" | "-x" | "-X" | "-E") || word.starts_with("-O")
            {
                index += 1;
            } else if word == "-D" || (word == "-f" && starts.is_empty()) {
                index += 2;
            } else if word.starts_with(['-', '(', ')', '!', ',']) {
                break;
            } else {
                starts.push(word.clone());
                index += 1;
            }
        }
        if starts.is_empty() {
            starts.push(".".to_owned());
        }
        let expression = words.get(index..).unwrap_or_default();
        let shallow = expression.windows(2).any(|w| matches!(w, [a, b] if a == "-maxdepth" && b == "0"));
        let files_only = expression.windows(2).any(|w| matches!(w, [a, b] if a == "-type" && b != "d"));
        let narrowed = files_only
            || expression.iter().any(|w| {
                matches!(
                    w.as_str(),
                    "-name"
                        | "-iname"
                        | "-path"
                        | "-ipath"
                        | "-regex"
                        | "-iregex"
                        | "-empty"
                        | "-mindepth"
                        | "-newer"
                        | "-mtime"
                        | "-atime"
                        | "-ctime"
                        | "-mmin"
                        | "-size"
                        | "-inum"
                        | "-user"
                        | "-perm"
                        | "-nouser"
                )
            });
        for start in &starts {
            let mut effect = self.at(Verb::List, start, "find");
            effect.recursive = !shallow;
            self.add(effect);
        }
        let found: Vec<String> =
            starts.iter().map(|s| if shallow || !narrowed { s.clone() } else { below(s) }).collect();
        let mut at = 0;
        while let Some(word) = expression.get(at) {
            match word.as_str() {
                "-delete" => {
                    for path in &found {
                        let mut effect = self.at(Verb::Delete, path, "find");
                        effect.recursive = !narrowed;
                        self.add(effect);
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let rest = expression.get(at + 1..).unwrap_or_default();
                    let length = rest.iter().position(|w| w == ";" || w == "+" || w == "\\").unwrap_or(rest.len());
                    let command: Vec<String> = rest.iter().take(length).cloned().collect();
                    for path in &found {
                        let filled: Vec<String> = command.iter().map(|w| w.replace("{}", path)).collect();
                        self.wrapped(&format!("find {word}"), &filled, Output::default());
                    }
                    at += length;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = expression.get(at + 1) {
                        let effect = self.at(Verb::Write, file, "find");
                        self.add(effect);
                    }
                    at += 1;
                }
                _ => {}
            }
            at += 1;
        }
        Output { names: Some(starts.iter().map(|s| self.path(s)).collect()), ..Output::default() }
    }

    fn cd(&mut self, words: &[String]) -> Output {
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
        Output::default()
    }

    fn echo(&mut self, program: &str, words: &[String]) -> Output {
        let mut rest = words;
        let mut newline = true;
        let mut escapes = program == "printf";
        while let Some((first, tail)) = rest
            .split_first()
            .filter(|(f, _)| program == "echo" && matches!(f.as_str(), "-n" | "-e" | "-ne" | "-en" | "-E"))
        {
            newline &= !first.contains('n');
            escapes |= first.contains('e');
            rest = tail;
        }
        if let [option, name, rest @ ..] = rest
            && program == "printf"
            && option == "-v"
        {
            self.assign(name, vec![printf(rest)]);
            return Output::default();
        }
        let mut text = if program == "printf" { printf(rest) } else { rest.join(" ") };
        if program == "echo" && escapes {
            text = ansi_c(&text);
        }
        if newline && program == "echo" {
            text.push('\n');
        }
        Output { text: Some(text), ..Output::default() }
    }

    fn base64(&mut self, words: &[String], stdin: &Output) -> Output {
        if let Some(file) = words.iter().find(|w| !w.starts_with('-')) {
            let effect = self.at(Verb::Read, file, "base64");
            self.add(effect);
            return Output { decoded: true, ..Output::default() };
        }
        let decoded = stdin.text.as_ref().and_then(|text| {
            let compact: String = text.split_whitespace().collect();
            let engine = base64::engine::general_purpose::GeneralPurpose::new(
                &base64::alphabet::STANDARD,
                base64::engine::general_purpose::GeneralPurposeConfig::new()
                    .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
            );
            engine.decode(compact).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        });
        Output { text: decoded, decoded: true, network: stdin.network, names: None, ..Output::default() }
    }

    /// `tr` of constant text over simple ranges (rot13 and the like); else not constant.
    fn tr(&mut self, words: &[String], stdin: &Output) -> Output {
        let sets: Vec<Vec<char>> = words.iter().filter(|w| !w.starts_with('-')).map(|w| expand_set(w)).collect();
        let text = match (sets.as_slice(), &stdin.text) {
            ([from, to], Some(text)) if !words.iter().any(|w| w.starts_with('-')) && from.len() <= 512 => Some(
                text.chars()
                    .map(|c| match from.iter().position(|f| *f == c) {
                        Some(i) => to.get(i).or(to.last()).copied().unwrap_or(c),
                        None => c,
                    })
                    .collect(),
            ),
            ([set], Some(text)) if words.iter().any(|w| w == "-d") => {
                Some(text.chars().filter(|c| !set.contains(c)).collect())
            }
            _ => None,
        };
        Output { text, decoded: true, names: stdin.names.clone(), network: stdin.network, ..Output::default() }
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

    /// A command on another machine is judged where it runs: unknown facts, known verbs.
    fn ssh(&mut self, words: &[String]) -> Output {
        let takes = "bcDEeFIiJLlmOopQRSWw";
        let mut index = 0;
        while let Some(word) = words.get(index).filter(|w| w.starts_with('-') && w.len() > 1) {
            let last = word.chars().next_back().unwrap_or_default();
            if takes.contains(last) && (word.len() == 2 || !takes.contains(word.chars().nth(1).unwrap_or_default())) {
                if matches!(word.as_str(), "-o")
                    && words.get(index + 1).is_some_and(|v| v.to_ascii_lowercase().contains("command"))
                {
                    let value = words
                        .get(index + 1)
                        .and_then(|v| v.split_once(['=', ' ']))
                        .map(|(_, v)| v.to_owned())
                        .unwrap_or_default();
                    self.nested("ssh -o", &value, Output::default());
                }
                index += 1;
            }
            index += 1;
        }
        let Some(host) = words.get(index) else { return Output::default() };
        let host = remote_host(host).unwrap_or(host);
        let host = host.rsplit('@').next().unwrap_or(host).to_owned();
        self.named(Verb::Connect, &host, "ssh");
        let rest = words.get(index + 1..).unwrap_or_default();
        if !rest.is_empty() {
            let mut effect = Effect::new(Verb::Remote, Target::Named("remote", host.clone()), "ssh");
            rest.join(" ").clone_into(&mut effect.detail);
            let mark = self.reading.effects.len();
            self.nested(&format!("ssh {host}"), &rest.join(" "), Output::default());
            // what happens there does not happen here: only whether it changes anything counts
            let there: Vec<Effect> = self.reading.effects.drain(mark.min(self.reading.effects.len())..).collect();
            let changes = there.iter().any(|e| !matches!(e.verb, Verb::Read | Verb::List));
            let grave = there.iter().any(|e| {
                matches!(e.verb, Verb::Exhaust | Verb::Service | Verb::Account | Verb::Device | Verb::Unknown)
                    || (e.verb == Verb::Delete && e.recursive)
            });
            effect.operation = if grave {
                "delete"
            } else if changes {
                "change"
            } else {
                "read"
            }
            .to_owned();
            self.add(effect);
        }
        Output { network: true, ..Output::default() }
    }

    /// python -c, perl -e and their like; a file otherwise.
    fn interpreter(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let (language, inline): (&str, &[&str]) = match base {
            "python" | "pypy" => ("python", &["-c"]),
            "perl" => (
                "perl",
                &[
                    "-e", "-E", "-ne", "-pe", "-nle", "-lne", "-ple", "-lane", "-ane", "-pie", "-le", "-0pe", "-pi",
                    "-i",
                ],
            ),
            "ruby" => ("ruby", &["-e", "-ne", "-pe"]),
            "node" | "nodejs" | "deno" | "bun" => ("js", &["-e", "-p", "--eval", "--print", "-pe"]),
            "php" => ("php", &["-r"]),
            _ => return None,
        };
        let mut index = 0;
        let mut in_place = false;
        let mut ran = false;
        while let Some(word) = words.get(index) {
            if language == "perl"
                && word.starts_with('-')
                && word.contains('i')
                && !word.starts_with("-M")
                && !word.starts_with("-I")
            {
                in_place = true;
            }
            let inline_here = inline.contains(&word.as_str()) && word != "-i" && word != "-pi"
                || (language == "perl"
                    && word.starts_with('-')
                    && !word.starts_with("--")
                    && !word.starts_with("-M")
                    && !word.starts_with("-I")
                    && word.ends_with(['e', 'E']));
            if let Some(text) = glued(language, word).map(str::to_owned) {
                self.script(language, &text, &format!("{program} -e"));
                ran = true;
                if language == "python" {
                    return Some(Output::default());
                }
            } else if inline_here {
                index += 1;
                let text = words.get(index).cloned().unwrap_or_default();
                self.script(language, &text, &format!("{program} {}", word));
                ran = true;
                if language == "python" {
                    return Some(Output::default());
                }
            } else if language == "python" && word == "-m" {
                let module = words.get(index + 1).cloned().unwrap_or_default();
                return Some(self.python_module(&module, words.get(index + 2..).unwrap_or_default()));
            } else if word == "-" {
                break;
            } else if word.starts_with('-') {
                if matches!(word.as_str(), "-W" | "-X" | "-I" | "-M" | "-r" | "--require" | "-C") {
                    index += 1;
                }
            } else if ran {
                let mut effect = self.at(if in_place { Verb::Write } else { Verb::Read }, word, program);
                if in_place {
                    "in place".clone_into(&mut effect.detail);
                }
                self.add(effect);
            } else {
                let rest = words.get(index + 1..).unwrap_or_default().to_vec();
                return Some(self.run_file(word, &rest, Some(language)));
            }
            index += 1;
        }
        if !ran
            && !words.iter().any(|w| matches!(w.as_str(), "--version" | "-V" | "-v" | "--help" | "-h"))
            && (stdin.piped || words.iter().any(|w| w == "-"))
        {
            self.run_input(language, program, stdin);
        }
        Some(Output::default())
    }

    fn python_module(&mut self, module: &str, rest: &[String]) -> Output {
        match module {
            "http.server" | "SimpleHTTPServer" => {
                self.named(Verb::Listen, rest.first().map_or("8000", String::as_str), "python")
            }
            "json.tool" | "timeit" | "this" | "calendar" | "platform" | "site" | "sysconfig" | "doctest"
            | "tokenize" | "ast" | "dis" => {}
            "venv" | "ensurepip" => {
                for path in rest.iter().filter(|w| !w.starts_with('-')) {
                    let effect = self.at(Verb::Create, path, "python");
                    self.add(effect);
                }
            }
            _ => {
                let words: Vec<String> = std::iter::once(module.to_owned()).chain(rest.iter().cloned()).collect();
                if Table::shipped().row(module).is_some() {
                    return self.wrapped("python -m", &words, Output::default());
                }
                self.unknown(Cause::Program, &format!("python -m {module} {}", quote_all(rest)), "python");
            }
        }
        Output::default()
    }
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

fn expand_set(set: &str) -> Vec<char> {
    let chars: Vec<char> = set.chars().collect();
    let mut all = Vec::new();
    let mut i = 0;
    while let Some(c) = chars.get(i) {
        match (chars.get(i + 1), chars.get(i + 2)) {
            (Some('-'), Some(end)) if *c <= *end && u32::from(*end) - u32::from(*c) < 256 => {
                all.extend(*c..=*end);
                i += 3;
            }
            _ => {
                all.push(*c);
                i += 1;
            }
        }
    }
    all
}

fn decode_hex(stdin: &Output) -> Output {
    let text = stdin.text.as_ref().and_then(|text| {
        let digits: Vec<u8> = text
            .chars()
            .filter(|c| !c.is_whitespace())
            .filter_map(|c| c.to_digit(16))
            .map(|d| u8::try_from(d).unwrap_or_default())
            .collect();
        let bytes: Vec<u8> = digits
            .chunks_exact(2)
            .filter_map(|p| match p {
                [a, b] => Some(a * 16 + b),
                _ => None,
            })
            .collect();
        String::from_utf8(bytes).ok()
    });
    Output { text, decoded: true, network: stdin.network, names: None, ..Output::default() }
}

/// `printf` with `%s`, `%b`, `%d`, `%%` and escapes; another directive makes a hole.
fn printf(words: &[String]) -> String {
    let Some((format, values)) = words.split_first() else { return String::new() };
    let format = ansi_c(format);
    let mut text = String::new();
    let mut values = values.iter();
    for round in 0..64 {
        let before = values.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            match chars.next() {
                Some('s' | 'd' | 'q' | 'i' | 'u') => text.push_str(values.next().map_or("", String::as_str)),
                Some('b') => text.push_str(&ansi_c(values.next().map_or("", String::as_str))),
                Some('%') => text.push('%'),
                _ => {
                    text.push(HOLE);
                    return text;
                }
            }
        }
        if values.len() == 0 || (values.len() == before && round > 0) || values.len() == before {
            break;
        }
    }
    text
}

/// The source in `-e'print 1'`: an option for source with its value in the same word.
fn glued<'w>(language: &str, word: &'w str) -> Option<&'w str> {
    let letters = word.strip_prefix('-').filter(|l| !l.starts_with('-'))?;
    let (before, option) = match language {
        "perl" | "ruby" => ("nplaw0123456789", ['e', 'E']),
        "python" => ("BdEiIOPqsSuv", ['c', 'c']),
        "js" => ("", ['e', 'p']),
        "php" => ("n", ['r', 'r']),
        _ => return None,
    };
    let at = letters.find(|c| !before.contains(c))?;
    let rest = letters.get(at..)?.strip_prefix(option)?;
    // `-le` and the like are letters only
    (!rest.is_empty() && rest.chars().any(|c| !c.is_ascii_alphabetic())).then_some(rest)
}
