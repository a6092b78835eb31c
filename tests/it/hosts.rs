//! The events of each host, recorded in runs or taken from its source code or documentation, and what they are read as.
//!
//! Each line of `data/hosts/HOST.jsonl` has `from` (how the event is known), `event`, and `is`: what the event is read as.
//! `AGRAIL_REREAD=1` writes `is` again; read the differences.

use agrail::hook::{Event, Host, Kind};
use agrail::session::Author;
use agrail::{Action, Decision, Guard, Identity};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn file(host: Host) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/data/hosts/{}.jsonl", host.name()))
}

fn first(text: &str) -> String {
    text.chars().take(120).collect()
}

/// What an event is read as.
fn read(host: Host, event: &Value) -> Vec<String> {
    let event = match Event::parse(host, event.to_string().as_bytes()) {
        Ok(event) => event,
        Err(problem) => return vec![format!("error: {problem}")],
    };
    match event.kind() {
        Kind::Ignored => vec!["ignored".to_owned()],
        Kind::UserPrompt => {
            let attached = event.attached().map(|seen| first(seen.text.expose_untrusted()));
            let said = if event.is_the_users() { event.prompt() } else { "not the user's" };
            [Some(format!("prompt: {}", first(said))), attached.map(|text| format!("attached: {text}"))]
                .into_iter()
                .flatten()
                .collect()
        }
        Kind::PreToolUse => match event.actions() {
            Err(problem) => vec![format!("error: {problem}")],
            Ok(actions) if actions.is_empty() => vec!["before: nothing outside the conversation".to_owned()],
            Ok(actions) => actions.iter().map(|action| format!("before: {}", in_words(action))).collect(),
        },
        Kind::PostToolUse => {
            let by = match event.author() {
                None => "own",
                Some(Author::User) => "user",
                Some(_) => "anyone",
            };
            let returned = event.returned().unwrap_or_default();
            let text = returned.observation.map(|seen| first(seen.text.expose_untrusted()));
            let unread = returned.unread.map(|what| format!("unread: {what}"));
            [Some(format!("after {}: {by}", event.tool())), text, unread].into_iter().flatten().collect()
        }
    }
}

fn in_words(action: &Action) -> String {
    match action {
        Action::Shell { command, cwd } => {
            format!("in {}: {command}", cwd.as_deref().unwrap_or(Path::new("?")).display())
        }
        Action::Fetch { url } => format!("fetch {url}"),
        Action::Code { language, source } => format!("{language}: {}", first(source)),
        Action::ToolCall { server, tool, arguments } => {
            let server = server.as_ref().map(|server| format!("{server}: ")).unwrap_or_default();
            format!("{server}{tool} {}", first(&arguments.to_string()))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn the_events_of_each_host_are_read() {
    for host in Host::ALL.iter().filter(|host| !matches!(host, Host::Generic | Host::OpenCode)) {
        let text = std::fs::read_to_string(file(*host)).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let read: Vec<Value> = lines.iter().map(|line| json!(read(*host, &line["event"]))).collect();
        if std::env::var_os("AGRAIL_REREAD").is_some() {
            let again = lines
                .iter()
                .zip(&read)
                .map(|(line, is)| format!("{}\n", json!({"from": line["from"], "event": line["event"], "is": is})));
            std::fs::write(file(*host), again.collect::<String>()).unwrap();
            continue;
        }
        for (line, is) in lines.iter().zip(&read) {
            assert_eq!(is, &line["is"], "{}: {}", host.name(), line["event"]);
        }
    }
}

/// Everything that a host may be told of a denied call, an open question and a failure blocks the call there.
#[tokio::test]
async fn each_host_is_told_no_in_its_own_words() {
    let guard = Guard::builder().build().unwrap();
    let context = agrail::Context::new(Identity::default(), None);
    let verdict =
        async |command: &str| guard.check(&Action::Shell { command: command.to_owned(), cwd: None }, &context).await;
    let (deny, ask) = (verdict("rm -rf /usr").await, verdict("frobnicate").await);
    assert_eq!((deny.decision, ask.decision), (Decision::Deny, Decision::Ask));
    for host in Host::ALL {
        let answers = [
            host.answer(&deny, true, false),
            host.answer(&deny, false, true),
            host.answer(&ask, true, false),
            host.blocks("the guard failed"),
        ];
        for answer in answers {
            assert!(host.is_blocked_by(answer.code.into(), &answer.stdout), "{host:?}: {answer:?}");
            let reason = format!("{}{}", answer.stdout, answer.stderr);
            assert!(reason.contains("agrail") && !reason.contains("REASON") && !reason.contains("EVENT"), "{reason}");
        }
        let silence = host.silence();
        assert!(silence.code == 0 && matches!(silence.stdout.trim(), "" | "{}"), "{host:?}");
        assert!(!host.is_blocked_by(0, &silence.stdout) && !host.is_blocked_by(1, "") && !host.is_blocked_by(0, "x"));
        let event = Event::parse(*host, host.sample("rm -rf /etc").to_string().as_bytes()).unwrap();
        assert!(
            matches!(&event.actions().unwrap()[..], [Action::Shell { command, .. }] if command == "rm -rf /etc"),
            "{host:?}: {}",
            host.sample("rm -rf /etc")
        );
    }
}

/// Whatever a host sends is decided or an error, and a call that is cut, doubled or of the wrong type is never ignored.
#[test]
fn damaged_events_are_not_ignored() {
    for host in Host::ALL.iter().filter(|host| !matches!(host, Host::Generic | Host::OpenCode)) {
        let text = std::fs::read_to_string(file(*host)).unwrap();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let event = &line["event"];
            let kind = |event: &Value| Event::parse(*host, event.to_string().as_bytes()).map(|event| event.kind());
            if !matches!(kind(event), Ok(Kind::PreToolUse)) {
                continue;
            }
            let whole = event.to_string();
            for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
                assert!(Event::parse(*host, &whole.as_bytes()[..end]).is_err(), "{end}: {whole}");
            }
            for key in event.as_object().unwrap().keys() {
                for value in [json!(null), json!(7), json!([]), json!({"a": [1]}), json!("\u{0}"), json!("")] {
                    let mut damaged = event.clone();
                    damaged[key.as_str()] = value;
                    let found = kind(&damaged);
                    assert!(!matches!(found, Ok(Kind::Ignored | Kind::UserPrompt)), "{host:?} {damaged}: {found:?}");
                    if let Ok(event) = Event::parse(*host, damaged.to_string().as_bytes()) {
                        let _ = (event.actions(), event.returned(), event.author(), event.call(), event.session());
                    }
                }
            }
        }
    }
}

/// Runs a command line as a host does: the event on standard input. Exit code, standard output and error.
fn run(home: &Path, line: &str, event: &str) -> (i32, String, String) {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", line]).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("USER", "root");
    command.current_dir(home).stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_hook_of_each_host_is_installed_asked_and_removed() {
    let agrail = env!("CARGO_BIN_EXE_agrail");
    for host in Host::installable() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path();
        std::fs::create_dir_all(home.join(".config/agrail")).unwrap();
        // no guard stays behind
        std::fs::write(home.join(".config/agrail/config.toml"), "[hook]\ndaemon = false\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(120));
        let name = host.name();
        let (code, said, err) = run(home, &format!("{agrail} install {name}"), "");
        assert_eq!(code, 0, "{name}: {said}{err}");
        let settings = host.settings(agrail::hook::install::Scope::User).unwrap().unwrap();
        let file = home.join(settings.path);
        let file = settings.scripts.first().map_or(file.clone(), |script| file.join(script));
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = agrail::hook::install::installed(host, &text).unwrap();
        assert_eq!(lines.len(), 1, "{name}: {text}");
        // an event that cannot be read blocks, and so does a guard that is not there
        for line in [lines[0].clone(), lines[0].replace("agrail-hook", "no-such-hook")] {
            for event in ["{\"hook_event_name\": ", &host.sample("rm -rf /etc").to_string()] {
                let (code, out, err) = run(home, &line, event);
                assert!(host.is_blocked_by(code, &out), "{name}: {code} {out} {err}");
                assert!(out.contains("agrail") || err.contains("agrail"), "{name}: a reason: {out} {err}");
            }
        }
        let said = run(home, &lines[0], &host.sample("ls").to_string());
        assert!(said.0 == 0 && said.1.trim() == host.silence().stdout.trim(), "{name}: {said:?}");
        let (code, said, _) = run(home, &format!("{agrail} install {name}"), "");
        assert!(code == 0 && said.contains("nothing to change"), "{name}: {said}");
        let (code, said, err) = run(home, &format!("{agrail} install {name} --uninstall"), "");
        assert!(code == 0 && !file.exists(), "{name}: {said}{err}");
    }
}

#[test]
fn settings_that_were_there_before_come_back_to_the_byte() {
    let agrail = env!("CARGO_BIN_EXE_agrail");
    for before in ["{\"model\":\"x\",   \"env\": {\"A\": \"1\"}}", "{}"] {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(".claude/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, before).unwrap();
        assert_eq!(run(place.path(), &format!("{agrail} install claude-code"), "").0, 0);
        assert_ne!(std::fs::read_to_string(&file).unwrap(), before);
        assert_eq!(run(place.path(), &format!("{agrail} install claude-code --uninstall"), "").0, 0);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
}
