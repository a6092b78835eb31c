//! What operators do at the command line: write policies, try them, answer questions, pause the guard.

use std::path::Path;
use std::process::{Command, Output};

const RULES: &str = "@id(\"prod\") @category(\"integrity\") @reason(\"production\")
forbid (principal, action == Action::\"delete\", resource in Folder::\"/data/prod\");";

pub fn agrail(home: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("USER", "op").current_dir(home);
    command.args(words).output().unwrap()
}

pub fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn with_token(home: &Path, more: &str) -> String {
    std::fs::create_dir_all(home.join(".config/agrail")).unwrap();
    std::fs::write(home.join("token"), "0123456789abcdef0123456789abcdef").unwrap();
    let file = home.join(".config/agrail/config.toml");
    let token = home.join("token");
    std::fs::write(&file, format!("[memory]\napproval_token_file = {token:?}\n[hook]\ndaemon = false\n{more}"))
        .unwrap();
    "0123456789abcdef0123456789abcdef".to_owned()
}

fn hook(home: &Path, command: &str) -> Output {
    use std::io::Write as _;
    let event = serde_json::json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": home, "tool_name": "Bash",
        "tool_use_id": "t", "tool_input": {"command": command}});
    let mut hook = Command::new(env!("CARGO_BIN_EXE_agrail"));
    hook.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("USER", "op").args(["hook", "claude-code"]);
    let pipe = std::process::Stdio::piped;
    let mut child = hook.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_file_of_wishes_is_valid_with_every_wish_in_use() {
    let home = tempfile::tempdir().unwrap();
    let written = agrail(home.path(), &["policy", "init"]);
    assert!(written.status.success(), "{}", told(&written));
    let file = home.path().join(".config/agrail/policies.cedar");
    let text = std::fs::read_to_string(&file).unwrap();
    let again = agrail(home.path(), &["policy", "init"]);
    assert!(!again.status.success() && told(&again).contains("cannot write"), "{}", told(&again));
    let wishes: Vec<&str> =
        text.lines().map(|line| line.strip_prefix("// ").filter(|rest| is_code(rest)).unwrap_or(line)).collect();
    std::fs::write(&file, wishes.join("\n")).unwrap();
    let checked = agrail(home.path(), &["policy", "check", file.to_str().unwrap(), "--json"]);
    assert!(checked.status.success(), "{}", told(&checked));
    let ids: Vec<String> = serde_json::from_slice::<Vec<serde_json::Value>>(&checked.stdout)
        .unwrap()
        .iter()
        .filter(|rule| rule["file"].as_str().unwrap().ends_with("policies.cedar"))
        .map(|rule| rule["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 6, "{ids:?}");
}

fn is_code(line: &str) -> bool {
    (line.starts_with('@') && line.ends_with(')'))
        || ["permit (", "forbid (", "when {", "       &&", "   "].iter().any(|begin| line.starts_with(begin))
            && !line.trim_start().starts_with("[policy]")
            && !line.trim_start().starts_with("files =")
            && !line.trim_start().starts_with("agrail policy")
}

#[test]
fn lint_names_the_ways_that_a_rule_misses() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("own.cedar");
    std::fs::write(&file, RULES).unwrap();
    let linted = agrail(home.path(), &["policy", "lint", file.to_str().unwrap()]);
    let text = told(&linted);
    assert_eq!(linted.status.code(), Some(2), "{text}");
    for missed in ["move a file into it", "append to a file in it", "change its mode"] {
        assert!(text.contains(&format!("misses: {missed}")), "{text}");
    }
    assert!(!text.contains("misses: delete"), "{text}");
    std::fs::write(&file, RULES.replace("action == Action::\"delete\"", "action in [Action::\"change\"]")).unwrap();
    let linted = agrail(home.path(), &["policy", "lint", file.to_str().unwrap()]);
    assert!(linted.status.success(), "{}", told(&linted));
}

#[test]
fn a_trial_lists_the_decisions_that_would_change() {
    let home = tempfile::tempdir().unwrap();
    let empty = agrail(home.path(), &["policy", "try", "own.cedar"]);
    assert!(!empty.status.success());
    let file = home.path().join("own.cedar");
    std::fs::write(&file, RULES).unwrap();
    for command in ["ls /tmp", "rm /data/prod/x", "rm -rf /data", "echo x > /data/prod/y"] {
        agrail(home.path(), &["check", command]);
    }
    let tried = agrail(home.path(), &["policy", "try", file.to_str().unwrap(), "--json"]);
    let tried: serde_json::Value = serde_json::from_slice(&tried.stdout).unwrap_or_else(|_| panic!("{}", told(&tried)));
    assert_eq!(tried["decisions"], 4, "{tried}");
    let changed: Vec<&str> =
        tried["changes"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    assert!(changed.contains(&"rm /data/prod/x") && !changed.contains(&"ls /tmp"), "{tried}");
    let text = told(&agrail(home.path(), &["policy", "try", file.to_str().unwrap()]));
    assert!(text.contains("of 4 recorded decisions would change"), "{text}");
}

#[test]
fn questions_are_answered_by_the_end_of_their_id() {
    let home = tempfile::tempdir().unwrap();
    let token = with_token(home.path(), "");
    let asked = agrail(home.path(), &["check", "--queue", "--json", "pip install requests"]);
    assert_eq!(asked.status.code(), Some(3), "{}", told(&asked));
    let verdict: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    let id = verdict["id"].as_str().unwrap();
    let list = told(&agrail(home.path(), &["approvals"]));
    assert!(list.contains(&id[18..]), "{list}");
    let wrong = agrail(home.path(), &["approvals", "approve", "ZZZZZZ", "--token", &token]);
    assert!(!wrong.status.success() && told(&wrong).contains("no verdict"), "{}", told(&wrong));
    let unseen = agrail(home.path(), &["approvals", "approve", "last", "--token", &token]);
    assert!(!unseen.status.success() && told(&unseen).contains("needs a terminal"), "{}", told(&unseen));
    let approved = agrail(home.path(), &["approvals", "approve", &id[20..].to_lowercase(), "--token", &token]);
    assert!(approved.status.success() && told(&approved).contains("pip install requests"), "{}", told(&approved));
    // without --queue, a check asks nobody
    agrail(home.path(), &["check", "pip install flask"]);
    assert!(told(&agrail(home.path(), &["approvals"])).contains("no approval is pending"));
    let feedback = agrail(home.path(), &["memory", "feedback", "last", "reject"]);
    assert!(told(&feedback).contains("pip install flask"), "{}", told(&feedback));
}

#[test]
fn a_pause_stops_nothing_and_is_logged() {
    let home = tempfile::tempdir().unwrap();
    let token = with_token(home.path(), "");
    let stopped = hook(home.path(), "rm -rf /etc");
    assert!(told(&stopped).contains("deny") || stopped.status.code() == Some(2), "{}", told(&stopped));
    for (words, part) in [
        (vec!["pause", "30m"], "give a reason"),
        (vec!["pause", "30m", "--why", "x"], "is not the secret"),
        (vec!["pause", "25h", "--why", "x", "--token", &token], "24h at most"),
    ] {
        let refused = agrail(home.path(), &words);
        assert!(!refused.status.success() && told(&refused).contains(part), "{}", told(&refused));
    }
    let paused = agrail(home.path(), &["pause", "30m", "--why", "watched deployment", "--token", &token]);
    assert!(paused.status.success(), "{}", told(&paused));
    let passed = hook(home.path(), "rm -rf /etc");
    assert!(passed.status.success() && passed.stdout.is_empty(), "{}", told(&passed));
    assert!(
        told(&passed).contains("watched deployment") && told(&passed).contains("it would deny"),
        "{}",
        told(&passed)
    );
    // neither an agent's longer pause nor a damaged one counts
    let file = home.path().join(".local/state/agrail/pause.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut long: serde_json::Value = serde_json::from_str(&text).unwrap();
    long["until_ms"] = serde_json::json!(u64::MAX);
    for bad in [long.to_string(), "{".to_owned(), String::new()] {
        std::fs::write(&file, bad).unwrap();
        assert!(!told(&hook(home.path(), "rm -rf /etc")).contains("paused"));
    }
    std::fs::write(&file, text).unwrap();
    assert!(told(&agrail(home.path(), &["pause"])).contains("more minutes"));
    assert!(told(&agrail(home.path(), &["pause", "--end"])).contains("has ended"));
    assert!(!told(&hook(home.path(), "rm -rf /etc")).contains("paused"));
    let log = told(&agrail(home.path(), &["audit", "show"]));
    assert!(log.contains("paused for 30 minutes by op") && log.contains("ended by op"), "{log}");
}

#[test]
fn tune_shows_what_asks_most() {
    let home = tempfile::tempdir().unwrap();
    for command in ["pip install a", "pip install a", "pip install b", "frobnicate", "ls"] {
        agrail(home.path(), &["check", command]);
    }
    let tuned = agrail(home.path(), &["tune", "--json"]);
    let tuned: serde_json::Value = serde_json::from_slice(&tuned.stdout).unwrap_or_else(|_| panic!("{}", told(&tuned)));
    assert_eq!((&tuned["decisions"], &tuned["asks"]), (&5.into(), &4.into()), "{tuned}");
    let first = &tuned["rules"][0];
    assert_eq!(
        (&first["rule"], &first["alone"], &first["different"]),
        (&"policy:install".into(), &3.into(), &2.into())
    );
    assert_eq!(first["examples"][0][1], "pip install a");
    assert!(told(&agrail(home.path(), &["tune"])).contains("@allows(\"install\")"));
}

#[test]
fn a_command_may_be_all_there_is() {
    let home = tempfile::tempdir().unwrap();
    let allowed = agrail(home.path(), &["ls -la"]);
    assert!(allowed.status.success() && told(&allowed).starts_with("ALLOW"), "{}", told(&allowed));
    assert_eq!(agrail(home.path(), &["rm -rf /etc"]).status.code(), Some(2));
    assert!(told(&agrail(home.path(), &["ls"])).starts_with("ALLOW"));
    // a mistyped subcommand is no command
    let typo = agrail(home.path(), &["approvls"]);
    assert!(told(&typo).contains("approvals"), "{}", told(&typo));
}
