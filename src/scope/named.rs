//! The targets that a request names: `the branch feature/login`, `jobs 12 and 13`, `the cleanup-auth branches`.

use super::objects::GRAVE;
use crate::effect::{Verb, tool_call::class};
use std::collections::BTreeSet;

/// Words before a name that say where something is, and not what it is.
const PLACES: [&str; 11] = ["after", "at", "before", "by", "from", "in", "into", "on", "since", "until", "via"];
/// Words between such a word, or a noun, and a name.
const SKIPPED: [&str; 10] = ["a", "an", "called", "id", "my", "named", "no", "number", "our", "the"];
/// Nouns before a number that is a part of a name.
const NUMBERED: [&str; 8] = ["id", "issue", "no", "number", "pr", "range", "task", "ticket"];
/// Verbs by which a request ends something, and others of which no table of tools knows.
const ENDS: [&str; 19] = [
    "abort",
    "cancel",
    "clean",
    "clear",
    "delete",
    "destroy",
    "discard",
    "drop",
    "end",
    "erase",
    "kill",
    "prune",
    "purge",
    "remove",
    "rm",
    "terminate",
    "tidy",
    "uninstall",
    "wipe",
];
const OTHERS: [&str; 14] = [
    "build",
    "check",
    "debug",
    "explain",
    "finish",
    "fix",
    "improve",
    "investigate",
    "look",
    "refactor",
    "repair",
    "review",
    "run",
    "use",
];
/// Words before a verb by which a request says that it is not to be done.
const NOT: [&str; 6] = ["don't", "dont", "don’t", "never", "not", "without"];
/// What a request calls a thing that is to go, and how it says so without a verb.
const STALE: [&str; 8] = ["abandoned", "dead", "leftover", "obsolete", "orphaned", "outdated", "stale", "unused"];
const DEALS: [&str; 6] = ["attention", "care", "clean", "handle", "sort", "tidy"];
/// How far before its name a thing is called stale, in words.
const CALLED: usize = 8;
/// How far from its noun a name may be, in words.
const NEAR: usize = 2;
/// Longest quotation, in bytes.
const QUOTED: usize = 512;
/// Shortest name by which a row is recognised.
const SHORT: usize = 4;
/// Fewest digits of a number that is a name wherever it stands.
const DIGITS: usize = 3;

/// One word of a request, or what it quotes.
#[derive(Debug, Clone)]
struct Word {
    text: String,
    quoted: bool,
    /// It ends with a comma.
    comma: bool,
}

/// A name in a request.
#[derive(Debug, Clone)]
struct Name {
    at: usize,
    text: String,
    /// It may be a part of the name of the target.
    part: bool,
}

/// The targets that a request names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    sentences: Vec<Vec<Word>>,
}

impl Named {
    pub fn of(request: &str) -> Self {
        Self { sentences: sentences(request) }
    }

    /// Whether the request names a target; `None` if it names none of these kinds. `kinds`: nouns in the singular, in lower
    /// case.
    pub fn covers(&self, kinds: &[&str], target: &str) -> Option<bool> {
        let target = normal(target);
        let sentences = self.sentences.iter().map(|words| groups(words, kinds)).filter(|groups| !groups.is_empty());
        let partly = |group: &Vec<Name>| group.iter().any(|name| name.part && is_part(&name.text, &target));
        // one sentence is enough: a later message may name another target
        let covers = |groups: Vec<Vec<Name>>| {
            groups.iter().flatten().any(|name| is_same(&name.text, &target)) || groups.iter().all(partly)
        };
        sentences.map(covers).reduce(|one, other| one || other)
    }

    /// Whether the request asks to end a target that it names: the verb before the name says so ("cancel job 12"), or it
    /// calls the target stale and wants that dealt with.
    pub fn ends(&self, kinds: &[&str], target: &str) -> bool {
        let said = |list: &[&str]| {
            self.sentences.iter().flatten().any(|word| list.contains(&word.text.to_lowercase().as_str()))
        };
        let dealt = said(&DEALS);
        let target = normal(target);
        let ended = |words: &Vec<Word>| {
            let of = |name: &Name| is_same(&name.text, &target) || name.part && is_part(&name.text, &target);
            let names: Vec<Name> = groups(words, kinds).into_iter().flatten().filter(of).collect();
            names.iter().any(|name| is_ended(words, name.at) || dealt && is_stale(words, name.at))
        };
        self.covers(kinds, &target) == Some(true) && self.sentences.iter().any(ended)
    }

    /// The names of a kind, for a person.
    pub fn names(&self, kinds: &[&str]) -> Vec<String> {
        self.sentences.iter().flat_map(|words| groups(words, kinds)).flatten().map(|name| name.text).collect()
    }

    /// The paths of files that the request asks to delete.
    pub fn deleted_files(&self) -> Vec<String> {
        let mut found = Vec::new();
        for words in &self.sentences {
            let file = |(at, word): &(usize, &Word)| {
                is_file(&word.text) && is_ended(words, *at) && !is_placed(words, *at, &["for"])
            };
            found.extend(words.iter().enumerate().filter(file).map(|(_, word)| word.text.clone()));
        }
        found
    }

    /// The words of the request, in lower case.
    pub fn words(&self) -> BTreeSet<String> {
        self.sentences.iter().flatten().map(|word| word.text.to_lowercase()).collect()
    }

    /// Whether the request has a text as a word, or quotes it.
    pub fn has(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.sentences.iter().flatten().any(|word| {
            let own = word.text.to_lowercase();
            own == text || own.split(|c: char| c.is_whitespace() || "[](),'\"".contains(c)).any(|part| part == text)
        })
    }

    /// What the request calls by a name of its own, in lower case: what it quotes, words with a capital letter within a
    /// sentence, and what has a digit or a mark inside.
    pub fn proper(&self) -> BTreeSet<String> {
        let proper = |(at, word): (usize, &Word)| {
            let marked = |c: char| c.is_ascii_digit() || "-_/@".contains(c);
            let capital = at > 0 && word.text.starts_with(char::is_uppercase);
            (word.quoted || capital || word.text.contains(marked)).then(|| word.text.to_lowercase())
        };
        // "1. show what is shared with Ann; 2. delete the largest file"
        let acts = |words: &Vec<Word>| words.iter().any(|word| GRAVE.contains(&word.text.to_lowercase().as_str()));
        let some = self.sentences.iter().any(acts);
        let sentences = self.sentences.iter().filter(|words| !some || acts(words));
        let all = sentences.flat_map(|words| words.iter().enumerate().filter_map(proper));
        all.filter(|word| word.len() >= SHORT).collect()
    }
}

/// The names of some kinds in a sentence, those that are alternatives together.
fn groups(words: &[Word], kinds: &[&str]) -> Vec<Vec<Name>> {
    let nouns: Vec<usize> =
        words.iter().enumerate().filter(|(_, word)| is_noun(word, kinds)).map(|(at, _)| at).collect();
    if nouns.is_empty() {
        return Vec::new();
    }
    let found: Vec<Name> = (0..words.len()).filter_map(|at| name(words, &nouns, at)).collect();
    let mut groups: Vec<Vec<Name>> = Vec::new();
    for name in found {
        let joined = groups.last().and_then(|group| group.last()).is_some_and(|last| {
            let between = words.get(last.at + 1..name.at).unwrap_or_default();
            let comma = words.get(last.at).is_some_and(|word| word.comma);
            between.is_empty() && comma
                || between.len() == 1 && between.iter().all(|w| matches!(w.text.as_str(), "and" | "or" | "&"))
        });
        match groups.last_mut().filter(|_| joined) {
            Some(group) => group.push(name),
            None => groups.push(vec![name]),
        }
    }
    groups
}

/// The word at a place as a name of something whose nouns stand at `nouns`.
fn name(words: &[Word], nouns: &[usize], at: usize) -> Option<Name> {
    let word = words.get(at)?;
    if nouns.contains(&at) || is_placed(words, at, &[]) {
        return None;
    }
    let text = word.text.trim_start_matches('#').to_lowercase();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let number = digits > 0 && text.bytes().all(|b| b.is_ascii_digit() || b == b'x' || b == b'*');
    let apart = |noun: usize| {
        let (from, to) = (noun.min(at) + 1, noun.max(at));
        words.get(from..to).unwrap_or_default().iter().filter(|w| !SKIPPED.contains(&w.text.as_str())).count()
    };
    let near = nouns.iter().any(|noun| apart(*noun) < NEAR);
    let after = nouns.iter().any(|noun| *noun < at && apart(*noun) == 0);
    let numbered = at > 0 && words.get(at - 1).is_some_and(|w| NUMBERED.contains(&w.text.to_lowercase().as_str()));
    let listed = at > 1
        && words.get(at - 1).is_some_and(|w| matches!(w.text.as_str(), "and" | "or"))
        && name(words, nouns, at - 2).is_some();
    let is = if number {
        after || numbered || word.quoted || listed || word.text.starts_with('#') || near && digits >= DIGITS
    } else {
        (near || listed || word.quoted) && is_identifier(word, digits)
    };
    let part = number || !after && !word.quoted;
    is.then_some(Name { at, text, part })
}

/// Whether a word looks like the name of one thing. A time or a date is none.
fn is_identifier(word: &Word, digits: usize) -> bool {
    let inner = |c: char| "-_/.@:".contains(c);
    let text = word.text.trim_matches(inner);
    let time = text.bytes().all(|b| b.is_ascii_digit() || b":-/.".contains(&b));
    let one = !time && !text.contains(char::is_whitespace) && (text.contains(inner) || digits > 0);
    one || word.quoted && !text.is_empty()
}

/// Whether a word before a name says that something is there: "in namespace data", "on the cluster c-2".
fn is_placed(words: &[Word], at: usize, more: &[&str]) -> bool {
    let before = words.get(..at).unwrap_or_default().iter().rev();
    let is = |word: &&Word| !SKIPPED.contains(&word.text.to_lowercase().as_str());
    before.filter(is).take(1).any(|word| {
        let text = word.text.to_lowercase();
        PLACES.contains(&text.as_str()) || more.contains(&text.as_str())
    })
}

/// Whether the nearest verb before a name ends it.
fn is_ended(words: &[Word], at: usize) -> bool {
    let lower = |word: &Word| word.text.to_lowercase();
    let verb = |word: &Word| {
        let text = lower(word);
        let known = class(&text) != (Verb::Call, "");
        !word.quoted && (ENDS.contains(&text.as_str()) || OTHERS.contains(&text.as_str()) || known)
    };
    let before = words.get(..at).unwrap_or_default();
    let Some(place) = before.iter().rposition(verb) else { return false };
    let denied = before.get(place.saturating_sub(3)..place).unwrap_or_default();
    before.get(place).is_some_and(|word| ENDS.contains(&lower(word).as_str()))
        && !denied.iter().any(|word| NOT.contains(&lower(word).as_str()))
}

/// Whether a request calls what a name stands for stale.
fn is_stale(words: &[Word], at: usize) -> bool {
    let before = words.get(at.saturating_sub(CALLED)..at).unwrap_or_default();
    before.iter().any(|word| STALE.contains(&word.text.to_lowercase().as_str()))
}

fn is_noun(word: &Word, kinds: &[&str]) -> bool {
    let text = word.text.to_lowercase();
    !word.quoted
        && kinds.iter().any(|kind| {
            text.strip_prefix(kind).is_some_and(|rest| matches!(rest, "" | "s" | "es"))
                || kind.strip_suffix('y').is_some_and(|stem| text.strip_prefix(stem) == Some("ies"))
        })
}

fn is_file(text: &str) -> bool {
    let end = text.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=5).contains(&end.len())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
            && !end.bytes().all(|b| b.is_ascii_digit())
    });
    !text.contains("://") && !text.contains('@') && (text.trim_end_matches('/').contains('/') || end)
}

/// A name without what surrounds it: quotes, the remote of a branch, the type of a resource.
fn normal(target: &str) -> String {
    let text = target.trim().trim_matches(['"', '\'', '`']).trim_end_matches('/').to_lowercase();
    let text = text.strip_prefix("refs/heads/").or_else(|| text.strip_prefix("refs/tags/")).unwrap_or(&text);
    text.strip_prefix("origin/").unwrap_or(text).trim_start_matches('#').to_owned()
}

/// Whether a name is a target, or the last part of its path.
fn is_same(name: &str, target: &str) -> bool {
    let name = normal(name);
    let ends = |long: &str, short: &str| short.len() >= 2 && long.ends_with(&format!("/{short}"));
    name == target || ends(target, &name) || ends(&name, target)
}

/// Whether a name is a part of a target: some of its words in a row, or a number, of which `x` and `*` leave digits open.
fn is_part(name: &str, target: &str) -> bool {
    let open = name.bytes().any(|b| b.is_ascii_digit()) && (name.ends_with("xx") || name.contains('*'));
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !(c.is_alphanumeric() || open && c == '*'))
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (own, all) = (words(name), words(target));
    let alike = |a: &str, b: &str| {
        let fixed = a.trim_end_matches(['x', '*']);
        a == b
            || open && !fixed.is_empty() && b.starts_with(fixed) && b.bytes().all(|c| c.is_ascii_digit())
                && (a.contains('*') || a.len() == b.len())
            // `job4812` and `5512.pbsserver`
            || a.bytes().all(|c| c.is_ascii_digit()) && b.trim_start_matches(|c: char| c.is_ascii_alphabetic()) == a
    };
    !own.is_empty() && all.windows(own.len()).any(|part| part.iter().zip(&own).all(|(b, a)| alike(a, b)))
}

fn sentences(request: &str) -> Vec<Vec<Word>> {
    let (mut all, mut words): (Vec<Vec<Word>>, Vec<Word>) = (Vec::new(), Vec::new());
    let mut rest = request;
    while let Some(from) = rest.find(|c: char| !c.is_whitespace()) {
        rest = rest.get(from..).unwrap_or_default();
        let quote = rest.chars().next().filter(|c| "\"'`“‘„".contains(*c));
        let closing = quote.map(|open| match open {
            '“' => '”',
            '„' => '“',
            '‘' => '’',
            same => same,
        });
        let quoted = quote.zip(closing).and_then(|(open, close)| {
            let inner = rest.get(open.len_utf8()..)?;
            let inner = inner.get(..inner.floor_char_boundary(inner.len().min(QUOTED)))?;
            // an apostrophe within a word closes nothing
            let ends = |(at, _): &(usize, &str)| {
                inner.get(at + close.len_utf8()..).is_none_or(|after| !after.starts_with(char::is_alphanumeric))
            };
            let (end, _) = inner.match_indices(close).find(ends)?;
            Some((inner.get(..end)?.to_owned(), open.len_utf8() + end + close.len_utf8()))
        });
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (text, is_quoted, used) = match quoted {
            Some((text, used)) => (text, true, used),
            None => (rest.get(..end).unwrap_or_default().to_owned(), false, end),
        };
        // marks after a quotation
        let tail_end = if is_quoted {
            used + rest.get(used..).unwrap_or_default().find(char::is_whitespace).unwrap_or(rest.len() - used)
        } else {
            used
        };
        let tail = if is_quoted { rest.get(used..tail_end).unwrap_or_default() } else { text.as_str() };
        let (comma, stop) = (tail.ends_with([',', ';', ':']), tail.ends_with(['.', '!', '?']));
        let core = if is_quoted { text.as_str() } else { text.trim_matches(|c: char| ",.;:!?()[]{}\"'`".contains(c)) };
        if !core.is_empty() {
            words.push(Word { text: core.to_owned(), quoted: is_quoted, comma });
        }
        if stop {
            all.push(std::mem::take(&mut words));
        }
        rest = rest.get(tail_end.max(1)..).unwrap_or_default();
    }
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_targets_bind() {
        let covers = |request: &str, kind: &str, target: &str| Named::of(request).covers(&[kind], target);
        assert_eq!(covers("Delete the branch feature/login.", "branch", "feature/login"), Some(true));
        assert_eq!(covers("Delete the branch feature/login.", "branch", "feature/search"), Some(false));
        assert_eq!(covers("Delete the branch feature/login.", "branch", "feature/login-2"), Some(false));
        assert_eq!(covers("cancel my stale job for ticket `4812`", "job", "job-dev-4812-a"), Some(true));
        assert_eq!(covers("cancel my stale job for ticket `4812`", "job", "job-dev-shared"), Some(false));
        assert_eq!(covers("Cancel job 4411 on the cluster c-2, please", "job", "4411"), Some(true));
        assert_eq!(covers("Cancel job 4411", "job", "4412"), Some(false));
        assert_eq!(covers("Cancel jobs 12 and 13.", "job", "13"), Some(true));
        assert_eq!(
            covers("Cancel jobs for ticket 48. Now cancel those for ticket 49: the jobs of `49`", "job", "a-48"),
            Some(true)
        );
        let range = "clean up my stale login-form branches for ticket range `48xx`";
        assert_eq!(covers(range, "branch", "ann/login-form-4827-old"), Some(true));
        assert_eq!(covers(range, "branch", "team/login-form-shared"), Some(false));
        assert_eq!(covers(range, "branch", "ann/billing-4827"), Some(false));
        assert_eq!(covers("Close ticket #2087 as resolved.", "ticket", "TCK-2087"), Some(true));
        assert_eq!(covers("Delete PBS job 5512.", "job", "5512.server01"), Some(true));
    }

    #[test]
    fn requests_without_a_name_bind_nothing() {
        let covers = |request: &str, kind: &str, target: &str| Named::of(request).covers(&[kind], target);
        for (request, kind) in [
            ("Clean up my merged branches", "branch"),
            ("cancel all my jobs", "job"),
            ("Scale the deployment to 4 replicas", "deployment"),
            ("Delete my event on 14 May at 16:00", "event"),
            ("Cancel the job in the queue gpu-2", "job"),
            ("fix the bug of issue 31", "branch"),
            ("", "job"),
        ] {
            assert_eq!(covers(request, kind, "x-1"), None, "{request}");
        }
    }

    #[test]
    fn only_a_request_to_end_a_target_ends_it() {
        let ends = |request: &str, kind: &str, target: &str| Named::of(request).ends(&[kind], target);
        assert!(ends("Cancel jobs 12 and 13.", "job", "13"));
        assert!(ends("My stale job for ticket `4812` needs attention", "job", "job-4812-a"));
        for (request, kind, target) in [
            ("Update the deployment web-api", "deployment", "web-api"),
            ("Delete the old tests and update the deployment web-api", "deployment", "web-api"),
            ("Fix the job 4411, it fails", "job", "4411"),
            ("don't delete the branch feature/a", "branch", "feature/a"),
            ("Why is job 4411 stale?", "job", "4411"),
            ("Cancel job 12.", "job", "13"),
        ] {
            assert!(!ends(request, kind, target), "{request}");
        }
    }

    #[test]
    fn files_to_delete_are_found() {
        let files = |request: &str| Named::of(request).deleted_files();
        assert_eq!(files("Remove build/trace_1.log, it is large"), ["build/trace_1.log"]);
        assert_eq!(files("Delete old.log and new.log from /var/log"), ["old.log", "new.log"]);
        assert!(files("Remove the unused import from src/a.py").is_empty());
        assert!(files("Remove the bug in foo, then run a.py").is_empty());
        assert!(files("Fix src/a.py").is_empty() && files("delete version 1.8").is_empty());
    }
}
