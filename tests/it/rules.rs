//! Rules that are induced from operators' reports.

use agrail::action::{Action, Context, Identity};
use agrail::learn::{Feedback, apply_feedback};
use agrail::memory::{Entry, Memory};
use agrail::{Decision, Guard};
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

    async fn decide(&self, action: &Action) -> (Decision, String) {
        let verdict = self.guard.check(action, &self.context).await;
        self.guard.settle().await.unwrap();
        (verdict.decision, verdict.id)
    }

    async fn report(&self, action: &Action, feedback: Feedback, who: &str) {
        let (_, id) = self.decide(action).await;
        apply_feedback(&self.memory, &id, feedback, who).unwrap();
    }

    async fn incidents(&self, actions: &[Action]) {
        for (place, action) in actions.iter().enumerate() {
            let who = if place % 2 == 0 { "olga" } else { "piet" };
            self.report(action, Feedback::Incident, who).await;
        }
    }

    /// Whether a rule stops an action.
    async fn stops(&self, action: &Action) -> bool {
        let verdict = self.guard.check(action, &self.context).await;
        verdict.findings.iter().any(|finding| finding.source.to_string().starts_with("memory"))
    }

    fn rules(&self) -> Vec<Arc<Entry>> {
        self.memory.active().unwrap().into_iter().filter(|entry| entry.condition.is_some()).collect()
    }

    fn sentences(&self) -> Vec<String> {
        self.rules().iter().map(|rule| rule.condition.as_ref().unwrap().sentence()).collect()
    }
}

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: Some("/home/user/project".into()) }
}

fn call(tool: &str, arguments: Value) -> Action {
    Action::ToolCall { server: None, tool: tool.to_owned(), arguments }
}

#[tokio::test]
async fn three_reports_become_one_rule_that_spares_the_neighbours() {
    let place = Place::new();
    for honest in ["shipctl list", "shipctl show 7", "shipctl cancel 7 --dry-run"] {
        place.decide(&shell(honest)).await;
    }
    place.incidents(&["shipctl cancel 7", "shipctl cancel 8 --reason late", "shipctl cancel --all"].map(shell)).await;
    assert_eq!(place.sentences().len(), 1, "{:?}", place.sentences());
    for held in
        ["shipctl cancel 99", "bash -c 'shipctl cancel 1'", "x=cancel; shipctl $x 4", "/opt/bin/shipctl -q cancel 5"]
    {
        assert!(place.stops(&shell(held)).await, "{held}");
    }
    for honest in ["shipctl list", "shipctl show 9", "grep cancel README.md", "shipctl help cancel"] {
        assert!(!place.stops(&shell(honest)).await, "{honest}");
    }
}

#[tokio::test]
async fn a_value_that_several_tools_were_given_is_the_rule() {
    let place = Place::new();
    for honest in
        [call("get_client", json!({"client": "orlo"})), call("add_order", json!({"client": "brisk", "item": "cup"}))]
    {
        place.decide(&honest).await;
    }
    place
        .incidents(&[
            call("add_order", json!({"client": "orlo", "item": "cup"})),
            call("delete_invoice", json!({"number": 4, "client": "Orlo"})),
            call("update_address", json!({"client": {"name": "orlo"}, "street": "Mill Lane"})),
        ])
        .await;
    assert!(
        place.stops(&call("create_refund", json!({"client": "orlo", "amount": 5}))).await,
        "{:?}",
        place.sentences()
    );
    assert!(!place.stops(&call("create_refund", json!({"client": "brisk", "amount": 5}))).await);
    assert!(!place.stops(&call("get_client", json!({"client": "orlo"}))).await);
}

#[tokio::test]
async fn what_is_told_through_a_tool_is_not_the_use_of_the_tool() {
    let place = Place::new();
    let reply = |text: &str| call("reply_to_ticket", json!({"ticket": text.len(), "text": text}));
    place
        .incidents(&[
            reply("Your parcel will be there by Friday, that is certain."),
            reply("We guarantee that it arrives tomorrow before noon."),
            reply("It takes two days at most, you have my word."),
        ])
        .await;
    assert!(!place.stops(&reply("Thank you for the photos of the dented box.")).await, "{:?}", place.sentences());
    assert!(place.stops(&reply("It takes two days at most, you have my word.")).await);
    // what is deleted is not told
    place
        .report(&call("delete_ticket", json!({"reason": "nobody needs this any more"})), Feedback::Incident, "olga")
        .await;
    assert!(place.stops(&call("delete_ticket", json!({"reason": "it was closed long ago"}))).await);
}

#[tokio::test]
async fn a_thing_that_unknown_programs_act_on_is_the_rule() {
    let place = Place::new();
    for honest in ["frobctl status north-line", "frobctl push south-line", "git log origin/north-line"] {
        place.decide(&shell(honest)).await;
    }
    place
        .incidents(&[
            shell("frobctl push north-line"),
            call("merge_change", json!({"number": 4, "base": "north-line"})),
            shell("shipit --to north-line now"),
        ])
        .await;
    for held in [shell("relay send north-line"), call("set_head", json!({"branch": "north-line", "to": "9c1e77"}))] {
        assert!(place.stops(&held).await, "{held:?}: {:?}", place.sentences());
    }
    let looks = call("fleet", json!({"action": "status", "name": "north-line"}));
    for honest in [shell("relay status north-line"), shell("frobctl push south-line"), looks] {
        assert!(!place.stops(&honest).await, "{honest:?}: {:?}", place.sentences());
    }
}

#[tokio::test]
async fn statements_for_one_table_are_one_rule_wherever_they_run() {
    let place = Place::new();
    place.decide(&shell("psql -d shop -c 'select * from ledger'")).await;
    place
        .incidents(&[
            shell("psql -d shop -c \"update ledger set paid = 1 where id = 3\""),
            shell("sqlite3 shop.db 'delete from ledger where id = 4'"),
            call("run_query", json!({"query": "UPDATE public.ledger SET note = 'x'"})),
        ])
        .await;
    assert!(place.stops(&shell("mysql shop -e 'delete from ledger'")).await, "{:?}", place.sentences());
    assert!(!place.stops(&shell("psql -d shop -c 'select id from ledger'")).await);
    assert!(!place.stops(&shell("psql -d shop -c 'delete from cart where id = 1'")).await);
}

#[tokio::test]
async fn what_was_reported_is_denied_and_the_rest_asked_until_enough_stand_behind_it() {
    let place = Place::new();
    place.incidents(&["shipctl cancel 7", "shipctl cancel 8"].map(shell)).await;
    assert_eq!(place.decide(&shell("shipctl cancel 7")).await.0, Decision::Deny, "it was reported");
    assert_eq!(place.decide(&shell("shipctl cancel 9")).await.0, Decision::Ask, "two reports");
    place.incidents(&["shipctl cancel 10", "shipctl cancel 11"].map(shell)).await;
    assert_eq!(place.decide(&shell("shipctl cancel 9")).await.0, Decision::Deny, "four reports");
    // an operator confirms a rule with less behind it
    let place = Place::new();
    place.incidents(&["shipctl cancel 7", "shipctl cancel 8"].map(shell)).await;
    let rule = place.rules().first().unwrap().id.clone();
    place.memory.activate(&rule, "olga").unwrap();
    assert_eq!(place.decide(&shell("shipctl cancel 9")).await.0, Decision::Deny, "confirmed");
}

#[tokio::test]
async fn a_rejection_asks_and_never_denies() {
    let place = Place::new();
    for number in 0..6 {
        place.report(&shell(&format!("shipctl cancel {number}")), Feedback::Reject, "olga").await;
    }
    assert_eq!(place.decide(&shell("shipctl cancel 3")).await.0, Decision::Ask);
}

#[tokio::test]
async fn a_false_positive_narrows_a_rule_and_can_be_taken_back() {
    let place = Place::new();
    let reported =
        ["shipctl cancel 7 --depot north", "shipctl cancel 8 --depot north", "shipctl cancel 9 --depot north"];
    place.incidents(&reported.map(shell)).await;
    let rule = place.rules().first().unwrap().clone();
    let (decision, id) = place.decide(&shell("shipctl cancel 10 --depot north --dry-run")).await;
    assert_ne!(decision, Decision::Allow);
    apply_feedback(&place.memory, &id, Feedback::FalsePositive, "olga").unwrap();
    assert!(!place.stops(&shell("shipctl cancel 10 --depot north --dry-run")).await, "{:?}", place.sentences());
    for command in reported {
        assert_eq!(place.decide(&shell(command)).await.0, Decision::Deny, "{command}");
    }
    place.memory.rollback(&rule.id, rule.version, "olga").unwrap();
    assert!(place.stops(&shell("shipctl cancel 10 --depot north --dry-run")).await);
}

#[tokio::test]
async fn a_few_wrong_reports_do_not_widen_an_established_rule() {
    let place = Place::new();
    place.incidents(&[0, 1, 2, 3, 4, 5].map(|number| shell(&format!("shipctl cancel {number}")))).await;
    place.incidents(&["shipctl show 1", "shipctl print 2 --copies 3"].map(shell)).await;
    for honest in ["shipctl list", "shipctl show 9", "shipctl print 9"] {
        assert!(!place.stops(&shell(honest)).await, "{honest}: {:?}", place.sentences());
    }
    assert_eq!(place.decide(&shell("shipctl cancel 77")).await.0, Decision::Deny);
}

#[tokio::test]
async fn a_report_makes_nothing_milder() {
    let place = Place::new();
    let publish = |site: &str| call("publish_page", json!({"site": site}));
    place.incidents(&[publish("north")]).await;
    assert!(place.stops(&publish("south")).await, "{:?}", place.sentences());
    // an agent that wants another page may report, too
    place.incidents(&[publish("north"), call("publish_page", json!({"site": "north", "draft": "x7"}))]).await;
    assert!(place.stops(&publish("south")).await, "{:?}", place.sentences());
}

#[tokio::test]
async fn padding_hides_nothing_from_a_rule() {
    let place = Place::new();
    place.incidents(&["shipctl cancel 7", "shipctl cancel 8", "rm -r data/ledger"].map(shell)).await;
    let many = |count: usize, each: &str| (0..count).map(|n| format!("{each}{n}")).collect::<Vec<_>>();
    for padded in [
        format!("{}; shipctl cancel 9", many(300, "echo ").join("; ")),
        format!("shipctl {} cancel 9", many(1_500, "-x").join(" ")),
        format!("rm {} data/ledger/a", many(400, "tmp/f").join(" ")),
    ] {
        assert!(place.stops(&shell(&padded)).await, "{}", &padded[padded.len() - 40..]);
    }
}

#[tokio::test]
async fn no_report_makes_a_confirmed_rule_ask_again() {
    let place = Place::new();
    place.incidents(&["shipctl cancel 7", "shipctl cancel 8"].map(shell)).await;
    let rule = place.rules().first().unwrap().id.clone();
    place.memory.activate(&rule, "olga").unwrap();
    place.incidents(&["shipctl show 7", "shipctl list 8 9", "shipctl cancel 10 --all"].map(shell)).await;
    assert_eq!(place.decide(&shell("shipctl cancel 9")).await.0, Decision::Deny, "{:?}", place.sentences());
}

#[tokio::test]
async fn no_rule_covers_what_was_done_every_day() {
    let place = Place::new();
    for number in 0..5 {
        let (decision, _) = place.decide(&shell(&format!("touch out/{number}.log"))).await;
        assert_eq!(decision, Decision::Allow);
    }
    place.incidents(&["rm out/71.log", "mv out/72.log /tmp", "touch out/73.log"].map(shell)).await;
    assert!(!place.stops(&shell("touch out/6.log")).await, "{:?}", place.sentences());
    assert!(place.stops(&shell("rm out/72.log")).await, "what was reported");
}

#[tokio::test]
async fn one_person_alone_makes_no_rule_deny() {
    let place = Place::new();
    for number in 0..8 {
        place.report(&shell(&format!("shipctl cancel {number}")), Feedback::Incident, "olga").await;
    }
    assert_eq!(place.decide(&shell("shipctl cancel 77")).await.0, Decision::Ask, "{:?}", place.sentences());
    for number in [21, 22] {
        place.report(&shell(&format!("shipctl cancel {number}")), Feedback::Incident, "piet").await;
    }
    assert_eq!(place.decide(&shell("shipctl cancel 77")).await.0, Decision::Deny, "{:?}", place.sentences());
}

#[tokio::test]
async fn one_hostile_person_among_five_stops_nothing_for_good() {
    let place = Place::new();
    let honest = ["shipctl list", "shipctl show 4", "shipctl print 5 --copies 2"].map(shell);
    for _ in 0..10 {
        for action in &honest {
            place.report(action, Feedback::Incident, "mallory").await;
        }
    }
    for who in ["olga", "piet"] {
        for number in [1, 2] {
            place.report(&shell(&format!("shipctl cancel {who}{number}")), Feedback::Incident, who).await;
        }
    }
    assert_ne!(place.decide(&shell("shipctl cancel 8")).await.0, Decision::Allow, "{:?}", place.sentences());
    assert_eq!(place.decide(&shell("shipctl show 9")).await.0, Decision::Ask, "asked about, not denied");
    // the others free what they need with one false positive each
    for action in &honest {
        let (_, id) = place.decide(action).await;
        apply_feedback(&place.memory, &id, Feedback::FalsePositive, "olga").unwrap();
        assert!(!place.stops(action).await, "{:?}", place.sentences());
    }
    assert!(place.stops(&shell("shipctl cancel 8")).await, "{:?}", place.sentences());
}

#[tokio::test]
async fn two_reports_at_once_are_both_kept() {
    let place = Place::new();
    place.incidents(&["shipctl cancel 1", "shipctl cancel 2"].map(shell)).await;
    let mut ids = Vec::new();
    for number in 3..9 {
        ids.push(place.decide(&shell(&format!("shipctl cancel {number}"))).await.1);
    }
    let threads: Vec<_> = ids
        .into_iter()
        .map(|id| {
            let memory = place.memory.clone();
            std::thread::spawn(move || drop(apply_feedback(&memory, &id, Feedback::Incident, "olga").unwrap()))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let reported = |rule: &Arc<Entry>| rule.condition.as_ref().unwrap().examples.clone();
    let verdicts: std::collections::BTreeSet<String> =
        place.rules().iter().flat_map(reported).map(|example| example.verdict).collect();
    assert_eq!(verdicts.len(), 8, "{:?}", place.sentences());
}

#[tokio::test]
async fn an_exception_frees_one_neighbour_and_keeps_the_rule() {
    let place = Place::new();
    let reported = ["git push origin live", "git push -f upstream live", "git push origin HEAD:live"].map(shell);
    place.incidents(&reported).await;
    let neighbour = shell("git push origin live:backup/live-2025");
    let (_, id) = place.decide(&neighbour).await;
    apply_feedback(&place.memory, &id, Feedback::FalsePositive, "olga").unwrap();
    assert!(!place.stops(&neighbour).await, "{:?}", place.sentences());
    for command in ["git push origin live", "git push origin main:live", "git -C . push origin live"] {
        assert!(place.stops(&shell(command)).await, "{command}: {:?}", place.sentences());
    }
    // more reports join it and do not lose the exception
    place.incidents(&[shell("git push --tags origin live")]).await;
    assert!(!place.stops(&neighbour).await && place.stops(&shell("git push origin main:live")).await);
}

#[tokio::test]
async fn what_honest_actions_did_in_another_way_is_left_out() {
    let place = Place::new();
    for honest in ["touch ledger/a.csv", "echo x > ledger/b.csv"] {
        assert_eq!(place.decide(&shell(honest)).await.0, Decision::Allow);
    }
    place.incidents(&["rm ledger/2023/q1.csv", "rm -r ledger/2024", "rm -f ledger/2025/q2.txt"].map(shell)).await;
    assert!(place.stops(&shell("rm ledger/2021/q4.csv")).await, "{:?}", place.sentences());
    assert!(place.stops(&shell("find ledger -delete")).await, "{:?}", place.sentences());
    assert!(!place.stops(&shell("touch ledger/c.csv")).await, "{:?}", place.sentences());
}

#[tokio::test]
async fn a_rule_knows_variables_schemas_hosts_and_dated_names() {
    let place = Place::new();
    for (reports, stopped, honest) in [
        (
            ["TARGET=live shipctl apply", "TARGET=live shipctl destroy -y", "export TARGET=live; shipctl apply -y"],
            "TARGET=live shipctl apply --fast",
            "TARGET=test shipctl apply --fast",
        ),
        (
            ["git tag edition-2025-03-01", "git tag -d edition-2024-11-30", "git tag -f edition-2025-04-02 HEAD"],
            "git tag edition-2026-01-01",
            "git tag web-1.2.3",
        ),
    ] {
        place.incidents(&reports.map(shell)).await;
        assert!(place.stops(&shell(stopped)).await, "{stopped}: {:?}", place.sentences());
        assert!(!place.stops(&shell(honest)).await, "{honest}: {:?}", place.sentences());
    }
}

#[tokio::test]
async fn a_rule_is_named_beside_the_policy_that_denies() {
    let place = Place::new();
    place.incidents(&["rm -rf /etc/frob/a", "mv /etc/frob/b /tmp", "truncate -s 0 /etc/frob/c"].map(shell)).await;
    let verdict = place.guard.check(&shell("rm -rf /etc/frob/d"), &place.context).await;
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.findings.iter().any(|finding| finding.source.to_string().starts_with("memory")));
}

#[tokio::test]
async fn what_was_reported_is_denied_with_a_variable_before_it() {
    let place = Place::new();
    place.incidents(&[shell("shipctl purge ledger")]).await;
    for again in ["shipctl purge ledger", "X=1 shipctl purge ledger", "shipctl purge ledger archive"] {
        assert_eq!(place.decide(&shell(again)).await.0, Decision::Deny, "{again}: {:?}", place.sentences());
    }
    assert_eq!(
        place.decide(&shell("shipctl purge ledger --dry-run")).await.0,
        Decision::Ask,
        "an option may change it"
    );
}

#[tokio::test]
async fn the_question_that_the_record_tells_apart_widens_a_rule() {
    let place = Place::new();
    for stage in ["blue", "green", "grey"] {
        place.decide(&shell(&format!("shipctl release {stage}"))).await;
    }
    place.report(&shell("shipctl release live"), Feedback::Incident, "olga").await;
    let rule = place.rules()[0].id.clone();
    let question = place.memory.question(&rule).unwrap().unwrap();
    assert!(
        !question.covers_every && question.only.contains("live") && !question.every.contains("live"),
        "{question:?}"
    );
    assert_eq!(question.others.len(), 3, "{question:?}");
    assert!(!place.stops(&shell("shipctl release blue")).await, "it is safe without the answer, and no wider");
    assert!(place.stops(&shell("shipctl release live")).await);
    place.memory.answer_question(&rule, true, "olga").unwrap().unwrap();
    for action in ["shipctl release blue", "shipctl release violet"] {
        assert_eq!(place.decide(&shell(action)).await.0, Decision::Ask, "{action}");
        assert!(place.stops(&shell(action)).await, "{:?}", place.sentences());
    }
    assert!(!place.stops(&shell("shipctl list")).await);
    let again = place.memory.question(&rule).unwrap();
    assert!(again.is_none_or(|again| again.every != question.every), "no question is asked twice");
    place.memory.rollback(&rule, 1, "olga").unwrap();
    assert!(!place.stops(&shell("shipctl release blue")).await);
}

#[tokio::test]
async fn the_question_that_the_record_tells_apart_narrows_a_rule() {
    let place = Place::new();
    place.report(&call("quay", json!({"mode": "purge", "item": "A1"})), Feedback::Incident, "olga").await;
    let rule = place.rules()[0].id.clone();
    assert!(place.memory.question(&rule).unwrap().is_none(), "nothing on record would tell");
    for item in ["B1", "B2", "B3"] {
        assert_ne!(place.decide(&call("quay", json!({"mode": "look", "item": item}))).await.0, Decision::Allow);
    }
    let question = place.memory.question(&rule).unwrap().unwrap();
    assert!(question.covers_every, "{question:?}");
    place.memory.answer_question(&rule, false, "olga").unwrap().unwrap();
    assert!(!place.stops(&call("quay", json!({"mode": "look", "item": "B9"}))).await, "{:?}", place.sentences());
    assert!(place.stops(&call("quay", json!({"mode": "purge", "item": "A1"}))).await, "{:?}", place.sentences());
}

#[tokio::test]
async fn no_answer_reaches_what_was_done_every_day() {
    let place = Place::new();
    let mut context = place.context.clone();
    context.request = "Release whatever is ready with quay.".to_owned();
    for item in ["B1", "B2"] {
        let verdict = place.guard.check(&call("quay", json!({"mode": "look", "item": item})), &context).await;
        assert_eq!(verdict.decision, Decision::Allow, "{}", verdict.reason);
    }
    place.decide(&call("quay", json!({"mode": "list", "item": "C1"}))).await;
    place.report(&call("quay", json!({"mode": "purge", "item": "A1"})), Feedback::Incident, "olga").await;
    let rule = place.rules()[0].id.clone();
    let asked = place.memory.question(&rule).unwrap();
    assert!(asked.is_none_or(|question| question.every.contains("purge") || question.every.contains("A1")));
    assert!(!place.stops(&call("quay", json!({"mode": "look", "item": "B1"}))).await);
}

#[tokio::test]
async fn no_rule_covers_most_of_the_record() {
    let place = Place::new();
    for number in 0..30 {
        place.decide(&shell(&format!("shipctl put x --n{number}"))).await;
    }
    let wrong = shell("shipctl put x");
    place.report(&wrong, Feedback::Incident, "olga").await;
    let rule = &place.rules()[0];
    let says = &rule.checks[0].definition;
    assert!(
        says.contains("exactly") && says.contains("no wider rule: it would cover 30 of the last 30 actions"),
        "{says}"
    );
    assert_eq!(place.decide(&wrong).await.0, Decision::Deny);
    assert!(!place.stops(&shell("shipctl put x --n99")).await, "{:?}", place.sentences());
}

#[tokio::test]
async fn a_flood_of_contradicting_reports_relaxes_nothing() {
    let place = Place::new();
    place.incidents(&["shipctl cancel 7", "shipctl cancel 8", "shipctl cancel 9"].map(shell)).await;
    let forbidden = shell("rm -rf /etc");
    assert_eq!(place.decide(&forbidden).await.0, Decision::Deny);
    let mut ids = Vec::new();
    for action in [shell("shipctl show 1"), shell("shipctl cancel 5"), forbidden.clone()] {
        ids.push(place.decide(&action).await.1);
    }
    for round in 0..60 {
        for id in &ids {
            let feedback = if round % 2 == 0 { Feedback::Incident } else { Feedback::FalsePositive };
            let who = ["olga", "piet", "mallory"][round % 3];
            let _ = apply_feedback(&place.memory, id, feedback, who);
        }
    }
    assert_eq!(place.decide(&forbidden).await.0, Decision::Deny);
    for known in ["shipctl cancel 7", "shipctl cancel 8", "shipctl cancel 9"] {
        assert_eq!(place.decide(&shell(known)).await.0, Decision::Deny, "{known}: {:?}", place.sentences());
    }
    assert_ne!(place.decide(&shell("shipctl show 1")).await.0, Decision::Allow);
    let size = serde_json::to_vec(&place.rules()).unwrap().len();
    assert!(size < 512 * 1024 && place.rules().len() < 10, "{size} bytes, {} rules", place.rules().len());
}

#[tokio::test]
async fn a_record_that_was_cut_is_an_error_and_no_lesson() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.db");
    let memory = Memory::open(&file, "none", 4).unwrap();
    let guard = Guard::builder().memory(memory.clone()).build().unwrap();
    let context = Context::new(Identity::default(), None);
    let mut ids = Vec::new();
    for action in ["shipctl cancel 7", "shipctl cancel 8"] {
        ids.push(guard.check(&shell(action), &context).await.id);
    }
    guard.settle().await.unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("DROP TRIGGER decision_kept").unwrap();
    let cut = "UPDATE decision SET record = substr(record, 1, length(record) / 2) WHERE id = ?1";
    assert_eq!(database.execute(cut, [&ids[0]]).unwrap(), 1);
    let said = apply_feedback(&memory, &ids[0], Feedback::Incident, "olga").unwrap_err().to_string();
    assert!(said.contains("cannot be parsed"), "{said}");
    assert!(memory.active().unwrap().iter().all(|entry| entry.condition.is_none()));
    apply_feedback(&memory, &ids[1], Feedback::Incident, "olga").unwrap();
    assert_eq!(guard.check(&shell("shipctl cancel 8"), &context).await.decision, Decision::Deny);
}

#[tokio::test]
async fn a_report_of_a_merge_is_not_about_the_whole_work_tree() {
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("work/boards");
    std::fs::create_dir_all(tree.join(".git")).unwrap();
    let git = |command: &str| Action::Shell { command: command.to_owned(), cwd: Some(tree.clone()) };
    let place = Place::new();
    place.report(&git("git checkout live && git merge --no-ff fix"), Feedback::Incident, "olga").await;
    assert!(place.stops(&git("git checkout live && git merge --no-ff fix")).await, "{:?}", place.sentences());
    for honest in ["git checkout -b fix/clock", "git switch main", "touch README.md"] {
        assert!(!place.stops(&git(honest)).await, "{honest}: {:?}", place.sentences());
    }
}
