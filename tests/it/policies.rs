//! Short policies of operators: groups of actions, and folders.

use crate::guard::{context, decide};
use agrail::policy::{Policy, PolicyError, Source};
use agrail::{Decision, Guard, Verdict};

fn own(condition: &str) -> Source {
    let text = format!("@id(\"own\") @category(\"scope\") @reason(\"it is production\")\nforbid ({condition});");
    Source { file: "own.cedar".to_owned(), text, examples: None }
}

fn load(condition: &str) -> Result<Policy, PolicyError> {
    Policy::load(&[own(condition)])
}

async fn judged(condition: &str, command: &str) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::builder().policy(load(condition).unwrap()).build().unwrap();
    decide(&guard, &context(folder.path(), "user"), command).await
}

#[tokio::test]
async fn a_folder_covers_everything_below_it() {
    let rule = "principal, action in Action::\"change\", resource in Folder::\"/home/user/prod\"";
    let deep = format!("touch /home/user/prod/{}x", "d/".repeat(200));
    for command in [
        "touch /home/user/prod/x",
        "rm -rf /home/user/prod",
        "mv /home/user/a /home/user/prod/b",
        "rm /home/user/prod/a/*.log",
        &deep,
    ] {
        let verdict = judged(rule, command).await;
        assert_eq!(verdict.decision, Decision::Deny, "{command}: {}", verdict.reason);
    }
    for command in ["touch /home/user/production", "cat /home/user/prod/x", "touch /home/user/x"] {
        let verdict = judged(rule, command).await;
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.reason);
    }
}

#[tokio::test]
async fn a_group_holds_however_its_name_is_written() {
    for group in ["change", "ch\\u{61}nge"] {
        let rule = format!("principal, action in Action::\"{group}\", resource");
        assert_eq!(judged(&rule, "touch /home/user/x").await.decision, Decision::Deny, "{group}");
        assert_eq!(judged(&rule, "ls /home/user").await.decision, Decision::Allow, "{group}");
    }
}

#[tokio::test]
async fn a_path_beyond_the_kernels_limit_is_not_waved_through() {
    let rule = "principal, action, resource in Folder::\"/home/user/prod\"";
    let command = format!("touch /home/user/other/{}x", "d/".repeat(3_000));
    let verdict = judged(rule, &command).await;
    assert_ne!(verdict.decision, Decision::Allow, "{}", verdict.reason);
}

#[test]
fn a_misspelt_group_is_refused() {
    let error = load("principal, action in Action::\"chnage\", resource").unwrap_err();
    assert!(error.to_string().contains("chnage"), "{error}");
}
