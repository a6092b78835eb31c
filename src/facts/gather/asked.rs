//! Whether the request asks for what an effect destroys.

use crate::effect::{Kind, Verb};
use crate::policy::EffectFacts;

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
const CHANGES: [&str; 40] = [
    "archiv",
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
    "sync",
    "tid",
    "trash",
    "truncat",
    "updat",
];

/// Whether the request only looks: it says so, and says nothing of a change.
fn only_looks(request: &str) -> bool {
    let words = crate::effect::words::words(request);
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
    let (request, last) = (request.to_lowercase(), last.to_lowercase());
    let mut found = request.match_indices(&last);
    found.any(|(at, _)| {
        let letter = |c: char| c.is_alphanumeric();
        let before = request.get(..at).and_then(|text| text.chars().next_back()).is_none_or(|c| !letter(c));
        let after = request.get(at + last.len()..).and_then(|text| text.chars().next()).is_none_or(|c| !letter(c));
        before && after
    })
}

/// Beginnings of words of a request for a change of another system, by the grade of that change.
const GRADES: [(&str, &[&str]); 3] = [
    ("access", &["access", "admin", "allow", "authoriz", "bind", "grant", "invit", "permission", "role", "share"]),
    ("public", &["deploy", "deprecat", "expos", "open", "public", "publish", "push", "releas", "upload", "yank"]),
    ("spend", &["boot", "creat", "launch", "provision", "purchas", "rent", "scale", "spin", "start"]),
];

/// Whether the request names what an effect reads beside files, or the kind of change that it makes on another system.
pub(super) fn names_target(request: &str, query: &EffectFacts) -> bool {
    let says = |begins: &[&str]| {
        let words = crate::effect::words::words(request);
        words.iter().any(|word| begins.iter().any(|begin| word.starts_with(begin)))
    };
    match (query.verb, query.kind) {
        (Verb::Remote, _) => {
            let grade = GRADES.iter().find(|(grade, _)| *grade == query.operation);
            grade.is_some_and(|(_, begins)| says(begins)) && !only_looks(request)
        }
        (Verb::Dump, Kind::Resource) => says(&[query.name.as_str(), "capture", "paste", "copied"]),
        (Verb::Read, Kind::Variable) => request.contains(&query.name),
        (Verb::Read, Kind::Path) if query.name.ends_with("_history") => says(&["histor", "command"]),
        _ => false,
    }
}

/// Beginnings of words of a request that throws changes away, and what it throws away.
const DISCARDS: [&str; 14] = [
    "abandon", "back", "discard", "drop", "forget", "reset", "restor", "revert", "rid", "rollback", "scrap", "throw",
    "undo", "wipe",
];
const CHANGED: [&str; 20] = [
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
    "working",
];
/// Beginnings of words of a request that deletes files, and words for all that is not tracked.
const DELETES: [&str; 10] = ["clean", "clear", "delet", "drop", "empt", "eras", "purg", "remov", "rid", "wipe"];
const UNTRACKED: [&str; 8] = ["checkout", "clone", "ignored", "repo", "repository", "tree", "untracked", "worktree"];
/// Words before which a request says that something is not to be done.
const NOT: [&str; 7] = ["don", "dont", "never", "no", "not", "t", "without"];
/// How far after a word its object may be, and how far before it a denial.
const NEAR: usize = 5;
const BEFORE: usize = 3;

/// Whether a request asks to do one of `verbs` with one of `objects`, both beginnings of words.
fn asks(words: &[String], verbs: &[&str], objects: &[&str]) -> bool {
    // `dropdown` is another word than `drop`
    let is = |word: &String, begins: &[&str]| {
        begins
            .iter()
            .any(|begin| word.strip_prefix(begin).is_some_and(|rest| rest.len() <= 4 && !rest.contains("down")))
    };
    words.iter().enumerate().any(|(place, word)| {
        let before = words.get(place.saturating_sub(BEFORE)..place).unwrap_or_default();
        let after = words.get(place + 1..words.len().min(place + 1 + NEAR)).unwrap_or_default();
        is(word, verbs)
            && !before.iter().any(|word| NOT.contains(&word.as_str()))
            && (objects.is_empty() || after.iter().any(|word| is(word, objects)))
    })
}

/// Whether the request asks to delete what is at a path.
pub(super) fn names_deletion(request: &str, path: &str) -> bool {
    let words = crate::effect::words::words(request);
    let verbs = ["recreat", "regenerat", "replac", "reset", "rm", "start", "trash"];
    (asks(&words, &DELETES, &[]) || asks(&words, &verbs, &[])) && names(request, path)
}

/// Whether the request asks to throw away what a version control system does not hold. If the request names files, only
/// what it names is asked for; commits of a branch or a stash have to be named.
/// `operation`: of the effect. `path`: its target. `work`: the folder of the repository.
pub(super) fn names_discard(request: &str, operation: &str, path: &str, work: Option<&str>) -> bool {
    let words = crate::effect::words::words(request);
    let removes = |objects: &[&str]| asks(&words, &DELETES, objects) || asks(&words, &DISCARDS, objects);
    let named = files(request);
    match operation {
        // to bring a stash back is something else
        "ref" if path.ends_with("/refs/stash") => {
            asks(&words, &DELETES, &["stash"]) || asks(&words, &["discard", "forget", "throw"], &["stash"])
        }
        "ref" => removes(&[]) && words.iter().any(|word| word.starts_with("branch")) && names(request, path),
        "worktree" => removes(&[]) && names(request, path),
        "untracked" | "unversioned" | "ignored" => {
            removes(&["untracked", "ignored"])
                || asks(&words, &["clean"], &UNTRACKED)
                || asks(&words, &DELETES, &[]) && names(request, path) && !named.is_empty()
                || named.is_empty() && asks(&words, &DISCARDS, &["everything", "all"])
        }
        _ if named.is_empty() => asks(&words, &DISCARDS, &CHANGED),
        _ => asks(&words, &DISCARDS, &[]) && covers(&named, path, work),
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

/// Whether a path is one of the files or below one; all paths are, if no file is named.
fn covers(files: &[&str], path: &str, work: Option<&str>) -> bool {
    let path = path.trim_end_matches('/');
    let inside = work.and_then(|work| path.strip_prefix(work)).unwrap_or(path).trim_matches('/');
    let is = |file: &&str| {
        let file = file.trim_matches('/');
        inside == file || inside.ends_with(&format!("/{file}")) || inside.starts_with(&format!("{file}/"))
    };
    files.is_empty() || files.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::{names, names_deletion, names_discard};

    #[test]
    fn a_request_that_names_files_asks_for_those_alone() {
        let asks = |request: &str, path: &str| names_discard(request, "changes", path, Some("/p"));
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
        ] {
            assert!(!asks(other, "/p"), "{other}");
        }
    }

    #[test]
    fn branches_and_stashes_are_named() {
        assert!(names_discard("delete the branch old-ui", "ref", "/p/.git/refs/heads/old-ui", None));
        assert!(!names_discard("delete merged branches", "ref", "/p/.git/refs/heads/old-ui", None));
        assert!(names_discard("drop the stash", "ref", "/p/.git/refs/stash", None));
        assert!(!names_discard("apply what I stashed", "ref", "/p/.git/refs/stash", None));
        assert!(names_discard("remove all untracked files", "untracked", "/p", None));
        assert!(!names_discard("bring back the work I stashed last", "ref", "/p/.git/refs/stash", None));
        assert!(names_discard("clear all my stashes", "ref", "/p/.git/refs/stash", None));
        assert!(!names_discard("remove the stash icon from the page", "changes", "/p", None));
        assert!(!names_discard("remove feat toggles from the page", "ref", "/p/.git/refs/heads/feat", None));
        for other in ["clean the build folder", "remove the unused import from the repository", "clear the cache"] {
            assert!(!names_discard(other, "unversioned", "/p", None), "{other}");
        }
        assert!(names_deletion("delete the folder src", "/p/src"));
        assert!(
            !names_deletion("please don't remove src", "/p/src") && !names_deletion("fix the bug in src", "/p/src")
        );
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
