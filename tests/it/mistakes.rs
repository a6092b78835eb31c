//! Wrong inputs: each error names the place, the reason, and what to do next.

use std::process::{Command, Stdio};

const FILES: [(&str, &str); 20] = [
    ("section.toml", "[guard\n"),
    ("key.toml", "[guard]\ndeadline = 5\n"),
    ("type.toml", "[serve]\nat_once = \"many\"\n"),
    ("model.toml", "[model]\nmode = \"tiered\"\n"),
    ("missing.toml", "[policy]\nfiles = [\"none.cedar\"]\n"),
    ("denies.toml", "[policy]\ndisable.read-credential = \"we read them\"\n"),
    ("typo.toml", "[policy]\ndisable.instal = \"we install\"\n"),
    ("reason.toml", "[policy]\ndisable.install = \"\"\n"),
    ("syntax.cedar", "forbid (principal,\n  action == Action::\"delete\" resource);"),
    ("plain.cedar", "@id(\"x\") forbid (principal, action == Action::\"delete\", resource);"),
    (
        "verb.cedar",
        "\n@id(\"x\") @category(\"c\") @reason(\"r\") forbid (principal, action == Action::\"deleet\", resource);",
    ),
    (
        "word.cedar",
        "@id(\"x\") @category(\"c\") @reason(\"r\")\nforbid (principal, action, resource) when { resource.class == \"credentail\" };",
    ),
    (
        "decision.cedar",
        "@id(\"x\") @category(\"c\") @reason(\"r\") @decision(\"block\") forbid (principal, action, resource);",
    ),
    (
        "lifts.cedar",
        "@id(\"x\") @category(\"c\") @reason(\"r\") @allows(\"read-credential\") permit (principal, action, resource) when { context.asked };",
    ),
    (
        "all.cedar",
        "@id(\"x\") @category(\"c\") @reason(\"r\") @allows(\"install\") permit (principal, action, resource);",
    ),
    (
        "example.cedar",
        "@id(\"x\") @category(\"c\") @reason(\"r\") forbid (principal, action == Action::\"delete\", resource);",
    ),
    (
        "example.examples.toml",
        "[[example]]\nexpect = \"deny\"\neffect = { verb = \"read\", kind = \"path\", name = \"/x\" }\n",
    ),
    ("type.json", "{\"action\": {\"type\": \"shel\", \"command\": \"ls\"}}"),
    ("cut.json", "{\"action\": "),
    ("field.json", "{\"action\": {\"type\": \"shell\", \"comand\": \"ls\"}}"),
];

/// The arguments, and what the error says: the place, the reason, the next step.
const MISTAKES: [(&[&str], [&str; 3]); 45] = [
    (&["chekc", "ls"], ["'chekc'", "unrecognized", "'check'"]),
    (&["check"], ["<COMMAND>", "not provided", "--help"]),
    (&["check", "ls", "--jsn"], ["'--jsn'", "unexpected", "'--json'"]),
    (&["check", "ls", "--user", "nobodyy"], ["--user nobodyy", "no such account", "leave it out"]),
    (&["check", "ls", "--cwd", "/nowhere"], ["--cwd /nowhere", "no such folder", "below /"]),
    (&["check", "ls", "--cwd", "/etc/passwd"], ["--cwd /etc/passwd", "no such folder", "below /"]),
    (&["check", "ls", "--root", "/nowhere"], ["/nowhere", "No such file", "name an existing folder"]),
    (&["check", "--action", "none.json"], ["none.json", "No such file", "--action"]),
    (&["check", "--action", "type.json"], ["type.json", "`shel`", "one of `shell`"]),
    (&["check", "--action", "cut.json"], ["cut.json", "line 1 column 11", "should look like"]),
    (&["check", "--action", "field.json"], ["field.json", "`command`", "should look like"]),
    (&["--config", "none.toml", "check", "ls"], ["none.toml", "No such file", "--config"]),
    (&["--config", "section.toml", "check", "ls"], ["section.toml", "line 1", "expected `]`"]),
    (&["--config", "key.toml", "check", "ls"], ["line 2, column 1", "`deadline`", "`deadline_ms`"]),
    (&["--config", "type.toml", "check", "ls"], ["type.toml", "line 2", "expected"]),
    (&["--config", "model.toml", "check", "ls"], ["[model]", "no url", "give the base URL"]),
    (&["--config", "missing.toml", "check", "ls"], ["none.cedar", "No such file", "name a Cedar file"]),
    (
        &["--config", "denies.toml", "check", "ls"],
        ["policy.disable.read-credential", "denies", "only what a policy asks about"],
    ),
    (&["--config", "typo.toml", "check", "ls"], ["policy.disable.instal", "no policy 'instal'", "'install'"]),
    (&["--config", "reason.toml", "check", "ls"], ["policy.disable.install", "no reason", "write why"]),
    (&["--set", "guard.deadline=5", "check", "ls"], ["--set guard.deadline", "no such setting", "deadline_ms"]),
    (&["--set", "deadline", "check", "ls"], ["--set deadline", "SECTION.KEY=VALUE", "such as"]),
    (&["--log", "loud", "check", "ls"], ["--log", "'loud'", "\"debug\""]),
    (&["policy", "check", "syntax.cedar"], ["syntax.cedar:2:", "unexpected token", "resource"]),
    (&["policy", "check", "plain.cedar"], ["plain.cedar:1", "no @category", "write one"]),
    (&["policy", "check", "verb.cedar"], ["verb.cedar:2", "deleet", "did you mean"]),
    (&["policy", "check", "word.cedar"], ["word.cedar:2:", "credentail", "did you mean \"credential\""]),
    (&["policy", "check", "decision.cedar"], ["decision.cedar:1", "\"block\"", "\"ask\" or \"deny\""]),
    (
        &["policy", "check", "lifts.cedar"],
        ["lifts.cedar:1", "'read-credential' denies", "only what a policy asks about"],
    ),
    (&["policy", "check", "all.cedar"], ["all.cedar:1", "would allow all", "write a condition"]),
    (&["policy", "test", "example.cedar"], ["example.examples.toml: example 1", "expected deny", "found allow"]),
    (&["policy", "explain", "instal"], ["'instal'", "no policy", "did you mean: install"]),
    (&["policy", "init", "plain.cedar"], ["plain.cedar", "exists", "name another file"]),
    (&["policy", "prove", "--never", "allow x"], ["--never:1:7", "unexpected token", "`x`"]),
    (&["memory", "feedback", "last", "maybe"], ["'maybe'", "invalid value", "false-positive"]),
    (&["memory", "feedback", "last", "approve"], ["terminal", "an agent must not", "memory.approval_token_file"]),
    (&["memory", "show", "nothing"], ["nothing", "no entry", "agrail memory log"]),
    (&["memory", "import", "none.jsonl"], ["none.jsonl", "No such file", "name"]),
    (&["approvals", "widen", "ZZZZ"], ["ZZZZ", "no decision", "agrail memory log"]),
    (&["install", "vim"], ["'vim'", "invalid value", "claude-code"]),
    (&["pause", "30m"], ["pause", "reason", "--why"]),
    (&["pause", "forever", "--why", "x"], ["'forever'", "invalid value", "such as 30m"]),
    (&["serve", "--listen", "nowhere"], ["--listen", "'nowhere'", "invalid socket address"]),
    (&["mcp", "--", "/nowhere/server"], ["/nowhere/server", "No such file", "check the command line"]),
    (&["doctor", "--rows", "nosuchprogram"], ["nosuchprogram", "no row", "asks about it"]),
];

#[test]
fn each_error_names_the_place_the_reason_and_the_next_step() {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        std::fs::write(home.path().join(name), text).unwrap();
    }
    let mut missing = Vec::new();
    for (words, parts) in MISTAKES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
        command.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin").env("USER", "op");
        let output = command.current_dir(home.path()).args(words).stdin(Stdio::null()).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        for part in parts.iter().filter(|part| !said.to_lowercase().contains(&part.to_lowercase())) {
            missing.push(format!("{words:?} does not say {part:?}: {said}"));
        }
        if output.status.code() != Some(1) {
            missing.push(format!("{words:?} ends with {}: {said}", output.status));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
