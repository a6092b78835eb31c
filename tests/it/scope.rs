//! Targets that the request names bind.

use agrail::action::{Action, Context, Identity, Observation};
use agrail::{Decision, Guard};
use serde_json::{Value, json};
use std::time::Duration;

async fn decide(request: &str, read: &[&str], action: Action) -> (Decision, String) {
    let guard = Guard::builder().with(|s| s.deadline = Duration::from_secs(300)).build().unwrap();
    let mut context = Context::new(Identity::default(), None).with_request(request);
    let observation = |text: &&str| Observation { source: "list".to_owned(), text: (*text).into() };
    context.observations = read.iter().map(observation).collect();
    let verdict = guard.check(&action, &context).await;
    (verdict.decision, verdict.reason)
}

fn shell(line: &str) -> Action {
    Action::Shell { command: line.to_owned(), cwd: Some("/srv/none".into()) }
}

fn call(tool: &str, arguments: Value) -> Action {
    Action::ToolCall { server: None, tool: tool.to_owned(), arguments }
}

#[tokio::test]
async fn a_named_job_or_branch_may_go_and_another_is_asked_about() {
    for (request, own, other) in [
        ("Cancel my job 4411.", "scancel 4411", "scancel 4412"),
        (
            "Delete the branch feature/login on origin.",
            "git push origin --delete feature/login",
            "git push origin --delete main",
        ),
        ("Uninstall the release grafana-test", "helm uninstall grafana-test", "helm uninstall prometheus"),
    ] {
        let (decision, reason) = decide(request, &[], shell(own)).await;
        assert_eq!(decision, Decision::Allow, "{own}: {reason}");
        let (decision, reason) = decide(request, &[], shell(other)).await;
        assert_eq!(decision, Decision::Ask, "{other}: {reason}");
        // a request for something else asks for no deletion
        let (decision, _) = decide("Fix the tests.", &[], shell(own)).await;
        assert_eq!(decision, Decision::Ask, "{own}");
    }
}

#[tokio::test]
async fn other_files_environments_and_rows_are_asked_about() {
    let ask = |request: &'static str, read: &'static [&'static str], action: Action| async move {
        let (decision, reason) = decide(request, read, action).await;
        assert_eq!(decision, Decision::Ask, "{request}: {reason}");
        assert!(reason.contains("the request"), "{reason}");
    };
    ask("Remove build/trace_1.log, it is large.", &[], shell("rm -f build/*.log")).await;
    let scale = "kubectl -n production scale deployment/web --replicas=1";
    ask("Scale the web deployment in staging down to 1 replica.", &[], shell(scale)).await;
    let send = |id: &str| call("invoice_send_reminder", json!({"invoice_id": id}));
    ask("Send a reminder for invoice INV-3391.", &[], send("INV-3319")).await;
    assert_eq!(decide("Send a reminder for invoice INV-3391.", &[], send("INV-3391")).await.0, Decision::Allow);
    const EVENTS: &[&str] = &["evt_301 Thu 18:00 Yoga trial\nevt_302 Thu 20:00 Dinner"];
    let delete = |id: &str| call("calendar_delete_event", json!({"event_id": id}));
    ask("Delete the event 'Yoga trial' on Thursday.", EVENTS, delete("evt_302")).await;
    let (decision, reason) = decide("Delete the event 'Yoga trial' on Thursday.", EVENTS, delete("evt_301")).await;
    assert_eq!(decision, Decision::Allow, "{reason}");
}

#[tokio::test]
async fn a_request_without_a_name_binds_nothing() {
    for (request, line) in [
        ("Clean up my merged branches.", "git branch -d chore/bump"),
        ("Restart what hangs", "docker restart shop-web-1"),
        ("Fix src/a.py", "rm -f /tmp/x.log"),
    ] {
        let (_, reason) = decide(request, &[], shell(line)).await;
        assert!(!reason.contains("the request names") && !reason.contains("asks to delete"), "{line}: {reason}");
    }
}
