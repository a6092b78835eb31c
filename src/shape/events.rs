//! The events of an action.

use super::mention::{Parts, mention};
use super::{Event, Family, Literal, Slot, words};
use crate::action::Action;
use crate::effect::table::Table;
use crate::effect::{Effect, Kind, UNKNOWN_SPAN, Verb, sql, tool_call};
use crate::policy::EffectFacts;
use std::collections::{BTreeSet, HashSet};

/// The verb of any change to a file.
pub(crate) const CHANGE: &str = "change";
/// The verb of everything but looking.
pub(super) const ACT: &str = "act";
/// Most folders above a path that are literals.
const ABOVE: usize = 24;

/// All ways to change a file count as one: a file that must not be deleted must not be moved or overwritten either.
pub(crate) fn group(verb: Verb) -> &'static str {
    match verb {
        Verb::Write
        | Verb::Append
        | Verb::Create
        | Verb::Overwrite
        | Verb::Delete
        | Verb::Move
        | Verb::Encrypt
        | Verb::Chmod
        | Verb::Chown
        | Verb::Link => CHANGE,
        other => other.as_str(),
    }
}

/// The events of an action, each once. None is left out: padding must not hide what a rule covers. `commands`: those that the parser found, program and arguments.
pub(crate) fn events(action: &Action, queries: &[EffectFacts], commands: &[Vec<String>]) -> Vec<Event> {
    let mut found = Vec::new();
    if let Action::ToolCall { server, tool, arguments } = action {
        let (mut literals, more) = words::call(server.as_deref(), tool, arguments);
        let texts = tool_call::strings(arguments);
        let (verb, what) = tool_call::class(tool);
        let statements = texts.iter().filter(|text| is_statement(text));
        let effects: Vec<Effect> = statements.flat_map(|text| sql::extract_effects(text)).collect();
        // a tool that runs statements does what they do; elsewhere a statement may be a decoy
        if what == "code" && !effects.is_empty() && effects.iter().all(|effect| is_read(effect.verb)) {
            literals.remove(&Literal(Slot::Does, ACT.to_owned()));
        }
        found.push(Event { family: Family::Call, literals, spreads: false, more });
        found.extend(texts.iter().filter_map(|text| relative(verb, text)));
        found.extend(effects.into_iter().filter_map(|effect| {
            let kind = effect.target.kind();
            thing(effect.verb, &effect.operation, kind, effect.target.name())
        }));
    }
    if let Action::Message { text } = action {
        found.extend(words::message(text));
    }
    let mut acts = false;
    for words in commands {
        if let Some((mut literals, more)) = words::command(words) {
            let program = super::of(&literals, Slot::Program).next().unwrap_or_default();
            let own: Vec<&EffectFacts> = queries.iter().filter(|query| query.program == program).collect();
            let family = family(queries, program);
            // where nobody knows what a program does, the subcommand tells whether it only looks
            let unknown = match own.as_slice() {
                [] => Table::shipped().row(program).is_none(),
                own => own.iter().any(|query| query.verb == Verb::Unknown),
            };
            let guessed = unknown && !words::looks(words);
            if guessed || own.iter().any(|query| acts_on(query)) {
                literals.insert(Literal(Slot::Does, ACT.to_owned()));
            }
            acts |= guessed;
            found.push(Event { family, literals, spreads: false, more });
        }
    }
    found.extend(effects(queries, commands));
    let (tool, sources, texts) = match action {
        Action::ToolCall { tool, arguments, .. } => {
            let texts = tool_call::strings(arguments).into_iter().map(|text| text.to_string());
            (Some(tool.as_str()), words::sources(tool, arguments), texts.filter(|text| !words::is_data(text)).collect())
        }
        _ => (None, HashSet::new(), Vec::new()),
    };
    let mention = mention(&Parts { queries, commands, tool, texts: &texts, sources, acts }, &found);
    let mut seen = HashSet::new();
    mention.into_iter().chain(found).filter(|event| seen.insert(event.clone())).collect()
}

/// Whether the commands of a program only work on files.
pub(super) fn family(queries: &[EffectFacts], program: &str) -> Family {
    let mut own = queries.iter().filter(|query| query.program == program).peekable();
    let files = own.peek().is_some() && own.all(|query| query.kind == Kind::Path && query.verb != Verb::Unknown);
    if files { Family::Plain } else { Family::Command }
}

/// The events of effects.
fn effects(queries: &[EffectFacts], commands: &[Vec<String>]) -> Vec<Event> {
    let roots: HashSet<&str> = queries.iter().filter_map(|query| query.constant_part().strip_suffix("/.git")).collect();
    // git's writes to the whole work tree are left out: the event of the command describes them
    let whole = |query: &EffectFacts| {
        query.program == "git" && query.verb == Verb::Write && roots.contains(query.constant_part())
    };
    let mut found = Vec::new();
    for query in queries {
        match query.kind {
            Kind::Path if whole(query) => {}
            Kind::Path => found.extend(place(query)),
            kind if !is_general(&query.name, commands) => {
                found.extend(thing(query.verb, &query.operation, kind, &query.name))
            }
            _ => {}
        }
    }
    found
}

/// Whether the name of a target is that of its kind alone, such as `image`, which the commands do not name.
fn is_general(name: &str, commands: &[Vec<String>]) -> bool {
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    plain && !commands.is_empty() && !commands.iter().flatten().any(|word| word.to_lowercase().contains(name))
}

/// An effect on a path.
fn place(query: &EffectFacts) -> Option<Event> {
    let path = query.constant_part();
    if query.unresolved || query.verb == Verb::Unknown || is_inner(path) || path.contains(UNKNOWN_SPAN) {
        return None;
    }
    let mut literals = BTreeSet::from([
        Literal(Slot::Does, group(query.verb).to_owned()),
        Literal(Slot::At, path.to_owned()),
        Literal(Slot::Below, path.to_owned()),
    ]);
    if group(query.verb) == CHANGE {
        literals.insert(Literal(Slot::How, query.verb.as_str().to_owned()));
    }
    let above = path.match_indices('/').filter(|(at, _)| *at > 0).take(ABOVE).filter_map(|(at, _)| path.get(..at));
    literals.extend(above.map(|folder| Literal(Slot::Below, folder.to_owned())));
    if query.is_prefix {
        // what is constant after a wildcard
        let varies = |c: char| c == UNKNOWN_SPAN || matches!(c, '*' | '?' | ']' | '/');
        literals.extend(query.name.rsplit(varies).next().into_iter().flat_map(endings));
    } else {
        literals.extend(named(path));
    }
    let spreads = query.recursive || query.is_prefix || query.verb == Verb::Move;
    Some(Event { family: Family::Place, literals, spreads, more: false })
}

/// Whether a path is that of what a repository keeps of itself.
pub(super) fn is_inner(path: &str) -> bool {
    path.contains("/.git/") || path.ends_with("/.git")
}

/// The literals of the last part of a path.
fn named(path: &str) -> impl Iterator<Item = Literal> {
    let name = path.rsplit('/').next().filter(|name| !name.is_empty());
    let ends = name.into_iter().flat_map(|name| endings(name.get(1..).unwrap_or_default()));
    name.map(|name| Literal(Slot::Named, name.to_owned())).into_iter().chain(ends)
}

/// The ends of a name: of `a_key.test.js` `.js`, `.test.js` and `_key.test.js`.
fn endings(name: &str) -> impl Iterator<Item = Literal> {
    let dots = name.match_indices(['.', '_', '-']).filter(|(at, _)| at + 1 < name.len() && name.contains('.'));
    dots.filter_map(|(at, _)| name.get(at..)).map(|ending| Literal(Slot::Ends, ending.to_owned()))
}

/// A path among the arguments of a tool that is relative to a folder of the tool's own.
fn relative(verb: Verb, value: &str) -> Option<Event> {
    let path = !value.starts_with(['/', '~']) && !value.contains(char::is_whitespace) && !value.contains("://");
    let file = path && value.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.contains('@'));
    if !file || !matches!(verb, Verb::Read | Verb::List | Verb::Write | Verb::Delete | Verb::Move) {
        return None;
    }
    let mut literals: BTreeSet<Literal> = named(value).collect();
    literals.insert(Literal(Slot::Does, group(verb).to_owned()));
    Some(Event { family: Family::Place, literals, spreads: false, more: false })
}

/// An effect on a target that is no path.
fn thing(verb: Verb, operation: &str, kind: Kind, name: &str) -> Option<Event> {
    let noise = matches!(verb, Verb::Unknown | Verb::Variable | Verb::Answer | Verb::Browse | Verb::Call);
    if noise || kind == Kind::Tool || name.is_empty() || name.contains(UNKNOWN_SPAN) {
        return None;
    }
    let mut literals = BTreeSet::new();
    let (kind, name) = match kind {
        Kind::Url | Kind::Host => (Kind::Host, host(name)),
        kind => (kind, name.to_lowercase()),
    };
    // a table with its schema is the table, too; a column belongs to its table
    let table = match (kind, name.rsplit_once('.')) {
        (Kind::Table, Some((_, last))) => Some(last),
        (Kind::Column, Some((table, _))) => Some(table.rsplit('.').next().unwrap_or(table)),
        _ => None,
    };
    literals.extend(table.map(|table| Literal(Slot::At, table.to_owned())));
    let column = name.rsplit('.').next().filter(|_| kind == Kind::Column);
    literals.extend(column.map(|column| Literal(Slot::Named, column.to_owned())));
    // the schema of a table
    if let (Kind::Table | Kind::Column, Some((above, _))) = (kind, name.rsplit_once('.')) {
        let above = if kind == Kind::Column { above.rsplit_once('.').map(|(schema, _)| schema) } else { Some(above) };
        literals.extend(above.map(|schema| Literal(Slot::Below, schema.to_owned())));
    }
    // a host without its domain
    let label = name.split('.').next().filter(|label| kind == Kind::Host && super::induce::is_telling(label));
    literals.extend(label.map(|label| Literal(Slot::At, label.to_owned())));
    let kind = if kind == Kind::Column { Kind::Table } else { kind };
    literals.insert(Literal(Slot::Kind, kind.as_str().to_owned()));
    let name = if kind == Kind::Service { name.trim_end_matches(".service").to_owned() } else { name };
    literals.insert(Literal(Slot::At, name));
    literals.insert(Literal(Slot::Does, verb.as_str().to_owned()));
    literals.insert(Literal(Slot::Does, format!("{verb} {operation}").trim().to_owned()));
    if matches!(verb, Verb::Insert | Verb::Update | Verb::Delete | Verb::Drop | Verb::Data | Verb::Write) {
        literals.insert(Literal(Slot::Does, CHANGE.to_owned()));
    }
    Some(Event { family: Family::Thing, literals, spreads: false, more: false })
}

/// Whether a statement with this effect only reads.
fn is_read(verb: Verb) -> bool {
    is_look(verb) && verb != Verb::Unknown
}

/// Whether a verb leaves everything as it is.
pub(super) fn is_look(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Read
            | Verb::List
            | Verb::Select
            | Verb::Connect
            | Verb::Execute
            | Verb::Variable
            | Verb::Answer
            | Verb::Unknown
    )
}

/// Whether an effect changes something, here or elsewhere.
pub(super) fn acts_on(query: &EffectFacts) -> bool {
    let reads = query.verb == Verb::Remote && query.operation == "read";
    !is_look(query.verb) && !reads
}

/// Whether the text of an argument is a statement of a database.
pub(crate) fn is_statement(text: &str) -> bool {
    const BEGINS: [&str; 11] =
        ["alter", "begin", "create", "delete", "drop", "insert", "merge", "select", "truncate", "update", "with"];
    let first =
        text.trim_start_matches(|c: char| c.is_whitespace() || c == '(').split(|c: char| !c.is_ascii_alphabetic());
    let first = first.take(1).map(str::to_ascii_lowercase).next().unwrap_or_default();
    BEGINS.contains(&first.as_str()) && text.split_whitespace().nth(1).is_some()
}

/// The host of an address, without its port.
pub(super) fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = host.rsplit('@').next().unwrap_or(host);
    host.split(':').next().unwrap_or(host).to_lowercase()
}
