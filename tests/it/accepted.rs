//! A hook does not start with a configuration that is weaker than the one it last started with.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const RULE: &str = r#"@id("no-prod") @category("integrity") @check("production") @reason("it is in production")
forbid (principal, action == Action::"write", resource) when { resource.name like "/srv/prod/*" };
"#;
const OTHER: &str = r#"@id("no-lab") @category("integrity") @check("the lab") @reason("it is in the lab")
forbid (principal, action == Action::"write", resource) when { resource.name like "/srv/lab/*" };
"#;

struct Home(tempfile::TempDir);

impl Home {
    fn new(settings: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.path(".config/agrail")).unwrap();
        fs::write(home.path("token"), TOKEN).unwrap();
        home.configure(settings);
        home
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn configure(&self, settings: &str) {
        let token = self.path("token");
        let text = format!("{settings}\n[memory]\napproval_token_file = {token:?}\n[hook]\ndaemon = false\n");
        fs::write(self.path(".config/agrail/config.toml"), text).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
        command.env_clear().env("HOME", self.0.path()).env("PATH", "/usr/bin:/bin").env("USER", "user");
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Exit code of a hook for a command that nothing forbids, and what it says.
    fn hook(&self) -> (i32, String) {
        let event = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
        let mut child = self.command(&["hook", "claude-code"]).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn passes(&self) {
        let (code, says) = self.hook();
        assert_eq!((code, says.as_str()), (0, ""));
    }

    /// Blocked because of this, until a person accepts it.
    fn blocks(&self, because: &str) {
        let (code, says) = self.hook();
        assert!(code == 2 && says.contains("weaker") && says.contains(because), "{because}: {says}");
        let refused = self.command(&["config", "accept"]).output().unwrap();
        assert!(!refused.status.success(), "an agent has no terminal");
        assert_eq!(self.hook().0, 2);
        let accepted = self.command(&["config", "accept", "--token", TOKEN]).output().unwrap();
        let says = String::from_utf8(accepted.stdout).unwrap();
        assert!(accepted.status.success() && says.contains(because), "{says}");
        self.passes();
    }
}

fn events(log: &Path) -> String {
    let files = fs::read_dir(log).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    files.collect()
}

#[test]
fn weaker_settings_are_accepted_by_a_person() {
    let home = Home::new("[guard]\nunknown_programs = \"ask\"\n");
    home.passes();
    home.configure("[guard]\nunknown_programs = \"deny\"\n");
    home.passes();
    home.configure("[guard]\nunknown_programs = \"ask\"\n");
    home.blocks("guard.unknown_programs is less strict");
    assert!(events(&home.path(".local/state/agrail/audit")).contains("user accepted the configuration: guard.unknown"));
    home.configure("[guard]\nunknown_programs = \"ask\"\non_failure = \"ask\"\n");
    home.blocks("guard.on_failure is less strict");
}

#[test]
fn a_configuration_that_is_gone_is_a_weaker_one() {
    let home = Home::new("[guard]\nunknown_programs = \"deny\"\n");
    home.passes();
    fs::remove_file(home.path(".config/agrail/config.toml")).unwrap();
    let (code, says) = home.hook();
    assert!(code == 2 && says.contains("guard.unknown_programs is less strict"), "{says}");
}

#[test]
fn policies_may_be_added_but_not_changed_or_removed() {
    let home = Home::new("[policy]\nfiles = [\"team.cedar\"]\n");
    let policy = home.path(".config/agrail/team.cedar");
    fs::write(&policy, RULE).unwrap();
    home.passes();
    fs::write(&policy, format!("{RULE}{OTHER}")).unwrap();
    home.passes();
    fs::write(&policy, format!("{}{OTHER}", RULE.replace("/srv/prod/*", "/srv/prod/a/*"))).unwrap();
    home.blocks("policy no-prod");
    fs::write(&policy, OTHER).unwrap();
    home.blocks("is gone");
    home.configure("");
    home.blocks("policy no-lab");
}

#[test]
fn rows_about_tools_and_lost_databases_count() {
    let home = Home::new("");
    home.passes();
    let rows = home.path(".config/agrail/tools");
    fs::create_dir_all(&rows).unwrap();
    fs::write(rows.join("x.toml"), "").unwrap();
    let (code, says) = home.hook();
    assert!(code == 2 && says.contains("x.toml"), "an empty row is a failure: {says}");
    fs::remove_dir_all(&rows).unwrap();
    home.passes();
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(home.path(&format!(".local/share/agrail/memory.db{end}")));
    }
    home.blocks("the memory in");
}

#[test]
fn settings_that_move_the_sessions_do_not_move_the_record() {
    let home = Home::new("[guard]\nunknown_programs = \"deny\"\n");
    home.passes();
    let file = home.path(".config/agrail/config.toml");
    let text = format!("[hook]\ndaemon = false\nshadow = true\nsessions = {:?}\n", home.path("other/sessions.db"));
    fs::write(&file, text).unwrap();
    let (code, says) = home.hook();
    assert!(code == 2 && says.contains("hook.shadow is less strict") && says.contains("unknown_programs"), "{says}");
}

#[test]
fn a_record_that_cannot_be_read_blocks() {
    let home = Home::new("");
    home.passes();
    let folder = home.path(".local/state/agrail/accepted");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, "{\"settings\": ").unwrap();
    let (code, says) = home.hook();
    assert!(code == 2 && says.contains("cannot read the accepted configuration"), "{says}");
}
