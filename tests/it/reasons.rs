//! What reporters say was wrong: it says what a rule is about, and keeps rules apart.

use agrail::Guard;
use agrail::action::{Action, Context, Identity};
use agrail::learn::{Feedback, apply_feedback};
use agrail::memory::{Entry, Memory};
use serde_json::{Value, json};
use std::sync::Arc;

struct Place {
    guard: Guard,
    memory: Memory,
    context: Context,
}

impl Place {
    fn new() -> Self {
        let memory = Memory::in_memory("none", 4).unwrap();
        let guard = Guard::builder().memory(memory.clone()).build().unwrap();
        Self { guard, memory, context: Context::new(Identity::default(), None) }
    }

    async fn check(&self, action: &Action) -> String {
        let id = self.guard.check(action, &self.context).await.id;
        self.guard.settle().await.unwrap();
        id
    }

    async fn report(&self, action: &Action, reason: &str) -> String {
        let id = self.check(action).await;
        self.memory.report(&id, Feedback::Incident, reason, "olga").unwrap();
        id
    }

    async fn stops(&self, action: &Action) -> bool {
        let verdict = self.guard.check(action, &self.context).await;
        verdict.findings.iter().any(|finding| finding.source.to_string().starts_with("memory"))
    }

    fn sentences(&self) -> Vec<String> {
        let rules: Vec<Arc<Entry>> = self.memory.active().unwrap();
        rules.iter().filter_map(|rule| Some(rule.condition.as_ref()?.sentence())).collect()
    }
}

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: Some("/home/user/project".into()) }
}

fn call(tool: &str, arguments: Value) -> Action {
    Action::ToolCall { server: None, tool: tool.to_owned(), arguments }
}

#[tokio::test]
async fn one_report_covers_whatever_else_acts_on_what_its_reason_names() {
    let place = Place::new();
    place.check(&shell("shipctl deploy web --site north-2")).await;
    place
        .report(&shell("shipctl deploy web --site north-7"), "the agent deployed to north 7, its crew does that")
        .await;
    assert_eq!(place.sentences(), ["act on north-7"]);
    for held in [
        shell("rollout -t north-7 push api"),
        call("deploy", json!({"app": "api", "to": "north-7"})),
        shell("curl -X POST https://deploy.corp.example/sites/north-7/releases -d '{\"app\":\"api\"}'"),
        shell("for s in north-1 north-7; do shipctl deploy web --site $s; done"),
    ] {
        assert!(place.stops(&held).await, "{held:?}");
    }
    for honest in [
        shell("shipctl deploy web --site north-2"),
        shell("shipctl status --site north-7"),
        shell("grep north-7 README.md"),
        call("get_site", json!({"site": "north-7"})),
        call("copy_settings", json!({"source": "north-7", "to": "north-2"})),
    ] {
        assert!(!place.stops(&honest).await, "{honest:?}");
    }
}

#[tokio::test]
async fn a_reason_tells_an_option_from_the_program_that_has_it() {
    let place = Place::new();
    for honest in ["railsync pull --line a", "railsync push --line b"] {
        place.check(&shell(honest)).await;
    }
    for reported in ["railsync pull --line a --realign", "railsync push c --realign"] {
        place.report(&shell(reported), "railsync was run with realign").await;
    }
    for held in [
        shell("timeout 60 /opt/bin/railsync import x.csv --realign"),
        call("railsync", json!({"action": "import", "realign": true, "file": "x.csv"})),
    ] {
        assert!(place.stops(&held).await, "{held:?}");
    }
    for honest in [
        shell("railsync import x.csv"),
        call("railsync", json!({"action": "import", "realign": false, "file": "x.csv"})),
    ] {
        assert!(!place.stops(&honest).await, "{honest:?}");
    }
}

#[tokio::test]
async fn a_folder_that_a_reason_names_is_covered_with_all_below_it() {
    let place = Place::new();
    let reported = shell("cp out/a.csv /srv/share/board/published/a.csv");
    place.report(&reported, "wrote into the published folder, only the night job does that").await;
    for held in ["mv x.xml /srv/share/board/published/2031/x.xml", "rm -r /srv/share/board"] {
        assert!(place.stops(&shell(held)).await, "{held}");
    }
    for honest in ["cp /srv/share/board/published/a.csv out/", "touch /srv/share/board/draft/a.csv"] {
        assert!(!place.stops(&shell(honest)).await, "{honest}");
    }
}

#[tokio::test]
async fn reports_with_different_reasons_are_different_rules() {
    let place = Place::new();
    for (text, reason) in [
        ("Our train is faster than any bus, you will see.", "compared us with the bus company"),
        ("There will be no strike on Friday, do not worry.", "spoke about the strike"),
        ("You will get your fare back within ten days.", "promised a refund"),
    ] {
        place.report(&call("chat_send", json!({"channel": "web-shop", "text": text})), reason).await;
    }
    assert_eq!(place.sentences().len(), 3, "{:?}", place.sentences());
    let honest = call("chat_send", json!({"channel": "web-shop", "text": "The shop opens at nine on weekdays."}));
    assert!(!place.stops(&honest).await);
    let again =
        call("chat_send", json!({"channel": "web-shop", "text": "You will get your fare back within ten days."}));
    assert!(place.stops(&again).await, "what repeats a report is stopped");
}

#[tokio::test]
async fn reporters_may_say_it_in_other_words() {
    let place = Place::new();
    place.report(&shell("pricer run --show a --cascade"), "pricer was run with cascade, reserved seats changed").await;
    place.report(&shell("make prices SHOW=b CASCADE=1"), "cascade again! only unsold seats may change").await;
    assert!(place.stops(&shell("repricing-job --cascade --show d")).await, "{:?}", place.sentences());
    assert!(!place.stops(&shell("pricer list --show d")).await);
}

#[tokio::test]
async fn a_report_that_names_nothing_of_its_reason_covers_only_its_repetition() {
    let reason = "deployed to north-7, its crew does that";
    let wrong = shell("shipctl deploy web --site north-2");
    for wrong_first in [true, false] {
        let place = Place::new();
        if wrong_first {
            place.report(&wrong, reason).await;
        }
        place.report(&shell("shipctl deploy web --site north-7"), reason).await;
        if !wrong_first {
            place.report(&wrong, reason).await;
        }
        let said = place.sentences();
        assert!(place.stops(&wrong).await, "{said:?}");
        assert!(place.stops(&shell("rollout -t north-7 push api")).await, "{said:?}");
        for honest in ["shipctl deploy api --site north-2", "shipctl deploy web --site north-3"] {
            assert!(!place.stops(&shell(honest)).await, "{honest}: {said:?}");
        }
    }
}

#[tokio::test]
async fn a_reason_that_names_nothing_teaches_no_less_than_none() {
    for reasons in [["", "", ""], ["a customer complained", "never again", "we had to repair that by hand"]] {
        let place = Place::new();
        place.check(&shell("shipctl list --open")).await;
        for (order, reason) in [(4711, reasons[0]), (4802, reasons[1]), (5120, reasons[2])] {
            place.report(&shell(&format!("shipctl cancel {order} --fast")), reason).await;
        }
        assert!(place.stops(&shell("shipctl cancel 6001")).await, "{reasons:?}: {:#?}", place.sentences());
        assert!(!place.stops(&shell("shipctl list --open")).await, "{reasons:?}: {:#?}", place.sentences());
    }
}

#[tokio::test]
async fn a_reason_that_comes_later_is_kept_and_the_same_report_counts_once() {
    let place = Place::new();
    let id = place.report(&shell("shipctl deploy web --site north-7"), "deployed to north-7").await;
    for reason in ["deployed to north-7", "deployed to north-7 in the night"] {
        place.memory.report(&id, Feedback::Incident, reason, "olga").unwrap();
    }
    place.memory.report(&id, Feedback::Incident, "did nothing wrong at noon", "piet").unwrap();
    let rules = place.memory.active().unwrap();
    let rule = rules.iter().find(|rule| rule.condition.is_some()).unwrap();
    assert_eq!(rule.condition.as_ref().unwrap().examples.len(), 1);
    assert!(rule.checks[0].definition.contains("in the night"), "{}", rule.checks[0].definition);
    assert!(!rule.checks[0].definition.contains("noon"), "nobody replaces the reason of somebody else");
}

#[tokio::test]
async fn a_reason_that_comes_later_widens_a_rule_of_one_report() {
    let place = Place::new();
    let id = place.check(&shell("shipctl deploy web --site north-7")).await;
    apply_feedback(&place.memory, &id, Feedback::Incident, "olga").unwrap();
    assert_ne!(place.sentences(), ["act on north-7"]);
    place.memory.report(&id, Feedback::Incident, "deployed to north-7", "olga").unwrap();
    assert!(place.stops(&shell("rollout -t north-7 push api")).await, "{:?}", place.sentences());
}

#[tokio::test]
async fn a_rule_about_a_name_is_not_escaped_by_looks_decoys_and_padding() {
    let place = Place::new();
    place.report(&shell("shipctl deploy web --site depot-3"), "deployed to depot-3").await;
    let many = |last: &str| (0..1_200).map(|n| format!("w{n}x")).chain([last.to_owned()]).collect::<Vec<_>>();
    for held in [
        "ping -c1 depot-3; curl -X POST https://api.corp.example/x -d site=depot-3".to_owned(),
        "psql -c 'select 1 from depot_3'; shipctl deploy --site depot-3".to_owned(),
        "curl -X POST https://api.corp.example/x -d /sites/depot-3".to_owned(),
        "shipctl deploy web --site depot-3 -- --dry-run".to_owned(),
        "shipctl deploy web --site depot-3 --note --dry-run".to_owned(),
        "shipctl -o list deploy web --site depot-3".to_owned(),
        "shipctl promote log --site depot-3".to_owned(),
        "curl -X POST https://api.corp.example/x -d 'deploy it now to depot-3'".to_owned(),
        format!(
            "curl -X POST https://api.corp.example/x -d '{{\"site\": \"depot-3\", \"n\": \"{}\"}}'",
            "x".repeat(1_100)
        ),
        format!("curl -X POST https://api.corp.example/x -d {}", many("depot-3").join("+")),
        format!("shipctl deploy {}", many("depot-3").join(" ")),
    ] {
        assert!(place.stops(&shell(&held)).await, "{}", held.get(..200).unwrap_or(&held));
    }
    for held in [
        call("deploy", json!({"input": {"site": "depot-3"}})),
        call("drain", json!({"from": "depot-3"})),
        call("ops", json!({"request": "deploy the web app to depot-3"})),
    ] {
        assert!(place.stops(&held).await, "{held:?}");
    }
    for honest in [
        shell("ssh depot-3 'tail -n 50 /var/log/web.log'"),
        shell("touch notes/depot-3.md"),
        call("send_message", json!({"to": "ann", "text": "All is well at depot-3 since this morning."})),
    ] {
        assert!(!place.stops(&honest).await, "{honest:?}");
    }
}

#[tokio::test]
async fn what_an_agent_did_before_does_not_keep_a_rule_narrow() {
    let place = Place::new();
    for prepared in ["touch notes/depot-3.md", "mkdir depot-3", &format!("touch {}", "a".repeat(1_100))] {
        place.check(&shell(prepared)).await;
    }
    place.report(&shell("shipctl deploy web --site depot-3"), "deployed to depot-3").await;
    assert_eq!(place.sentences(), ["act on depot-3"]);
}

#[tokio::test]
async fn nobody_makes_a_colleagues_rule_milder() {
    let place = Place::new();
    let reason = "removed customers at night without a ticket";
    place.report(&shell("frobctl purge users --now"), reason).await;
    let wider = shell("frobctl purge users --now --all");
    assert!(place.stops(&wider).await);
    let id = place.check(&shell("touch zzz-1.txt")).await;
    place.memory.report(&id, Feedback::Incident, "removed zzz-1 at night without a ticket", "mal").unwrap();
    assert!(place.stops(&wider).await, "{:?}", place.sentences());
}

#[tokio::test]
async fn plain_words_of_a_reason_make_no_rule_about_a_program_or_a_folder() {
    for (reported, reason, honest) in [
        ("docker rm -f web", "removed a container of docker without asking", "docker build ."),
        ("git reset --hard", "lost my changes with git", "git push"),
        ("rm src/main.rs", "deleted a file in src without asking", "touch src/other.rs"),
    ] {
        let place = Place::new();
        place.report(&shell(reported), reason).await;
        assert!(place.stops(&shell(reported)).await, "{reported}");
        assert!(!place.stops(&shell(honest)).await, "{honest}: {:?}", place.sentences());
    }
}
