//! Readers against what really happens: programs from a grammar run in disposable roots under strace, and each file,
//! process and connection that happened has to be among the effects that the reader finds, or the action unknown.
//!
//! `bash`, `python` and `javascript` make programs; `run` runs them and reads their traces; `compare` finds what the
//! reader missed. A program that is wholly unknown proves nothing, so the share of unknown programs is bounded, and each
//! production of the grammar has to occur in many programs that are not.

mod bash;
mod compare;
mod javascript;
mod python;
mod run;
mod source;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Largest share of programs that may be unknown.
const MOST_UNKNOWN: f64 = 0.2;
/// Programs of one root.
const CHUNK: u64 = 50;
/// Most misses that are printed.
const SHOWN: usize = 12;

/// What to run.
#[derive(Debug, Args)]
pub struct Options {
    language: Language,
    /// How many programs
    #[arg(long, default_value_t = 1_000)]
    programs: u64,
    /// End after this time
    #[arg(long)]
    seconds: Option<u64>,
    /// The first program; each number makes one program
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// In how many known programs each production has to occur
    #[arg(long, default_value_t = 0)]
    least: u64,
    /// Print the program with this number and what its reading says
    #[arg(long)]
    show: Option<u64>,
}

/// A language whose reader is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    Bash,
    Python,
    Javascript,
}

impl Language {
    /// The program with a number.
    fn program(self, number: u64) -> source::Program {
        match self {
            Language::Bash => bash::program(number),
            Language::Python => python::program(number),
            Language::Javascript => javascript::program(number),
        }
    }

    /// The ending of its files, and the interpreter.
    fn file(self) -> (&'static str, &'static str) {
        match self {
            Language::Bash => ("sh", "bash"),
            Language::Python => ("py", "python3"),
            Language::Javascript => ("js", "node"),
        }
    }
}

/// The results so far.
#[derive(Debug, Default)]
struct Totals {
    programs: u64,
    unknown: u64,
    /// Programs that did not end in time, or whose root did.
    ended: u64,
    misses: Vec<(u64, Vec<String>)>,
    /// In how many known programs each production occurs, and in how many unknown ones.
    productions: BTreeMap<&'static str, (u64, u64)>,
    reasons: BTreeMap<String, u64>,
}

/// Runs the programs and compares.
pub fn run(options: &Options) -> Result<()> {
    if let Some(number) = options.show {
        return show(options.language, number);
    }
    let roots = agrail_roots::Roots::prepare_with(&std::env::temp_dir(), Path::new("/proc/self/exe"), run::ROOT_LIMIT)?;
    let (next, totals, began) = (AtomicU64::new(0), Mutex::new(Totals::default()), Instant::now());
    let limit = options.seconds.map_or(Duration::MAX, Duration::from_secs);
    let work = || -> Result<()> {
        while began.elapsed() < limit {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            if from >= options.programs {
                break;
            }
            let numbers: Vec<u64> =
                (from..(from + CHUNK).min(options.programs)).map(|number| options.first + number).collect();
            let results = run::chunk(&roots, options.language, &numbers)?;
            let mut totals = totals.lock().map_err(|_| anyhow::anyhow!("another worker failed"))?;
            results.into_iter().for_each(|result| totals.add(result));
            eprint!("\r{} programs, {} unknown, {} missed", totals.programs, totals.unknown, totals.misses.len());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a worker ended"))?)
    })?;
    eprintln!();
    totals.into_inner().map_err(|_| anyhow::anyhow!("a worker failed"))?.judge(options)
}

impl Totals {
    fn add(&mut self, result: compare::Outcome) {
        self.programs += 1;
        let unknown = u64::from(!result.unknown.is_empty());
        self.unknown += unknown;
        self.ended += u64::from(result.ended);
        for production in result.productions {
            let counts = self.productions.entry(production).or_default();
            counts.0 += 1 - unknown;
            counts.1 += unknown;
        }
        for reason in result.unknown {
            *self.reasons.entry(reason).or_default() += 1;
        }
        if !result.missed.is_empty() {
            self.misses.push((result.number, result.missed));
        }
    }

    fn judge(mut self, options: &Options) -> Result<()> {
        println!("{} programs, {} unknown, {} not ended", self.programs, self.unknown, self.ended);
        println!("{:24} {:>8} {:>8}", "production", "known", "unknown");
        for (name, (known, unknown)) in &self.productions {
            println!("{name:24} {known:>8} {unknown:>8}");
        }
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons.iter().take(SHOWN) {
            println!("unknown {count:>6}  {reason}");
        }
        self.misses.sort();
        for (number, missed) in self.misses.iter().take(SHOWN) {
            println!("missed by program {number}: {}", missed.join("; "));
        }
        let rare: Vec<&str> =
            self.productions.iter().filter(|(_, (known, _))| *known < options.least).map(|(name, _)| *name).collect();
        let share = self.unknown as f64 / self.programs.max(1) as f64;
        if self.programs == 0 || self.ended * 100 > self.programs {
            bail!("too few programs ran to their end");
        }
        if !self.misses.is_empty() {
            bail!("{} of {} programs did what their reading does not say", self.misses.len(), self.programs);
        }
        if share > MOST_UNKNOWN {
            bail!("{:.1} % of the programs are unknown", share * 100.0);
        }
        if !rare.is_empty() {
            bail!("too rare in programs that are known: {}", rare.join(", "));
        }
        Ok(())
    }
}

/// Prints a program and what its reading says.
fn show(language: Language, number: u64) -> Result<()> {
    let program = language.program(number);
    println!("{}", program.source);
    for effect in compare::reading(language, &program.source).effects {
        println!("{}", effect.to_table_notation());
    }
    Ok(())
}
