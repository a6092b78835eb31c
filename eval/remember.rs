//! `agrail-eval perf --remember`: the cost of finding the nearest entry as the memory grows, compared with the
//! published procedure, which embeds the whole memory again at each check.

use agrail::embed::{Embedder, MiniLm};
use agrail::memory::{Change, Episode, Key, Lesson, Memory};
use anyhow::Result;
use serde::Serialize;
use std::time::Instant;

/// The costs for one size of the memory.
#[derive(Debug, Serialize)]
pub struct Remembering {
    /// Number of entries in the memory.
    pub entries: usize,
    /// agrail: one new paraphrase is embedded, and the index is searched; median in ms.
    pub ours_ms: f64,
    /// Published procedure: every entry and the paraphrase are embedded; one measurement in ms.
    pub paper_ms: f64,
}

/// Measures each size. The texts are always new, so that no cache of embeddings helps either side.
pub async fn measure(model: &MiniLm, sizes: &[usize]) -> Result<Vec<Remembering>> {
    let mut found = Vec::new();
    for &entries in sizes {
        eprintln!("recalling from {entries} entries");
        let texts: Vec<String> = (0..entries).map(|n| text(entries, n)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let memory = Memory::in_memory(model.id(), model.dimensions())?;
        let started = Instant::now();
        let mut vectors = Vec::with_capacity(entries);
        for part in texts.chunks(64) {
            vectors.extend(model.embed(part).await?);
        }
        let paper_ms = started.elapsed().as_secs_f64() * 1e3;
        for (number, vector) in vectors.into_iter().enumerate() {
            memory.learn(&lesson(number, vector))?;
        }
        memory.tend_index()?;
        let mut times = Vec::new();
        for query in 0..21 {
            let asked = text(entries + 1, query);
            let started = Instant::now();
            let vectors = model.embed(&[&asked]).await?;
            if let Some(vector) = vectors.first() {
                memory.recall(vector, 1)?;
            }
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let ours_ms = times.get(times.len() / 2).copied().unwrap_or_default();
        found.push(Remembering { entries, ours_ms, paper_ms });
    }
    Ok(found)
}

/// A paraphrase of the usual length, unique to this size and number.
fn text(size: usize, number: usize) -> String {
    format!(
        "delete a directory number {number} of {size} in the user's own home with everything below\nrm -r OWN_HOME_{number}"
    )
}

fn lesson(number: usize, vector: Vec<f32>) -> Lesson {
    Lesson {
        entry: None,
        key: Key { natural: format!("kind {number}"), command: String::new() },
        vector: Some(vector),
        triggers: Vec::new(),
        changes: vec![Change::Add {
            category: "integrity".to_owned(),
            name: "care".to_owned(),
            definition: "It is done with care.".to_owned(),
            required: false,
        }],
        episode: Episode {
            id: format!("{number}"),
            principal: "perf".to_owned(),
            project: None,
            tainted: false,
            clean: true,
        },
        taught_by: "perf".to_owned(),
        policy_checks: Vec::new(),
    }
}
