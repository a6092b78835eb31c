//! Calls for which the roles of their arguments do not suffice.

use super::arguments::Target;
use super::effects::Effects;
use super::expression::Expression;
use super::fold::one;
use super::row::{Row, Special};
use super::values::Value;
use crate::reading::quote;
use crate::{Attribute, Detail, UNKNOWN_SPAN};
use foldhash::HashSet;

impl<'p> Effects<'p> {
    /// Reports the effects of a call.
    pub fn special(&mut self, special: Special, row: &Row, name: &str, target: &Target<'p>) {
        match special {
            Special::Command | Special::Template => self.command(name, target),
            Special::Program => self.program(name, target),
            Special::Words => self.words(name, target),
            Special::Source => {
                // the last argument is the source; the others are names of parameters
                let last = target.arguments.len().saturating_sub(1);
                let at = if row.name.iter().any(|name| name == "Function") { last } else { 0 };
                for text in self.texts(target, at) {
                    self.emit("script:js", text, false, Detail::None, name);
                }
                // it may change any variable
                if name == "eval" {
                    self.unknown("source that may change this program");
                }
            }
            Special::Connect => {
                let at =
                    |values: &mut Self, place| values.values.argument(&target.arguments, place).map(|all| one(&all));
                let (port, host) = (at(self, 0).unwrap_or_default(), at(self, 1));
                let named = self.values.option(&target.arguments, "host").map(|values| one(&values));
                let address = match host.filter(|_| port.parse::<u16>().is_ok()) {
                    Some(host) => format!("{host}:{port}"),
                    None => named.unwrap_or_else(|| UNKNOWN_SPAN.to_string()),
                };
                self.emit("connect", address, false, Detail::None, name);
            }
            Special::Request => self.request(name, target),
            Special::Kill => self.kill(name, target),
            Special::Inside => self.inside(name, target),
            Special::Open => self.open(name, target),
            Special::Module => self.module(name, target),
            Special::Temporary => {
                for begin in self.texts(target, 0) {
                    self.emit("create", begin + &UNKNOWN_SPAN.to_string(), false, Detail::None, name);
                }
            }
            // only their results matter
            Special::Require
            | Special::Environment
            | Special::Variable
            | Special::Text
            | Special::Identity
            | Special::Join
            | Special::Resolve
            | Special::Dirname
            | Special::Basename
            | Special::UrlPath
            | Special::Characters
            | Special::Decode
            | Special::Data
            | Special::Buffer => {}
        }
    }

    /// Modules that are loaded by their names.
    fn module(&mut self, name: &str, target: &Target<'p>) {
        for module in self.texts(target, 0) {
            let plain = !module.contains(UNKNOWN_SPAN) && matches!(name, "require" | "import");
            if module.starts_with(['.', '/']) && plain && !module.contains(['?', '#', '%']) {
                let path = self.values.program.units.get(target.unit).map_or("", |unit| unit.path.as_str());
                let near = if module.starts_with('.') && !path.is_empty() { super::folder(path) } else { "" };
                let path = if near.is_empty() { module } else { format!("{near}/{module}") };
                self.emit("scriptfile:js", path, false, Detail::None, name);
            } else if module.contains(UNKNOWN_SPAN) && module.ends_with(".json") {
                // data, wherever it is
            } else if module.contains(UNKNOWN_SPAN) {
                self.unknown("a module whose name is not constant");
            } else if !self.values.table.is_own(&module) {
                self.unknown(&self.values.table.module(&module));
            }
        }
    }

    fn texts(&mut self, target: &Target<'p>, at: usize) -> Vec<String> {
        let values = self.values.argument(&target.arguments, at);
        values.map_or(vec![UNKNOWN_SPAN.to_string()], |values| values.iter().map(Value::show).collect())
    }

    /// A command line of the shell.
    fn command(&mut self, name: &str, target: &Target<'p>) {
        for text in self.texts(target, 0) {
            self.run(text, name, target);
        }
    }

    /// A program, its arguments in a list, and options.
    fn program(&mut self, name: &str, target: &Target<'p>) {
        let shell = self.values.option(&target.arguments, "shell").unwrap_or_else(|| vec![Value::Truth(false)]);
        let is_true = |value: &Value<'_>| match value {
            Value::Truth(truth) => *truth,
            Value::Text(shell) => !shell.is_empty(),
            _ => false,
        };
        let with_shell = !shell.iter().all(|value| matches!(value, Value::Truth(false)));
        let without = !shell.iter().all(is_true);
        let mut lines = Vec::new();
        for program in self.texts(target, 0) {
            for rest in self.lists(target, 1) {
                let words = [vec![program.clone()], rest].concat();
                lines.extend(without.then(|| words.iter().map(|word| quote(word)).collect::<Vec<String>>().join(" ")));
                lines.extend(with_shell.then(|| words.join(" ")));
            }
        }
        lines.into_iter().for_each(|line| self.run(line, name, target));
    }

    /// The lists that an argument may be; without it, or for an object, an empty one.
    fn lists(&mut self, target: &Target<'p>, at: usize) -> Vec<Vec<String>> {
        let values = self.values.argument(&target.arguments, at).unwrap_or_default();
        let mut all = Vec::new();
        for value in values {
            match value {
                Value::List(items) => {
                    let lists = self.values.words(items);
                    if lists.iter().any(|words| matches!(words.as_slice(), [word] if word.starts_with(UNKNOWN_SPAN))) {
                        self.unknown("arguments of a program that are not constant");
                    }
                    all.extend(lists);
                }
                Value::Record(_) | Value::Function(_) => all.push(Vec::new()),
                _ => {
                    self.unknown("arguments of a program that are not constant");
                    all.push(vec![UNKNOWN_SPAN.to_string()]);
                }
            }
        }
        if all.is_empty() { vec![Vec::new()] } else { all }
    }

    /// A list of the program and its arguments, or an object that names it.
    fn words(&mut self, name: &str, target: &Target<'p>) {
        let mut lines = Vec::new();
        for value in self.values.argument(&target.arguments, 0).unwrap_or_else(|| vec![Value::Unknown]) {
            match value {
                Value::List(items) => lines.extend(self.values.words(items)),
                Value::Record(_) => {
                    for list in self.values.option(&target.arguments, "cmd").unwrap_or_else(|| vec![Value::Unknown]) {
                        match list {
                            Value::List(items) => lines.extend(self.values.words(items)),
                            _ => lines.push(vec![UNKNOWN_SPAN.to_string()]),
                        };
                    }
                }
                // `new Deno.Command("git", { args: [...] })`
                Value::Text(program) => {
                    let lists = self.values.option(&target.arguments, "args");
                    for list in lists.unwrap_or_else(|| vec![Value::Plain]) {
                        let rest = match list {
                            Value::List(items) => self.values.words(items),
                            Value::Plain | Value::Absent | Value::Truth(_) => vec![Vec::new()],
                            _ => {
                                self.unknown("arguments of a program that are not constant");
                                vec![vec![UNKNOWN_SPAN.to_string()]]
                            }
                        };
                        lines.extend(rest.into_iter().map(|rest| [vec![program.to_string()], rest].concat()));
                    }
                }
                _ => lines.push(vec![UNKNOWN_SPAN.to_string()]),
            }
        }
        for words in lines {
            let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
            self.run(line, name, target);
        }
    }

    /// Reports a command line, with the folder, environment and input that the options name.
    fn run(&mut self, line: String, name: &str, target: &Target<'p>) {
        let mut line = line;
        if name != "Bun.$" && self.values.vague_options(&target.arguments) {
            self.unknown(&format!("options of {name} that are not constant"));
        }
        if self.values.option(&target.arguments, "execPath").is_some() {
            self.unknown(&format!("the program of {name}"));
        }
        let plain = |values: &[Value<'_>]| {
            values.iter().all(|value| match value {
                Value::Text(text) => matches!(&**text, "inherit" | "ignore" | "pipe" | "null" | "overlapped"),
                Value::Plain | Value::Absent | Value::Truth(_) => true,
                _ => false,
            })
        };
        let stdin = self.values.option(&target.arguments, "stdin").filter(|values| !plain(values));
        let stdio = self.values.option(&target.arguments, "stdio").filter(|values| !plain(values));
        let handed = stdio.is_some_and(|values| {
            values.iter().any(|value| match value {
                Value::List(items) => {
                    let elements = self.values.elements(*items);
                    !elements.iter().all(|value| {
                        plain(std::slice::from_ref(value)) || matches!(value, Value::Text(text) if text.len() == 1)
                    })
                }
                value => !plain(std::slice::from_ref(value)),
            })
        });
        let other = (stdin.is_some() || handed).then(|| vec![Value::Unknown]);
        let input = self.values.option(&target.arguments, "input").or(other).or_else(|| {
            let piped = self.values.program.pipes && !matches!(self.values.option(&target.arguments, "stdio"),
                Some(values) if matches!(values.as_slice(), [Value::Text(text)] if matches!(&**text, "inherit" | "ignore")));
            piped.then(|| vec![Value::Unknown])
        });
        if let Some(input) = input {
            line = format!("printf %s {} | {line}", quote(&one(&input)));
        }
        for (key, value) in self.variables(target) {
            line = format!("export {key}={}; {line}", quote(&value));
        }
        if let Some(folders) = self.values.option(&target.arguments, "cwd") {
            for folder in folders {
                let folder = super::effects::path_of(folder.show());
                let line = if folder == "." { line.clone() } else { format!("cd {} && {line}", quote(&folder)) };
                self.emit("script:bash", line, false, Detail::None, name);
            }
            return;
        }
        self.emit("script:bash", line, false, Detail::None, name);
    }

    /// Variables that the options set for a program.
    fn variables(&mut self, target: &Target<'p>) -> Vec<(String, String)> {
        let (mut all, mut seen) = (Vec::new(), HashSet::default());
        let mut open = self.values.option(&target.arguments, "env").unwrap_or_default();
        while let Some(value) = open.pop() {
            match value {
                Value::Record(items) if seen.insert(items.place) => {
                    for (key, value) in items.all {
                        match key {
                            Expression::Text(key) => all.push((key.to_string(), one(&self.values.settled(value)))),
                            Expression::Spread(_) => open.extend(self.values.of(value)),
                            _ => open.push(Value::Unknown),
                        }
                    }
                    open.extend(self.values.merged_into(items.place));
                }
                Value::Record(_) | Value::Plain | Value::Absent | Value::Truth(_) => {}
                // the environment of this process
                Value::Outside(name) if matches!(&*name, "process.env" | "Bun.env" | "undefined") => {}
                _ => self.unknown("environment variables of a program that are not constant"),
            }
        }
        all
    }

    /// A request to a URL; options name its method.
    fn request(&mut self, name: &str, target: &Target<'p>) {
        let method = self.values.option(&target.arguments, "method");
        let looks = |value: &Value<'p>| matches!(value, Value::Text(text) if matches!(text.to_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS"));
        let unknown_options = (1..target.arguments.len()).any(|at| {
            let values = self.values.argument(&target.arguments, at).unwrap_or_default();
            values.iter().any(|value| matches!(value, Value::Unknown))
        });
        let sends = match method {
            Some(values) => !values.iter().all(looks),
            None => unknown_options && !name.ends_with(".get"),
        };
        let verb = if sends { "send:url" } else { "connect:url" };
        for value in self.values.argument(&target.arguments, 0).unwrap_or_else(|| vec![Value::Unknown]) {
            let url = match value {
                Value::Record(_) => {
                    let mut part = |key: &str| self.values.option(&target.arguments, key).map(|values| one(&values));
                    let url = part("url");
                    let host = part("hostname").or_else(|| part("host"));
                    let path = part("path").unwrap_or_default();
                    let scheme = if name.starts_with("http.") { "http" } else { "https" };
                    url.or(host.map(|host| format!("{scheme}://{host}{path}"))).unwrap_or(UNKNOWN_SPAN.to_string())
                }
                value => value.show(),
            };
            self.emit(verb, url, false, Detail::None, name);
        }
    }

    /// A command whose folder is set after it is made.
    fn inside(&mut self, name: &str, target: &Target<'p>) {
        let folders = self.texts(target, 0);
        let Some(Value::Object(_, line)) = target.receiver.clone().filter(|_| !folders.is_empty()) else {
            return self.unknown("the folder of a command");
        };
        for folder in folders {
            match folder.contains(UNKNOWN_SPAN) {
                true => self.unknown("the folder of a command"),
                false => {
                    self.emit("script:bash", format!("cd {} && {line}", quote(&folder)), false, Detail::None, name)
                }
            }
        }
    }

    /// A signal to a process.
    fn kill(&mut self, name: &str, target: &Target<'p>) {
        let signal = self.values.argument(&target.arguments, 1).map_or("SIGTERM".to_owned(), |values| one(&values));
        if signal == "0" {
            return;
        }
        for value in self.values.argument(&target.arguments, 0).unwrap_or_else(|| vec![Value::Unknown]) {
            let own = matches!(&value, Value::Outside(name) if &**name == "process.pid");
            if !own {
                let detail = Detail::Attributes(vec![Attribute::Signal(signal.clone())]);
                self.emit("kill", value.show(), false, detail, name);
            }
        }
    }

    /// A file that is opened with flags.
    fn open(&mut self, name: &str, target: &Target<'p>) {
        let flags = self.values.argument(&target.arguments, 1).map_or("r".to_owned(), |values| one(&values));
        for path in self.texts(target, 0) {
            if flags.starts_with('r') || flags.contains('+') {
                self.emit("read", path.clone(), false, Detail::None, name);
            }
            if flags != "r" && flags != "rs" {
                self.emit(if flags.starts_with('a') { "append" } else { "write" }, path, false, Detail::None, name);
            }
        }
    }
}
