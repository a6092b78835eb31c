//! The table of command semantics keeps what its rows promise.

use agrail::effect::{
    shell,
    table::{self, Table},
};

#[test]
fn every_file_of_the_table_parses_and_no_name_has_two_rows() {
    let rows = Table::verify().unwrap_or_else(|e| panic!("{e}"));
    assert!(rows > 2500, "{rows}");
    let table = Table::shipped();
    assert_eq!(table.names().count(), rows);
    for name in table.names() {
        let row = table.row(name).unwrap_or_else(|| panic!("{name} is listed, but its row does not parse"));
        assert!(row.names.iter().any(|n| n == name), "{name} leads to the row of {:?}", row.names);
    }
}

#[test]
fn every_example_of_the_table_holds() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/effect/commands");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let rows = table::parse(&name, &std::fs::read_to_string(&file).unwrap()).unwrap_or_else(|e| panic!("{e}"));
        for row in rows {
            for example in &row.examples {
                let (command, expected) = example.split_first().unwrap();
                count += 1;
                let reading = shell::read(command, "user", "/home/user", "", &shell::Nowhere);
                let mut found: Vec<String> =
                    reading.effects.iter().map(|e| e.brief().replace("program ", "")).collect();
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
