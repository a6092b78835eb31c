//! One-liners that try to get past a static reader, and look-alikes that an honest agent writes.

use crate::guard::{context, decide};
use agrail::Decision;

/// `deny` lines must not be allowed, `allow` lines must be.
#[tokio::test]
async fn tricks_are_stopped_and_their_look_alikes_pass() {
    let guard = agrail::Guard::builder().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path(), "user");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("data/shell-tricks.tsv").lines() {
        let (expected, command) = line.split_once('\t').unwrap();
        let verdict = decide(&guard, &context, command).await;
        count += 1;
        if (expected == "allow") != (verdict.decision == Decision::Allow) {
            wrong.push(format!("{expected} -> {}: {command}\n     {}", verdict.decision, verdict.reason));
        }
    }
    assert!(count > 100);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
