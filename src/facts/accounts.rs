//! Accounts, from the root's own `passwd` and `group` files.

use super::probe;
use rustix::fd::OwnedFd;
use std::collections::HashMap;

/// Most bytes of a file that are read.
const LONGEST: usize = 16 * 1024 * 1024;
/// Most lines that are read.
const MOST: usize = 100_000;

/// Who the agent acts for, as the machine knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Name.
    pub name: String,
    /// The passwd file has it.
    pub known: bool,
    /// User id.
    pub uid: Option<u32>,
    /// Id of the first group.
    pub gid: Option<u32>,
    /// Every group: id and name.
    pub groups: Vec<(u32, String)>,
    /// Home folder.
    pub home: String,
    /// User id 0.
    pub superuser: bool,
}

impl Account {
    /// An account that no passwd file has.
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
            superuser,
        }
    }
}

/// When the two files were last changed.
pub(super) type Stamp = [Option<(u64, i64, u32, u64)>; 2];

/// All accounts of a root.
#[derive(Debug)]
pub(super) struct Accounts {
    pub stamp: Stamp,
    by_name: HashMap<String, Account>,
    names: HashMap<u32, String>,
    homes: Vec<(String, String)>,
}

impl Accounts {
    pub(super) fn account(&self, name: &str) -> Account {
        self.by_name.get(name).cloned().unwrap_or_else(|| Account::unknown(name))
    }

    pub(super) fn name(&self, uid: u32) -> Option<String> {
        self.names.get(&uid).cloned()
    }

    /// Name and home of accounts whose home is of their own.
    pub(super) fn homes(&self) -> &[(String, String)] {
        &self.homes
    }
}

pub(super) fn stamp(root: &OwnedFd) -> Stamp {
    ["/etc/passwd", "/etc/group"].map(|path| probe::stamp(root, path))
}

pub(super) fn read(root: &OwnedFd, stamp: Stamp) -> Accounts {
    let text =
        |path| probe::read(root, path, LONGEST).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
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
