//! Processes, from the root's own `/proc`.

use super::{Account, Environment, probe};

/// Most processes that are looked through for a name.
const MOST: usize = 4096;
/// Most that are returned.
const KEPT: usize = 64;

/// What is known of a process, for one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Process id.
    pub pid: u32,
    /// It runs.
    pub exists: Option<bool>,
    /// User id that it runs as.
    pub owner: Option<u32>,
    /// It runs as the account, and the account is not the superuser, to whom all could be said to belong.
    pub mine: bool,
    /// Process 1, the kernel's, or another account's.
    pub system: bool,
    /// Short name, or empty.
    pub name: String,
}

impl Environment {
    /// What is known of a process.
    #[must_use]
    pub fn process(&self, pid: u32, who: &Account) -> ProcessFacts {
        let mut facts =
            ProcessFacts { pid, exists: None, owner: None, mine: false, system: pid == 1, name: String::new() };
        if probe::stamp(&self.inner.folder, "/proc/version").is_none() {
            // the root has no /proc
            return facts;
        }
        let Ok(status) = probe::read(&self.inner.folder, &format!("/proc/{pid}/status"), 64 * 1024) else {
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

    /// Processes of exactly that name.
    #[must_use]
    pub fn processes_named(&self, name: &str, who: &Account) -> Vec<ProcessFacts> {
        // the kernel keeps 15 bytes of a name
        let short: String = name.chars().take(15).collect();
        let pids = probe::names(&self.inner.folder, "/proc", MOST).unwrap_or_default();
        (pids.iter().filter_map(|p| p.parse().ok()))
            .map(|pid| self.process(pid, who))
            .filter(|p| p.exists == Some(true) && (p.name == name || p.name == short))
            .take(KEPT)
            .collect()
    }
}
