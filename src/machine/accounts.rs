//! Accounts, from the root's own `passwd` and `group` files.

use super::probe;
use rustix::fd::OwnedFd;
use std::collections::HashMap;

/// Longest file that is read, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;
/// Most lines of a file that are read.
const MOST: usize = 100_000;

/// An account of the machine, for which the agent acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Name.
    pub name: String,
    /// Whether the passwd file contains it.
    pub known: bool,
    /// User id.
    pub uid: Option<u32>,
    /// Id of the primary group.
    pub gid: Option<u32>,
    /// All groups: id and name.
    pub groups: Vec<(u32, String)>,
    /// Home folder.
    pub home: String,
    /// The home folder that `HOME` names for the processes of the account, if it is another one.
    pub variable_home: Option<String>,
    /// Whether the user id is 0.
    pub superuser: bool,
}

impl Account {
    /// An account that is not in the passwd file. Its home is assumed to be `/home/NAME` (`/root` for root).
    #[must_use]
    pub fn unknown(name: &str) -> Self {
        let superuser = name == "root";
        let home = if superuser { "/root".to_owned() } else { format!("/home/{}", name.replace('/', "_")) };
        Self {
            name: name.to_owned(),
            known: false,
            uid: superuser.then_some(0),
            gid: superuser.then_some(0),
            groups: Vec::new(),
            home,
            variable_home: None,
            superuser,
        }
    }

    /// The same account, whose processes have this `HOME`. One that is not an absolute path, or the root, is ignored.
    #[must_use]
    pub fn with_variable_home(mut self, home: &str) -> Self {
        let home = crate::effect::shell::tidy(home);
        self.variable_home = Some(home).filter(|home| home.starts_with('/') && home.len() > 1 && *home != self.home);
        self
    }

    /// The folder that `~` and `$HOME` stand for.
    #[must_use]
    pub fn tilde(&self) -> &str {
        self.variable_home.as_deref().unwrap_or(&self.home)
    }
}

/// Identity, modification time and size of `passwd` and `group`; changes with the files.
pub(crate) type Stamp = [Option<(u64, i64, u32, u64)>; 2];

/// All accounts of a root.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub stamp: Stamp,
    by_name: HashMap<String, Account>,
    names: HashMap<u32, String>,
    homes: Vec<(String, String)>,
}

impl Accounts {
    pub(crate) fn account(&self, name: &str) -> Account {
        self.by_name.get(name).cloned().unwrap_or_else(|| Account::unknown(name))
    }

    pub(crate) fn name(&self, uid: u32) -> Option<String> {
        self.names.get(&uid).cloned()
    }

    /// Name and home of accounts that have a personal home (not `/`, and not below a system folder).
    pub(crate) fn homes(&self) -> &[(String, String)] {
        &self.homes
    }
}

pub(crate) fn stamp(root: &OwnedFd) -> Stamp {
    ["/etc/passwd", "/etc/group"].map(|path| probe::stamp(root, path))
}

pub(crate) fn read_accounts(root: &OwnedFd, stamp: Stamp) -> Accounts {
    let text = |path| {
        probe::read_file(root, path, LONGEST).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default()
    };
    let mut by_name: HashMap<String, Account> = HashMap::new();
    let mut names = HashMap::new();
    for line in text("/etc/passwd").lines().take(MOST) {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, home, ..] = fields.as_slice() else { continue };
        let (Ok(uid), Ok(gid)) = (uid.parse::<u32>(), gid.parse::<u32>()) else { continue };
        let home = if home.starts_with('/') { crate::effect::shell::tidy(home) } else { "/".to_owned() };
        let account = Account {
            name: (*name).to_owned(),
            known: true,
            uid: Some(uid),
            gid: Some(gid),
            groups: Vec::new(),
            home,
            variable_home: None,
            superuser: uid == 0,
        };
        names.entry(uid).or_insert_with(|| account.name.clone());
        by_name.entry(account.name.clone()).or_insert(account);
    }
    for line in text("/etc/group").lines().take(MOST) {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, gid, members, ..] = fields.as_slice() else { continue };
        let Ok(gid) = gid.parse::<u32>() else { continue };
        for member in members.split(',').filter(|m| !m.is_empty()) {
            if let Some(account) = by_name.get_mut(member) {
                account.groups.push((gid, (*name).to_owned()));
            }
        }
        for account in by_name.values_mut().filter(|a| a.gid == Some(gid)) {
            if !account.groups.iter().any(|(id, _)| *id == gid) {
                account.groups.push((gid, (*name).to_owned()));
            }
        }
    }
    let own = |a: &&Account| {
        a.home.len() > 1
            && !["/bin", "/sbin", "/dev", "/proc", "/etc", "/usr", "/var", "/run", "/nonexistent"]
                .iter()
                .any(|s| a.home == *s || a.home.starts_with(&format!("{s}/")))
    };
    let homes = by_name.values().filter(own).map(|a| (a.name.clone(), a.home.clone())).collect();
    Accounts { stamp, by_name, names, homes }
}
