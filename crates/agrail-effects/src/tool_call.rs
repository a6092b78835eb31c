//! Effects of a tool call, derived from the words of the tool's name.
//!
//! 1. The name determines the class of the call: `delete_file`, `SendMessage`, `searchFlights`. The gravest of its
//!    words decides. A description or an annotation of the tool is not used: its author controls it.
//! 2. If a tool runs commands or code, the parser of that language reads them.
//! 3. A name that reveals nothing is a call of unknown effect ([`Verb::Call`]); it is never dropped.
//! 4. A tool that works on files is judged by its effects on them (`file.rs`).
//! 5. A call that names no tool has no effect: agents that are done sometimes send one.

use super::file;
use super::shell::Reading;
use super::{Cause, Effect, Target, Verb};
use crate::Kind;
use crate::words::words;
use serde_json::Value;
use std::borrow::Cow;

/// Most strings of the arguments that are examined.
pub const STRINGS: usize = 2_000;

/// Words of tool names and their classes, gravest first.
const CLASSES: &[(Verb, &str, &[&str])] = &[
    (Verb::Schedule, "", &["cron", "crontab", "wakeup", "cronjob"]),
    (Verb::Call, "code", &["bash", "shell", "terminal", "exec", "execute", "eval", "powershell", "subprocess"]),
    (
        Verb::Send,
        "payment",
        &[
            "pay", "payment", "transfer", "withdraw", "deposit", "purchase", "buy", "sell", "donate", "wire", "refund",
            "invest", "trade", "money",
        ],
    ),
    (
        Verb::Write,
        "access",
        &[
            "grant",
            "permit",
            "authorize",
            "permission",
            "permissions",
            "password",
            "credential",
            "credentials",
            "unlock",
            "disarm",
            "role",
            "revoke",
            "ban",
            "invite",
        ],
    ),
    (
        Verb::Delete,
        "",
        &[
            "delete",
            "remove",
            "cancel",
            "erase",
            "clear",
            "drop",
            "wipe",
            "purge",
            "unsubscribe",
            "terminate",
            "destroy",
            "uninstall",
            "discard",
        ],
    ),
    (
        Verb::Send,
        "message",
        &[
            "send",
            "post",
            "publish",
            "share",
            "forward",
            "reply",
            "tweet",
            "notify",
            "submit",
            "upload",
            "broadcast",
            "dm",
            "comment",
            "respond",
        ],
    ),
    (
        Verb::Write,
        "",
        &[
            "create",
            "add",
            "update",
            "set",
            "edit",
            "modify",
            "write",
            "save",
            "schedule",
            "reschedule",
            "book",
            "reserve",
            "make",
            "register",
            "rename",
            "move",
            "copy",
            "enable",
            "disable",
            "change",
            "manage",
            "control",
            "adjust",
            "append",
            "insert",
            "install",
            "configure",
            "order",
            "rent",
            "apply",
            "start",
            "stop",
            "open",
            "close",
            "lock",
            "turn",
            "play",
            "record",
            "mark",
            "import",
            "sync",
            "join",
            "leave",
            "follow",
            "accept",
            "decline",
            "approve",
            "reject",
            "assign",
            "deploy",
            "train",
            "generate",
            "upgrade",
            "put",
            "patch",
        ],
    ),
    (
        Verb::Read,
        "",
        &[
            "get",
            "read",
            "view",
            "check",
            "find",
            "fetch",
            "show",
            "retrieve",
            "describe",
            "count",
            "browse",
            "load",
            "track",
            "verify",
            "inspect",
            "info",
            "status",
            "download",
            "search",
            "query",
            "lookup",
            "list",
            "see",
            "access",
            "analyze",
            "calculate",
            "compute",
            "summarize",
            "export",
            "detect",
            "monitor",
            "scan",
            "look",
            "recommend",
            "suggest",
            "compare",
            "translate",
            "convert",
            "history",
            "details",
            "grep",
            "glob",
            "ls",
        ],
    ),
];

/// Arguments that contain commands or code of a tool, in lower case and without separators between words.
const SOURCES: [&str; 9] =
    ["command", "cmd", "script", "code", "source", "commands", "input", "commandline", "shellcommand"];
/// The ones that contain a command whatever the name of the tool.
const COMMANDS: [&str; 5] = ["command", "cmd", "script", "commandline", "shellcommand"];
/// Arguments that contain further words of a command.
const WORDS: [&str; 3] = ["args", "arguments", "argv"];

/// Text that a tool runs, by language.
pub(super) enum Runs<'a> {
    /// A shell command.
    Shell(Cow<'a, str>),
    /// Python source.
    Python(Cow<'a, str>),
}

/// Whether a call names no tool and has no arguments.
#[must_use]
pub fn nothing(tool: &str, arguments: &Value) -> bool {
    let given = match arguments {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.trim().is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    !given && matches!(tool.trim().to_ascii_lowercase().as_str(), "" | "none" | "null" | "n/a" | "no tool" | "no_tool")
}

/// The verb and the operation of a call, derived from its name.
#[must_use]
pub fn class(tool: &str) -> (Verb, &'static str) {
    let name = words(tool);
    let has = |list: &[&str]| name.iter().any(|word| list.contains(&word.as_str()));
    // a name whose first word only reads is a read: `get_scheduled_transactions`
    let looks = |(verb, _, list): &&(Verb, &'static str, &[&str])| {
        *verb == Verb::Read && name.first().is_some_and(|first| list.contains(&first.as_str()))
    };
    let class = CLASSES.iter().find(looks).or_else(|| CLASSES.iter().find(|(_, _, list)| has(list)));
    // `payments.create`, but not `payments.list`
    let pays =
        |word: &String| word.strip_suffix('s').is_some_and(|word| matches!(word, "payment" | "transfer" | "refund"));
    if class.is_some_and(|(verb, operation, _)| *verb == Verb::Write && operation.is_empty()) && name.iter().any(pays) {
        return (Verb::Send, "payment");
    }
    class.map_or((Verb::Call, ""), |(verb, operation, _)| (*verb, operation))
}

/// All texts that a tool runs; `None` if it runs nothing. An empty list means that the tool runs something but no text
/// was found, which is unknown.
pub(super) fn runs<'a>(tool: &str, arguments: &'a Value) -> Option<Vec<Runs<'a>>> {
    let name = words(tool);
    let class = class(tool);
    // a tool that edits a notebook runs nothing
    let notebook = class.0 == Verb::Call && name.iter().any(|w| w == "notebook");
    let python = notebook || name.iter().any(|w| w.starts_with("python") || w == "jupyter");
    let always = class.1 == "code" || python;
    let named = name.iter().any(|w| w == "run" || w == "command");
    // the name may reveal nothing while an argument is called `command`
    let keys = if always || named { &SOURCES[..] } else { &COMMANDS[..] };
    let of = |names: &[&str]| -> Vec<&'a Value> {
        let fields = arguments.as_object().into_iter().flatten();
        fields.filter(|(key, _)| names.contains(&file::plain(key).as_str())).map(|(_, value)| value).collect()
    };
    let more: Vec<&str> =
        of(&WORDS).into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
    let texts = |value: &'a Value| -> Vec<Cow<'a, str>> {
        match Some(value) {
            Some(Value::String(text)) if python || more.is_empty() => vec![text.into()],
            // the arguments are separate: once the program with all of them quoted, once the program alone
            Some(Value::String(text)) => {
                let words: Vec<String> = more.iter().map(|word| quoted(word)).collect();
                vec![format!("{text} {}", words.join(" ")).into(), text.into()]
            }
            Some(Value::Array(items)) => {
                // a list may contain several texts, or the words of one command
                let each: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                let whole = match python {
                    true => each.join("\n"),
                    false => each.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
                };
                let whole = (each.len() > 1).then_some(Cow::Owned(whole));
                each.into_iter().map(Cow::Borrowed).chain(whole).collect()
            }
            _ => Vec::new(),
        }
    };
    let found: Vec<Cow<'_, str>> = of(keys).into_iter().flat_map(texts).collect();
    (always || !found.is_empty())
        .then(|| found.into_iter().map(|text| if python { Runs::Python(text) } else { Runs::Shell(text) }).collect())
}

/// One quoted word for a shell, whatever its content.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The effects of a call: the call as one effect or its effects on files, and a connection for each URL among its
/// arguments.
pub(super) fn extract_effects(tool: &str, arguments: &Value, home: &str) -> Reading {
    if nothing(tool, arguments) {
        return Reading::default();
    }
    let (verb, operation) = class(tool);
    let files = file::file_effects(tool, (verb, operation), arguments, home);
    let mut effects = files.effects;
    if !files.whole {
        let mut effect = Effect::new(verb, Target::Named(Kind::Tool, tool.to_owned()), "tool_call");
        effect.operation = operation.to_owned();
        effects.insert(0, effect);
    }
    let statements = arguments.as_object().into_iter().flatten();
    for statement in statements.filter(|(key, _)| matches!(file::plain(key).as_str(), "sql" | "statement")) {
        effects.extend(statement.1.as_str().into_iter().flat_map(super::sql::extract_effects));
    }
    let texts = strings(arguments);
    if texts.len() >= STRINGS {
        effects.push(Effect::unknown(Cause::Budget, "the arguments", tool));
    }
    for text in texts {
        let address = text.trim();
        if ["http://", "https://"].iter().any(|s| address.get(..s.len()).is_some_and(|b| b.eq_ignore_ascii_case(s))) {
            effects.push(Effect::new(Verb::Connect, Target::Named(Kind::Url, address.to_owned()), "tool_call"));
        }
    }
    Reading { effects, steps: vec![format!("the name of the tool says {verb} {operation}")], ..Reading::default() }
}

/// The strings in the values of the arguments, and the numbers as text.
#[must_use]
pub fn strings(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![arguments];
    while let Some(value) = open.pop() {
        if found.len() >= STRINGS {
            break;
        }
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Number(number) => found.push(number.to_string()),
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(fields) => open.extend(fields.values().rev()),
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn gravest_word_decides_except_after_read_verb() {
        assert_eq!(class("delete_file").0, Verb::Delete);
        assert_eq!(class("createAndSendInvoice").0, Verb::Send);
        assert_eq!(class("get_scheduled_payments").0, Verb::Read);
        assert_eq!(class("ShopSearchProducts").0, Verb::Read);
        assert_eq!(class("payments.create"), (Verb::Send, "payment"));
        assert_eq!(class("payments.list").0, Verb::Read);
        assert_eq!(class("weather").0, Verb::Call);
    }

    #[test]
    fn commands_and_source_are_extracted() {
        let arguments = json!({"command": "ls"});
        let all = |tool: &str, arguments: &Value| runs(tool, arguments).unwrap_or_default().len();
        assert!(matches!(runs("run_bash", &arguments).as_deref(), Some([Runs::Shell(text)]) if text == "ls"));
        let python = json!({"code": "1"});
        assert!(matches!(runs("python_repl", &python).as_deref(), Some([Runs::Python(text)]) if text == "1"));
        assert_eq!(all("bash", &json!({"command": "ls", "script": "rm -r /etc"})), 2, "no text hides another");
        assert_eq!(all("bash", &json!({"commands": ["ls", "id"]})), 3);
        let words = json!({"command": ["rm", "-r", "#x", "it's"]});
        let found = runs("bash", &words).unwrap_or_default();
        assert!(matches!(found.last(), Some(Runs::Shell(text)) if text == r"'rm' '-r' '#x' 'it'\''s'"));
        assert!(runs("exec", &json!({"line": "rm -r /etc"})).is_some_and(|found| found.is_empty()));
        assert!(runs("send_mail", &json!({"text": "ls"})).is_none());
        assert_eq!(all("start_process", &json!({"command": "rm -r /etc"})), 1, "independent of the tool's name");
        assert_eq!(all("go", &json!({"commandLine": "rm -r /etc"})), 1);
        let apart = json!({"command": "bash", "args": ["-c", "rm -r /etc"]});
        let found = runs("execute_command", &apart).unwrap_or_default();
        assert!(matches!(found.first(), Some(Runs::Shell(text)) if text == "bash '-c' 'rm -r /etc'"));
    }

    #[test]
    fn strings_are_found_at_any_depth_and_bounded() {
        assert_eq!(strings(&json!({"a": ["x", {"b": 5}], "c": true})), ["x", "5"]);
        assert_eq!(strings(&json!(vec!["x"; 10_000])).len(), STRINGS);
        let mut deep = json!("x");
        for _ in 0..2_000 {
            deep = json!([deep]);
        }
        assert_eq!(strings(&deep), ["x"]);
    }
}
