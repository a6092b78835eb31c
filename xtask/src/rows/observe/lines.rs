//! The command lines that show what a row claims: its examples, and one of them with each option.

use super::super::file::{LISTS, RowFile, names, words};
use super::claim::PROBE;
use agrail_effects::{Effect, Verb, shell};
use std::collections::BTreeSet;
use toml_edit::{Item, Table};

/// The home in which command lines run.
pub const HOME: &str = "/home/user";

/// A command line, and what the table says about it.
pub struct Line {
    pub command: String,
    pub effects: Vec<Effect>,
    /// The option that it adds to an example.
    pub option: Option<Added>,
}

/// An option that was added to an example.
pub struct Added {
    /// The subcommands and the names of the option: `push -f --force`.
    pub names: String,
    /// The command line without it.
    pub base: String,
    /// The effects that it adds; none: the row says that it is harmless.
    pub adds: Vec<Effect>,
}

/// The command lines of a row. `all`: also those with options that have no effect.
pub fn lines(file: &RowFile, all: bool) -> Vec<Line> {
    let mut examples = examples(file.document.as_table());
    if examples.is_empty() {
        examples = implied(file);
    }
    let mut found: Vec<Line> = examples.iter().map(|command| line(command.clone(), None)).collect();
    let programs = file.names();
    let own: Vec<&String> = examples.iter().filter(|example| is_simple(example, &programs)).collect();
    let tables = file.family.iter().map(|family| family.document.as_table()).chain([file.document.as_table()]);
    for table in tables {
        walk(table, &mut Vec::new(), &mut |place, table| {
            for (options, value) in options(table) {
                let bare = programs.first().map(|program| bare(program, place));
                let examples: Vec<&String> = own.iter().copied().chain(bare.as_ref()).collect();
                found.extend(with_option(&examples, place, &options, value.as_deref(), all));
            }
        });
    }
    found
}

fn line(command: String, option: Option<Added>) -> Line {
    Line { effects: effects(&command), command, option }
}

/// What the table says about a command line.
pub fn effects(command: &str) -> Vec<Effect> {
    shell::extract_effects(command, "user", HOME, HOME, &shell::NoFiles).effects
}

fn examples(table: &Table) -> Vec<String> {
    let examples = table.get("examples").and_then(Item::as_array).into_iter().flatten();
    examples.filter_map(|example| example.as_array()?.get(0)?.as_str().map(str::to_owned)).collect()
}

/// Command lines for a row without examples, by the roles of its operands: one, or one for each of its subcommands.
fn implied(file: &RowFile) -> Vec<String> {
    let Some(program) = file.names().into_iter().next() else { return Vec::new() };
    let tables: Vec<&Table> =
        [Some(file.document.as_table()), file.family.as_ref().map(|family| family.document.as_table())]
            .into_iter()
            .flatten()
            .collect();
    let field = |name: &str| tables.iter().find_map(|table| table.get(name));
    let operands = |table: Option<&Item>| -> String {
        let roles = table.and_then(Item::as_str).unwrap_or_default();
        roles
            .split_whitespace()
            .flat_map(|role| [" ".to_owned(), operand(role.trim_end_matches(['+', '*', '?']))])
            .collect()
    };
    let subs = field("sub").and_then(Item::as_array_of_tables);
    let mut found: Vec<String> = subs
        .into_iter()
        .flatten()
        .filter_map(|sub| Some(format!("{program} {}{}", names(sub).first()?, operands(sub.get("operands")))))
        .collect();
    if found.is_empty() {
        found.push(format!("{program}{}", operands(field("operands"))));
    }
    // one that the table does not know claims nothing
    found.retain(|command| effects(command).iter().all(|effect| effect.verb != Verb::Unknown));
    found
}

/// A value for an operand: the name of a new file if the program creates it, otherwise that of an existing file.
fn operand(role: &str) -> String {
    match role.split([':', '/']).next().unwrap_or_default() {
        "write" | "create" | "overwrite" | "into" | "append" | "link" => "out.txt".to_owned(),
        _ => value(role),
    }
}

/// Whether the program of the row is the first word of a single command.
fn is_simple(example: &str, programs: &[String]) -> bool {
    let program = example.split_whitespace().next().unwrap_or_default();
    programs.iter().any(|name| name == program) && !example.contains(['|', ';', '&', '<', '>', '`', '\n'])
}

/// A subcommand alone, for options that no example knows.
fn bare(program: &str, place: &[Vec<String>]) -> String {
    place.iter().filter_map(|names| names.first()).fold(program.to_owned(), |text, name| format!("{text} {name}"))
}

/// Calls `visit` for a row and for those of its subcommands, with their names.
fn walk(table: &Table, place: &mut Vec<Vec<String>>, visit: &mut dyn FnMut(&[Vec<String>], &Table)) {
    visit(place, table);
    for sub in table.get("sub").and_then(Item::as_array_of_tables).into_iter().flatten() {
        place.push(names(sub));
        walk(sub, place, visit);
        place.pop();
    }
}

/// Names of one option, and a value for it: nothing for a flag.
fn options(table: &Table) -> Vec<(Vec<String>, Option<String>)> {
    let mut found = Vec::new();
    for list in LISTS.iter().filter(|list| !list.starts_with('u')) {
        for names in groups(&words(table.get(list))) {
            let value = (*list != "inert").then(|| PROBE.to_owned());
            found.push((names, value));
        }
    }
    for (keys, role) in table.get("option").and_then(Item::as_table_like).into_iter().flat_map(|keyed| keyed.iter()) {
        let value = value(role.as_str().unwrap_or_default());
        found.extend(
            groups(&keys.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
                .into_iter()
                .map(|names| (names, Some(value.clone()))),
        );
    }
    for (keys, _) in table.get("flag").and_then(Item::as_table_like).into_iter().flat_map(|keyed| keyed.iter()) {
        let names = keys.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        found.extend(groups(&names).into_iter().map(|names| (names, None)));
    }
    found
}

/// Splits a list into options: a letter and the long name after it are one.
fn groups(words: &[String]) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for word in words {
        let letter = |name: &str| name.len() == 2 && !name.starts_with("--");
        match groups.last_mut() {
            Some(group) if word.starts_with("--") && group.len() == 1 && group.iter().all(|name| letter(name)) => {
                group.push(word.clone());
            }
            _ => groups.push(vec![word.clone()]),
        }
    }
    groups
}

/// A value that fits a role.
fn value(role: &str) -> String {
    let role = role.split_whitespace().next().unwrap_or_default();
    let kind = role.split_once(':').map_or("", |(_, kind)| kind);
    match (role.split([':', '/']).next().unwrap_or_default(), kind) {
        (_, "url") => "http://127.0.0.1:9/x",
        (_, "host") | ("connect" | "send" | "remote", _) => "127.0.0.1",
        ("listen", _) => "2345",
        ("mode", _) => "600",
        ("owner" | "account", _) => "nobody",
        ("kill", _) => "4242",
        ("duration", _) => "1",
        ("script", "python" | "ruby" | "perl" | "lua") => "print(1)",
        ("script", "sql") => "'select 1'",
        ("script" | "run" | "exec", _) => "true",
        ("cwd" | "base", _) => "/tmp",
        ("plain", _) => "a=1",
        _ => PROBE,
    }
    .to_owned()
}

/// The lines that add an option to the first example that knows it.
fn with_option(
    examples: &[&String],
    place: &[Vec<String>],
    options: &[String],
    value: Option<&str>,
    all: bool,
) -> Option<Line> {
    let name = options.first()?;
    let parts = examples.iter().find_map(|example| split(example, place))?;
    let option = match value {
        None => name.clone(),
        Some(value) if name.ends_with('=') => format!("{name}{value}"),
        Some(value) => format!("{name} {value}"),
    };
    let base = format!("{}{}", parts.0, parts.1);
    let command = format!("{} {option}{}", parts.0, parts.1);
    let before: BTreeSet<String> = effects(&base).iter().map(|effect| format!("{effect:?}")).collect();
    let adds: Vec<Effect> =
        effects(&command).into_iter().filter(|effect| !before.contains(&format!("{effect:?}"))).collect();
    // what the table does not know is said there, and has no trace
    let adds: Vec<Effect> = adds.into_iter().filter(|effect| effect.verb != Verb::Unknown).collect();
    if adds.is_empty() && !all || base == command {
        return None;
    }
    let place = place.iter().filter_map(|names| names.first()).fold(String::new(), |text, name| text + name + " ");
    Some(line(command, Some(Added { names: format!("{place}{}", options.join(" ")), base, adds })))
}

/// A command line up to the last of the subcommands, and the rest of it.
fn split(example: &str, place: &[Vec<String>]) -> Option<(String, String)> {
    let mut words = example.split(' ');
    let mut head = vec![words.next()?];
    for names in place {
        loop {
            let word = words.next()?;
            head.push(word);
            if names.iter().any(|name| name == word) {
                break;
            }
        }
    }
    let rest: String = words.flat_map(|word| [" ", word]).collect();
    Some((head.join(" "), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_grouped_by_letter_and_long_name() {
        let words: Vec<String> = "-a --all -b --long --other -x".split(' ').map(str::to_owned).collect();
        let grouped: Vec<String> = groups(&words).iter().map(|group| group.join(" ")).collect();
        assert_eq!(grouped, ["-a --all", "-b --long", "--other", "-x"]);
    }

    #[test]
    fn an_option_stands_after_the_subcommand() {
        let place = [vec!["push".to_owned()]];
        assert_eq!(split("git -C a push b", &place), Some(("git -C a push".to_owned(), " b".to_owned())));
        assert_eq!(split("git pull", &place), None);
    }
}
