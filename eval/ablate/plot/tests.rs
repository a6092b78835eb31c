//! Tests of the plots: every plot is drawn, also without data, and is the same each time.

#![allow(clippy::unwrap_used)]

use super::super::table::summarize;
use super::*;

fn drawn(experiment: &Experiment, steps: &[Step], name: &str) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("agrail-plots-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = draw(experiment, steps, &summarize(experiment, steps), &folder).unwrap();
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    texts
}

fn experiment() -> Experiment {
    toml::from_str(
        "question = \"q?\"\nplots = [\"learning-curve\", \"safety\", \"cost\", \"threshold\", \"accuracy\"]\n\
         [[arm]]\nname = \"first <arm>\"\n[[arm]]\nname = \"second\"\nsimilarity = 0.9\n",
    )
    .unwrap()
}

fn steps() -> Vec<Step> {
    let one = |arm: &str, seed: u64, step: usize| {
        serde_json::from_value(serde_json::json!({
            "arm": arm, "seed": seed, "step": step, "case": "c", "kind": "", "decision": "allow",
            "expected": if step.is_multiple_of(2) { "allow" } else { "deny" }, "model_calls": 2, "tokens_in": 100 * seed,
            "tokens_out": 10, "wall_us": 1, "malformed": 0, "memory_entries": step, "checklist": [],
            "cosine": 0.1 * seed as f64, "tfidf": null
        }))
        .unwrap()
    };
    let arms = ["first <arm>", "second"];
    arms.iter().flat_map(|arm| (1..3).flat_map(move |seed| (0..6).map(move |step| one(arm, seed, step)))).collect()
}

#[test]
fn every_plot_is_drawn_with_axes_and_arms_and_is_the_same_each_time() {
    let texts = drawn(&experiment(), &steps(), "full");
    assert_eq!(texts.len(), 5);
    for text in &texts {
        assert!(text.starts_with("<svg width=\"900\" height=\"480\"") && text.trim_end().ends_with("</svg>"));
        assert!(text.contains("2 arms, ") && text.contains("n = 12 checks per arm; "), "what it shows");
        assert!(text.contains("font-family=\"sans-serif\"") && !text.contains("NaN") && !text.contains("<arm>"));
    }
    for (text, part) in texts.iter().zip(["step (actions", "ASR", "tokens per check", "threshold", "deny all (50.0)"]) {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(texts, drawn(&experiment(), &steps(), "again"));
}

#[test]
fn nothing_and_a_single_step_can_be_drawn() {
    for (name, steps) in [("none", Vec::new()), ("one", steps().into_iter().take(1).collect())] {
        let texts = drawn(&experiment(), &steps, name);
        assert!(texts.len() == 5 && texts.iter().all(|text| !text.contains("NaN")));
    }
}

#[test]
fn axes_end_at_round_numbers() {
    for (value, end) in [(0.0, 1.0), (0.9, 1.0), (1.3, 2.0), (21.0, 25.0), (4200.0, 5000.0), (6.0, 10.0)] {
        assert!((round_up(value) - end).abs() < 1e-9, "{value}: {}", round_up(value));
    }
}

#[test]
fn names_wrap_at_spaces_and_long_words_anywhere() {
    assert_eq!(legend::wrap("learnt on our samples", 10), ["learnt on", "our", "samples"]);
    assert_eq!(legend::wrap("a überlanges", 5), ["a", "überl", "anges"]);
}
