//! A process that learns from four tasks is killed at random moments. No committed lesson may be lost, no neighbour may
//! be wrong, and the database must open. `AGRAIL_KILL_ROUNDS=200 cargo test --release kill` for the full count.

use agrail::memory::{Change, Episode, Key, Lesson, Memory};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CHILD: &str = "AGRAIL_KILL_CHILD";
const DIMENSIONS: usize = 16;

fn vector(number: u64) -> Vec<f32> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..DIMENSIONS)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
        })
        .collect()
}

fn lesson(number: u64) -> Lesson {
    Lesson {
        entry: None,
        key: Key { natural: format!("kind {number}"), command: String::new() },
        vector: Some(vector(number)),
        triggers: Vec::new(),
        changes: vec![Change::Add {
            category: "integrity".to_owned(),
            name: "check".to_owned(),
            definition: format!("definition {number}"),
            required: false,
        }],
        episode: Episode {
            id: format!("e{number}"),
            principal: "user".to_owned(),
            project: None,
            tainted: false,
            clean: true,
        },
        taught_by: "kill".to_owned(),
        policy_checks: Vec::new(),
    }
}

fn open(path: &Path) -> Memory {
    Memory::open(path, "kill-test", DIMENSIONS).unwrap()
}

/// Not a test by itself: the process that is killed.
#[test]
fn learner() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let start: u64 = std::env::var("AGRAIL_KILL_START").unwrap().parse().unwrap();
    let memory = open(Path::new(&path));
    std::thread::scope(|scope| {
        for task in 0..4_u64 {
            let memory = memory.clone();
            scope.spawn(move || {
                for step in 0..100_000_u64 {
                    let number = start + step * 4 + task;
                    let entry = memory.learn(&lesson(number)).unwrap();
                    // only what is committed is told
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "learnt {number} {}", entry.id).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

#[test]
fn a_kill_at_any_moment_loses_no_lesson_and_serves_no_wrong_neighbour() {
    let rounds: u64 = std::env::var("AGRAIL_KILL_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(15);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let mut learnt: Vec<(u64, String)> = Vec::new();
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::learner", "--nocapture", "--test-threads=1"])
            .env(CHILD, &path)
            .env("AGRAIL_KILL_START", (round * 10_000_000).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
        let noise = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
        std::thread::sleep(Duration::from_millis(5 + u64::from(noise / 1000) % 95));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = learnt.len();
        for line in reader.join().unwrap() {
            // a line that was cut by the kill tells nothing
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["learnt", number, id] = words.as_slice()
                && id.len() == 26
            {
                learnt.push((number.parse().unwrap(), (*id).to_owned()));
            }
        }
        let memory = open(&path);
        memory.verify().unwrap();
        for (number, id) in learnt.get(before..).unwrap().iter().chain(learnt.iter().step_by(97)) {
            assert_eq!(memory.show(id).unwrap().key.natural, format!("kind {number}"), "round {round}");
        }
        for (number, id) in learnt.iter().rev().step_by(29).take(10) {
            let nearest = memory.recall(&vector(*number), 1).unwrap();
            assert_eq!(&nearest.first().unwrap().entry.id, id, "round {round}");
            assert!(nearest.first().unwrap().similarity > 0.999);
        }
    }
    assert!(learnt.len() as u64 > rounds, "the learner hardly learnt: {}", learnt.len());
    println!("{} lessons in {rounds} rounds, none lost", learnt.len());
}
