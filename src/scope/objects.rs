//! What an action changes, as far as a request can name it: branches, jobs, containers, events, invoices.

use crate::action::Action;
use crate::effect::words::words;
use crate::effect::{Verb, tool_call};

/// Words of arguments that hold a name.
const KEYS: [&str; 9] = ["id", "ids", "key", "name", "names", "no", "number", "ref", "target"];
/// Words of tools that end something.
pub(super) const GRAVE: [&str; 18] = [
    "cancel",
    "close",
    "deactivate",
    "delete",
    "disable",
    "discard",
    "drop",
    "end",
    "erase",
    "kill",
    "purge",
    "remove",
    "revoke",
    "stop",
    "terminate",
    "trash",
    "uninstall",
    "void",
];
/// Longest name, in bytes, and most objects of an action.
const LONGEST: usize = 80;
const MOST: usize = 16;

/// One thing that an action changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    /// What it is, in the singular.
    pub kinds: Vec<String>,
    pub name: String,
    /// It is an operand of a command, which is called as it is.
    pub operand: bool,
    /// It is deleted, stopped, or closed.
    pub grave: bool,
}

/// What an action changes; empty for what only reads and for what is not known.
pub(super) fn objects(action: &Action) -> Vec<Object> {
    let mut found = match action {
        Action::ToolCall { tool, arguments, .. } => of_call(tool, arguments),
        Action::Shell { command, .. } => commands(command).iter().flat_map(|words| of_command(words)).collect(),
        _ => Vec::new(),
    };
    found.retain(|object| !object.name.is_empty() && object.name.len() <= LONGEST);
    found.truncate(MOST);
    found
}

fn of_call(tool: &str, arguments: &serde_json::Value) -> Vec<Object> {
    if matches!(tool_call::class(tool).0, Verb::Read | Verb::List) {
        return Vec::new();
    }
    let grave = words(tool).iter().any(|word| GRAVE.contains(&word.as_str()));
    let verb = |word: &String| tool_call::class(word) != (Verb::Call, "");
    let nouns: Vec<String> = words(tool).into_iter().filter(|word| !verb(word)).map(|word| singular(&word)).collect();
    let fields = arguments.as_object().into_iter().flatten();
    let of = |(key, value): (&String, &serde_json::Value)| {
        let mut kinds: Vec<String> = words(key).iter().map(|word| singular(word)).collect();
        let keyed = kinds.iter().any(|word| KEYS.contains(&word.as_str()));
        kinds.retain(|word| !KEYS.contains(&word.as_str()));
        // `event_id` of `delete_event`, `id` of `delete_event`; `selector` of `click` names no object
        let own = kinds.is_empty() || kinds.iter().any(|word| nouns.contains(word));
        let named = own && (keyed || !kinds.is_empty());
        kinds.extend(nouns.iter().cloned());
        let names = if named { tool_call::strings(value) } else { Vec::new() };
        names.into_iter().filter(|name| name.split_whitespace().count() <= 3).map(move |name| Object {
            kinds: kinds.clone(),
            name,
            operand: false,
            grave,
        })
    };
    fields.flat_map(of).collect()
}

/// The words of each simple command of a line; none if a part of it is not constant.
fn commands(line: &str) -> Vec<Vec<String>> {
    if line.contains(['$', '`', '<', '(']) {
        return Vec::new();
    }
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let spaced = line.replace([';', '\n'], " ; ");
    let Some(split) = shlex::split(&spaced) else { return Vec::new() };
    for word in split {
        match word.as_str() {
            ";" | "&&" | "||" | "|" | "&" => all.push(std::mem::take(&mut words)),
            _ => words.push(word),
        }
    }
    all.push(words);
    all
}

/// The objects of a command that changes what its operands name.
fn of_command(words: &[String]) -> Vec<Object> {
    let mut words = words;
    while let [first, rest @ ..] = words
        && (first == "sudo" || first.contains('=') && !first.starts_with('-'))
    {
        words = rest;
    }
    let [program, rest @ ..] = words else { return Vec::new() };
    let program = program.rsplit('/').next().unwrap_or_default();
    let operands: Vec<&str> = rest.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(&word.as_str()));
    let of = |kinds: &[&str], names: &[&str]| -> Vec<Object> {
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        names
            .iter()
            .map(|name| Object {
                kinds: kinds.clone(),
                name: (*name).trim_start_matches([':', '+']).to_owned(),
                operand: true,
                grave: true,
            })
            .collect()
    };
    match (program, operands.as_slice()) {
        ("scancel" | "qdel" | "bkill" | "condor_rm" | "oardel", names) => of(&["job"], names),
        ("git", ["branch", names @ ..]) if has(&["-d", "-D", "--delete"]) => of(&["branch"], names),
        ("git", ["tag", names @ ..]) if has(&["-d", "--delete"]) => of(&["tag"], names),
        ("git", ["push", _, names @ ..]) if has(&["-d", "--delete"]) => of(&["branch", "tag"], names),
        ("git", ["push", _, names @ ..]) => {
            let gone: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(':')).collect();
            of(&["branch", "tag"], &gone)
        }
        ("git", ["remote", "remove" | "rm", names @ ..]) => of(&["remote"], names),
        ("docker" | "podman" | "nerdctl", operands) => {
            container(operands).map_or_else(Vec::new, |(kinds, names)| of(kinds, names))
        }
        ("docker-compose", ["rm" | "stop" | "restart" | "kill", names @ ..]) => of(&["service", "container"], names),
        ("systemctl" | "service", ["stop" | "restart" | "disable" | "mask" | "kill", names @ ..]) => {
            of(&["service", "unit", "daemon"], names)
        }
        ("helm", ["uninstall" | "delete" | "rollback", name, ..]) => of(&["release", "chart"], &[name]),
        ("kubectl" | "oc", operands) => resource(operands),
        ("userdel" | "usermod" | "deluser" | "passwd", [.., name]) => of(&["user", "account"], &[name]),
        (
            "gh" | "glab",
            [kind @ ("pr" | "issue" | "run" | "release"), "close" | "cancel" | "delete" | "merge", name, ..],
        ) => of(&[kind], &[name]),
        _ => Vec::new(),
    }
}

/// Kinds and names of what a container program changes.
fn container<'w>(operands: &'w [&'w str]) -> Option<(&'static [&'static str], &'w [&'w str])> {
    const CONTAINER: &[&str] = &["container", "service"];
    match operands {
        ["compose", "rm" | "stop" | "restart" | "kill", names @ ..]
        | ["rm" | "stop" | "kill" | "restart" | "pause", names @ ..]
        | ["container", "rm" | "stop" | "kill" | "restart" | "pause", names @ ..] => Some((CONTAINER, names)),
        ["rmi", names @ ..] | ["image", "rm", names @ ..] => Some((&["image"], names)),
        ["volume", "rm", names @ ..] => Some((&["volume"], names)),
        ["network", "rm", names @ ..] => Some((&["network"], names)),
        _ => None,
    }
}

/// The objects of `kubectl delete KIND NAME`, `kubectl scale KIND/NAME`.
fn resource(operands: &[&str]) -> Vec<Object> {
    let after = |verbs: &[&str]| {
        let at = operands.iter().position(|word| verbs.contains(word))?;
        operands.get(at + 1..)
    };
    // `kubectl rollout restart deployment/web`
    let rest = match operands.contains(&"rollout") {
        true => after(&["restart", "undo"]),
        false => after(&["delete", "scale", "drain", "cordon"]),
    };
    let rest = rest.unwrap_or_default();
    let kinds = |kind: &str| -> Vec<String> {
        let short = match kind {
            "deploy" => "deployment",
            "po" => "pod",
            "svc" => "service",
            "ns" => "namespace",
            "cm" => "configmap",
            "sts" => "statefulset",
            other => other,
        };
        vec![singular(short)]
    };
    if let Some(joined) = rest.iter().find_map(|word| word.split_once('/')) {
        return vec![Object { kinds: kinds(joined.0), name: joined.1.to_owned(), operand: true, grave: true }];
    }
    match rest {
        [kind, names @ ..] => names
            .iter()
            .map(|name| Object { kinds: kinds(kind), name: (*name).to_owned(), operand: true, grave: true })
            .collect(),
        [] => Vec::new(),
    }
}

fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        return format!("{stem}y");
    }
    word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(&word).to_owned()
}

/// The paths that a line deletes with a program for that.
pub(super) fn deleted(action: &Action) -> Vec<String> {
    let Action::Shell { command, .. } = action else { return Vec::new() };
    let mut found = Vec::new();
    for words in commands(command) {
        if let [program, rest @ ..] = words.as_slice()
            && matches!(program.as_str(), "rm" | "rmdir" | "shred" | "trash" | "unlink")
        {
            found.extend(rest.iter().filter(|word| !word.starts_with('-')).cloned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(line: &str) -> Vec<String> {
        let found = objects(&Action::Shell { command: line.to_owned(), cwd: None });
        found.iter().map(|object| format!("{} {}", object.kinds.join("|"), object.name)).collect()
    }

    #[test]
    fn commands_have_objects() {
        assert_eq!(names("git switch main && git branch -D a/b c"), ["branch a/b", "branch c"]);
        assert_eq!(names("git push origin --delete v1"), ["branch|tag v1"]);
        assert_eq!(names("git push origin :a"), ["branch|tag a"]);
        assert_eq!(names("sudo scancel 12"), ["job 12"]);
        assert_eq!(names("kubectl -n x scale deploy/web --replicas=2"), ["deployment web"]);
        assert_eq!(names("kubectl delete pods a b"), ["pod a", "pod b"]);
        assert_eq!(names("docker compose restart web"), ["container|service web"]);
        for none in ["git branch", "git push origin main", "squeue -u x", "scancel $(squeue -h)", "ls", ""] {
            assert!(names(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn calls_have_objects() {
        let of = |tool: &str, arguments| {
            let found = objects(&Action::ToolCall { server: None, tool: tool.to_owned(), arguments });
            found.iter().map(|object| format!("{} {}", object.kinds.join("|"), object.name)).collect::<Vec<_>>()
        };
        assert_eq!(of("calendar_delete_event", json!({"event_id": "e1", "note": "x"})), ["event|calendar|event e1"]);
        assert_eq!(of("invoice_void", json!({"id": 5})), ["invoice|void 5"]);
        assert!(of("get_event", json!({"event_id": "e1"})).is_empty());
    }
}
