//! The commands of a script that run one program, as the arguments of its row.
//!
//! 1. Each option is an argument with its own name (`--env`, `-v`). It takes the next word, or what follows `=`, unless its
//!    schema has the type boolean. An option that is given several times, or whose schema has the type array, is a list. All
//!    other words are the argument `operands`, a list. A relative path whose schema has `below` is one in the working directory.
//! 2. Nothing is guessed. The program must stand at the beginning of a command of its own: not behind a pipe, in a wrapper,
//!    loop or function, with input from a file, with variables of its own, or with a word that the shell replaces.

use super::declared::Declared;
use super::schema::Arguments;
use crate::action::Action;
use crate::effect::shell::QUOTED;
use serde_json::{Map, Value, json};

/// The argument of a row that all words but options are.
const OPERANDS: &str = "operands";
/// Parts of the syntax tree that change what later commands see.
const CHANGES: [&str; 5] =
    ["variable_assignment", "variable_assignments", "declaration_command", "unset_command", "function_definition"];
/// Commands of the shell that do.
const BUILTINS: &str = ". source eval alias unalias set shopt exec trap hash enable builtin command printf read mapfile \
                        readarray getopts export declare local readonly typeset unset let umask ulimit env";
/// What the shell replaces in a word.
const REPLACED: &str = "*?[]{}~$`";

/// What a script runs, in normal form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script<'a> {
    /// The normal form of a shell command ([`crate::effect::normal`]).
    pub form: &'a Value,
    /// All commands with their words, as the reader of scripts found them; variables that it exports follow the words.
    pub commands: &'a [Vec<String>],
}

impl Script<'_> {
    /// The commands that run a program, each without the program itself.
    ///
    /// # Errors
    /// Why they cannot be told from others.
    pub(super) fn calls(&self, program: &str) -> Result<Vec<Vec<String>>, String> {
        let name = program.rsplit('/').next().unwrap_or(program);
        let run = self.form.pointer("/shell/run").and_then(Value::as_array);
        let run = run.ok_or_else(|| format!("the command that runs {name} could not be parsed"))?;
        if prepares(self.form) {
            return Err("the action also changes the environment in which it would run".to_owned());
        }
        let mut found = Vec::new();
        for part in run {
            plain(part, name, &mut found)?;
        }
        let own = |words: &&Vec<String>| words.first().is_some_and(|first| is_named(first, name));
        let known =
            |words: &Vec<String>| words.split_first().is_some_and(|(_, rest)| found.iter().any(|call| call == rest));
        if self.commands.iter().filter(own).any(|words| !known(words)) {
            return Err(format!("{name} is also run by a script, or with variables"));
        }
        if found.is_empty() { Err(format!("{name} is not run by a command of its own")) } else { Ok(found) }
    }

    /// The working directory; `None` if it changes in a way that is not followed. `cd /DIR && ...` is.
    pub(super) fn folder(&self) -> Option<String> {
        const MOVES: [&str; 3] = ["cd", "pushd", "popd"];
        let run = self.form.pointer("/shell/run").and_then(Value::as_array)?;
        let cwd = self.form.pointer("/shell/cwd").and_then(Value::as_str)?;
        if !mentions(self.form, &|word| MOVES.contains(&word)) {
            return Some(cwd.to_owned());
        }
        // a chain of which every part runs only if the one before it has succeeded
        let mut part = match run.as_slice() {
            [only] => only,
            _ => return None,
        };
        let mut later = Vec::new();
        while let Some([kind, first, and, next]) = part.as_array().map(Vec::as_slice)
            && kind == "list"
            && and == "&&"
        {
            later.push(next);
            part = first;
        }
        if part.get("beside").and_then(Value::as_array).is_none_or(|beside| !beside.is_empty()) {
            return None;
        }
        let words = part.get("words").or_else(|| part.get("raw")).and_then(Value::as_array)?;
        let texts = words.iter().map(|word| word.as_str().or_else(|| word.get("word")?.as_str()));
        let texts: Vec<&str> = texts.collect::<Option<_>>()?;
        let moved = match texts.as_slice() {
            ["cd", folder] if !folder.starts_with('-') => constant(folder)?,
            _ => return None,
        };
        let again = later.iter().any(|part| mentions(part, &|word| MOVES.contains(&word)));
        let plain = !moved.split('/').any(|part| part == "..");
        let whole = if moved.starts_with('/') { moved } else { format!("{cwd}/{}", moved.trim_start_matches("./")) };
        (plain && !again).then_some(whole)
    }
}

/// How many words of a command are options, with their values, before its first operand.
pub(super) fn options_before(words: &[String], row: &Arguments) -> usize {
    let mut rest = words.iter();
    let mut count = 0;
    while let Some(word) = rest.next().filter(|word| word.starts_with('-') && word.len() > 1 && *word != "--") {
        let takes = !word.contains('=') && row.of(word).is_some_and(|schema| !is_switch(schema));
        count += 1 + usize::from(takes && rest.next().is_some());
    }
    count
}

/// Collects the calls of a program in a part of a script that runs once, with the input of the script.
fn plain(part: &Value, name: &str, found: &mut Vec<Vec<String>>) -> Result<(), String> {
    let hidden = |part: &Value| match mentions(part, &|word| {
        is_named(word.split('=').next().unwrap_or_default(), name) || word == "PATH" || word.starts_with("PATH=")
    }) {
        true => Err(format!("{name} is not run by a command of its own")),
        false => Ok(()),
    };
    match part {
        Value::Array(parts) => {
            let (kind, rest) = parts.split_first().unwrap_or((&Value::Null, &[]));
            let (first, others) = rest.split_first().unwrap_or((&Value::Null, &[]));
            match kind.as_str() {
                Some("list") => rest.iter().try_for_each(|part| plain(part, name, found)),
                Some("pipeline") => plain(first, name, found).and_then(|()| others.iter().try_for_each(hidden)),
                Some("redirected_statement") if others.iter().all(is_output) => plain(first, name, found),
                _ => hidden(part),
            }
        }
        Value::Object(command) => {
            let words = command.get("words").or_else(|| command.get("raw")).and_then(Value::as_array);
            let words = words.map(Vec::as_slice).unwrap_or_default();
            let text = |word: &Value| word.as_str().or_else(|| word.get("word")?.as_str()).map(str::to_owned);
            let Some(first) = words.first().and_then(text).filter(|first| is_named(first, name)) else {
                return hidden(part);
            };
            if command.get("beside").and_then(Value::as_array).is_some_and(|beside| !beside.is_empty()) {
                return Err(format!("{first} is run with variables or input of its own"));
            }
            let constant = words.iter().skip(1).map(|word| constant(&text(word)?));
            let all: Option<Vec<String>> = constant.collect();
            found.push(all.ok_or_else(|| "a part of the command is known only at run time".to_owned())?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A word without the marks of quoted characters; `None` if the shell would replace a part of it.
fn constant(word: &str) -> Option<String> {
    let mut found = String::with_capacity(word.len());
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            QUOTED => found.extend(chars.next()),
            c if REPLACED.contains(c) => return None,
            c => found.push(c),
        }
    }
    Some(found)
}

/// Whether a redirection sends output to a file or to another output.
fn is_output(redirection: &Value) -> bool {
    let parts = redirection.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |part: &Value| part.as_str().is_some_and(|part| matches!(part, ">" | ">>" | ">&" | "&>" | "&>>"));
    // the target may itself be a command, such as `> >(...)`
    let constant = parts.iter().all(|part| !part.is_array());
    constant && parts.first().is_some_and(|kind| kind == "file_redirect") && parts.iter().skip(1).any(text)
}

/// Whether a part of a script changes variables, names of commands or input for what comes after it, or runs a command
/// whose name is not constant.
fn prepares(part: &Value) -> bool {
    match part {
        Value::Array(parts) => {
            let kind = parts.first().and_then(Value::as_str);
            kind.is_some_and(|kind| CHANGES.contains(&kind)) || parts.iter().any(prepares)
        }
        Value::Object(fields) => {
            let words = fields.get("words").or_else(|| fields.get("raw")).and_then(Value::as_array);
            let first = words.and_then(|words| words.first());
            let name = first.map(|first| first.as_str().or_else(|| first.get("word")?.as_str()));
            let known = |name: Option<&str>| name.is_some_and(|name| !BUILTINS.split(' ').any(|word| word == name));
            name.is_some_and(|name| !known(name)) || fields.values().any(prepares)
        }
        _ => false,
    }
}

/// Whether a part of a script has such a word.
fn mentions(part: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match part {
        Value::String(text) => text.split_whitespace().any(|word| test(word.trim_matches(['\'', '"']))),
        Value::Array(parts) => parts.iter().any(|part| mentions(part, test)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, test)),
        _ => false,
    }
}

/// Whether a word is the name of a program, or a path that ends with it.
fn is_named(word: &str, name: &str) -> bool {
    word.rsplit('/').next() == Some(name)
}

/// The arguments of a command; `words` follow its program and subcommand.
///
/// # Errors
/// Why they cannot be told apart.
pub(super) fn arguments(words: &[String], row: &Arguments, folder: Option<&str>) -> Result<Value, String> {
    let (mut found, mut operands) = (Map::new(), Vec::new());
    let part = |key: &str| row.of(OPERANDS).and_then(|schema| schema.get(key));
    let operand = |word: &String, place: usize| {
        let own = part("prefixItems").and_then(|all| all.get(place));
        typed(word, own.or_else(|| part("items")), folder)
    };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            for word in rest.by_ref() {
                operands.push(operand(word, operands.len()));
            }
            break;
        }
        if !word.starts_with('-') || word == "-" {
            operands.push(operand(word, operands.len()));
            continue;
        }
        let (name, glued) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let Some(schema) = row.of(name) else { return Err(format!("the option {name} is not described")) };
        let value = match (is_switch(schema), glued) {
            (true, None) => json!(true),
            (true, Some(_)) => return Err(format!("the option {name} takes no value")),
            (false, Some(value)) => typed(value, Some(schema), folder),
            (false, None) => match rest.next() {
                Some(value) => typed(value, Some(schema), folder),
                None => return Err(format!("the option {name} has no value")),
            },
        };
        let list = schema.get("type").and_then(Value::as_str) == Some("array");
        match found.get_mut(name) {
            None if list => drop(found.insert(name.to_owned(), json!([value]))),
            None => drop(found.insert(name.to_owned(), value)),
            Some(Value::Array(all)) => all.push(value),
            Some(one) => *one = json!([one.take(), value]),
        }
    }
    if !operands.is_empty() {
        found.insert(OPERANDS.to_owned(), Value::Array(operands));
    }
    Ok(Value::Object(found))
}

/// Whether an option takes no value.
fn is_switch(schema: &Value) -> bool {
    let listed = schema.get("enum").and_then(Value::as_array);
    schema.get("type").and_then(Value::as_str) == Some("boolean")
        || listed.is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_boolean))
}

/// The commands of a recorded action that run a program, each without the program itself; none if they cannot be told from
/// others.
pub(crate) fn runs(action: &Action, program: &str) -> Vec<Vec<String>> {
    let form = crate::effect::normal(action, "/");
    Script { form: &form, commands: &[] }.calls(program).unwrap_or_default()
}

/// The arguments of a command without a row. An option that is not declared takes the next word, unless that is an option.
pub(crate) fn loose(words: &[String], declared: Option<&Declared>) -> Value {
    let of = |name: &str| declared.and_then(|declared| declared.properties.get(name));
    let (mut found, mut operands) = (Map::new(), Vec::new());
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') || word == "-" {
            operands.push(json!(word));
            continue;
        }
        let (name, glued) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let takes = match of(name) {
            Some(schema) => !is_switch(schema),
            None => rest.peek().is_some_and(|next| !next.starts_with('-')),
        };
        let value = match glued {
            Some(value) => Some(value.to_owned()),
            None if takes => rest.next().cloned(),
            None => None,
        };
        let number = value
            .as_ref()
            .and_then(|value| value.parse::<serde_json::Number>().ok().filter(|n| n.to_string() == *value));
        let value = number.map(Value::Number).or(value.map(Value::String)).unwrap_or(json!(true));
        match found.get_mut(name) {
            None => drop(found.insert(name.to_owned(), value)),
            Some(Value::Array(all)) => all.push(value),
            Some(one) => *one = json!([one.take(), value]),
        }
    }
    if !operands.is_empty() {
        found.insert(OPERANDS.to_owned(), Value::Array(operands));
    }
    Value::Object(found)
}

/// Whether a word is a relative path and nothing else that a program could make of it.
fn is_relative(word: &str) -> bool {
    !word.starts_with(['/', '-', '@', '~']) && !word.contains([':', '=', ',', '@'])
}

/// A word as the value that its schema is about: a number, or a path. A list has the schema of its items.
fn typed(word: &str, schema: Option<&Value>, folder: Option<&str>) -> Value {
    let kind = |schema: &Value| schema.get("type").and_then(Value::as_str).map(str::to_owned);
    let schema = match schema {
        Some(schema) if kind(schema).as_deref() == Some("array") => schema.get("items"),
        other => other,
    };
    let Some(schema) = schema else { return json!(word) };
    if let (Some(folder), true) = (folder, schema.get("below").is_some() && is_relative(word)) {
        return json!(format!("{}/{}", folder.trim_end_matches('/'), word.trim_start_matches("./")));
    }
    let number = word.parse::<serde_json::Number>().ok().filter(|number| number.to_string() == word);
    match (kind(schema).as_deref(), number) {
        (Some("number" | "integer"), Some(number)) => Value::Number(number),
        _ => json!(word),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn calls(command: &str) -> Result<Vec<Vec<String>>, String> {
        let action = Action::Shell { command: command.to_owned(), cwd: Some("/w".into()) };
        let form = crate::effect::normal(&action, "/home/user");
        Script { form: &form, commands: &[] }.calls("/opt/bin/frob")
    }

    #[test]
    fn only_commands_of_their_own_are_calls() {
        for command in ["frob a 'b c'", "ls && frob a 'b c'", "frob a 'b c' | head -3", "frob a \"b c\" > out.txt 2>&1"]
        {
            assert_eq!(calls(command), Ok(vec![vec!["a".to_owned(), "b c".to_owned()]]), "{command}");
        }
        assert_eq!(calls("/opt/bin/frob '*'; ./frob b"), Ok(vec![vec!["*".to_owned()], vec!["b".to_owned()]]));
        for command in [
            "cat x | frob a",
            "frob a < x",
            "X=1 frob a",
            "xargs frob a",
            "frob a; xargs frob < l",
            "frob a; alias frob=rm",
            "for i in 1 2; do frob a; done",
            "(frob a)",
            "bash -c 'frob a'",
            "frob $x",
            "frob *",
            "frob ~/x",
            "frob $(cat y)",
            "frob a <<< x",
            "PATH=/tmp; frob a",
            "export PATH=/tmp; frob a",
            "ls",
            "frob a; x=ob; fr$x b",
            "frob a; $'frob' b",
            "HOME=/tmp/evil; frob a",
            "export X=1; frob a",
            "unset HOME; frob a",
            "set -a; frob a",
            ". ./env.sh; frob a",
            "frob a > >(frob b)",
            "frob a > $(frob b)",
            "exec <&3; frob a",
            "f() { $1 b; }; frob a",
        ] {
            assert!(calls(command).is_err(), "{command}: {:?}", calls(command));
        }
    }

    #[test]
    fn words_become_arguments_by_their_schemas() {
        let row = "--env = { enum = ['dev'] }\n--force = { type = 'boolean' }\n-n = { type = 'integer' }\n\
                   --tag = { type = 'array', items = { type = 'string' } }\n\
                   operands = { type = 'array', items = { below = ['/w'] } }";
        let row = Arguments::new(&toml::from_str(row).unwrap(), &[]).unwrap();
        let of = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            arguments(&words, &row, Some("/w"))
        };
        let expected =
            json!({"--env": "dev", "--force": true, "-n": 3, "--tag": ["a", "b"], "operands": ["/w/x", "-y"]});
        assert_eq!(of("--env=dev --force -n 3 --tag a --tag b ./x -- -y"), Ok(expected));
        for bad in ["--force=1", "--env", "-z", "--forc"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
