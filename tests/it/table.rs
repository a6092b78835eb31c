//! The table of command semantics keeps what its rows promise.

use agrail::effect::{
    shell,
    table::{self, Row, Table},
};
use std::path::{Path, PathBuf};

/// Every file of a folder and those below, families aside.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("families") {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The rows as they are written, with their examples.
fn rows() -> Vec<(String, Row)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("commands");
    let family = |name: &str| std::fs::read_to_string(folder.join(format!("families/{name}.toml"))).ok();
    let row = |file: PathBuf| {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let row = table::parse(&name, &text, family).unwrap_or_else(|e| panic!("{e}"));
        (name, row)
    };
    files(&folder).into_iter().map(row).collect()
}

#[test]
fn every_row_is_compiled_under_its_names() {
    let (rows, table) = (rows(), Table::shipped());
    let names: usize = rows.iter().map(|(_, row)| row.names.len()).sum();
    assert!(names > 2500 && table.names().count() == names, "{names}");
    for (file, row) in rows {
        for name in &row.names {
            let compiled = table.row(name).unwrap_or_else(|| panic!("{file}: {name} does not decode"));
            assert_eq!((&compiled.names, &compiled.about), (&row.names, &row.about), "{file}");
        }
    }
}

#[test]
fn every_family_is_included() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("commands");
    let texts: Vec<String> = files(&folder).iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    for entry in std::fs::read_dir(folder.join("families")).unwrap() {
        let include = format!("include = \"{}\"", entry.unwrap().path().file_stem().unwrap().to_str().unwrap());
        assert!(texts.iter().any(|text| text.contains(&include)), "nothing says {include}");
    }
}

#[test]
fn every_example_of_the_table_holds() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, row) in rows() {
        {
            for example in &row.examples {
                let (command, expected) = example.split_first().unwrap();
                count += 1;
                let reading = shell::extract_effects(command, "user", "/home/user", "", &shell::NoFiles);
                let mut found: Vec<String> =
                    reading.effects.iter().map(|e| e.to_table_notation().replace("program ", "")).collect();
                // a row may write the kind of its target: `limit:resource quota`
                let mut expected: Vec<String> = expected
                    .iter()
                    .map(|e| match e.split_once(' ') {
                        Some((role, target)) => format!("{} {target}", role.split(':').next().unwrap()),
                        None => e.clone(),
                    })
                    .collect();
                found.sort();
                expected.sort();
                expected.dedup();
                if found != expected {
                    wrong.push(format!("{name}: {command:?}\n   says   {expected:?}\n   yields {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} examples differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The effects of a command line, as text.
fn effects(command: &str) -> Vec<String> {
    let reading = shell::extract_effects(command, "user", "/home/user", "", &shell::NoFiles);
    let mut found: Vec<String> =
        reading.effects.iter().map(|e| format!("{} {:?}", e.to_table_notation(), e.operation)).collect();
    found.sort();
    found
}

/// Programs whose arguments are text, and builtins that refuse an option that they do not know, so that nothing happens.
const INERT: &[&str] = &["cross-env-shell", "eval", "export", "local", "pushd"];

#[test]
fn unlisted_options_are_effects_of_every_row() {
    let mut ignored = Vec::new();
    let mut count = 0;
    for (file, row) in rows().into_iter().filter(|(_, row)| row.takes_options()) {
        let letter = ('A'..='Z').chain('a'..='z').find(|letter| !row.lists(&format!("-{letter}")));
        let own = |example: &&Vec<String>| row.names.iter().any(|name| example[0].starts_with(&format!("{name} ")));
        let Some(example) = row.examples.iter().find(own).map(|example| example[0].clone()) else { continue };
        if row.names.iter().any(|name| INERT.contains(&name.as_str())) {
            continue;
        }
        let (program, rest) = example.split_once(' ').unwrap();
        let letters = letter.map(|letter| format!("-{letter} ./evil.so"));
        for option in ["--zorkify", "--zorkify=./evil.so"].map(str::to_owned).into_iter().chain(letters) {
            count += 1;
            let with = format!("{program} {option} {rest}");
            if effects(&with) == effects(&example) {
                ignored.push(format!("{file}: {with}"));
            }
        }
    }
    assert!(ignored.is_empty(), "{} of {count} are ignored:\n{}", ignored.len(), ignored.join("\n"));
    assert!(count > 5000, "only {count}");
}
