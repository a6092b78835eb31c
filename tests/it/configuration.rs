//! Layers of the configuration, its reload under a running service, and the log.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn agrail(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    command
}

/// Exit code, what was printed, and what was said of errors.
fn ran(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn later_layers_win_and_each_setting_says_where_it_was_set() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("agrail.toml");
    fs::write(&file, "[guard]\non_failure = \"ask\"\nunknown_programs = \"deny\"\n[memory]\noff = true\n").unwrap();
    let show = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = agrail(home.path());
        command.arg("--config").arg(&file).args(arguments).envs(variables.iter().copied());
        ran(&mut command)
    };
    let from_environment = [("AGRAIL_GUARD__UNKNOWN_PROGRAMS", "allow"), ("AGRAIL_SERVE__AT_ONCE", "7")];
    let set = ["--set", "serve.at_once=9", "--set", "memory.path=/tmp/m.db"];
    let (code, shown, _) = show(&[&set[..], &["config", "show", "--json"]].concat(), &from_environment);
    assert_eq!(code, 0);
    let settings: Vec<Value> = serde_json::from_str(&shown).unwrap();
    let of = |key: &str| {
        let found = settings.iter().find(|setting| setting["key"] == key).unwrap();
        (found["value"].clone(), found["origin"].as_str().unwrap().to_owned())
    };
    let of_file = file.display().to_string();
    assert_eq!(of("guard.on_failure"), (json!("ask"), of_file.clone()));
    assert_eq!(of("memory.off"), (json!(true), of_file));
    assert_eq!(
        of("guard.unknown_programs"),
        (json!("allow"), "the environment: AGRAIL_GUARD__UNKNOWN_PROGRAMS".to_owned())
    );
    assert_eq!(of("serve.at_once"), (json!(9), "--set serve.at_once".to_owned()));
    assert_eq!(of("memory.path"), (json!("/tmp/m.db"), "--set memory.path".to_owned()));
    assert_eq!(of("audit.off"), (json!(false), "default".to_owned()));
    assert_eq!(of("guard.deadline_ms"), (json!(5000), "default".to_owned()));
    let (_, table, _) = show(&["config", "show", "--origin"], &from_environment);
    assert!(table.lines().any(|l| l.contains("serve.at_once") && l.contains("AGRAIL_SERVE__AT_ONCE")), "{table}");
    // what is shown can be read again
    let (_, text, _) = show(&["config", "show"], &[]);
    let again: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(again["guard"]["on_failure"].as_str(), Some("ask"));

    // they do something
    let frobnicate = ["check", "--no-memory", "--user", "nobody", "--shell", "frobnicate"];
    assert_eq!(show(&frobnicate, &[]).0, 2);
    assert_eq!(show(&frobnicate, &from_environment).0, 0);
    assert_eq!(show(&[&["--set", "guard.unknown_programs=ask"][..], &frobnicate].concat(), &from_environment).0, 3);
}

#[test]
fn a_wrong_setting_is_told_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str], variables: &[(&str, &str)]| {
        let (code, _, said) = ran(agrail(home.path()).args(arguments).envs(variables.iter().copied()));
        assert_eq!(code, 1, "{said}");
        said
    };
    let check = ["check", "--no-memory", "--shell", "ls"];
    let said = told(&check, &[("AGRAIL_GUARD__DEADLINE_MS", "soon")]);
    assert!(said.contains("AGRAIL_GUARD__DEADLINE_MS") && said.contains("soon"), "{said}");
    let said = told(&check, &[("AGRAIL_GUARD__NO_SUCH", "1")]);
    assert!(said.contains("no_such") && said.contains("on_failure"), "{said}");
    for (set, says) in [
        ("guard.no_such=1", "no_such"),
        ("guard.deadline_ms=soon", "--set guard.deadline_ms"),
        ("guard", "SECTION.KEY=VALUE"),
        ("on_failure=ask", "SECTION.KEY=VALUE"),
        ("guard.on_failure=allow", "never allow"),
    ] {
        let said = told(&[&["--set", set][..], &check].concat(), &[]);
        assert!(said.contains(says), "{set}: {said}");
    }
    let file = home.path().join("a.toml");
    fs::write(&file, "[guard]\non_failure = 3\n").unwrap();
    let said = told(&["--config", file.to_str().unwrap(), "config", "check"], &[]);
    assert!(said.contains("a.toml") && said.contains("line 2"), "{said}");
    fs::write(&file, "[policy]\nfiles = [\"gone.cedar\"]\n").unwrap();
    let said = told(&["--config", file.to_str().unwrap(), "config", "check"], &[]);
    assert!(said.contains("gone.cedar"), "{said}");
    fs::write(&file, "[profiles]\nfolders = [\"empty\"]\n").unwrap();
    let said = told(&["--config", file.to_str().unwrap(), "config", "check"], &[]);
    assert!(said.contains("neither policy.cedar nor calls.toml"), "{said}");
    // a hook with a wrong setting blocks
    let (code, out, _) = ran(agrail(home.path()).args(["--set", "guard.no_such=1", "hook", "claude-code"]));
    assert_eq!((code, out.as_str()), (2, ""));
    let (code, out, _) = ran(agrail(home.path()).args(["hook", "claude-code"]).env("AGRAIL_LOG", "loud"));
    assert_eq!((code, out.as_str()), (2, ""));
    let unwritable = home.path().join("no/such/folder.log");
    let mut hook = agrail(home.path());
    hook.args(["hook", "claude-code"]).env("AGRAIL_LOG", "debug").env("AGRAIL_LOG_FILE", unwritable);
    assert_eq!(ran(&mut hook).0, 2);
}

#[test]
fn the_log_tells_each_stage_and_nothing_of_what_was_asked() {
    let home = tempfile::tempdir().unwrap();
    let secret = "sk-live-0123456789abcdefghij";
    let command = format!("frobnicate --key {secret} /srv/b");
    let check = ["--log", "trace", "check", "--user", "nobody", "--shell", &command];
    let (code, _, log) = ran(agrail(home.path()).args(check));
    assert_eq!(code, 3);
    for span in
        ["origin", "understand", "effects", "facts", "screen", "paraphrase", "analyze", "execute", "record", "audit"]
    {
        assert!(log.contains(span), "{span}: {log}");
    }
    assert!(log.contains("decided") && log.contains("decision=ask") && log.contains("time.busy"), "{log}");
    for hidden in [secret, "frobnicate", "/srv/b"] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
    // standard error of a hook is read by its host: the log goes to a file, or nowhere
    let event = json!({"session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": format!("echo {secret}")}});
    let hook = |file: Option<&Path>| {
        let mut command = agrail(home.path());
        command.args(["hook", "claude-code", "--user", "user"]).env("AGRAIL_LOG", "debug");
        if let Some(file) = file {
            command.env("AGRAIL_LOG_FILE", file);
        }
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(hook(None), "");
    let file = home.path().join("hook.log");
    assert_eq!(hook(Some(&file)), "");
    let log = fs::read_to_string(file).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["fields"]["decision"] == "allow"), "{log}");
    assert!(!log.contains(secret));
}

/// A service that ends with the test.
struct Served {
    child: Child,
    url: String,
    token: String,
    said: std::sync::mpsc::Receiver<String>,
}

impl Served {
    fn start(home: &Path, file: &Path) -> Self {
        let mut command = agrail(home);
        command.arg("--config").arg(file).args(["serve", "--listen", "127.0.0.1:0", "--user", "user"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let link = lines.by_ref().map_while(Result::ok).find_map(|l| l.strip_prefix("console: ").map(str::to_owned));
        let link = link.unwrap();
        let (url, token) = link.split_once("/#token=").unwrap();
        let (url, token) = (url.to_owned(), token.to_owned());
        let (tell, said) = std::sync::mpsc::channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || errors.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, url, token, said }
    }

    async fn post(&self, path: &str, token: Option<&str>, body: Value) -> (u16, Value) {
        let mut request = reqwest::Client::new().post(format!("{}{path}", self.url)).body(body.to_string());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn decision(&self, command: &str) -> Value {
        let action = json!({"action": {"type": "shell", "command": command}});
        self.post("/v1/check", None, action).await.1["decision"].clone()
    }

    async fn reload(&self) -> (u16, Value) {
        self.post("/v1/reload", Some(&self.token), json!({})).await
    }

    fn hang_up(&self) -> String {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::HUP).unwrap();
        self.said.recv_timeout(Duration::from_secs(30)).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const RULE: &str = r#"
@id("no-uptime")
@category("integrity")
@check("uptime")
@reason("nobody looks at the load here")
forbid(principal, action == Action::"list", resource) when { resource.name == "/tmp" };
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_is_whole_or_nothing_and_what_is_weaker_is_logged() {
    let home = tempfile::tempdir().unwrap();
    let (file, policy) = (home.path().join("agrail.toml"), home.path().join("team.cedar"));
    let write = |more: &str| fs::write(&file, format!("{more}\n[audit]\nfolder = \"log\"\n")).unwrap();
    fs::write(&policy, RULE).unwrap();
    write("[policy]\nfiles = [\"team.cedar\"]");
    let served = Served::start(home.path(), &file);
    assert_eq!(served.decision("ls /tmp").await, "deny");
    assert_eq!(served.post("/v1/reload", None, json!({})).await.0, 401);

    // broken: everything stays as it was, and that is logged
    fs::write(&policy, "forbid(").unwrap();
    let (status, said) = served.reload().await;
    assert_eq!(status, 409);
    assert!(said["error"].as_str().unwrap().contains("team.cedar"), "{said}");
    assert_eq!(served.decision("ls /tmp").await, "deny");
    let said = served.hang_up();
    assert!(said.contains("not reloaded") && said.contains("team.cedar"), "{said}");
    write("[policy]\nfile = 1");
    assert_eq!(served.reload().await.0, 409);
    assert_eq!(served.decision("ls /tmp").await, "deny");

    // the same again is no change
    fs::write(&policy, RULE).unwrap();
    write("[policy]\nfiles = [\"team.cedar\"]");
    let (status, same) = served.reload().await;
    assert_eq!(status, 200, "{same}");
    assert_eq!((&same["before"], &same["weaker"]), (&same["after"], &json!([])));

    // weaker: neither a signal nor an operator who does not say so is enough
    write("[guard]\nunknown_programs = \"allow\"");
    let said = served.hang_up();
    assert!(said.contains("not reloaded") && said.contains("no-uptime") && said.contains("not known"), "{said}");
    let (status, refused) = served.reload().await;
    assert!(status == 409 && refused["error"].as_str().unwrap().contains("\"weaker\": true"), "{refused}");
    assert_eq!(served.decision("ls /tmp").await, "deny");
    assert_eq!(served.post("/v1/reload", Some(&served.token), json!({"weaker": 1})).await.0, 400);
    let accepted = served.post("/v1/reload", Some(&served.token), json!({"weaker": true})).await;
    assert_eq!(accepted.0, 200, "{}", accepted.1);
    assert_eq!(served.decision("ls /tmp").await, "allow");
    let (status, stronger) = {
        write("[policy]\nfiles = [\"team.cedar\"]");
        served.reload().await
    };
    assert_eq!((status, &stronger["weaker"]), (200, &json!([])), "{stronger}");
    assert_eq!(served.decision("ls /tmp").await, "deny");

    // both digests are in the log, which is whole
    let (code, log, _) = ran(agrail(home.path()).arg("--config").arg(&file).args(["audit", "show", "--json"]));
    assert_eq!(code, 0);
    let (before, after) = (stronger["before"].as_str().unwrap(), stronger["after"].as_str().unwrap());
    assert_ne!(before, after);
    let weakened = log.lines().find(|line| line.contains("WEAKER")).unwrap();
    assert!(weakened.contains(before) && weakened.contains(after) && weakened.contains("SIGHUP"), "{weakened}");
    assert!(
        log.lines().any(|line| line.contains("WEAKER") && line.contains("console read the configuration")),
        "{log}"
    );
    assert!(log.contains("it stays as it was"), "{log}");
    assert_eq!(ran(agrail(home.path()).arg("--config").arg(&file).args(["audit", "verify"])).0, 0);
}

#[test]
fn only_what_is_not_there_is_absent() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/agrail");
    let file = folder.join("config.toml");
    let check = |more: &[&str]| {
        let mut command = agrail(home.path());
        ran(command.args(more).args(["check", "--shell", "ls /", "--user", "user", "--root"]).arg(home.path()))
    };
    let hook = || {
        let mut command = agrail(home.path());
        let mut child =
            command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let event = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
        let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
        child.wait_with_output().unwrap().status.code()
    };
    assert_eq!(check(&[]).0, 0, "there is none");
    fs::create_dir_all(&folder).unwrap();
    fs::write(&file, "[guard]\nunknown_programs = \"deny\"\n").unwrap();
    assert_eq!(check(&[]).0, 0);
    for emptied in ["", " \n\n"] {
        fs::write(&file, emptied).unwrap();
        let (code, _, says) = check(&[]);
        assert!(code == 1 && says.contains("is empty"), "{says}");
        assert_eq!(hook(), Some(2));
    }
    // a folder above it that cannot be entered, or is none
    fs::remove_file(&file).unwrap();
    fs::remove_dir(&folder).unwrap();
    fs::write(&folder, "a file").unwrap();
    let (code, _, says) = check(&[]);
    assert!(code == 1 && says.contains("cannot tell"), "{says}");
    assert_eq!(hook(), Some(2));
    fs::remove_file(&folder).unwrap();
    // a link that leads nowhere, and a folder of that name
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/nowhere", &file).unwrap();
    assert_eq!(check(&[]).0, 1);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(check(&[]).0, 1);
    // what is named so is no configuration on purpose
    assert_eq!(check(&["--config", "/dev/null"]).0, 0);
}

#[test]
fn an_emptied_policy_is_a_failure() {
    let home = tempfile::tempdir().unwrap();
    let (file, policy) = (home.path().join("agrail.toml"), home.path().join("team.cedar"));
    fs::write(&file, "[policy]\nfiles = [\"team.cedar\"]\n").unwrap();
    let check = || {
        ran(agrail(home.path()).arg("--config").arg(&file).args(["check", "--shell", "ls /tmp", "--user", "nobody"]))
    };
    fs::write(&policy, RULE).unwrap();
    assert_eq!(check().0, 2);
    for text in ["", "// nothing any more\n"] {
        fs::write(&policy, text).unwrap();
        let (code, _, says) = check();
        assert!(code == 1 && says.contains("team.cedar"), "{says}");
    }
    fs::write(&policy, RULE).unwrap();
    fs::write(home.path().join("team.examples.toml"), "").unwrap();
    assert_eq!(check().0, 1, "emptied examples prove nothing");
}

/// Somebody writes the file in place, piece by piece, while it is read: no reader sees less than the whole.
#[test]
fn a_file_that_is_being_written_is_read_whole_or_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("agrail.toml");
    let text = "[guard]\nunknown_programs = \"deny\"\n[memory]\noff = true\n[audit]\noff = true\n";
    fs::write(&file, text).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let mut out = fs::File::create(&file).unwrap();
                for line in text.lines() {
                    writeln!(out, "{line}").unwrap();
                    std::thread::sleep(Duration::from_millis(7));
                }
                std::thread::sleep(Duration::from_millis(150));
            }
        });
        for _ in 0..12 {
            let mut command = agrail(home.path());
            let (code, said, _) =
                ran(command.arg("--config").arg(&file).args(["check", "--shell", "frobnicate x", "--user", "nobody"]));
            assert!(code == 2 || code == 1, "{code} {said}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_profile_decides_the_same_by_name_and_by_folder() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("agrail.toml");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("eval/profiles/ehr");
    let action = home.path().join("action.json");
    let decide = |settings: &str, source: &str| {
        fs::write(&file, settings).unwrap();
        let context = json!({"agent": "ehr", "identity": {"name": "n", "roles": ["nursing"]}});
        let body = json!({"action": {"type": "code", "language": "python", "source": source}, "context": context});
        fs::write(&action, body.to_string()).unwrap();
        ran(agrail(home.path()).arg("--config").arg(&file).args(["check", "--json", "--action"]).arg(&action)).0
    };
    let by_folder = format!("[profiles]\nfolders = [{:?}]\n", folder.to_str().unwrap());
    // exit codes: 0 allow, 2 deny, 3 ask
    for settings in ["[policy]\nfiles = [\"ehr\", \"web\"]\n", &by_folder] {
        assert_eq!(decide(settings, "x = GetValue(LoadDB('lab'), 'labname')"), 0, "{settings}");
        assert_eq!(decide(settings, "x = GetValue(LoadDB('cost'), 'cost')"), 2, "{settings}");
    }
    assert_eq!(
        decide("[policy]\nfiles = []\n", "x = GetValue(LoadDB('lab'), 'labname')"),
        3,
        "its functions are unknown without the profile"
    );
}
