//! Tests the index against a brute-force scan, and with a missing, stale or damaged file.

use super::index::{Index, dot, unit};
use super::open::OnMismatch;
use super::store::{Embedder, Store};
use super::{Change, Episode, Key, Lesson, Memory, MemoryError, Trigger, graph};
use proptest::prelude::*;
use std::path::Path;

const DIMENSIONS: usize = 32;

/// splitmix64: yields the same numbers in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| self.unit()).collect()
    }

    /// A vector near one of `centres`, like an embedding of a paraphrase.
    fn near(&mut self, centres: &[Vec<f32>]) -> Vec<f32> {
        let centre = &centres[self.next() as usize % centres.len()];
        centre.iter().map(|x| x + 0.6 * self.unit()).collect()
    }
}

fn lesson(name: &str, vector: Option<Vec<f32>>) -> Lesson {
    Lesson {
        entry: None,
        key: Key { natural: name.to_owned(), command: String::new() },
        vector,
        triggers: vec![Trigger { verb: "delete".to_owned(), class: name.to_owned() }],
        changes: vec![Change::Add {
            category: "integrity".to_owned(),
            name: "check".to_owned(),
            definition: "holds".to_owned(),
            required: false,
        }],
        episode: Episode {
            id: format!("e-{name}"),
            principal: "user".to_owned(),
            project: None,
            tainted: false,
            clean: true,
        },
        taught_by: "episode:test".to_owned(),
        policy_checks: Vec::new(),
    }
}

fn brute(vectors: &[(u64, Vec<f32>)], query: &[f32], k: usize) -> Vec<(u64, f32)> {
    let query = unit(query, query.len()).unwrap();
    let mut all: Vec<(u64, f32)> =
        vectors.iter().map(|(key, v)| (*key, dot(&query, &unit(v, v.len()).unwrap()))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

fn opened(path: &Path, exact_max: usize) -> Memory {
    let embedder = Embedder { id: "test".to_owned(), dimensions: DIMENSIONS };
    Memory::from_store(Store::open(path, Some(embedder), OnMismatch::Refuse).unwrap(), exact_max).unwrap()
}

/// Adds one entry per vector in a single transaction; `learn` would need one transaction each.
fn fill(memory: &Memory, vectors: &[Vec<f32>]) {
    memory
        .write(|w| {
            for (n, vector) in vectors.iter().enumerate() {
                let mut entry = super::learn::new_entry(
                    Key { natural: format!("kind {n}"), command: String::new() },
                    super::Provenance {
                        taught_by: "test".to_owned(),
                        principal: "user".to_owned(),
                        project: None,
                        tainted: false,
                    },
                    w.now_ms,
                );
                entry.status = super::Status::Active;
                w.put(entry, &super::store::Vector::New(vector), "test", "learn")?;
            }
            Ok(())
        })
        .unwrap();
}

fn names(memory: &Memory, query: &[f32], k: usize) -> Vec<String> {
    memory.recall(query, k).unwrap().iter().map(|n| n.entry.key.natural.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scan_equals_brute_force(seed in any::<u64>(), count in 1_usize..80, gone in 0_usize..20, k in 1_usize..12) {
        let mut random = Random(seed);
        let mut index = Index::new(DIMENSIONS);
        let mut kept: Vec<(u64, Vec<f32>)> = Vec::new();
        for key in 0..count as u64 {
            let vector = random.vector(DIMENSIONS);
            index.insert(key, &vector).unwrap();
            kept.push((key, vector));
        }
        for _ in 0..gone.min(count) {
            let at = random.next() as usize % kept.len();
            index.remove(kept.remove(at).0);
            if kept.is_empty() { break; }
        }
        let query = random.vector(DIMENSIONS);
        prop_assert_eq!(index.nearest(&query, k).unwrap(), brute(&kept, &query, k));
    }
}

#[test]
fn vectors_without_direction_are_refused() {
    let memory = Memory::in_memory("test", 3).unwrap();
    for vector in [vec![f32::NAN, 0.0, 1.0], vec![f32::INFINITY, 0.0, 0.0], vec![0.0; 3], vec![f32::NEG_INFINITY; 3]] {
        assert!(matches!(memory.learn(&lesson("nan", Some(vector.clone()))), Err(MemoryError::NotFinite)));
        assert!(matches!(memory.recall(&vector, 1), Err(MemoryError::NotFinite)));
    }
    let wrong = memory.learn(&lesson("short", Some(vec![1.0; 2])));
    assert!(matches!(wrong, Err(MemoryError::Dimensions { expected: 3, got: 2 })));
    assert_eq!((memory.version(), memory.search("nan", 9).unwrap().len()), (0, 0));
    // large components do not overflow
    memory.learn(&lesson("large", Some(vec![f32::MAX, 0.0, 0.0]))).unwrap();
    assert!((memory.recall(&[1.0, 0.0, 0.0], 1).unwrap()[0].similarity - 1.0).abs() < 1e-6);
}

#[test]
fn graph_finds_the_hits_of_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let memory = opened(&folder.path().join("m.db"), 500);
    let mut random = Random(7);
    let centres: Vec<_> = (0..60).map(|_| random.vector(DIMENSIONS)).collect();
    let vectors: Vec<_> = (0..4000).map(|_| random.near(&centres)).collect();
    fill(&memory, &vectors);
    assert!(memory.tend_index().unwrap());
    let keyed: Vec<_> = vectors.iter().cloned().enumerate().map(|(n, v)| (n as u64, v)).collect();
    let (mut found, mut top) = (0, 0);
    for _ in 0..200 {
        let query = random.near(&centres);
        let exact: Vec<String> = brute(&keyed, &query, 10).iter().map(|(n, _)| format!("kind {n}")).collect();
        let near = names(&memory, &query, 10);
        found += near.iter().filter(|n| exact.contains(n)).count();
        top += usize::from(near[0] == exact[0]);
    }
    assert!(found >= 1980, "recall at 10 is {}", found as f64 / 2000.0);
    assert!(top >= 199, "{top} of 200 have the nearest first");
}

#[test]
fn graph_follows_lessons_and_removals() {
    let folder = tempfile::tempdir().unwrap();
    let memory = opened(&folder.path().join("m.db"), 100);
    let mut random = Random(3);
    let vectors: Vec<_> = (0..400).map(|_| random.vector(DIMENSIONS)).collect();
    fill(&memory, &vectors);
    assert!(memory.tend_index().unwrap());
    let vector = random.vector(DIMENSIONS);
    let entry = memory.learn(&lesson("fresh", Some(vector.clone()))).unwrap();
    assert_eq!(names(&memory, &vector, 1), ["fresh"]);
    memory.quarantine(&entry.id, "operator").unwrap();
    assert_ne!(names(&memory, &vector, 1), ["fresh"]);
    // remove more entries than a graph search has spare candidates for
    for near in memory.recall(&vector, 60).unwrap() {
        memory.retire(&near.entry.id, "operator").unwrap();
    }
    let left: Vec<_> = vectors
        .iter()
        .enumerate()
        .filter(|(n, _)| is_active(&memory, *n))
        .map(|(n, v)| (n as u64, v.clone()))
        .collect();
    let exact: Vec<String> = brute(&left, &vector, 5).iter().map(|(n, _)| format!("kind {n}")).collect();
    assert_eq!(names(&memory, &vector, 5), exact);
}

fn is_active(memory: &Memory, n: usize) -> bool {
    let found = memory.search(&format!("kind {n}"), 1000).unwrap();
    found.iter().any(|e| e.key.natural == format!("kind {n}") && e.status == super::Status::Active)
}

#[test]
fn missing_or_damaged_index_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let mut random = Random(11);
    let vectors: Vec<_> = (0..300).map(|_| random.vector(DIMENSIONS)).collect();
    let keyed: Vec<_> = vectors.iter().cloned().enumerate().map(|(n, v)| (n as u64, v)).collect();
    let exact =
        |query: &[f32]| -> Vec<String> { brute(&keyed, query, 5).iter().map(|(n, _)| format!("kind {n}")).collect() };
    {
        let memory = opened(&path, 100);
        fill(&memory, &vectors[..250]);
        assert!(memory.tend_index().unwrap());
    }
    let file = graph::path_of(&path);
    let stale = std::fs::read(&file).unwrap();
    fill(&opened(&path, 100_000), &vectors[..0]);
    {
        // a handle without a graph adds entries, so that the file is behind the database
        let memory = opened(&path, 100_000);
        memory.write(|_| Ok(())).unwrap();
        for (n, vector) in vectors.iter().enumerate().skip(250) {
            memory.learn(&lesson(&format!("kind {n}"), Some(vector.clone()))).unwrap();
        }
    }
    let end = stale.iter().position(|b| *b == b'\n').unwrap();
    let mut cases: Vec<(&str, Option<Vec<u8>>)> = vec![("stale", Some(stale.clone())), ("missing", None)];
    let mut flipped = stale.clone();
    flipped[end + 200] ^= 0x40;
    cases.push(("flipped bit", Some(flipped)));
    cases.push(("cut short", Some(stale[..stale.len() / 2].to_vec())));
    cases.push(("empty", Some(Vec::new())));
    cases.push(("rubbish", Some(vec![0xA5; 5000])));
    cases.push(("no graph", Some(stale[..=end].to_vec())));
    let header = String::from_utf8(stale[..end].to_vec()).unwrap();
    let identity = serde_json::from_str::<serde_json::Value>(&header).unwrap()["identity"].as_str().unwrap().to_owned();
    let mut other = header.replace(&identity, "01ARZ3NDEKTSV4RRFFQ69G5FAV").into_bytes();
    other.extend_from_slice(&stale[end..]);
    cases.push(("of another database", Some(other)));
    let (mut found, mut sought) = (0, 0);
    for (what, bytes) in cases {
        match bytes {
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let memory = opened(&path, 100);
        for place in [0, 100, 260, 299] {
            assert_eq!(names(&memory, &vectors[place], 1)[0], format!("kind {place}"), "{what}, before tending");
        }
        assert!(memory.tend_index().unwrap(), "{what}");
        for place in [0, 100, 260, 299] {
            let (near, exact) = (names(&memory, &vectors[place], 5), exact(&vectors[place]));
            assert_eq!(near[0], exact[0], "{what}, after tending");
            assert_eq!(near.len(), exact.len(), "{what}, after tending");
            sought += exact.len();
            found += exact.iter().filter(|name| near.contains(name)).count();
        }
    }
    // several threads build the graph, and the search is approximate; a lost entry would be missing in every case
    assert!(found * 100 >= sought * 97, "{found} of {sought}");
}

#[test]
fn unusable_index_file_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    std::fs::create_dir(graph::path_of(&path)).unwrap();
    let memory = opened(&path, 10);
    let mut random = Random(5);
    let vectors: Vec<_> = (0..50).map(|_| random.vector(DIMENSIONS)).collect();
    fill(&memory, &vectors);
    memory.tend_index().unwrap();
    assert_eq!(names(&memory, &vectors[3], 1), ["kind 3"]);
}
