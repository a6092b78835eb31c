//! Bind mounts: one place of a file system under several paths. Quotas: what an account may store in one.
//!
//! The kernel lists which part of which file system is mounted where. Two mounts of one file system show the same file if
//! the part of one lies below that of the other. Only mounts of this process are known, which are those of the machine
//! unless the root belongs to a container.

use nix::sys::quota::QuotaType;
use std::io::Read as _;

/// Longest list that is read, in bytes.
const LONGEST: u64 = 4 * 1024 * 1024;
/// Most paths of one file that are looked at, and most mounts in one folder.
const MOST: usize = 16;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Number of the file system.
    device: String,
    /// The part of it that is mounted.
    root: String,
    /// Where.
    point: String,
    /// The device, if it counts what each account stores.
    counts: Option<String>,
}

/// Another path of a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OtherPath {
    /// Its mount shows a smaller part of the file system than the one of the path that was asked about, or an equal part.
    pub farther: bool,
    pub path: String,
}

/// The mounts of this process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    /// In the order in which they were mounted.
    all: Vec<Mount>,
    /// Whether a file system is mounted more than once.
    any_twice: bool,
}

impl Mounts {
    pub fn read() -> Self {
        let mut text = Vec::new();
        let read =
            std::fs::File::open("/proc/self/mountinfo").and_then(|file| file.take(LONGEST).read_to_end(&mut text));
        read.map_or_else(|_| Self::default(), |_| Self::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Self {
        let mount = |line: &str| {
            let mut fields = line.split(' ').skip(2);
            let (device, root, point) = (fields.next()?.to_owned(), fields.next()?, fields.next()?);
            let source = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').nth(1));
            let counts = source.filter(|_| line.contains("quota")).map(unescape);
            Some(Mount { device, root: unescape(root), point: unescape(point), counts })
        };
        let all: Vec<Mount> = text.lines().filter_map(mount).collect();
        let mut devices: Vec<&str> = all.iter().map(|mount| mount.device.as_str()).collect();
        devices.sort_unstable();
        let any_twice = devices.windows(2).any(|pair| matches!(pair, [one, next] if one == next));
        Self { all, any_twice }
    }

    /// The other paths of what lies at an absolute path without links; those through a larger part of the file system
    /// first.
    pub fn aliases(&self, path: &str) -> Vec<OtherPath> {
        if !self.any_twice {
            return Vec::new();
        }
        let Some((mount, rest)) = self.around(path) else { return Vec::new() };
        let inside = join(&mount.root, rest);
        let same = |other: &&Mount| other.device == mount.device && *other != mount;
        let named = |other: &Mount| {
            let farther = other.root.len() >= mount.root.len();
            Some(OtherPath { farther, path: join(&other.point, below(&inside, &other.root)?) })
        };
        let others = self.all.iter().filter(same).filter_map(named);
        let mut found: Vec<OtherPath> = others.filter(|other| other.path != path).collect();
        found.sort();
        found.dedup();
        found.truncate(MOST);
        found
    }

    /// The mount in which an absolute path without links lies, and the rest of the path.
    fn around<'p>(&self, path: &'p str) -> Option<(&Mount, &'p str)> {
        // the newest of the deepest mounts around the path covers the others
        let around = self.all.iter().filter_map(|mount| Some((mount, below(path, &mount.point)?)));
        around.max_by_key(|(mount, _)| mount.point.len())
    }

    /// How many bytes this account may still store where an absolute path without links lies; `None` if it has no quota
    /// there.
    pub fn quota(&self, path: &str) -> Option<u64> {
        let device = self.around(path)?.0.counts.as_deref()?;
        let account = i32::try_from(rustix::process::getuid().as_raw()).ok()?;
        let usage = nix::sys::quota::quotactl_get(QuotaType::USRQUOTA, device, account).ok()?;
        left(usage.blocks_hard_limit(), usage.occupied_space())
    }

    /// The places below an absolute path without links at which something is mounted that has other paths. `None`: there
    /// are too many of them.
    pub fn inside(&self, path: &str) -> Option<Vec<String>> {
        if !self.any_twice {
            return Some(Vec::new());
        }
        let deeper = |mount: &&Mount| below(&mount.point, path).is_some_and(|rest| rest.len() > 1);
        let several = |mount: &&Mount| !self.aliases(&mount.point).is_empty();
        let found: Vec<String> = self.all.iter().filter(deeper).filter(several).map(|m| m.point.clone()).collect();
        (found.len() <= MOST).then_some(found)
    }
}

/// What a limit in blocks of 1 024 bytes leaves; 0 is none.
fn left(limit: Option<u64>, used: Option<u64>) -> Option<u64> {
    let limit = limit.filter(|limit| *limit > 0)?;
    Some(limit.saturating_mul(1_024).saturating_sub(used.unwrap_or(0)))
}

/// The rest of a path below a folder, with its slash; empty for the folder itself.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn join(folder: &str, rest: &str) -> String {
    let path = format!("{}{rest}", folder.trim_end_matches('/'));
    if path.is_empty() { "/".to_owned() } else { path }
}

/// A field of the list: blanks and backslashes stand as octal numbers.
fn unescape(field: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(field.to_owned(), |field, (code, plain)| field.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_under_each_of_its_paths() {
        let mounts = Mounts::parse(
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             30 22 0:5 / /dev rw - devtmpfs udev rw\n\
             40 22 8:1 /etc /srv/a\\040b rw - ext4 /dev/sda1 rw\n\
             41 22 8:1 /data/config /home/me/.config rw - ext4 /dev/sda1 rw\n\
             42 22 0:9 / /home/me/.config/tmp rw - tmpfs tmp rw\n",
        );
        let only = |path: &str| match mounts.aliases(path).as_slice() {
            [other] => (other.path.clone(), other.farther),
            others => (format!("{others:?}"), false),
        };
        assert_eq!(only("/srv/a b/passwd"), ("/etc/passwd".to_owned(), false));
        assert_eq!(only("/etc/passwd"), ("/srv/a b/passwd".to_owned(), true));
        assert_eq!(only("/srv/a b"), ("/etc".to_owned(), false));
        assert_eq!(only("/data/config/x"), ("/home/me/.config/x".to_owned(), true));
        assert_eq!(only("/home/me/.config/x"), ("/data/config/x".to_owned(), false));
        for alone in ["/etcetera", "/dev/sda", "/home/me/.config/tmp/x", "/data", "/"] {
            assert!(mounts.aliases(alone).is_empty(), "{alone}");
        }
        let inside = |path: &str| mounts.inside(path).unwrap_or_default();
        assert_eq!(inside("/srv"), ["/srv/a b"]);
        assert_eq!(inside("/home/me/"), ["/home/me/.config"]);
        assert!(inside("/srv/a b").is_empty() && inside("/home/me/.config").is_empty() && inside("/sr").is_empty());
        assert!(Mounts::parse("garbage\n22 1\n").aliases("/etc").is_empty());
    }

    #[test]
    fn a_quota_is_that_of_the_mount_around_a_path() {
        let mounts = Mounts::parse(
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             23 22 8:2 / /home rw,relatime shared:2 - xfs /dev/ma\\040in rw,attr2,usrquota\n",
        );
        let counts = |path: &str| mounts.around(path).and_then(|(mount, _)| mount.counts.as_deref());
        assert_eq!((counts("/home/me/x"), counts("/homes"), counts("/")), (Some("/dev/ma in"), None, None));
        // a device that is not there
        assert_eq!((mounts.quota("/home/me/x"), mounts.quota("/")), (None, None));
        assert_eq!(left(Some(10), Some(240)), Some(10_000));
        assert_eq!(left(Some(10), Some(20_000)), Some(0));
        assert_eq!((left(Some(0), Some(5)), left(None, None)), (None, None));
    }
}
