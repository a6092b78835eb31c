//! Wrappers that run another command: `env`, `flock`, `watch`, `rimraf`.

use super::{Output, Shell};
use crate::{Cause, Detail, Verb};

/// If a `sleep` keeps a lock for longer than this (in seconds), the lock blocks other programs.
const LONG_LOCK: f64 = 300.0;

impl Shell<'_> {
    pub(super) fn env(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        self.scoped(|shell| shell.env_scoped(program, words, stdin))
    }

    fn env_scoped(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let mut index = 0;
        loop {
            let options = self.options("env", words.get(index..).unwrap_or_default());
            index += options.used;
            if let Some(folder) = options.value(&["--chdir"]) {
                self.enter(folder);
            }
            if let Some(text) = options.value(&["--split-string"]) {
                let rest = words.get(index..).unwrap_or_default();
                let text = [&[text.to_owned()], rest].concat().join(" ");
                return self.child("env -S", |shell| shell.nested("env -S", &text, stdin.clone()));
            }
            let Some(word) = words.get(index).filter(|word| *word == "-" || word.contains('=')) else { break };
            if let Some((name, value)) = word.split_once('=') {
                if name.starts_with("BASH_FUNC_") {
                    self.unknown(Cause::Dynamic, "a function is handed on to another shell", program);
                }
                self.assign(name, vec![value.to_owned()]);
            }
            index += 1;
        }
        match words.get(index..) {
            Some(rest) if !rest.is_empty() => self.wrapped(program, rest, stdin.clone()),
            _ => Output::default(),
        }
    }

    /// A lock that a long command keeps blocks other programs.
    pub(super) fn flock(&mut self, words: &[String], stdin: &Output) -> Output {
        let options = self.options("flock", words);
        let index = options.used;
        let exclusive = !options.has(&["--shared", "--unlock"]);
        let Some(file) = words.get(index).cloned() else { return Output::default() };
        let mut rest = words.get(index + 1..).unwrap_or_default().to_vec();
        if rest.first().is_some_and(|w| w == "-c" || w == "--command") {
            let text = rest.get(1).cloned().unwrap_or_default();
            rest = vec!["sh".to_owned(), "-c".to_owned(), text];
        }
        if rest.is_empty() {
            return Output::default();
        }
        let held = longest_sleep(&rest);
        if exclusive && held.is_none_or(|s| s >= LONG_LOCK) {
            let mut effect = self.at(Verb::Limit, &file, "flock");
            "lock".clone_into(&mut effect.operation);
            effect.detail = Detail::Held(held.map(|seconds| seconds as u64));
            self.add(effect);
        } else {
            let mut effect = self.at(Verb::Create, &file, "flock");
            effect.keep = true;
            self.add(effect);
        }
        self.wrapped("flock", &rest, stdin.clone())
    }

    /// `watch` joins its words and runs them in a shell, again and again.
    pub(super) fn watch(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let options = self.options("watch", words);
        let (index, exact) = (options.used, options.has(&["-x", "--exec"]));
        let rest = words.get(index..).unwrap_or_default();
        match (rest.is_empty(), exact) {
            (true, _) => Output::default(),
            (false, true) => self.wrapped(program, rest, stdin.clone()),
            (false, false) => self.child(program, |shell| shell.nested(program, &rest.join(" "), stdin.clone())),
        }
    }

    /// `rimraf` deletes like `rm -rf`; without paths its row applies.
    pub(super) fn rimraf(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let (_, paths) = self.permuted(program, words);
        let rm = ["rm", "-rf", "--"].map(str::to_owned);
        (!paths.is_empty()).then(|| self.wrapped(program, &[rm.as_slice(), &paths].concat(), stdin.clone()))
    }
}

/// The longest constant `sleep` in seconds; `None` if another command may never end (tail -f, cat, sleep infinity).
fn longest_sleep(words: &[String]) -> Option<f64> {
    let text = words.join(" ");
    let mut longest = 0.0_f64;
    let mut parts = text.split_whitespace().peekable();
    while let Some(word) = parts.next() {
        if word.ends_with("sleep") {
            let amount = parts.peek().copied().unwrap_or_default().trim_end_matches([';', '\'', '"', ')']);
            let (number, unit) = match amount.strip_suffix(['s', 'm', 'h', 'd']) {
                Some(number) => (number, amount.chars().next_back()),
                None => (amount, None),
            };
            let factor = match unit {
                Some('m') => 60.0,
                Some('h') => 3600.0,
                Some('d') => 86_400.0,
                _ => 1.0,
            };
            longest = longest.max(number.parse::<f64>().ok()? * factor);
        } else if matches!(word, "read" | "yes" | "infinity") {
            return None;
        }
    }
    Some(longest)
}
