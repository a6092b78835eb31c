//! The program itself, on the table of this repository. `.ci/run` uses the program that this test builds.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

#[test]
fn every_row_of_the_table_is_counted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["rows", "count"]).current_dir(root).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let counted: usize = text.lines().map(|line| line.split_once('\t').unwrap().1.parse::<usize>().unwrap()).sum();
    let folders = std::fs::read_dir(root.join("commands")).unwrap().map(|entry| entry.unwrap().path());
    let rows = folders.filter(|folder| folder.is_dir() && !folder.ends_with("families"));
    let files: usize = rows.map(|folder| std::fs::read_dir(folder).unwrap().count()).sum();
    assert_eq!(counted, files, "{text}");
}
