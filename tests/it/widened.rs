//! Approvals: what an exact one covers, and what a person adds by widening it.

use crate::guard::context;
use agrail::action::{Action, Context};
use agrail::learn::{Feedback, FeedbackError, apply_feedback};
use agrail::memory::Memory;
use agrail::{Decision, Guard};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A guard with a memory, and a machine with two in-house programs.
struct Place {
    guard: Guard,
    memory: Memory,
    context: Context,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let context = context(folder.path(), "user");
        for name in ["shipctl", "renderctl"] {
            program(folder.path(), name, b"first");
        }
        let memory = Memory::in_memory("none", 4).unwrap();
        let guard = Guard::builder().memory(memory.clone()).build().unwrap();
        Self { guard, memory, context, folder }
    }

    async fn verdict(&self, action: &Action) -> (Decision, String) {
        let verdict = self.guard.check(action, &self.context).await;
        self.guard.settle().await.unwrap();
        (verdict.decision, verdict.id)
    }

    async fn decision(&self, action: &Action) -> Decision {
        self.verdict(action).await.0
    }

    /// The id of the verdict that asks about an action.
    async fn asked(&self, action: &Action) -> String {
        let (decision, id) = self.verdict(action).await;
        assert_eq!(decision, Decision::Ask, "{action:?}");
        id
    }

    /// Widens the approval of an action along the argument with this value.
    async fn widen(&self, action: &Action, value: &str) {
        let id = self.asked(action).await;
        let arguments = self.memory.arguments(&id).unwrap();
        let number = arguments.iter().find(|argument| argument.value == value).unwrap().number;
        self.memory.widen(&id, &[number], 50, 1).unwrap();
    }

    async fn approve(&self, action: &Action) {
        let id = self.asked(action).await;
        apply_feedback(&self.memory, &id, Feedback::Approve { uses: 1_000, days: 1 }, "olga").unwrap();
    }
}

fn program(root: &Path, name: &str, tail: &[u8]) {
    let folder = root.join("usr/local/bin");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), [&b"\x7fELF\x02\x01\x01\0\0\0\0"[..], tail].concat()).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join(name), mode).unwrap();
}

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: Some("/home/user/project".into()) }
}

fn call(arguments: Value) -> Action {
    Action::ToolCall { server: None, tool: "send_money".to_owned(), arguments }
}

#[tokio::test]
async fn a_widened_approval_covers_other_values_of_one_argument_and_nothing_else() {
    let place = Place::new();
    place.widen(&shell("shipctl release --service billing --env staging"), "billing").await;
    for command in [
        "shipctl release --service payments --env staging",
        "shipctl  release --service 'catalog-api' --env staging",
        "cd /home/user/project && shipctl release --service search --env staging",
    ] {
        assert_eq!(place.decision(&shell(command)).await, Decision::Allow, "{command}");
    }
    for command in [
        "shipctl release --service payments --env production",
        "shipctl release --service --force --env staging",
        "shipctl release --service payments --env staging --force",
        "shipctl release --service payments --env staging extra",
        "shipctl rollback --service payments --env staging",
        "shipctl release --service \"$SERVICE\" --env staging",
        "shipctl release --service $(cat name) --env staging",
        "shipctl release --service 'a b' --env staging",
        "shipctl release --service ../x --env staging",
        "shipctl release --service '' --env staging",
        "shipctl release --service pay* --env staging",
        "shipctl release --service payments --env staging; shipctl purge",
        "FOO=1 shipctl release --service payments --env staging",
        "shipctl release --service payments --env staging > out.txt",
        "renderctl release --service payments --env staging",
    ] {
        assert_ne!(place.decision(&shell(command)).await, Decision::Allow, "{command}");
    }
    let subcommand = place.asked(&shell("shipctl purge")).await;
    assert!(place.memory.arguments(&subcommand).unwrap().is_empty(), "a subcommand is no argument");
    let elsewhere = Action::Shell {
        command: "shipctl release --service payments --env staging".to_owned(),
        cwd: Some("/tmp".into()),
    };
    assert_eq!(place.decision(&elsewhere).await, Decision::Ask);
}

#[tokio::test]
async fn another_agent_account_or_program_file_is_asked_about() {
    let mut place = Place::new();
    let (first, other) = (shell("shipctl release billing"), shell("shipctl release payments"));
    place.widen(&first, "billing").await;
    assert_eq!(place.decision(&other).await, Decision::Allow);
    let own = place.context.clone();
    place.context.agent = "another".to_owned();
    assert_eq!(place.decision(&other).await, Decision::Ask);
    place.context = own.clone();
    place.context.identity.name = "maria".to_owned();
    assert_eq!(place.decision(&other).await, Decision::Ask);
    place.context = own;
    program(place.folder.path(), "shipctl", b"second");
    assert_eq!(place.decision(&other).await, Decision::Ask);
}

#[tokio::test]
async fn a_file_that_leads_elsewhere_is_asked_about() {
    let place = Place::new();
    let reports = place.folder.path().join("home/user/project/reports");
    fs::create_dir_all(&reports).unwrap();
    for name in ["may.toml", "june.toml"] {
        fs::write(reports.join(name), "x").unwrap();
    }
    std::os::unix::fs::symlink("/etc/shadow", reports.join("latest.toml")).unwrap();
    place.widen(&shell("renderctl render reports/may.toml"), "reports/may.toml").await;
    assert_eq!(place.decision(&shell("renderctl render reports/june.toml")).await, Decision::Allow);
    assert_ne!(place.decision(&shell("renderctl render reports/latest.toml")).await, Decision::Allow);
    assert_ne!(place.decision(&shell("renderctl render reports/../../.ssh/id.toml")).await, Decision::Allow);
}

#[tokio::test]
async fn a_tool_call_is_widened_along_one_leaf() {
    let place = Place::new();
    place.widen(&call(json!({"to": "ann", "sum": 5, "notes": ["rent"]})), "rent").await;
    assert_eq!(place.decision(&call(json!({"notes": ["food"], "to": "ann", "sum": 5}))).await, Decision::Allow);
    for arguments in [
        json!({"to": "bob", "sum": 5, "notes": ["food"]}),
        json!({"to": "ann", "sum": 5000, "notes": ["food"]}),
        json!({"to": "ann", "sum": 5, "notes": ["food", "x"]}),
        json!({"to": "ann", "sum": 5, "notes": "food"}),
        json!({"to": "ann", "sum": 5, "notes": ["food"], "force": true}),
        json!({"to": "ann", "sum": "5", "notes": ["food"]}),
        json!({"to": "ann", "sum": 5, "notes": [7]}),
    ] {
        assert_eq!(place.decision(&call(arguments.clone())).await, Decision::Ask, "{arguments}");
    }
}

#[tokio::test]
async fn a_widening_shows_what_it_would_have_let_pass_and_is_counted() {
    let place = Place::new();
    let id = place.asked(&shell("shipctl release billing")).await;
    let near = place.asked(&shell("shipctl release payments")).await;
    place.asked(&shell("shipctl purge payments")).await;
    let record = place.memory.decisions(100).unwrap();
    let passes: BTreeSet<String> = place.memory.would_pass(&id, &[1], &record).unwrap().into_iter().collect();
    assert_eq!(passes, BTreeSet::from([id.clone(), near]));
    let entry = place.memory.widen(&id, &[1], 2, 1).unwrap();
    for (name, decision) in [("a1", Decision::Allow), ("a2", Decision::Allow), ("a3", Decision::Ask)] {
        assert_eq!(place.decision(&shell(&format!("shipctl release {name}"))).await, decision, "{name}");
    }
    let entry = place.memory.widen(&id, &[1], 2, 1).map(|again| (entry.id != again.id).then_some(again));
    let entry = entry.unwrap().unwrap();
    place.memory.quarantine(&entry.id, "olga").unwrap();
    assert_eq!(place.decision(&shell("shipctl release a4")).await, Decision::Ask, "taken back");
}

#[tokio::test]
async fn what_no_person_may_approve_is_not_widened() {
    let place = Place::new();
    let cannot = |id: &str, open: &[usize]| {
        let refused = place.memory.widen(id, open, 5, 1);
        assert!(matches!(refused, Err(FeedbackError::NotApprovable { .. })), "{refused:?}");
    };
    let (decision, denied) = place.verdict(&shell("rm -rf /etc/cron.d")).await;
    assert_eq!(decision, Decision::Deny);
    cannot(&denied, &[1]);
    let (decision, allowed) = place.verdict(&shell("ls notes")).await;
    assert_eq!(decision, Decision::Allow);
    cannot(&allowed, &[1]);
    let asked = place.asked(&shell("shipctl release 'pay*'")).await;
    for open in [&[1][..], &[9], &[0], &[]] {
        cannot(&asked, open);
    }
    let code = place.asked(&shell("shipctl each 'purge the old ones'")).await;
    cannot(&code, &[1]);
    let secret = place.asked(&shell("shipctl login ghp_0123456789abcdefghijABCDEFGHIJ012345")).await;
    cannot(&secret, &[1]);
    assert!(!place.memory.decision(&secret).unwrap().record.contains("ghp_0123456789"));
}

#[tokio::test]
async fn a_rule_that_operators_taught_is_not_answered_by_a_widened_approval() {
    let place = Place::new();
    place.widen(&shell("shipctl release billing"), "billing").await;
    let (_, id) = place.verdict(&shell("shipctl release ledger")).await;
    apply_feedback(&place.memory, &id, Feedback::Incident, "olga").unwrap();
    assert_ne!(place.decision(&shell("shipctl release ledger")).await, Decision::Allow);
    assert_eq!(place.decision(&shell("shipctl release payments")).await, Decision::Allow);
}

#[tokio::test]
async fn three_approvals_that_differ_in_one_argument_propose_a_widening() {
    let place = Place::new();
    let proposals = |answered: &BTreeSet<String>| {
        let record = place.memory.decisions(100).unwrap();
        place.memory.proposals(answered, &record).unwrap()
    };
    let mut answered = BTreeSet::new();
    for name in ["billing", "payments"] {
        place.approve(&shell(&format!("shipctl release {name}"))).await;
    }
    answered.insert(place.asked(&shell("shipctl purge search")).await);
    assert!(proposals(&answered).is_empty(), "two, and another subcommand");
    // an answer elsewhere, such as to the question of a host
    answered.insert(place.asked(&shell("shipctl release search")).await);
    let found = proposals(&answered);
    assert_eq!(found.iter().map(|one| (one.argument, one.approved.len())).collect::<Vec<_>>(), [(1, 3)]);
    place.memory.widen(&found[0].verdict, &[found[0].argument], 9, 1).unwrap();
    assert!(proposals(&answered).is_empty(), "it is widened already");
    assert_eq!(place.decision(&shell("shipctl release catalog")).await, Decision::Allow);
}

/// One change of an approved action.
#[derive(Debug, Clone)]
enum Changed {
    Argument(usize, String),
    Option(String),
    Left(usize),
    Folder(String),
    Identity(String),
    File(Vec<u8>),
    Leaf(String),
}

fn change() -> impl Strategy<Value = Changed> {
    prop_oneof![
        (0..3_usize, "[a-z0-9/._-]{1,12}").prop_map(|(place, word)| Changed::Argument(place, word)),
        "--?[a-z]{1,8}(=[a-z]{1,4})?".prop_map(Changed::Option),
        (0..3_usize).prop_map(Changed::Left),
        "/(tmp|var/log|home/maria)".prop_map(Changed::Folder),
        "(maria|root)".prop_map(Changed::Identity),
        prop::collection::vec(any::<u8>(), 1..20).prop_map(Changed::File),
        "[a-z]{1,8}".prop_map(Changed::Leaf),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever one changes of an approved action beyond its normal form, a person is asked again.
    #[test]
    fn any_change_of_an_approved_action_asks_again(words in prop::collection::vec("[a-z]{2,6}", 3), change in change()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut place = Place::new();
            let command = |words: &[String]| format!("shipctl {}", words.join(" "));
            let arguments = json!({"to": words[0], "of": {"deep": [words[1], 3, false]}});
            place.approve(&shell(&command(&words))).await;
            place.approve(&call(arguments.clone())).await;
            prop_assert_eq!(place.decision(&shell(&command(&words))).await, Decision::Allow);
            prop_assert_eq!(place.decision(&call(arguments.clone())).await, Decision::Allow);
            let mut changed = words.clone();
            let mut action = None;
            match &change {
                Changed::Argument(at, word) => changed[*at].clone_from(word),
                Changed::Option(option) => changed.insert(1, option.clone()),
                Changed::Left(at) => drop(changed.remove(*at)),
                Changed::Folder(folder) => {
                    action = Some(Action::Shell { command: command(&words), cwd: Some(folder.into()) });
                }
                Changed::Identity(name) => place.context.identity.name.clone_from(name),
                Changed::File(bytes) => program(place.folder.path(), "shipctl", bytes),
                Changed::Leaf(word) => {
                    let mut arguments = arguments;
                    let leaf = arguments.pointer_mut("/of/deep/0").unwrap();
                    if *leaf == json!(word) {
                        return Ok(());
                    }
                    *leaf = json!(word);
                    action = Some(call(arguments));
                }
            }
            if action.is_none() && changed == words && matches!(change, Changed::Argument(..)) {
                return Ok(());
            }
            let action = action.unwrap_or_else(|| shell(&command(&changed)));
            let decision = place.decision(&action).await;
            prop_assert_ne!(decision, Decision::Allow, "{:?}", change);
            Ok(())
        })?;
    }
}
