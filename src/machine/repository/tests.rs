#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use std::path::Path;
use std::process::Command;

/// A work tree at `/p` of a root, with one commit.
struct Tree {
    root: tempfile::TempDir,
    environment: Environment,
}

impl Tree {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("p")).unwrap();
        let environment = Environment::open(root.path()).unwrap();
        let tree = Self { root, environment };
        tree.git(&["init", "-q", "-b", "main"]);
        tree.write("a.txt", "one\n");
        tree.write("src/b.txt", "two\n");
        tree.write(".gitignore", "*.bin\n/kept/\n");
        tree.commit();
        tree
    }

    fn folder(&self) -> std::path::PathBuf {
        self.root.path().join("p")
    }

    fn git(&self, words: &[&str]) -> String {
        git_in(&self.folder(), words)
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn with<T>(&self, path: &str, look: impl FnOnce(&Repository<'_>) -> T) -> T {
        let looks = Looks::default();
        look(&Repository::around(&self.environment, &looks, path).unwrap())
    }

    fn changes(&self, path: &str, staged: bool) -> Loss {
        self.with(path, |repository| repository.changes(path, staged))
    }

    fn untracked(&self, ignored: bool) -> Loss {
        let wanted = Wanted {
            home: "/none",
            ignored,
            others: true,
            is_made_again: &|name| name == "build",
            is_kept: &|name| name.starts_with("key"),
        };
        self.with("/p", |repository| repository.untracked("/p", &wanted))
    }

    fn commits(&self, name: &str) -> Loss {
        self.with("/p", |repository| repository.commits(name))
    }
}

fn git_in(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.name=u", "-c", "user.email=u@a.example", "-c", "protocol.file.allow=always"]).args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn of(names: &[&str]) -> Loss {
    Loss::of(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn changed_and_staged_files_are_no_commits() {
    let tree = Tree::new();
    assert_eq!(tree.changes("/p", true), Loss::Nothing);
    // of the same length, in the same moment
    tree.write("a.txt", "0ne\n");
    assert_eq!(tree.changes("/p", false), of(&["a.txt"]));
    assert_eq!(tree.changes("/p/src", false), Loss::Nothing);
    tree.git(&["add", "a.txt"]);
    assert_eq!(tree.changes("/p", false), Loss::Nothing);
    assert_ne!(tree.changes("/p", true), Loss::Nothing);
    assert_eq!(tree.changes("/p/src", true), Loss::Nothing);
    tree.commit();
    assert_eq!(tree.changes("/p", true), Loss::Nothing);
    // what is gone comes back
    std::fs::remove_file(tree.folder().join("a.txt")).unwrap();
    assert_eq!(tree.changes("/p", false), Loss::Nothing);
    std::os::unix::fs::symlink("elsewhere", tree.folder().join("a.txt")).unwrap();
    assert_eq!(tree.changes("/p", false), of(&["a.txt"]));
}

#[test]
fn a_commit_that_a_hook_refused_is_none() {
    let tree = Tree::new();
    tree.write("a.txt", "other\n");
    tree.git(&["add", "a.txt"]);
    // writes the trees into the index, as a commit does before its hooks
    tree.git(&["write-tree"]);
    assert_eq!(tree.changes("/p", true), of(&["staged changes"]));
    tree.commit();
    assert_eq!(tree.changes("/p", true), Loss::Nothing);
}

#[test]
fn commits_that_no_remote_has_are_only_here() {
    let tree = Tree::new();
    let only = |tree: &Tree| tree.with("/p", |repository| repository.only_here());
    assert_eq!(only(&tree), of(&["commits of main"]));
    tree.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    assert_eq!(only(&tree), Loss::Nothing);
    tree.write("a.txt", "other\n");
    tree.git(&["stash", "-q"]);
    assert_eq!(only(&tree), of(&["stashed changes"]));
}

#[test]
fn untracked_files_count_unless_they_are_ignored_or_made_again() {
    let tree = Tree::new();
    tree.write("x.bin", "");
    tree.write("build/out.txt", "");
    tree.write("kept/y", "");
    assert_eq!(tree.untracked(false), Loss::Nothing);
    assert_eq!(tree.untracked(true), Loss::Nothing);
    tree.write("kept/key.pem", "");
    assert_eq!(tree.untracked(false), Loss::Nothing);
    assert_eq!(tree.untracked(true), of(&["kept/key.pem"]));
    tree.write("src/new.txt", "");
    tree.write("src/.gitignore", "!y.bin\n");
    tree.git(&["add", "src/.gitignore"]);
    assert_eq!(tree.untracked(false), of(&["src/new.txt"]));
    tree.write("src/y.bin", "");
    // a byte that is no text
    std::fs::write(tree.folder().join(".git/info/exclude"), b"\xff\nother.txt\n").unwrap();
    tree.write("other.txt", "");
    assert!(matches!(tree.untracked(false), Loss::Of(names, false) if names.len() == 2));
    assert!(tree.with("/p", |repository| repository.is_ignored("/none", "/p/kept", true)));
    assert!(!tree.with("/p", |repository| repository.is_ignored("/none", "/p/src", true)));
}

#[test]
fn commits_that_another_reference_has_are_kept() {
    let tree = Tree::new();
    assert_eq!(tree.commits("refs/heads/none"), Loss::Nothing);
    tree.git(&["branch", "same"]);
    tree.git(&["checkout", "-q", "-b", "alone"]);
    tree.write("c.txt", "");
    tree.commit();
    tree.git(&["checkout", "-q", "main"]);
    assert_eq!(tree.commits("refs/heads/same"), Loss::Nothing);
    assert_eq!(tree.commits("refs/heads/alone"), of(&["commits of alone"]));
    tree.git(&["pack-refs", "--all"]);
    assert_eq!(tree.commits("refs/heads/alone"), of(&["commits of alone"]));
    tree.git(&["merge", "-q", "alone"]);
    tree.write("d.txt", "");
    tree.commit();
    // main was at that commit once
    assert_eq!(tree.commits("refs/heads/alone"), Loss::Nothing);
    assert_eq!(tree.commits("refs/stash"), Loss::Nothing);
    tree.write("d.txt", "2");
    tree.git(&["stash", "-q"]);
    assert_eq!(tree.commits("refs/stash"), of(&["stashed changes"]));
}

#[test]
fn without_a_commit_nothing_is_held() {
    let tree = Tree::new();
    std::fs::remove_dir_all(tree.folder().join(".git")).unwrap();
    tree.git(&["init", "-q"]);
    assert!(matches!(tree.changes("/p", false), Loss::Of(names, false) if names.len() == 3));
    tree.git(&["add", "a.txt"]);
    assert_eq!(tree.changes("/p", false), Loss::Nothing);
    assert_eq!(tree.changes("/p", true), of(&["a.txt"]));
}

#[test]
fn linked_work_trees_and_submodules_are_found() {
    let tree = Tree::new();
    tree.git(&["worktree", "add", "-q", "../w", "-b", "other"]);
    // absolute paths of the machine: below the root they are others
    let link = std::fs::read_to_string(tree.root.path().join("w/.git")).unwrap();
    let root = tree.root.path().to_str().unwrap();
    std::fs::write(tree.root.path().join("w/.git"), link.replace(root, "")).unwrap();
    assert_eq!(tree.changes("/w", true), Loss::Nothing);
    std::fs::write(tree.root.path().join("w/a.txt"), "other\n").unwrap();
    assert_eq!(tree.changes("/w", true), of(&["a.txt"]));
    assert_eq!(tree.changes("/p", true), Loss::Nothing);
    assert_eq!(tree.with("/w", |repository| repository.commits("refs/heads/other")), Loss::Nothing);

    let tree = Tree::new();
    let other = Tree::new();
    tree.git(&["submodule", "--quiet", "add", other.folder().to_str().unwrap(), "sub"]);
    tree.commit();
    assert_eq!(tree.changes("/p", true), Loss::Nothing);
    std::fs::write(tree.folder().join("sub/a.txt"), "other\n").unwrap();
    assert_eq!(tree.changes("/p/sub", true), of(&["a.txt"]));
}

#[test]
fn what_cannot_be_seen_is_not_nothing() {
    let tree = Tree::new();
    let index = tree.folder().join(".git/index");
    let good = std::fs::read(&index).unwrap();
    for length in (0..good.len()).step_by(7) {
        std::fs::write(&index, &good[..length]).unwrap();
        assert_ne!(tree.changes("/p", true), Loss::Nothing, "cut at {length}");
    }
    // a changed byte: never a panic
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0xff;
        std::fs::write(&index, bad).unwrap();
        let _ = tree.changes("/p", true);
    }
    std::fs::write(&index, &good).unwrap();
    assert_eq!(tree.changes("/p", true), Loss::Nothing);
    tree.git(&["config", "extensions.objectformat", "sha256"]);
    assert_eq!(tree.changes("/p", true), Loss::Unseen);

    // references that cannot be read may be there
    let tree = Tree::new();
    tree.git(&["branch", "other"]);
    tree.git(&["pack-refs", "--all"]);
    assert_eq!(tree.commits("refs/heads/none"), Loss::Nothing);
    std::fs::write(tree.folder().join(".git/packed-refs"), "what is this\n").unwrap();
    assert_eq!(tree.commits("refs/heads/other"), Loss::Unseen);
    assert_eq!(tree.with("/p", |repository| repository.only_here()), Loss::Unseen);
    let tree = Tree::new();
    std::fs::write(tree.folder().join(".git/refs/heads/odd"), b"\xff\xfe").unwrap();
    assert_eq!(tree.commits("refs/heads/odd"), Loss::Unseen);
    assert_eq!(tree.with("/p", |repository| repository.only_here()), Loss::Unseen);

    let tree = Tree::new();
    tree.git(&["update-index", "--split-index"]);
    tree.write("a.txt", "other\n");
    assert_eq!(tree.changes("/p", true), Loss::Unseen);

    let tree = Tree::new();
    let looks = Looks { entries: Cell::new(1), ..Looks::default() };
    let few = Repository::around(&tree.environment, &looks, "/p").unwrap();
    assert_eq!(few.changes("/p", false), Loss::Unseen);
    let late = Looks { until: Instant::now(), entries: Cell::new(65), ..Looks::default() };
    let late = Repository::around(&tree.environment, &late, "/p").unwrap();
    let wanted = Wanted { home: "", ignored: true, others: true, is_made_again: &|_| false, is_kept: &|_| true };
    assert_eq!(late.untracked("/p", &wanted), Loss::Unseen);
}

/// Random histories, against git itself: what it calls changed or untracked is a loss, and a clean tree is none.
#[test]
fn it_agrees_with_git() {
    let mut seed = 7_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..12 {
        let tree = Tree::new();
        // an index that was changed and changed back still counts as staged
        let mut added = false;
        for step in 0..10 {
            let name = ["a.txt", "src/b.txt", "src/deep/c.txt", "new.bin", "kept/z", "d é.txt"][next(6) as usize];
            match next(6) {
                0 | 1 => tree.write(name, ["one\n", "two\n", "thr\n"][next(3) as usize]),
                2 => drop(std::fs::remove_file(tree.folder().join(name))),
                kind => {
                    added = kind == 3;
                    match kind {
                        3 => drop(tree.git(&["add", "-A"])),
                        4 => tree.commit(),
                        _ => drop(tree.git(&["reset", "-q", "--hard"])),
                    }
                }
            }
            let status = tree.git(&["status", "--porcelain", "-uall"]);
            let lines: Vec<&str> = status.lines().collect();
            let modified = |line: &&str| matches!(line.as_bytes()[1], b'M' | b'T');
            let staged = |line: &&str| matches!(line.as_bytes()[0], b'M' | b'A' | b'T' | b'R');
            let own = tree.changes("/p", false);
            assert_eq!(own == Loss::Nothing, !lines.iter().any(modified), "step {step}: {own:?} {status}");
            let all = tree.changes("/p", true);
            let some = lines.iter().any(|line| modified(line) || staged(line));
            assert!(!some || matches!(all, Loss::Of(..)), "step {step}: {all:?} {status}");
            let clean = lines.iter().all(|line| line.starts_with("??"));
            assert!(!clean || added || all == Loss::Nothing, "step {step}: {all:?} {status}");
            let others = lines.iter().any(|line| line.starts_with("??"));
            let own = tree.untracked(false);
            assert_eq!(own == Loss::Nothing, !others, "step {step}: {own:?} {status}");
        }
    }
}
