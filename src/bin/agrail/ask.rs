//! `agrail ask`: the pending questions in a terminal view, with keys that answer them.
//!
//! 1. [`desk`] holds what is shown and says what a key does; it touches neither the terminal nor a store.
//! 2. [`view`] draws it.
//! 3. Here the terminal is read, the queue is read again each second, and what a key does is done.

mod desk;
mod view;

use crate::learn::RECORD;
use crate::memory::may_approve;
use crate::settings::Config;
use crate::widen::{DAYS, USES};
use agrail::approvals::{Answer, Approvals};
use agrail::memory::Memory;
use agrail::picture::Tree;
use anyhow::{Context as _, Result, bail};
use desk::{Argument, Desk, Do};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

/// How often the queue is read.
const EVERY: Duration = Duration::from_secs(1);

/// Answer the pending questions in a terminal view.
///
/// It shows who asks, why, and what would happen, and reads the queue again each second. Keys: up and down choose, a
/// approves, r rejects, w widens an approval to other values of an argument, e explains, q ends.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the subcommand.
pub fn run(_: &Args, config: &Config) -> Result<ExitCode> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        bail!("this needs a terminal; without one use 'agrail approvals list'");
    }
    may_approve(config, None)?;
    let stores = Stores {
        approvals: Approvals::open(&config.approvals_path()?)?,
        memory: config.open_memory()?,
        who: std::env::var("USER").unwrap_or_else(|_| "operator".to_owned()),
    };
    let mut terminal = ratatui::try_init().context("cannot take the terminal")?;
    let shown = show(&mut terminal, &stores);
    ratatui::restore();
    shown?;
    Ok(ExitCode::SUCCESS)
}

fn show(terminal: &mut ratatui::DefaultTerminal, stores: &Stores) -> Result<()> {
    let mut desk = Desk::default();
    loop {
        desk.update(stores.approvals.waiting()?);
        terminal.draw(|frame| view::draw(frame, &desk))?;
        if !event::poll(EVERY)? {
            continue;
        }
        // a window that has another size is drawn again
        let Event::Key(key) = event::read()? else { continue };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        let wanted = desk.press(key.code, key.modifiers);
        if matches!(wanted, Do::End) {
            return Ok(());
        }
        if let Err(problem) = stores.act(wanted, &mut desk) {
            desk.say(format!("{problem:#}"));
        }
    }
}

/// What answers change.
struct Stores {
    approvals: Approvals,
    memory: Memory,
    who: String,
}

impl Stores {
    fn act(&self, wanted: Do, desk: &mut Desk) -> Result<()> {
        match wanted {
            Do::Nothing | Do::End => {}
            Do::Answer(id, answer) => {
                self.approvals.answer(&id, answer, &self.who)?;
                desk.say(match answer {
                    Answer::Approved => {
                        "approved: it may run once within 15 minutes; let the agent try again".to_owned()
                    }
                    Answer::Rejected => "rejected".to_owned(),
                });
            }
            Do::Explain(id) => desk.explain(&id, self.explained(&id)?),
            Do::Arguments(id) => {
                let arguments = self.memory.arguments(&id)?;
                if !arguments.iter().any(|argument| argument.opens) {
                    bail!("no argument of this action can be opened; approve it as it is");
                }
                let shown = arguments.into_iter().map(|one| Argument {
                    number: one.number,
                    value: one.value,
                    opens: one.opens,
                });
                desk.choose_arguments(&id, shown.collect());
            }
            Do::Preview(id, opened) => {
                let record = self.memory.decisions(RECORD)?;
                let count =
                    if opened.is_empty() { 0 } else { self.memory.would_pass(&id, &numbers(&opened), &record)?.len() };
                desk.preview(&id, count, record.len());
            }
            Do::Widen(id, opened) => {
                // of a question that is no longer pending, nothing is widened
                self.approvals.answer(&id, Answer::Approved, &self.who)?;
                let widened = self.memory.widen(&id, &numbers(&opened), USES, DAYS);
                let entry = widened.context("approved for this once, but not widened")?;
                desk.say(format!(
                    "widened for {USES} uses within {DAYS} days; take it back with: agrail memory quarantine {}",
                    entry.id
                ));
            }
        }
        Ok(())
    }

    /// What a recorded verdict rests on, as lines.
    fn explained(&self, id: &str) -> Result<Vec<String>> {
        let record: serde_json::Value = serde_json::from_str(&self.memory.decision(id)?.record)?;
        let verdict = record.get("verdict").context("the record of this decision holds no verdict")?;
        // it asked, so nothing in it denies
        Ok(Tree::of(verdict, |_| true).lines().into_iter().map(|(_, line)| line).collect())
    }
}

fn numbers(opened: &BTreeSet<usize>) -> Vec<usize> {
    opened.iter().copied().collect()
}
