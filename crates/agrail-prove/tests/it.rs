//! The program with a real solver, and without one.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

const SCHEMA: &str = r#"
    entity Class enum ["ordinary", "secret"];
    entity Folder in [Folder];
    entity User { roles: Set<String>, superuser: Bool };
    entity Target in [Folder] { class: Class, name: String, mine: Bool };
    type Context = { asked: Bool, note: String };
    action read, write, odd appliesTo { principal: [User], resource: [Target], context: Context };
"#;
const NOW: &str = r#"
    permit (principal, action, resource);
    forbid (principal, action == Action::"read", resource) when { resource.class == Class::"secret" && !context.asked };
    forbid (principal, action, resource) unless { resource in Folder::"/work" };
"#;

fn job(statements: &Value) -> Value {
    json!({
        "schema": SCHEMA,
        "without": ["odd"],
        "sets": {
            "now": NOW,
            "before": NOW.replace("&& !context.asked", ""),
            "secrets": "permit (principal, action == Action::\"read\", resource) when { resource.class == Class::\"secret\" };",
            "elsewhere": "permit (principal, action, resource) unless { resource in Folder::\"/work\" };",
            "wrong": "permit (principal, action, resource) when { resource.colour == 1 };",
        },
        "plain": { "Class": "ordinary" },
        "statements": statements,
    })
}

fn run(job: &str, change: impl Fn(&mut Command)) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agrail-prove"));
    change(&mut command);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(job.as_bytes());
    child.wait_with_output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn without_a_solver_it_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("cvc5");
    std::fs::write(&old, "#!/bin/sh\necho 'This is cvc5 version 1.0.3'\n").unwrap();
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let statement = json!([{ "id": "a", "relation": "disjoint", "left": "now", "right": "secrets" }]);
    let text = job(&statement).to_string();
    let cases = [
        (None, "no solver was found"),
        (Some(("PATH", folder.path())), "cvc5 1.0 is too old"),
        (Some(("CVC5", std::path::Path::new("/nowhere/cvc5"))), "CVC5 names /nowhere/cvc5"),
    ];
    for (variable, says) in cases {
        let output = run(&text, |command| {
            command.env_clear().env("PATH", "/nowhere");
            if let Some((name, value)) = variable {
                command.env(name, value);
            }
        });
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(error.contains(says) && error.contains("pip install cvc5"), "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_of_the_working_folder_is_not_taken_for_the_solver() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cvc5.py"), "open('loaded', 'w')\n__version__ = '1.9.0'\n").unwrap();
    let output = run("", |command| {
        command.env_clear().env("PATH", "/usr/bin:/bin").arg("--solver").current_dir(folder.path());
    });
    assert!(!folder.path().join("loaded").exists());
    assert_ne!(String::from_utf8_lossy(&output.stdout).trim(), "cvc5 1.9 (python3)");
}

#[test]
fn what_is_no_job_is_an_error() {
    for text in ["", "{}", "{\"schema\": \"entity\", \"sets\": {}, \"statements\": []}"] {
        let output = run(text, |_| {});
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{text}");
    }
}

#[test]
#[ignore = "needs the solver cvc5; .ci/run runs it"]
fn statements_hold_or_are_refuted_by_the_plainest_case() {
    let statement = |id: &str, relation: &str, left: &str, right: &str| json!({ "id": id, "relation": relation, "left": left, "right": right });
    let statements = json!([
        statement("elsewhere", "disjoint", "now", "elsewhere"),
        statement("secrets", "disjoint", "now", "secrets"),
        statement("secrets before", "disjoint", "before", "secrets"),
        statement("weaker", "implies", "now", "before"),
        statement("stricter", "implies", "before", "now"),
        statement("wrong", "disjoint", "now", "wrong"),
        statement("missing", "disjoint", "now", "nothing"),
        statement("after a problem", "implies", "before", "now"),
    ]);
    let found = lines(&run(&job(&statements).to_string(), |_| {}));
    let state = |line: &Value| match (line.get("case"), line.get("problem")) {
        (None, None) => "holds",
        (Some(_), _) => "refuted",
        (None, Some(_)) => "problem",
    };
    let states: Vec<&str> = found.iter().map(state).collect();
    assert_eq!(states, ["holds", "refuted", "holds", "refuted", "holds", "problem", "problem", "holds"]);
    assert!(found.iter().all(|line| line["actions"] == 2));
    let case = &found[1]["case"];
    assert_eq!(case["action"], "read");
    assert_eq!(case["context"], json!({ "asked": true }));
    assert_eq!(case["resource"]["facts"], json!({ "class": "secret" }));
    assert_eq!(case["resource"]["in"], json!(["/work"]));
    assert_eq!(case["principal"]["facts"], json!({}));
}
