//! Enters reviewed options into rows.

use super::file::{KEYED, LISTS, RowFile, add_to_list, listed, names, usable, words};
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use toml_edit::{ArrayOfTables, Item, Table, value};

/// One line of a review.
struct Finding<'a> {
    /// Names of subcommands below the program.
    subs: Vec<&'a str>,
    options: Vec<&'a str>,
    kind: &'a str,
    roles: &'a str,
}

/// Enters the lines of a file. A line that does not fit its row is reported and left out; so are all lines of a row that
/// would not parse.
pub fn settle(commands: &Path, file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut programs: BTreeMap<&str, Vec<(usize, Finding<'_>)>> = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match parse_line(line) {
            Some((program, finding)) => programs.entry(program).or_default().push((number + 1, finding)),
            None => println!("{}:{}: not a finding: {line}", file.display(), number + 1),
        }
    }
    let (mut entered, mut left) = (0, 0);
    for (program, findings) in programs {
        let mut row = match RowFile::find(commands, program) {
            Ok(row) => row,
            Err(why) => {
                left += findings.len();
                println!("{program}: {why:#}");
                continue;
            }
        };
        for (number, finding) in findings {
            let before = (row.document.clone(), row.family.as_ref().map(|family| family.document.clone()));
            let result = enter_row(&mut row, &finding).and_then(|()| row.row().map(drop));
            match result {
                Ok(()) => entered += 1,
                Err(why) => {
                    left += 1;
                    row.document = before.0;
                    if let (Some(family), Some(before)) = (&mut row.family, before.1) {
                        family.document = before;
                    }
                    println!("{}:{number}: {program}: {why:#}", file.display());
                }
            }
        }
        row.save()?;
    }
    println!("{entered} findings entered, {left} left out");
    Ok(())
}

fn parse_line(line: &str) -> Option<(&str, Finding<'_>)> {
    let mut fields = line.trim_end().split('\t');
    let mut place = fields.next()?.split(' ').filter(|word| !word.is_empty());
    let program = place.next()?;
    let options = fields.next()?.split_whitespace().collect();
    let (kind, roles) = (fields.next()?.trim(), fields.next().unwrap_or_default().trim());
    Some((program, Finding { subs: place.collect(), options, kind, roles }))
}

/// Enters a finding into the row, or into its family if that has the subcommand.
fn enter_row(row: &mut RowFile, finding: &Finding<'_>) -> Result<()> {
    let has = |table: &Table| {
        let subs = table.get("sub").and_then(Item::as_array_of_tables);
        subs.into_iter()
            .flatten()
            .any(|sub| finding.subs.first().is_some_and(|own| names(sub).iter().any(|n| n == own)))
    };
    match &mut row.family {
        Some(family) if !has(row.document.as_table()) && has(family.document.as_table()) => {
            enter(family.document.as_table_mut(), &finding.subs, finding)
        }
        _ => enter(row.document.as_table_mut(), &finding.subs, finding),
    }
}

fn enter(table: &mut Table, subs: &[&str], finding: &Finding<'_>) -> Result<()> {
    if let Some((first, rest)) = subs.split_first() {
        let all = table.get_mut("sub").and_then(Item::as_array_of_tables_mut);
        let sub = all.and_then(|all| all.iter_mut().find(|sub| names(sub).iter().any(|name| name == first)));
        return enter(sub.with_context(|| format!("no subcommand '{first}'"))?, rest, finding);
    }
    let bare = |option: &str| option.trim_end_matches('=').to_owned();
    let named = |word: &str| finding.options.iter().any(|option| bare(option) == bare(word));
    // a review replaces what a list says; a role only if its kind ends in `!`
    let (kind, overrides) = match finding.kind.strip_suffix('!') {
        Some(kind) => (kind, true),
        None => (finding.kind, false),
    };
    if overrides {
        remove_keyed(table, &named);
    }
    for field in LISTS {
        let (found, rest): (Vec<_>, Vec<_>) = words(table.get(field)).into_iter().partition(|word| named(word));
        if !found.is_empty() {
            table.remove(field);
            add_to_list(table, field, rest.into_iter());
        }
    }
    let known = listed(table);
    let options: Vec<String> = finding
        .options
        .iter()
        .map(|option| bare(option))
        .filter(|name| usable(name) && !known.contains(name))
        .collect();
    ensure!(!options.is_empty(), "the row has a role for '{}' already", finding.options.join(" "));
    let valued = |name: &String| finding.options.iter().any(|option| bare(option) == *name && option.ends_with('='));
    match kind {
        "inert" | "takes" | "optional" => add_to_list(table, kind, options.into_iter()),
        "unknown" => {
            let written = |name: String| if valued(&name) { format!("{name}=") } else { name };
            add_to_list(table, "unknown", options.into_iter().map(written));
        }
        "option" | "flag" => {
            ensure!(!finding.roles.is_empty(), "a {kind} needs roles");
            insert_keyed(table, kind, &options.join(" "), finding.roles);
        }
        "when" => {
            let mut variant = Table::new();
            variant.insert("flag", value(options.join(" ")));
            variant.insert("operands", value(finding.roles));
            let all = table.entry("when").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
            all.as_array_of_tables_mut().context("'when' is not a list")?.push(variant);
        }
        other => bail!("unknown kind '{other}'"),
    }
    Ok(())
}

/// Removes options from the keys of roles.
fn remove_keyed(table: &mut Table, named: &dyn Fn(&str) -> bool) {
    for field in KEYED {
        let Some(keyed) = table.get_mut(field).and_then(Item::as_table_like_mut) else { continue };
        let keys: Vec<String> = keyed.iter().map(|(keys, _)| keys.to_owned()).collect();
        for keys in keys.into_iter().filter(|keys| keys.split_whitespace().any(named)) {
            let left: Vec<&str> = keys.split_whitespace().filter(|name| !named(name)).collect();
            let roles = keyed.remove(&keys);
            if let (false, Some(roles)) = (left.is_empty(), roles) {
                keyed.insert(&left.join(" "), roles);
            }
        }
        if keyed.is_empty() {
            table.remove(field);
        }
    }
}

fn insert_keyed(table: &mut Table, field: &str, names: &str, roles: &str) {
    let keyed = table.entry(field).or_insert_with(|| {
        let mut empty = Table::new();
        empty.set_dotted(true);
        Item::Table(empty)
    });
    if let Some(keyed) = keyed.as_table_like_mut() {
        keyed.insert(names, value(roles));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use toml_edit::DocumentMut;

    #[test]
    fn findings_move_options_out_of_the_review() {
        let text = "name = \"frob\"\noperands = \"read+\"\noption.\"-x -y\" = \"read\"\nunreviewed = \"-o= --sort= --fix --load=\"\n[[sub]]\nname = \"push\"\n";
        let mut document: DocumentMut = text.parse().unwrap();
        for line in [
            "frob\t-o=\toption\twrite",
            "frob\t--sort=\ttakes",
            "frob\t--fix\twhen\twrite+",
            "frob\t--load=\tunknown",
            "frob push\t--tags\tinert",
            "frob\t-x --exec\toption!\texec",
        ] {
            let (_, finding) = parse_line(line).unwrap();
            enter(document.as_table_mut(), &finding.subs, &finding).unwrap();
        }
        let now = document.to_string();
        for line in [
            "option.-o = \"write\"",
            "takes = \"--sort\"",
            "unknown = \"--load=\"",
            "flag = \"--fix\"",
            "operands = \"write+\"",
            "inert = \"--tags\"",
            "option.-y = \"read\"",
            "option.\"-x --exec\" = \"exec\"",
        ] {
            assert!(now.contains(line), "{line} in\n{now}");
        }
        assert!(!now.contains("unreviewed"), "{now}");
    }
}
