//! `agrail-eval evade`: the share of injected texts that are still flagged in disguise.

use super::detect::{detector, one};
use super::texts::{self, Expected};
use crate::run::progress;
use anyhow::Result;
use base64::Engine;
use comfy_table::{Table, presets};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// Disguise each injected text that is flagged in plain form and count how many are still flagged.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Text files (JSON lines); clean texts are skipped.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    texts: Vec<PathBuf>,
    /// Maximum number of texts of each set, spread evenly.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Use the rules alone, without the head.
    #[arg(long)]
    rules: bool,
}

type Disguise = (&'static str, fn(&str) -> String);

const DISGUISES: [Disguise; 7] = [
    ("zero-width", zero_width),
    ("tags", tags),
    ("homoglyphs", homoglyphs),
    ("base64", base64),
    ("rot13", rot13),
    ("leetspeak", leetspeak),
    ("entities", entities),
];

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let mut seen = HashSet::new();
    let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in texts::load_texts(&args.texts)? {
        if text.expected == Expected::Injected && seen.insert(text.text.clone()) {
            sets.entry(text.dataset).or_default().push(text.text);
        }
    }
    if let Some(limit) = args.limit {
        for texts in sets.values_mut() {
            let step = texts.len().div_ceil(limit.max(1)).max(1);
            *texts = texts.iter().step_by(step).cloned().collect();
        }
    }
    let detector = detector(args.rules)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let bar = progress(sets.values().map(Vec::len).sum::<usize>() as u64);
    let mut table = Table::new();
    let header = ["set", "flagged plain"].into_iter().chain(DISGUISES.iter().map(|d| d.0));
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    let mut all = (0, [0_usize; DISGUISES.len()]);
    for (set, texts) in &sets {
        let mut row = (0, [0_usize; DISGUISES.len()]);
        runtime.block_on(async {
            for text in texts {
                bar.inc(1);
                if !one(&detector, text).await?.flagged {
                    continue;
                }
                row.0 += 1;
                for (still, (_, disguise)) in row.1.iter_mut().zip(DISGUISES) {
                    *still += usize::from(one(&detector, &disguise(text)).await?.flagged);
                }
            }
            anyhow::Ok(())
        })?;
        all.0 += row.0;
        all.1.iter_mut().zip(row.1).for_each(|(sum, still)| *sum += still);
        table.add_row(cells(set, row));
    }
    table.add_row(cells("all", all));
    bar.finish_and_clear();
    println!("{table}\nshare of the texts flagged in plain form that are still flagged in disguise");
    Ok(())
}

fn cells(set: &str, (plain, still): (usize, [usize; DISGUISES.len()])) -> Vec<String> {
    let share = |count: usize| if plain == 0 { "-".to_owned() } else { format!("{:.3}", count as f64 / plain as f64) };
    [set.to_owned(), plain.to_string()].into_iter().chain(still.map(share)).collect()
}

fn zero_width(text: &str) -> String {
    text.chars().flat_map(|c| [Some(c), c.is_alphabetic().then_some('\u{200b}')]).flatten().collect()
}

fn tags(text: &str) -> String {
    let tag = |c: char| if matches!(c, ' '..='~') { char::from_u32(0xe0000 + u32::from(c)).unwrap_or(c) } else { c };
    text.chars().map(tag).collect()
}

fn homoglyphs(text: &str) -> String {
    let pairs =
        "a\u{430}c\u{441}e\u{435}i\u{456}o\u{43e}p\u{440}x\u{445}y\u{443}A\u{410}E\u{415}O\u{41e}P\u{420}T\u{422}";
    let letters: Vec<char> = pairs.chars().collect();
    let look = |c| letters.chunks_exact(2).find_map(|pair| (pair.first() == Some(&c)).then(|| pair.last().copied())?);
    text.chars().map(|c| look(c).unwrap_or(c)).collect()
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn rot13(text: &str) -> String {
    let turn = |c: char| match c {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(c) + 13).unwrap_or(c),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(c) - 13).unwrap_or(c),
        _ => c,
    };
    text.chars().map(turn).collect()
}

fn leetspeak(text: &str) -> String {
    let leet = |c: char| match c.to_ascii_lowercase() {
        'a' => '4',
        'e' => '3',
        'i' => '1',
        'o' => '0',
        's' => '5',
        't' => '7',
        _ => c,
    };
    text.chars().map(leet).collect()
}

fn entities(text: &str) -> String {
    text.chars().map(|c| format!("&#{};", u32::from(c))).collect()
}
