//! The literals of commands and of the names and arguments of tools.

use super::events::is_statement;
use super::{Event, Family, Literal, Slot};
use crate::effect::{UNKNOWN_SPAN, Verb, tool_call};
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};

/// Programs that only run another command, which is listed by itself, or only steer the shell.
const WRAPPERS: &str = "[ bash builtin cd command dash doas env eval exec exit export fish flock ionice ksh local nice \
nohup printf pushd read return set setsid sh shift sleep source stdbuf sudo test time timeout trap true unset wait \
watch xargs zsh false echo";
/// Subcommands that only look, beside the words of tools that do.
const LOOKS: &str =
    "diff dump help history info log logs ls peek plan preview ps stat stats tail top tree validate version";
/// Subcommands that only name what the next one is about.
const GROUPS: &str = "branch cluster config container context image issue job network node pipeline pod pr project queue \
release remote repo run service stash tag volume workflow";
/// Words of arguments from which something is taken.
const SOURCES: [&str; 3] = ["from", "source", "src"];
/// Words of arguments to which it goes.
const TARGETS: [&str; 7] = ["base", "dest", "destination", "dst", "into", "target", "to"];
/// Longest word or value that is compared, in bytes.
pub(super) const LONGEST: usize = 1_000;
/// Most names in one piece of code.
const NAMES: usize = 64;
/// Fewest letters of a stem.
const STEM: usize = 2;
/// Most words, or values, of one event that are compared.
const MOST: usize = 1_000;

/// The literals of a command, and whether it has more; `None` for one that only runs another.
pub(super) fn command(words: &[String]) -> Option<(BTreeSet<Literal>, bool)> {
    let (program, arguments) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    if program.is_empty() || program.contains(UNKNOWN_SPAN) || is_wrapper(program) {
        return None;
    }
    // what only prints its help does nothing
    if arguments.iter().any(|argument| argument == "--help") || arguments.first().is_some_and(|first| first == "help") {
        return None;
    }
    let mut found = BTreeSet::from([Literal(Slot::Program, program.to_owned())]);
    let operand = |argument: &&String| is_plain(argument);
    // the word after an option may be its value
    let after =
        arguments.windows(2).find(|two| !two.iter().any(|word| word.starts_with('-'))).and_then(|two| two.get(1));
    let first = arguments.first().filter(operand).or(after.filter(operand));
    let first = first.or_else(|| arguments.iter().find(|argument| !argument.starts_with('-')).filter(operand));
    found.extend(first.map(|first| Literal(Slot::First, first.clone())));
    let beside =
        arguments.windows(2).take(MOST).filter(|two| two.iter().all(|word| is_plain(word) && word.len() <= LONGEST));
    found.extend(beside.map(|two| Literal(Slot::Pair, two.join(" "))));
    // an option without a value
    let after = arguments.iter().skip(1).map(Some).chain([None]);
    let alone = arguments.iter().zip(after).take(MOST).filter(|(option, next)| {
        option.starts_with("--") && option.len() <= LONGEST && next.is_none_or(|next| next.starts_with('-'))
    });
    let alone = alone.filter(|(option, _)| !option.contains(['=', UNKNOWN_SPAN])).map(|(option, _)| switch(option));
    found.extend(alone);
    let more = arguments.len() > MOST || arguments.iter().any(|argument| is_too_long(argument));
    for argument in arguments.iter().filter(|argument| argument.len() <= LONGEST).take(MOST) {
        let dashed = argument.starts_with('-') && argument.len() > 1;
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) if dashed => (Some(option), Some(value)),
            _ if dashed => (Some(argument.as_str()), None),
            _ => (None, Some(argument.as_str())),
        };
        if let Some(option) = option.filter(|option| !option.contains(UNKNOWN_SPAN)) {
            found.extend(spelled(option).map(|option| Literal(Slot::Option, option)));
            found.extend(glued(option).map(|(_, value)| Literal(Slot::Word, value.to_owned())));
        }
        let Some(value) = value.filter(|value| !value.contains(UNKNOWN_SPAN)) else { continue };
        found.extend(parts(value).map(|word| Literal(Slot::Word, word)));
    }
    Some((found, more))
}

/// Whether a program only runs another command.
pub(super) fn is_wrapper(program: &str) -> bool {
    WRAPPERS.split_whitespace().any(|one| one == program)
}

/// Whether the subcommand of an unknown program only looks.
pub(super) fn looks(words: &[String]) -> bool {
    let words: Vec<&String> = words.iter().skip(1).take_while(|word| *word != "--").collect();
    let free =
        |at: usize| at.checked_sub(1).and_then(|before| words.get(before)).is_none_or(|word| !word.starts_with('-'));
    let dry = words.iter().enumerate().any(|(at, word)| *word == "--dry-run" && free(at));
    let alone = words.len() == 1 && words.iter().any(|word| *word == "--version" || *word == "--help");
    // a word after an option may be its value
    let mut plain = words.iter().enumerate().filter(|(at, word)| is_plain(word) && free(*at)).map(|(_, word)| *word);
    let (first, second) = (plain.next(), plain.next());
    // `pr view`, but not `delete log`
    let second = second.filter(|_| first.is_some_and(|first| GROUPS.split_whitespace().any(|group| group == first)));
    dry || alone || first.into_iter().chain(second).any(|word| is_look(word))
}

/// Whether the name of an operation is that of a look.
fn is_look(name: &str) -> bool {
    let class = tool_call::class(name).0;
    matches!(class, Verb::Read | Verb::List) || LOOKS.split_whitespace().any(|look| look == name)
}

/// Whether an argument says that a tool whose name says nothing only looks.
fn only_looks(arguments: &Value) -> bool {
    let fields = arguments.as_object().into_iter().flatten();
    let named = |key: &str| ["action", "operation", "op", "method", "verb", "subcommand"].contains(&key);
    let mut said = fields.filter(|(key, _)| named(key)).filter_map(|(_, value)| value.as_str()).peekable();
    said.peek().is_some() && said.all(|word| is_look(&word.to_lowercase()))
}

/// The names in a word or a text, in one spelling: each part of a path, an address, a statement or a structure, also with
/// what stands beside it between dots. Of prose only what is no plain word, apart: `depot-3`.
pub(super) fn names(text: &str) -> (Vec<String>, Vec<String>) {
    let statement = is_statement(text);
    let pieces = text.split(['"', '\'', '{', '}', '[', ']', '(', ')', ';', ',', '\n']);
    let (mut found, mut in_prose) = (Vec::new(), Vec::new());
    for piece in pieces {
        let dotted = piece.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.'));
        let each =
            dotted.flat_map(|name| std::iter::once(name).chain(name.split('.').filter(move |part| *part != name)));
        let named = each.map(|name| normal(name.trim_matches('.'))).filter(|name| super::induce::is_telling(name));
        if statement || !super::told::is_prose(piece) {
            found.extend(named);
        } else {
            in_prose.extend(named.filter(|name| name.contains(|c: char| !c.is_alphabetic())));
        }
    }
    (found, in_prose)
}

/// Whether a text is data more often than not: a long one of several lines that is no structure.
pub(super) fn is_data(text: &str) -> bool {
    text.len() > LONGEST && text.contains('\n') && !text.trim_start().starts_with(['{', '['])
}

/// One spelling of a name: of `--fare_class` `fare-class`.
pub(super) fn normal(name: &str) -> String {
    name.trim_start_matches('-').to_lowercase().replace(['_', ' '], "-")
}

/// Whether a word is too long to be compared. A long text with blanks is left out, because it is data more often than not.
fn is_too_long(word: &str) -> bool {
    word.len() > LONGEST && !word.contains(char::is_whitespace)
}

/// An option as itself, and letters that stand together each alone; of a longer one, the first letter.
fn spelled(option: &str) -> impl Iterator<Item = String> {
    let letters = option
        .strip_prefix('-')
        .filter(|rest| (2..=4).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let each: Vec<String> = letters.map(|rest| rest.chars().map(|c| format!("-{c}")).collect()).unwrap_or_default();
    let glued = glued(option).and_then(|(letter, _)| option.get(..=letter.len_utf8())).map(str::to_owned);
    std::iter::once(option.to_owned()).chain(each).chain(glued)
}

/// The letter and the value of an option whose value stands directly behind it: `-nprod`.
fn glued(option: &str) -> Option<(char, &str)> {
    let rest = option.strip_prefix('-').filter(|rest| rest.len() > 4 && !rest.starts_with('-'))?;
    let letter = rest.chars().next()?;
    Some((letter, rest.get(letter.len_utf8()..)?))
}

/// Whether a word may be a subcommand.
fn is_plain(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte))
}

/// An operand as itself, and its parts: `HEAD:release`, `env=prod`, `pod/web-1`, `refs/heads/release`.
fn parts(word: &str) -> impl Iterator<Item = String> {
    let word = word.trim_matches(['"', '\'']);
    let whole = word.trim_start_matches('+');
    let mut found = Vec::new();
    if !whole.is_empty() {
        found.push(whole.to_owned());
    }
    if !whole.is_empty() && !whole.contains(char::is_whitespace) {
        for part in whole.split([':', '=', ',']).filter(|part| !part.is_empty() && *part != whole) {
            found.push(part.to_owned());
        }
        // the host of an address, or the bucket
        let address = whole.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or(rest));
        found.extend(address.filter(|host| !host.is_empty()).map(str::to_owned));
        // an account at a host, and the host without its domain
        let host = whole.split_once('@').map(|(_, host)| host.split([':', '/']).next().unwrap_or(host));
        let dotted = whole.matches('.').count() > 1 && is_plain(&whole.replace('.', "-"));
        let host = host.or_else(|| dotted.then_some(whole));
        if let Some(host) = host.filter(|host| !host.is_empty()) {
            found.push(host.to_owned());
            let label = host.split('.').next().filter(|label| super::induce::is_telling(label));
            found.extend(label.map(str::to_owned));
        }
        // a package with its version
        let name = whole.split(['<', '>', '=', '~', '!', '@', '^', '[', ';']).next().unwrap_or_default();
        found.extend((name != whole && !name.is_empty()).then(|| name.to_owned()));
        // what stands above it: the registry of an image, the group of a tag
        let groups = whole.match_indices('/').filter(|(at, _)| *at > 0 && !whole.starts_with('/'));
        found.extend(groups.filter_map(|(at, _)| whole.get(..=at)).map(str::to_owned));
        for part in found.clone() {
            let named = part.strip_prefix("refs/").and_then(|rest| rest.split_once('/')).map(|(_, name)| name);
            found.extend(named.map(str::to_owned));
            let pair = part.split_once('/').filter(|(kind, name)| {
                is_plain(kind) && !name.is_empty() && !name.contains(['/', '.']) && !part.starts_with("refs/")
            });
            found.extend(pair.into_iter().flat_map(|(kind, name)| [kind.to_owned(), name.to_owned()]));
        }
        found.extend(found.iter().filter_map(|part| stem(part)).collect::<Vec<_>>());
    } else if whole.contains(['(', '{', ';', '=']) {
        // names in code
        let names =
            whole.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| super::induce::is_telling(name));
        found.extend(names.take(NAMES).map(str::to_owned));
    }
    found.into_iter()
}

/// What names that are numbered or dated have in common: `edition-*` of `edition-2025-03-11`.
fn stem(name: &str) -> Option<String> {
    let digit = name.find(|c: char| c.is_ascii_digit())?;
    let stem = name.get(..digit)?;
    let named = stem.chars().filter(|c| c.is_alphabetic()).count() >= STEM && stem.ends_with(['-', '_', '.', '/', '#']);
    (named && !stem.contains(char::is_whitespace)).then(|| format!("{stem}*"))
}

/// The literals of a tool's name, its server's name and its arguments, and whether there are more.
pub(super) fn call(server: Option<&str>, tool: &str, arguments: &Value) -> (BTreeSet<Literal>, bool) {
    let (mut more, mut count) = (false, 0);
    let mut found = BTreeSet::new();
    for word in server.into_iter().chain([tool]).flat_map(crate::effect::words::words) {
        let word = word.strip_suffix('s').filter(|stem| stem.len() > 3 && !stem.ends_with('s')).unwrap_or(&word);
        if word != "mcp" {
            found.insert(Literal(Slot::Tool, word.to_owned()));
        }
    }
    let (verb, what) = tool_call::class(tool);
    found.insert(Literal(Slot::Does, format!("{verb} {what}").trim().to_owned()));
    let looks = matches!(verb, Verb::Read | Verb::List) || verb == Verb::Call && only_looks(arguments);
    if !looks {
        found.insert(Literal(Slot::Does, super::events::ACT.to_owned()));
    }
    let mut open = vec![(arguments, false)];
    while let Some((value, inner)) = open.pop() {
        match value {
            Value::String(text) if text.len() <= LONGEST => found.extend(said(text)),
            Value::Number(number) => found.extend(said(&number.to_string())),
            Value::Array(items) => open.extend(items.iter().map(|item| (item, true))),
            Value::Object(fields) => {
                // the names of the arguments are those of the tool, the names below are data
                let names = fields.keys().filter(|name| inner && name.len() <= LONGEST).take(NAMES);
                found.extend(names.flat_map(|name| said(name)));
                let set = fields.iter().filter(|(name, value)| **value == Value::Bool(true) && name.len() <= LONGEST);
                found.extend(set.take(NAMES).map(|(name, _)| switch(name)));
                let off = |value: &Value| matches!(value, Value::Null | Value::Bool(_));
                let set = fields.iter().filter(|(name, value)| !inner && !off(value) && name.len() <= LONGEST);
                found.extend(set.take(NAMES).map(|(name, _)| Literal(Slot::Option, format!("--{}", normal(name)))));
                open.extend(fields.values().map(|value| (value, true)));
            }
            Value::String(text) => more |= is_too_long(text),
            _ => {}
        }
        count += 1;
        if count > MOST {
            more = true;
            break;
        }
    }
    (found, more)
}

/// What a tool only takes something from: the values of arguments such as `source`, unless others have them, too. What is
/// moved or deleted changes where it was.
pub(super) fn sources(tool: &str, arguments: &Value) -> HashSet<String> {
    let has =
        |key: &str, list: &[&str]| crate::effect::words::words(key).iter().any(|word| list.contains(&word.as_str()));
    let fields = arguments.as_object().filter(|fields| {
        let copies = !has(tool, &["cut", "delete", "move", "remove", "rename", "transfer"]);
        let removes = |(key, value): (&String, &Value)| has(key, &["delete", "remove"]) && *value != Value::Bool(false);
        copies && fields.keys().any(|key| has(key, &TARGETS)) && !fields.iter().any(removes)
    });
    let (mut from, mut other) = (HashSet::new(), HashSet::new());
    for (key, value) in fields.into_iter().flatten() {
        let values = tool_call::strings(value).into_iter();
        let values = values.flat_map(|text| said(&text).map(|literal| literal.1).collect::<Vec<_>>());
        if has(key, &SOURCES) { from.extend(values) } else { other.extend(values) }
    }
    from.retain(|value| !other.contains(value));
    from
}

/// A switch that is on, of a command or a tool.
fn switch(name: &str) -> Literal {
    Literal(Slot::Named, normal(name))
}

/// A message: the text itself, or the digest of a long one.
pub(super) fn message(text: &str) -> Option<Event> {
    let plain = text.trim().to_lowercase();
    let value = if plain.len() > LONGEST { crate::digest([plain.into_bytes()]) } else { plain };
    let literals = BTreeSet::from([Literal(Slot::Value, value)]);
    (!text.trim().is_empty()).then_some(Event { family: Family::Said, literals, spreads: false, more: false })
}

/// A value in lower case, without the mark before the name of a channel or a person, and the name in an address of mail.
fn said(text: &str) -> impl Iterator<Item = Literal> {
    let plain = text.trim().trim_start_matches(['#', '@']).to_lowercase();
    let name = plain.split_once('@').filter(|(name, host)| host.contains('.') && !name.contains(char::is_whitespace));
    let name = name.map(|(name, _)| name.to_owned());
    let branch = plain.strip_prefix("refs/").and_then(|rest| rest.split_once('/')).map(|(_, name)| name.to_owned());
    let name = name.into_iter().chain(branch).chain(stem(&plain));
    name.chain([plain]).filter(|value| !value.is_empty()).map(|value| Literal(Slot::Value, value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(line: &str) -> BTreeSet<Literal> {
        command(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default().0
    }

    #[test]
    fn operands_fall_into_parts() {
        let has = |line: &str, slot, value: &str| of(line).contains(&Literal(slot, value.to_owned()));
        assert!(has("git push origin HEAD:release", Slot::Word, "release"));
        assert!(has("git push origin +refs/heads/release", Slot::Word, "release"));
        assert!(!has("git push origin release-notes", Slot::Word, "release"));
        assert!(has("kubectl delete pod/web-1", Slot::Word, "web-1"));
        assert!(has("/opt/x/frob run", Slot::Program, "frob") && has("frob run", Slot::First, "run"));
        assert!(has("frob --env=prod", Slot::Option, "--env") && has("frob --env=prod", Slot::Word, "prod"));
        assert!(of("sudo frob").is_empty() && of("").is_empty());
    }

    #[test]
    fn names_are_those_of_statements_and_structures_but_not_of_prose() {
        let has = |text: &str, name: &str| names(text).0.contains(&name.to_owned());
        assert!(has("--fare_class", "fare-class") && has("config.basket_hold=22", "basket-hold"));
        assert!(has("UPDATE tickets SET fare_class = 'S2' WHERE id = 7", "fare-class"));
        assert!(has(r#"{"channel":"web-shop","text":"We are sorry about the strike."}"#, "web-shop"));
        assert!(!has(r#"{"channel":"web-shop","text":"We are sorry about the strike."}"#, "strike"));
        assert!(has("https://a.example/api/queues/reflex-hold", "reflex-hold") && names("12 7.5 --").0.is_empty());
        assert_eq!(names("deploy the web app to depot-3").1, ["depot-3"]);
    }

    #[test]
    fn looks_are_told_by_the_subcommand() {
        let looks = |line: &str| looks(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for look in ["frob status", "frob pr view 7", "frob push --dry-run", "frob --version", "frob peek queue"] {
            assert!(looks(look), "{look}");
        }
        for act in [
            "frob push",
            "frob delete log",
            "frob deploy web --version 7",
            "frob print label",
            "frob",
            "frob -o list push",
            "frob push -- --dry-run",
            "frob push -m --dry-run",
        ] {
            assert!(!looks(act), "{act}");
        }
    }

    #[test]
    fn what_a_tool_takes_from_is_no_target() {
        let of = |tool: &str| sources(tool, &serde_json::json!({"source": "live", "to": "copy", "from": "copy"}));
        assert!(sources("drain", &serde_json::json!({"from": "live"})).is_empty(), "nothing else is the target");
        assert_eq!(of("merge_branch"), HashSet::from(["live".to_owned()]));
        assert!(of("move_branch").is_empty(), "what is moved is gone there");
    }

    #[test]
    fn spellings_of_a_tool_have_the_same_words() {
        let of = |tool: &str| call(None, tool, &Value::Null).0;
        let tools = |tool: &str| of(tool).into_iter().filter(|l| l.0 == Slot::Tool).collect::<Vec<_>>();
        assert_eq!(tools("crm_merge_contacts"), tools("crmMergeContact"));
        assert_eq!(tools("mcp__crm__merge_contacts"), tools("merge_crm_contacts"));
    }
}
