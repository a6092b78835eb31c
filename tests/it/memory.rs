//! The lifelong memory: who may teach it what, and what an operator decides.

use agrail::memory::{
    Authority, Change, Entry, Episode, Grant, Key, Lesson, Memory, MemoryError, QUORUM, Refusal, Rule, STALE_MS,
    Status, Trigger,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub fn key(name: &str) -> Key {
    Key { natural: name.to_owned(), command: "rm PATH".to_owned() }
}

pub fn add(name: &str) -> Change {
    let (category, name) = ("integrity".to_owned(), name.to_owned());
    Change::Add { category, definition: format!("{name} holds"), name, required: false }
}

fn remove(name: &str) -> Change {
    Change::Remove { category: "integrity".to_owned(), name: name.to_owned() }
}

/// A clean lesson of one principal, recalled by `delete NAME`.
pub fn lesson(name: &str, episode: &str, changes: Vec<Change>) -> Lesson {
    Lesson {
        entry: None,
        key: key(name),
        vector: None,
        triggers: vec![Trigger { verb: "delete".to_owned(), class: name.to_owned() }],
        changes,
        episode: Episode {
            id: episode.to_owned(),
            principal: format!("principal of {episode}"),
            project: None,
            tainted: false,
            clean: true,
        },
        taught_by: format!("episode:{episode}"),
        policy_checks: Vec::new(),
    }
}

fn tainted(mut lesson: Lesson) -> Lesson {
    lesson.episode.tainted = true;
    lesson
}

pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

fn memory() -> Memory {
    Memory::in_memory("test", 2).unwrap()
}

pub fn recalled(memory: &Memory, name: &str) -> Vec<String> {
    memory.triggered(&[("delete", name)]).unwrap().iter().map(|e| e.id.clone()).collect()
}

fn checks(entry: &Entry) -> Vec<&str> {
    entry.checks.iter().map(|c| c.name.as_str()).collect()
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, MemoryError>) -> Refusal {
    match outcome {
        Err(MemoryError::Refused(why)) => why,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_clean_episode_teaches_at_once() {
    let memory = memory();
    let entry = memory.learn(&lesson("a", "1", vec![add("x")])).unwrap();
    assert_eq!((entry.status, entry.version, entry.authority), (Status::Active, 1, Authority::Learned));
    assert_eq!(recalled(&memory, "a"), [entry.id.as_str()]);
    let again = memory.learn(&lesson("a", "2", vec![add("x"), add("y")])).unwrap();
    assert_eq!((again.id.as_str(), again.version, again.parent), (entry.id.as_str(), 2, Some(1)));
    assert_eq!((checks(&again), again.checks[0].support), (vec!["x", "y"], 2));
    let same = memory.learn(&lesson("a", "2", vec![add("x"), add("y")])).unwrap();
    assert_eq!((same.version, same.checks[0].support), (2, 2), "an episode counts once");
}

#[test]
fn a_tainted_or_unclean_episode_only_proposes() {
    let memory = memory();
    let poisoned = memory.learn(&tainted(lesson("a", "1", vec![add("trust the mail")]))).unwrap();
    let mut unclean = lesson("b", "1", vec![add("x")]);
    unclean.episode.clean = false;
    assert_eq!(memory.learn(&unclean).unwrap().status, Status::Proposed);
    assert_eq!(poisoned.status, Status::Proposed);
    assert!(recalled(&memory, "a").is_empty() && recalled(&memory, "b").is_empty());
    // a clean lesson of that kind that does not ask for the poison does not bring it in
    let clean = memory.learn(&lesson("a", "2", vec![add("x")])).unwrap();
    assert_ne!(clean.id, poisoned.id);
    assert_eq!((recalled(&memory, "a"), checks(&clean)), (vec![clean.id.clone()], vec!["x"]));
    assert_eq!(memory.show(&poisoned.id).unwrap().status, Status::Proposed);
    // nor do more tainted ones, however many
    for n in 3..9 {
        memory.learn(&tainted(lesson("a", &n.to_string(), vec![add("trust the mail")]))).unwrap();
    }
    assert_eq!(recalled(&memory, "a"), [clean.id.as_str()]);
    // what a clean episode asks for by itself becomes active
    let confirmed = memory.learn(&lesson("b", "2", vec![add("x")])).unwrap();
    assert_eq!((confirmed.status, recalled(&memory, "b").len()), (Status::Active, 1));
}

#[test]
fn taint_never_relaxes() {
    let memory = memory();
    let entry = memory.learn(&lesson("a", "1", vec![add("x")])).unwrap();
    for n in 0..10 {
        let mut lesson = tainted(lesson("a", &format!("t{n}"), vec![remove("x")]));
        // by key it would only propose, and there is no such check to remove there
        assert_eq!(refused(memory.learn(&lesson)), Refusal::NoSuchCheck);
        lesson.entry = Some(entry.id.clone());
        assert_eq!(refused(memory.learn(&lesson)), Refusal::Tainted);
    }
    assert_eq!(memory.show(&entry.id).unwrap(), entry, "nothing was written");
}

#[test]
fn relaxing_takes_a_quorum_of_principals() {
    let memory = memory();
    let entry = memory.learn(&lesson("a", "1", vec![add("x"), add("y")])).unwrap();
    for n in 0..QUORUM * 2 {
        let mut lesson = lesson("a", &format!("same {n}"), vec![remove("x")]);
        lesson.episode.principal = "one".to_owned();
        memory.learn(&lesson).unwrap();
    }
    let current = memory.show(&entry.id).unwrap();
    assert_eq!((checks(&current), current.checks[0].conflict), (vec!["x", "y"], 6));
    for n in 1..QUORUM {
        memory.learn(&lesson("a", &format!("other {n}"), vec![remove("x")])).unwrap();
    }
    assert_eq!(checks(&memory.show(&entry.id).unwrap()), ["y"]);
    // the votes are settled: the check that comes back is not carried off by the old ones
    memory.learn(&lesson("a", "later", vec![add("x")])).unwrap();
    memory.learn(&lesson("a", "later still", vec![remove("x")])).unwrap();
    assert_eq!(checks(&memory.show(&entry.id).unwrap()), ["y", "x"]);
    // a different definition is a revision and takes the same
    let revise = Change::Add {
        category: "integrity".to_owned(),
        name: "y".to_owned(),
        definition: "y may hold".to_owned(),
        required: false,
    };
    for n in 1..=QUORUM {
        assert_eq!(memory.show(&entry.id).unwrap().checks[0].definition, "y holds");
        memory.learn(&lesson("a", &format!("revise {n}"), vec![revise.clone()])).unwrap();
    }
    assert_eq!(memory.show(&entry.id).unwrap().checks[0].definition, "y may hold");
}

#[test]
fn required_checks_and_those_of_policy_stay() {
    let memory = memory();
    let required = Change::Add {
        category: "integrity".to_owned(),
        name: "x".to_owned(),
        definition: "x holds".to_owned(),
        required: true,
    };
    let entry = memory.learn(&lesson("a", "1", vec![required, add("policy's")])).unwrap();
    for n in 0..5 {
        assert_eq!(refused(memory.learn(&lesson("a", &format!("r{n}"), vec![remove("x")]))), Refusal::Required);
        let mut lesson = lesson("a", &format!("p{n}"), vec![remove("policy's")]);
        lesson.policy_checks = vec!["policy's".to_owned()];
        assert_eq!(refused(memory.learn(&lesson)), Refusal::Policy);
    }
    memory.learn(&lesson("a", "support", vec![add("x")])).unwrap();
    assert!(memory.show(&entry.id).unwrap().checks[0].required, "support does not make it optional");
    let once = memory.learn_by(&lesson("a", "tta", vec![remove("x")]), Rule::AtOnce).unwrap();
    assert_eq!(checks(&once), ["policy's"], "the ablation rule is the paper's");
}

#[test]
fn quarantine_holds_against_lessons() {
    let memory = memory();
    let entry = memory.learn(&lesson("a", "1", vec![add("x")])).unwrap();
    memory.quarantine(&entry.id, "operator").unwrap();
    assert!(recalled(&memory, "a").is_empty());
    assert_eq!(refused(memory.learn(&lesson("a", "2", vec![add("x")]))), Refusal::Withdrawn);
    let mut named = lesson("a", "2", vec![add("x")]);
    named.entry = Some(entry.id.clone());
    assert_eq!(refused(memory.learn(&named)), Refusal::Withdrawn);
    let back = memory.rollback(&entry.id, 1, "operator").unwrap();
    assert_eq!((back.version, back.status, recalled(&memory, "a").len()), (3, Status::Active, 1));
    let whats: Vec<String> = memory.log(Some(&entry.id), 9).unwrap().into_iter().map(|e| e.what).collect();
    assert_eq!(whats, ["learn", "quarantine", "rollback to 1"]);
    memory.retire(&entry.id, "operator").unwrap();
    assert_ne!(memory.learn(&lesson("a", "3", vec![add("z")])).unwrap().id, entry.id, "after retiring it starts anew");
}

#[test]
fn rollback_brings_back_what_was() {
    let memory = memory();
    let one = memory.learn(&lesson("a", "1", vec![add("x")])).unwrap();
    let at = memory.version();
    memory.learn(&lesson("a", "2", vec![add("y")])).unwrap();
    let digest = memory.digest();
    let back = memory.rollback(&one.id, 1, "operator").unwrap();
    assert_eq!(
        (back.checks.clone(), back.triggers.clone(), back.version),
        (one.checks.clone(), one.triggers.clone(), 3)
    );
    assert_ne!(memory.digest(), digest);
    assert_eq!(memory.versions(&one.id).unwrap().len(), 3, "nothing is overwritten");
    assert_eq!(memory.entries_at(at).unwrap()[0].entry, one);
    assert_eq!(memory.diff(&one.id, 2, 3).unwrap().removed[0].name, "y");
    assert!(matches!(memory.rollback(&one.id, 9, "operator"), Err(MemoryError::NoSuchVersion { version: 9, .. })));
}

#[test]
fn what_is_too_long_or_empty_is_refused() {
    let memory = memory();
    let many = (0..65).map(|n| add(&format!("c{n}"))).collect();
    assert_eq!(refused(memory.learn(&lesson("a", "1", many))), Refusal::TooLong);
    assert_eq!(refused(memory.learn(&lesson("a", "1", vec![add(&"x".repeat(9000))]))), Refusal::TooLong);
    assert_eq!(refused(memory.learn(&lesson(" ", "1", vec![add("x")]))), Refusal::Empty);
    assert_eq!(refused(memory.learn(&lesson("a", "", vec![add("x")]))), Refusal::Empty);
    assert_eq!((memory.version(), memory.stats().unwrap().versions), (0, 0));
}

pub fn grant(signature: &str, uses: u32, expires_ms: i64) -> Grant {
    Grant {
        widening: None,
        key: key("delete the build"),
        signature: signature.to_owned(),
        principal: "user".to_owned(),
        project: None,
        uses,
        expires_ms,
        taught_by: "feedback:approve:V".to_owned(),
    }
}

#[test]
fn an_approval_ends() {
    let memory = memory();
    let (start, day) = (now(), 86_400_000);
    let entry = memory.approve(&grant("s", 2, start + day)).unwrap();
    let created = entry.created_ms;
    assert_eq!(memory.approval("s", created).unwrap().unwrap().id, entry.id);
    assert!(memory.approval("S", created).unwrap().is_none() && memory.approval("", created).unwrap().is_none());
    assert!(memory.approval("s", start + day).unwrap().is_none(), "expired");
    assert!(memory.approval("s", created - 1).unwrap().is_none(), "the clock went back");
    for when in [start + day, created - 1, 0, i64::MIN, i64::MAX] {
        assert!(matches!(memory.use_approval(&entry.id, when), Err(MemoryError::ApprovalSpent { .. })), "{when}");
    }
    for left in [1, 0] {
        assert_eq!(memory.use_approval(&entry.id, created + 5).unwrap().approval.unwrap().uses_left, left);
    }
    assert!(memory.approval("s", created + 5).unwrap().is_none(), "used up");
    assert!(matches!(memory.use_approval(&entry.id, created + 5), Err(MemoryError::ApprovalSpent { .. })));
    // it is neither a lesson, nor does an old version come back
    assert_eq!(refused(memory.rollback(&entry.id, 1, "x")), Refusal::Approval);
    assert_eq!(refused(memory.activate(&entry.id, "x")), Refusal::Approval);
    let mut named = lesson("a", "1", vec![add("x")]);
    named.entry = Some(entry.id);
    assert_eq!(refused(memory.learn(&named)), Refusal::Approval);
    assert_eq!(refused(memory.approve(&grant("s", 0, start + day))), Refusal::NoUses);
    assert_eq!(refused(memory.approve(&grant("s", 1, start - 1))), Refusal::NoUses);
    let withdrawn = memory.approve(&grant("t", 3, start + day)).unwrap();
    memory.quarantine(&withdrawn.id, "operator").unwrap();
    assert!(memory.approval("t", now()).unwrap().is_none());
    assert!(matches!(memory.use_approval(&withdrawn.id, now()), Err(MemoryError::ApprovalSpent { .. })));
}

#[test]
fn processes_together_do_not_exceed_an_approval() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let handles: Vec<Memory> = (0..4).map(|_| Memory::open(&path, "test", 2).unwrap()).collect();
    let entry = handles[0].approve(&grant("s", 7, now() + 60_000)).unwrap();
    let used = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for handle in &handles {
            scope.spawn(|| {
                for _ in 0..5 {
                    used.fetch_add(u32::from(handle.use_approval(&entry.id, now()).is_ok()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(used.into_inner(), 7);
}

#[test]
fn two_handles_on_one_file_see_each_others_lessons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let (one, two) = (Memory::open(&path, "test", 2).unwrap(), Memory::open(&path, "test", 2).unwrap());
    let mut with_vector = lesson("a", "1", vec![add("x")]);
    with_vector.vector = Some(vec![3.0, 4.0]);
    let entry = one.learn(&with_vector).unwrap();
    let began = Instant::now();
    while recalled(&two, "a").is_empty() {
        assert!(began.elapsed() < Duration::from_millis(STALE_MS * 4), "not seen");
    }
    assert_eq!(two.recall(&[6.0, 8.0], 3).unwrap()[0].entry.id, entry.id);
    assert_eq!((two.version(), two.digest()), (one.version(), one.digest()));
    two.quarantine(&entry.id, "operator").unwrap();
    let began = Instant::now();
    while !recalled(&one, "a").is_empty() {
        assert!(began.elapsed() < Duration::from_millis(STALE_MS * 4), "not seen");
    }
    assert!(one.recall(&[6.0, 8.0], 3).unwrap().is_empty());
}
