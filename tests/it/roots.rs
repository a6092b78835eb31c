//! Disposable roots. The tests run where roots can be made and say so where not.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use agrail::replay::sandbox::{CaseRoot, Roots};

struct Bench {
    roots: Roots,
    work: tempfile::TempDir,
}

/// `None`, with the reason printed, only where privileges are missing: any other failure fails the test.
fn bench_with(limit: Duration) -> Option<Bench> {
    let work = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_agrail"));
    match Roots::prepare_with(work.path(), program, limit) {
        Ok(roots) => Some(Bench { roots, work }),
        Err(reason) => {
            let reason = format!("{:#}", anyhow::Error::from(reason));
            assert!(reason.starts_with("disposable roots need") || reason.contains("no overlayfs"), "{reason}");
            println!("skipped: {reason}");
            None
        }
    }
}

fn bench() -> Option<Bench> {
    bench_with(Duration::from_secs(30))
}

fn in_root(root: &CaseRoot, path: &str) -> PathBuf {
    root.path().join(path.trim_start_matches('/'))
}

#[test]
fn a_set_up_changes_its_root_and_neither_the_host_nor_another_root() {
    let Some(bench) = bench() else { return };
    let name = format!("agrail-test-{}", std::process::id());
    let setup = format!("echo hi > /{name}; chmod 701 /usr/share; echo out; echo err >&2; exit 7");
    let one = bench.roots.case("one", Some(&setup)).unwrap();
    let two = bench.roots.case("two", Some("true")).unwrap();
    assert_eq!((one.setup_exit, one.setup_output.as_str()), (Some(7), "out\nerr\n"));
    assert_eq!(fs::read_to_string(in_root(&one, &name)).unwrap(), "hi\n");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(in_root(&one, "/usr/share")), 0o701);
    assert_eq!((mode("/usr/share".into()), mode(in_root(&two, "/usr/share"))), (0o755, 0o755));
    assert!(!Path::new("/").join(&name).exists() && !in_root(&two, &name).exists());
    assert_eq!(two.setup_exit, Some(0));
}

#[test]
fn the_shared_root_has_the_base_user() {
    let Some(bench) = bench() else { return };
    let root = bench.roots.shared().unwrap();
    let passwd = fs::read_to_string(root.join("etc/passwd")).unwrap();
    let entry: Vec<_> = passwd.lines().find(|line| line.starts_with("user:")).unwrap().split(':').collect();
    assert_eq!(entry[5], "/home/user");
    let home = fs::metadata(root.join("home/user")).unwrap();
    assert_eq!((home.uid().to_string().as_str(), home.mode() & 0o777), (entry[2], 0o755));
}

#[test]
fn accounts_owners_and_other_users_work() {
    let Some(bench) = bench() else { return };
    let setup = "useradd -m -s /bin/bash someone && passwd -d someone && mkdir /theirs && chown someone:someone /theirs \
                 && chmod 700 /theirs && su someone -c 'id -un > /theirs/name'";
    let root = bench.roots.case("accounts", Some(setup)).unwrap();
    assert_eq!(root.setup_exit, Some(0), "{}", root.setup_output);
    assert_eq!(fs::read_to_string(in_root(&root, "/theirs/name")).unwrap(), "someone\n");
    assert_ne!(fs::metadata(in_root(&root, "/theirs")).unwrap().uid(), 0);
}

#[test]
fn nothing_in_a_root_reaches_the_host() {
    let Some(bench) = bench() else { return };
    // Each line must fail; one that succeeds is printed.
    let setup = r#"
        try() { if eval "$1" >/dev/null 2>&1; then echo "did: $1"; fi; }
        try 'mount -t tmpfs none /mnt'
        try 'mount --bind /proc/1/root /mnt'
        try 'mknod /disk b 8 0'
        try 'readlink /proc/1/fd/0'
        try 'readlink /proc/1/exe'
        try 'echo 1 > /proc/sys/kernel/printk'
        try 'echo h > /proc/sysrq-trigger'
        try 'unshare -m true'
        try 'nsenter -t 1 -m true'
        try 'kill -9 1; sleep 0.1; ! kill -0 1'
        try 'echo > /dev/tcp/127.0.0.1/22'
        try 'ip link add dummy9 type dummy'
        try 'hostname elsewhere'
        grep CapEff /proc/self/status
    "#;
    let root = bench.roots.case("escape", Some(setup)).unwrap();
    // No SYS_ADMIN, SYS_PTRACE, MKNOD, NET_ADMIN, DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_BOOT.
    let expected = "CapEff:	00000000a00406fb
";
    assert_eq!((root.setup_exit, root.setup_output.as_str()), (Some(0), expected));
}

#[test]
fn the_host_s_other_processes_are_not_seen() {
    let Some(bench) = bench() else { return };
    let root = bench.roots.case("processes", Some("sleep 4243 >/dev/null 2>&1 & exit 0")).unwrap();
    let started = Instant::now();
    loop {
        let entries = fs::read_dir(in_root(&root, "/proc")).unwrap().map(|entry| entry.unwrap().file_name());
        let pids: Vec<u32> = entries.filter_map(|name| name.to_str()?.parse().ok()).collect();
        assert!(pids.contains(&1) && pids.len() < 5, "{pids:?}");
        let lines = pids.iter().filter_map(|pid| fs::read(in_root(&root, &format!("/proc/{pid}/cmdline"))).ok());
        if lines.into_iter().any(|line| line.starts_with(b"sleep\x004243")) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(5), "the daemon is gone");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_set_up_that_hangs_is_stopped_and_dropped() {
    let Some(bench) = bench_with(Duration::from_millis(300)) else { return };
    let started = Instant::now();
    let error = bench.roots.case("hangs", Some("trap '' TERM; while :; do sleep 1; done")).unwrap_err();
    let error = anyhow::Error::from(error);
    assert!(format!("{error:#}").contains("root of case hangs: the set-up ran past 0.3 s"), "{error:#}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_dropped_root_leaves_nothing() {
    let Some(bench) = bench() else { return };
    let root = bench.roots.case("gone", Some("setsid sleep 4244 >/dev/null 2>&1 & exit 0")).unwrap();
    let path = root.path();
    drop(root);
    assert!(fs::read_dir(&path).is_err());
    let Bench { roots, work } = bench;
    drop(roots);
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(&*work.path().to_string_lossy()));
}
