//! The documentation: its links lead somewhere, its commands exist, and those that can be run are run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<(PathBuf, String)> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = docs.filter(|file| file.extension().is_some_and(|end| end == "md")).collect();
    files.push(root().join("README.md"));
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).unwrap())).collect()
}

/// The blocks of a page: language and lines.
fn blocks(text: &str) -> Vec<(String, Vec<String>)> {
    let (mut found, mut open): (Vec<(String, Vec<String>)>, bool) = (Vec::new(), false);
    for line in text.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(language), false) => {
                found.push((language.to_owned(), Vec::new()));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => found.last_mut().unwrap().1.push(line.to_owned()),
            (None, false) => {}
        }
    }
    found
}

fn run(line: &str, home: &Path) -> Output {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_agrail"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).env_clear().env("HOME", home).env("PATH", path).env("USER", "op").current_dir(home);
    shell.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_readme_is_short_and_every_chapter_is_listed() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let words = readme.split_whitespace().count();
    assert!(words <= 900, "{words} words");
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for (file, _) in pages().iter().filter(|(file, _)| file.starts_with(root().join("docs"))) {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name} is in no list of chapters");
    }
}

#[test]
fn every_link_leads_somewhere() {
    let heading = |line: &str| -> String {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        text.chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    for (file, text) in pages() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} leads nowhere", file.display());
            if !anchor.is_empty() {
                let there = std::fs::read_to_string(&target).unwrap();
                let found = there.lines().filter(|line| line.starts_with('#')).any(|line| heading(line) == anchor);
                assert!(found, "{}: {link} has no such heading", file.display());
            }
        }
    }
}

#[test]
fn commands_that_can_be_run_run() {
    let mut ran = 0;
    for (file, text) in pages() {
        let home = tempfile::tempdir().unwrap();
        // a guard that has been used
        run("agrail 'pip install x'", home.path());
        for (_, lines) in blocks(&text).iter().filter(|(language, _)| language == "sh") {
            for line in lines.iter().filter(|line| !line.trim().is_empty()) {
                let output = run(line, home.path());
                let told = String::from_utf8_lossy(&output.stderr).into_owned();
                // allow, deny, ask; or something was found
                assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}: {line}\n{told}", file.display());
                ran += 1;
            }
        }
    }
    assert!(ran >= 12, "{ran}");
}

#[test]
fn every_command_and_option_exists() {
    let home = tempfile::tempdir().unwrap();
    let mut helps = std::collections::BTreeMap::new();
    let mut help = |words: &[&str]| -> Option<String> {
        let key = words.join(" ");
        helps
            .entry(key.clone())
            .or_insert_with(|| {
                let output = run(&format!("agrail {key} --help"), home.path());
                output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
            })
            .clone()
    };
    let mut seen = BTreeSet::new();
    for (file, text) in pages() {
        for (_, lines) in
            blocks(&text).iter().filter(|(language, _)| ["sh", "text", "", "console"].contains(&language.as_str()))
        {
            for line in lines {
                let line = line.split(" # ").next().unwrap().trim_start_matches("$ ").trim();
                let Some(rest) = line.strip_prefix("agrail ").filter(|rest| !rest.starts_with(['\'', '"'])) else {
                    continue;
                };
                // alternatives are separate commands: policy check|test
                let words: Vec<&str> = rest.split_whitespace().collect();
                let first = words[0];
                let text = help(&[first]).unwrap_or_else(|| panic!("{}: there is no agrail {first}", file.display()));
                let nested = words.get(1).map(|word| word.split('|').next().unwrap().trim_matches(['[', ']']));
                let nested = nested.filter(|word| text.contains(&format!("\n  {word} ")));
                let about = nested.and_then(|word| help(&[first, word])).unwrap_or(text.clone());
                for option in words.iter().filter_map(|word| word.trim_matches(['[', ']', '\'']).strip_prefix("--")) {
                    let name = option.split('=').next().unwrap();
                    if name.is_empty() || first == "mcp" && name == "accept" || words.contains(&"prove") {
                        continue;
                    }
                    let known = about.contains(&format!("--{name}")) || text.contains(&format!("--{name}"));
                    assert!(known, "{}: agrail {rest}: no --{name}", file.display());
                }
                seen.insert(first.to_owned());
            }
        }
    }
    assert!(seen.len() >= 15, "{seen:?}");
}
