//! The draft of a row: a TOML text for a person to read and change.

use super::declared::Declared;
use super::guess::{ALWAYS, Guess, declared_only, distinct, guess};
use super::row::{Row, Subject};
use crate::policy::Source;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Most calls that become examples.
const EXAMPLES: usize = 12;

/// What a draft of the row of a tool is made from.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub subject: Subject,
    /// Arguments of approved calls.
    pub approved: Vec<&'a Value>,
    /// Arguments of calls that were reported or rejected.
    pub reported: Vec<&'a Value>,
    pub declared: Option<Declared>,
    /// The words of commands, by their arguments.
    pub spelled: &'a [(Value, Vec<String>)],
}

/// A draft of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub text: String,
    /// The reported calls that the row would let pass: their arguments are those of approved calls.
    pub alike: usize,
}

impl Seen<'_> {
    /// The row that describes the approved calls and none of the reported ones.
    pub fn draft(&self) -> Draft {
        let none = Value::Object(Map::new());
        let objects = self.approved.iter().map(|value| if value.is_null() { &none } else { *value });
        let approved: Vec<&Value> = objects.filter(|value| value.is_object()).collect();
        let mut arguments = self.arguments(&approved);
        let mut text = self.text(&arguments, &approved, &[]);
        // of what a reported call differs in, only the approved values
        for reported in &self.reported {
            let values = |name: &str| approved.iter().filter_map(|call| call.get(name)).collect::<Vec<_>>();
            // first what has few values: it says what the call does
            let mut names: Vec<String> = arguments.keys().cloned().collect();
            names.sort_by_key(|name| distinct(&values(name)).len());
            for name in names {
                if !describes(&text, reported) {
                    break;
                }
                let values = values(&name);
                let other = reported.get(&name).is_some_and(|value| !values.contains(&value));
                if other && let Some(argument) = arguments.get_mut(&name) {
                    argument.schema = Map::from_iter([("enum".to_owned(), Value::Array(distinct(&values)))]);
                    "only approved values, because a call with another one was reported".clone_into(&mut argument.note);
                    text = self.text(&arguments, &approved, &[]);
                }
            }
        }
        let (alike, told): (Vec<&Value>, Vec<&Value>) =
            self.reported.iter().copied().partition(|reported| describes(&text, reported));
        Draft { text: self.text(&arguments, &approved, &told), alike: alike.len() }
    }

    fn arguments(&self, approved: &[&Value]) -> BTreeMap<String, Guess> {
        let mut seen: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        let given = approved.iter().filter_map(|call| call.as_object()).flatten();
        for (name, value) in given.filter(|(_, value)| !value.is_null()) {
            seen.entry(name.clone()).or_default().push(value);
        }
        let declared = |name: &str| self.declared.as_ref().and_then(|all| all.properties.get(name));
        seen.into_iter()
            .map(|(name, values)| {
                let found = guess(&values, declared(&name).unwrap_or(&Value::Null));
                (name, found)
            })
            .collect()
    }

    /// The arguments that every call has, except those for which the tool declares a default.
    fn required(&self, approved: &[&Value]) -> Vec<String> {
        let mut always: Option<Vec<String>> = None;
        for call in approved.iter().filter_map(|call| call.as_object()) {
            let has = |name: &String| call.get(name).is_some_and(|value| !value.is_null());
            always = Some(match always {
                None => call.keys().filter(|name| has(name)).cloned().collect(),
                Some(always) => always.into_iter().filter(has).collect(),
            });
        }
        let keeps = |name: &String| match &self.declared {
            Some(declared) => {
                let default = declared.properties.get(name).is_some_and(|schema| schema.get("default").is_some());
                declared.required.contains(name) || (approved.len() >= ALWAYS && !default)
            }
            None => approved.len() >= ALWAYS,
        };
        always.unwrap_or_default().into_iter().filter(keeps).collect()
    }

    fn text(&self, arguments: &BTreeMap<String, Guess>, approved: &[&Value], told: &[&Value]) -> String {
        let mut text = String::new();
        let _ = self.head(&mut text, approved);
        let required = self.required(approved);
        if !required.is_empty() {
            let _ = writeln!(text, "required = {}", inline(&Value::from(required)).unwrap_or_default());
        }
        for (name, argument) in arguments {
            let note =
                if argument.note.is_empty() { String::new() } else { format!("# {}\n", one_line(&argument.note)) };
            let _ = write!(text, "\n[arguments.{}]\n{note}{}", key(name), lines(&argument.schema, ""));
        }
        let unseen = self.declared.iter().flat_map(|all| &all.properties);
        for (name, schema) in unseen.filter(|(name, _)| !arguments.contains_key(*name)) {
            let schema = lines(&declared_only(schema), "# ");
            let _ = write!(text, "\n# declared, never approved:\n# [arguments.{}]\n{schema}", key(name));
        }
        let mut kept: Vec<&Value> = Vec::new();
        for call in approved.iter().take(EXAMPLES * 4) {
            if kept.len() < EXAMPLES && !kept.contains(call) {
                kept.push(call);
            }
        }
        let examples =
            kept.into_iter().map(|call| (true, call)).chain(told.iter().take(EXAMPLES).map(|call| (false, *call)));
        for (passes, call) in examples {
            let spelled = self.spelled.iter().find(|(arguments, _)| arguments == call);
            let example = match &self.subject {
                Subject::Tool { .. } => inline(call).map(|arguments| format!("arguments = {arguments}")),
                Subject::Program { words, .. } => spelled.map(|(_, command)| {
                    let whole: Vec<&String> = words.iter().chain(command).collect();
                    format!("command = {}", inline(&serde_json::json!(whole)).unwrap_or_default())
                }),
            };
            if let Some(example) = example {
                let _ = write!(text, "\n[[examples]]\npasses = {passes}\n{example}\n");
            }
        }
        text
    }

    fn head(&self, text: &mut String, approved: &[&Value]) -> std::fmt::Result {
        let named = match &self.subject {
            Subject::Tool { server: Some(server), tool } => format!("tool {tool} of {server}"),
            Subject::Tool { server: None, tool } => format!("tool {tool}"),
            Subject::Program { path, words } => format!("program {path} {}", words.join(" ")).trim_end().to_owned(),
        };
        let declared = if self.declared.is_some() { " and what it declares" } else { "" };
        writeln!(text, "# In-house {}, drafted from {} approved calls{declared}.", one_line(&named), approved.len())?;
        writeln!(
            text,
            "# The guard no longer asks about a call that fits; it asks about every other one. The arguments are"
        )?;
        writeln!(text, "# JSON Schema: widen or narrow them by hand.")?;
        match &self.subject {
            Subject::Tool { server, tool } => {
                if let Some(server) = server {
                    writeln!(text, "server = {}", quoted(server))?;
                }
                writeln!(text, "tool = {}", quoted(tool))?;
                let reads = self.declared.as_ref().is_some_and(|declared| declared.only_reads);
                let says = if reads { "the tool says that it only reads; " } else { "" };
                writeln!(text, "# {says}say what it does if you know: read, write, send, pay or delete")?;
                writeln!(text, "# does = \"read\"")
            }
            Subject::Program { path, words } => {
                writeln!(text, "program = {}", quoted(path))?;
                writeln!(text, "words = {}", inline(&Value::from(words.clone())).unwrap_or_default())?;
                writeln!(text, "# needed if the account of the agent can change the program: the SHA-256 of its file")?;
                writeln!(text, "# digest = \"...\"")
            }
        }
    }
}

/// Whether the row of a text describes a call.
pub(crate) fn describes(text: &str, arguments: &Value) -> bool {
    let source = Source { file: String::new(), text: text.to_owned(), examples: None, organisation: false };
    Row::parse(&source).is_ok_and(|row| row.describes(arguments).is_ok())
}

/// The keywords of a schema, one per line.
fn lines(schema: &Map<String, Value>, before: &str) -> String {
    let mut text = String::new();
    for (keyword, value) in schema {
        if let Some(value) = inline(value) {
            let _ = writeln!(text, "{before}{} = {value}", key(keyword));
        }
    }
    text
}

/// A value as TOML on one line; `None` if TOML has none.
fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(all) => {
            let each: Option<Vec<String>> = all.iter().map(inline).collect();
            Some(format!("[{}]", each?.join(", ")))
        }
        Value::Object(fields) => {
            let each = fields.iter().map(|(name, value)| Some(format!("{} = {}", key(name), inline(value)?)));
            let each: Vec<String> = each.collect::<Option<_>>()?;
            Some(if each.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", each.join(", ")) })
        }
        Value::String(text) => Some(quoted(text)),
        other => toml::Value::try_from(other).ok().map(|value| value.to_string()),
    }
}

/// A text in quotes on one line.
fn quoted(text: &str) -> String {
    // a JSON string is a TOML basic string, but for the character that JSON does not escape
    serde_json::to_string(text).unwrap_or_default().replace('\u{7f}', "\\u007f")
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if bare { name.to_owned() } else { quoted(name) }
}

/// A text for a comment.
fn one_line(text: &str) -> String {
    crate::untrusted::visible(text).replace(['\n', '\r'], " ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    fn drafted(approved: &[Value], reported: &[Value], definition: Value) -> Draft {
        let declared = Declared::find(&definition, "t");
        let subject = Subject::Tool { server: Some("s".to_owned()), tool: "t".to_owned() };
        let (approved, reported) = (approved.iter().collect(), reported.iter().collect());
        Seen { subject, approved, reported, declared, spelled: &[] }.draft()
    }

    #[test]
    fn draft_covers_approved_calls_and_others_of_their_kind() {
        let definition = json!({"name": "t", "inputSchema": {"properties": {
            "id": {"type": "string", "pattern": "^A-[0-9]+$"}, "state": {"enum": ["open", "done", "purged"]},
            "count": {"type": "integer", "minimum": 0, "maximum": 50}, "deep": {"type": "boolean"}}, "required": ["id"]}});
        let approved = [
            json!({"id": "A-1", "state": "open", "to": "ann@acme.example", "file": "/srv/app/in/a.csv"}),
            json!({"id": "A-2", "state": "done", "count": 7, "url": "https://wiki.acme.example/x"}),
            json!({"id": "A-3", "note": "Two words, \"quoted\"\nand a line", "tags": ["a"], "o": {"x": 1.5}}),
        ];
        let Draft { text, alike } = drafted(&approved, &[json!({"id": "A-4", "state": "purged"})], definition);
        assert_eq!(alike, 0, "{text}");
        for call in &approved {
            assert!(describes(&text, call), "{call}\n{text}");
        }
        for call in [
            json!({"id": "A-77", "count": 50}),
            json!({"id": "A-1", "to": "bob@acme.example", "file": "/srv/app/in/b.csv", "url": "https://wiki.acme.example/y"}),
            json!({"id": "A-1", "note": "Other words.", "tags": ["a"]}),
        ] {
            assert!(describes(&text, &call), "{call}\n{text}");
        }
        for call in [
            json!({"state": "open"}),
            json!({"id": "A-1; rm"}),
            json!({"id": "A-1", "state": "purged"}),
            json!({"id": "A-1", "count": 51}),
            json!({"id": "A-1", "deep": true}),
            json!({"id": "A-1", "to": "eve@evil.example"}),
            json!({"id": "A-1", "file": "/etc/passwd"}),
            json!({"id": "A-1", "url": "https://evil.example/"}),
            json!({"id": "A-1", "tags": ["a", "b"]}),
            json!({"id": "A-1", "tags": ["b"]}),
            json!({"id": "A-1", "o": {"x": 1.5, "y": 1}}),
            json!({"id": "A-1", "more": 1}),
        ] {
            assert!(!describes(&text, &call), "{call}\n{text}");
        }
        assert!(text.contains("# declared, never approved:\n# [arguments.deep]"), "{text}");
        assert!(text.contains("declared, never approved: \"purged\""), "{text}");
    }

    #[test]
    fn reported_call_narrows_the_draft() {
        let approved = [json!({"id": "a-1"}), json!({"id": "a-2"})];
        let Draft { text, alike } = drafted(&approved, &[json!({"id": "a-3"}), json!({"id": "a-1"})], json!({}));
        assert_eq!(alike, 1);
        assert!(describes(&text, &approved[0]) && !describes(&text, &json!({"id": "a-3"})), "{text}");
    }

    #[test]
    fn hostile_names_and_values_stay_data() {
        let approved = [json!({"a\"]\nx = 1": "'''\n[arguments.b]\u{1b}[2J", "c": "\u{7f}"}), Value::Null, json!([1])];
        let Draft { text, .. } = drafted(
            &approved,
            &[],
            json!({"name": "t", "inputSchema": {"properties": {"z\n[q]": {"type": "string"}}}}),
        );
        let source = Source { file: "t.toml".to_owned(), text: text.clone(), examples: None, organisation: false };
        assert!(Row::parse(&source).is_ok(), "{:?}\n{text}", Row::parse(&source).err());
        assert!(describes(&text, &approved[0]) && !text.contains('\u{1b}'), "{text}");
    }
}
