//! Recorded models, so that tests can replay the replies of a real model.
//!
//! 1. The key is the SHA-256 of the whole request: model, every turn, schema, reply limit. Only the nonce of the
//!    fences, which is new each time, is excluded.
//! 2. [`Recorder`] forwards requests and writes request and reply as one JSON line, with secrets redacted.
//! 3. [`Player`] answers from such lines. A request without a recording is an error, never a guess.

use super::{Completion, LanguageModel, ModelError, Prompt};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Placeholder for the nonce in a recording.
const NONCE: &str = "NONCE";

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    key: String,
    model: String,
    /// The last turn, for human readers of the file.
    asked: String,
    reply: Completion,
}

/// Hexadecimal SHA-256 of a whole request to a model.
#[must_use]
pub fn recording_key(model: &str, prompt: &Prompt) -> String {
    let turns: Vec<_> = prompt.turns.iter().map(|t| (t.role, without_nonce(&t.text, &prompt.nonce))).collect();
    let request = json!({"model": model, "turns": turns, "schema": prompt.schema, "reply_tokens": prompt.reply_tokens, "temperature": 0});
    crate::hex(&Sha256::digest(request.to_string()))
}

fn without_nonce(text: &str, nonce: &str) -> String {
    if nonce.is_empty() { text.to_owned() } else { text.replace(nonce, NONCE) }
}

/// Asks a model and records its replies. A recorded request is not sent again.
#[derive(Debug)]
pub struct Recorder {
    inner: Arc<dyn LanguageModel>,
    file: Mutex<File>,
    known: Mutex<HashMap<String, Completion>>,
    path: PathBuf,
}

impl Recorder {
    /// A recorder that appends to `path`.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn new(inner: Arc<dyn LanguageModel>, path: &Path) -> std::io::Result<Self> {
        let known = if path.exists() { load_completions(path)? } else { HashMap::new() };
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { inner, file: Mutex::new(file), known: Mutex::new(known), path: path.to_owned() })
    }
}

#[async_trait]
impl LanguageModel for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt, limit: Duration) -> Result<Completion, ModelError> {
        let key = recording_key(self.name(), prompt);
        if let Some(reply) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(restored(reply, &prompt.nonce));
        }
        let reply = self.inner.complete(prompt, limit).await?;
        let kept = Completion {
            text: crate::untrusted::redact(&without_nonce(&reply.text, &prompt.nonce)).into_owned(),
            ..reply.clone()
        };
        let asked = prompt.turns.last().map_or("", |t| t.text.as_str());
        let asked = crate::untrusted::redact(&without_nonce(asked, &prompt.nonce)).into_owned();
        let line = Line { key: key.clone(), model: self.name().to_owned(), asked, reply: kept.clone() };
        let mut text = serde_json::to_string(&line).map_err(|e| ModelError::Malformed(e.to_string()))?;
        text.push('\n');
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes());
        written.map_err(|e| ModelError::Malformed(format!("cannot write to {}: {e}", self.path.display())))?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, kept);
        Ok(reply)
    }
}

/// Answers from recordings.
#[derive(Debug)]
pub struct Player {
    name: String,
    known: HashMap<String, Completion>,
}

impl Player {
    /// A player of the recordings in `path` for the model `name`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(name: &str, path: &Path) -> std::io::Result<Self> {
        Ok(Self { name: name.to_owned(), known: load_completions(path)? })
    }
}

#[async_trait]
impl LanguageModel for Player {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, prompt: &Prompt, _limit: Duration) -> Result<Completion, ModelError> {
        let key = recording_key(&self.name, prompt);
        let reply = self.known.get(&key).ok_or(ModelError::NotRecorded(key))?;
        Ok(restored(reply, &prompt.nonce))
    }
}

fn restored(reply: &Completion, nonce: &str) -> Completion {
    Completion { text: reply.text.replace(NONCE, nonce), ..reply.clone() }
}

fn load_completions(path: &Path) -> std::io::Result<HashMap<String, Completion>> {
    let mut known = HashMap::new();
    for (number, line) in BufReader::new(File::open(path)?).lines().enumerate() {
        let line: Line = serde_json::from_str(&line?)
            .map_err(|e| std::io::Error::other(format!("{}:{}: {e}", path.display(), number + 1)))?;
        known.insert(line.key, line.reply);
    }
    Ok(known)
}
