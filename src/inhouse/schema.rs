//! The arguments of a row: a JSON Schema (draft 2020-12) with some keywords of its own.
//!
//! 1. `[arguments.NAME]` is the schema of one argument. What is not described is not allowed, at any depth.
//! 2. Own keywords, all about texts: `below` (folders: an absolute path in one of them), `hosts` (names: an `https` address of
//!    one of them; `*.` stands for any name before it, `http://` before a name admits `http`), `domains` (an address of mail
//!    of one of them), `like` (another value of the kind of one of these, as in widened approvals), `statement`
//!    (`"read"`: a database statement that only reads, `"condition"`: a condition on the rows of one table). Own format: `text`, words without addresses, code or statements.
//! 3. It is stricter than JSON Schema where a slip would let more pass: an unknown keyword or format is an error, a pattern
//!    has to be anchored and always covers the whole text, and a schema without a type has the one that its keywords are
//!    about.

use super::text;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

/// Keywords of JSON Schema by the type that they are about; those of the empty type are about any.
const KEYWORDS: [(&str, &str); 5] = [
    ("string", "pattern minLength maxLength format below hosts domains like statement"),
    ("number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
    ("array", "items prefixItems minItems maxItems uniqueItems"),
    ("object", "properties required additionalProperties"),
    ("", "type enum const anyOf oneOf title description default"),
];
const FORMATS: &str = "date time date-time email uuid uri ipv4 ipv6 hostname text";
/// Deepest nesting of a schema.
const DEPTH: usize = 16;
/// Largest compiled pattern, in bytes.
const PATTERN: usize = 1 << 20;
/// Most characters of what is said about one argument.
const SAID: usize = 240;
/// Most characters of a pattern that an error shows.
const PATTERN_SHOWN: usize = 80;
/// Most arguments that an error names.
const NAMED: usize = 3;

/// The described arguments.
#[derive(Debug)]
pub(super) struct Arguments {
    schema: Value,
    validator: Validator,
}

impl Arguments {
    /// Compiles the schemas of the arguments.
    pub(super) fn new(arguments: &Map<String, Value>, required: &[String]) -> Result<Self, String> {
        let mut properties = Map::new();
        for (name, schema) in arguments {
            properties.insert(name.clone(), strict(schema, name, DEPTH)?);
        }
        if let Some(name) = required.iter().find(|name| !properties.contains_key(*name)) {
            return Err(format!("'{name}' is required but not described; add [arguments.{name}]"));
        }
        let schema =
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let options = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN))
            .should_validate_formats(true)
            .with_format("text", |value: &str| text::is_plain(value))
            .with_keyword("below", keyword)
            .with_keyword("hosts", keyword)
            .with_keyword("domains", keyword)
            .with_keyword("like", keyword)
            .with_keyword("statement", keyword);
        let validator = options.build(&schema).map_err(|problem| format!("arguments: {problem}"))?;
        Ok(Self { schema, validator })
    }

    /// The whole schema.
    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    /// The schema of one argument.
    pub(super) fn of(&self, name: &str) -> Option<&Value> {
        self.schema.get("properties")?.get(name)
    }

    /// Whether all arguments are described; otherwise which are not, and why.
    pub(super) fn describe(&self, arguments: &Value) -> Result<(), String> {
        if self.validator.is_valid(arguments) {
            return Ok(());
        }
        let problems: Vec<String> = self.validator.iter_errors(arguments).take(NAMED).map(|e| said(&e)).collect();
        Err(if problems.is_empty() { "its arguments are not described".to_owned() } else { problems.join("; ") })
    }
}

/// The problem of one argument, without its value: that may be a secret, or long.
fn said(problem: &ValidationError<'_>) -> String {
    let shortened = |text: String| text.chars().take(SAID).collect::<String>();
    let place = problem.instance_path().to_string();
    let name = place.trim_start_matches('/').replace('/', ".");
    let says = match problem.kind() {
        ValidationErrorKind::Format { format } if format == "text" => {
            "the value is more than words: it has an address, a path, code or something invisible".to_owned()
        }
        ValidationErrorKind::Pattern { pattern } => {
            let own = pattern.strip_prefix("^(?:").and_then(|rest| rest.strip_suffix(")$")).unwrap_or(pattern);
            format!("the value does not match ^{}$", own.chars().take(PATTERN_SHOWN).collect::<String>())
        }
        _ => problem.masked_with("the value").to_string(),
    };
    shortened(if name.is_empty() { says } else { format!("{name}: {says}") })
}

/// The schema with a type, whole patterns and closed objects; an error names the argument.
fn strict(schema: &Value, name: &str, depth: usize) -> Result<Value, String> {
    let wrong = |problem: String| Err(format!("arguments.{name}: {problem}"));
    let Some(fields) = schema.as_object() else { return wrong("it must be a table of keywords".to_owned()) };
    if depth == 0 {
        return wrong("it is nested too deeply".to_owned());
    }
    let mut found = fields.clone();
    let mut about = None;
    for (keyword, value) in fields {
        let Some((kind, _)) = KEYWORDS.iter().find(|(_, words)| words.split(' ').any(|word| word == keyword)) else {
            return wrong(format!("unknown keyword '{keyword}'"));
        };
        if !kind.is_empty() {
            about = about.or(Some(*kind));
        }
        if let Some(problem) = slip(keyword, value) {
            return wrong(problem);
        }
        let inner = |value: &Value, part: &str| strict(value, &format!("{name}.{part}"), depth - 1);
        let stricter = match (keyword.as_str(), value) {
            ("pattern", Value::String(pattern)) => json!(whole(pattern)),
            ("items" | "additionalProperties", Value::Object(_)) => inner(value, keyword)?,
            ("prefixItems" | "anyOf" | "oneOf", Value::Array(all)) => {
                json!(all.iter().map(|one| inner(one, keyword)).collect::<Result<Vec<_>, _>>()?)
            }
            ("properties", Value::Object(all)) => {
                let each = all.iter().map(|(key, one)| Ok((key.clone(), inner(one, key)?)));
                Value::Object(each.collect::<Result<Map<_, _>, String>>()?)
            }
            _ => continue,
        };
        found.insert(keyword.clone(), stricter);
    }
    let known = ["type", "enum", "const", "anyOf", "oneOf"].iter().any(|keyword| found.contains_key(*keyword));
    match about {
        Some(kind) if !found.contains_key("type") => drop(found.insert("type".to_owned(), json!(kind))),
        None if !known => return wrong("say its type, or which values it may have".to_owned()),
        _ => {}
    }
    let may_be = |found: &Map<String, Value>, kind: &str| match found.get("type") {
        Some(Value::Array(all)) => all.iter().any(|one| one == kind),
        other => other.is_some_and(|one| one == kind),
    };
    if may_be(&found, "array") && !found.contains_key("items") {
        if !found.contains_key("prefixItems") {
            return wrong("say what its items are".to_owned());
        }
        found.insert("items".to_owned(), json!(false));
    }
    if found.contains_key("properties") || may_be(&found, "object") {
        found.entry("additionalProperties").or_insert(json!(false));
    }
    Ok(Value::Object(found))
}

/// What is wrong with the value of a keyword, if JSON Schema would accept it silently.
fn slip(keyword: &str, value: &Value) -> Option<String> {
    let texts = || value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_string));
    match keyword {
        "pattern" => {
            let pattern = value.as_str().unwrap_or_default();
            let anchored = pattern.starts_with('^') && pattern.ends_with('$') && !pattern.ends_with("\\$");
            (!anchored).then(|| "the pattern must begin with ^ and end with $".to_owned())
        }
        "format" => {
            let known = value.as_str().is_some_and(|format| FORMATS.split(' ').any(|word| word == format));
            (!known).then(|| format!("unknown format {value}; one of: {}", FORMATS.replace(' ', ", ")))
        }
        "below" => {
            let folders = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            let absolute = texts() && folders.into_iter().all(|folder| folder.starts_with('/'));
            (!absolute).then(|| "'below' is a list of absolute paths of folders".to_owned())
        }
        "hosts" | "domains" | "like" => (!texts()).then(|| format!("'{keyword}' is a list of texts")),
        "statement" => (!matches!(value.as_str(), Some("read" | "condition")))
            .then(|| "'statement' is either \"read\" or \"condition\"".to_owned()),
        "additionalProperties" => (value == &json!(true)).then(|| format!("'{keyword}' is false or a schema")),
        _ => None,
    }
}

/// A pattern that covers the whole text, also with alternatives.
fn whole(pattern: &str) -> String {
    let inner = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')).unwrap_or(pattern);
    format!("^(?:{inner})$")
}

/// Whether a text is what a keyword with these values says.
type Test = fn(&str, &[String]) -> bool;

/// An own keyword about texts.
struct Own {
    test: Test,
    given: Vec<String>,
    says: String,
}

impl Keyword<'_> for Own {
    fn validate(&self, instance: &Value) -> Result<(), ValidationError<'static>> {
        if self.holds(instance) { Ok(()) } else { Err(ValidationError::custom(self.says.clone())) }
    }

    fn is_valid(&self, instance: &Value) -> bool {
        self.holds(instance)
    }
}

impl Own {
    fn holds(&self, instance: &Value) -> bool {
        instance.as_str().is_some_and(|text| (self.test)(text, &self.given))
    }
}

/// Makes an own keyword.
fn keyword<'a>(
    _: &'a Map<String, Value>,
    value: &'a Value,
    path: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let given: Vec<String> = match value {
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        other => other.as_str().map(str::to_owned).into_iter().collect(),
    };
    let list = given.join(", ");
    let (test, says): (Test, String) = match path.as_str().rsplit('/').next() {
        Some("below") => (text::is_below, format!("the value is not a path below {list}")),
        Some("hosts") => (text::is_of_host, format!("the value is not an address of {list}")),
        Some("domains") => (text::is_of_domain, format!("the value is not an email address of {list}")),
        Some("like") => (text::is_like, format!("the value is not of the kind of {list}")),
        Some("statement") if list == "condition" => {
            (text::is_statement_of, "the value is not a condition on the rows of one table".to_owned())
        }
        Some("statement") => (text::is_statement_of, "the value is not a read-only statement".to_owned()),
        _ => return Err(ValidationError::custom("unknown keyword")),
    };
    Ok(Box::new(Own { test, given, says }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Arguments, String> {
        let arguments: Map<String, Value> = toml::from_str(text).unwrap();
        Arguments::new(&arguments, &[])
    }

    #[test]
    fn slips_that_json_schema_accepts_are_errors() {
        for (text, problem) in [
            ("a = { patern = '^x$' }", "unknown keyword 'patern'"),
            ("a = { pattern = 'x' }", "begin with ^"),
            ("a = { format = 'e-mail' }", "unknown format"),
            ("a = {}", "say its type"),
            ("a = { below = ['data'] }", "absolute paths"),
            ("a = { properties = { b = { maxium = 5 } } }", "arguments.a.b: unknown keyword 'maxium'"),
            ("a = { items = { enum = ['x'] }, additionalProperties = true }", "is false or a schema"),
            ("a = { type = 'array' }", "say what its items are"),
            ("a = { not = { const = 1 } }", "unknown keyword 'not'"),
        ] {
            let found = of(text).err().unwrap_or_default();
            assert!(found.contains(problem), "{text}: {found}");
        }
    }

    #[test]
    fn keyword_is_about_its_type_only() {
        let arguments =
            of("a = { pattern = '^x|y$' }\nb = { maximum = 5 }\nc = { properties = { d = { const = 1 } } }").unwrap();
        for good in [json!({"a": "x"}), json!({"a": "y"}), json!({"b": 5}), json!({"c": {"d": 1}}), json!({})] {
            assert_eq!(arguments.describe(&good), Ok(()), "{good}");
        }
        for bad in [
            json!({"a": ["x"]}),
            json!({"a": "xy"}),
            json!({"a": "x\n"}),
            json!({"b": "5"}),
            json!({"b": 6}),
            json!({"c": {"d": 1, "e": 2}}),
            json!({"e": 1}),
            json!([]),
            json!("x"),
        ] {
            assert!(arguments.describe(&bad).is_err(), "{bad}");
        }
        let said = arguments.describe(&json!({"b": 600, "e": 1})).unwrap_err();
        assert!(said.contains("b: the value is greater than the maximum of 5") && said.contains("'e'"), "{said}");
    }
}
