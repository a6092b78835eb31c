//! What a command would lose for good: the state of the repository decides, not the name of the command.

use crate::guard::own;
use crate::javascript::project;
use crate::knowledge::decide_for;
use agrail::Decision;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A project under version control with one commit.
fn repository() -> tempfile::TempDir {
    let root = project(&[("src/main.py", "print(1)\n"), ("README.md", "p\n"), (".gitignore", "build/\n*.log\n")]);
    let folder = root.path().join("home/user/project");
    fs::remove_dir(folder.join(".git")).unwrap();
    for words in ["init -q -b main", "add -A", "commit -q -m first"] {
        git(root.path(), words);
    }
    root
}

fn git(root: &Path, words: &str) {
    let mut command = Command::new("git");
    command.current_dir(root.join("home/user/project"));
    // the files may belong to the user of the test
    for (key, value) in [("safe.directory", "*"), ("user.name", "u"), ("user.email", "u@a.example")] {
        command.args(["-c", &format!("{key}={value}")]);
    }
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "git {words}: {}", String::from_utf8_lossy(&output.stderr));
    own_all(root, "home/user/project");
}

fn own_all(root: &Path, path: &str) {
    own(root, path, 1000);
    for entry in fs::read_dir(root.join(path)).into_iter().flatten().flatten() {
        let inside = format!("{path}/{}", entry.file_name().to_string_lossy());
        own(root, &inside, 1000);
        if entry.file_type().unwrap().is_dir() {
            own_all(root, &inside);
        }
    }
}

fn change(root: &Path, name: &str, content: &str) {
    let path = format!("home/user/project/{name}");
    fs::create_dir_all(root.join(&path).parent().unwrap()).unwrap();
    fs::write(root.join(&path), content).unwrap();
    own(root, &path, 1000);
}

fn asked(root: &Path, request: &str, commands: &[&str], part: &str) {
    for command in commands {
        let (decision, reason) = decide_for(root, request, command);
        assert!(decision == Decision::Ask && reason.contains(part), "{command}: {decision} {reason}");
    }
}

fn allowed(root: &Path, request: &str, commands: &[&str]) {
    for command in commands {
        let (decision, reason) = decide_for(root, request, command);
        assert_eq!(decision, Decision::Allow, "{command}: {reason}");
    }
}

const DISCARD: [&str; 9] = [
    "git checkout -- .",
    "git checkout .",
    "git checkout -f main",
    "git switch --discard-changes main",
    "git restore src",
    "git restore --source=HEAD --staged --worktree :/",
    "git reset --hard",
    "cd src && git reset --hard HEAD~1",
    "rm -rf src",
];

#[test]
fn changes_that_no_commit_holds_ask() {
    let root = repository();
    allowed(root.path(), "fix the branch", &DISCARD);
    change(root.path(), "src/main.py", "print(2)\n");
    asked(root.path(), "fix the branch", &DISCARD, "src/main.py");
    let (gone, there) = DISCARD.split_at(8);
    allowed(root.path(), "undo my changes", gone);
    allowed(root.path(), "remove the folder src", there);
    // paths that are known only when it runs, long names that are cut, and what the action itself stages before
    let other = [
        "git restore $(git diff --name-only)",
        "git checkout -- $(git ls-files -m)",
        "git diff --name-only | xargs git restore",
        "git restore --pathspec-from-file=list.txt",
        "git reset --har",
        "git add -A && git reset --hard",
        "git stash && git stash drop",
        "mkdir -p x; cd x; git reset --hard",
        "rm -rf /home/user/project",
        "yes | git restore -p .",
        "yes | git checkout -p",
        "git diff | git apply -R",
        "git diff src | git apply --reverse",
    ];
    asked(root.path(), "fix the branch", &other, "src/main.py");
    asked(root.path(), "Don't discard my changes, run the tests", &DISCARD[..1], "src/main.py");
    // another file is none of them
    asked(root.path(), "undo what I did in README.md", &["git checkout -- src", "git reset --hard"], "src/main.py");
    allowed(
        root.path(),
        "fix the branch",
        &[
            "git checkout -- README.md",
            "git restore --staged .",
            "git checkout -b x",
            "git restore -p .",
            "git diff | git apply -R --check",
        ],
    );
}

#[test]
fn untracked_files_ask_unless_tools_make_them_again() {
    let root = repository();
    change(root.path(), "build/main.o", "");
    change(root.path(), "run.log", "");
    allowed(
        root.path(),
        "make a fresh build",
        &["git clean -fd", "git clean -fdX", "git clean -ffdxq && make", "rm -rf build"],
    );
    change(root.path(), ".env", "KEY=1\n");
    change(root.path(), ".gitignore", "build/\n*.log\n.env\n");
    git(root.path(), "commit -qam ignore");
    allowed(root.path(), "make a fresh build", &["git clean -fd"]);
    asked(root.path(), "make a fresh build", &["git clean -fdx", "git clean -fdX"], ".env");
    change(root.path(), "notes/draft.md", "text\n");
    asked(
        root.path(),
        "clean the build folder",
        &["git clean -fd", "git clean -f -d notes", "rm -rf notes"],
        "notes/draft.md",
    );
    allowed(root.path(), "make a fresh build", &["git clean -nd", "git clean -fd src"]);
    allowed(root.path(), "delete the untracked files", &["git clean -fd"]);
}

#[test]
fn commits_and_stashes_that_nothing_else_holds_ask() {
    let root = repository();
    git(root.path(), "branch same");
    git(root.path(), "checkout -q -b spike");
    change(root.path(), "src/spike.py", "");
    git(root.path(), "add -A");
    git(root.path(), "commit -qm spike");
    git(root.path(), "checkout -q main");
    allowed(root.path(), "tidy up", &["git branch -D same", "git branch -d spike", "git stash drop"]);
    let lost = [
        "git branch -D spike",
        "git branch -f spike main",
        "git checkout -B spike main",
        "git update-ref -d refs/heads/spike",
    ];
    asked(root.path(), "tidy up", &lost, "commits of spike");
    asked(
        root.path(),
        "tidy up",
        &["git add -A && git branch -D spike", "git stash; git branch -D spike"],
        "commits of spike",
    );
    asked(root.path(), "tidy up", &["git branch | xargs git branch -D"], "could not be seen");
    allowed(root.path(), "delete the branch spike", &lost[..1]);
    change(root.path(), "README.md", "other\n");
    git(root.path(), "stash");
    asked(root.path(), "go on with the feature", &["git stash drop", "git stash clear"], "stashed changes");
    allowed(root.path(), "go on with the feature", &["git stash pop", "git stash list"]);
}

#[test]
fn a_repository_that_cannot_be_read_asks() {
    let commands = ["git checkout -- .", "git reset --hard", "git clean -fd"];
    let root = repository();
    let index = root.path().join("home/user/project/.git/index");
    fs::write(&index, b"DIRC\0\0\0\x02\xff\xff\xff\xff").unwrap();
    asked(root.path(), "fix the branch", &commands, "could not be seen");
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    asked(root.path(), "fix the branch", &commands, "could not be seen");
    // a repository without a commit: what lies there is in none
    let root = repository();
    fs::remove_dir_all(root.path().join("home/user/project/.git")).unwrap();
    git(root.path(), "init -q");
    asked(root.path(), "fix the branch", &commands[..2], "no commit holds it");
    // a folder that the command itself makes
    allowed(root.path(), "try it", &["git clone https://github.com/a/b b && git -C b reset --hard v1"]);
}

#[test]
fn the_whole_project_is_not_deleted_in_passing() {
    let root = repository();
    // the files are all in the commit, but the commit is nowhere else
    asked(root.path(), "clean up", &["rm -rf /home/user/project"], "commits of main");
    allowed(root.path(), "start the example again", &["rm -rf src"]);
    change(root.path(), "src/new.py", "");
    asked(root.path(), "clean the build folder", &["cd biuld; rm -rf ./*", "rm -rf /home/user/project"], "no copy");
    fs::remove_dir_all(root.path().join("home/user/project/.git")).unwrap();
    asked(root.path(), "clean the build folder", &["rm -rf ./*", "rm -rf /home/user/project"], "no copy");
    allowed(root.path(), "clean the build folder", &["rm -rf build/*", "rm -rf dist"]);
}

#[test]
fn a_bare_repository_is_no_work_tree() {
    let root = repository();
    git(root.path(), "checkout -q -b spike");
    git(root.path(), "commit -q --allow-empty -m spike");
    git(root.path(), "checkout -q main");
    git(root.path(), "branch same");
    git(root.path(), "config core.bare true");
    let home = root.path().join("home/user");
    fs::rename(home.join("project/.git"), home.join("store.git")).unwrap();
    fs::remove_file(home.join("store.git/index")).unwrap();
    let lost = [
        "git -C ~/store.git branch -D spike",
        "cd ~/store.git && git branch -D spike",
        "git -C /home/user/store.git update-ref -d refs/heads/spike",
    ];
    asked(root.path(), "tidy up", &lost, "commits of spike");
    let named = ["git --git-dir=/home/user/store.git branch -D spike", "GIT_DIR=~/store.git git branch -D spike"];
    asked(root.path(), "tidy up", &named, "could not be seen");
    asked(root.path(), "tidy up", &["rm -rf ~/store.git", "rm -rf ~/store.git/refs"], "no copy");
    asked(root.path(), "tidy up", &["git -C ~/store.git reset --hard", "git -C ~/store.git clean -fdx"], "store.git");
    allowed(root.path(), "tidy up", &["git -C ~/store.git branch -D same", "git -C ~/store.git log --oneline spike"]);
    allowed(root.path(), "delete the branch spike in store.git", &lost[..1]);
}

/// An index far above what is read, and a folder with more files than are looked at.
#[test]
fn a_repository_with_a_million_files_is_seen_in_bounded_time() {
    use std::io::Write as _;
    let root = repository();
    let folder = root.path().join("home/user/project");
    let commands = ["git reset --hard", "git checkout -- .", "git clean -fd", "rm -rf src"];
    let mut child = Command::new("git")
        .args(["-c", "safe.directory=*", "update-index", "--index-info"])
        .current_dir(&folder)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufWriter::new(child.stdin.take().unwrap());
    for number in 0..1_000_000 {
        writeln!(lines, "100644 {:040x}\td{}/f{number}", 1, number / 1000).unwrap();
    }
    drop(lines);
    assert!(child.wait().unwrap().success());
    own_all(root.path(), "home/user/project/.git");
    let began = std::time::Instant::now();
    asked(root.path(), "fix the branch", &commands, "could not be seen");
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

/// One content after another that no commit holds, and one link after another to a file that is run later.
#[test]
fn what_is_replaced_while_it_is_looked_at_asks() {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let root = repository();
    let project = root.path().join("home/user/project");
    let replace = |turn: usize| {
        let fresh = project.join("fresh");
        if turn.is_multiple_of(2) {
            fs::write(&fresh, format!("print({turn})\n")).unwrap();
        } else {
            symlink("../README.md", &fresh).unwrap();
        }
        fs::rename(&fresh, project.join("src/main.py")).unwrap();
        let target = ["/home/user/.bashrc", "/home/user/.ssh/authorized_keys", "../../.profile"][turn % 3];
        symlink(target, &fresh).unwrap();
        fs::rename(&fresh, project.join("src/notes")).unwrap();
    };
    replace(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // ends the other thread too when an assertion fails
        let _stop = Stop(&stop);
        scope.spawn(|| (1..).take_while(|_| !stop.load(Ordering::Relaxed)).for_each(replace));
        let commands = ["git checkout -- src/main.py", "rm -rf src", "echo x >> src/notes", "echo x > src/notes"];
        for _ in 0..100 {
            asked(root.path(), "run the tests", &commands, "");
        }
    });
}
