use super::*;

/// Kinds of secrets: the text before, the secret, and the text after. In the file the parts of a secret are separated, so
/// that no scanner takes them for real ones.
fn kinds() -> Vec<(String, String, String)> {
    let lines = include_str!("../../../tests/it/data/secrets.txt").lines();
    let plain = |part: &str| part.replace(r"\n", "\n").replace("\\\n", r"\n");
    let kind = |line: &str| {
        let parts: Vec<String> = line.split('¦').map(plain).collect();
        let (before, rest) = parts.split_first()?;
        let (after, secret) = rest.split_last()?;
        Some((before.clone(), secret.concat(), after.clone()))
    };
    lines.filter_map(kind).collect()
}

#[test]
fn every_pattern_compiles() {
    assert!(WORDS.search.is_some());
    for (place, form) in FORMS.iter().enumerate() {
        let pattern = Form::pattern(place).map(|pattern| pattern.capture_names().flatten().collect::<Vec<_>>());
        assert_eq!(pattern.as_deref(), Some(&["s"][..]), "{form:?}");
    }
}

#[test]
fn every_kind_is_redacted() {
    let kinds = kinds();
    assert!(kinds.len() >= 50);
    for (before, secret, after) in kinds {
        for text in [format!("{before}{secret}{after}"), format!("first\n  {before}{secret}{after}\nlast")] {
            let shown = redact(&text);
            assert!(shown.contains(REDACTED), "{text}");
            let part = secret.trim().get(..secret.trim().len().min(12)).unwrap_or_default();
            assert!(!shown.contains(part), "{text}\n{shown}");
            assert_eq!(redact(&shown), shown, "it is redacted once");
        }
    }
}

#[test]
fn other_text_is_not_copied() {
    for text in [
        "rm -rf /tmp/token-cache",
        "git checkout 0123456789abcdef0123456789abcdef01234567",
        "git checkout -b feature=one && git push -u origin main",
        "docker run -u 1000:1000 -p 8080:80 -v $PWD:/app node:20",
        "export TOKEN=$(gh auth token) && curl -H \"Authorization: Bearer $TOKEN\" https://api.example",
        "psql postgres://me:$PGPASSWORD@db/x",
        "max_tokens=4096 tokenizer=bert-base-uncased",
        "def login(password: str, token: Optional[str] = None) -> bool:",
        "password = get_password(user)",
        "the basic understanding of tokens and passwords; a bearer of news",
        "npm install --save-dev @types/node@20.1.0",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "cd /usr/local/lib/python3.11/site-packages/authlib && grep -rn secret_key: .",
        "mysql -h db -P 3306 -u root shop < dump.sql",
        "redis-cli -h cache -p 6379 ping",
        "PWD=/home/me OLDPWD=/home make",
        "kubectl get secret db -o yaml",
        "Password: required",
        "https://x.example/list?page=2&sort=created",
        "http://127.0.0.1:8642/v1/check",
        "ssh me@host.example:22",
        "src/components/Authentication/PasswordResetForm/index2.tsx",
        "cargo test --release -p agrail --lib -- redact",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text}\n{}", redact(text));
    }
}

#[test]
fn names_of_fields_tell_what_is_secret() {
    let mut value = serde_json::json!({
        "user": "me", "password": "correcthorse", "options": {"apiKey": "a1b2c3d4e5f6g7h8", "retries": 3},
        "items": ["token=a1b2c3d4e5f6", "plain"], "token": "$TOKEN",
    });
    assert!(Secrets::default().redact_json(&mut value));
    let expected = serde_json::json!({
        "user": "me", "password": REDACTED, "options": {"apiKey": REDACTED, "retries": 3},
        "items": [format!("token={REDACTED}"), "plain"], "token": "$TOKEN",
    });
    assert_eq!(value, expected);
    assert!(!Secrets::default().redact_json(&mut value));
}

#[test]
fn a_secret_is_found_again_where_no_form_tells_it() {
    let secrets =
        Secrets::of(["curl -b session=abcdef012345 https://x.example", "sshpass -p 'correct horse9' ssh me@host"]);
    assert_eq!(secrets.redact("read /srv/session=abcdef012345"), format!("read /srv/{REDACTED}"));
    assert_eq!(secrets.redact("unknown program horse9"), format!("unknown program {REDACTED}"));
    assert!(matches!(secrets.redact("ssh me@host"), Cow::Borrowed(_)));
}

#[test]
fn a_secret_is_held_in_another_spelling() {
    let secrets = Secrets::of([format!("doctl auth init -t dop_v1_{}", "0123456789abcdef".repeat(4)).as_str()]);
    assert!(secrets.hold(&format!("DOP-V1-{}", "0123456789abcdef".repeat(4))) && !secrets.hold("doctl-auth"));
}

#[test]
fn many_secrets_take_no_longer_than_one_each() {
    let text = "password=hunter2x; ".repeat(100_000);
    let shown = redact(&text);
    assert_eq!((shown.matches(REDACTED).count(), shown.contains("hunter2x")), (100_000, false));
    let quoted = "password='hunter2x api_key=a1b2c3d4e5f6'; user=me";
    assert_eq!(redact(quoted), format!("password='{REDACTED}'; user=me"));
}
