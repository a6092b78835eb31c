//! The audit log: every change to it is found, and nothing that is told is lost.

use agrail::action::{Action, Context, Identity};
use agrail::audit::{Audit, AuditError, Entry, entries, replay, verify};
use agrail::guard::Guard;
use agrail::machine::Environment;
use agrail::verdict::Decision;
use std::fs;
use std::path::Path;

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: None }
}

fn context(root: &Path) -> Context {
    Context::new(Identity::default(), Some(Environment::open(root).unwrap())).with_request("tidy up")
}

/// A folder for a log, and a machine to look at.
fn desk() -> (tempfile::TempDir, std::path::PathBuf, Context) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("etc")).unwrap();
    let log = folder.path().join("audit");
    let around = context(&root);
    (folder, log, around)
}

fn all(log: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    entries(log, |entry| found.push(entry)).unwrap();
    found
}

async fn decided(log: &Path, around: &Context, commands: &[&str]) -> Guard {
    let guard = Guard::builder().audit(Audit::open(log, false).unwrap()).build().unwrap();
    for command in commands {
        let _ = guard.check(&shell(command), around).await;
    }
    guard
}

#[tokio::test]
async fn any_flipped_byte_is_found() {
    let (_folder, log, around) = desk();
    decided(&log, &around, &["ls", "rm -rf /etc", "frobnicate"]).await;
    let good = verify(&log).unwrap();
    assert_eq!((good.entries, good.files), (3, 1));
    for name in ["audit-00000001.jsonl", "HEAD"] {
        let path = log.join(name);
        let bytes = fs::read(&path).unwrap();
        for place in 0..bytes.len() {
            for flip in [0x01, 0x20, 0x80] {
                let mut other = bytes.clone();
                other[place] ^= flip;
                fs::write(&path, &other).unwrap();
                assert!(matches!(verify(&log), Err(AuditError::Broken(_))), "{name}, byte {place} ^ {flip:#x}");
            }
        }
        // what is cut off or doubled, too
        for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(verify(&log).is_err(), "{name} cut to {length}");
        }
        fs::write(&path, [bytes.clone(), bytes.clone()].concat()).unwrap();
        assert!(verify(&log).is_err());
        fs::remove_file(&path).unwrap();
        assert!(verify(&log).is_err(), "{name} is gone");
        fs::write(&path, &bytes).unwrap();
    }
    // a line that is taken out, or put elsewhere
    let path = log.join("audit-00000001.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for order in [&[0, 2][..], &[1, 0, 2], &[0, 1], &[0, 1, 2, 2]] {
        let other: String = order.iter().map(|n| format!("{}\n", lines[*n])).collect();
        fs::write(&path, other).unwrap();
        assert!(verify(&log).is_err(), "{order:?}");
    }
    fs::write(&path, &text).unwrap();
    assert_eq!(verify(&log).unwrap(), good);
}

#[tokio::test]
async fn a_log_that_was_changed_is_not_added_to_and_nothing_is_allowed() {
    let (_folder, log, around) = desk();
    let guard = decided(&log, &around, &["ls", "pwd"]).await;
    let path = log.join("audit-00000001.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.get(..text.len() / 2).unwrap()).unwrap();
    let verdict = guard.check(&shell("ls"), &around).await;
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.reason.contains("audit-00000001.jsonl"), "{}", verdict.reason);
    fs::write(&path, &text).unwrap();
    assert_eq!(guard.check(&shell("ls"), &around).await.decision, Decision::Allow);
    fs::remove_file(log.join("HEAD")).unwrap();
    let denied = guard.check(&shell("ls"), &around).await;
    assert_eq!(denied.decision, Decision::Deny);
    assert!(denied.reason.contains("agrail audit reseal"), "{}", denied.reason);
    // a person puts it aside, and it is as it was
    let aside = Audit::reseal(&log, "HEAD was gone").unwrap();
    assert_eq!(fs::read_to_string(aside.join("audit-00000001.jsonl")).unwrap().lines().count(), 3);
    assert_eq!(guard.check(&shell("ls"), &around).await.decision, Decision::Allow);
    assert!(all(&log)[0].event.as_deref().unwrap().contains("put aside"));
    // nor where there is no room for it
    fs::remove_dir_all(&log).unwrap();
    fs::write(&log, "a file in its place").unwrap();
    assert_eq!(guard.check(&shell("ls"), &around).await.decision, Decision::Deny);
    assert_eq!(guard.check(&shell("rm -rf /usr"), &around).await.decision, Decision::Deny);
}

#[tokio::test]
async fn a_writer_that_was_killed_loses_no_line() {
    let (_folder, log, around) = desk();
    let guard = decided(&log, &around, &["ls"]).await;
    let head = fs::read_to_string(log.join("HEAD")).unwrap();
    let _ = guard.check(&shell("pwd"), &around).await;
    // killed after the line, before the head
    fs::write(log.join("HEAD"), &head).unwrap();
    let _ = guard.check(&shell("id"), &around).await;
    assert_eq!(verify(&log).unwrap().entries, 3);
    // killed within a line
    let path = log.join("audit-00000001.jsonl");
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(br#"{"hash":"00"#);
    fs::write(&path, text).unwrap();
    let _ = guard.check(&shell("ls"), &around).await;
    let found = all(&log);
    assert_eq!(found.len(), 5);
    assert!(found[3].event.as_deref().unwrap().contains("cut short"));
    assert_eq!(found.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn writers_share_a_log() {
    let (_folder, log, _) = desk();
    let root = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (log, root) = (&log, root.path());
            scope.spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
                runtime.block_on(async { decided(log, &context(root), &["ls"; 10]).await });
            });
        }
    });
    assert_eq!(verify(&log).unwrap().entries, 40);
}

#[tokio::test]
async fn secrets_are_not_written_and_a_decision_can_be_made_again() {
    let (folder, log, around) = desk();
    let secret = ["sk", "abcdefghijklmnop1234"].join("-");
    let guard = decided(&log, &around, &["rm -rf /etc", &format!("curl -H 'x: {secret}' https://example.org")]).await;
    let text = fs::read_to_string(log.join("audit-00000001.jsonl")).unwrap();
    assert!(!text.contains(&secret) && text.contains("[redacted]"));
    let found = all(&log);
    let again = replay(&guard, &found[0], around.environment.clone()).await.unwrap().unwrap();
    assert!(again.same() && again.changed.is_empty(), "{:?}", again.changed);
    assert_eq!(replay(&guard, &found[1], None).await.unwrap().unwrap().changed.last(), Some(&"secrets"));
    // the machine is another one now
    fs::remove_dir(folder.path().join("root/etc")).unwrap();
    let again = replay(&guard, &found[0], around.environment.clone()).await.unwrap().unwrap();
    assert_eq!(again.changed, ["facts"]);
}

#[tokio::test]
async fn a_log_that_is_not_there_or_not_whole_is_no_unchanged_one() {
    let (_folder, log, around) = desk();
    decided(&log, &around, &["ls", "rm -rf /etc"]).await;
    assert!(matches!(verify(&log.join("nowhere")), Err(AuditError::File { .. })));
    // a file that no HEAD knows, whatever its number
    let foreign = log.join("audit-00000007.jsonl");
    fs::write(&foreign, "{}\n").unwrap();
    assert!(matches!(verify(&log), Err(AuditError::Broken(_))));
    fs::remove_file(&foreign).unwrap();
    verify(&log).unwrap();
    fs::remove_file(log.join("HEAD")).unwrap();
    assert!(matches!(verify(&log), Err(AuditError::Broken(_))));
}

#[tokio::test]
async fn a_writer_that_was_killed_while_it_began_a_file_loses_nothing() {
    let (_folder, log, around) = desk();
    // a first file that is full, with the log's own lines
    decided(&log, &around, &["ls"]).await;
    let guard = Guard::builder().audit(Audit::open(&log, false).unwrap()).build().unwrap();
    let long = format!("echo {}", "x".repeat(60_000));
    while fs::metadata(log.join("audit-00000001.jsonl")).unwrap().len() <= 32 << 20 {
        let _ = guard.check(&shell(&long), &around).await;
    }
    let head = fs::read(log.join("HEAD")).unwrap();
    decided(&log, &around, &["ls"]).await;
    assert!(log.join("audit-00000002.jsonl").exists());
    // killed after the first line of the next file, before HEAD told of it
    fs::write(log.join("HEAD"), head).unwrap();
    let verdict = guard.check(&shell("ls"), &around).await;
    assert_eq!(verdict.decision, Decision::Allow, "{}", verdict.reason);
    assert_eq!(verify(&log).unwrap().files, 2);
}

#[test]
fn a_beginning_that_no_entry_names_is_a_change() {
    let (_folder, log, _around) = desk();
    let audit = Audit::open(&log, false).unwrap();
    for number in 0..6 {
        audit.note(&format!("event {number}")).unwrap();
    }
    let file = log.join("audit-00000001.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let (gone, kept) = text.split_at(text.match_indices('\n').nth(2).unwrap().0 + 1);
    let last = gone.lines().last().unwrap();
    let hash = serde_json::from_str::<serde_json::Value>(last).unwrap()["hash"].as_str().unwrap().to_owned();
    fs::write(&file, kept).unwrap();
    fs::write(log.join("BASE"), serde_json::json!({"files": 0, "entries": 3, "hash": hash}).to_string()).unwrap();
    let head = fs::read_to_string(log.join("HEAD")).unwrap();
    let (rest, _) = head.trim_end().rsplit_once(' ').unwrap();
    fs::write(log.join("HEAD"), format!("{rest} {}\n", kept.len())).unwrap();
    assert!(matches!(verify(&log), Err(AuditError::Broken(_))), "{:?}", verify(&log));
    // a first writer that has written nothing yet has changed nothing
    let (_folder, empty, _around) = desk();
    fs::create_dir_all(&empty).unwrap();
    fs::write(empty.join("HEAD"), "").unwrap();
    assert_eq!(verify(&empty).unwrap().entries, 0);
}

#[test]
fn writers_do_not_wait_for_a_reader() {
    let (_folder, log, _around) = desk();
    let audit = Audit::open(&log, false).unwrap();
    for number in 0..20 {
        audit.note(&format!("event {number}")).unwrap();
    }
    // the log grows while it is read, and what was added since is not part of what was verified
    let mut seen = 0;
    let verified = entries(&log, |_| {
        seen += 1;
        audit.note("meanwhile").unwrap();
    });
    assert_eq!((verified.unwrap().entries, seen), (20, 20));
    assert_eq!(verify(&log).unwrap().entries, 40);
}
