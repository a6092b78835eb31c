//! Runs what rows claim: the command lines of their examples, and an example with each option, for installed programs,
//! each in a disposable root under strace. What happened is compared with the effects that the table finds.
//!
//! 1. `lines` makes the command lines; `samples.sh` makes the files that they name.
//! 2. A chunk of lines runs in one root ([`agrail_roots`]), without network, one after the other, each with an end.
//! 3. `trace` reads what strace wrote, `claim` compares it with the effects.
//! 4. `record` writes into the row which version was observed, and for each effect that was not seen, why.
//!
//! A line that fails is tried again with all the files that it names, then with folders instead of files: whether a
//! destination has to exist depends on the program.

mod claim;
mod inventory;
mod lines;
mod record;

use super::file::RowFile;
use crate::trace::{self, Deed, Event};
use agrail_effects::{Effect, Target, Verb};
use agrail_roots::Roots;
use anyhow::Result;
use claim::PROBE;
pub use inventory::Inventory;
use lines::{HOME, Line};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Lines of one root.
const CHUNK: usize = 40;
/// Seconds until a command line is ended, and until its trace is.
const LINE_SECONDS: (u32, u32) = (3, 4);
/// Time limit for the lines of one root.
const ROOT_LIMIT: Duration = Duration::from_secs(240);

/// Status of a command line that did not end in time.
const KILLED: i32 = 137;
/// Rows that are observed at the same time, for each core: many command lines only wait.
const WORKERS: usize = 4;

/// What happened in one run of a command line.
struct Run {
    /// Its exit status.
    status: i32,
    events: BTreeSet<Event>,
}

/// The result of the runs of one command line.
pub struct Observation {
    pub line: Line,
    /// Why an effect was not seen; nothing: all were.
    pub missing: Option<String>,
    /// Changes that no effect claims.
    pub beyond: Vec<Event>,
}

/// Observes rows. `all`: also each option that is said to be harmless. `record`: writes the result into the rows.
pub fn observe(commands: &Path, names: &[String], all: bool, record: bool) -> Result<()> {
    let inventory = Inventory::read()?;
    let work = std::env::temp_dir();
    let roots = Roots::prepare_with(&work, Path::new("/proc/self/exe"), ROOT_LIMIT)?;
    let rows = super::rows(commands, names)?;
    let installed: Vec<(RowFile, String)> = rows
        .into_iter()
        .filter_map(|row| row.names().iter().find_map(|name| inventory.version(name)).map(|version| (row, version)))
        .collect();
    let (total, next, done) = (installed.len(), AtomicUsize::new(0), Mutex::new(record::Totals::default()));
    let queue = Mutex::new(installed.into_iter());
    let work = || -> Result<()> {
        loop {
            let Some((mut row, version)) = queue.lock().ok().and_then(|mut queue| queue.next()) else { return Ok(()) };
            let observed = observe_row(&roots, &row, all);
            let mut totals = done.lock().map_err(|_| anyhow::anyhow!("another row failed"))?;
            match observed {
                Ok(observed) => totals.add(&mut row, &version, observed),
                Err(why) => eprintln!("{}: {why:#}", row.path.display()),
            }
            if record {
                row.save()?;
            }
            eprint!("\r{} of {total} rows", next.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..std::thread::available_parallelism().map_or(2, usize::from) * WORKERS)
            .map(|_| scope.spawn(work))
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a worker ended"))?)
    })?;
    eprintln!();
    let done = done.into_inner().map_err(|_| anyhow::anyhow!("another row failed"))?;
    done.print(total);
    Ok(())
}

fn observe_row(roots: &Roots, row: &RowFile, all: bool) -> Result<Vec<Observation>> {
    let lines = lines::lines(row, all);
    let bases: BTreeSet<&str> =
        lines.iter().filter_map(|line| line.option.as_ref()).map(|added| added.base.as_str()).collect();
    let base_runs =
        run_all(roots, &bases.iter().map(|base| (*base, lines::effects(base))).collect::<Vec<_>>(), Files::Inputs)?;
    let normal: HashMap<&str, &Run> =
        bases.iter().copied().zip(base_runs.iter()).filter_map(|(base, run)| Some((base, run.as_ref()?))).collect();
    let mut best: Vec<Option<Run>> = lines.iter().map(|_| None).collect();
    for files in [Files::Inputs, Files::All, Files::Folders] {
        let open: Vec<usize> = lines
            .iter()
            .zip(&best)
            .enumerate()
            .filter(|(_, (line, run))| !is_settled(line, run.as_ref(), files))
            .map(|(at, _)| at)
            .collect();
        let commands: Vec<(&str, Vec<Effect>)> = open
            .iter()
            .filter_map(|at| lines.get(*at))
            .map(|line| (line.command.as_str(), line.effects.clone()))
            .collect();
        for (at, run) in open.iter().zip(run_all(roots, &commands, files)?) {
            if let (Some(slot), Some(line), Some(run)) = (best.get_mut(*at), lines.get(*at), run) {
                let better = slot
                    .as_ref()
                    .is_none_or(|old| unseen(line, &run) < unseen(line, old) || old.status != 0 && run.status == 0);
                if better {
                    *slot = Some(run);
                }
            }
        }
    }
    let judged: Vec<_> = lines.iter().zip(&best).map(|(line, run)| judge(line, run.as_ref(), &normal)).collect();
    let observed = lines.into_iter().zip(judged);
    Ok(observed.map(|(line, (missing, beyond))| Observation { line, missing, beyond }).collect())
}

/// The effects that a run has to show: those that an option adds, or all of an example.
fn claims(line: &Line) -> &[Effect] {
    line.option.as_ref().map_or(line.effects.as_slice(), |added| added.adds.as_slice())
}

fn unseen(line: &Line, run: &Run) -> usize {
    claims(line).iter().filter(|effect| claim::seen(effect, &run.events) == Some(false)).count()
}

fn is_settled(line: &Line, run: Option<&Run>, files: Files) -> bool {
    // options without effect run once: what they would touch exists
    let harmless = claims(line).is_empty() && matches!(files, Files::All | Files::Folders);
    // files change nothing about a program that waits, or that needs a network
    let hopeless = |run: &Run| run.status == KILLED || run.events.iter().any(|event| event.deed == Deed::Connect);
    harmless || run.is_some_and(|run| unseen(line, run) == 0 || hopeless(run))
}

/// Why an effect was not seen, and the changes that no effect claims.
fn judge(line: &Line, run: Option<&Run>, normal: &HashMap<&str, &Run>) -> (Option<String>, Vec<Event>) {
    let Some(run) = run else {
        return (Some("ends the root".to_owned()), Vec::new());
    };
    let claims = claims(line);
    let network = run.events.iter().any(|event| event.deed == Deed::Connect);
    let missing =
        claims.iter().any(|effect| claim::seen(effect, &run.events) == Some(false)).then(|| match run.status {
            KILLED => format!("not within {} s", LINE_SECONDS.0),
            0 => "not seen".to_owned(),
            _ if network => "needs a network".to_owned(),
            status => format!("ends with status {status}"),
        });
    let usual = line.option.as_ref().and_then(|added| normal.get(added.base.as_str()));
    let beyond = claim::beyond(&line.command, &line.effects, &run.events, HOME);
    let beyond =
        beyond.into_iter().filter(|event| usual.is_none_or(|usual| !usual.events.contains(event))).cloned().collect();
    (missing, beyond)
}

/// Which of the paths that a command line names exist before it runs.
#[derive(Clone, Copy)]
enum Files {
    /// Those that it reads, deletes or changes.
    Inputs,
    /// All.
    All,
    /// All, as folders.
    Folders,
}

/// Runs command lines, in the same order; nothing for a line that ended its root.
fn run_all(roots: &Roots, lines: &[(&str, Vec<Effect>)], files: Files) -> Result<Vec<Option<Run>>> {
    let mut runs = Vec::new();
    let mut rest = lines;
    while !rest.is_empty() {
        let chunk = rest.get(..CHUNK.min(rest.len())).unwrap_or(rest);
        let root = roots.case("observe", Some(&script(chunk, files)?))?;
        let before = runs.len();
        for at in 0..chunk.len() {
            let file = |kind: &str| root.path().join(format!("observed/{at}.{kind}"));
            let Some(status) = std::fs::read_to_string(file("status")).ok().and_then(|text| text.trim().parse().ok())
            else {
                break;
            };
            let trace = std::fs::read(file("trace")).unwrap_or_default();
            runs.push(Some(Run { status, events: trace::parse_trace(&String::from_utf8_lossy(&trace), HOME) }));
        }
        // a line that ended its root has no status; those after it go on in the next root
        if runs.len() - before < chunk.len() {
            runs.push(None);
        }
        rest = lines.get(runs.len()..).unwrap_or_default();
    }
    Ok(runs)
}

/// The script that runs a chunk of lines in a root.
fn script(chunk: &[(&str, Vec<Effect>)], files: Files) -> Result<String> {
    let mut script = format!("CALLS={} PROBE={PROBE}\n{}\n", trace::CALLS, include_str!("samples.sh"));
    for (at, (command, effects)) in chunk.iter().enumerate() {
        script.push_str(&format!("cd / && rm -rf {HOME} && cp -a /observed/home {HOME} && cd {HOME}\n"));
        for effect in effects {
            let Target::Path(path) = &effect.target else { continue };
            if !path.starts_with(HOME) || path.contains(['*', '?', '[', agrail_effects::UNKNOWN_SPAN]) || path == HOME {
                continue;
            }
            let makes = matches!(effect.verb, Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite | Verb::Link);
            let folder = effect.recursive || path.ends_with('/');
            let path = shlex::try_quote(path)?;
            match files {
                Files::Inputs if makes => script.push_str(&format!("mkdir -p $(dirname {path})\n")),
                Files::Folders => script.push_str(&format!("mkdir -p {path}; echo one >{path}/f\n")),
                Files::Inputs | Files::All if folder => {
                    script.push_str(&format!("mkdir -p {path}; echo one >{path}/f\n"));
                }
                Files::Inputs | Files::All => {
                    script.push_str(&format!("sample {path}\n"));
                    if effect.verb == Verb::Execute {
                        script.push_str(&format!("printf '#!/bin/sh\\nexit 0\\n' >{path}; chmod +x {path}\n"));
                    }
                }
            }
        }
        script.push_str(&format!(
            "observe {at} {} {} {}\n",
            shlex::try_quote(command)?,
            LINE_SECONDS.1,
            LINE_SECONDS.0
        ));
    }
    Ok(script)
}
