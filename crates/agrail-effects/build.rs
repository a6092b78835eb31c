//! Compiles the tables to bytes: `commands/` with an index by program name, and the calls of Python and
//! JavaScript, and the vocabularies of other languages. A row that does not
//! parse fails the build.

#![allow(dead_code, missing_docs, reason = "shared with the library; only parts are used here")]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/code/row.rs"]
mod code_row;
#[path = "src/kind.rs"]
mod kind;
#[path = "src/oneliner/description.rs"]
mod oneliner;
#[path = "src/python"]
mod python {
    pub mod file;
    pub mod row;
    pub mod source;
}
#[path = "src/role.rs"]
mod role;
#[path = "src/table/row.rs"]
mod row;
#[path = "src/table/source.rs"]
mod source;
#[path = "src/verb.rs"]
mod verb;

const COMMANDS: &str = "../../commands";
const CALLS: &str = "src/python/calls.toml";
const ONELINERS: &str = "src/oneliner";
const JAVASCRIPT: &str = "src/code/javascript.toml";

fn main() -> Result<(), Box<dyn Error>> {
    for input in [
        COMMANDS,
        CALLS,
        JAVASCRIPT,
        ONELINERS,
        "src/code/row.rs",
        "build.rs",
        "src/kind.rs",
        "src/role.rs",
        "src/verb.rs",
    ] {
        println!("cargo:rerun-if-changed={input}");
    }
    for input in
        ["src/table/row.rs", "src/table/source.rs", "src/python/file.rs", "src/python/row.rs", "src/python/source.rs"]
    {
        println!("cargo:rerun-if-changed={input}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    compile_commands(&out)?;
    compile_calls(&out)
}

/// Rows and names of `calls.toml`.
fn compile_calls(out: &Path) -> Result<(), Box<dyn Error>> {
    let file: python::file::File = toml::from_str(&fs::read_to_string(CALLS)?).map_err(|e| format!("{CALLS}: {e}"))?;
    fs::write(out.join("calls.bin"), postcard::to_allocvec(&python::row::Calls::from(file))?)?;
    let names: code_row::Names =
        toml::from_str(&fs::read_to_string(JAVASCRIPT)?).map_err(|e| format!("{JAVASCRIPT}: {e}"))?;
    fs::write(out.join("javascript.bin"), postcard::to_allocvec(&names)?)?;
    let mut described = BTreeMap::new();
    for file in fs::read_dir(ONELINERS)? {
        let file = file?.path();
        if let (Some(name), Some("toml")) =
            (file.file_stem().and_then(|s| s.to_str()), file.extension().and_then(|e| e.to_str()))
        {
            let text = fs::read_to_string(&file)?;
            let one: oneliner::Description = toml::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
            described.insert(name.to_owned(), one);
        }
    }
    fs::write(out.join("oneliner.bin"), postcard::to_allocvec(&described)?)?;
    Ok(())
}

/// Rows of all programs, and an index by name.
fn compile_commands(out: &Path) -> Result<(), Box<dyn Error>> {
    let families: HashMap<String, String> = texts(&Path::new(COMMANDS).join("families"))?
        .into_iter()
        .map(|(file, text)| (file.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text))
        .collect();
    let mut bytes = Vec::new();
    let mut index: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for folder in folders(Path::new(COMMANDS))? {
        for (file, text) in texts(&folder)? {
            let file = file.display().to_string();
            let row = source::parse(&file, &text, |name| families.get(name).cloned())?;
            let from = bytes.len();
            bytes.extend(postcard::to_allocvec(&row)?);
            for name in row.names {
                if index.insert(name.clone(), (from, bytes.len())).is_some() {
                    return Err(format!("{file}: another file already has a row for '{name}'").into());
                }
            }
        }
    }
    let mut code = String::from("static INDEX: &[(&str, u32, u32)] = &[\n");
    for (name, (from, to)) in &index {
        writeln!(code, "    ({name:?}, {from}, {to}),")?;
    }
    code.push_str("];\n");
    fs::write(out.join("table.rs"), code)?;
    fs::write(out.join("rows.bin"), bytes)?;
    Ok(())
}

/// The folders that contain rows, one per initial letter.
fn folders(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("families") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Path and text of each TOML file in a folder.
fn texts(folder: &Path) -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(&path)?;
            found.push((path, text));
        }
    }
    found.sort();
    Ok(found)
}
