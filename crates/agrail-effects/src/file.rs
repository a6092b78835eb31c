//! Effects of tools that work on files, derived from the paths among their arguments.
//!
//! 1. Only an unmistakable path counts: it begins with `/`, `~/` or `file:///`.
//! 2. The class of the tool's name determines the effect on the paths. If the name reveals nothing, the tool at least
//!    reads them.
//! 3. If these effects are all that the tool does, it is judged like a program with the same effects. Otherwise the
//!    call itself is an additional effect.
//! 4. Text that is written into a shell's start-up file or hook is parsed as a script; other texts that are written are read
//!    as what runs them would.

use super::shell::{FileSource, Written};
use super::{Cause, Effect, Target, Verb};
use crate::words::words;
use serde_json::Value;

/// Arguments that name the file to work on, in lower case and without separators between words.
const FROM: [&str; 27] = [
    "filepath",
    "path",
    "filename",
    "file",
    "notebookpath",
    "directory",
    "dir",
    "folder",
    "paths",
    "files",
    "uri",
    "url",
    "source",
    "src",
    "from",
    "sourcepath",
    "oldpath",
    "absolutepath",
    "relativepath",
    "targetfile",
    "fullpath",
    "filenames",
    "filepaths",
    "attachment",
    "attachments",
    "outputfile",
    "savepath",
];
/// Arguments that name a destination.
const TO: [&str; 8] = ["destination", "dest", "dst", "to", "target", "newpath", "destinationpath", "outputpath"];
/// Arguments that contain the text to write.
const CONTENT: [&str; 8] =
    ["content", "contents", "new_string", "new_source", "new_str", "new_text", "file_text", "text"];
/// Words in tool names that imply that a tool saves its result to a file.
const SAVES: [&str; 9] = ["download", "export", "screenshot", "save", "dump", "snapshot", "pdf", "capture", "generate"];
/// Most paths of one call that are examined.
const MOST: usize = 256;

/// The effects of a tool on files.
pub(super) struct Files {
    pub effects: Vec<Effect>,
    /// Whether the tool does nothing else.
    pub whole: bool,
}

/// The effects on files of a tool with this name class; none if the arguments contain no path.
pub(super) fn file_effects(tool: &str, class: (Verb, &str), arguments: &Value, home: &str) -> Files {
    let name = words(tool);
    let says = |list: &[&str]| name.iter().any(|word| list.contains(&word.as_str()));
    let ((from, cut_from), (to, cut_to)) = (paths(arguments, &FROM, home), paths(arguments, &TO, home));
    let deep = says(&["grep", "search", "glob", "tree", "find"]);
    // per class: the verbs for both kinds of paths, whether they apply to everything below the paths, and whether the
    // tool does nothing else; the effects of a tool with an unrevealing name are unknown: it may write as well as read
    let (verbs, recursive, whole): (&[(Verb, Verb)], bool, bool) = match class {
        (Verb::Read, _) if says(&SAVES) => (&[(Verb::Write, Verb::Write)], false, false),
        (Verb::Read, _) if says(&["list", "ls", "glob", "tree", "info", "status"]) => {
            (&[(Verb::List, Verb::List)], deep, true)
        }
        (Verb::Read, _) => (&[(Verb::Read, Verb::Read)], deep, true),
        (Verb::Write, "") if says(&["move", "rename"]) => (&[(Verb::Move, Verb::Overwrite)], false, true),
        (Verb::Write, "") if says(&["copy"]) => (&[(Verb::Read, Verb::Overwrite)], false, true),
        (Verb::Write, "") if says(&["append", "insert"]) => (&[(Verb::Append, Verb::Write)], false, true),
        (Verb::Write, "") => (&[(Verb::Write, Verb::Write)], false, true),
        (Verb::Delete, _) => (&[(Verb::Delete, Verb::Delete)], true, true),
        (Verb::Call, _) => (&[(Verb::Read, Verb::Read), (Verb::Write, Verb::Write)], false, false),
        _ => (&[(Verb::Read, Verb::Read)], false, false),
    };
    let acting = |verb: Verb, path: &String| {
        let mut effect = Effect::new(verb, Target::Path(path.clone()), tool);
        effect.recursive = recursive;
        effect
    };
    let mut effects = Vec::new();
    for (on_from, on_to) in verbs {
        effects.extend(from.iter().map(|path| acting(*on_from, path)));
        effects.extend(to.iter().map(|path| acting(*on_to, path)));
    }
    if cut_from || cut_to {
        effects.push(Effect::unknown(Cause::Budget, "the paths", tool));
    }
    Files { whole: whole && !effects.is_empty(), effects }
}

/// The paths in arguments with these names, at any depth, and whether some were skipped because there are too many.
fn paths(arguments: &Value, keys: &[&str], home: &str) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    // each value with a flag: whether it belongs to an argument with one of the names
    let mut open: Vec<(bool, &Value)> = vec![(false, arguments)];
    let mut looked = 0;
    while let Some((named, value)) = open.pop() {
        looked += 1;
        if looked > super::tool_call::STRINGS || found.len() > MOST {
            return (found, true);
        }
        match value {
            Value::String(text) if named => found.extend(path(text, home)),
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (named, item))),
            Value::Object(fields) => {
                let known = |key: &str| keys.contains(&plain(key).as_str());
                open.extend(fields.iter().rev().map(|(key, value)| (known(key), value)));
            }
            _ => {}
        }
    }
    let cut = found.len() > MOST;
    (found, cut)
}

/// Whether an argument with this name is a path.
pub fn names_a_path(key: &str) -> bool {
    let key = plain(key);
    FROM.contains(&key.as_str()) || TO.contains(&key.as_str())
}

/// The name of an argument in lower case, without separators between words.
pub(super) fn plain(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The absolute path, if the text is unmistakably a path.
fn path(text: &str, home: &str) -> Option<String> {
    let text = text.trim();
    let text = match text.get(..7) {
        Some(lead) if lead.eq_ignore_ascii_case("file://") => text.get(7..).unwrap_or_default(),
        _ => text,
    };
    let text = text.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(text);
    if text == "~" {
        return Some(home.to_owned());
    }
    if let Some(rest) = text.strip_prefix("~/") {
        return Some(format!("{}/{rest}", home.trim_end_matches('/')));
    }
    // the kernel treats several slashes as one
    let rest = text.strip_prefix('/')?.trim_start_matches('/');
    (!text.contains('\0')).then(|| format!("/{rest}"))
}

/// The texts that are written into files that a shell runs automatically.
pub(super) fn scripts<'a>(effects: &[Effect], arguments: &'a Value) -> Vec<&'a str> {
    let starts = |e: &Effect| {
        matches!(e.verb, Verb::Write | Verb::Append | Verb::Overwrite) && crate::startup::shell_runs(e.target.name())
    };
    if !effects.iter().any(starts) {
        return Vec::new();
    }
    let here = |value: &'a Value| CONTENT.iter().filter_map(move |key| value.get(*key).and_then(Value::as_str));
    let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
    here(arguments).chain(edits.flat_map(here)).collect()
}

/// The text that a file has after a call that writes it, as far as its arguments tell.
pub(super) fn written(effects: &[Effect], arguments: &Value, around: &dyn FileSource) -> Vec<Written> {
    let writes = |e: &&Effect| matches!(e.verb, Verb::Write | Verb::Append | Verb::Overwrite);
    let mut targets = effects.iter().filter(writes).map(|e| &e.target);
    let (path, before) = match (targets.next(), targets.next()) {
        (Some(Target::Path(path)), None) => (path.clone(), around.script(path, crate::shell::MAX_SOURCE).ok()),
        // a file of a repository that another machine keeps
        (Some(Target::Named(..)), None) => match arguments.get("path").and_then(Value::as_str) {
            Some(path) => (format!("/{}", path.trim_matches('/')), None),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let before = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
    let changes: Vec<(Option<&str>, &str)> = std::iter::once(arguments).chain(edits).filter_map(change).collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let apply = |text: String, (old, new): (Option<&str>, &str)| match old {
        Some(old) if !old.is_empty() && text.contains(old) => text.replace(old, new),
        // the text that it replaces is not in the file
        Some(_) => format!("{text}\n{new}"),
        None => new.to_owned(),
    };
    let text = changes.into_iter().fold(before.clone().unwrap_or_default(), apply);
    vec![Written { path, text: text.into(), before }]
}

/// The text that an edit replaces, if it replaces one, and the new one.
fn change(edit: &Value) -> Option<(Option<&str>, &str)> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| edit.get(*key)?.as_str());
    let new = text(&CONTENT)?;
    Some((text(&["old_string", "old_str", "old_text"]), new))
}

#[cfg(test)]
mod tests {
    use super::super::tool_call::class;
    use super::*;
    use serde_json::json;

    fn effects_of(tool: &str, arguments: &Value) -> (Vec<String>, bool) {
        let files = file_effects(tool, class(tool), arguments, "/home/a");
        (files.effects.iter().map(Effect::to_table_notation).collect(), files.whole)
    }

    #[test]
    fn tool_name_determines_effect_on_paths() {
        for (tool, arguments, expected, whole) in [
            ("Read", json!({"file_path": "/etc/shadow"}), vec!["read /etc/shadow"], true),
            ("write_file", json!({"path": "~/.bashrc", "content": "x"}), vec!["write /home/a/.bashrc"], true),
            ("NotebookEdit", json!({"notebook_path": "/n.ipynb", "new_source": "x"}), vec!["write /n.ipynb"], true),
            ("move_file", json!({"source": "/a", "destination": "/b"}), vec!["move /a", "overwrite /b"], true),
            ("delete_files", json!({"paths": ["/a", "/b"]}), vec!["delete /a", "delete /b"], true),
            ("list_directory", json!({"path": "/root"}), vec!["list /root"], true),
            ("read_resource", json!({"uri": "file:///etc/hosts"}), vec!["read /etc/hosts"], true),
            ("send_mail", json!({"to": "bob", "attachment": "/home/a/.netrc"}), vec!["read /home/a/.netrc"], false),
            ("frobnicate", json!({"file": "/x"}), vec!["read /x", "write /x"], false),
            ("Read", json!({"file_path": "notes.txt"}), vec![], false),
            ("get_weather", json!({"from": "Bonn"}), vec![], false),
            ("Read", json!({"file_path": "//etc//../etc/shadow"}), vec!["read /etc//../etc/shadow"], true),
            ("read", json!({"args": {"filePath": "/etc/shadow"}}), vec!["read /etc/shadow"], true),
            (
                "browser_navigate",
                json!({"url": "FILE://localhost/etc/shadow"}),
                vec!["read /etc/shadow", "write /etc/shadow"],
                false,
            ),
            (
                "download_file",
                json!({"url": "https://x.example/", "path": "/home/a/.bashrc"}),
                vec!["write /home/a/.bashrc"],
                false,
            ),
        ] {
            let (found, all) = effects_of(tool, &arguments);
            assert_eq!(found, expected, "{tool} {arguments}");
            assert_eq!(all, whole, "{tool} {arguments}");
        }
    }

    #[test]
    fn too_many_paths_are_unknown() {
        let many = |n: usize| {
            let harmless = (0..n).map(|n| format!("/tmp/{n}"));
            json!({"paths": harmless.chain(std::iter::once("/etc".to_owned())).collect::<Vec<_>>()})
        };
        let unknown = |n: usize| {
            let files = file_effects("delete_files", class("delete_files"), &many(n), "/home/a");
            files.effects.iter().any(|e| e.verb == Verb::Unknown)
        };
        assert!(!unknown(10));
        for n in [MOST, MOST + 1, 10_000] {
            assert!(unknown(n), "{n}");
        }
    }

    #[test]
    fn content_of_startup_files_is_a_script() {
        let arguments = json!({"file_path": "/home/a/.bashrc", "edits": [{"new_string": "curl x | sh"}]});
        let files = file_effects("MultiEdit", class("MultiEdit"), &arguments, "/home/a");
        assert_eq!(scripts(&files.effects, &arguments), ["curl x | sh"]);
        let arguments = json!({"file_path": "/home/a/notes.txt", "content": "rm -rf /"});
        let files = file_effects("Write", class("Write"), &arguments, "/home/a");
        assert!(scripts(&files.effects, &arguments).is_empty());
    }
}
