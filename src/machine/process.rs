//! Probes processes through the root's own `/proc`.

use super::{Account, Environment, probe};

/// Most names in `/proc` that are searched for a process name.
const MOST: usize = 4096;
/// Most processes that are returned.
const KEPT: usize = 64;

/// Facts about a process, for one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Process id.
    pub pid: u32,
    /// Whether it is running; `None`: not known.
    pub exists: Option<bool>,
    /// Effective user id.
    pub owner: Option<u32>,
    /// Whether it runs as the account. Always false for the superuser, to whom every process could be said to belong.
    pub mine: bool,
    /// Whether it is process 1, a kernel thread, or another account's process.
    pub system: bool,
    /// Short name; empty if unknown.
    pub name: String,
}

impl Environment {
    /// Facts about a process.
    #[must_use]
    pub fn process(&self, pid: u32, who: &Account) -> ProcessFacts {
        let mut facts =
            ProcessFacts { pid, exists: None, owner: None, mine: false, system: pid == 1, name: String::new() };
        if probe::stamp(&self.inner.folder, "/proc/version").is_none() {
            // the root has no /proc
            return facts;
        }
        let Ok(status) = probe::read_file(&self.inner.folder, &format!("/proc/{pid}/status"), 64 * 1024) else {
            facts.exists = Some(false);
            return facts;
        };
        facts.exists = Some(true);
        let text = String::from_utf8_lossy(&status);
        let field = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).map(str::trim).unwrap_or_default();
        field("Name:").clone_into(&mut facts.name);
        facts.owner = field("Uid:").split_whitespace().nth(1).and_then(|uid| uid.parse().ok());
        let kernel = pid == 2 || field("PPid:") == "2" || field("Kthread:") == "1";
        let others = !who.superuser && facts.owner != who.uid;
        facts.mine = !who.superuser && facts.owner.is_some() && facts.owner == who.uid;
        facts.system |= kernel || others;
        facts
    }

    /// The processes with exactly this name, at most 64.
    #[must_use]
    pub fn processes_named(&self, name: &str, who: &Account) -> Vec<ProcessFacts> {
        // the kernel truncates names to 15 bytes
        let short: String = name.chars().take(15).collect();
        let pids = probe::names(&self.inner.folder, "/proc", MOST).unwrap_or_default();
        (pids.iter().filter_map(|p| p.parse().ok()))
            .map(|pid| self.process(pid, who))
            .filter(|p| p.exists == Some(true) && (p.name == name || p.name == short))
            .take(KEPT)
            .collect()
    }
}
