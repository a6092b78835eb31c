//! Effects of source in JavaScript and TypeScript on the system, found without running it.
//!
//! 1. A language's own reader turns the source, and the project's modules that it loads, into a [`expression::Program`]
//!    ([`javascript`]).
//! 2. `values` finds everything that an expression may be, whatever the order in which the program runs: a variable holds
//!    all that any statement assigns, a parameter all that any call gives. A value that is not constant is unknown.
//! 3. Each call of something outside the program is looked up in the language's table (`table`, `*.toml`) and becomes a
//!    [`Call`]. A name that the table lacks is `unknown`; it is never dropped.
//! 4. A function outside the program that is handed to where it is not followed (`effects`) counts as called with unknown
//!    arguments.
//!
//! Size, nesting and steps are bounded; a reading that reaches a bound is incomplete.
//!
//! Not followed: the code of installed packages, of tests that a test runner finds, and of files that settings load
//! (`tsconfig` paths, `bunfig.toml`, import maps); what `--env-file` sets.

mod arguments;
mod effects;
mod expression;
mod fold;
mod javascript;
mod links;
mod objects;
mod row;
mod special;
mod table;
mod values;

use crate::reading::{Call, Loaded, Loader, Reading};
use crate::{Cause, UNKNOWN_SPAN};
use expression::Program;
use std::collections::BTreeSet;

/// Most bytes of a program, all its files together.
const MAX_SOURCE: usize = 1024 * 1024;
/// Deepest nesting of nodes that are read.
const MAX_DEPTH: usize = 200;
/// Most nodes that are read.
const MAX_NODES: usize = 200_000;

/// Most files in JSON that one extraction asks for, and how often what they say may name others.
const MAX_SETTINGS: usize = 16;
const SETTLED: usize = 2;

/// Stack that one step of a recursion may need, and how much is added if there is less, in bytes.
const STACK: (usize, usize) = (256 * 1024, 4 * 1024 * 1024);

/// Finds the effects of JavaScript or TypeScript source; `path` is its file, empty if it has none. Never fails: the
/// reading contains everything that could not be followed.
#[must_use]
pub fn extract_effects(source: &str, path: &str, loader: &dyn Loader) -> Reading {
    let Some(table) = table::javascript() else {
        return Reading::failed(Cause::Budget, "the table of calls does not decode");
    };
    let mut program = javascript::read(source, path, table, loader, true);
    let (mut reading, mut wanted) = effects::extract(&program, table);
    // the settings of one file may name another
    for _ in 0..SETTLED {
        if !load(&mut program, &reading, wanted, loader) {
            break;
        }
        (reading, wanted) = effects::extract(&program, table);
    }
    if program.settings.is_empty() || !reading.calls.iter().any(|call| may_change(call, &program.settings)) {
        return reading;
    }
    // the program may have written its settings itself
    effects::extract(&javascript::read(source, path, table, loader, false), table).0
}

/// Reads the files in JSON that a program asks for. Whether there is any.
fn load(program: &mut Program, reading: &Reading, wanted: BTreeSet<String>, loader: &dyn Loader) -> bool {
    let moves = reading.calls.iter().any(|call| call.role == "cwd");
    let known = |path: &String| !path.contains([UNKNOWN_SPAN, '~']) && (path.starts_with('/') || !moves);
    let mut any = false;
    for path in wanted.into_iter().filter(known).take(MAX_SETTINGS) {
        if let Loaded::Text(text) = loader.load(&path)
            && let Some(value) = javascript::data(&text)
        {
            any = true;
            program.settings.push(path.clone());
            program.data.insert(path, value);
        }
    }
    any
}

/// Whether a call may write one of these files, or starts a program that may.
fn may_change(call: &Call, files: &[String]) -> bool {
    let looks =
        ["read", "list", "variable", "delete", "connect", "listen"].iter().any(|role| call.role.starts_with(role));
    let runs = ["script", "exec"].iter().any(|begin| call.role.starts_with(begin));
    // the known beginning and end of the path
    let (begin, _) = call.target.split_once(UNKNOWN_SPAN).unwrap_or_default();
    let end = call.target.rsplit([UNKNOWN_SPAN, '/']).next().unwrap_or_default();
    let below = |file: &String| !begin.starts_with('/') || !file.starts_with('/') || file.starts_with(begin);
    // copying or moving a folder replaces the files at its destination
    let folder = call.target.trim_start_matches("./").trim_end_matches('/');
    let whole = matches!(folder, "" | ".") || folder.ends_with("..");
    let within = |file: &String| {
        call.role != "create"
            && (whole || file.starts_with(&format!("{folder}/")) || file.contains(&format!("/{folder}/")))
    };
    let may_be = |file: &String| below(file) && file.ends_with(end) || within(file);
    runs || !looks && files.iter().any(may_be)
}

/// The folder of a path: everything before its last slash.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;

    impl Loader for One {
        fn load(&self, path: &str) -> Loaded {
            if path == "/p/a.json" { Loaded::Text("{\"out\": \"dist\"}".into()) } else { Loaded::Missing }
        }
    }

    #[test]
    fn settings_are_known_unless_the_program_may_write_them() {
        let deleted_by = |before: &str, settings: &str| {
            let source =
                format!("const fs = require('fs')\n{before}\nfs.rmSync(`${{__dirname}}/${{{settings}.out}}`)\n");
            let calls = extract_effects(&source, "/p/x.js", &One).calls;
            calls.into_iter().filter(|call| call.role == "delete").map(|call| call.target).collect::<Vec<_>>()
        };
        let deleted = |before: &str| deleted_by(before, "require('./a.json')");
        for settings in [
            "JSON.parse(fs.readFileSync('/p/a.json', 'utf8'))",
            "JSON.parse(fs.readFileSync(`${__dirname}/a.json`).toString())",
            "(await fs.readJson('/p/a.json'))",
            "({ ...{ out: 'dist' }, ...JSON.parse(fs.readFileSync('/p/a.json')) })",
        ] {
            assert_eq!(deleted_by("", settings), ["/p/dist"], "{settings}");
            assert_ne!(deleted_by("fs.writeFileSync('/p/a.json', '')", settings), ["/p/dist"], "{settings}");
        }
        let read = "JSON.parse(fs.readFileSync('/p/a.json'))";
        for before in [
            "fs.readFileSync = () => '{}'",
            "JSON.parse = () => ({})",
            "Object.assign(fs, { readFileSync: () => '{}' })",
            "Object.defineProperty(JSON, 'parse', { value: () => ({}) })",
            "Buffer.prototype.toString = () => '{}'",
            "globalThis.JSON = { parse: () => ({}) }",
            "JSON = { parse: () => ({}) }",
            "function JSON() {}",
        ] {
            assert_ne!(deleted_by(before, read), ["/p/dist"], "{before}");
        }
        assert_ne!(deleted_by("", "JSON.parse(fs.readFileSync('/p/a.json'), (k, v) => v + '/..')"), ["/p/dist"]);
        assert_eq!(deleted_by("", "JSON.parse(fs.readFileSync('/p/b.json'))"), [format!("/p/{UNKNOWN_SPAN}")]);
        assert_eq!(deleted("fs.writeFileSync('b.json', '')"), ["/p/dist"]);
        let unknown = [format!("/p/{UNKNOWN_SPAN}")];
        for before in [
            "fs.writeFileSync('a.json', '')",
            "fs.renameSync('/q/b', '/p/a.json')",
            "fs.copyFileSync('/q/b', '/p/a.json')",
            "fs.cpSync('/q', '/p', { recursive: true })",
            "fs.cpSync('/q', '.', { recursive: true })",
            "fs.renameSync('/q', '/p')",
            "fs.symlinkSync('/q/b', '/p/a.json')",
            "fs.writeFileSync(process.argv[2], '')",
            "fs.writeFileSync(`/p/${process.argv[2]}.json`, '')",
            "require('child_process').execSync('make')",
        ] {
            assert_eq!(deleted(before), unknown, "{before}");
        }
    }
}
