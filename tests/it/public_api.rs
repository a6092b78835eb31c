//! The engine's public items, from the list in `docs/public-api.txt`, which CI compares with the code.

use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Most public types, traits, constants and free functions of the engine.
const MOST: usize = 200;

/// Folders that use the engine from outside.
const USERS: [&str; 6] = ["tests", "examples", "benches", "fuzz/fuzz_targets", "eval", "src/bin"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn listed() -> String {
    fs::read_to_string(root().join("docs/public-api.txt")).unwrap()
}

/// Paths of the public items, without methods and without the short names of items at the crate's root.
fn items(list: &str) -> BTreeSet<String> {
    let item = Regex::new(
        r"^(?:#\[[^\]]*\] )?pub (?:const |async )?(?:struct|enum|trait|type|const|static|fn) (agrail(?:::\w+)+)",
    )
    .unwrap();
    let generics = Regex::new(r"<[^<>()]*>").unwrap();
    let path = |line: &str| item.captures(line).map(|c| c[1].to_owned());
    let member = |path: &String| {
        let parent = path.rsplit("::").nth(1).unwrap();
        parent.starts_with(char::is_uppercase)
    };
    let all: BTreeSet<String> =
        list.lines().filter_map(|line| path(&generics.replace_all(line, ""))).filter(|path| !member(path)).collect();
    let name = |path: &str| path.rsplit("::").next().unwrap().to_owned();
    let short = |path: &String| path.matches("::").count() == 1;
    let deep: BTreeSet<String> = all.iter().filter(|path| !short(path)).map(|path| name(path)).collect();
    all.into_iter().filter(|path| !short(path) || !deep.contains(&name(path))).collect()
}

fn read_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("public_api.rs") {
            sources.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_engine_has_few_public_items() {
    let items = items(&listed());
    assert!(items.len() > 100, "the list is not understood: {}", items.len());
    assert!(items.len() <= MOST, "{} public items; keep new ones private, or retire others", items.len());
}

#[test]
fn each_public_item_is_used_from_outside() {
    let mut sources = String::new();
    for folder in USERS {
        read_sources(&root().join(folder), &mut sources);
    }
    let list = listed();
    let (word, path) = (Regex::new(r"\w+").unwrap(), Regex::new(r"agrail(?:::\w+)+").unwrap());
    let mut words: BTreeSet<String> = word.find_iter(&sources).map(|found| found.as_str().to_owned()).collect();
    // what the signature of a used item names is used, too
    loop {
        let before = words.len();
        for line in list.lines() {
            let item = path.find(line).and_then(|item| item.as_str().rsplit("::").next());
            if item.is_some_and(|item| words.contains(item)) {
                words.extend(word.find_iter(line).map(|found| found.as_str().to_owned()));
            }
        }
        if words.len() == before {
            break;
        }
    }
    // a function's name may be a common word, so it counts only with its module: `learn::signature`
    let used = |path: &String| {
        let mut parts = path.rsplit("::");
        let (name, module) = (parts.next().unwrap(), parts.next().unwrap());
        let qualified = || Regex::new(&format!(r"\b{module}::(?:\{{[^;]*?\b)?{name}\b")).unwrap().is_match(&sources);
        words.contains(name) && (name.starts_with(char::is_uppercase) || qualified())
    };
    let unused: Vec<String> = items(&list).into_iter().filter(|path| !used(path)).collect();
    assert!(unused.is_empty(), "no example, test, bench or other package uses {unused:#?}");
}
