//! Commands, programs and source text that run.

use super::{Invocation, command_line};
use crate::Detail;
use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::row::Special;
use crate::python::values::{UNKNOWN_SPAN, Value, list, text};
use crate::reading::quote;

impl Reader<'_> {
    /// Calls that run code, or load data that may run code.
    pub(super) fn code_call(&mut self, special: Special, call: &Invocation<'_>) -> Option<Value> {
        let args = call.args;
        let first = args.at(0);
        Some(match special {
            Special::Command => self.command(call),
            Special::Program => self.program(call),
            Special::Client => self.client(call),
            Special::Exec => self.exec(call.via, args),
            Special::Source => {
                // the setup code runs before the statement
                for before in [args.pos.get(1).cloned(), args.keyword("setup")].into_iter().flatten() {
                    if before.is_text() {
                        self.run_source(&before, call.via);
                    }
                }
                self.run_source(&first, call.via)
            }
            Special::Compile => first,
            Special::Import => {
                let name = first.show();
                let name = if call.via == "__import__" { name.split('.').next().unwrap_or_default() } else { &name };
                let hole = first.show().contains(UNKNOWN_SPAN);
                if let Some((root, last)) = self.own_module(&first.show(), None).filter(|_| !hole) {
                    return Some(if call.via == "__import__" { root } else { last });
                }
                Value::Name(if hole { UNKNOWN_SPAN.to_string() } else { self.table.canonical(name) }.into())
            }
            Special::Untrusted => {
                self.unknown(call.via);
                Value::Hole
            }
            Special::Yaml => {
                let safe = args
                    .values()
                    .any(|v| matches!(v, Value::Name(n) if n.contains("SafeLoader") || n.contains("BaseLoader")));
                if !safe {
                    self.unknown(call.via)
                }
                Value::Local
            }
            _ => return None,
        })
    }

    fn command(&mut self, call: &Invocation<'_>) -> Value {
        let Invocation { args, via, .. } = *call;
        let command = call.first_or(&["args", "cmd", "command"]);
        let folder = args.keyword("cwd").filter(|v| !matches!(v, Value::None));
        for choice in command.choices() {
            let line = command_line(&choice);
            let line = match &folder {
                Some(f) => format!("cd {} && {line}", quote(&f.show())),
                None => line,
            };
            self.emit("script:bash", &text(line), false, Detail::None, via);
        }
        // input that is passed to a shell is a script
        let fed = args.keyword("input").filter(|v| !matches!(v, Value::None));
        let shell = command.choices().iter().map(command_line).any(|line| {
            let word = line.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']).to_owned();
            crate::shell::command::is_shell(&word)
        });
        match fed {
            Some(input) if shell => self.emit("script:bash", &input, false, Detail::None, via),
            _ if via.ends_with("os.popen") && args.get(1, "mode").is_some_and(|mode| mode.show().contains('w')) => {
                self.unknown("the command of os.popen");
            }
            _ => {}
        }
        // calls that wait for their child accumulate no processes
        self.grow("process", if via.ends_with("Popen") || via.contains("spawn") { 0.05 } else { 1e-6 });
        self.returns(call.row, Value::None)
    }

    /// `call_command("migrate", "app")`: a command line of the program that `default` names.
    fn program(&mut self, call: &Invocation<'_>) -> Value {
        let given = call.args.pos.iter().map(Value::show);
        let options = call.args.kw.iter().filter_map(|(name, value)| option(name, value));
        let words: Vec<String> = call.row.default.iter().cloned().chain(given).chain(options).collect();
        let line = command_line(&list(words.into_iter().map(text).collect()));
        self.emit("script:bash", &text(line), false, Detail::None, call.via);
        self.escape(call.args, call.via);
        Value::Hole
    }

    /// A method of `boto3.client("s3")`: `aws s3api list-buckets`.
    fn client(&mut self, call: &Invocation<'_>) -> Value {
        let service = match call.receiver {
            Some(Value::Object(_, target)) => target.show(),
            _ => UNKNOWN_SPAN.to_string(),
        };
        let method = call.via.rsplit('.').next().unwrap_or_default().replace('_', "-");
        let service = if service == "s3" { "s3api".to_owned() } else { service };
        // of the arguments, only a switch changes what the call does
        let switches = call.args.kw.iter().filter(|(_, value)| value.show() == "True");
        let options = switches.filter_map(|(name, value)| option(&kebab(name), value));
        let words: Vec<String> = call.row.default.iter().cloned().chain([service, method]).chain(options).collect();
        let line = command_line(&list(words.into_iter().map(text).collect()));
        self.emit("script:bash", &text(line), false, Detail::None, call.via);
        self.escape(call.args, call.via);
        Value::Local
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
        self.emit("script:bash", &text(command_line(&list(words))), false, Detail::None, via);
        if spawns {
            self.grow("process", 0.05)
        }
        Value::Hole
    }

    pub(in crate::python) fn run_source(&mut self, code: &Value, via: &str) -> Value {
        let mut result = Value::Hole;
        for choice in code.choices() {
            if matches!(choice, Value::Function(_) | Value::Partial(_) | Value::Name(_)) {
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
}

/// A keyword argument as an option of a command line; `None` if it switches something off.
fn option(name: &str, value: &Value) -> Option<String> {
    let name = name.replace('_', "-");
    match (name.as_str(), value.show().as_str()) {
        ("interactive", "False") => Some("--no-input".to_owned()),
        (_, "False" | "None") => None,
        (name, "True") => Some(format!("--{name}")),
        (name, value) => Some(format!("--{name}={value}")),
    }
}

/// `WithDecryption` as `with-decryption`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}
