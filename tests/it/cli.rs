//! The command line from outside: exit codes, JSON, errors.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn agrail(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("USER", "tester").stdin(Stdio::null());
    command
}

fn run(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = agrail(home).args(arguments).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn exit_codes_tell_the_decision() {
    let home = tempfile::tempdir().unwrap();
    let check = |command: &str| run(home.path(), &["check", "--user", "nobody", "--shell", command]);
    assert_eq!(check("ls /tmp").0, 0);
    assert_eq!(check("rm -rf /etc").0, 2);
    assert_eq!(check("frobnicate").0, 3);
    assert_eq!(run(home.path(), &["check"]).0, 1);
    assert_eq!(run(home.path(), &["check", "--no-such-flag"]).0, 1);
    assert_eq!(run(home.path(), &["--help"]).0, 0);
    let (code, _, said) = run(home.path(), &["check", "--shell", "ls", "--root", "/no/such/root"]);
    assert_eq!(code, 1);
    assert!(said.contains("/no/such/root"), "{said}");
}

#[test]
fn the_json_verdict_has_its_contract() {
    let home = tempfile::tempdir().unwrap();
    let mut child = agrail(home.path())
        .args(["check", "--json", "--action", "-", "--no-memory"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let body = br#"{"action":{"type":"shell","command":"rm -rf /etc"},"context":{"request":"clean up","identity":{"name":"user"}}}"#;
    child.stdin.take().unwrap().write_all(body).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["version"], 1);
    assert_eq!(verdict["decision"], "deny");
    assert_eq!(verdict["basis"], "policy");
    assert_eq!(verdict["mode"], "rules");
    assert_eq!(verdict["effects"][0]["verb"], "delete");
    assert_eq!(verdict["effects"][0]["target"], "/etc");
    for key in ["id", "reason", "advice", "ask_of", "findings", "memory", "cost", "digest"] {
        assert!(verdict.get(key).is_some(), "{key} is missing");
    }
    let finding = &verdict["findings"][0];
    assert_eq!(finding["check"]["authority"], "policy");
    assert!(finding["by"].as_str().unwrap().starts_with("policy:"));
    assert!(!String::from_utf8(output.stdout).unwrap().contains('\u{1b}'));
}

#[test]
fn an_action_that_cannot_be_read_is_an_error_that_says_where() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("a.json");
    for (text, word) in [("{", "EOF"), ("[]", "type"), (r#"{"type":"teleport"}"#, "teleport")] {
        fs::write(&file, text).unwrap();
        let (code, _, said) = run(home.path(), &["check", "--action", file.to_str().unwrap()]);
        assert_eq!(code, 1);
        assert!(said.contains("a.json") && said.contains(word), "{said}");
    }
}

#[test]
fn the_policies_of_a_project_are_checked_and_explained_by_the_id_in_a_verdict() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("shop/.agrail");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("policy.cedar");
    let text = "@id(\"gen\")\n@category(\"integrity\")\n@reason(\"make writes these\")\n\
                forbid (principal, action in Action::\"change\", resource in Folder::\"gen\");\n";
    fs::write(&file, text).unwrap();
    let (code, out, said) = run(home.path(), &["policy", "check", file.to_str().unwrap()]);
    assert!(code == 0 && out.contains("policy.cedar#gen") && out.contains("1 policies"), "{out}{said}");
    let id = format!("policy:{}#gen", file.display());
    let (code, out, said) = run(home.path(), &["policy", "explain", &id]);
    assert!(code == 0 && out.contains("make writes these") && out.contains("/shop/gen"), "{out}{said}");
    // all mistakes at once, as they are written
    let wrong = format!("{}{}", text.replace("forbid", "permit"), text.replace("@id(\"gen\")", "@id(\"a b\")"));
    fs::write(&file, wrong).unwrap();
    let (code, _, said) = run(home.path(), &["policy", "check", file.to_str().unwrap()]);
    assert!(code == 1 && said.contains("2 problems"), "{said}");
    assert!(
        said.contains("policy.cedar:1: policy 'gen': permits") && said.contains("policy.cedar:5: policy 'a b'"),
        "{said}"
    );
    // it is no policy of the account
    let named = format!("policy.files=[\"{}\"]", file.display());
    let (code, _, said) = run(home.path(), &["--set", &named, "policy", "check"]);
    assert!(code == 1 && said.contains("has the policies of a project"), "{said}");
}

#[test]
fn policies_are_listed_explained_and_refused_with_file_line_and_column() {
    let home = tempfile::tempdir().unwrap();
    let (code, out, _) = run(home.path(), &["policy", "explain", "rename-onto-existing"]);
    assert_eq!(code, 0);
    assert!(out.contains("forbid") && out.contains("rename"), "{out}");
    assert_eq!(run(home.path(), &["policy", "test"]).0, 0);
    let file = home.path().join("team.cedar");
    fs::write(&file, "@id(\"a\")\n@category(\"x\")\n@reason(\"y\")\nforbid (principal, action resource);\n").unwrap();
    let (code, _, said) = run(home.path(), &["policy", "check", file.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(said.contains("team.cedar:4:"), "{said}");
    let good = "@id(\"no-curl\")\n@category(\"team\")\n@reason(\"this team uses the proxy\")\n\
                forbid (principal, action == Action::\"connect\", resource) when { context.program == \"curl\" };\n";
    fs::write(&file, good).unwrap();
    let wrong = "[[example]]\nexpect = \"allow\"\neffect = { verb = \"connect\", kind = \"host\", name = \"x\", program = \"curl\" }\n";
    fs::write(home.path().join("team.examples.toml"), wrong).unwrap();
    let (code, _, said) = run(home.path(), &["policy", "test", file.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(said.contains("expected allow, found deny"), "{said}");
    fs::write(home.path().join("team.examples.toml"), wrong.replace("allow", "deny")).unwrap();
    let config = home.path().join("config.toml");
    fs::write(&config, "[policy]\nfiles = [\"team.cedar\"]\n").unwrap();
    let config = config.to_str().unwrap();
    let (code, out, _) =
        run(home.path(), &["--config", config, "check", "--user", "nobody", "--shell", "curl example.org"]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("this team uses the proxy"), "{out}");
}

#[test]
fn decisions_are_recorded_and_feedback_changes_later_ones() {
    let home = tempfile::tempdir().unwrap();
    let check = || run(home.path(), &["check", "--user", "nobody", "--shell", "rm -r ~/ledger", "--json"]);
    let (code, out, _) = check();
    assert_eq!(code, 0);
    let id = serde_json::from_str::<serde_json::Value>(&out).unwrap()["id"].as_str().unwrap().to_owned();
    let (code, out, said) = run(home.path(), &["memory", "feedback", &id, "reject"]);
    assert_eq!(code, 0, "{said}");
    assert!(out.contains("active"), "{out}");
    assert_eq!(check().0, 3);
    let (code, _, said) = run(home.path(), &["memory", "feedback", &id, "approve"]);
    assert_eq!(code, 1, "an agent without a terminal must not approve");
    assert!(said.contains("terminal"), "{said}");
    let (_, out, _) = run(home.path(), &["memory", "log", "--decisions"]);
    assert!(out.contains(&id), "{out}");
    let (code, out, _) = run(home.path(), &["memory", "seed"]);
    assert!(code == 0 && out.contains("\"added\""), "{out}");
    let (_, again, _) = run(home.path(), &["memory", "seed"]);
    assert!(again.contains("\"added\": 0"), "{again}");
}

#[test]
fn a_memory_that_cannot_be_used_is_an_error_with_a_way_out() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join(".local/share/agrail");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("memory.db"), "this is no database, but it is long enough to look like one ".repeat(40))
        .unwrap();
    let (code, _, said) = run(home.path(), &["check", "--user", "nobody", "--shell", "ls"]);
    assert_eq!(code, 1);
    assert!(said.contains("memory.db"), "{said}");
    assert_eq!(run(home.path(), &["check", "--no-memory", "--user", "nobody", "--shell", "ls"]).0, 0);
    assert_eq!(fs::metadata(data.join("memory.db")).unwrap().len(), 60 * 40, "it is left as it was");
}

#[test]
fn a_configuration_with_a_mistake_says_where() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("c.toml");
    for (text, word) in [
        ("[guard]\non_failure = \"allow\"\n", "never allow"),
        ("[gaurd]\n", "gaurd"),
        ("x = ", "c.toml"),
        ("[model]\nname = \"m\"\n", "no url"),
        ("[model]\nurl = \"http://127.0.0.1:1/v1\"\n", "model.name"),
        ("[model]\nurl = \"http://me:pw@127.0.0.1:1/v1\"\nname = \"m\"\n", "without credentials"),
        ("[model]\nurl = \"http://127.0.0.1:1/v1\"\nname = \"m\"\nmode = \"magic\"\n", "tiered"),
        ("[model]\nurl = \"http://127.0.0.1:1/v1\"\nname = \"m\"\nkey_file = \"none\"\n", "key_file"),
    ] {
        fs::write(&file, text).unwrap();
        let (code, _, said) = run(
            home.path(),
            &["--config", file.to_str().unwrap(), "check", "--no-memory", "--shell", "ls", "--user", "nobody"],
        );
        assert_eq!(code, 1);
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn a_model_that_is_down_leaves_what_rules_decide() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("c.toml");
    fs::write(&file, "[model]\nurl = \"http://127.0.0.1:1/v1\"\nname = \"m\"\nmax_ms = 1500\n").unwrap();
    let check = |command: &str| {
        let config = file.to_str().unwrap();
        run(
            home.path(),
            &["--config", config, "check", "--json", "--no-memory", "--user", "nobody", "--shell", command],
        )
    };
    assert_eq!(check("ls /tmp").0, 0);
    assert_eq!(check("rm -rf /etc").0, 2);
    let (code, said, _) = check("frobnicate notes.txt");
    let verdict: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, verdict["mode"].as_str()), (3, Some("tiered")), "{said}");
    assert!(said.contains("cannot be reached") && verdict["cost"]["model_calls"] == 1, "{said}");
}

#[test]
fn completions_and_doctor_work() {
    let home = tempfile::tempdir().unwrap();
    let (code, out, _) = run(home.path(), &["completions", "bash"]);
    assert!(code == 0 && out.contains("agrail"));
    let (code, out, said) = run(home.path(), &["doctor"]);
    assert_eq!(code, 0, "{out}{said}");
    assert!(out.contains("self-test"), "{out}");
}

#[test]
fn a_full_disk_loses_nothing_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let disk = home.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let config = home.path().join("c.toml");
    fs::write(&config, format!("[memory]\npath = {:?}\n", disk.join("memory.db"))).unwrap();
    // a disk of its own, in a mount namespace that ends with the script
    let script = format!(
        "mount -t tmpfs -o size=1m none {disk} || exit 77; A='{agrail} --config {config}'; \
         $A check --user nobody --shell 'ls /tmp' --json > {home}/first || exit 70; \
         head -c 2m /dev/zero > {disk}/filler 2>/dev/null; \
         $A check --user nobody --shell 'rm -rf /etc' > {home}/out 2> {home}/err; echo $? > {home}/code; \
         rm {disk}/filler; $A memory log --decisions > {home}/log",
        disk = disk.display(),
        agrail = env!("CARGO_BIN_EXE_agrail"),
        config = config.display(),
        home = home.path().display(),
    );
    let status = Command::new("unshare").args(["-m", "sh", "-c", &script]).stderr(Stdio::null()).status();
    if !matches!(status, Ok(s) if s.success()) {
        println!("skipped: no mount namespace of its own can be made here");
        return;
    }
    let read = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
    let id = serde_json::from_str::<serde_json::Value>(&read("first")).unwrap()["id"].as_str().unwrap().to_owned();
    assert!(matches!(read("code").trim(), "1" | "2"), "a full disk must not allow: {}", read("code"));
    let told = |err: &str| ["space", "written", "I/O"].iter().any(|word| err.contains(word));
    assert!(told(&read("err")), "{}", read("err"));
    assert!(read("log").contains(&id), "the first decision is lost: {}", read("log"));
}
