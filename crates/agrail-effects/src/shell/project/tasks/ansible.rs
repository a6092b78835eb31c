//! Playbooks of ansible: what their tasks do, as command lines.

use super::Step;
use crate::reading::quote;
use serde_json::{Map, Value};

/// Modules that run a command line.
const SHELLS: [&str; 5] = ["shell", "command", "raw", "script", "win_shell"];
/// Keys of a play that hold tasks, and of a task that hold more tasks.
const TASKS: [&str; 7] = ["pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always"];
/// Deepest blocks.
const DEEPEST: usize = 8;

/// The command lines of all plays. Those for other machines run there, over ssh.
pub(super) fn steps(text: &str) -> Option<Vec<Step>> {
    let Value::Array(plays) = serde_saphyr::from_str(text).ok()? else { return None };
    let mut steps = Vec::new();
    for play in &plays {
        let word = |key: &str| play.get(key).and_then(Value::as_str).unwrap_or_default();
        let here = matches!(word("hosts"), "localhost" | "127.0.0.1") || word("connection") == "local";
        let raised = matches!(play.get("become"), Some(Value::Bool(true)));
        let mut lines = Vec::new();
        tasks(play, raised, 0, &mut lines);
        let host = word("hosts").split([',', ':']).next().unwrap_or_default();
        steps.extend(
            lines
                .into_iter()
                .map(|line| Step::shell(if here { line } else { format!("ssh {} {}", quote(host), quote(&line)) })),
        );
    }
    Some(steps)
}

fn tasks(value: &Value, raised: bool, depth: usize, lines: &mut Vec<String>) {
    let lists = TASKS.iter().filter_map(|key| value.get(*key)?.as_array());
    for task in lists.flatten().filter(|_| depth < DEEPEST) {
        let raised = task.get("become").map_or(raised, |raised| raised == &Value::Bool(true));
        tasks(task, raised, depth + 1, lines);
        let Value::Object(keys) = task else { continue };
        for (name, value) in keys {
            let module = name.rsplit('.').next().unwrap_or(name);
            if let Some(line) = line(module, value) {
                lines.push(if raised { format!("sudo {line}") } else { line });
            }
        }
    }
}

/// What a module does, as a command line.
fn line(module: &str, value: &Value) -> Option<String> {
    let empty = Map::new();
    let keys = value.as_object().unwrap_or(&empty);
    let text = |names: &[&str]| names.iter().find_map(|name| keys.get(*name)?.as_str()).map(template);
    if SHELLS.contains(&module) {
        let command = value.as_str().map(template).or_else(|| text(&["cmd", "_raw_params"]))?;
        let folder = text(&["chdir"]).map(|folder| format!("cd {} && ", quote(&folder)));
        return Some(format!("sh -c {}", quote(&format!("{}{command}", folder.unwrap_or_default()))));
    }
    let state = text(&["state"]).unwrap_or_default();
    let absent = state == "absent";
    let path = || text(&["path", "dest", "name"]).map(|path| quote(&path));
    let name = || text(&["name", "pkg"]).map(|name| quote(&name));
    Some(match module {
        "file" if absent => format!("rm -rf {}", path()?),
        "file" => match (state.as_str(), text(&["mode"])) {
            ("directory", _) => format!("mkdir -p {}", path()?),
            ("touch", _) => format!("touch {}", path()?),
            (_, Some(mode)) => format!("chmod {} {}", quote(&mode), path()?),
            _ => return None,
        },
        "copy" | "template" => match text(&["src"]) {
            Some(source) => format!("cp {} {}", quote(&source), path()?),
            None => format!("tee {}", path()?),
        },
        "lineinfile" | "blockinfile" | "replace" => format!("tee -a {}", path()?),
        "get_url" => format!("curl {} -o {}", quote(&text(&["url"])?), path()?),
        "unarchive" => format!("tar -xf {} -C {}", quote(&text(&["src"])?), path()?),
        "git" => format!("git clone {} {}", quote(&text(&["repo"])?), path()?),
        "user" if absent => format!("userdel {}", name()?),
        "user" => format!("useradd {}", name()?),
        "service" | "systemd" | "systemd_service" => {
            let verb = match state.as_str() {
                "stopped" => "stop",
                "restarted" => "restart",
                "started" => "start",
                _ => return None,
            };
            format!("systemctl {verb} {}", name()?)
        }
        "apt" | "yum" | "dnf" | "package" if absent => format!("apt-get remove {}", name()?),
        "apt" | "yum" | "dnf" | "package" => format!("apt-get install {}", name()?),
        "pip" => format!("pip install {}", name()?),
        "cron" => "crontab -".to_owned(),
        "authorized_key" => "tee -a ~/.ssh/authorized_keys".to_owned(),
        "reboot" => "reboot".to_owned(),
        "postgresql_db" | "mysql_db" if absent => format!("dropdb {}", name()?),
        _ => return None,
    })
}

/// A text without the values of its templates.
fn template(text: &str) -> String {
    super::fill(text, "{{", "}}", |_| None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tasks_become_command_lines() {
        let file = "- hosts: localhost\n  become: true\n  tasks:\n    - name: x\n      ansible.builtin.file:\n        path: \
                    /srv/d\n        state: absent\n    - block:\n        - shell: ls {{ d }}\n          become: false\n- hosts: \
                    web\n  tasks:\n    - command: reboot\n";
        let all: Vec<String> = steps(file).unwrap().into_iter().map(|step| step.text).collect();
        let list = format!("sh -c 'ls {}'", crate::UNKNOWN_SPAN);
        assert_eq!(all, ["sudo rm -rf /srv/d", list.as_str(), "ssh web 'sh -c reboot'"]);
        assert!(steps("hosts: [").is_none());
    }
}
