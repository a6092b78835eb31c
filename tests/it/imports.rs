//! Modules import downwards: the order is the list under "Order of the modules" in `src/lib.rs`.

use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The modules of the list, lowest first, with their place.
fn order(crate_docs: &str) -> BTreeMap<String, usize> {
    let (_, list) = crate_docs.split_once("//! # Order of the modules").unwrap();
    let (list, _) = list.split_once("//! # ").unwrap();
    let names = Regex::new(r"`([a-z_]+)`").unwrap();
    names.captures_iter(list).enumerate().map(|(place, name)| (name[1].to_owned(), place)).collect()
}

/// Every Rust file below a folder, or the file of that name.
fn files(module: &Path) -> Vec<PathBuf> {
    let mut found = vec![module.with_extension("rs")];
    let mut folders = vec![module.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The modules of the crate that a file names, `use crate::{a, b::c}` included.
fn imports(text: &str) -> Vec<String> {
    let grouped = Regex::new(r"(?s)crate::\{(.*?)\};").unwrap();
    let first = Regex::new(r"^\s*([a-z_]+)\s*(?:::|$)").unwrap();
    let inner = Regex::new(r"\{[^{}]*\}").unwrap();
    let mut found: Vec<String> =
        Regex::new(r"\bcrate::([a-z_]+)").unwrap().captures_iter(text).map(|name| name[1].to_owned()).collect();
    for group in grouped.captures_iter(text) {
        let flat = inner.replace_all(&group[1], "");
        found.extend(flat.split(',').filter_map(|one| first.captures(one)).map(|name| name[1].to_owned()));
    }
    found
}

#[test]
fn modules_import_downwards() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let crate_docs = std::fs::read_to_string(source.join("lib.rs")).unwrap();
    let order = order(&crate_docs);
    let declared = Regex::new(r"(?m)^(?:pub )?mod ([a-z_]+);").unwrap();
    let declared: Vec<&str> = declared.captures_iter(&crate_docs).map(|name| name.extract::<1>().1[0]).collect();
    assert!(declared.len() > 20, "{declared:?}");
    let mut wrong = Vec::new();
    for module in &declared {
        let Some(own) = order.get(*module) else {
            wrong.push(format!("`{module}` is missing in the order of the modules in src/lib.rs"));
            continue;
        };
        for file in files(&source.join(module)) {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            for import in imports(&text) {
                if import != *module && order.get(&import).is_some_and(|place| place >= own) {
                    wrong.push(format!("{} imports `{import}`, which is not below `{module}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_read_in_every_form() {
    let text = "use crate::{action::{A, B}, facts, net::C};\nlet x = crate::policy::x();\npub(crate) fn f() {}";
    let mut found = imports(text);
    found.sort();
    assert_eq!(found, ["action", "facts", "net", "policy"]);
}
