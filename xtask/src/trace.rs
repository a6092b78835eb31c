//! What the processes of a command line did, from the output of strace.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

/// The system calls that are traced.
pub const CALLS: &str = "%file,fchdir,clone,clone3,fork,vfork,fchmod,fchown,ftruncate,connect,listen,sendto,sendmsg,\
    sendmmsg,kill,tkill,tgkill,pidfd_send_signal,ptrace,process_vm_readv,umount2,sethostname,setdomainname,\
    settimeofday,clock_settime,clock_adjtime,reboot,init_module,finit_module,delete_module,swapoff,setpriority,\
    sched_setscheduler,sched_setaffinity,sched_setattr,ioprio_set,prlimit64,setrlimit,fsetxattr,fremovexattr,capset,\
    setuid,setresuid,setgid,setresgid,unshare,setns,ioctl";

/// The kind of something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// A file was opened for reading.
    Read,
    /// A folder was opened, or metadata were read.
    Look,
    /// A file was opened for writing, made, renamed to, linked or truncated.
    Write,
    /// A name was removed.
    Remove,
    /// Mode, attributes or times were changed.
    Mode,
    /// The owner was changed.
    Owner,
    /// A program was started, or its start was tried.
    Start,
    /// A connection was tried. The target is an address.
    Connect,
    /// A socket of this machine was connected to. The target is its path.
    Ask,
    /// A port was opened.
    Listen,
    /// A signal was sent to another process.
    Signal,
    /// Something was mounted or unmounted.
    Mount,
    /// Limits or priorities were changed.
    Limit,
    /// The identity or the capabilities of a process were changed.
    Identity,
    /// Kernel, clock, network or host name were changed.
    System,
    /// Another process was traced.
    Trace,
}

/// Something that happened, and to what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub deed: Deed,
    /// A path, an address, or the call.
    pub target: String,
}

/// The events of a trace. `cwd` is the folder in which the first process started.
pub fn parse_trace(trace: &str, cwd: &str) -> BTreeSet<Event> {
    let mut reader =
        Reader { folders: HashMap::new(), parents: parents(trace), start: cwd.to_owned(), events: BTreeSet::new() };
    let mut unfinished: HashMap<&str, String> = HashMap::new();
    for line in trace.lines() {
        let Some((pid, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(head) = call.strip_suffix("<unfinished ...>") {
            unfinished.insert(pid, head.to_owned());
        } else if call.starts_with("<...") {
            let head = unfinished.remove(pid).unwrap_or_default();
            let tail = call.split_once("resumed>").map_or("", |(_, tail)| tail);
            reader.enter(pid, &format!("{head}{tail}"));
        } else {
            reader.enter(pid, call);
        }
    }
    reader.events
}

struct Reader {
    /// The folder of each process.
    folders: HashMap<String, String>,
    /// The process that started each process: it may do something before the call that started it is reported.
    parents: HashMap<String, String>,
    start: String,
    events: BTreeSet<Event>,
}

/// The process that started each process.
fn parents(trace: &str) -> HashMap<String, String> {
    let starts =
        |call: &str| ["clone", "fork", "vfork"].iter().any(|name| call.trim_start_matches("<... ").starts_with(name));
    let parent = |line: &str| {
        let (pid, call) = line.split_once(' ')?;
        let call = call.trim_start();
        let child = call.rsplit_once(" = ").filter(|_| starts(call))?.1.split_whitespace().next()?;
        child.parse::<u32>().ok().map(|_| (child.to_owned(), pid.to_owned()))
    };
    trace.lines().filter_map(parent).collect()
}

impl Reader {
    /// The folder in which a process works.
    fn folder(&mut self, pid: &str) -> String {
        if let Some(folder) = self.folders.get(pid) {
            return folder.clone();
        }
        let parent = self.parents.get(pid).and_then(|parent| self.folders.get(parent));
        let folder = parent.unwrap_or(&self.start).clone();
        self.folders.insert(pid.to_owned(), folder.clone());
        folder
    }

    fn enter(&mut self, pid: &str, line: &str) {
        let (Some((name, rest)), Some((_, result))) = (line.split_once('('), line.rsplit_once(") = ")) else { return };
        let failed = result.trim_start().starts_with('-');
        let folder = self.folder(pid);
        let arguments = rest.rsplit_once(") = ").map_or(rest, |(arguments, _)| arguments);
        let mut paths = paths(arguments, &folder);
        if matches!(name, "fsetxattr" | "fremovexattr") {
            // the text is the attribute's name
            paths = arguments
                .split_once('<')
                .and_then(|(_, rest)| rest.split_once('>'))
                .map(|(path, _)| path.to_owned())
                .into_iter()
                .collect();
        }
        let path = paths.first().cloned().unwrap_or_default();
        match name {
            "chdir" | "fchdir" if !failed => {
                self.folders.insert(pid.to_owned(), path);
            }
            "clone" | "clone3" | "fork" | "vfork" if !failed => {
                let child = result.split_whitespace().next().unwrap_or_default();
                if self.folders.contains_key(child) {
                    return;
                }
                self.folders.insert(result.split_whitespace().next().unwrap_or_default().to_owned(), folder);
            }
            "execve" | "execveat" => self.add(Deed::Start, path),
            "connect" | "sendto" | "sendmsg" | "sendmmsg" => self.network(name, arguments),
            "ioctl" if arguments.contains("SIOCS") || arguments.contains("BLK") => self.add(Deed::System, name.into()),
            "ioctl" => {}
            _ if failed => self.attempt(name, path),
            "open" | "openat" | "openat2" | "creat" => self.open(name, arguments, path),
            _ => self.change(name, arguments, &paths),
        }
    }

    /// A call that failed counts if it shows what the program wanted of the system; a path that is absent does not.
    fn attempt(&mut self, name: &str, path: String) {
        match deed(name) {
            Some(Deed::Write | Deed::Remove | Deed::Mode | Deed::Owner | Deed::Read | Deed::Look) => {
                self.add(Deed::Look, path);
            }
            Some(deed) => self.add(deed, if path.is_empty() { name.to_owned() } else { path }),
            None => self.add(Deed::Look, path),
        }
    }

    fn open(&mut self, name: &str, arguments: &str, path: String) {
        let writes =
            name == "creat" || ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|f| arguments.contains(f));
        let reads = !arguments.contains("O_WRONLY") && name != "creat";
        if writes {
            self.add(Deed::Write, path.clone());
        }
        if reads {
            let folder = arguments.contains("O_DIRECTORY") || arguments.contains("O_PATH");
            self.add(if folder { Deed::Look } else { Deed::Read }, path);
        }
    }

    fn change(&mut self, name: &str, arguments: &str, paths: &[String]) {
        let path = paths.first().cloned().unwrap_or_default();
        match name {
            "rename" | "renameat" | "renameat2" => {
                self.add(Deed::Remove, path);
                self.add(Deed::Write, paths.last().cloned().unwrap_or_default());
            }
            "link" | "linkat" | "symlink" | "symlinkat" => {
                self.add(Deed::Look, path);
                self.add(Deed::Write, paths.last().cloned().unwrap_or_default());
            }
            // only with a new limit
            "prlimit64" if arguments.split(", ").nth(2).is_none_or(|limit| limit == "NULL") => {}
            "kill" | "tkill" | "tgkill" if arguments.ends_with(", 0") => {}
            _ => match deed(name) {
                Some(deed) => self.add(deed, if path.is_empty() { name.to_owned() } else { path }),
                None => self.add(Deed::Look, path),
            },
        }
    }

    fn network(&mut self, name: &str, arguments: &str) {
        if arguments.contains("sa_family=AF_INET") {
            let address = arguments.split_once("inet_addr(").or_else(|| arguments.split_once("inet_pton("));
            let address = address.map_or("", |(_, rest)| rest.split(')').next().unwrap_or_default());
            self.add(Deed::Connect, address.to_owned());
        } else if name == "connect" && arguments.contains("sa_family=AF_UNIX") {
            let path = arguments.split_once("sun_path=").map_or("", |(_, rest)| rest);
            self.add(Deed::Ask, path.trim_start_matches('@').split('"').nth(1).unwrap_or_default().to_owned());
        } else if ["_NEW", "_DEL", "_SET"].iter().any(|verb| arguments.contains(&format!("nlmsg_type=RTM{verb}")))
            || arguments.contains("NFT_MSG_")
        {
            self.add(Deed::System, "network".to_owned());
        }
    }

    fn add(&mut self, deed: Deed, target: String) {
        self.events.insert(Event { deed, target });
    }
}

fn deed(call: &str) -> Option<Deed> {
    Some(match call {
        "open" | "openat" | "openat2" => Deed::Read,
        "truncate" | "ftruncate" | "mkdir" | "mkdirat" | "mknod" | "mknodat" | "creat" | "rename" | "renameat"
        | "renameat2" | "link" | "linkat" | "symlink" | "symlinkat" => Deed::Write,
        "unlink" | "unlinkat" | "rmdir" => Deed::Remove,
        "chmod" | "fchmod" | "fchmodat" | "fchmodat2" | "setxattr" | "lsetxattr" | "fsetxattr" | "removexattr"
        | "lremovexattr" | "fremovexattr" | "utime" | "utimes" | "futimesat" | "utimensat" => Deed::Mode,
        "chown" | "lchown" | "fchown" | "fchownat" => Deed::Owner,
        "listen" => Deed::Listen,
        "kill" | "tkill" | "tgkill" | "pidfd_send_signal" => Deed::Signal,
        "mount" | "umount" | "umount2" | "move_mount" | "fsmount" | "pivot_root" | "chroot" => Deed::Mount,
        "setpriority" | "sched_setscheduler" | "sched_setaffinity" | "sched_setattr" | "ioprio_set" | "prlimit64"
        | "setrlimit" => Deed::Limit,
        "capset" | "setuid" | "setresuid" | "setgid" | "setresgid" | "unshare" | "setns" => Deed::Identity,
        "sethostname" | "setdomainname" | "settimeofday" | "clock_settime" | "clock_adjtime" | "reboot"
        | "init_module" | "finit_module" | "delete_module" | "swapon" | "swapoff" | "acct" => Deed::System,
        "ptrace" | "process_vm_readv" => Deed::Trace,
        _ => return None,
    })
}

/// The paths among the arguments of a call: texts, relative to the descriptor before them or to the folder of the
/// process, and descriptors without a text.
fn paths(arguments: &str, folder: &str) -> Vec<String> {
    let (mut found, mut base, mut rest) = (Vec::new(), None::<String>, arguments);
    while let Some(at) = rest.find(['"', '<']) {
        let (_, tail) = rest.split_at(at);
        if let Some(text) = tail.strip_prefix('"') {
            let (value, after) = quoted(text);
            found.push(resolve(base.take().as_deref().unwrap_or(folder), &value));
            rest = after;
        } else {
            let (inner, after) = tail.get(1..).unwrap_or_default().split_once('>').unwrap_or_default();
            if inner.starts_with('/') {
                found.extend(base.replace(inner.replace("\\\\", "\\")));
            }
            rest = after;
        }
    }
    found.extend(base);
    found
}

/// The value of a text in double quotes, and what follows it.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, text.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => value.push(c),
        }
    }
    (value, "")
}

/// An absolute path without `.` and `..`.
fn resolve(base: &str, path: &str) -> String {
    let mut resolved = PathBuf::new();
    for part in Path::new(base).join(path).components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_of_a_trace() {
        let trace = "\
10 execve(\"/usr/bin/frob\", [\"frob\", \"a\"], 0x7ff /* 9 vars */) = 0
10 openat(AT_FDCWD</home/user>, \"a\", O_RDONLY) = 3</home/user/a>
10 openat(AT_FDCWD</home/user>, \"gone\", O_RDONLY) = -1 ENOENT (No such file or directory)
10 openat(AT_FDCWD</home/user>, \"../user/b\", O_WRONLY|O_CREAT <unfinished ...>
11 chdir(\"/tmp\") = 0
10 <... openat resumed>, 0666) = 4</home/user/b>
11 vfork() = 12
12 unlink(\"c\") = 0
10 renameat2(AT_FDCWD</home/user>, \"d\", 5</srv>, \"e\", RENAME_NOREPLACE) = 0
10 fchmod(4</home/user/b>, 0600) = 0
10 connect(6<TCP:[77]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"192.0.2.1\")}, 16) = -1 ENETUNREACH
10 connect(7<UNIX-STREAM:[78]>, {sa_family=AF_UNIX, sun_path=\"/run/dbus/system_bus_socket\"}, 30) = 0
10 prlimit64(0, RLIMIT_NOFILE, NULL, {rlim_cur=1024, rlim_max=1024}) = 0";
        let events = parse_trace(trace, "/home/user");
        let found: Vec<(Deed, &str)> = events.iter().map(|event| (event.deed, event.target.as_str())).collect();
        let expected = [
            (Deed::Read, "/home/user/a"),
            (Deed::Look, "/home/user/gone"),
            (Deed::Write, "/home/user/b"),
            (Deed::Write, "/srv/e"),
            (Deed::Remove, "/home/user/d"),
            (Deed::Remove, "/tmp/c"),
            (Deed::Mode, "/home/user/b"),
            (Deed::Start, "/usr/bin/frob"),
            (Deed::Connect, "\"192.0.2.1\""),
            (Deed::Ask, "/run/dbus/system_bus_socket"),
        ];
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(found, expected);
    }
}
