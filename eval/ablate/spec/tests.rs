//! Tests of the experiment file: defaults, one case for each error, and the shipped files.

#![allow(clippy::unwrap_used)]

use super::*;

const HEAD: &str = "question = \"Does it?\"\ntraces = [\"x.jsonl\"]\n";
const ARM: &str = "[[arm]]\nname = \"a\"\n";

/// Asserts that the error of `text` contains all of `parts`.
fn refused(text: &str, parts: &[&str]) {
    let error = format!("{:#}", parse(text, "t").unwrap_err());
    assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
}

#[test]
fn defaults_are_those_of_the_docs() {
    let mut experiment = parse(&format!("{HEAD}{ARM}"), "file").unwrap();
    assert_eq!((experiment.title.as_str(), experiment.seeds.as_slice()), ("file", [1, 2, 3].as_slice()));
    assert_eq!(experiment.plots, ["safety", "accuracy"]);
    assert!(experiment.filter.is_none() && experiment.limit.is_none() && experiment.steps.is_none());
    let arm = experiment.arms.remove(0);
    assert_eq!((arm.mode.as_str(), arm.memory.as_str(), arm.criteria.as_str()), ("llm", "ours", "universal"));
    assert!(arm.paraphrase && arm.tools && arm.executor && !experiment.balance && arm.learn_on.is_empty());
    assert_eq!((arm.similarity, arm.corrupt, arm.model), (0.8, 0.0, None));
}

#[test]
fn errors_of_the_head_name_key_and_what_is_allowed() {
    refused(&HEAD.replace('?', "."), &["question = \"Does it.\"", "ends in '?'"]);
    refused("traces = [\"x\"]\n", &["question", "ends in '?'"]);
    refused("question = \"Does it?\"\n", &["traces", "at least one"]);
    refused(HEAD, &["arm is missing", "[[arm]]"]);
    for (line, parts) in [
        ("seeds = []", ["seeds = []", "at least one"]),
        ("seeds = [2, 2]", ["seeds has 2 twice", "differ"]),
        ("seeds = \"1\"", ["seeds", "expected a sequence"]),
        ("limit = 0", ["limit = 0", "at least 1"]),
        ("steps = 0", ["steps = 0", "at least 1"]),
        ("limit = 1\nbalance = true", ["limit = 1", "at least 2"]),
        ("plots = [\"pie\"]", ["plots = \"pie\"", "learning-curve, safety, cost, threshold, accuracy"]),
        ("colour = 1", ["unknown field `colour`", "`question`"]),
    ] {
        refused(&format!("{HEAD}{line}\n{ARM}"), &parts);
    }
}

#[test]
fn errors_of_an_arm_name_it_key_and_what_is_allowed() {
    for (line, parts) in [
        ("mode = \"magic\"", ["arm \"a\": mode = \"magic\"", "rules, tiered, llm, paper"]),
        ("memory = \"most\"", ["arm \"a\": memory = \"most\"", "none, frozen, random, tta, ours"]),
        ("criteria = \"own\"", ["arm \"a\": criteria = \"own\"", "universal, task"]),
        ("similarity = 1.2", ["arm \"a\": similarity = 1.2", "0 to 1"]),
        ("corrupt = -0.1", ["arm \"a\": corrupt = -0.1", "0 to 1"]),
        ("corrupt = nan", ["arm \"a\": corrupt = NaN", "0 to 1"]),
        ("learn_on = [\"y\"]", ["arm \"a\": learn_on", "frozen"]),
        ("model = \" \"", ["arm \"a\": model is empty", "name a model"]),
        ("tool = true", ["unknown field `tool`", "`tools`"]),
        ("[[arm]]\nname = \"a\"", ["name is too similar to \"a\"", "must differ"]),
        ("[[arm]]\nname = \"\"", ["[[arm]] 2: name is missing", "unique name"]),
    ] {
        refused(&format!("{HEAD}{ARM}{line}\n"), &parts);
    }
    refused(&format!("{HEAD}[[arm]]\nname = \"a b\"\n[[arm]]\nname = \"a,b\"\n"), &["arm \"a,b\"", "\"a b\""]);
}

#[test]
fn errors_name_the_file() {
    let missing = load(Path::new("/nowhere/x.toml")).unwrap_err();
    assert!(format!("{missing:#}").contains("/nowhere/x.toml"));
    let file = std::env::temp_dir().join(format!("agrail-spec-{}.toml", std::process::id()));
    std::fs::write(&file, HEAD).unwrap();
    let error = format!("{:#}", load(&file).unwrap_err());
    std::fs::remove_file(&file).unwrap();
    assert!(error.contains(&file.display().to_string()) && error.contains("arm is missing"), "{error}");
}

#[test]
fn shipped_experiments_load() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let load_one = |entry: std::io::Result<std::fs::DirEntry>| load(&entry.unwrap().path()).unwrap();
    let all: Vec<_> = std::fs::read_dir(folder).unwrap().map(load_one).collect();
    assert!(all.len() >= 8 && all.iter().all(|experiment| experiment.arms.len() > 1), "{}", all.len());
}
