//! What a subcommand of git would throw away: content that no commit holds, and commits that no reference keeps.
//!
//! Each is an effect `discard` on a path. Its operation says what of it: `changes` of tracked files since they were
//! added, `uncommitted` ones (added or not), `untracked` files, `ignored` files, both (`unversioned`), everything in a
//! work tree (`worktree`), or the commits of a reference (`ref`), whose path is `.git/refs/...`. Whether anything would
//! be lost depends on the state of the repository, which policies see as `recovery`.

use super::{Shell, UNKNOWN_SPAN};
use crate::table::{Options, Row, Table};
use crate::{Detail, Effect, Target, Verb};

/// What a subcommand throws away: the operation with its paths, absolute.
type Losses = Vec<(&'static str, String)>;

/// The words of a subcommand.
struct Given<'a> {
    row: &'a Row,
    words: &'a [String],
    options: Options,
    operands: Vec<String>,
    /// The work tree.
    root: String,
    /// Whether the answers to its questions come from a pipe or a file instead of a person.
    answered: bool,
}

impl Given<'_> {
    fn has(&self, names: &[&str]) -> bool {
        self.options.has(names)
    }

    /// Whether it asks a person about each change.
    fn is_interactive(&self, names: &[&str]) -> bool {
        !self.answered && self.has(names)
    }

    /// Whether it works on files whose names are in another file.
    fn takes_list(&self) -> bool {
        self.words.iter().any(|word| word.starts_with("--pathspec-from"))
    }

    /// Whether an option is given, perhaps by the beginning of its long name, which git takes for the whole.
    fn begins(&self, names: &[&str]) -> bool {
        let words = self.words.iter().take_while(|word| *word != "--").filter(|word| word.starts_with("--"));
        let mut words = words.filter_map(|word| word.split('=').next()).filter(|word| word.len() > 2);
        self.has(names) || words.any(|word| names.iter().any(|name| name.starts_with(word)))
    }

    /// All of the work tree.
    fn all(&self) -> Losses {
        vec![("uncommitted", self.root.clone())]
    }

    fn reference(&self, name: &str) -> (&'static str, String) {
        let full = if name.starts_with("refs/") { name.to_owned() } else { format!("refs/heads/{name}") };
        ("ref", format!("{}/.git/{full}", self.root))
    }
}

impl Shell<'_> {
    /// Adds what a subcommand throws away.
    /// `answered`: something else than a person answers its questions.
    pub(super) fn discards(&mut self, program: &str, command: &str, words: &[String], answered: bool) {
        let Some(row) = Table::shipped().row("git").and_then(|row| row.sub(command)) else { return };
        let here = self.path(".");
        // a repository that the action itself brings
        let brings = |effect: &Effect| {
            let made = effect.target.name();
            effect.program == "git"
                && effect.verb == Verb::Create
                && (here == made || here.starts_with(&format!("{made}/")))
        };
        let made = self.around.folder(&here) == Some(false) && self.reading.effects.iter().any(brings);
        let root = self.repository().filter(|_| !made).unwrap_or(here);
        let (options, operands) = row.permuted(words);
        let given = Given { row, words, options, operands, root: root.trim_end_matches('/').to_owned(), answered };
        let losses = match command {
            "checkout" => self.checked_out(&given),
            "switch" => switched(&given),
            "restore" => self.restored(&given),
            "reset" if given.begins(&["--hard"]) => given.all(),
            "clean" => self.cleaned(&given),
            "stash" => stashed(&given),
            "branch" => branches(&given),
            "update-ref" => references(&given),
            "worktree" => self.removed_worktree(&given),
            "rm" if given.begins(&["-f", "--force"]) && !given.has(&["--cached"]) => {
                self.specified("uncommitted", &given.root, &given.operands)
            }
            "read-tree" if given.begins(&["--reset"]) => given.all(),
            // `git diff | git apply -R`
            "apply" if answered && given.operands.is_empty() && given.begins(&["-R", "--reverse"]) => {
                let shows = ["--cached", "--check", "--numstat", "--stat", "--summary"];
                if given.has(&shows) { Losses::new() } else { vec![("changes", given.root.clone())] }
            }
            "checkout-index" if given.begins(&["-f", "--force"]) => vec![("changes", given.root.clone())],
            _ => Losses::new(),
        };
        for (operation, path) in losses {
            let mut effect = Effect::new(Verb::Discard, Target::Path(path), program);
            operation.clone_into(&mut effect.operation);
            if self.staged {
                effect.detail = Detail::Changed;
            }
            self.add(effect);
        }
        // from now on the index or the stash are others than those that lie there
        let first = words.first().map(String::as_str);
        self.staged |= matches!(command, "add" | "stage" | "apply" | "mv" | "rm" | "update-index")
            || command == "stash" && !matches!(first, Some("list" | "show" | "drop" | "clear" | "pop" | "apply"));
    }

    /// Paths of the work tree, by their pathspecs.
    fn specified(&self, operation: &'static str, root: &str, specs: &[String]) -> Losses {
        let place = |spec: &String| match spec.strip_prefix(":/").or_else(|| spec.strip_prefix(":(top)")) {
            Some(rest) => format!("{root}/{rest}").trim_end_matches('/').to_owned(),
            // other patterns may match anything
            None if spec.starts_with(':') => root.to_owned(),
            None => self.path(spec),
        };
        specs.iter().map(|spec| (operation, place(spec))).collect()
    }

    fn checked_out(&self, given: &Given<'_>) -> Losses {
        let patch = given.has(&["-p", "--patch"]);
        if patch && !given.answered {
            return Losses::new();
        }
        let mut losses = Losses::new();
        if given.begins(&["-f", "--force"]) || patch && given.operands.is_empty() {
            losses = given.all();
        }
        losses.extend(given.options.value(&["-B"]).map(|name| given.reference(name)));
        if given.has(&["-b", "-B", "--orphan", "-d", "--detach", "-t", "--track"]) {
            return losses;
        }
        let (tree, paths) = match given.words.iter().position(|word| word == "--") {
            Some(at) => {
                let (before, after) = given.words.split_at(at);
                (!given.row.permuted(before).1.is_empty(), after.get(1..).unwrap_or_default())
            }
            None => match given.operands.as_slice() {
                // a word that is known only at run time is rather a branch
                [first, ..] if self.is_pathspec(first) => (false, given.operands.as_slice()),
                [_, paths @ ..] => (true, paths),
                [] => (false, &[][..]),
            },
        };
        if given.takes_list() {
            losses.push(("uncommitted", given.root.clone()));
        }
        losses.extend(self.specified(if tree { "uncommitted" } else { "changes" }, &given.root, paths));
        losses
    }

    /// Whether a word names files rather than a branch: git takes it so if there is such a file.
    fn is_pathspec(&self, word: &str) -> bool {
        !word.contains(UNKNOWN_SPAN)
            && (word.contains(['*', '?', ':']) || {
                let path = self.path(word);
                self.around.folder(&path) == Some(true) || !self.around.is_missing(&path)
            })
    }

    fn restored(&self, given: &Given<'_>) -> Losses {
        let staged = given.has(&["-S", "--staged"]);
        if given.is_interactive(&["-p", "--patch"]) || staged && !given.has(&["-W", "--worktree"]) {
            return Losses::new();
        }
        if given.takes_list() || given.operands.is_empty() {
            return given.all();
        }
        let deep = staged || given.has(&["-s", "--source"]);
        self.specified(if deep { "uncommitted" } else { "changes" }, &given.root, &given.operands)
    }

    fn cleaned(&self, given: &Given<'_>) -> Losses {
        let asks = given.has(&["-i", "--interactive"]);
        let acts = given.begins(&["-f", "--force"]) || asks && given.answered;
        if !acts || given.has(&["-n", "--dry-run"]) || given.is_interactive(&["-i", "--interactive"]) {
            return Losses::new();
        }
        let what = match (given.has(&["-X"]), given.has(&["-x"])) {
            (true, _) => "ignored",
            (_, true) => "unversioned",
            _ => "untracked",
        };
        if given.operands.is_empty() {
            return vec![(what, self.path("."))];
        }
        self.specified(what, &given.root, &given.operands)
    }

    fn removed_worktree(&self, given: &Given<'_>) -> Losses {
        match given.operands.as_slice() {
            [remove, folders @ ..] if remove == "remove" && given.begins(&["-f", "--force"]) => {
                folders.iter().map(|folder| ("worktree", self.path(folder))).collect()
            }
            _ => Losses::new(),
        }
    }
}

fn switched(given: &Given<'_>) -> Losses {
    let mut losses = Losses::new();
    if given.begins(&["-f", "--force", "--discard-changes"]) {
        losses = given.all();
    }
    losses.extend(given.options.value(&["-C", "--force-create"]).map(|name| given.reference(name)));
    losses
}

fn stashed(given: &Given<'_>) -> Losses {
    let loses = given.operands.first().is_some_and(|first| matches!(first.as_str(), "drop" | "clear"));
    if loses { vec![given.reference("refs/stash")] } else { Losses::new() }
}

/// Branches that are deleted or moved though they are not merged.
fn branches(given: &Given<'_>) -> Losses {
    let force = given.begins(&["-f", "--force"]);
    let all = given.operands.iter();
    if given.has(&["-r", "--remotes"]) {
        return Losses::new();
    }
    let names: Vec<&String> = if given.has(&["-D"]) || force && given.has(&["-d", "--delete"]) {
        all.collect()
    } else if given.has(&["-M", "-C"]) || force && given.has(&["-m", "--move", "-c", "--copy"]) {
        all.last().into_iter().collect()
    } else if force {
        all.take(1).collect()
    } else {
        Vec::new()
    };
    names.into_iter().map(|name| given.reference(name)).collect()
}

/// References that are deleted or moved by their full name.
fn references(given: &Given<'_>) -> Losses {
    if given.has(&["--stdin"]) {
        return vec![given.reference(&UNKNOWN_SPAN.to_string())];
    }
    let name = given.operands.first().filter(|name| name.starts_with("refs/heads/") || name.as_str() == "refs/stash");
    name.map(|name| given.reference(name)).into_iter().collect()
}
