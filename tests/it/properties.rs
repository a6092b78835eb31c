//! What must hold for any input: the shell reader, paths, traces.

use agrail::effect::shell::{self, NoFiles, tidy};
use agrail::machine::Environment;
use agrail::replay::read_traces;
use proptest::prelude::*;

/// Words that attackers and honest agents put together.
fn script() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("rm"),
        Just("-rf"),
        Just("/etc"),
        Just("$X"),
        Just("X=/a"),
        Just("&&"),
        Just("||"),
        Just(";"),
        Just("|"),
        Just("("),
        Just(")"),
        Just("{"),
        Just("}"),
        Just("if"),
        Just("then"),
        Just("fi"),
        Just("for i in a b; do"),
        Just("done"),
        Just("$("),
        Just("`"),
        Just("'"),
        Just("\""),
        Just("<<E"),
        Just("E\n"),
        Just(">"),
        Just("~"),
        Just("sh -c"),
        Just("eval"),
        Just("cd .."),
        Just("\\"),
        Just("\n"),
        Just("sudo"),
        Just("*"),
        Just("ü\u{0}"),
    ];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

fn effects(script: &str) -> Vec<String> {
    let reading = shell::extract_effects(script, "user", "/home/user", "/home/user", &NoFiles);
    reading.effects.iter().map(agrail::effect::Effect::to_table_notation).collect()
}

proptest! {
    #[test]
    fn a_script_is_read_the_same_way_twice_and_within_bounds(text in script()) {
        let once = effects(&text);
        prop_assert_eq!(&once, &effects(&text));
        prop_assert!(once.len() <= 1_001);
    }

    #[test]
    fn what_stands_before_any_text_on_a_line_of_its_own_is_seen(text in script()) {
        let found = effects(&format!("rm /srv/first\n{text}"));
        let seen = found.iter().any(|e| e == "delete /srv/first" || e.starts_with("unknown"));
        prop_assert!(seen, "{:?}", found);
    }

    #[test]
    fn a_tidy_path_is_absolute_and_has_no_dots(path in "[a-z./]{0,60}") {
        let tidied = tidy(&path);
        prop_assert!(tidied.starts_with('/'));
        prop_assert!(!tidied.split('/').any(|part| part == "." || part == ".."));
        prop_assert_eq!(&tidy(&tidied), &tidied);
    }

    #[test]
    fn no_path_leads_out_of_the_root(path in "/[a-z./]{0,40}") {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("a")).unwrap();
        std::os::unix::fs::symlink("../../..", root.path().join("a/b")).unwrap();
        let environment = Environment::open(root.path()).unwrap();
        let who = environment.account("user");
        let inside = ["/", "/a", "/a/b"];
        let facts = environment.path(&path, &who);
        if facts.exists == Some(true) {
            prop_assert!(inside.contains(&facts.resolved.as_str()), "{} is {}", path, facts.resolved);
        }
    }

    #[test]
    fn a_line_that_is_no_trace_is_an_error_with_its_place(line in "[^\n]{1,80}") {
        prop_assume!(!line.trim().is_empty());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.jsonl");
        std::fs::write(&file, format!("\n{line}\n")).unwrap();
        let error = format!("{:#}", read_traces(&[file], None, None).unwrap_err());
        let placed = error.contains("t.jsonl:2");
        prop_assert!(placed, "{}", error);
    }
}

/// Words of a command, and one change to them.
fn words() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-z0-9./:@-]{1,8}", 1..7)
}

fn form(words: &[String]) -> serde_json::Value {
    let action = agrail::Action::Shell { command: words.join(" "), cwd: Some("/w".into()) };
    agrail::effect::normal(&action, "/home/user")
}

proptest! {
    #[test]
    fn a_changed_word_is_another_action(words in words(), place in 0_usize..7, other in "[a-z0-9./:@-]{1,8}") {
        let mut changed = words.clone();
        let place = place % words.len();
        prop_assume!(words[place] != other);
        changed[place] = other;
        // two spellings of one option are one form
        let long = |word: &str| word.starts_with('-');
        prop_assume!(!long(&words[place]) && !long(&changed[place]));
        prop_assert_ne!(form(&words), form(&changed));
        let mut more = words.clone();
        more.insert(place, "x".to_owned());
        prop_assert_ne!(form(&words), form(&more));
    }

    #[test]
    fn blanks_and_quotes_are_no_change(words in words()) {
        let quoted: Vec<String> = words.iter().map(|word| format!("  '{word}' ")).collect();
        // what does not parse as a word has no form but itself
        prop_assume!(form(&words).get("shell").is_some());
        prop_assert_eq!(form(&words), form(&quoted));
    }

    #[test]
    fn any_text_has_a_form(text in script()) {
        let _ = form(&[text]);
    }
}
