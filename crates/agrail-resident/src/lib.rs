//! How the hooks of one configuration find a resident guard and ask it, over a Unix socket.
//!
//! 1. The name of the socket is a digest of all that a hook's decisions depend on besides files: the program, the
//!    words of its command line, the account, the namespaces, and the variables of the environment that settings are
//!    read from ([`Place::of`]). Another version or another configuration is another socket, so that no version is
//!    negotiated.
//! 2. [`Place::ask`] asks. It trusts a process only if it has the same user id and runs the same program. It gives up if
//!    nobody listens, nobody reads, the guard is stale or too busy, or the answer makes no sense; then the hook decides by
//!    itself, by the same code and the same files.
//! 3. The guard acknowledges an event once it has read all of it ([`TAKEN`]), so that a stopped process is known at once,
//!    and a long decision is waited for.
//!
//! This crate is apart from the engine because the program that hosts start is made of it alone: it must start in well
//! under a millisecond.
//!
//! A process of the same account can be made to look like the guard. It could also change the user's own settings of the
//! guard; where these belong to someone else (`--config`), no resident guard is asked.

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest accepted event, in bytes.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;
/// First byte of every event.
pub const VERSION: u8 = 1;
/// The guard has read the event and decides.
pub const TAKEN: u8 = b'+';
/// The guard does not decide: its files have changed, or it has too much to do.
pub const REFUSED: u8 = b'-';
/// Longest wait for [`TAKEN`].
const READS: Duration = Duration::from_millis(1_500);
/// Longest wait for the answer.
const ANSWERS: Duration = Duration::from_secs(60);
/// Longest text of a reply, in bytes.
const LONGEST: u32 = 1 << 20;
/// Time in which a guard that was started begins to listen; nobody starts another one until then.
const STARTS: Duration = Duration::from_secs(5);
/// Longest path of a Unix socket, in bytes.
const SOCKET: usize = 100;
/// Variables of the environment that decisions may depend on: names, and prefixes that end with `_`.
pub const VARIABLES: [&str; 16] = [
    "AGRAIL_",
    "XDG_",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "CRUSH_GLOBAL_CONFIG",
    "GEMINI_CLI_HOME",
    "QWEN_HOME",
    "HOME",
    "USER",
    "TMPDIR",
    "ORT_DYLIB_PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];
/// Namespaces of the process: another one has another view of the files and processes.
const NAMESPACES: [&str; 4] = ["mnt", "pid", "net", "user"];

/// The output and exit code of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Exit code: 0, or 2 to block.
    pub code: u8,
    /// Text for standard output.
    pub stdout: String,
    /// Text for standard error.
    pub stderr: String,
}

/// Where the resident guard of one configuration listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    name: String,
}

impl Place {
    /// The place for hooks of this process. `program`: the guard's program; `words`: the command line after the
    /// subcommand. `None` if there can be no such place, for example because there is no home folder.
    ///
    /// # Errors
    /// If the program cannot be found.
    pub fn of(program: &Path, words: &[OsString]) -> io::Result<Option<Self>> {
        let mut digest = Sha256::new();
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        part(&[VERSION]);
        part(program.as_os_str().as_bytes());
        part(&stamp(&std::fs::metadata(program)?));
        words.iter().for_each(|word| part(word.as_bytes()));
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        part(&[uid.to_le_bytes(), gid.to_le_bytes()].concat());
        let root = std::fs::metadata("/")?;
        part(&[root.dev().to_le_bytes(), root.ino().to_le_bytes()].concat());
        for name in NAMESPACES {
            part(std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default().as_os_str().as_bytes());
        }
        let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| counts(name)).collect();
        variables.sort();
        for (name, value) in &variables {
            part(name.as_bytes());
            part(value.as_bytes());
        }
        if named(words, &variables).any(|file| is_foreign(Path::new(&file))) {
            return Ok(None);
        }
        if is_relative(words, &variables) {
            part(std::env::current_dir()?.as_os_str().as_bytes());
        }
        let name = digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let place = folder().map(|folder| Self { folder, name });
        Ok(place.filter(|place| place.socket().as_os_str().len() <= SOCKET))
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Creates the folder, which only its owner may enter, if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created, or belongs to someone else, or others may enter it.
    pub fn prepare(&self) -> io::Result<()> {
        match DirBuilder::new().recursive(true).mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = std::fs::symlink_metadata(&self.folder)?;
        let own = found.uid() == rustix::process::geteuid().as_raw() && found.is_dir();
        match own && found.permissions().mode() & 0o077 == 0 {
            true => Ok(()),
            false => {
                Err(io::Error::new(ErrorKind::PermissionDenied, "the folder of the sockets is not only its owner's"))
            }
        }
    }

    /// The right to listen here, held until the file is dropped; `None` if another process has it.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub fn claim(&self) -> io::Result<Option<File>> {
        self.prepare()?;
        let path = self.beside("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether this process is the one that is to start the guard: nobody else has begun to within the last seconds.
    pub fn may_start(&self) -> bool {
        let mark = self.beside("starts");
        let begin = || OpenOptions::new().create_new(true).write(true).mode(0o600).open(&mark).is_ok();
        if self.prepare().is_err() {
            return false;
        }
        if begin() {
            return true;
        }
        let age = std::fs::metadata(&mark).and_then(|found| found.modified()).map(|changed| changed.elapsed());
        // a clock that was set back is no reason to start none for ever
        let stale = !matches!(age, Ok(Ok(age)) if age < STARTS);
        stale && std::fs::remove_file(&mark).is_ok() && begin()
    }

    /// The guard listens, or has failed to: another one may be started.
    pub fn started(&self) {
        let _ = std::fs::remove_file(self.beside("starts"));
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    /// Asks the resident guard. `program`: the file that it must be running. `None` if it gives no answer; then the hook
    /// decides by itself.
    #[must_use]
    pub fn ask(&self, program: &Path, event: &[u8]) -> Option<Reply> {
        if event.len() > MOST_BYTES {
            return None;
        }
        let mut stream = self.connected(program)?;
        stream.set_write_timeout(Some(READS)).ok()?;
        stream.set_read_timeout(Some(READS)).ok()?;
        stream.write_all(&[VERSION]).ok()?;
        stream.write_all(&(event.len() as u64).to_be_bytes()).ok()?;
        stream.write_all(event).ok()?;
        let mut first = [0];
        stream.read_exact(&mut first).ok().filter(|()| first == [TAKEN])?;
        stream.set_read_timeout(Some(ANSWERS)).ok()?;
        Reply::read(&mut stream)
    }

    /// A connection to a process of the same account that runs the program. Does not wait: a guard whose queue is full is
    /// none.
    fn connected(&self, program: &Path) -> Option<UnixStream> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        connect(&socket, &SocketAddrUnix::new(self.socket()).ok()?).ok()?;
        let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
        let runs = std::fs::metadata(format!("/proc/{}/exe", peer.pid.as_raw_nonzero())).ok()?;
        let ours = std::fs::metadata(program).ok()?;
        let same = (runs.dev(), runs.ino()) == (ours.dev(), ours.ino());
        if peer.uid != rustix::process::geteuid() || !same {
            return None;
        }
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false).ok()?;
        Some(stream)
    }
}

impl Reply {
    /// Its bytes: the exit code, and each text after its length.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let text = |text: &String| {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            [length.to_be_bytes().as_slice(), text.as_bytes()].concat()
        };
        [vec![self.code], text(&self.stdout), text(&self.stderr)].concat()
    }

    /// Reads a reply that a hook may give: silence or one JSON object with exit code 0, or a reason with exit code 2.
    fn read(source: &mut impl Read) -> Option<Self> {
        let mut code = [0];
        source.read_exact(&mut code).ok()?;
        let mut text = || {
            let mut length = [0; 4];
            source.read_exact(&mut length).ok()?;
            let length = u32::from_be_bytes(length);
            let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= LONGEST)?];
            source.read_exact(&mut bytes).ok()?;
            String::from_utf8(bytes).ok()
        };
        let (stdout, stderr) = (text()?, text()?);
        let fits = match code {
            [0] => stdout.is_empty() || stdout.starts_with('{') && stdout.trim_end().ends_with('}'),
            [2] => !stderr.trim().is_empty(),
            _ => false,
        };
        let [code] = code;
        fits.then_some(Self { code, stdout, stderr })
    }
}

/// What changes when a file is replaced or written.
#[must_use]
pub fn stamp(found: &Metadata) -> Vec<u8> {
    let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    let ids = [found.dev(), found.ino(), found.size(), u64::from(found.mode()), u64::from(found.uid())];
    let bytes = times.iter().flat_map(|time| time.to_le_bytes());
    bytes.chain(ids.iter().flat_map(|id| id.to_le_bytes())).collect()
}

/// The folder with the sockets: below the user's runtime folder, or else below the folder for state.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from);
    let state = || set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    set("XDG_RUNTIME_DIR").or_else(state).map(|base| base.join("agrail/run"))
}

fn counts(name: &OsString) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    VARIABLES.iter().any(|known| match known.strip_suffix('_') {
        Some(_) => name.starts_with(known),
        None => name == *known,
    })
}

/// The configuration files that the command line and the environment name.
fn named<'w>(words: &'w [OsString], variables: &'w [(OsString, OsString)]) -> impl Iterator<Item = OsString> + 'w {
    let apart =
        words.iter().zip(words.iter().skip(1)).filter(|(word, _)| *word == "--config").map(|(_, file)| file.clone());
    let joined = words.iter().filter_map(|word| Some(word.to_str()?.strip_prefix("--config=")?.into()));
    let set = variables.iter().filter(|(name, _)| name == "AGRAIL_CONFIG").map(|(_, file)| file.clone());
    apart.chain(joined).chain(set)
}

/// Whether a file belongs to another account.
fn is_foreign(file: &Path) -> bool {
    let owner = std::fs::metadata(file).map(|found| found.uid());
    owner.is_ok_and(|owner| owner != rustix::process::geteuid().as_raw() && file != Path::new("/dev/null"))
}

/// Whether settings may name files relative to the working directory.
fn is_relative(words: &[OsString], variables: &[(OsString, OsString)]) -> bool {
    let listed = |text: &str| words.iter().any(|word| word.to_string_lossy().starts_with(text));
    let values = ["--config", "--root"].iter().flat_map(|option| {
        let apart = words.iter().zip(words.iter().skip(1)).filter(move |(word, _)| word == option);
        let joined = words.iter().filter_map(move |word| word.to_str()?.strip_prefix(option)?.strip_prefix('='));
        apart.map(|(_, value)| value.to_string_lossy().into_owned()).chain(joined.map(str::to_owned))
    });
    let mut values = values.chain(
        variables
            .iter()
            .filter(|(name, _)| name == "AGRAIL_CONFIG")
            .map(|(_, file)| file.to_string_lossy().into_owned()),
    );
    let set = variables.iter().any(|(name, _)| name.to_string_lossy().contains("__"));
    set || listed("--set") || listed("--log-file") || values.any(|value| !value.starts_with('/'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn relative_settings_belong_to_one_folder() {
        let variable = |name: &str, value: &str| vec![(OsString::from(name), OsString::from(value))];
        for line in ["claude-code", "codex --config /etc/a.toml", "generic --config=/a --root=/", "codex --user x"] {
            assert!(!is_relative(&words(line), &variable("HOME", "a")), "{line}");
        }
        for line in ["codex --config a.toml", "codex --config=a", "codex --root .", "codex --set policy.files=[]"] {
            assert!(is_relative(&words(line), &[]), "{line}");
        }
        assert!(is_relative(&[], &variable("AGRAIL_CONFIG", "a.toml")));
        assert!(!is_relative(&[], &variable("AGRAIL_CONFIG", "/a.toml")));
        assert!(is_relative(&[], &variable("AGRAIL_POLICY__FILES", "[]")));
    }

    #[test]
    fn places_differ_with_the_command_line() {
        let program = std::env::current_exe().unwrap();
        let place = |line: &str| Place::of(&program, &words(line)).unwrap();
        assert_eq!(place("claude-code"), place("claude-code"));
        assert_ne!(place("claude-code"), place("claude-code --shadow"));
        assert_ne!(place("a bc"), place("ab c"));
        assert!(Place::of(Path::new("/nonexistent"), &[]).is_err());
    }

    #[test]
    fn only_replies_of_a_hook_count() {
        let said =
            |code, stdout: &str, stderr: &str| Reply { code, stdout: stdout.to_owned(), stderr: stderr.to_owned() };
        let read = |reply: &Reply| Reply::read(&mut reply.bytes().as_slice());
        for good in [said(0, "", ""), said(2, "", "no"), said(0, "{\"a\":1}\n", "warning")] {
            assert_eq!(read(&good), Some(good));
        }
        for bad in [said(0, "hello", ""), said(2, "", ""), said(1, "", "x"), said(0, "{", "")] {
            assert_eq!(read(&bad), None);
        }
        let bytes = said(2, "", "no").bytes();
        assert!((0..bytes.len()).all(|end| Reply::read(&mut bytes.get(..end).unwrap()).is_none()), "cut short");
        assert_eq!(Reply::read(&mut [0, 255, 255, 255, 255].as_slice()), None);
    }

    #[test]
    fn one_process_claims_a_place_and_one_starts_the_guard() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder: folder.path().join("run"), name: "x".to_owned() };
        assert!(place.may_start() && !place.may_start());
        place.started();
        assert!(place.may_start());
        let claim = place.claim().unwrap();
        assert!(claim.is_some() && place.claim().unwrap().is_none());
        drop(claim);
        assert!(place.claim().unwrap().is_some());
        std::fs::set_permissions(&place.folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(place.claim().is_err() && !place.may_start(), "others may enter it");
    }
}
