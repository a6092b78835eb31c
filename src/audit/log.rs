//! Appends to the audit log.

use super::remove::Removed;
use super::retain::{Base, Retention};
use super::verify::{Broken, Chain};
use super::{AuditError, HEAD, Head, failed, link, name};
use crate::action::{Action, Context, Identity, Observation, SessionFacts};
use crate::untrusted::Secrets;
use crate::verdict::{Decision, Verdict};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file longer than this, in bytes, is not appended to.
const FILE: u64 = 32 * 1024 * 1024;
/// Longest wait for the lock.
const WAIT: Duration = Duration::from_millis(1_500);
/// Most bytes of one text that are kept.
const TEXT: usize = 64 * 1024;

/// One entry of the log: a decision or another event.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema), schema(as = AuditEntry))]
pub struct Entry {
    /// Number of the entry, from 1.
    pub seq: u64,
    /// Time in milliseconds since 1970.
    pub at_ms: u64,
    /// An event other than a decision, such as the removal of a line that a crash cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The earlier entries that this one says were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) removed: Vec<Removed>,
    /// The entries that this one says were dropped at the beginning of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dropped: Option<Base>,
    /// The action in the trace format, with secrets redacted.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub action: Value,
    /// The user's request.
    #[serde(default)]
    pub request: String,
    /// The name of the agent.
    #[serde(default)]
    pub agent: String,
    /// The identity for which the agent acts.
    #[serde(default)]
    pub identity: Identity,
    /// The texts that the agent had read; empty if the action was allowed.
    #[serde(default)]
    pub observations: Vec<Observation>,
    /// The credentials that the agent had read.
    #[serde(default)]
    pub held: Vec<String>,
    /// When the session began, and why something in it was unread. The files that it made and the places that a person agreed
    /// to are left out.
    #[serde(default, skip_serializing_if = "SessionFacts::is_empty")]
    pub(crate) session: SessionFacts,
    /// A secret, part of a long text, the observations or a part of the session were left out: the decision cannot be reproduced exactly.
    #[serde(default)]
    pub redacted: bool,
    /// The guard ran in shadow mode: the verdict blocked nothing.
    #[serde(default)]
    pub shadow: bool,
    /// The verdict as JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub verdict: Value,
}

/// A writer of the log. Clones and processes may share its folder.
#[derive(Debug, Clone)]
pub struct Audit {
    folder: PathBuf,
    shadow: bool,
    durable: bool,
    pub(super) retention: Retention,
}

impl Audit {
    /// Opens the log in a folder, or begins one. `shadow`: the logged verdicts block nothing.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(folder: &Path, shadow: bool) -> Result<Self, AuditError> {
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        Ok(Self { folder: folder.to_owned(), shadow, durable: false, retention: Retention::default() })
    }

    /// Syncs each line to the disk before its verdict is returned, so that a power failure loses none. This takes as
    /// long as the disk needs.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Puts a log that is not intact aside, unchanged, and begins a new one, whose first entry records this. Returns
    /// the new path of the old log.
    ///
    /// # Errors
    /// [`AuditError::File`]
    pub fn reseal(folder: &Path, why: &str) -> Result<PathBuf, AuditError> {
        let aside = folder.with_extension(format!("{}.aside", now_ms()));
        std::fs::rename(folder, &aside).map_err(failed(folder))?;
        let event = format!("the previous log was put aside as {}: {why}", aside.display());
        Self::open(folder, false)?.add(Entry { event: Some(event), ..empty() })?;
        Ok(aside)
    }

    /// The folder of the log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Logs a decision; returns the number of its entry.
    ///
    /// # Errors
    /// [`AuditError`]; then nothing was logged.
    pub fn append(&self, action: &Action, context: &Context, verdict: &Verdict) -> Result<u64, AuditError> {
        let mut left_out = false;
        let mut action = serde_json::to_value(action)?;
        let mut said = serde_json::to_value(verdict)?;
        let mut request = Value::String(context.request.clone());
        let mut held = serde_json::to_value(&context.held)?;
        // observations would be repeated with each action; they are kept if an action was not allowed
        let stopped = verdict.decision != Decision::Allow;
        let seen = context.observations.iter().chain(&context.local).filter(|_| stopped);
        let mut observations = serde_json::to_value(seen.collect::<Vec<_>>())?;
        let unseen = !stopped && (!context.observations.is_empty() || !context.local.is_empty());
        let mut identity = serde_json::to_value(&context.identity)?;
        // a long session has made much
        let about = &context.session;
        let loose = !about.made.is_empty() || !about.places.is_empty();
        let about = SessionFacts { began: about.began, unread: about.unread.clone(), ..SessionFacts::default() };
        let mut session = serde_json::to_value(about)?;
        let secrets = Secrets::in_values([&action, &request, &observations]);
        for value in [&mut action, &mut request, &mut observations, &mut held, &mut identity, &mut session] {
            cleaned(value, &secrets, &mut left_out);
        }
        // a redaction in the verdict alone does not prevent an exact replay
        let asked = left_out;
        cleaned(&mut said, &secrets, &mut left_out);
        self.add(Entry {
            action,
            request: request.as_str().unwrap_or_default().to_owned(),
            agent: context.agent.clone(),
            identity: serde_json::from_value(identity)?,
            observations: serde_json::from_value(observations)?,
            held: serde_json::from_value(held)?,
            session: serde_json::from_value(session)?,
            redacted: asked || unseen || loose,
            shadow: self.shadow,
            verdict: said,
            ..empty()
        })
    }

    /// Logs another event, such as a change of the configuration.
    ///
    /// # Errors
    /// [`AuditError`]; then nothing was logged.
    pub fn note(&self, event: &str) -> Result<u64, AuditError> {
        let mut event = Value::String(event.to_owned());
        cleaned(&mut event, &Secrets::default(), &mut false);
        let event = event.as_str().map(str::to_owned);
        self.add(Entry { event, ..empty() })
    }

    fn add(&self, mut entry: Entry) -> Result<u64, AuditError> {
        let path = self.folder.join(HEAD);
        let mut file = self.locked(&path)?;
        let mut head = self.head(&mut file, &path)?;
        entry.at_ms = now_ms();
        let before = head.file;
        self.write(&mut file, &path, &mut head, entry)?;
        let entries = head.entries;
        if head.file != before {
            self.drop_old(&mut file, &path, &mut head, now_ms())?;
        }
        Ok(entries)
    }

    /// Where the log ends, after the repair of what a killed writer has left. `file`: the locked `HEAD` at `path`.
    pub(super) fn head(&self, file: &mut File, path: &Path) -> Result<Head, AuditError> {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed(path))?;
        let mut head = match text.as_str() {
            // a writer was killed before it wrote the first HEAD: the log consists of the first line, if it is complete
            "" if self.folder.join(name(2)).exists() || lines(&self.folder.join(name(1))) > 1 => {
                return Err(Broken::new(HEAD, 0, "the file is missing, but log files exist").into());
            }
            "" => Head::begin(),
            text => Head::parse(text).ok_or_else(|| Broken::new(HEAD, 0, "the file cannot be parsed"))?,
        };
        let found = head.clone();
        if let Some(event) = self.mended(&mut head)? {
            let told = Entry { event: Some(event), ..empty() };
            self.write(file, path, &mut head, told)?;
        } else if head != found {
            record(file, path, &head)?;
        }
        Ok(head)
    }

    /// Opens and locks `HEAD`; dropping the file releases the lock.
    pub(super) fn locked(&self, path: &Path) -> Result<File, AuditError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(path).map_err(failed(path))?;
        let until = Instant::now() + WAIT;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(AuditError::Held(self.folder.clone())),
                Err(why) => return Err(AuditError::File { path: path.to_owned(), why: why.into() }),
            }
        }
    }

    /// Repairs the log if the last writer was killed between writing a line and `HEAD`: `HEAD` is brought up to date,
    /// and an incomplete line is removed. Returns the event to log, if any.
    fn mended(&self, head: &mut Head) -> Result<Option<String>, AuditError> {
        let told = self.caught_up(head)?;
        // the writer was killed after the first line of the next file
        if self.folder.join(name(head.file + 1)).exists() {
            (head.file, head.bytes) = (head.file + 1, 0);
            let next = self.caught_up(head)?;
            return Ok(next.or(told));
        }
        Ok(told)
    }

    fn caught_up(&self, head: &mut Head) -> Result<Option<String>, AuditError> {
        let path = self.folder.join(name(head.file));
        let length = match path.metadata() {
            Ok(meta) => meta.len(),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => 0,
            Err(why) => return Err(AuditError::File { path, why }),
        };
        if length == head.bytes {
            return Ok(None);
        }
        if length < head.bytes {
            return Err(Broken::new(&name(head.file), 0, "the end of the file is missing").into());
        }
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed(&path))?;
        file.seek(SeekFrom::Start(head.bytes)).map_err(failed(&path))?;
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).map_err(failed(&path))?;
        let whole = rest.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let lines = rest.get(..whole).unwrap_or_default();
        let mut chain = Chain::new(&head.hash, head.entries);
        chain.walk(&name(head.file), lines, &mut |_| {})?;
        (head.hash, head.entries) = (chain.hash, chain.count);
        head.bytes += whole as u64;
        if whole == rest.len() {
            return Ok(None);
        }
        file.set_len(head.bytes).map_err(failed(&path))?;
        Ok(Some(format!("a line that was cut short after {} bytes was removed", rest.len() - whole)))
    }

    pub(super) fn write(
        &self,
        file: &mut File,
        path: &Path,
        head: &mut Head,
        mut entry: Entry,
    ) -> Result<(), AuditError> {
        if head.bytes > FILE || self.is_ripe(head, now_ms()) {
            head.file += 1;
            head.bytes = 0;
        }
        entry.seq = head.entries + 1;
        let json = serde_json::to_vec(&entry)?;
        let hash = link(&head.hash, &json);
        let mut line = format!(r#"{{"hash":"{hash}","entry":"#).into_bytes();
        line.extend_from_slice(&json);
        line.extend_from_slice(b"}\n");
        let log = self.folder.join(name(head.file));
        let mut options = OpenOptions::new();
        let mut out = options.append(true).create(true).mode(0o600).open(&log).map_err(failed(&log))?;
        // the line is written before HEAD refers to it
        if let Err(why) = out.write_all(&line).and_then(|()| if self.durable { out.sync_data() } else { Ok(()) }) {
            // the disk may be full: remove an incomplete line
            let _ = out.set_len(head.bytes);
            return Err(AuditError::File { path: log, why });
        }
        (head.entries, head.hash) = (entry.seq, hash);
        head.bytes += line.len() as u64;
        record(file, path, head)
    }
}

/// Writes where the log ends into the locked `HEAD` at `path`.
fn record(file: &mut File, path: &Path, head: &Head) -> Result<(), AuditError> {
    let text = head.text();
    file.seek(SeekFrom::Start(0)).map_err(failed(path))?;
    file.write_all(text.as_bytes()).map_err(failed(path))?;
    file.set_len(text.len() as u64).map_err(failed(path))
}

/// The number of lines of a file; 0 if it cannot be read.
fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count())
}

/// Redacts secrets in every string of a value (`secrets`: those of the action), and truncates long strings; sets `left_out` if anything changed.
pub(crate) fn cleaned(value: &mut Value, secrets: &Secrets, left_out: &mut bool) {
    *left_out |= secrets.redact_json(value) | truncated(value);
}

/// Truncates long strings; returns whether there were any.
fn truncated(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.len() > TEXT => {
            text.truncate(text.floor_char_boundary(TEXT));
            text.push_str("[…]");
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| truncated(item) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, field| truncated(field) | any),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(super) fn empty() -> Entry {
    Entry {
        seq: 0,
        at_ms: now_ms(),
        event: None,
        removed: Vec::new(),
        dropped: None,
        action: Value::Null,
        request: String::new(),
        agent: String::new(),
        identity: Identity::default(),
        observations: Vec::new(),
        held: Vec::new(),
        session: SessionFacts::default(),
        redacted: false,
        shadow: false,
        verdict: Value::Null,
    }
}

fn now_ms() -> u64 {
    u64::try_from(crate::clock::now_ms()).unwrap_or_default()
}
