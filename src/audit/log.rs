//! Appending.

use super::verify::{Broken, walk};
use super::{AuditError, HEAD, Head, failed, link, name};
use crate::action::{Action, Context, Identity, Observation};
use crate::untrusted::redact;
use crate::verdict::{Decision, Verdict};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file that is longer is not added to.
const FILE: u64 = 32 * 1024 * 1024;
/// Longest wait for another process.
const WAIT: Duration = Duration::from_millis(1_500);
/// What is kept of one text, bytes.
const TEXT: usize = 64 * 1024;

/// One decision, as it is logged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// Place in the log, from 1.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// What happened beside decisions, such as a line that a crash cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The action, in the form of the trace format; without secrets.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub action: Value,
    /// What the user asked for.
    #[serde(default)]
    pub request: String,
    /// Which agent asks.
    #[serde(default)]
    pub agent: String,
    /// For whom.
    #[serde(default)]
    pub identity: Identity,
    /// What the agent had read.
    #[serde(default)]
    pub observations: Vec<Observation>,
    /// Which credentials it had read.
    #[serde(default)]
    pub held: Vec<String>,
    /// Something was left out: a secret, or a part of a long text. What was decided cannot be reproduced exactly.
    #[serde(default)]
    pub redacted: bool,
    /// Nothing was blocked by it: it says what would have been.
    #[serde(default)]
    pub shadow: bool,
    /// The verdict, in its own form.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub verdict: Value,
}

/// A log that is written to. Clones and processes may share its folder.
#[derive(Debug, Clone)]
pub struct Audit {
    folder: PathBuf,
    shadow: bool,
    durable: bool,
}

impl Audit {
    /// Opens the log in a folder, or begins it. `shadow`: what is logged blocks nothing.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn open(folder: &Path, shadow: bool) -> Result<Self, AuditError> {
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        Ok(Self { folder: folder.to_owned(), shadow, durable: false })
    }

    /// The same, but each line is on the disk before its verdict is given, so that a loss of power loses none. It takes as long
    /// as the disk does.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Puts a log that does not hold together aside, whole as it is, and begins another, whose first entry says so. Returns
    /// where the old one is.
    ///
    /// # Errors
    /// [`AuditError::File`]
    pub fn reseal(folder: &Path, why: &str) -> Result<PathBuf, AuditError> {
        let aside = folder.with_extension(format!("{}.aside", now_ms()));
        std::fs::rename(folder, &aside).map_err(failed(folder))?;
        let event = format!("another log was put aside as {}: {why}", aside.display());
        Self::open(folder, false)?.add(Entry { event: Some(event), ..empty() })?;
        Ok(aside)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Logs a decision; returns its place.
    ///
    /// # Errors
    /// [`AuditError`]; then nothing was logged.
    pub fn append(&self, action: &Action, context: &Context, verdict: &Verdict) -> Result<u64, AuditError> {
        let mut left_out = false;
        let mut clean = |value: &mut Value| cleaned(value, &mut left_out);
        let mut action = serde_json::to_value(action)?;
        let mut said = serde_json::to_value(verdict)?;
        let mut request = Value::String(context.request.clone());
        let mut held = serde_json::to_value(&context.held)?;
        // they would be repeated with each action; they are kept where they were held against one
        let stopped = verdict.decision != Decision::Allow;
        let seen = context.observations.iter().chain(&context.local).filter(|_| stopped);
        let mut observations = serde_json::to_value(seen.collect::<Vec<_>>())?;
        let unseen = !stopped && (!context.observations.is_empty() || !context.local.is_empty());
        let mut identity = serde_json::to_value(&context.identity)?;
        for value in [&mut action, &mut request, &mut observations, &mut held, &mut identity] {
            clean(value);
        }
        // what the verdict quotes may go, what was asked may not
        let asked = left_out;
        cleaned(&mut said, &mut left_out);
        self.add(Entry {
            seq: 0,
            at_ms: now_ms(),
            event: None,
            action,
            request: request.as_str().unwrap_or_default().to_owned(),
            agent: context.agent.clone(),
            identity: serde_json::from_value(identity)?,
            observations: serde_json::from_value(observations)?,
            held: serde_json::from_value(held)?,
            redacted: asked || unseen,
            shadow: self.shadow,
            verdict: said,
        })
    }

    /// Logs that something else happened, such as a change of what decides.
    ///
    /// # Errors
    /// [`AuditError`]; then nothing was logged.
    pub fn note(&self, event: &str) -> Result<u64, AuditError> {
        let mut event = Value::String(event.to_owned());
        cleaned(&mut event, &mut false);
        let event = event.as_str().map(str::to_owned);
        self.add(Entry { event, ..empty() })
    }

    fn add(&self, mut entry: Entry) -> Result<u64, AuditError> {
        let path = self.folder.join(HEAD);
        let mut file = self.locked(&path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed(&path))?;
        let mut head = match text.as_str() {
            // killed before the first head was written: the first line, if it is whole, is the log
            "" if self.folder.join(name(2)).exists() || lines(&self.folder.join(name(1))) > 1 => {
                return Err(Broken::new(HEAD, 0, "it is missing, and there is a log").into());
            }
            "" => Head::begin(),
            text => Head::parse(text).ok_or_else(|| Broken::new(HEAD, 0, "it cannot be read"))?,
        };
        if let Some(event) = self.mended(&mut head)? {
            let told = Entry { event: Some(event), ..empty() };
            self.write(&mut file, &path, &mut head, told)?;
        }
        entry.at_ms = now_ms();
        self.write(&mut file, &path, &mut head, entry)?;
        Ok(head.entries)
    }

    /// The head's file, held until it is dropped.
    fn locked(&self, path: &Path) -> Result<File, AuditError> {
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

    /// Where the last writer was killed between a line and the head, the head catches up, and half a line goes.
    fn mended(&self, head: &mut Head) -> Result<Option<String>, AuditError> {
        let told = self.caught_up(head)?;
        // killed after the first line of the next file
        if head.bytes > FILE && self.folder.join(name(head.file + 1)).exists() {
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
            return Err(Broken::new(&name(head.file), 0, "its end is missing").into());
        }
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed(&path))?;
        file.seek(SeekFrom::Start(head.bytes)).map_err(failed(&path))?;
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).map_err(failed(&path))?;
        let whole = rest.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let lines = rest.get(..whole).unwrap_or_default();
        let seen = walk(&name(head.file), lines, &head.hash, head.entries, |_| {})?;
        (head.hash, head.entries) = (seen.0, seen.1);
        head.bytes += whole as u64;
        if whole == rest.len() {
            return Ok(None);
        }
        file.set_len(head.bytes).map_err(failed(&path))?;
        Ok(Some(format!("a line that was cut short after {} bytes was taken out", rest.len() - whole)))
    }

    fn write(&self, file: &mut File, path: &Path, head: &mut Head, mut entry: Entry) -> Result<(), AuditError> {
        if head.bytes > FILE {
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
        // the line is on the disk before the head says so
        if let Err(why) = out.write_all(&line).and_then(|()| if self.durable { out.sync_data() } else { Ok(()) }) {
            // a full disk: half a line must not stay
            let _ = out.set_len(head.bytes);
            return Err(AuditError::File { path: log, why });
        }
        (head.entries, head.hash) = (entry.seq, hash);
        head.bytes += line.len() as u64;
        let text = head.text();
        file.seek(SeekFrom::Start(0)).map_err(failed(path))?;
        file.write_all(text.as_bytes()).map_err(failed(path))?;
        file.set_len(text.len() as u64).map_err(failed(path))
    }
}

/// Lines of a file, as far as it can be read.
fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count())
}

/// Takes secrets and what is too long out of every text of a value.
pub(crate) fn cleaned(value: &mut Value, left_out: &mut bool) {
    match value {
        Value::String(text) => {
            if text.len() > TEXT {
                text.truncate(text.floor_char_boundary(TEXT));
                text.push_str("[…]");
                *left_out = true;
            }
            let clean = redact(text);
            if clean != *text {
                *left_out = true;
                *text = clean.into_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cleaned(item, left_out)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cleaned(field, left_out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn empty() -> Entry {
    Entry {
        seq: 0,
        at_ms: now_ms(),
        event: None,
        action: Value::Null,
        request: String::new(),
        agent: String::new(),
        identity: Identity::default(),
        observations: Vec::new(),
        held: Vec::new(),
        redacted: false,
        shadow: false,
        verdict: Value::Null,
    }
}

fn now_ms() -> u64 {
    u64::try_from(crate::learn::now_ms()).unwrap_or_default()
}
