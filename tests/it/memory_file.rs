//! The memory's file: damaged, foreign, locked, read-only; seeds, exports and imports.

use crate::memory::{add, grant, lesson, now, recalled};
use agrail::effect::Verb;
use agrail::memory::{Authority, DecisionRecord, ImportAs, Memory, MemoryError, Status};
use rusqlite::Connection;
use std::path::Path;
use std::time::{Duration, Instant};

fn made(path: &Path) -> String {
    let memory = Memory::open(path, "test", 2).unwrap();
    let mut taught = lesson("a", "1", vec![add("x")]);
    taught.vector = Some(vec![1.0, 2.0]);
    memory.learn(&taught).unwrap().id
}

#[test]
fn it_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let id = made(&path);
    let memory = Memory::open_as_is(&path).unwrap();
    assert_eq!(memory.recall(&[2.0, 4.0], 1).unwrap()[0].entry.id, id);
    assert_eq!(memory.embedder(), Some(("test", 2)));
    memory.verify().unwrap();
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn another_embedder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let id = made(&path);
    for (name, dimensions) in [("other", 2), ("test", 3)] {
        assert!(matches!(Memory::open(&path, name, dimensions), Err(MemoryError::EmbedderMismatch { .. })));
    }
    let memory = Memory::open_for_new_embedder(&path, "other", 3).unwrap();
    assert!(memory.recall(&[1.0, 2.0, 3.0], 1).unwrap().is_empty(), "old vectors do not count");
    assert_eq!(memory.without_vector().unwrap()[0].id, id);
    assert_eq!(recalled(&memory, "a"), [id.as_str()], "effects still recall it");
    memory.set_vector(&id, &[3.0, 0.0, 0.0]).unwrap();
    assert_eq!(memory.recall(&[1.0, 0.0, 0.0], 1).unwrap()[0].entry.id, id);
}

#[test]
fn what_is_not_a_memory_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "my notes\n".repeat(200)).unwrap();
    assert!(matches!(Memory::open(&text, "test", 2), Err(MemoryError::NotOurs { .. })));
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "my notes\n".repeat(200));
    let foreign = folder.path().join("other.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(Memory::open(&foreign, "test", 2), Err(MemoryError::NotOurs { .. })));
    let newer = folder.path().join("newer.db");
    made(&newer);
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 9).unwrap();
    assert!(matches!(Memory::open(&newer, "test", 2), Err(MemoryError::NewerSchema { found: 9, known: 2, .. })));
    let nowhere = folder.path().join("none/m.db");
    let said = Memory::open(&nowhere, "test", 2).unwrap_err().to_string();
    assert!(said.contains("none/m.db") && said.contains("ls -ld"), "{said}");
    assert!(matches!(Memory::open(folder.path(), "test", 2), Err(MemoryError::Open { .. })));
}

#[test]
fn damage_is_found_and_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let edits = [
        ("an edited body", "UPDATE entry_version SET body = replace(body, 'x holds', 'never mind')"),
        (
            "a body that is no entry",
            "UPDATE entry_version SET body = '{}', digest = \
          '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'",
        ),
        ("a short vector", "UPDATE embedding SET vector = x'0000803f'"),
        ("a vector without direction", "UPDATE embedding SET vector = x'0000c07f0000c07f'"),
    ];
    for (what, sql) in edits {
        let _ = std::fs::remove_file(&path);
        made(&path);
        let running = Memory::open_as_is(&path).unwrap();
        let editor = Connection::open(&path).unwrap();
        assert!(editor.execute_batch(sql).is_err(), "{what}: versions and vectors are never changed");
        editor.execute_batch("DROP TRIGGER entry_version_kept; DROP TRIGGER embedding_kept;").unwrap();
        editor
            .execute_batch(&format!("{sql}; UPDATE entry_head SET changed = 9; UPDATE meta SET memory_version = 9"))
            .unwrap();
        drop(editor);
        assert!(matches!(Memory::open_as_is(&path), Err(MemoryError::Corrupt { .. })), "{what}");
        std::thread::sleep(Duration::from_millis(60));
        for _ in 0..3 {
            assert!(matches!(running.triggered(&[("delete", "a")]), Err(MemoryError::Corrupt { .. })), "{what}");
        }
        for end in ["m.db", "m.db-wal", "m.db-shm"] {
            let _ = std::fs::remove_file(folder.path().join(end));
        }
    }
    made(&path);
    let whole = std::fs::read(&path).unwrap();
    // cut in the middle, and with pages overwritten
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let cut = Memory::open_as_is(&path).and_then(|m| m.verify());
    assert!(matches!(cut, Err(MemoryError::Corrupt { .. })), "{cut:?}");
    let mut spoilt = whole.clone();
    spoilt[4096..].fill(0xA5);
    std::fs::write(&path, spoilt).unwrap();
    let spoilt = Memory::open_as_is(&path).and_then(|m| m.verify());
    assert!(matches!(spoilt, Err(MemoryError::Corrupt { .. })), "{spoilt:?}");
}

#[test]
fn a_lock_is_waited_for_only_so_long_and_recall_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let id = made(&path);
    let memory = Memory::open_as_is(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    assert!(matches!(memory.learn(&lesson("b", "1", vec![add("x")])), Err(MemoryError::Locked)));
    let waited = began.elapsed();
    assert!(waited >= Duration::from_millis(1500) && waited < Duration::from_secs(4), "{waited:?}");
    assert_eq!(recalled(&memory, "a"), [id.as_str()]);
    other.execute_batch("ROLLBACK").unwrap();
    memory.learn(&lesson("b", "1", vec![add("x")])).unwrap();
}

const READER: &str = "AGRAIL_READER_CHILD";

/// Not a test by itself: the process of an account that may not write.
#[test]
fn reader() {
    let Some(path) = std::env::var_os(READER) else { return };
    let outcome = Memory::open_as_is(Path::new(&path));
    assert!(matches!(outcome, Err(MemoryError::ReadOnly)), "{outcome:?}");
    println!("refused");
}

#[test]
fn a_file_that_cannot_be_written_is_refused() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    made(&path);
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    // the test may be run by root, whom no mode stops; a copy is where any account can run it
    let program = folder.path().join("reader");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut child = std::process::Command::new(&program);
    child.args(["--exact", "memory_file::reader", "--nocapture"]).env(READER, &path).current_dir("/");
    if rustix::process::getuid().is_root() {
        child.uid(65534).gid(65534);
    }
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("refused"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

const SEED: &str = r#"
[[seed]]
name = "one"
natural = "Delete the ledger"
command = "rm LEDGER"
triggers = ["delete ledger"]
match = ["delete ledger"]
not = ["read ledger"]
[[seed.check]]
category = "integrity"
name = "kept"
definition = "The ledger is kept."
[[seed.check]]
category = "integrity"
name = "asked"
definition = "Its keeper is asked."
"#;

#[test]
fn seeding_again_changes_nothing() {
    let memory = Memory::in_memory("test", 2).unwrap();
    let first = memory.seed_shipped().unwrap();
    assert!(first.added >= 12 && first.updated + first.unchanged + first.withdrawn == 0, "{first:?}");
    let digest = memory.digest();
    let again = memory.seed_shipped().unwrap();
    assert_eq!((again.unchanged, again.added, again.updated), (first.added, 0, 0));
    assert_eq!((memory.digest(), memory.version()), (digest.clone(), 3), "no transaction without a change");
    let elsewhere = Memory::in_memory("test", 2).unwrap();
    elsewhere.seed_shipped().unwrap();
    assert_eq!(
        elsewhere.search("", 99).unwrap().iter().map(|e| e.id.clone()).collect::<Vec<_>>(),
        memory.search("", 99).unwrap().iter().map(|e| e.id.clone()).collect::<Vec<_>>()
    );
}

#[test]
fn shipped_seeds_leave_ordinary_work_alone() {
    let memory = Memory::in_memory("test", 2).unwrap();
    memory.seed_shipped().unwrap();
    let policies = include_str!("../../src/policy/base.cedar");
    for entry in memory.search("", 99).unwrap() {
        for check in &entry.checks {
            assert!(!check.required, "{}: nobody could answer it", check.name);
            let answered = policies.contains(&format!("@check(\"{}\")", check.name));
            assert!(answered, "no policy answers '{}'", check.name);
        }
    }
    let daily =
        ["read", "list", "write", "append", "create", "overwrite", "delete", "move", "chmod", "execute", "link"];
    for verb in daily {
        for class in ["own-home", "ordinary", "shared", "harmless"] {
            assert!(memory.triggered(&[(verb, class)]).unwrap().is_empty(), "{verb} {class}");
        }
    }
    for (verb, class) in [("connect", "host"), ("connect", "url"), ("variable", "variable"), ("read", "system-config")]
    {
        assert!(memory.triggered(&[(verb, class)]).unwrap().is_empty(), "{verb} {class}");
    }
    let kinds = "own-home other-home superuser-home system-binary system-library boot kernel root system-config system-data \
                 credential persistence shared log device harmless ordinary pid process resource service user group \
                 privilege job package host url port config system database container remote traces variable mount \
                 program machine session path";
    for trigger in memory.search("", 99).unwrap().iter().flat_map(|e| &e.triggers) {
        assert!(kinds.split_whitespace().any(|k| k == trigger.class), "{trigger:?}");
        assert!(trigger.verb.parse::<Verb>().is_ok());
    }
}

#[test]
fn a_changed_seed_keeps_what_lessons_made_of_it() {
    let memory = Memory::in_memory("test", 2).unwrap();
    memory.seed("s.toml", SEED).unwrap();
    let id = memory.search("ledger", 1).unwrap()[0].id.clone();
    let mut taught = lesson("more", "1", vec![add("learnt")]);
    taught.entry = Some(id.clone());
    memory.learn(&taught).unwrap();
    for n in 0..3 {
        let change = agrail::memory::Change::Remove { category: "integrity".to_owned(), name: "asked".to_owned() };
        let mut relaxing = lesson("more", &format!("r{n}"), vec![change]);
        relaxing.entry = Some(id.clone());
        memory.learn(&relaxing).unwrap();
    }
    let names = |memory: &Memory| memory.show(&id).unwrap().checks.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&memory), ["kept", "learnt"]);
    assert_eq!(memory.seed("s.toml", SEED).unwrap().unchanged, 1);
    let changed = SEED.replace("The ledger is kept.", "The ledger and its copies are kept.");
    assert_eq!(memory.seed("s.toml", &changed).unwrap().updated, 1);
    let entry = memory.show(&id).unwrap();
    assert_eq!(
        (names(&memory), entry.checks[0].definition.as_str()),
        (vec!["kept".into(), "learnt".into()], "The ledger and its copies are kept.")
    );
    assert_eq!(
        (entry.authority, recalled(&memory, "more").len(), recalled(&memory, "ledger").len()),
        (Authority::Seed, 1, 1)
    );
    memory.quarantine(&id, "operator").unwrap();
    assert_eq!(memory.seed("s.toml", SEED).unwrap().withdrawn, 1);
    assert!(recalled(&memory, "ledger").is_empty());
}

#[test]
fn a_wrong_seed_says_what_is_wrong_and_seeds_nothing() {
    let memory = Memory::in_memory("test", 2).unwrap();
    let wrong = [
        (
            SEED.replace(r#"not = ["read ledger"]"#, r#"not = ["delete ledger"]"#),
            "is recalled by its example \"delete ledger\"",
        ),
        (SEED.replace(r#"match = ["delete ledger"]"#, r#"match = ["move ledger"]"#), "is not recalled by its example"),
        (SEED.replace(r#"match = ["delete ledger"]"#, "match = []"), "needs examples"),
        (SEED.replace("delete ledger", "destroy ledger"), "no verb \"destroy\""),
        (SEED.replace(r#"triggers = ["delete ledger"]"#, r#"triggers = ["delete"]"#), "should be a verb and a class"),
        (SEED.replace("\"asked\"", "\"kept\""), "two checks"),
        (format!("{SEED}{SEED}"), "same name"),
        (SEED.replace("definition = \"Its keeper is asked.\"", "meaning = \"?\""), "unknown field"),
        (SEED.replace("definition = \"Its keeper is asked.\"", "definition = \"\""), "empty"),
    ];
    for (text, expected) in wrong {
        let said = memory.seed("s.toml", &text).unwrap_err().to_string();
        assert!(said.starts_with("s.toml: ") && said.contains(expected), "{said}");
    }
    assert_eq!(memory.stats().unwrap().versions, 0);
}

#[test]
fn an_import_proposes_and_never_approves() {
    let from = Memory::in_memory("test", 2).unwrap();
    from.seed("s.toml", SEED).unwrap();
    let learnt = from.learn(&lesson("a", "1", vec![add("x")])).unwrap();
    let consent = from.approve(&grant("s", 3, now() + 60_000)).unwrap();
    let mut lines = Vec::new();
    assert_eq!(from.export(&mut lines).unwrap(), 3);
    for (how, active) in [(ImportAs::Proposed, 0), (ImportAs::Active, 1)] {
        let into = Memory::in_memory("test", 2).unwrap();
        let report = into.import(lines.as_slice(), how, "operator").unwrap();
        assert_eq!((report.added, report.known, report.left_out), (2, 0, 1));
        assert_eq!(recalled(&into, "a").len(), active);
        assert_eq!(into.show(&learnt.id).unwrap().checks, learnt.checks);
        assert!(into.approval("s", now()).unwrap().is_none());
        assert!(matches!(into.show(&consent.id), Err(MemoryError::NoSuchEntry { .. })));
        // a seed that came this way waits for its own file
        assert!(recalled(&into, "ledger").is_empty());
        assert_eq!(into.import(lines.as_slice(), how, "operator").unwrap().known, 2);
        assert_eq!(into.seed("s.toml", SEED).unwrap().updated, 1);
        let seeded = into.show(&recalled(&into, "ledger")[0]).unwrap();
        assert_eq!((seeded.status, seeded.authority), (Status::Active, Authority::Seed));
    }
}

#[test]
fn a_wrong_line_imports_nothing() {
    let from = Memory::in_memory("test", 2).unwrap();
    from.learn(&lesson("a", "1", vec![add("x")])).unwrap();
    let mut good = Vec::new();
    from.export(&mut good).unwrap();
    let good = String::from_utf8(good).unwrap();
    let wrong = [
        ("{".to_owned(), "EOF"),
        ("[]".to_owned(), "invalid"),
        (good.replace("\"natural\":\"a\"", "\"natural\":\"\""), "empty"),
        (good.replace("\"id\":\"", "\"id\":\"\\u001b[2J"), "id"),
        (good.replace("x holds", &"x".repeat(9000)), "too long"),
        ("x".repeat(5 << 20), "longer than"),
    ];
    for (line, expected) in wrong {
        let into = Memory::in_memory("test", 2).unwrap();
        let text = format!("{good}\n{line}\n{good}");
        match into.import(text.as_bytes(), ImportAs::Active, "operator") {
            Err(MemoryError::Import { line: 3, reason }) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{expected}: {other:?}"),
        }
        assert_eq!((into.version(), into.stats().unwrap().versions), (0, 0));
    }
}

#[test]
fn a_decision_is_kept_and_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let memory = Memory::open(&path, "test", 2).unwrap();
    let record = DecisionRecord {
        id: "V".to_owned(),
        at_ms: 5,
        action_digest: "a".to_owned(),
        facts_digest: "f".to_owned(),
        policy_digest: "p".to_owned(),
        memory_version: memory.version(),
        decision: "ask".to_owned(),
        record: "{}".to_owned(),
    };
    memory.record_decision(&record).unwrap();
    assert!(memory.record_decision(&record).is_err(), "an id is used once");
    assert_eq!((memory.decision("V").unwrap(), memory.decisions(9).unwrap()), (record.clone(), vec![record]));
    assert!(matches!(memory.decision("W"), Err(MemoryError::NoSuchDecision { .. })));
    let editor = Connection::open(&path).unwrap();
    assert!(editor.execute("UPDATE decision SET decision = 'allow'", []).is_err());
}

/// What the derived tables say must be what the versions say, through every kind of change.
#[test]
fn on_demand_a_memory_answers_as_when_it_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let memory = Memory::open(&path, "test", 2).unwrap();
    let same = |step: &str| {
        let (loaded, lean) =
            (Memory::open(&path, "test", 2).unwrap(), Memory::open_on_demand(&path, "test", 2).unwrap());
        for name in ["a", "b", "c", "unheard of"] {
            assert_eq!(recalled(&loaded, name), recalled(&lean, name), "{step}: {name}");
        }
        let found = |memory: &Memory, bound: &str| memory.approval(bound, now()).unwrap().map(|entry| entry.id.clone());
        for bound in ["s", "t", "u"] {
            assert_eq!(found(&loaded, bound), found(&lean, bound), "{step}: {bound}");
        }
        assert_eq!((loaded.digest(), loaded.version()), (lean.digest(), lean.version()), "{step}");
        assert_eq!(loaded.has_vectors(), lean.has_vectors(), "{step}");
        assert_eq!(loaded.active().unwrap(), lean.active().unwrap(), "{step}: it loads what it needs");
        assert_eq!(loaded.digest(), lean.digest(), "{step}: and counts nothing twice");
    };
    same("empty");
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(memory.learn(&lesson(name, "1", vec![add("x")])).unwrap().id);
        same(name);
    }
    let approval = memory.approve(&grant("s", 2, now() + 60_000)).unwrap().id;
    memory.approve(&grant("t", 1, now() + 60_000)).unwrap();
    same("approved");
    memory.quarantine(&ids[0], "olga").unwrap();
    memory.retire(&ids[1], "olga").unwrap();
    same("withdrawn");
    memory.activate(&ids[0], "olga").unwrap();
    memory.rollback(&ids[1], 1, "olga").unwrap();
    same("brought back");
    let lean = Memory::open_on_demand(&path, "test", 2).unwrap();
    lean.use_approval(&approval, now()).unwrap();
    lean.learn(&lesson("a", "2", vec![add("y")])).unwrap();
    same("changed by one that has not loaded");
    Memory::forget(&path, &agrail::untrusted::Leak::new("delete the build").unwrap(), "olga").unwrap();
    same("texts removed");
}

#[test]
fn a_file_of_the_first_schema_gets_its_derived_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let id = made(&path);
    let memory = Memory::open(&path, "test", 2).unwrap();
    memory.approve(&grant("s", 2, now() + 60_000)).unwrap();
    let digest = memory.digest();
    drop(memory);
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "DROP TABLE recalled; DROP TABLE bound; ALTER TABLE meta DROP COLUMN terms; ALTER TABLE meta DROP COLUMN active;
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    let memory = Memory::open_on_demand(&path, "test", 2).unwrap();
    assert_eq!(recalled(&memory, "a"), [id.as_str()]);
    assert!(memory.approval("s", now()).unwrap().is_some());
    assert_eq!(memory.digest(), digest);
    assert!(folder.path().join("m.db.v1").exists(), "a copy of the old file is kept");
}
