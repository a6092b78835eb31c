//! The words of the command line: `sys.argv`, and what `argparse`, `optparse` and `getopt` make of them.
//!
//! A parser is followed as far as every word is certain: each option is one that the program declares, or the beginning
//! of only one, and the other words fit the arguments by position. Otherwise the arguments are unknown, as they are
//! without words.

mod getopt;
#[cfg(test)]
mod tests;
mod words;

use super::Reader;
use super::calls::Args;
use super::special::Invocation;
use super::values::{self, UNKNOWN_SPAN, Value, either, list, many, text};
use words::Words;

/// The kinds of a parser, which keeps the name of its subcommand, of its result, and of a type that opens a file.
pub(super) const PARSER: &str = "argparse.ArgumentParser";
pub(super) const OLDER: &str = "optparse.OptionParser";
pub(super) const NAMESPACE: &str = "argparse.Namespace";
const FILE: &str = "argparse.FileType";
/// The variable that holds `sys.argv`.
const WORDS: &str = "sys.argv";
/// Most arguments that a program declares.
const MAX_DECLARED: usize = 256;
/// What a parser may be given without another way to read words.
const PLAIN: [&str; 16] = [
    "prog",
    "usage",
    "description",
    "epilog",
    "formatter_class",
    "add_help",
    "parents",
    "help",
    "aliases",
    "deprecated",
    "exit_on_error",
    "dest",
    "required",
    "title",
    "metavar",
    "version",
];

/// How many words an argument takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    None,
    One,
    /// One, or none.
    Maybe,
    Exactly(usize),
    Any,
    /// The rest, options among them.
    Rest,
}

/// An argument that the program declares, or a default that it sets.
struct Declared {
    /// `-o`, `--out`; empty for one by position.
    options: Vec<String>,
    name: String,
    /// The subcommand whose argument it is; unknown ones always count.
    command: Option<String>,
    takes: Takes,
    default: Value,
    /// The value of an option that takes no word.
    constant: Value,
    /// The function that converts a word.
    convert: Value,
    /// Whether each occurrence adds to a list.
    appends: bool,
    /// Whether it only sets a default.
    only_default: bool,
}

/// What is known of the arguments of a program.
#[derive(Default)]
pub(super) struct Arguments {
    declared: Vec<Declared>,
    /// Whether a parser may do something that is not followed.
    open: bool,
    /// Whether a parser has read words.
    parsed: bool,
    /// Whether the reader is at `**vars(x)`, which cannot change `x`.
    pub spread: bool,
}

impl Arguments {
    /// How many arguments are declared.
    pub(super) fn declared(&self) -> usize {
        self.declared.len()
    }
}

impl Reader<'_> {
    /// Notes the words that the program gets, the first of them its own name.
    pub(super) fn set_words<'w>(&mut self, words: impl Iterator<Item = &'w str>) {
        self.assign_name(WORDS, list(words.map(text).collect()));
    }

    /// `sys.argv`, if it is known.
    pub(super) fn words(&mut self) -> Option<Value> {
        self.variable(&(usize::MAX, WORDS.to_owned()))
    }

    pub(super) fn replace_words(&mut self, value: Value) {
        self.assign_in(usize::MAX, WORDS, value);
    }

    /// The attribute of the parsed arguments, if it is known.
    pub(super) fn parsed(&mut self, name: &str) -> Option<Value> {
        let known = self.variable(&(usize::MAX, format!("{NAMESPACE}.{name}")))?;
        if self.arguments.open { None } else { Some(known) }
    }

    /// All parsed arguments, as `vars` gives them. Unless they are spread into a call, the program may change them.
    pub(super) fn all_parsed(&mut self) -> Value {
        let names: Vec<String> = self.arguments.declared.iter().map(|declared| declared.name.clone()).collect();
        let known = names.into_iter().map(|name| Some([text(&name), self.parsed(&name)?])).collect::<Option<Vec<_>>>();
        self.arguments.open |= !self.arguments.spread;
        known.map_or(Value::Hole, |items| values::dict(items.into_iter().flatten().collect()))
    }

    /// Notes that the program may change parsed arguments, or use a parser, in a way that is not followed.
    pub(super) fn forget_parsed(&mut self) {
        self.arguments.open = true;
    }

    /// A call of `argparse`.
    pub(super) fn argument_call(&mut self, call: &Invocation<'_>) -> Option<Value> {
        let (args, method) = (call.args, call.via.rsplit('.').next().unwrap_or_default());
        if call.via.starts_with("getopt.") {
            return self.getopt(args, method == "gnu_getopt");
        }
        let older = call.via.starts_with("optparse.");
        let command = self.command_of(call.receiver);
        if !matches!(method, "add_argument" | "add_option" | "set_defaults") {
            self.escape(args, call.via);
        }
        Some(match method {
            "ArgumentParser" => {
                self.only_plain(args);
                values::object(PARSER, Value::None)
            }
            "add_parser" => {
                let named = args.keyword("aliases").is_none() && matches!(args.at(0), Value::Text(_));
                self.only_plain(args);
                values::object(PARSER, if named { args.at(0) } else { Value::None })
            }
            "OptionParser" | "OptionGroup" => {
                if method == "OptionParser" {
                    self.only_plain(args);
                    self.arguments.open |= args.pos.len() > 1;
                }
                values::object(OLDER, Value::None)
            }
            "add_argument_group" | "add_mutually_exclusive_group" => values::object(PARSER, command),
            "add_subparsers" => {
                self.only_plain(args);
                let name = args.keyword("dest").map_or_else(|| "subcommand".to_owned(), |name| name.show());
                self.add_declared(Declared { name, takes: Takes::One, ..Declared::of(&command) });
                values::object(PARSER, command)
            }
            "add_option_group" => values::object(OLDER, Value::None),
            "add_argument" | "add_option" => {
                self.add_argument(args, &command);
                Value::Local
            }
            "set_defaults" => {
                self.arguments.open |= args.open;
                for (name, default) in args.kw.clone() {
                    self.add_declared(Declared { name, default, only_default: true, ..Declared::of(&command) });
                }
                Value::None
            }
            "parse_args" if older => {
                let (parsed, plain) = self.parse_words(args, false);
                list(vec![parsed, plain])
            }
            "parse_args" | "parse_intermixed_args" => self.parse_words(args, true).0,
            "parse_known_args" => {
                let (parsed, _) = self.parse_words(args, true);
                list(vec![parsed, many(Value::Hole)])
            }
            _ => return None,
        })
    }

    /// The subcommand that a parser reads.
    fn command_of(&mut self, receiver: Option<&Value>) -> Value {
        match receiver {
            Some(Value::Object(_, command)) => (**command).clone(),
            None => Value::None,
            // a class of the program
            Some(_) => {
                self.arguments.open = true;
                Value::None
            }
        }
    }

    /// A parser that is given anything else may read words in another way.
    fn only_plain(&mut self, args: &Args) {
        self.arguments.open |= args.open || args.kw.iter().any(|(key, _)| !PLAIN.contains(&key.as_str()));
    }

    fn add_declared(&mut self, declared: Declared) {
        let vague = |text: &String| text.contains(UNKNOWN_SPAN);
        self.arguments.open |= self.arguments.declared.len() >= MAX_DECLARED
            || vague(&declared.name)
            || declared.options.iter().any(vague);
        if self.arguments.declared.len() < MAX_DECLARED {
            self.arguments.declared.push(declared);
        }
    }

    fn add_argument(&mut self, args: &Args, command: &Value) {
        let names: Vec<String> = args.pos.iter().map(Value::show).collect();
        let options: Vec<String> = names.iter().filter(|name| name.starts_with('-')).cloned().collect();
        let long = options.iter().find(|name| name.starts_with("--")).or(options.first());
        let own = long.map(|name| name.trim_start_matches('-').replace('-', "_"));
        let given = args.keyword("dest").map(|name| name.show());
        let Some(name) = given.or(own).or_else(|| names.first().cloned()) else {
            return self.arguments.open = true;
        };
        let get = |key: &str| args.keyword(key).unwrap_or(Value::None);
        let action = match args.keyword("action") {
            None => "store".to_owned(),
            Some(Value::Text(action)) => action.to_string(),
            Some(Value::Name(name)) if &*name == "argparse.BooleanOptionalAction" => "flag".to_owned(),
            // an action of the program's own
            Some(_) => String::new(),
        };
        let counted = match args.keyword("nargs") {
            None => Some(Takes::One),
            Some(Value::Int(n)) => usize::try_from(n).ok().map(Takes::Exactly),
            Some(Value::Text(n)) if &*n == "?" => Some(Takes::Maybe),
            Some(Value::Text(n)) if matches!(&*n, "*" | "+") => Some(Takes::Any),
            Some(Value::Text(n)) if &*n == "..." => Some(Takes::Rest),
            Some(Value::Name(name)) if &*name == "argparse.REMAINDER" => Some(Takes::Rest),
            _ => None,
        };
        let (takes, appends, constant) = match action.as_str() {
            "store" => (counted, false, get("const")),
            "append" | "extend" => (counted, true, get("const")),
            "store_true" | "store_false" | "count" | "help" | "version" | "flag" => {
                (Some(Takes::None), false, Value::Local)
            }
            "store_const" => (Some(Takes::None), false, get("const")),
            "append_const" => (Some(Takes::None), true, get("const")),
            _ => (None, false, Value::Hole),
        };
        self.arguments.open |= args.open || takes.is_none();
        let mut options = options;
        if action == "flag" {
            options
                .extend(options.clone().iter().filter_map(|name| Some(format!("--no-{}", name.strip_prefix("--")?))));
        }
        let flag = matches!(action.as_str(), "store_true" | "store_false" | "count" | "flag");
        self.add_declared(Declared {
            options,
            name,
            takes: takes.unwrap_or(Takes::One),
            default: if flag { Value::Local } else { get("default") },
            constant,
            convert: match get("type") {
                // as `optparse` names them
                Value::Text(name) if matches!(&*name, "string" | "choice") => Value::None,
                Value::Text(name) => Value::Name(name),
                other => other,
            },
            appends,
            ..Declared::of(command)
        });
    }

    /// Parses the words. Returns the namespace and the words that are not options.
    fn parse_words(&mut self, args: &Args, by_position: bool) -> (Value, Value) {
        let given = args.get(0, "args").unwrap_or(Value::None);
        self.arguments.open |= args.open || args.keyword("namespace").is_some() || args.pos.len() > 1;
        let lists = given.choices().into_iter().map(|choice| match choice {
            Value::None => self.words().map_or(Value::Hole, |words| values::slice(&words, Some(1), None, 1)),
            other => other,
        });
        let mut plain = None;
        for words in lists.collect::<Vec<_>>() {
            let words = words.elements().filter(|_| !words.is_text());
            let words: Option<Vec<String>> = words.map(|words| words.iter().map(Value::show).collect());
            let read = words.as_deref().and_then(|words| Words::read(&self.arguments.declared, words, by_position));
            match read {
                Some(read) if !self.arguments.open => {
                    self.store_parsed(&read);
                    let words = list(read.plain.iter().map(text).collect());
                    plain = Some(plain.map_or(words.clone(), |before| either(before, words)));
                }
                _ => self.arguments.open = true,
            }
        }
        self.arguments.parsed = true;
        let plain = plain.filter(|_| !self.arguments.open).unwrap_or_else(|| many(Value::Hole));
        (values::object(NAMESPACE, Value::None), plain)
    }

    /// Sets the attribute of each argument.
    fn store_parsed(&mut self, read: &Words) {
        let parts: Vec<(usize, String)> =
            self.arguments.declared.iter().map(|declared| declared.name.clone()).enumerate().collect();
        for (at, name) in &parts {
            let same = parts.iter().filter(|(_, other)| other == name).map(|(at, _)| *at);
            if parts.iter().take(*at).any(|(_, other)| other == name) {
                continue;
            }
            let same: Vec<usize> = same.filter(|at| read.counts(&self.arguments.declared, *at)).collect();
            let given = same.iter().any(|at| read.given.get(*at).is_some_and(|given| !given.is_empty()));
            let mut value = None;
            for at in same {
                let found = self.value_of(at, read, given);
                value = match (value, found) {
                    (Some(a), Some(b)) => Some(either(a, b)),
                    (a, b) => a.or(b),
                };
            }
            self.set_member(NAMESPACE, name, value.unwrap_or(Value::None));
        }
    }

    /// What one declaration gives its argument; `given`: whether a word sets it, so that defaults do not count.
    fn value_of(&mut self, at: usize, read: &Words, given: bool) -> Option<Value> {
        let declared = self.arguments.declared.get(at)?;
        let (takes, appends, convert) = (declared.takes, declared.appends, declared.convert.clone());
        let by_position = declared.is_by_position();
        let (default, constant) = (declared.default.clone(), declared.constant.clone());
        let occurrences = read.given.get(at).cloned().unwrap_or_default();
        if occurrences.is_empty() {
            return (!given).then(|| match default {
                Value::Text(word) => self.converted(&convert, &word),
                Value::None if takes == Takes::Any && by_position => list(Vec::new()),
                other => other,
            });
        }
        let mut values = Vec::new();
        for words in occurrences {
            let mut all: Vec<Value> = words.iter().map(|word| self.converted(&convert, word)).collect();
            let value = match takes {
                Takes::None => constant.clone(),
                Takes::One | Takes::Maybe => all.pop().unwrap_or_else(|| constant.clone()),
                _ => list(all),
            };
            values.push(value);
        }
        if appends {
            let before = default.elements().unwrap_or_default();
            let flat = values.iter().flat_map(|value| match takes {
                Takes::One | Takes::Maybe | Takes::None => vec![value.clone()],
                _ => value.elements().unwrap_or_default(),
            });
            // `append` keeps the lists, `extend` joins them
            let lists = if matches!(takes, Takes::Any | Takes::Exactly(_)) { values.clone() } else { Vec::new() };
            return Some(either(list(before.iter().cloned().chain(flat).collect()), list(lists)));
        }
        values.pop()
    }

    /// A word as the type of its argument makes it.
    fn converted(&mut self, convert: &Value, word: &str) -> Value {
        match convert {
            Value::None => text(word),
            Value::Object(kind, mode) if &**kind == FILE => {
                self.call_value(&Value::Name("open".into()), vec![text(word), (**mode).clone()].into(), "")
            }
            convert => self.call_value(&convert.clone(), vec![text(word)].into(), "a computed function"),
        }
    }

    /// Calls the functions among the types, defaults and constants of arguments unless all arguments are known: the
    /// program may call them in a way that is not followed.
    pub(super) fn hand_on_arguments(&mut self) {
        if self.arguments.parsed && !self.arguments.open {
            return;
        }
        for declared in std::mem::take(&mut self.arguments.declared) {
            for value in [declared.convert, declared.default, declared.constant] {
                match value {
                    Value::Object(kind, mode) if &*kind == FILE => {
                        let open = vec![values::hole_text(), (*mode).clone()];
                        self.call_value(&Value::Name("open".into()), open.into(), "");
                    }
                    value => self.escape(&value.choices().into(), "argparse"),
                }
            }
        }
    }
}

impl Declared {
    /// Whether a word at its place sets it.
    fn is_by_position(&self) -> bool {
        self.options.is_empty() && !self.only_default
    }

    fn of(command: &Value) -> Self {
        Declared {
            options: Vec::new(),
            name: String::new(),
            command: if let Value::Text(name) = command { Some(name.to_string()) } else { None },
            takes: Takes::None,
            default: Value::None,
            constant: Value::None,
            convert: Value::None,
            appends: false,
            only_default: false,
        }
    }
}
