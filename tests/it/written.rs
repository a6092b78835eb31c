//! Learnt rules as policies: what they stop does not depend on the memory any more.

use agrail::Guard;
use agrail::action::{Action, Context, Identity};
use agrail::learn::Feedback;
use agrail::memory::Memory;
use agrail::policy::{Policy, Source};
use agrail::verdict::Decision;
use serde_json::{Value, json};
use std::path::Path;

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: Some("/home/user/project".into()) }
}

fn call(tool: &str, arguments: Value) -> Action {
    Action::ToolCall { server: None, tool: tool.to_owned(), arguments }
}

fn context() -> Context {
    Context::new(Identity::default(), None)
}

async fn taught() -> Memory {
    let memory = Memory::in_memory("none", 4).unwrap();
    let guard = Guard::builder().memory(memory.clone()).build().unwrap();
    for action in [shell("cat notes/plan.md"), shell("ls -l"), call("list_items", json!({"board": "web"}))] {
        let passed = guard.check(&action, &context()).await;
        assert!(!passed.id.is_empty());
    }
    for (action, reason) in [
        (shell("shipctl deploy web --site north-7"), "deployed to north-7; \"its crew\" does that {name}"),
        (shell("rm -r data/raw/2024"), ""),
        (call("set_price", json!({"item": 7, "fare_class": "B"})), "changed a fare class"),
    ] {
        let id = guard.check(&action, &context()).await.id;
        guard.settle().await.unwrap();
        memory.report(&id, Feedback::Incident, reason, "olga").unwrap();
    }
    memory
}

fn loaded(text: String, examples: String) -> Policy {
    Policy::load(&[Source { file: "learnt.cedar".to_owned(), text, examples: Some(examples), organisation: false }])
        .unwrap()
}

#[tokio::test]
async fn rules_are_written_as_policies_that_stop_the_same() {
    let memory = taught().await;
    let (text, examples) = memory.policies(None).unwrap();
    let policy = loaded(text.clone(), examples.clone());
    assert!(policy.examples().len() >= 3, "{examples}");
    assert!(policy.examples().iter().any(|(_, _, expected)| expected == "allow"), "{examples}");
    let guard = Guard::builder().policy(policy).build().unwrap();
    let with_memory = Guard::builder().memory(memory).build().unwrap();
    for (action, stopped) in [
        (shell("rollout -t north-7 push api"), true),
        (shell("shipctl deploy web --site north-7"), true),
        (shell("rm -r data/raw/2024"), true),
        (shell("rm -r data"), true),
        (call("update_item", json!({"item": 9, "fare_class": "C"})), true),
        (shell("cat notes/plan.md"), false),
        (shell("rm -r data/cooked"), false),
        (call("set_price", json!({"item": 7, "amount": 3})), false),
    ] {
        let verdict = guard.check(&action, &context()).await;
        let by = |prefix: &str, verdict: &agrail::Verdict| {
            verdict.findings.iter().any(|finding| finding.source.to_string().starts_with(prefix))
        };
        let own = |verdict: &agrail::Verdict| {
            verdict.findings.iter().any(|finding| finding.reason.contains("operators reported"))
        };
        assert_eq!(own(&verdict) && by("policy:", &verdict), stopped, "{action:?}: {:#?}\n{text}", verdict.findings);
        assert!(!stopped || verdict.decision != Decision::Allow);
        assert_eq!(by("memory", &with_memory.check(&action, &context()).await), stopped, "{action:?}");
    }
}

#[tokio::test]
async fn one_rule_is_written_alone_and_no_other_entry_is() {
    let memory = taught().await;
    let rules = memory.active().unwrap();
    let rule = rules.iter().find(|rule| rule.condition.is_some()).unwrap();
    let (text, examples) = memory.policies(Some(&rule.id)).unwrap();
    assert!(loaded(text.clone(), examples).rules().len() > 1 && text.contains(&rule.id));
    assert!(rules.iter().filter(|other| other.id != rule.id).all(|other| !text.contains(&other.id)));
    let error = memory.policies(Some("nothing")).unwrap_err().to_string();
    assert!(error.contains("no entry nothing"), "{error}");
    let none = Memory::in_memory("none", 4).unwrap().policies(None).unwrap();
    assert_eq!(none.0, "");
}

#[test]
fn policies_about_events_are_verified_like_others() {
    let event = |rest: &str| format!("@id(\"own\")\n@category(\"integrity\")\n@reason(\"never\")\n{rest}");
    let deploy = "action == Action::\"event\", resource == Event::\"command\") when { context.facts.contains(\"first deploy\") };";
    let example = |facts: &str, expect: &str| {
        format!("[[example]]\nexpect = \"{expect}\"\nevent = {{ family = \"command\", facts = [\"{facts}\"] }}\n")
    };
    let load = |text: &str, examples: Option<&str>| {
        let examples = examples.map(str::to_owned);
        Policy::load(&[Source { file: "own.cedar".to_owned(), text: text.to_owned(), examples, organisation: false }])
    };
    let forbid = event(&format!("forbid (principal, {deploy}"));
    load(&forbid, Some(&(example("first deploy", "deny") + &example("first list", "allow")))).unwrap();
    for (text, examples, problem) in [
        (event(&format!("permit (principal, {deploy}")), None, "can only forbid"),
        (
            event("forbid (principal, action == Action::\"event\", resource) when { context.words == 1 };"),
            None,
            "words",
        ),
        (event("forbid (principal, action == Action::\"event\", resource == Target::\"x\");"), None, "own"),
        // no policy is about both: it would be lost for one of them
        (event("forbid (principal, action in [Action::\"event\", Action::\"delete\"], resource);"), None, "delete"),
        (event("forbid (principal, action, resource) when { action == Action::\"event\" };"), None, "event"),
        (forbid.clone(), Some(example("first deploy", "allow")), "found deny"),
        (forbid.clone(), Some(example("first list", "ask")), "found allow"),
        (forbid.clone(), Some("[[example]]\nexpect = \"deny\"\n".to_owned()), "either an effect or an event"),
        (
            forbid.clone(),
            Some("[[example]]\nexpect = \"deny\"\nevent = { family = \"thought\" }\n".to_owned()),
            "no kind of event 'thought'",
        ),
        (forbid.clone(), Some(example("frist deploy", "allow")), "did you mean \"first\"?"),
        (forbid.replace("first deploy", "frist deploy"), None, "own.cedar:4:"),
    ] {
        let error = load(&text, examples.as_deref()).unwrap_err().to_string();
        assert!(error.contains(problem), "{problem}: {error}");
    }
    // a policy about every effect is none about events
    let every = event("forbid (principal, action, resource) when { resource.name == \"/srv/x\" };");
    load(&every, Some(&example("first deploy", "allow"))).unwrap();
    assert!(Policy::schema_text().contains("action event appliesTo"));
}

/// Runs the program in a home folder of its own, and returns exit code, standard output and errors.
fn run(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_agrail"));
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.env(variable, home);
    }
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_rule_becomes_a_policy_file_on_the_command_line() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, out, err) = run(first.path(), &["check", "--explain", "--no-memory", "--shell", "shipctl deploy web"]);
    assert!(out.contains("event: command: does act, first deploy, pair deploy web, program shipctl"), "{out}{err}");
    let file = second.path().join("learnt.cedar");
    let file = file.to_str().unwrap();
    let (code, _, err) = run(first.path(), &["learn", "policy", file]);
    assert!(code != 0 && err.contains("there are no rules yet"), "{err}");
    let (_, out, err) = run(first.path(), &["check", "--json", "--shell", "shipctl deploy web --site north-7"]);
    let verdict: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let report = ["memory", "feedback", verdict["id"].as_str().unwrap(), "incident", "--reason", "deployed to north-7"];
    let (code, out, err) = run(first.path(), &report);
    assert!(code == 0, "{out}{err}");
    let (code, out, _) = run(first.path(), &["learn", "rules", "--explain"]);
    assert!(code == 0 && out.contains("because: deployed to north-7") && out.contains("| forbid (principal"), "{out}");
    let (code, out, err) = run(first.path(), &["learn", "policy", file]);
    assert!(code == 0 && out.contains("policies: 1; examples verified: 1"), "{out}{err}");
    let (code, _, err) = run(first.path(), &["learn", "policy", file]);
    assert!(code != 0 && err.contains("name a file that does not exist yet"), "{err}");
    // another place, which has the file and not the memory
    let config = second.path().join("config.toml");
    std::fs::write(&config, "[policy]\nfiles = [\"learnt.cedar\"]\n").unwrap();
    let config = config.to_str().unwrap();
    for (command, decided) in [("rollout -t north-7 push api", true), ("rollout -t north-8 push api", false)] {
        let (_, out, err) = run(second.path(), &["--config", config, "check", "--json", "--shell", command]);
        assert_eq!(out.contains("deployed to north-7"), decided, "{out}{err}");
    }
    let (code, out, err) = run(second.path(), &["--config", config, "policy", "test"]);
    assert!(code == 0 && out.contains("learnt.examples.toml: 1 (mention: "), "{out}{err}");
}
