//! `agrail notify`: programs and addresses that are told about questions.

use crate::people::{agrail, told};
use axum::routing::post;
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// A home with two questions.
fn asked() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for command in ["frobnicate one", "frobnicate token=ghp_0123456789abcdefghijABCDEFGHIJ456789"] {
        let asked = agrail(home.path(), &["check", "--queue", command]);
        assert_eq!(asked.status.code(), Some(3), "{}", told(&asked));
    }
    home
}

#[test]
fn a_program_is_told_about_each_question_once() {
    let home = asked();
    let told_once = agrail(home.path(), &["notify", "--once", "--", "sh", "-c", "cat >> told; echo >> told"]);
    assert!(told_once.status.success(), "{}", told(&told_once));
    let text = std::fs::read_to_string(home.path().join("told")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0]["action"].as_str().unwrap().contains("frobnicate one"), "{text}");
    assert!(!text.contains("ghp_0123456789"), "{text}");
    let (id, short) = (lines[0]["id"].as_str().unwrap(), lines[0]["short"].as_str().unwrap());
    assert!(id.ends_with(short) && lines[0]["approve"] == format!("agrail approvals approve {short}"), "{text}");
    assert!(lines[0]["until_ms"].as_i64() > lines[0]["asked_ms"].as_i64());
}

#[test]
fn a_program_that_fails_or_is_missing_is_named() {
    let home = asked();
    for (words, says) in [
        (&["notify", "--once", "--", "false"][..], "'false'"),
        (&["notify", "--once", "--", "/nowhere/x"], "No such file"),
        (&["notify", "--once", "--url", "http://127.0.0.1:1/"], "127.0.0.1:1"),
    ] {
        let output = agrail(home.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(told(&output).contains(says), "{words:?}: {}", told(&output));
    }
    let nothing = agrail(home.path(), &["notify", "--once"]);
    assert!(!nothing.status.success() && told(&nothing).contains("--url"), "{}", told(&nothing));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_told_by_post() {
    let home = asked();
    let got: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = got.clone();
    let keep = move |body: axum::Json<Value>| {
        kept.lock().unwrap().push(body.0);
        std::future::ready("")
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().route("/hook", post(keep))).await });
    let path = home.path().to_owned();
    let output =
        tokio::task::spawn_blocking(move || agrail(&path, &["notify", "--once", "--url", &url])).await.unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let got = got.lock().unwrap();
    assert_eq!(got.len(), 2);
    assert!(got.iter().all(|one| one["reason"].is_string() && one["effects"].is_array()), "{got:?}");
}
