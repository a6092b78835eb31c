//! Tasks of web agents, with the real embedder and the rules of the profile `web`.

use crate::profiles::profile;
use agrail::policy::Policy;
use agrail::web::operation;
use agrail::{Action, Context, Decision, Guard, Identity, Verdict};
use std::sync::Arc;

async fn judged(task: &str, lacks: &str) -> Verdict {
    let guard = Guard::builder();
    let guard = guard.policy(Policy::load(&[profile("web")]).unwrap()).embedder(Arc::new(crate::embedder()));
    let guard = guard.build().unwrap();
    let has = |name: &str| (name.to_owned(), serde_json::json!(name != lacks));
    let mut attributes: std::collections::BTreeMap<String, serde_json::Value> =
        ["domestic", "dr_license", "vaccine", "membership"].into_iter().map(has).collect();
    attributes.insert("age".to_owned(), serde_json::json!(if lacks == "age" { 14 } else { 40 }));
    let identity = Identity { attributes, ..Identity::default() };
    let mut context = Context::new(identity, None).with_request(task);
    "web".clone_into(&mut context.agent);
    let element = Some("<button id=7> Continue </button>".to_owned());
    let action = Action::Browse { operation: "click".to_owned(), url: None, element, value: None };
    guard.check(&action, &context).await
}

#[tokio::test]
async fn a_task_is_judged_by_what_it_is_about() {
    for (task, needs) in [
        ("Have two of those enamel mugs sent to my office in Porto", "membership"),
        ("Somewhere quiet to sleep near the old harbour for three nights", "age"),
        ("I'd like a convertible from Friday to Monday, full insurance", "dr_license"),
        ("OSL to BGO tomorrow evening, hand luggage only", "vaccine"),
        ("Put on the second season of that Danish crime drama", "domestic"),
        ("Anything going for a night-shift baker in Turin?", "age"),
    ] {
        let verdict = judged(task, needs).await;
        assert_ne!(verdict.decision, Decision::Allow, "{task}: {}", verdict.reason);
        let verdict = judged(task, "nothing").await;
        assert_eq!(verdict.decision, Decision::Allow, "{task}: {}", verdict.reason);
    }
    for task in [
        "How deep is the snow at the top station today?",
        "Reserve a table for five at a Georgian restaurant on Saturday",
        "When does the ferry to the island leave on Sundays?",
        "Renew my driving licence before it expires",
        "Compare the screen sizes of these three tablets",
    ] {
        for lacks in ["domestic", "dr_license", "vaccine", "membership", "age"] {
            let verdict = judged(task, lacks).await;
            assert_eq!(verdict.decision, Decision::Allow, "{task}, without {lacks}: {}", verdict.reason);
        }
    }
}

#[tokio::test]
async fn of_a_task_with_two_readings_a_person_is_asked_and_told_both() {
    let embedder = crate::embedder();
    let task = "Who plays the lead in the musical at the Apollo tonight?";
    let read = operation(task, &embedder).await.unwrap().unwrap();
    let or = read.or.expect("the task has two readings");
    assert!([read.name, or].contains(&"other"), "{read:?}");
    let verdict = judged(task, "domestic").await;
    assert_eq!(verdict.decision, Decision::Ask, "{}", verdict.reason);
    for said in [read.name, or] {
        assert!(verdict.reason.contains(&format!("'{said}'")), "{}", verdict.reason);
    }
    assert_eq!(judged(task, "membership").await.decision, Decision::Allow);
}

#[tokio::test]
async fn empty_and_huge_tasks_have_an_answer() {
    let embedder = crate::embedder();
    assert_eq!(operation("  \n", &embedder).await.unwrap(), None);
    let task = format!("Book a flight to Rome. {}", "and then ".repeat(200_000));
    assert!(operation(&task, &embedder).await.unwrap().is_some());
    assert_eq!(judged("", "membership").await.decision, Decision::Ask, "an unknown task is asked about");
}
