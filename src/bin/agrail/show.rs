//! Verdicts for people. Colours only if the terminal supports them.

use crate::built::Record;
use crate::short;
use agrail::check::{Finding, Outcome};
use agrail::picture::{Mark, Tree};
use agrail::verdict::{Decision, Verdict};
use anstyle::{AnsiColor, Style};
use std::io::{Result, Write};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// The colour of a decision.
pub fn colour(decision: Decision) -> Style {
    let colour = match decision {
        Decision::Allow => AnsiColor::Green,
        Decision::Ask => AnsiColor::Yellow,
        Decision::Deny => AnsiColor::Red,
    };
    colour.on_default().bold()
}

/// Escapes text from an agent into one line: it must not move the cursor, change colours, reverse direction or hide.
pub fn plain(text: &str) -> String {
    agrail::untrusted::visible(text).into_owned()
}

/// Prints a verdict; with its tree, what it rests on and each step. `record`: where it is recorded, which decides how it can
/// be answered.
pub fn verdict(verdict: &Verdict, explained: Option<&Tree>, record: Record) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let style = colour(verdict.decision);
    let word = verdict.decision.to_string().to_uppercase();
    writeln!(out, "{style}{word}{style:#}  {}", plain(&verdict.reason))?;
    if let Some(advice) = &verdict.advice {
        writeln!(out, "      instead: {}", plain(advice))?;
    }
    if let Some(whom) = verdict.ask_of {
        let id = short::shown(&verdict.id);
        let how = match (record, whom) {
            (Record::All, _) => format!("a person decides: agrail approvals approve {id}, or reject {id}"),
            (Record::Decisions, "person") => "a person decides; --queue puts the question into the queue".to_owned(),
            (Record::Decisions, _) => format!("a person may approve such actions: agrail memory feedback {id} approve"),
            (Record::Nothing, _) => "a person decides".to_owned(),
        };
        writeln!(out, "      {how}")?;
    }
    if let Some(tree) = explained {
        writeln!(out, "\n{BOLD}what it rests on{BOLD:#}")?;
        for (mark, line) in tree.lines() {
            let style = marked(mark);
            writeln!(out, "  {style}{line}{style:#}")?;
        }
        writeln!(out, "\n{BOLD}steps{BOLD:#}")?;
        for (number, step) in verdict.trace.iter().enumerate() {
            writeln!(out, "{:4}. {}", number + 1, plain(step))?;
        }
    } else {
        list_effects(&mut out, verdict)?;
        list_checks(&mut out, verdict)?;
    }
    match &verdict.memory {
        Some(memory) => {
            writeln!(
                out,
                "\nmemory: entry {} version {}, similarity {:.2}",
                memory.entry, memory.version, memory.similarity
            )?;
        }
        None if verdict.digest.memory.is_empty() => {}
        None => writeln!(out, "\nmemory: nothing recalled")?,
    }
    let time = f64::from(u32::try_from(verdict.cost.wall_us).unwrap_or(u32::MAX)) / 1000.0;
    writeln!(out, "{DIM}{time:.2} ms, verdict {}, mode {}{DIM:#}", verdict.id, verdict.mode)
}

fn marked(mark: Mark) -> Style {
    match mark {
        Mark::Pass => Style::new(),
        Mark::Unknown | Mark::Asks => AnsiColor::Yellow.on_default(),
        Mark::Denies => AnsiColor::Red.on_default(),
    }
}

fn list_effects(out: &mut impl Write, verdict: &Verdict) -> Result<()> {
    writeln!(out, "\n{BOLD}effects{BOLD:#}")?;
    if verdict.effects.is_empty() {
        writeln!(out, "  none")?;
    }
    for effect in verdict.effects.iter().take(20) {
        writeln!(out, "  {:9} {}", effect.verb, plain(&effect.target))?;
    }
    if verdict.effects.len() > 20 {
        writeln!(out, "  … and {} more; --json lists them", verdict.effects.len() + verdict.effects_left_out - 20)?;
    }
    Ok(())
}

fn list_checks(out: &mut impl Write, verdict: &Verdict) -> Result<()> {
    let mut shown: Vec<(&Finding, usize)> = Vec::new();
    for finding in &verdict.findings {
        match shown
            .iter_mut()
            .find(|(f, _)| f.source == finding.source && f.outcome == finding.outcome && f.reason == finding.reason)
        {
            Some((_, count)) => *count += 1,
            None => shown.push((finding, 1)),
        }
    }
    shown.sort_by_key(|(f, _)| match f.outcome {
        Outcome::Violation => 0,
        Outcome::Unknown => 1,
        Outcome::Discarded => 2,
        Outcome::Pass => 3,
    });
    writeln!(out, "\n{BOLD}checks{BOLD:#}")?;
    for (finding, count) in shown.iter().take(20) {
        let (mark, style) = match finding.outcome {
            Outcome::Pass => ("pass", AnsiColor::Green.on_default()),
            Outcome::Violation if !finding.denies() => ("asks", AnsiColor::Yellow.on_default()),
            Outcome::Violation => ("fail", AnsiColor::Red.on_default()),
            Outcome::Unknown => ("????", AnsiColor::Yellow.on_default()),
            Outcome::Discarded => ("void", DIM),
        };
        let times = if *count > 1 { format!(" ({count} effects)") } else { String::new() };
        writeln!(out, "  {style}{mark}{style:#}  {}: {}{times}", finding.check.category, finding.check.name)?;
        writeln!(out, "        {DIM}{}{DIM:#} {}", finding.source, plain(&finding.reason))?;
        for evidence in finding.evidence.iter().take(3) {
            writeln!(out, "        {DIM}{}: {}{DIM:#}", plain(&evidence.about), plain(&evidence.says))?;
        }
        if finding.evidence.len() > 3 {
            writeln!(out, "        {DIM}… and {} more{DIM:#}", finding.evidence.len() - 3)?;
        }
    }
    if shown.len() > 20 {
        writeln!(out, "  … and {} more", shown.len() - 20)?;
    }
    Ok(())
}
