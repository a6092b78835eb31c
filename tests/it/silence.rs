//! Nothing is written or sent but what the guard says it writes: the runtime of the embedder, in a network namespace.

use agrail::embed::Embedder as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        found.extend(if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] });
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_writes_and_sends_nothing() {
    let works = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    if !works("unshare", &["-n", "true"]) || !works("strace", &["-V"]) {
        eprintln!("skipped: it needs root, unshare and strace");
        return;
    }
    // the files of the model are there
    crate::embedder().embed(&["Delete a file"]).await.unwrap();
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
    let (home, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (config, log) = (work.path().join("agrail.toml"), work.path().join("strace"));
    std::fs::write(&config, format!("[embedder]\ncache = \"{}/agrail\"\noffline = true\n", cache.display())).unwrap();
    let output = Command::new("unshare")
        .args(["-n", "strace", "-f", "-qq", "-e", "trace=network,openat,mkdir,mkdirat", "-o"])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_agrail"))
        .arg("--config")
        .arg(&config)
        .args(["doctor", "--no-hosts"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .env("USER", "tester")
        .current_dir(work.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.lines().any(|line| line.contains("embedder") && line.contains("works")), "{said}");
    // the runtime has the time to do what it does beside
    let written = files(home.path());
    let own = |file: &PathBuf| file.to_string_lossy().contains("/agrail/");
    assert!(written.iter().all(own), "{written:?}");
    let trace = std::fs::read_to_string(&log).unwrap();
    assert!(trace.contains("libonnxruntime"), "the runtime was loaded");
    for line in trace.lines() {
        let names = ["AF_INET", "deviceid", "Microsoft", "onnxruntime.db", "telemetry"];
        assert!(!names.iter().any(|name| line.contains(name)), "{line}");
    }
}

#[tokio::test]
async fn a_runtime_that_sends_telemetry_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libonnxruntime.so");
    std::fs::write(&library, b"\x7fELF ... N11onnxruntime14OneDsTelemetryE ...").unwrap();
    let mut sources = agrail::embed::Sources::new(folder.path());
    sources.runtime = Some(library);
    let error = agrail::embed::MiniLm::new(sources).embed(&["x"]).await.unwrap_err();
    assert!(error.to_string().contains("telemetry"), "{error}");
}
