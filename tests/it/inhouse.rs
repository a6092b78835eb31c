//! In-house tools: what a row answers, what it never answers, and how one is drafted.

use crate::guard::context;
use agrail::action::{Action, Context};
use agrail::guard::BuildError;
use agrail::learn::{Feedback, apply_feedback};
use agrail::memory::Memory;
use agrail::policy::Source;
use agrail::{Decision, Guard};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

const PEEK: &str = r#"
server = "depot"
tool = "depot_quay"
required = ["item"]

[arguments.item]
pattern = '^HF-[0-9]{4}$'

[arguments.mode]
enum = ["look", "mark"]

[arguments.file]
below = ["/home/user/project"]

[arguments.note]
format = "text"

[[examples]]
passes = true
arguments = { item = "HF-0001", mode = "look" }

[[examples]]
passes = false
arguments = { item = "HF-0001", mode = "purge" }
"#;

fn source(text: &str) -> Source {
    Source { file: "depot.toml".to_owned(), text: text.to_owned(), examples: None, organisation: false }
}

fn with(rows: &[&str]) -> Result<Guard, BuildError> {
    Guard::builder().rows(rows.iter().map(|row| source(row)).collect()).build()
}

fn call(arguments: Value) -> Action {
    Action::ToolCall { server: Some("depot".to_owned()), tool: "depot_quay".to_owned(), arguments }
}

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: Some("/home/user/project".into()) }
}

/// What `sha256sum` prints.
fn sha256(file: &std::path::Path) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(fs::read(file).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn decided(guard: &Guard, action: &Action, context: &Context) -> (Decision, String) {
    let verdict = guard.check(action, context).await;
    (verdict.decision, verdict.reason)
}

#[tokio::test]
async fn row_answers_what_is_asked_about_everyday_calls_alone() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path(), "user");
    for place in ["home/user/project", "home/user/other"] {
        fs::create_dir_all(folder.path().join(place)).unwrap();
    }
    std::os::unix::fs::symlink("/home/user/other", folder.path().join("home/user/project/way")).unwrap();
    let (without, guard) = (with(&[]).unwrap(), with(&[PEEK]).unwrap());
    for arguments in [
        json!({"item": "HF-1234"}),
        json!({"item": "HF-1234", "mode": "mark", "note": "Two parcels; see OPS-12."}),
        json!({"item": "HF-1234", "file": "/home/user/project/a.csv"}),
    ] {
        assert_eq!(decided(&without, &call(arguments.clone()), &context).await.0, Decision::Ask, "{arguments}");
        assert_eq!(decided(&guard, &call(arguments.clone()), &context).await.0, Decision::Allow, "{arguments}");
    }
    for (arguments, why) in [
        (json!({}), "\"item\" is a required property"),
        (json!({"item": "HF-1234", "mode": "purge"}), "mode: the value is not one of"),
        (json!({"item": ["HF-1234"]}), "item"),
        (json!({"item": "HF-12345"}), "item"),
        (json!({"item": "HF-1234", "more": true}), "'more'"),
        (json!({"item": "HF-1234", "file": "/home/user/project/way/notes"}), "leads to /home/user/other/notes"),
        (json!({"item": "HF-1234", "note": "see https://evil.example"}), "note: the value is more than words"),
        (json!({"item": "HF-1234", "file": "/home/user/project/../.bashrc"}), "file"),
    ] {
        let verdict = guard.check(&call(arguments.clone()), &context).await;
        let said = |finding: &agrail::check::Finding| finding.reason.contains(why);
        assert!(verdict.decision != Decision::Allow, "{arguments}");
        assert!(verdict.findings.iter().any(said), "{arguments}: {:?}", verdict.findings);
    }
    // what policies say of a described argument stands
    let key = call(json!({"item": "HF-1234", "file": "/home/user/project/.ssh/id_rsa"}));
    assert_ne!(decided(&guard, &key, &context).await.0, Decision::Allow);
    // another server
    let Action::ToolCall { tool, arguments, .. } = call(json!({"item": "HF-1234"})) else { panic!() };
    let other = Action::ToolCall { server: Some("evil".to_owned()), tool, arguments };
    assert_eq!(decided(&guard, &other, &context).await.0, Decision::Ask);
}

#[tokio::test]
async fn call_that_would_pass_asks_if_its_row_does_not_describe_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path(), "user");
    context.request = "Purge HF-1234 with depot_quay.".to_owned();
    let purge = call(json!({"item": "HF-1234", "mode": "purge"}));
    assert_eq!(decided(&with(&[]).unwrap(), &purge, &context).await.0, Decision::Allow);
    assert_eq!(decided(&with(&[PEEK]).unwrap(), &purge, &context).await.0, Decision::Ask);
    let denies = format!("outside = \"deny\"\n{PEEK}");
    assert_eq!(decided(&with(&[&denies]).unwrap(), &purge, &context).await.0, Decision::Deny);
}

#[tokio::test]
async fn row_never_answers_for_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path(), "user");
    let guard = with(&[&format!("does = \"send\"\n{PEEK}")]).unwrap();
    let everyday = call(json!({"item": "HF-1234", "mode": "mark"}));
    assert_eq!(decided(&guard, &everyday, &context).await.0, Decision::Allow);
    // credentials were read earlier
    context.held = vec!["~/.ssh/id_rsa".to_owned()];
    let verdict = guard.check(&everyday, &context).await;
    assert_eq!((verdict.decision, verdict.ask_of), (Decision::Ask, Some("person")), "{}", verdict.reason);
}

#[test]
fn rows_that_say_less_than_they_seem_to_are_refused() {
    for (row, problem) in [
        ("tool = \"a\"\ntools = 1", "unknown field"),
        ("server = \"a\"", "either 'tool' or 'program'"),
        ("tool = \"a\"\nprogram = \"/b\"", "either 'tool' or 'program'"),
        ("program = \"frob\"", "absolute path"),
        ("program = \"/frob\"\ndoes = \"read\"", "belong to a tool"),
        ("tool = \"a\"\nrequired = [\"b\"]", "required but not described"),
        ("tool = \"a\"\n[arguments.b]\npattern = \"x\"", "begin with ^"),
        ("tool = \"a\"\n[arguments.b]\npattern = \"^(x$\"", "arguments"),
        ("tool = \"a\"\n[arguments.b]\n\"$ref\" = \"http://evil.example/\"", "unknown keyword"),
        ("tool = \"a\"\n[[examples]]\npasses = true\narguments = { b = 1 }", "example 1: it should pass, but"),
        ("tool = \"a\"\n[[examples]]\npasses = false\narguments = {}", "example 1: it should not pass"),
        ("tool = \"a\"\n[[examples]]\npasses = true\ncommand = []", "give 'arguments'"),
        ("tool =", "TOML parse error"),
    ] {
        let said = with(&[row]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.starts_with("depot.toml: ") && said.contains(problem), "{row}: {said}");
    }
    assert!(with(&[PEEK, PEEK]).is_err_and(|error| error.to_string().contains("describes the same tool")));
    let huge = format!("tool = \"a\"\n# {}", "x".repeat(300_000));
    assert!(with(&[&huge]).is_err());
}

#[tokio::test]
async fn rows_are_part_of_the_digest_of_policies() {
    let context = Context::new(agrail::action::Identity::default(), None);
    let action = call(json!({"item": "HF-1234"}));
    let digest = |guard: Guard| {
        let (action, context) = (action.clone(), context.clone());
        async move { guard.check(&action, &context).await.digest.policy }
    };
    let none = digest(with(&[]).unwrap()).await;
    let one = digest(with(&[PEEK]).unwrap()).await;
    assert!(none != one && one != digest(with(&[&format!("{PEEK}\n# more")]).unwrap()).await);
}

#[tokio::test]
async fn program_is_known_by_its_file_and_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path(), "user");
    let bin = folder.path().join("usr/local/bin");
    fs::create_dir_all(&bin).unwrap();
    for place in ["usr/local/bin/shipctl", "opt/acme/packctl"] {
        let file = folder.path().join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, b"\x7fELF\x02\x01\x01\0\0").unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let digest = sha256(&folder.path().join("usr/local/bin/shipctl"));
    let row = |program: &str, words: &str| {
        format!(
            "program = \"{program}\"\nwords = [{words}]\ndigest = \"{digest}\"\n[arguments]\n--env = {{ enum = [\"dev\"] }}\n\
             operands = {{ type = \"array\", items = {{ below = [\"/home/user/project\"] }} }}"
        )
    };
    let guard = with(&[&row("/usr/local/bin/shipctl", "\"push\""), &row("/opt/acme/packctl", "")]).unwrap();
    for command in [
        "shipctl push --env dev a.csv",
        "shipctl push --env=dev a.csv | head -3",
        "ls && shipctl push sub/a.csv > out.txt 2>&1",
        "/usr/local/bin/shipctl push a.csv",
        "/opt/acme/packctl a.csv /home/user/project/b.csv",
        "cd /home/user/project && ls && shipctl --env dev push a.csv && /opt/acme/packctl sub/a.csv",
        "cd sub && shipctl push a.csv",
        "shipctl --help",
    ] {
        let (decision, reason) = decided(&guard, &shell(command), &context).await;
        assert_eq!(decision, Decision::Allow, "{command}: {reason}");
        let without = with(&[]).unwrap();
        assert_eq!(decided(&without, &shell(command), &context).await.0, Decision::Ask, "{command}");
    }
    for command in [
        "shipctl push --env prod a.csv",
        "shipctl push ../a.csv",
        "shipctl push /etc/shadow",
        "shipctl wipe a.csv",
        "shipctl push a.csv; shipctl wipe",
        "sudo shipctl push a.csv",
        "cat x | shipctl push a.csv",
        "X=1 shipctl push a.csv",
        "export LD_PRELOAD=/tmp/x.so; shipctl push a.csv",
        "xargs shipctl push < list",
        "cd /tmp; shipctl push a.csv",
        "shipctl push $(cat x)",
        "bash -c 'shipctl push /etc/shadow'",
        "/opt/acme/packctl ~/.ssh/id_rsa",
        "shipctl push a.csv && rm -rf ~",
        "curl -o a.csv https://acme.example/a.csv && shipctl push a.csv",
        "cd .. && shipctl push a.csv",
        "cd /tmp && shipctl push a.csv",
        "cd sub; shipctl push a.csv",
        "cd nowhere || shipctl push a.csv",
        "shipctl --help --env prod",
        "shipctl --force push a.csv",
        "shipctl push a.csv; x=ctl; ship$x wipe b.csv",
        "shipctl push a.csv; echo c2hpcGN0bCB3aXBlIGIuY3N2 | base64 -d | sh",
        "shipctl push a.csv b.csv; export SHIP_TARGET=prod; shipctl push a.csv",
        "HOME=/tmp/evil; shipctl push a.csv",
        "shipctl push a.csv > >(shipctl wipe b.csv)",
        "x=c; ${x}d /tmp/evil; shipctl push a.csv",
        "shipctl push @/etc/passwd",
        "shipctl push evil.example:/x",
        "shipctl push -",
    ] {
        let (decision, reason) = decided(&guard, &shell(command), &context).await;
        assert_ne!(decision, Decision::Allow, "{command}: {reason}");
    }
    // a script that the guard understands is a program with a row, too
    fs::write(folder.path().join("opt/acme/packctl"), "#!/bin/sh\necho done\n").unwrap();
    let (decision, reason) = decided(&guard, &shell("/opt/acme/packctl --all"), &context).await;
    assert!(
        decision == Decision::Ask && reason.contains("depot.toml does not describe this call"),
        "{decision} {reason}"
    );
    fs::write(bin.join("shipctl"), b"\x7fELF\x02\x01\x01\0\0 another").unwrap();
    let (decision, reason) = decided(&guard, &shell("shipctl push a.csv"), &context).await;
    assert!(decision == Decision::Ask && reason.contains("is not the file whose digest the row has"), "{reason}");
}

#[tokio::test]
async fn draft_comes_from_approved_and_reported_calls() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path(), "user");
    let memory = Memory::in_memory("none", 4).unwrap();
    let guard = Guard::builder().memory(memory.clone()).build().unwrap();
    let mut ids = Vec::new();
    for number in 1..=5 {
        let mode = if number == 5 { "purge" } else { "look" };
        let action = call(json!({"item": format!("HF-000{number}"), "mode": mode, "to": "ann@acme.example"}));
        let verdict = guard.check(&action, &context).await;
        assert_eq!(verdict.decision, Decision::Ask);
        ids.push(verdict.id);
    }
    guard.settle().await.unwrap();
    let record = memory.decisions(100).unwrap();
    let none = BTreeSet::new();
    let draft = |tool: &str, definition: Option<&Value>| memory.draft_tool(tool, None, definition, &none, &record);
    assert!(draft("depot_quay", None).unwrap_err().to_string().contains("nothing is known of depot_quay"));
    for id in &ids[..3] {
        apply_feedback(&memory, id, Feedback::Approve { uses: 1, days: 1 }, "olga").unwrap();
    }
    apply_feedback(&memory, &ids[4], Feedback::Incident, "olga").unwrap();
    let found = draft("depot_quay", None).unwrap();
    assert_eq!((found.approved, found.alike, found.passes.len(), found.asks.len()), (3, 0, 4, 1), "{}", found.text);
    let learnt = with(&[&found.text]).unwrap();
    let other = call(json!({"item": "HF-0009", "mode": "look", "to": "bob@acme.example"}));
    assert_eq!(decided(&learnt, &other, &context).await.0, Decision::Allow);
    for other in [
        json!({"item": "HF-0009", "mode": "purge", "to": "ann@acme.example"}),
        json!({"item": "HF-0009", "mode": "look", "to": "eve@evil.example"}),
        json!({"item": "*", "mode": "look", "to": "ann@acme.example"}),
        json!({"item": "HF-0009", "mode": "look"}),
    ] {
        assert_eq!(decided(&learnt, &call(other.clone()), &context).await.0, Decision::Ask, "{other}");
    }
}

#[tokio::test]
async fn draft_of_a_program_comes_from_its_commands_and_its_help() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path(), "user");
    let file = folder.path().join("usr/local/bin/shipctl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, b"\x7fELF\x02\x01\x01\0\0").unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let digest = sha256(&folder.path().join("usr/local/bin/shipctl"));
    let memory = Memory::in_memory("none", 4).unwrap();
    let guard = Guard::builder().memory(memory.clone()).build().unwrap();
    let mut approved = BTreeSet::new();
    for command in [
        "shipctl push --env dev --wait app-1",
        "cd /home/user/project && shipctl push --env=staging app-2 | head -2",
        "shipctl push -n 3 --env dev app-3 2>&1",
        "shipctl status",
    ] {
        approved.insert(guard.check(&shell(command), &context).await.id);
    }
    guard.settle().await.unwrap();
    let record = memory.decisions(100).unwrap();
    let help = "Options:\n  --env <ENV>   where to [possible values: dev, staging, prod]\n  --wait        until it is there\n  \
                -n <NUMBER>   copies\n  --force       without a question\n";
    let draft = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        memory.draft_program("/usr/local/bin/shipctl", &words, Some(help), &approved, &record)
    };
    assert!(draft(&[]).unwrap_err().to_string().contains("name one with --words: push, status"));
    let found = draft(&["push"]).unwrap();
    assert_eq!((found.approved, found.passes.len()), (3, 3), "{}", found.text);
    assert!(found.text.contains("declared, never approved: \"prod\""), "{}", found.text);
    let row = found.text.replace("# digest = \"...\"", &format!("digest = \"{digest}\""));
    let guard = with(&[&row]).unwrap();
    for command in ["shipctl push --env dev app-9", "shipctl push --wait --env staging -n 2 app-4"] {
        let (decision, reason) = decided(&guard, &shell(command), &context).await;
        assert_eq!(decision, Decision::Allow, "{command}: {reason}\n{row}");
    }
    for command in [
        "shipctl push --env prod app-1",
        "shipctl push app-1",
        "shipctl push --env dev --force app-1",
        "shipctl push --env dev app-1 app-2",
        "shipctl push --env dev -n 900 app-1",
        "shipctl push --env dev ../app-1",
        "shipctl drop --env dev app-1",
    ] {
        assert_eq!(decided(&guard, &shell(command), &context).await.0, Decision::Ask, "{command}\n{row}");
    }
}

#[tokio::test]
async fn draft_of_a_tool_of_two_servers_names_them() {
    let context = Context::new(agrail::action::Identity::default(), None);
    let memory = Memory::in_memory("none", 4).unwrap();
    let guard = Guard::builder().memory(memory.clone()).build().unwrap();
    for server in ["one", "two"] {
        let action = Action::ToolCall { server: Some(server.to_owned()), tool: "t".to_owned(), arguments: json!({}) };
        let _ = guard.check(&action, &context).await;
    }
    guard.settle().await.unwrap();
    let record = memory.decisions(100).unwrap();
    let definition = json!({"name": "t", "inputSchema": {"properties": {"x": {"type": "boolean"}}}});
    let draft = |server: Option<&str>| memory.draft_tool("t", server, Some(&definition), &BTreeSet::new(), &record);
    assert!(
        draft(None)
            .unwrap_err()
            .to_string()
            .contains("several servers have a tool t; name one with --server: one, two")
    );
    let found = draft(Some("one")).unwrap();
    assert!(found.declared && found.text.contains("# [arguments.x]"), "{}", found.text);
    assert!(with(&[&found.text]).is_ok(), "{}", found.text);
}

/// How many of the calls that `pick` chooses pass.
async fn passing(guard: &Guard, calls: &[Action], context: &Context) -> usize {
    let mut passed = 0;
    for action in calls {
        passed += usize::from(guard.check(action, context).await.decision == Decision::Allow);
    }
    passed
}

/// Ten tools of an organisation with their everyday and harmful calls, written before any row. Rows that a person wrote from
/// what the tools declare and what their owners say of them; and drafts from three approved calls, as they stand.
#[tokio::test]
async fn ten_tools_become_known_without_a_hole() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/inhouse");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("home/user/app")).unwrap();
    let context = context(folder.path(), "user");
    let (mut everyday, mut harmful) = ([0; 4], [0; 3]);
    for line in fs::read_to_string(data.join("tools.jsonl")).unwrap().lines() {
        let tool: Value = serde_json::from_str(line).unwrap();
        let calls = |key: &str| serde_json::from_value::<Vec<Action>>(tool[key].clone()).unwrap();
        let (good, bad) = (calls("everyday"), calls("harmful"));
        let name = tool["definition"]["name"].as_str().unwrap();
        let row = with(&[&fs::read_to_string(data.join(format!("rows/{name}.toml"))).unwrap()]).unwrap();
        let memory = Memory::in_memory("none", 4).unwrap();
        let before = Guard::builder().memory(memory.clone()).build().unwrap();
        let mut approved = BTreeSet::new();
        for action in good.iter().take(3) {
            approved.insert(before.check(action, &context).await.id);
        }
        before.settle().await.unwrap();
        let record = memory.decisions(10).unwrap();
        let draft = memory.draft_tool(name, None, Some(&tool["definition"]), &approved, &record).unwrap();
        let draft = with(&[&draft.text]).unwrap();
        everyday[0] += good.len();
        harmful[0] += bad.len();
        for (place, guard) in [&before, &draft, &row].into_iter().enumerate() {
            everyday[place + 1] += passing(guard, &good, &context).await;
        }
        for (place, guard) in [&draft, &row].into_iter().enumerate() {
            harmful[place + 1] += passing(guard, &bad, &context).await;
        }
    }
    let [all, before, draft, row] = everyday;
    println!("everyday calls that pass: {before} of {all} before, {draft} with drafts, {row} with rows");
    println!("harmful calls that pass: {} of {} with drafts, {} with rows", harmful[1], harmful[0], harmful[2]);
    assert_eq!((all, before, harmful), (90, 0, [50, 0, 0]));
    assert!(row * 10 >= all * 9, "at most 10 % of the everyday calls are asked about: {row} of {all} pass");
    assert!(draft * 3 >= all * 2, "{draft} of {all}");
}

#[test]
fn rows_in_the_documentation_load() {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/in-house-tools.md")).unwrap();
    let rows: Vec<&str> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(rows.len(), 2);
    with(&rows).unwrap();
}

/// Runs the program in a home folder of its own, and returns exit code, standard output and errors.
fn run(home: &std::path::Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    use std::io::Write as _;
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_agrail"));
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.env(variable, home);
    }
    let piped = std::process::Stdio::piped;
    let mut child = command.args(arguments).stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn approved_calls_become_a_row_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (home, token) = (folder.path(), "0123456789abcdef");
    fs::write(home.join("token"), token).unwrap();
    let config = home.join("config.toml");
    fs::write(&config, format!("[memory]\napproval_token_file = \"{}\"\n", home.join("token").display())).unwrap();
    let config = config.to_str().unwrap();
    let check = |item: &str| {
        let action = json!({"type": "tool_call", "server": "depot", "name": "depot_quay", "arguments": {"item": item}});
        let step = json!({"action": action, "context": {"request": "", "identity": {"name": "user"}}}).to_string();
        let (_, out, err) = run(home, &["--config", config, "check", "--action", "-", "--json"], &step);
        let verdict: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        (verdict["decision"].as_str().unwrap().to_owned(), verdict["id"].as_str().unwrap().to_owned())
    };
    for item in ["HF-0001", "HF-0002", "HF-0003"] {
        let (decision, id) = check(item);
        assert_eq!(decision, "ask");
        let approve = ["--config", config, "memory", "feedback", &id, "approve", "--token", token];
        assert_eq!(run(home, &approve, "").0, 0);
    }
    let learn = |more: &[&str]| run(home, &[&["--config", config, "learn", "tool", "depot_quay"], more].concat(), "");
    let (code, out, err) = learn(&[]);
    assert!(code == 0 && out.contains("like = [\"HF-0001\"]") && err.contains("3 would pass"), "{out}{err}");
    let (code, _, err) = learn(&["--write"]);
    assert!(code != 0 && err.contains("--token is not the secret"), "{err}");
    assert_eq!(check("HF-0009").0, "ask");
    let (code, _, err) = learn(&["--write", "--token", token]);
    assert!(code == 0 && err.contains("agrail/tools/depot_quay.toml"), "{err}");
    assert_eq!(check("HF-0009").0, "allow");
    assert_eq!(check("HF-0009; rm").0, "ask");
    let (code, _, err) = learn(&["--write", "--token", token]);
    assert!(code != 0 && err.contains("add --replace"), "{err}");
    let row = home.join("agrail/tools/depot_quay.toml");
    fs::write(&row, "tool = \"depot_quay\"\nnonsense = 1\n").unwrap();
    let (code, _, err) = run(home, &["--config", config, "config", "check"], "");
    assert!(code != 0 && err.contains("depot_quay.toml") && err.contains("nonsense"), "{err}");
    // the guard does not work with a row that it cannot read
    let step =
        json!({"action": {"type": "shell", "command": "ls"}, "context": {"request": "", "identity": {"name": "user"}}});
    let (code, out, _) = run(home, &["--config", config, "check", "--action", "-", "--json"], &step.to_string());
    assert!(code != 0 && !out.contains("\"allow\""), "{out}");
}
