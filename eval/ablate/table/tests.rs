//! Tests of the summary and of its output formats.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

pub(super) fn step(arm: &str, seed: u64, step: usize) -> Step {
    serde_json::from_value(serde_json::json!({
        "arm": arm, "seed": seed, "step": step, "case": format!("case{step}"), "kind": "delete", "expected": "deny",
        "decision": "deny", "model_calls": 2, "tokens_in": 100, "tokens_out": 10, "wall_us": 1500, "malformed": 0,
        "memory_entries": step, "checklist": [], "cosine": null, "tfidf": null
    }))
    .unwrap()
}

fn answered(seed: u64, place: usize, expected: &str, decision: &str, cosine: Option<f64>) -> Step {
    Step { expected: expected.into(), decision: decision.into(), cosine, tfidf: cosine, ..step("b|\"", seed, place) }
}

fn experiment() -> Experiment {
    let text = "question = \"q?\"\ntitle = \"t\"\ntraces = [\"x\"]\nseeds = [1, 2]\nplots = [\"safety\"]\n\
                [[arm]]\nname = \"b|\\\"\"\n[[arm]]\nname = \"a\"\n";
    toml::from_str(text).unwrap()
}

fn steps() -> Vec<Step> {
    vec![
        answered(1, 0, "deny", "ask", Some(0.4)),
        answered(1, 1, "allow", "ask", None),
        answered(1, 2, "allow", "allow", None),
        answered(2, 0, "deny", "allow", Some(0.2)),
        answered(2, 1, "allow", "allow", Some(0.8)),
        answered(2, 2, "allow", "deny", None),
        step("a", 1, 0),
        step("gone", 1, 0),
    ]
}

#[test]
fn ask_and_deny_stop_and_only_allow_is_right_on_safe_cases() {
    let summary = summarize(&experiment(), &steps());
    let row = &summary.arms[0];
    assert_eq!((row.n, row.cases), (6, 3));
    assert_eq!(row.asr.unwrap().value, 0.5);
    assert_eq!(row.pass.unwrap().value, 0.5);
    assert_eq!(row.accuracy, wilson(3, 6));
    assert_eq!(row.ask, Some(2.0 / 6.0));
    assert_eq!((row.tokens_in, row.calls, row.wall_p50_us, row.wall_mean_us), (100.0, 2.0, Some(1500), 1500.0));
    assert_eq!(row.entries.unwrap().mean, 2.0);
    // 0.4 and 0.8: mean 0.6, deviations 0.2, so sqrt(0.08 / 1).
    let end = row.cosine.unwrap();
    assert!((end.mean - 0.6).abs() < 1e-9 && (end.sd.unwrap() - 0.08_f64.sqrt()).abs() < 1e-9);
    assert_eq!(row.cosine_30, None);
}

#[test]
fn floors_count_each_place_once_and_what_is_odd_is_told() {
    let summary = summarize(&experiment(), &steps());
    let [allow, deny] = &summary.floors[..] else { unreachable!() };
    assert_eq!((allow.n, allow.accuracy, allow.asr.unwrap().value), (6, wilson(4, 6), 1.0));
    assert_eq!((deny.accuracy, deny.pass.unwrap().value), (wilson(2, 6), 0.0));
    assert_eq!((summary.behind.as_slice(), summary.strays), (["a".to_owned()].as_slice(), 1));
    assert_eq!(summary.kinds, ["delete"]);
}

#[test]
fn an_arm_without_steps_has_no_figures_and_divides_by_nothing() {
    let summary = summarize(&experiment(), &[]);
    let row = &summary.arms[1];
    assert!(row.n == 0 && row.asr.is_none() && row.ask.is_none() && row.entries.is_none() && row.calls == 0.0);
    assert!(summary.floors.iter().all(|floor| floor.accuracy.is_none()));
    assert!(markdown(&experiment(), &summary, "c", "").contains("| a | 0 |"));
}

#[test]
fn thirty_steps_are_reported_apart_from_the_end() {
    let steps: Vec<Step> =
        (0..40).map(|place| Step { cosine: Some(place as f64 / 100.0), ..step("a", 1, place) }).collect();
    let row = &summarize(&experiment(), &steps).arms[1];
    assert_eq!((row.cosine_30.unwrap().mean, row.cosine.unwrap().mean), (0.29, 0.39));
}

#[test]
fn markdown_has_question_command_table_and_links() {
    let text = markdown(&experiment(), &summarize(&experiment(), &steps()), "agrail-eval ablate x.toml", "made");
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 6, "{text}");
    assert!(table[2].starts_with("| b\\|\" | 6 | 3 | 50.0 [9.5, 90.5] |") && table[3].starts_with("| a | 1 |"));
    assert!(table[4].starts_with("| *allow all* | 6 |  | 100.0 | 100.0 | 66.7 ["), "{}", table[4]);
    assert!(!table[0].contains("30 steps") && table[2].contains("0.600 ± 0.283"));
    for part in
        ["# t\n\nq?\n", "agrail-eval ablate x.toml", "(safety.svg)", "Not finished: a.", "Cases repeat", "1 steps"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn csv_has_as_many_cells_as_headings_in_every_line() {
    let (experiment, steps) = (experiment(), steps());
    let summary = summarize(&experiment, &steps);
    for (text, lines) in [(csv(&summary), 5), (curve_csv(&experiment, &steps), 5)] {
        let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(cells.len() == lines && cells.iter().all(|n| *n == cells[0]), "{cells:?}\n{text}");
    }
    assert!(csv(&summary).contains("\n\"b|\"\"\",6,3,0.5000,"));
    assert!(curve_csv(&experiment, &steps).contains("\n\"b|\"\"\",2,2,0.6000,0.2828,"));
    assert!(json(&summary).unwrap().contains("\"strays\": 1"));
}
