//! Whether the request asks for what an effect destroys, reads or makes public.

use crate::effect::words::words;
use crate::effect::{Kind, Verb};
use crate::policy::EffectFacts;
use crate::scope::Named;

/// Words of a request that only looks at something.
const LOOKS: [&str; 24] = [
    "analyse",
    "analyze",
    "check",
    "compare",
    "count",
    "describe",
    "display",
    "explain",
    "find",
    "how",
    "inspect",
    "list",
    "look",
    "print",
    "read",
    "review",
    "search",
    "see",
    "show",
    "summarise",
    "summarize",
    "tell",
    "view",
    "what",
];
/// Beginnings of words of a request that changes something.
const CHANGES: [&str; 44] = [
    "abort",
    "archiv",
    "cancel",
    "chang",
    "clean",
    "clear",
    "convert",
    "creat",
    "delet",
    "discard",
    "drop",
    "edit",
    "empt",
    "encrypt",
    "eras",
    "export",
    "fix",
    "format",
    "free",
    "generat",
    "merg",
    "mov",
    "organi",
    "overwrit",
    "prun",
    "purg",
    "regenerat",
    "remov",
    "renam",
    "replac",
    "reset",
    "restor",
    "rewrit",
    "rm",
    "save",
    "shrink",
    "sort",
    "stop",
    "sync",
    "terminat",
    "tid",
    "trash",
    "truncat",
    "updat",
];

/// Whether the request only looks: it says so, and says nothing of a change.
pub(super) fn only_looks(request: &str) -> bool {
    let words = words(request);
    let changes = |word: &String| {
        CHANGES.iter().any(|begin| word.starts_with(begin))
            || matches!(word.as_str(), "wipe" | "write" | "rid" | "undo")
    };
    words.iter().any(|word| LOOKS.contains(&word.as_str())) && !words.iter().any(changes)
}

/// Whether the request names the path by its last part, as a word, for more than a look.
pub(super) fn names(request: &str, path: &str) -> bool {
    if only_looks(request) {
        return false;
    }
    let Some(last) = path.trim_end_matches('/').rsplit('/').next().filter(|last| last.len() > 2) else { return false };
    mentions(&request.to_lowercase(), &last.to_lowercase())
}

/// Whether a text has a name as a word of its own.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric();
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).and_then(|text| text.chars().next_back()).is_none_or(|c| !letter(c));
            let after = text.get(at + name.len()..).and_then(|text| text.chars().next()).is_none_or(|c| !letter(c));
            before && after
        })
}

/// Words of a request for a change of another system, and their objects, by the grade of that change.
const GRADES: [(&str, &[&str], &[&str]); 3] = [
    ("access", &["access", "admin", "authoriz", "grant", "invit", "permission", "role"], &[]),
    (
        "public",
        &["deploy", "deprecat", "expos", "public", "publish", "push", "releas", "unpublish", "upload", "yank"],
        &[],
    ),
    (
        "spend",
        &["creat", "launch", "provision", "purchas", "rent", "scal", "start"],
        &["cluster", "database", "droplet", "instance", "machine", "node", "nodegroup", "server", "vm"],
    ),
];
/// Verbs for throwing changes away, without their endings, and the objects that they have.
const DISCARDS: [&str; 14] = [
    "abandon", "backto", "discard", "drop", "forget", "reset", "restor", "revert", "rid", "rollback", "scrap", "throw",
    "undo", "wip",
];
const CHANGED: [&str; 19] = [
    "all",
    "change",
    "clean",
    "commit",
    "copy",
    "edit",
    "everything",
    "experiment",
    "file",
    "head",
    "it",
    "last",
    "local",
    "main",
    "modification",
    "origin",
    "them",
    "uncommitted",
    "work",
];
/// Verbs for deleting files, without their endings, and words for everything that is not tracked.
const DELETES: [&str; 10] = ["clean", "clear", "delet", "drop", "empt", "eras", "purg", "remov", "rid", "wip"];
const UNTRACKED: [&str; 8] = ["checkout", "clone", "ignored", "repo", "repository", "tree", "untracked", "worktree"];
/// How such a word may end: `discarding`, but not `dropdown`.
const ENDINGS: [&str; 18] =
    ["", "d", "e", "ed", "es", "ied", "ies", "ing", "ion", "ions", "n", "ped", "ping", "s", "ted", "ting", "y", "ying"];
/// Words before a verb by which a request says that it is not to be done.
const NOT: [&str; 7] = ["don", "dont", "never", "no", "not", "t", "without"];
/// Words between a verb and a name by which the verb is about something else: `remove the import in src`.
const INSIDE: [&str; 8] = ["at", "below", "from", "in", "inside", "of", "under", "within"];
const ALL: [&str; 5] = ["all", "content", "contents", "everything", "files"];
/// How far after a verb its object may be, and how far before it a denial.
const NEAR: usize = 5;
const BEFORE: usize = 3;

/// The words of a request; verbs of two words are one.
fn verbs(request: &str) -> Vec<String> {
    let mut words = words(request);
    let pairs: Vec<usize> = (1..words.len())
        .rev()
        .filter(|at| {
            let pair = words.get(at - 1).map(String::as_str).zip(words.get(*at).map(String::as_str));
            matches!(pair, Some(("roll" | "rolled" | "rolling", "back") | ("back", "to")))
        })
        .collect();
    for at in pairs {
        let second = words.remove(at);
        if let Some(first) = words.get_mut(at - 1) {
            *first = format!("{}{second}", if second == "back" { "roll" } else { "back" });
        }
    }
    words
}

/// Whether a word is one of some words in any form.
fn is(word: &str, begins: &[&str]) -> bool {
    begins.iter().any(|begin| word.strip_prefix(begin).is_some_and(|rest| ENDINGS.contains(&rest)))
}

/// The places of the verbs in a request that does not deny them.
fn said<'w>(words: &'w [String], verbs: &'w [&str]) -> impl Iterator<Item = usize> + 'w {
    words.iter().enumerate().filter(|(_, word)| is(word, verbs)).map(|(at, _)| at).filter(|at| {
        let before = words.get(at.saturating_sub(BEFORE)..*at).unwrap_or_default();
        !before.iter().any(|word| NOT.contains(&word.as_str()))
    })
}

/// Whether one of some objects follows the word at a place; no objects: anything does.
fn has_object(words: &[String], at: usize, objects: &[&str]) -> bool {
    objects.is_empty() || words.iter().skip(at + 1).take(NEAR).any(|word| is(word, objects))
}

/// Whether a request says one of `verbs`, with one of `objects` after it.
fn asks(words: &[String], verbs: &[&str], objects: &[&str]) -> bool {
    said(words, verbs).any(|at| has_object(words, at, objects))
}

/// Whether the request asks to delete files, whichever these are.
pub(super) fn asks_to_delete_files(request: &str) -> bool {
    asks(&words(request), &DELETES, &["directori", "file", "them"])
}

/// Whether the request asks that one folder becomes as another is.
pub(super) fn asks_to_mirror(request: &str) -> bool {
    let words = words(request);
    asks(&words, &["clon", "mirror", "replicat", "sync", "synchroniz", "synchronis"], &[])
        || asks(&words, &DELETES, &[])
        || words.iter().any(|word| matches!(word.as_str(), "exact" | "exactly" | "identical" | "same"))
}

/// Whether the request asks to push commits.
pub(super) fn asks_to_push(request: &str) -> bool {
    asks(&words(request), &["push"], &[])
}

/// Whether the request names what an effect reads beside files, or the kind of change that it makes on another system.
pub(super) fn names_target(request: &str, query: &EffectFacts) -> bool {
    match (query.verb, query.kind) {
        (Verb::Remote, _) if query.operation == "delete" => names_object(request, &query.name, &[]),
        (Verb::Remote, _) => {
            let words = words(request);
            // `explain how to publish it` does not ask to publish it
            let looks = |at: usize| words.iter().take(at).any(|word| LOOKS.contains(&word.as_str()));
            let mut grades = GRADES.iter().filter(|(grade, ..)| *grade == query.operation);
            grades
                .any(|(_, verbs, objects)| said(&words, verbs).any(|at| has_object(&words, at, objects) && !looks(at)))
        }
        (Verb::Variable, _) if query.operation == "hooks" => names_skipped_hooks(&words(request)),
        (Verb::Dump, Kind::Resource) => {
            words(request).iter().any(|word| is(word, &[&query.name, "captur", "copied", "paste", "screenshot"]))
        }
        (Verb::Read, Kind::Variable) => request.contains(&query.name),
        (Verb::Read, Kind::Path) if query.name.ends_with("_history") => {
            words(request).iter().any(|word| is(word, &["command", "histor"]))
        }
        _ => false,
    }
}

/// Kinds of things that a command deletes on another system.
const OBJECTS: [&str; 20] = [
    "branch",
    "bucket",
    "chart",
    "cluster",
    "configmap",
    "container",
    "deployment",
    "image",
    "instance",
    "job",
    "namespace",
    "object",
    "pod",
    "release",
    "repo",
    "repository",
    "secret",
    "service",
    "tag",
    "volume",
];

/// Whether the request asks to end the thing that has this name. `kinds`: the kinds of thing that it may be, in the singular; empty for any of [`OBJECTS`].
fn names_object(request: &str, name: &str, kinds: &[&str]) -> bool {
    let named = Named::of(request);
    let kinds = if kinds.is_empty() { &OBJECTS[..] } else { kinds };
    kinds.iter().any(|kind| named.ends(&[kind], name))
}

/// Whether the request asks to run no hooks: `skip the pre-commit hook`, `without the hooks`, `use --no-verify`.
fn names_skipped_hooks(words: &[String]) -> bool {
    let option = |at: usize| words.get(at..at + 2).is_some_and(|two| two == ["no", "verify"]);
    let denied = |at: usize| {
        words.get(at.saturating_sub(BEFORE)..at).unwrap_or_default().iter().any(|word| NOT.contains(&word.as_str()))
    };
    let without = |at: usize| words.get(at).is_some_and(|word| word == "without") && has_object(words, at, &["hook"]);
    asks(words, &["bypass", "disabl", "ignor", "omit", "skip"], &["hook"])
        || (0..words.len()).any(|at| (option(at) || without(at)) && !denied(at))
}

/// Whether the request asks to delete the file or folder at a path and calls it by its name.
pub(super) fn names_deletion(request: &str, path: &str) -> bool {
    let (all, name) = (words(request), words(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()));
    let verbs = [&DELETES[..], &["recreat", "regenerat", "rm", "trash"]].concat();
    !name.is_empty()
        && said(&all, &verbs).any(|at| {
            let after = all.get(at + 1..).unwrap_or_default();
            (0..=NEAR.min(after.len())).any(|skip| {
                let (between, rest) = after.split_at(skip);
                let has = |list: &[&str]| between.iter().any(|word| list.contains(&word.as_str()));
                rest.starts_with(&name) && (!has(&INSIDE) || has(&ALL))
            })
        })
}

/// Whether the request asks to throw away what a version control system does not hold. If the request names files, only
/// what it names is asked for; commits of a branch or a stash have to be named.
/// `operation`: of the effect. `path`: its target. `work`: the folder of the repository.
pub(super) fn names_discard(request: &str, operation: &str, path: &str, work: &str) -> bool {
    let (words, named) = (verbs(request), files(request));
    let removes = |objects: &[&str]| asks(&words, &DELETES, objects) || asks(&words, &DISCARDS, objects);
    match operation {
        // to bring a stash back is something else
        "ref" if path.ends_with("/refs/stash") => {
            asks(&words, &DELETES, &["stash"]) || asks(&words, &["discard", "forget", "throw"], &["stash"])
        }
        "ref" if path.split_once("/refs/heads/").is_some_and(|(_, name)| names_object(request, name, &["branch"])) => {
            true
        }
        "ref" => removes(&[]) && words.iter().any(|word| word.starts_with("branch")) && names(request, path),
        "worktree" => names_deletion(request, path),
        "untracked" | "unversioned" | "ignored" => {
            removes(&["untracked", "ignored"])
                || asks(&words, &["clean"], &UNTRACKED)
                || names_deletion(request, path)
                || named.is_empty() && asks(&words, &DISCARDS, &["all", "everything"])
        }
        _ if named.is_empty() => asks(&words, &DISCARDS, &CHANGED),
        _ => asks(&words, &DISCARDS, &[]) && named.iter().any(|file| covers(file, path, work)),
    }
}

/// The words of a request that look like files: with a slash inside or an ending.
fn files(request: &str) -> Vec<&str> {
    let trimmed = request.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'));
    let ending = |word: &str| {
        word.rsplit_once('.').is_some_and(|(stem, end)| {
            // not a version, nor an abbreviation
            let letters =
                end.chars().all(|c| c.is_ascii_alphanumeric()) && end.chars().any(|c| c.is_ascii_alphabetic());
            stem.len() > 1 && (1..=5).contains(&end.len()) && letters
        })
    };
    trimmed
        .filter(|word| !word.contains("://") && (word.trim_start_matches('/').contains('/') || ending(word)))
        .collect()
}

/// Whether a path is a file that the request names, or below one.
fn covers(file: &str, path: &str, work: &str) -> bool {
    let path = path.trim_end_matches('/');
    let inside = path.strip_prefix(work).unwrap_or(path).trim_matches('/');
    let file = file.trim_matches('/');
    inside == file || inside.ends_with(&format!("/{file}")) || inside.starts_with(&format!("{file}/"))
}

#[cfg(test)]
mod tests {
    use super::{asks_to_delete_files, asks_to_push, names, names_deletion, names_discard, names_target};
    use crate::effect::{Kind, Verb};
    use crate::policy::EffectFacts;

    #[test]
    fn a_request_that_names_files_asks_for_those_alone() {
        let asks = |request: &str, path: &str| names_discard(request, "changes", path, "/p");
        assert!(asks("discard my local changes", "/p"));
        assert!(asks("Undo what I did in src/a.py.", "/p/src/a.py"));
        assert!(asks("revert src/", "/p/src/a.py"));
        assert!(asks("please roll back my edits", "/p/src/a.py"));
        assert!(!asks("Undo what I did in src/a.py, the rest stays", "/p"));
        assert!(!asks("Undo what I did in src/a.py", "/p/src/b.py"));
        assert!(asks("discard everything since v1.2, e.g. my edits", "/p"));
        assert!(asks("go back to the last commit", "/p"));
        for other in [
            "fix the branch",
            "Don't discard my changes; run the tests",
            "implement password reset in the login page",
            "add an undo button",
            "fix the dropdown menu",
            "restore the backup feature test",
            "reset the header of the table",
            "fix the backend file",
            "back up all my work",
            "drop the items table",
        ] {
            assert!(!asks(other, "/p"), "{other}");
        }
    }

    #[test]
    fn branches_and_stashes_are_named() {
        assert!(names_discard("delete the branch old-ui", "ref", "/p/.git/refs/heads/old-ui", "/p"));
        assert!(!names_discard("delete merged branches", "ref", "/p/.git/refs/heads/old-ui", "/p"));
        assert!(names_discard("drop the stash", "ref", "/p/.git/refs/stash", "/p"));
        assert!(!names_discard("apply what I stashed", "ref", "/p/.git/refs/stash", "/p"));
        assert!(names_discard("remove all untracked files", "untracked", "/p", "/p"));
        assert!(!names_discard("bring back the work I stashed last", "ref", "/p/.git/refs/stash", "/p"));
        assert!(names_discard("clear all my stashes", "ref", "/p/.git/refs/stash", "/p"));
        assert!(!names_discard("remove the stash icon from the page", "changes", "/p", "/p"));
        assert!(!names_discard("remove feat toggles from the page", "ref", "/p/.git/refs/heads/feat", "/p"));
        for other in ["clean the build folder", "remove the unused import from the repository", "clear the cache"] {
            assert!(!names_discard(other, "unversioned", "/p", "/p"), "{other}");
        }
        assert!(names_deletion("delete the folder src", "/p/src"));
        assert!(names_deletion("clear everything in src/", "/p/src"));
        for other in
            ["please don't remove src", "fix the bug in src", "remove the unused import in src", "replace a in src"]
        {
            assert!(!names_deletion(other, "/p/src"), "{other}");
        }
    }

    #[test]
    fn files_of_any_name_and_pushes_are_asked_for() {
        for asked in
            ["Remove all .txt files below ~", "find the core files and delete them", "delete empty directories"]
        {
            assert!(asks_to_delete_files(asked), "{asked}");
        }
        for other in ["clear the build folder", "free some space", "don't delete files, list them", "delete the branch"]
        {
            assert!(!asks_to_delete_files(other), "{other}");
        }
        assert!(asks_to_push("Push this branch") && asks_to_push("commit and push it"));
        assert!(!asks_to_push("commit it, don't push yet") && !asks_to_push("fix the pushbutton"));
    }

    #[test]
    fn a_deletion_elsewhere_is_asked_for_by_name() {
        let asked = |request: &str, name: &str| {
            let mut query = EffectFacts::new(Verb::Remote, Kind::Remote, name);
            query.operation = "delete".to_owned();
            names_target(request, &query)
        };
        assert!(asked("Cancel job 4411", "4411") && asked("uninstall the release grafana-test", "grafana-test"));
        assert!(!asked("Cancel job 4411", "4412") && !asked("Update the deployment web-api", "web-api"));
        assert!(!asked("Delete all images and push", "remote"));
    }

    #[test]
    fn a_graded_change_is_asked_for_by_its_verb() {
        let asked = |request: &str, grade: &str| {
            let mut query = EffectFacts::new(Verb::Remote, Kind::Remote, "x");
            query.operation = grade.to_owned();
            names_target(request, &query)
        };
        assert!(asked("Publish the package", "public") && asked("grant Ann read access", "access"));
        assert!(asked("create a cluster of three nodes", "spend"));
        assert!(!asked("don't publish it yet, run the tests", "public"));
        assert!(!asked("create a report", "spend") && !asked("bootstrap the page", "spend"));
        assert!(
            !asked("explain how to publish it", "public")
                && !asked("what does the role do?", "access")
                && !asked("publish it", "secret")
        );
    }

    #[test]
    fn skipped_hooks_are_named() {
        let mut query = EffectFacts::new(Verb::Variable, Kind::Variable, "--no-verify");
        query.operation = "hooks".to_owned();
        for asked in [
            "commit it, skipping the pre-commit hook",
            "Commit with --no-verify and push",
            "commit this without running hooks",
            "the hook is broken, bypass the hooks for now",
        ] {
            assert!(names_target(asked, &query), "{asked}");
        }
        for other in [
            "commit it",
            "never use --no-verify",
            "don't skip the hooks",
            "add a hook that verifies names",
            "skip the tests",
        ] {
            assert!(!names_target(other, &query), "{other}");
        }
    }

    #[test]
    fn requests_name_whole_words() {
        assert!(names("delete the Documents folder", "/home/a/Documents"));
        assert!(names("remove old/thesis.tex", "/home/a/old/thesis.tex"));
        assert!(!names("tidy up", "/home/a/Documents"));
        assert!(!names("list the documents", "/home/a/Documents"));
        assert!(names("list the documents and remove them", "/home/a/Documents"));
        assert!(!names("documentsX", "/home/a/Documents"));
    }
}
