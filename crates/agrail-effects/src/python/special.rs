//! Calls that need more than a row of the table.

use super::Reader;
use super::calls::{Args, quote};
use super::table::Row;
use super::values::{self, UNKNOWN_SPAN, Value, lift, list, many, text};

impl Reader {
    /// Interprets a special call. `Some`: the call is complete. `None`: the row applies unchanged.
    pub(super) fn special(
        &mut self,
        special: &str,
        row: &'static Row,
        via: &str,
        receiver: Option<&Value>,
        args: &Args,
    ) -> Option<Value> {
        let first = args.at(0);
        match special {
            // free names of data agents: in other programs they mean nothing
            data if data.starts_with("data ") => {
                let loads =
                    |s: &std::rc::Rc<super::Source>| ["LoadDB", "SQLInterpreter"].iter().any(|n| s.text.contains(n));
                if data == "data help" && !self.sources.iter().any(loads) {
                    self.unknown(via);
                    return Some(Value::Hole);
                }
                if data != "data sql" {
                    return Some(self.data(data, args, via));
                }
            }
            "open" => {
                let of_path = receiver.is_some();
                let target = receiver.cloned().unwrap_or_else(|| args.get(0, "file").unwrap_or(Value::Hole));
                let mode = args.get(usize::from(!of_path), "mode").map_or("r".into(), |m| m.show());
                return Some(self.open(target, &mode, via));
            }
            "os.open" => {
                let flags = args.get(1, "flags").and_then(|f| f.int());
                let mode = match flags {
                    Some(f) if f & 3 == 0 => "r",
                    Some(f) if f & 1024 != 0 => "a",
                    Some(f) if f & 3 == 2 => "r+",
                    Some(f) if f & 192 == 192 => "x",
                    Some(_) => "w",
                    None => HOLE_MODE,
                };
                return Some(self.open(first, mode, via));
            }
            "archive" => {
                let target = args
                    .pos
                    .first()
                    .cloned()
                    .or_else(|| args.keyword("file"))
                    .or_else(|| args.keyword("name"))
                    .or_else(|| args.keyword("fileobj"))
                    .unwrap_or(Value::Hole);
                if matches!(target, Value::Object(..)) {
                    return Some(values::object("archive", Value::Hole));
                }
                let mode = args.get(1, "mode").map_or("r".into(), |m| m.show());
                self.open(target.clone(), mode.split([':', '|']).next().unwrap_or("r"), via);
                return Some(values::object(
                    if via.starts_with("zip") || via.starts_with("tar") { "archive" } else { "file" },
                    target,
                ));
            }
            "extract" => {
                let at = usize::from(via.ends_with("extract"));
                let into = args.get(at, "path").filter(|v| !matches!(v, Value::None)).unwrap_or_else(|| text("."));
                self.emit("overwrite", &into, false, None, via);
                return Some(Value::Hole);
            }
            "added" => {
                if matches!(first, Value::None) {
                    return Some(Value::Hole);
                }
            }
            "truncate" if args.at(1).int().is_some_and(|n| n >= 100_000_000_000) => self.exhaust("disk"),
            "grow" => self.grow("disk", first.size()),
            "listdir" => {
                let folder = match receiver {
                    Some(v) => v.clone(),
                    None => args.get(0, "path").filter(|v| !matches!(v, Value::None)).unwrap_or_else(|| text(".")),
                };
                self.emit("list", &folder, false, None, via);
                let below =
                    lift(&folder, &Value::None, |f, _| text(values::join(&f.show(), &UNKNOWN_SPAN.to_string())));
                return Some(many(if via.ends_with("os.listdir") { values::hole_text() } else { as_path(&below) }));
            }
            "walk" => {
                let top = args.get(0, "top").unwrap_or_else(|| text("."));
                self.emit("list", &top, true, None, via);
                let names = || many(values::hole_text());
                return Some(many(list(vec![lift(&top, &Value::None, |t, _| text(t.show())), names(), names()])));
            }
            "glob" => {
                let pattern = lift(&first, &Value::None, |p, _| text(holes_for_wildcards(&p.show())));
                let full = match receiver {
                    Some(folder) => lift(folder, &pattern, |f, p| text(values::join(&f.show(), &p.show()))),
                    None => pattern,
                };
                self.emit("list", receiver.unwrap_or(&full), row.recursive, None, via);
                return Some(many(if receiver.is_some() { as_path(&full) } else { full }));
            }
            "chdir" => {
                let to = first.choices();
                let to = if let [one] = to.as_slice() { one.show() } else { UNKNOWN_SPAN.to_string() };
                self.cwd = Some(match &self.cwd {
                    Some(cwd) => values::join(cwd, &to),
                    None => to,
                });
                return Some(Value::None);
            }
            "fileinput" => {
                let files = args.get(0, "files").unwrap_or(Value::Hole);
                for file in files.elements().filter(|_| !files.is_text()).unwrap_or_else(|| vec![files.clone()]) {
                    self.emit("read", &file, false, None, via);
                    if args.keyword("inplace").is_some() {
                        self.emit("write", &file, false, None, via)
                    }
                }
                return Some(many(values::hole_text()));
            }
            "temporary" => {
                let folder = args.keyword("dir").filter(|d| !matches!(d, Value::None)).unwrap_or_else(|| text("/tmp"));
                let name = lift(&folder, &Value::None, |f, _| text(values::join(&f.show(), &UNKNOWN_SPAN.to_string())));
                self.emit("create", &name, false, None, via);
                return Some(match via {
                    "tempfile.mkstemp" => list(vec![Value::Local, name]),
                    "tempfile.NamedTemporaryFile" => values::object("file", name),
                    "tempfile.TemporaryDirectory" => values::object(via, name),
                    _ => name,
                });
            }
            "read file or url" => {
                let role = if first.show().contains("://") { "connect:url" } else { "read" };
                if !matches!(first, Value::Object(..)) {
                    self.emit(role, &first, false, None, via)
                }
                return Some(Value::Local);
            }
            "command" => {
                let command = args
                    .pos
                    .first()
                    .cloned()
                    .or_else(|| args.keyword("args"))
                    .or_else(|| args.keyword("cmd"))
                    .or_else(|| args.keyword("command"))
                    .unwrap_or(Value::Hole);
                return Some(self.command(&command, args, row, via));
            }
            "exec" => return Some(self.exec(via, args)),
            "source" => {
                // the setup code runs before the statement
                for before in [args.pos.get(1).cloned(), args.keyword("setup")].into_iter().flatten() {
                    if before.is_text() {
                        self.run_source(&before, via);
                    }
                }
                return Some(self.run_source(&first, via));
            }
            "compile" => return Some(first),
            "import" => {
                let name = first.show();
                return Some(Value::Name(
                    if name.contains(UNKNOWN_SPAN) {
                        UNKNOWN_SPAN.to_string()
                    } else {
                        self.table.canonical(if via == "__import__" {
                            name.split('.').next().unwrap_or_default()
                        } else {
                            &name
                        })
                    }
                    .into(),
                ));
            }
            "untrusted" => {
                self.unknown(via);
                return Some(Value::Hole);
            }
            "yaml" => {
                let safe = args
                    .values()
                    .any(|v| matches!(v, Value::Name(n) if n.contains("SafeLoader") || n.contains("BaseLoader")));
                if !safe {
                    self.unknown(via)
                }
                return Some(Value::Local);
            }
            "kill" => return Some(self.kill(via, receiver, args)),
            "fork" => {
                self.forks += 1;
                self.grow("process", 1.0)
            }
            "start" => {
                self.forks += 1;
                self.grow("process", 0.05);
                return Some(Value::None);
            }
            "thread" => {
                let forks = self.forks;
                self.forks += 1;
                self.escape(args, via);
                self.forks = forks;
                return Some(values::object("own process", Value::None));
            }
            "process_iter" => return Some(many(values::object("psutil.Process", Value::Hole))),
            "psutil.Process" => {
                let pid = args.get(0, "pid").unwrap_or(Value::None);
                return Some(if matches!(pid, Value::None) {
                    values::object("own process", Value::None)
                } else {
                    values::object("psutil.Process", pid)
                });
            }
            "with argument" if args.pos.is_empty() && args.kw.is_empty() => {
                return Some(Value::Hole);
            }
            "variable" => {
                let value = args.pos.get(1).map(Value::show);
                let names = if let Value::Dict(_) = first { first.elements().unwrap_or_default() } else { vec![first] };
                for name in names {
                    self.emit("variable", &name, false, value.clone(), via)
                }
                return Some(Value::Hole);
            }
            "http" => {
                let url = args.get(0, "url").unwrap_or(Value::Hole);
                let (url, posts) = match &url {
                    Value::Object(kind, u) => ((**u).clone(), &**kind == "urllib.request.Request post"),
                    v => (v.clone(), false),
                };
                let carries = |v: Value| !matches!(v, Value::None) && vague(&v);
                let data = via.contains("urlopen") && !matches!(args.get(1, "data"), None | Some(Value::None));
                let sends = posts
                    || data
                    || args.keyword("params").is_some_and(carries)
                    || ["data", "json", "files"].iter().any(|k| args.keyword(k).is_some());
                self.emit(if sends { "send:url" } else { "connect:url" }, &url, false, None, via);
                return Some(Value::Hole);
            }
            "request" => {
                let method = args.get(0, "method").unwrap_or(Value::Hole).show().to_uppercase();
                let verb = if matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS") { "connect" } else { "send" };
                let (role, target) = match receiver {
                    Some(Value::Object(kind, host)) if kind.starts_with("http.client") => {
                        (verb.to_string(), (**host).clone())
                    }
                    _ => (format!("{verb}:url"), args.get(1, "url").unwrap_or(Value::Hole)),
                };
                self.emit(&role, &target, false, None, via);
                return Some(Value::Hole);
            }
            "make request" => {
                let posts = !matches!(args.get(1, "data"), None | Some(Value::None))
                    || args.keyword("method").is_some_and(|m| m.show() != "GET");
                return Some(values::object(
                    if posts { "urllib.request.Request post" } else { "urllib.request.Request" },
                    args.get(0, "url").unwrap_or(Value::Hole),
                ));
            }
            "session" => {
                return Some(values::object(
                    if via == "requests.Session" { "requests.Session" } else { via },
                    Value::None,
                ));
            }
            "address" => {
                let at = match via {
                    "socket.socket.sendto" => args.pos.len().saturating_sub(1),
                    _ => 0,
                };
                let target = address(&args.at(at));
                self.emit(&row.role, &target, false, None, via);
                self.escape(args, via);
                return Some(self.returns(row, target));
            }
            "accept" => return Some(list(vec![values::object("socket.socket", Value::Hole), Value::Hole])),
            _ => {}
        }
        None
    }

    fn open(&mut self, target: Value, mode: &str, via: &str) -> Value {
        if matches!(target, Value::Int(_) | Value::Object(..)) {
            return values::object("file", Value::Hole);
        }
        let roles: &[&str] = if mode.contains(UNKNOWN_SPAN) {
            &["read", "write"]
        } else if mode.contains('x') {
            &["create"]
        } else if mode.contains('a') {
            &["append"]
        } else if mode.contains('w') {
            &["write"]
        } else if mode.contains('+') {
            &["read", "write"]
        } else {
            &["read"]
        };
        for role in roles {
            self.emit(role, &target, false, None, via)
        }
        values::object("file", target)
    }

    /// Methods of known objects that need no row: writing to a file makes it grow.
    pub(super) fn plain_method(&mut self, kind: &str, receiver: &Value, name: &str, args: Args) -> Value {
        match (kind, name) {
            ("file", "write" | "writelines") => {
                self.grow("disk", args.size().max(8.0));
                Value::Hole
            }
            ("file", "truncate" | "seek") if args.at(0).int().is_some_and(|n| n >= 100_000_000_000) => {
                self.exhaust("disk");
                Value::Hole
            }
            ("file", "readlines" | "read" | "readline") => {
                if name == "readlines" {
                    many(values::hole_text())
                } else {
                    Value::Hole
                }
            }
            ("file", "__enter__") => receiver.clone(),
            ("pathlib.Path", _) => self.path_method(receiver, name, args),
            ("subprocess.Popen" | "own process", _) => {
                self.escape(&args, name);
                Value::Hole
            }
            ("range" | "endless", _) => Value::Hole,
            ("psutil.Process", "children" | "parents") => many(values::object("psutil.Process", Value::Hole)),
            ("psutil.Process", "parent") => values::object("psutil.Process", Value::Hole),
            ("sqlite3.Connection" | "paramiko.SSHClient", "open_sftp") => receiver.clone(),
            ("paramiko.SSHClient", "put") => {
                self.emit("send", &target_of(receiver), false, None, "paramiko.SFTPClient.put");
                Value::Hole
            }
            ("archive" | "flask.Flask" | "socket.socket" | "sqlite3.Connection", _) => {
                self.escape(&args, name);
                Value::Hole
            }
            _ => match self.table.find(&format!("{kind}.{name}")) {
                super::table::Entry::Harmless => {
                    self.escape(&args, name);
                    Value::Hole
                }
                _ => self.telling(receiver, name, args),
            },
        }
    }

    fn path_method(&mut self, receiver: &Value, name: &str, args: Args) -> Value {
        let path = receiver.show();
        match name {
            "joinpath" => as_path(&text(args.pos.iter().fold(path, |p, a| values::join(&p, &a.show())))),
            "resolve" | "absolute" | "expanduser" | "relative_to" => receiver.clone(),
            "as_posix" | "__str__" | "as_uri" | "__fspath__" => text(path),
            "with_name" | "with_suffix" | "with_stem" => {
                let (dir, base) = path.rsplit_once('/').map_or((None, path.as_str()), |(d, b)| (Some(d), b));
                let stem = base.rsplit_once('.').map_or(base, |(s, _)| s);
                let new = args.at(0).show();
                let new = match name {
                    "with_name" => new,
                    "with_suffix" => format!("{stem}{new}"),
                    _ => format!("{new}{}", base.strip_prefix(stem).unwrap_or_default()),
                };
                as_path(&text(dir.map_or(new.clone(), |d| format!("{d}/{new}"))))
            }
            _ => Value::Hole,
        }
    }

    fn command(&mut self, command: &Value, args: &Args, row: &Row, via: &str) -> Value {
        let folder = args.keyword("cwd").filter(|v| !matches!(v, Value::None));
        for choice in command.choices() {
            let line = command_line(&choice);
            let line = match &folder {
                Some(f) => format!("cd {} && {line}", quote(&f.show())),
                None => line,
            };
            self.emit("script:bash", &text(line), false, None, via);
        }
        // input that is passed to a shell is a script
        let fed = args.keyword("input").filter(|v| !matches!(v, Value::None));
        let shell = command.choices().iter().map(command_line).any(|line| {
            let word = line.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']).to_owned();
            crate::shell::command::is_shell(&word)
        });
        match fed {
            Some(input) if shell => self.emit("script:bash", &input, false, None, via),
            _ if via.ends_with("os.popen") && args.get(1, "mode").is_some_and(|mode| mode.show().contains('w')) => {
                self.unknown("what os.popen is given to read");
            }
            _ => {}
        }
        // calls that wait for their child accumulate no processes
        self.grow("process", if via.ends_with("Popen") || via.contains("spawn") { 0.05 } else { 1e-6 });
        self.returns(row, Value::None)
    }

    /// `os.exec*` and `os.spawn*`: the path, then the arguments; the first argument is only the displayed name.
    fn exec(&mut self, via: &str, args: &Args) -> Value {
        let spawns = via.contains("os.spawn");
        let args = if spawns { args.skip(1) } else { args.clone() };
        let kind = via.rsplit(['.', '_']).next().unwrap_or_default();
        let mut words = vec![args.at(0)];
        if kind.contains('l') && via.starts_with("os.") && !kind.starts_with("posix") {
            let end = args.pos.len() - usize::from(kind.ends_with('e') && args.pos.len() > 1 && !via.ends_with("exec"));
            words.extend(args.pos.iter().take(end).skip(2).cloned());
        } else if via.starts_with("asyncio") {
            words.extend(args.pos.iter().skip(1).cloned());
        } else {
            match args.at(1).elements() {
                Some(rest) => words.extend(rest.into_iter().skip(1)),
                None => words.push(Value::Hole),
            }
        }
        if args.open {
            words.push(Value::Hole)
        }
        self.emit("script:bash", &text(command_line(&list(words))), false, None, via);
        if spawns {
            self.grow("process", 0.05)
        }
        Value::Hole
    }

    pub(super) fn run_source(&mut self, code: &Value, via: &str) -> Value {
        let mut result = Value::Hole;
        for choice in code.choices() {
            if choice.callable() {
                result = self.call_value(&choice, vec![].into(), via);
                continue;
            }
            let shown = choice.show();
            if !choice.is_text() || shown.contains(UNKNOWN_SPAN) {
                self.unknown(via);
                continue;
            }
            result = self.source(if via == "eval" { shown.trim() } else { &shown }, via);
        }
        result
    }

    fn kill(&mut self, via: &str, receiver: Option<&Value>, args: &Args) -> Value {
        let target = match receiver {
            Some(v) => target_of(v),
            None => args.at(0),
        };
        let target = if let Value::Object(kind, inner) = &target {
            if matches!(&**kind, "own process" | "subprocess.Popen") {
                return Value::None;
            }
            (**inner).clone()
        } else {
            target
        };
        let signal = if receiver.is_some() {
            if via.ends_with("send_signal") { Some(args.at(0)) } else { None }
        } else {
            Some(args.at(1))
        };
        if matches!(signal, Some(Value::Int(0))) {
            return Value::None;
        }
        let detail = match signal {
            Some(s) => Some(s.show()),
            None => Some(
                if via.ends_with("terminate") {
                    "SIGTERM"
                } else if via.ends_with("suspend") {
                    "SIGSTOP"
                } else {
                    "SIGKILL"
                }
                .into(),
            ),
        };
        let target = if vague(&target) && !self.compared.is_empty() { self.compared_names() } else { target };
        for choice in target.choices() {
            let by_name = matches!(&choice, Value::Text(t) if !t.contains(UNKNOWN_SPAN) && t.parse::<i64>().is_err());
            self.emit(if by_name { "kill:process" } else { "kill" }, &choice, false, detail.clone(), via);
        }
        Value::None
    }
}

const HOLE_MODE: &str = "\u{FFFC}";

fn vague(v: &Value) -> bool {
    !matches!(v, Value::Any(_)) && v.show().contains(UNKNOWN_SPAN)
}

fn target_of(v: &Value) -> Value {
    if let Value::Object(_, target) = v { (**target).clone() } else { Value::Hole }
}

fn as_path(v: &Value) -> Value {
    lift(v, &Value::None, |p, _| Value::Path(p.show().into()))
}

/// Formats `("host", 80)` as `host:80`.
pub(super) fn address(v: &Value) -> Value {
    match v.elements().filter(|_| !v.is_text()) {
        Some(parts) => parts
            .into_iter()
            .take(2)
            .reduce(|a, b| lift(&a, &b, |a, b| text(format!("{}:{}", a.show(), b.show()))))
            .unwrap_or(Value::Hole),
        None => v.clone(),
    }
}

/// The command line of a command: a text unchanged, a list with its words quoted.
pub(super) fn command_line(v: &Value) -> String {
    match v {
        Value::List(l) => l
            .items
            .iter()
            .map(|w| match w.choices().as_slice() {
                [one] => quote(&one.show()),
                _ => UNKNOWN_SPAN.to_string(),
            })
            .collect::<Vec<_>>()
            .join(" "),
        v => v.show(),
    }
}

/// Replaces each wildcard of a glob pattern by [`UNKNOWN_SPAN`].
fn holes_for_wildcards(pattern: &str) -> String {
    let (mut out, mut in_class) = (String::new(), false);
    for c in pattern.chars() {
        match c {
            '[' => in_class = true,
            ']' if in_class => {
                in_class = false;
                out.push(UNKNOWN_SPAN)
            }
            _ if in_class => {}
            '*' | '?' => {
                if !out.ends_with(UNKNOWN_SPAN) {
                    out.push(UNKNOWN_SPAN)
                }
            }
            '/' if out.ends_with(&format!("/{UNKNOWN_SPAN}")) && pattern.contains("**/") => {}
            c => out.push(c),
        }
    }
    out
}
