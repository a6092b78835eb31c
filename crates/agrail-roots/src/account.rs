//! Adds an account to a root.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use super::error::{RootError, failed};

/// Adds a user without `useradd`, which a minimal machine may lack. The user gets id 1000 or the next free id; an
/// existing user keeps its entry.
pub(super) fn add_user(root: &Path, name: &str) -> Result<(), RootError> {
    let passwd = root.join("etc/passwd");
    let group = root.join("etc/group");
    let users = fs::read_to_string(&passwd).unwrap_or_default();
    let groups = fs::read_to_string(&group).unwrap_or_default();
    let home = root.join("home").join(name);
    let numbers = |text: &str, wanted: Option<&str>| -> Vec<u32> {
        let lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let lines = lines.filter(|fields| wanted.is_none_or(|wanted| fields.first() == Some(&wanted)));
        lines.filter_map(|fields| fields.get(2)?.parse().ok()).collect()
    };
    let next = |text: &str| {
        let taken = numbers(text, None);
        (1000..60_000).find(|id| !taken.contains(id)).ok_or(RootError::NoFreeId)
    };
    let gid = match numbers(&groups, Some(name)).first() {
        Some(gid) => *gid,
        None => next(&groups)?,
    };
    let (uid, known) = match numbers(&users, Some(name)).first() {
        Some(uid) => (*uid, true),
        None => (next(&users)?, false),
    };
    fs::create_dir_all(root.join("etc")).map_err(failed("cannot make /etc"))?;
    if numbers(&groups, Some(name)).is_empty() {
        append(&group, &groups, &format!("{name}:x:{gid}:"))?;
    }
    if !known {
        append(&passwd, &users, &format!("{name}:x:{uid}:{gid}::/home/{name}:/bin/bash"))?;
        let shadow = root.join("etc/shadow");
        if let Ok(text) = fs::read_to_string(&shadow) {
            append(&shadow, &text, &format!("{name}:!:19000:0:99999:7:::"))?;
        }
    }
    fs::create_dir_all(&home)
        .and_then(|()| fs::set_permissions(&home, fs::Permissions::from_mode(0o755)))
        .and_then(|()| chown(&home, Some(uid), Some(gid)))
        .map_err(failed(format!("cannot make {}", home.display())))
}

fn append(path: &Path, text: &str, line: &str) -> Result<(), RootError> {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    (OpenOptions::new().append(true).create(true).mode(0o644).open(path))
        .and_then(|mut file| file.write_all(format!("{gap}{line}\n").as_bytes()))
        .map_err(failed(format!("cannot write {}", path.display())))
}
