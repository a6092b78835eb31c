//! The cost of a recall: by effect, and by similarity (with the exact scan, or above 50 000 entries with a graph).

use agrail::memory::{Change, Episode, Key, Lesson, Memory, Trigger};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

const DIMENSIONS: usize = 384;

/// Kinds of actions. The vectors of one kind have a cosine of about 0.73: a graph finds no neighbours among vectors
/// without any structure.
const KINDS: usize = 2_000;
/// Length of what tells the vectors of one kind apart; the kind itself has length 1.
const OWN: f32 = 0.6;

fn vector(seed: usize) -> Vec<f32> {
    let (kind, own) = (random(seed % KINDS), random(KINDS + seed));
    kind.iter().zip(&own).map(|(kind, own)| kind + OWN * own).collect()
}

/// A vector of length 1, about.
fn random(seed: usize) -> Vec<f32> {
    let mut state = (seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // the standard deviation of a uniform value is 1 / sqrt(12)
        ((state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5) * (12.0 / DIMENSIONS as f32).sqrt()
    };
    (0..DIMENSIONS).map(|_| next()).collect()
}

fn memory(entries: usize) -> Option<Memory> {
    let memory = Memory::in_memory("bench", DIMENSIONS).ok()?;
    for number in 0..entries {
        let change = Change::Add {
            category: "integrity".to_owned(),
            name: "measured".to_owned(),
            definition: "an entry for measuring".to_owned(),
            required: false,
        };
        let episode = Episode {
            id: number.to_string(),
            principal: "bench".to_owned(),
            project: None,
            tainted: false,
            clean: true,
        };
        let lesson = Lesson {
            entry: None,
            key: Key { natural: format!("kind {number}"), command: String::new() },
            vector: Some(vector(number)),
            triggers: vec![Trigger { verb: "change".to_owned(), class: format!("at path /srv/{number}") }],
            changes: vec![change],
            episode,
            taught_by: "bench".to_owned(),
            policy_checks: Vec::new(),
        };
        memory.learn(&lesson).ok()?;
    }
    memory.tend_index().ok()?;
    Some(memory)
}

fn recall(c: &mut Criterion) {
    let mut group = c.benchmark_group("recall");
    // above 50 000 entries a graph proposes the candidates; building it takes minutes: AGRAIL_BENCH_ENTRIES=100000
    let more = std::env::var("AGRAIL_BENCH_ENTRIES").ok().and_then(|entries| entries.parse().ok());
    for entries in [1_000, 10_000].into_iter().chain(more) {
        let Some(memory) = memory(entries) else { return };
        let query = vector(7);
        group.bench_with_input(BenchmarkId::new("similarity", entries), &entries, |b, _| {
            b.iter(|| memory.recall(&query, 1).map(|found| found.len()).ok());
        });
        let effects = [("change", "at path /srv/7"), ("read", "own-home")];
        group.bench_with_input(BenchmarkId::new("effect", entries), &entries, |b, _| {
            b.iter(|| memory.triggered(&effects).map(|found| found.len()).ok());
        });
    }
    group.finish();
}

criterion_group!(benches, recall);
criterion_main!(benches);
