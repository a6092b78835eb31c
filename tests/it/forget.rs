//! What leaves the guard's files: leaked secrets, and what is too old.

use agrail::Guard;
use agrail::action::{Action, Context, Identity};
use agrail::approvals::Approvals;
use agrail::audit::{Audit, AuditError, Entry, Retention, entries, verify};
use agrail::embed::{MINILM_DIMENSIONS, MINILM_ID};
use agrail::memory::Memory;
use agrail::session::{Author, Sessions};
use agrail::untrusted::Leak;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// No form of a secret tells it.
const SECRET: &str = "the blue heron lands at noon";

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: None }
}

async fn decided(audit: &Audit, commands: &[&str]) {
    let guard = Guard::builder().audit(audit.clone()).build().unwrap();
    let context = Context::new(Identity::default(), None).with_request("tidy up");
    for command in commands {
        let _ = guard.check(&shell(command), &context).await;
    }
}

fn all(log: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    entries(log, |entry| found.push(entry)).unwrap();
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

fn holds(folder: &Path, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| fs::read(path).unwrap().windows(text.len()).any(|part| part == text.as_bytes());
    files(folder).into_iter().filter(holds).collect()
}

#[tokio::test]
async fn a_tombstone_keeps_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let audit = Audit::open(&log, false).unwrap();
    let spoken = format!("echo '{SECRET}'");
    decided(&audit, &["ls", &spoken, "pwd", &spoken, "rm -rf /etc"]).await;
    let before = all(&log);
    let leak = Leak::new(SECRET).unwrap();
    assert_eq!(audit.remove(&leak, "olga").unwrap(), 2);
    assert!(holds(&log, SECRET).is_empty());
    let good = verify(&log).unwrap();
    assert_eq!((good.entries, good.removed, good.dropped), (6, 2, 0));
    let after = all(&log);
    assert_eq!(after.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert!(after[1].verdict.is_null() && after[1].at_ms == before[1].at_ms);
    assert!(after[1].event.as_deref().unwrap().contains("removed"));
    assert_eq!(after[2].verdict, before[2].verdict, "the others stay");
    assert_eq!(after[5].event.as_deref(), Some("olga removed 2 entries that held a secret"));
    assert_eq!(audit.remove(&leak, "olga").unwrap(), 0);
    // it goes on
    decided(&audit, &["ls"]).await;
    assert_eq!(verify(&log).unwrap().entries, 7);

    // a tombstone that no later entry names is a change, and so is any other byte of a tombstone
    let path = log.join("audit-00000001.jsonl");
    let bytes = fs::read(&path).unwrap();
    for place in 0..bytes.len() {
        let mut other = bytes.clone();
        other[place] ^= 0x01;
        fs::write(&path, &other).unwrap();
        assert!(matches!(verify(&log), Err(AuditError::Broken(_))), "byte {place}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let third = text.lines().nth(2).unwrap();
    let hash: Value = serde_json::from_str::<Value>(third).unwrap()["hash"].clone();
    let forged = format!(r#"{{"hash":{hash},"removed":{{"seq":3,"at_ms":{}}}}}"#, before[2].at_ms);
    fs::write(&path, text.replace(third, &forged)).unwrap();
    let why = verify(&log).unwrap_err().to_string();
    assert!(why.contains("no later entry says so"), "{why}");
}

#[tokio::test]
async fn a_removal_that_was_killed_leaves_an_intact_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let audit = Audit::open(&log, false).unwrap();
    decided(&audit, &["ls", &format!("echo '{SECRET}'")]).await;
    let first = fs::read(log.join("audit-00000001.jsonl")).unwrap();
    let head = fs::read(log.join("HEAD")).unwrap();
    let leak = Leak::new(SECRET).unwrap();
    audit.remove(&leak, "olga").unwrap();
    // killed before the files were written anew
    fs::write(log.join("audit-00000001.jsonl"), &first).unwrap();
    assert_eq!(verify(&log).unwrap().removed, 0);
    assert_eq!(audit.remove(&leak, "olga").unwrap(), 1);
    assert_eq!(verify(&log).unwrap().removed, 1);
    // killed before HEAD
    fs::write(log.join("audit-00000001.jsonl"), &first).unwrap();
    fs::remove_file(log.join("audit-00000003.jsonl")).unwrap();
    fs::write(log.join("HEAD"), &head).unwrap();
    assert_eq!(audit.remove(&leak, "olga").unwrap(), 1);
    assert_eq!(verify(&log).unwrap().removed, 1);
}

#[tokio::test]
async fn a_log_is_bounded_by_age() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let kept =
        Audit::open(&log, false).unwrap().retain(Retention { age: Some(Duration::from_millis(400)), bytes: None });
    for _ in 0..12 {
        decided(&kept, &["ls", "pwd"]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let good = verify(&log).unwrap();
    assert!(good.dropped > 4 && good.files > 1, "{good:?}");
    let left = all(&log);
    assert_eq!(left.first().unwrap().seq, good.dropped + 1);
    assert!(left.iter().any(|entry| entry.event.as_deref().is_some_and(|event| event.contains("begins with entry"))));
    // files that were dropped without a word are a change
    let base = fs::read_to_string(log.join("BASE")).unwrap();
    fs::write(log.join("BASE"), base.replacen("\"files\":", "\"files\":1", 1)).unwrap();
    assert!(matches!(verify(&log), Err(AuditError::Broken(_))));
    fs::remove_file(log.join("BASE")).unwrap();
    assert!(matches!(verify(&log), Err(AuditError::Broken(_))));
    fs::write(log.join("BASE"), base).unwrap();
    // files that are left over are none
    fs::write(log.join("audit-00000001.jsonl"), "left over").unwrap();
    assert_eq!(verify(&log).unwrap(), good);
    decided(&kept, &["ls"]).await;
    verify(&log).unwrap();
}

#[test]
fn an_operator_removes_a_secret_from_everything() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
        command.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin").current_dir(home.path());
        command.args(arguments).stdin(Stdio::null());
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let state = home.path().join(".local/state/agrail");
    for command in [format!("frobnicate '{SECRET}'"), format!("rm -rf '/etc/{SECRET}'")] {
        run(&["check", "--queue", "--user", "nobody", "--request", &format!("say {SECRET}"), "--shell", &command]);
    }
    let sessions = Sessions::open(&state.join("sessions.db")).unwrap();
    sessions.prompt("s1", &format!("say {SECRET}")).unwrap();
    let seen = agrail::Observation { source: "page".to_owned(), text: format!("Run it: {SECRET}.").as_str().into() };
    sessions.observe("s1", &seen, Author::Anyone).unwrap();
    drop(sessions);
    assert!(holds(home.path(), SECRET).len() >= 4, "{:?}", holds(home.path(), SECRET));

    let file = home.path().join("secret");
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    let forget = ["forget", "--json", "--file", file.to_str().unwrap()];
    let (code, _, errors) = run(&forget);
    assert!(code == Some(1) && errors.contains("terminal"), "an agent must not do it: {errors}");
    let token = "0123456789abcdef";
    fs::create_dir_all(home.path().join(".config/agrail")).unwrap();
    fs::write(home.path().join("token"), token).unwrap();
    let config = format!("[memory]\napproval_token_file = \"{}\"\n", home.path().join("token").display());
    fs::write(home.path().join(".config/agrail/config.toml"), config).unwrap();
    let (code, found, errors) = run(&[&forget[..], &["--token", token]].concat());
    assert_eq!(code, Some(0), "{errors}");
    let found: Value = serde_json::from_str(&found).unwrap();
    for place in ["log", "memory", "sessions", "approvals"] {
        assert!(found[place].as_u64().unwrap() > 0, "{place}: {found}");
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(holds(home.path(), SECRET), Vec::<PathBuf>::new());
    // all of it still works
    let (code, said, _) = run(&["audit", "verify"]);
    assert!(code == Some(0) && said.contains("an operator has removed 2"), "{said}");
    assert_eq!(run(&["memory", "stats"]).0, Some(0));
    assert_eq!(run(&["approvals"]).0, Some(0));
    assert_eq!(Sessions::open(&state.join("sessions.db")).unwrap().recall("s1", "").unwrap().request, "say [removed]");
    let (code, said, _) = run(&[&forget[..1], &["--file", "token", "--token", token]].concat());
    assert!(code == Some(0) && said.contains("has not written it"), "{said}");
}

#[test]
fn entries_that_held_a_secret_are_recalled_and_old_decisions_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let lesson = || agrail::memory::Lesson {
        entry: None,
        key: agrail::memory::Key { natural: format!("say {SECRET}"), command: "say TEXT".to_owned() },
        vector: None,
        triggers: Vec::new(),
        changes: vec![agrail::memory::Change::Add {
            category: "integrity".to_owned(),
            name: "quiet".to_owned(),
            definition: format!("nobody says {SECRET}"),
            required: false,
        }],
        episode: agrail::memory::Episode {
            id: "e1".to_owned(),
            principal: "user".to_owned(),
            project: None,
            tainted: false,
            clean: true,
        },
        taught_by: "test".to_owned(),
        policy_checks: Vec::new(),
    };
    let memory = Memory::open(&path, MINILM_ID, MINILM_DIMENSIONS).unwrap();
    let entry = memory.learn(&lesson()).unwrap();
    assert!(Memory::forget(&path, &Leak::new(SECRET).unwrap(), "olga").unwrap() > 0);
    assert!(holds(folder.path(), SECRET).is_empty());
    // this process and the next one read what is left
    for memory in [memory, Memory::open(&path, MINILM_ID, MINILM_DIMENSIONS).unwrap()] {
        memory.verify().unwrap();
        let found = memory.active().unwrap().into_iter().find(|found| found.id == entry.id).unwrap();
        assert_eq!(found.key.natural, "say [removed]");
        assert_eq!(found.checks[0].definition, "nobody says [removed]");
    }
    let approvals = Approvals::open(&folder.path().join("approvals.db")).unwrap();
    drop(approvals);
    assert_eq!(Approvals::forget(&folder.path().join("approvals.db"), &Leak::new(SECRET).unwrap()).unwrap(), 0);
}
