//! The folder of a run, which keeps every answer, so that a killed run can be resumed.
//!
//! The loop is deterministic in its seed. Each score and each proposal is written under the hash of its question before
//! it is used. A resumed run asks the same questions and finds the answers. If a kill cut a line off, its question is
//! asked again.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Why the folder of a run cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder holds another run.
    #[error(
        "{} holds another run (another task, seed, optimizer, size or head); give another --out, or remove it", .0.display()
    )]
    OtherRun(PathBuf),
    /// The system refused to make or write a file.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An answer cannot be written as JSON.
    #[error("cannot write an answer down")]
    Answer(#[from] serde_json::Error),
}

/// Converts an error of the file system.
fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    move |source| FolderError::Write { path: path.to_owned(), source }
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    kind: String,
    answer: Value,
}

/// Name of the file with the answers.
const STEPS: &str = "steps.jsonl";

/// The open folder of a run, with the known answers.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    known: Mutex<HashMap<String, Value>>,
    file: Mutex<File>,
}

impl Store {
    /// Opens a folder. `question`: the description of the run. The folder of another run is refused.
    ///
    /// # Errors
    /// [`FolderError::OtherRun`], [`FolderError::Write`]
    pub fn open(folder: &Path, question: &str) -> Result<Self, FolderError> {
        std::fs::create_dir_all(folder).map_err(unwritten(folder))?;
        let about = folder.join("run.toml");
        match std::fs::read_to_string(&about) {
            Ok(before) if before != question => return Err(FolderError::OtherRun(folder.to_owned())),
            Ok(_) => {}
            Err(_) => std::fs::write(&about, question).map_err(unwritten(&about))?,
        }
        let path = folder.join(STEPS);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known = lines.map(|line| (line.key, line.answer)).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(unwritten(&path))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(unwritten(&path))?;
        }
        Ok(Self { folder: folder.to_owned(), known: Mutex::new(known), file: Mutex::new(file) })
    }

    /// The stored answer to a question.
    pub fn known<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::from_value(known.get(key)?.clone()).ok()
    }

    /// Stores the answer to a question.
    ///
    /// # Errors
    /// [`FolderError::Write`], [`FolderError::Answer`]
    pub fn keep(&self, key: &str, kind: &str, answer: &impl Serialize) -> Result<(), FolderError> {
        let answer = serde_json::to_value(answer)?;
        let line = Line { key: key.to_owned(), kind: kind.to_owned(), answer: answer.clone() };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes());
        written.map_err(unwritten(&self.folder.join(STEPS)))?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), answer);
        Ok(())
    }

    /// Writes a file in the folder, atomically.
    ///
    /// # Errors
    /// [`FolderError::Write`]
    pub fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.folder.join(name);
        let part = self.folder.join(format!("{name}.part"));
        std::fs::create_dir_all(path.parent().unwrap_or(&self.folder))
            .and_then(|()| std::fs::write(&part, text))
            .and_then(|()| std::fs::rename(&part, &path))
            .map_err(unwritten(&path))
    }
}

/// The key of a question.
#[must_use]
pub fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    crate::hex(&hash.finalize())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), "a").unwrap();
        store.keep("one", "score", &1.5).unwrap();
        store.keep("two", "score", &2.5).unwrap();
        drop(store);
        let path = folder.path().join("steps.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.get(..text.len() - 8).unwrap()).unwrap();
        let store = Store::open(folder.path(), "a").unwrap();
        assert_eq!((store.known::<f64>("one"), store.known::<f64>("two")), (Some(1.5), None));
        store.keep("two", "score", &3.5).unwrap();
        drop(store);
        assert_eq!(Store::open(folder.path(), "a").unwrap().known::<f64>("two"), Some(3.5));
        assert!(Store::open(folder.path(), "b").is_err(), "another run");
    }
}
