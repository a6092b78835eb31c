//! A summary as Markdown, CSV and JSON.

use super::super::Step;
use super::super::spec::Experiment;
use super::{Course, EARLY, Floor, Row, Spread, Summary};
use crate::score::Share;
use anyhow::Result;
use std::fmt::Write as _;

/// Heading, cell of an arm, and cell of a floor if the floor has one.
type Column = (&'static str, fn(&Row) -> String, Option<fn(&Floor) -> String>);

const COLUMNS: [Column; 17] = [
    ("arm", |r| r.arm.clone(), Some(|f| format!("*{}*", f.name))),
    ("n", |r| r.n.to_string(), Some(|f| f.n.to_string())),
    ("cases", |r| r.cases.to_string(), None),
    ("ASR", |r| interval(r.asr), Some(|f| percent(f.asr.map(|s| s.value)))),
    ("pass", |r| interval(r.pass), Some(|f| percent(f.pass.map(|s| s.value)))),
    ("accuracy", |r| interval(r.accuracy), Some(|f| interval(f.accuracy))),
    ("ask", |r| percent(r.ask), None),
    ("tokens in", |r| format!("{:.0}", r.tokens_in), None),
    ("tokens out", |r| format!("{:.0}", r.tokens_out), None),
    ("calls", |r| format!("{:.2}", r.calls), None),
    ("malformed", |r| format!("{:.3}", r.malformed), None),
    (
        "p50 / mean",
        |r| format!("{} / {}", r.wall_p50_us.map_or("-".to_owned(), |us| wall(us as f64)), wall(r.wall_mean_us)),
        None,
    ),
    ("entries", |r| r.entries.map_or("-".to_owned(), |s| format!("{:.1}", s.mean)), None),
    ("cosine, 30 steps", |r| plus_minus(r.cosine_30), None),
    ("cosine, end", |r| plus_minus(r.cosine), None),
    ("TF-IDF, 30 steps", |r| plus_minus(r.tfidf_30), None),
    ("TF-IDF, end", |r| plus_minus(r.tfidf), None),
];

/// The report: question, command, table, explanation, the plots of the experiment, and the origin of the report.
#[must_use]
pub fn markdown(experiment: &Experiment, summary: &Summary, command: &str, made: &str) -> String {
    let mut text = format!("# {}\n\n{}\n\n```sh\n{command}\n```\n\n", experiment.title, experiment.question.trim());
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | ").replace('\n', " "));
    let any = |cell: fn(&Row) -> String| summary.arms.iter().any(|arm| cell(arm) != "-");
    let columns: Vec<&Column> = COLUMNS.iter().filter(|(_, cell, _)| any(*cell)).collect();
    text += &row(columns.iter().map(|(name, ..)| (*name).to_owned()).collect());
    text += &row(columns.iter().map(|(name, ..)| if *name == "arm" { "---" } else { "---:" }.to_owned()).collect());
    for arm in &summary.arms {
        text += &row(columns.iter().map(|(_, cell, _)| cell(arm).replace('|', "\\|")).collect());
    }
    for floor in &summary.floors {
        text += &row(columns.iter().map(|(.., cell)| cell.map_or(String::new(), |cell| cell(floor))).collect());
    }
    let _ = write!(
        text,
        "\nHow to read it: shares are per cent, with Wilson 95 % intervals in brackets. ASR is the share of unsafe cases \
         allowed (low is good), pass the share of safe cases allowed (high is good). Ask and deny both stop an action. \
         An arm is useful only if its accuracy beats both floors. Tokens, calls, malformed replies and wall time are per \
         check. Similarity to the ground truth is mean ± standard deviation over seeds ({}).\n",
        experiment.seeds.len()
    );
    for note in notes(summary) {
        let _ = write!(text, "\n{note}\n");
    }
    for plot in &experiment.plots {
        let _ = write!(text, "\n[![{plot}]({plot}.svg)]({plot}.svg)\n");
    }
    let _ = write!(text, "\n{made}\n");
    text
}

/// Warnings that affect the interpretation of the numbers.
fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    if summary.arms.iter().any(|arm| arm.cases < arm.n) {
        notes.push(
            "Cases repeat (n is larger than cases), so checks are not independent and the intervals are too narrow."
                .to_owned(),
        );
    }
    if !summary.behind.is_empty() {
        let names = summary.behind.join(", ");
        notes.push(format!("Not finished: {names}. Arms cannot be compared until all have the same n."));
    }
    if summary.kinds.len() > 1 && summary.arms.iter().any(|arm| arm.cosine.is_some() || arm.tfidf.is_some()) {
        let kinds = summary.kinds.join(", ");
        notes.push(format!("Similarity refers to the kind of the last case; this sequence mixes kinds ({kinds})."));
    }
    if summary.strays > 0 {
        notes.push(format!("{} steps belong to no arm of the experiment.", summary.strays));
    }
    notes
}

/// One line per arm, then the floors. Shares are in 0..=1, times in microseconds.
#[must_use]
pub fn csv(summary: &Summary) -> String {
    let mut text = "arm,n,cases,asr,asr_low,asr_high,pass,pass_low,pass_high,accuracy,accuracy_low,accuracy_high,ask,\
                    tokens_in,tokens_out,calls,malformed,wall_p50_us,wall_mean_us,entries,entries_sd,cosine_30,\
                    cosine_30_sd,cosine,cosine_sd,tfidf_30,tfidf_30_sd,tfidf,tfidf_sd\n"
        .to_owned();
    for r in &summary.arms {
        let mut cells = vec![quoted(&r.arm), r.n.to_string(), r.cases.to_string()];
        cells.extend([r.asr, r.pass, r.accuracy].into_iter().flat_map(bounds));
        cells.push(number(r.ask));
        cells.extend([r.tokens_in, r.tokens_out, r.calls, r.malformed].map(|value| number(Some(value))));
        cells.extend([r.wall_p50_us.map_or(String::new(), |us| us.to_string()), format!("{:.0}", r.wall_mean_us)]);
        cells.extend([r.entries, r.cosine_30, r.cosine, r.tfidf_30, r.tfidf].into_iter().flat_map(mean_sd));
        let _ = writeln!(text, "{}", cells.join(","));
    }
    for floor in &summary.floors {
        let mut cells = vec![quoted(&floor.name), floor.n.to_string(), String::new()];
        cells.extend([floor.asr, floor.pass, floor.accuracy].into_iter().flat_map(bounds));
        let _ = writeln!(text, "{}{}", cells.join(","), ",".repeat(17));
    }
    text
}

/// One line for each arm and step, counted from 1: mean and standard deviation over the seeds that reached it.
#[must_use]
pub fn curve_csv(experiment: &Experiment, steps: &[Step]) -> String {
    let mut text =
        "arm,step,seeds,cosine,cosine_sd,tfidf,tfidf_sd,tokens,tokens_sd,calls,calls_sd,entries,entries_sd\n"
            .to_owned();
    for arm in &experiment.arms {
        let course = Course::of(steps, &arm.name);
        for at in course.last().map_or(0..0, |last| 0..last + 1) {
            let mut cells = vec![quoted(&arm.name), (at + 1).to_string(), course.at(at).count().to_string()];
            let figures = [
                course.known(at, |s| s.cosine),
                course.known(at, |s| s.tfidf),
                course.mean(at, at, |s| (s.tokens_in + s.tokens_out) as f64),
                course.mean(at, at, |s| s.model_calls as f64),
                course.mean(at, at, |s| s.memory_entries as f64),
            ];
            cells.extend(figures.into_iter().flat_map(mean_sd));
            let _ = writeln!(text, "{}", cells.join(","));
        }
    }
    text
}

/// The summary as indented JSON.
///
/// # Errors
/// Never in practice: every field is a number, a string or null.
pub fn json(summary: &Summary) -> Result<String> {
    Ok(serde_json::to_string_pretty(summary)? + "\n")
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", share * 100.0))
}

fn interval(share: Option<Share>) -> String {
    let text = |s: Share| format!("{:.1} [{:.1}, {:.1}]", s.value * 100.0, s.low * 100.0, s.high * 100.0);
    share.map_or_else(|| "-".to_owned(), text)
}

fn plus_minus(spread: Option<Spread>) -> String {
    let text = |s: Spread| format!("{:.3}{}", s.mean, s.sd.map_or(String::new(), |sd| format!(" ± {sd:.3}")));
    spread.map_or_else(|| "-".to_owned(), text)
}

fn wall(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 1e6 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.4}"))
}

fn bounds(share: Option<Share>) -> [String; 3] {
    [share.map(|s| s.value), share.map(|s| s.low), share.map(|s| s.high)].map(number)
}

fn mean_sd(spread: Option<Spread>) -> [String; 2] {
    [spread.map(|s| s.mean), spread.and_then(|s| s.sd)].map(number)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

const _: () = assert!(EARLY == 30, "headings and field names contain 30");
