//! `agrail policy prove`: with a solver, and without one.

use std::path::Path;
use std::process::{Command, Output};

const PERMIT: &str = "@id(\"packages\") @category(\"integrity\") @reason(\"the shop may\") @allows(\"install\")
permit (principal, action == Action::\"install\", resource) when { context.folder in Folder::\"/home/me/shop\" };
@id(\"prod\") @category(\"integrity\") @reason(\"production\")
forbid (principal, action in [Action::\"change\"], resource in Folder::\"/data/prod\");";
const CHANGES: &str = "forbid (principal, action in [Action::\"change\"], resource in Folder::\"/data/prod\");";
const INSTALLS: &str =
    "permit (principal, action == Action::\"install\", resource) when { context.operation != \"local\" };";

fn prove(home: &Path, path: &str, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
    command.env_clear().env("HOME", home).env("PATH", path).env("USER", "op").current_dir(home);
    for name in ["CVC5", "PYTHONPATH"] {
        command.envs(std::env::var_os(name).filter(|_| path != "/nowhere").map(|value| (name, value)));
    }
    let output: Output = command.args(["policy", "prove"]).args(words).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code(), text)
}

#[test]
fn what_cannot_be_decided_is_a_failure_that_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let wrong = [
        (&[][..], "pip install cvc5"),
        (&["--never", "allow x"], "--never:1:"),
        (&["--never", ""], "no policy"),
        (&["--never", "permit (principal, action == Action::\"lsten\", resource);"], "listen"),
        (&["--never", "permit (principal, action, resource) when { resource.class == \"credentail\" };"], "credential"),
        (&["--never", "permit (principal, action, resource) when { resource.colour == 1 };"], "colour"),
        (&["--never", "@rules.cedar"], "cannot read rules.cedar"),
        (&["--no-weaker-than", "none.cedar"], "none.cedar"),
        (&["--denied"], "--never"),
    ];
    for (words, says) in wrong {
        let (code, text) = prove(home.path(), "/nowhere", words);
        assert_eq!(code, Some(1), "{words:?}: {text}");
        assert!(text.contains(says) && !text.contains("holds"), "{words:?}: {text}");
    }
}

#[test]
#[ignore = "needs the solver cvc5; .ci/run runs it"]
fn operators_prove_what_their_policies_never_do() {
    let home = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    std::fs::write(home.path().join("team.cedar"), PERMIT).unwrap();
    std::fs::write(home.path().join("before.cedar"), PERMIT.split_once("@id(\"prod\")").unwrap().0).unwrap();
    let prove = |words: &[&str]| prove(home.path(), &path, words);

    let (code, text) = prove(&[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.matches("holds ").count() >= 20 && text.contains("0 refuted, 0 undecided"), "{text}");

    // a permit of the operator opens one of the shipped statements, and one only
    let (code, text) = prove(&["team.cedar"]);
    assert_eq!((code, text.matches("refuted ").count()), (Some(2), 1), "{text}");
    assert!(text.contains("refuted    machine-software") && text.contains("\"/home/me/shop\""), "{text}");

    let (code, text) = prove(&["team.cedar", "--never", CHANGES, "--denied"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = prove(&["team.cedar", "--never", CHANGES, "--never", INSTALLS]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("holds      never 1") && text.contains("refuted    never 2"), "{text}");
    assert!(text.contains("action     install"), "{text}");

    // what is about no effect at all holds, and says nothing
    let nothing =
        "permit (principal, action == Action::\"read\", resource) when { context.privileged && !context.privileged };";
    let (code, text) = prove(&["team.cedar", "--never", nothing]);
    assert!(code == Some(1) && text.contains("undecided  never 1") && text.contains("says nothing"), "{text}");

    // stricter than before, then weaker
    let (code, text) = prove(&["team.cedar", "--no-weaker-than", "before.cedar"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = prove(&["before.cedar", "--no-weaker-than", "team.cedar", "--json"]);
    assert_eq!(code, Some(2), "{text}");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["case"]["resource"]["in"] == serde_json::json!(["/data/prod"])), "{text}");
}
