//! Evolution: deterministic, resumable, and safe against a model that is of no use.

use agrail::embed::Embedder;
use agrail::evolve::mutation::Mutation;
use agrail::evolve::store::Store;
use agrail::evolve::task::Task;
use agrail::evolve::{EvolveError, Evolved, Settings, World, evolve, model::Model};
use agrail::injection::head::Head;
use agrail::llm::{Completion, LanguageModel, ModelError, Prompt};
use agrail::prompts::Prompts;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn task(name: &str) -> Task {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("eval/tasks/{name}.toml"));
    let mut task = Task::load(&file).unwrap();
    task.search.batch = 2;
    task
}

fn small(task: &Task) -> Settings {
    let mut settings = Settings::of(task);
    (settings.rounds, settings.inner, settings.pool) = (2, 2, 2);
    settings
}

async fn run(world: &dyn World, settings: &Settings, folder: &Path) -> Result<Evolved, EvolveError> {
    let store = Store::open(folder, &format!("{settings:?}")).unwrap();
    evolve(world, settings, &store, &|_| {}).await
}

fn mutation(task: &Task) -> Mutation {
    let embedder: Arc<dyn Embedder> = Arc::new(crate::embedder());
    // as it was before it evolved
    let trained = Path::new(env!("CARGO_MANIFEST_DIR")).join("eval/detector/trained.json");
    Mutation::new(task.clone(), embedder, Arc::new(Head::load(&trained).unwrap())).unwrap()
}

/// What does not depend on the clock.
fn pools(evolved: &Evolved) -> String {
    format!("{:?}", (&evolved.attacks, &evolved.defences, &evolved.summary.held_out))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_killed_anywhere_ends_as_one_that_was_not() {
    let task = task("tool-result-injection");
    let settings = small(&task);
    let whole = tempfile::tempdir().unwrap();
    let unbroken = pools(&run(&mutation(&task), &settings, whole.path()).await.unwrap());
    let steps = std::fs::read_to_string(whole.path().join("steps.jsonl")).unwrap();
    for share in [1, 4, 7, 9] {
        let killed = tempfile::tempdir().unwrap();
        std::fs::copy(whole.path().join("run.toml"), killed.path().join("run.toml")).unwrap();
        // killed in the middle of a line
        let cut = steps.floor_char_boundary(steps.len() * share / 10);
        std::fs::write(killed.path().join("steps.jsonl"), &steps[..cut]).unwrap();
        assert_eq!(pools(&run(&mutation(&task), &settings, killed.path()).await.unwrap()), unbroken, "{share}");
        let again = std::fs::read_to_string(killed.path().join("steps.jsonl")).unwrap();
        assert!(again.lines().count() <= steps.lines().count() + 1, "nothing is paid for twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_evolves_sees_more_of_what_it_has_not_met() {
    let task = task("tool-result-injection");
    let folder = tempfile::tempdir().unwrap();
    let evolved = run(&mutation(&task), &small(&task), folder.path()).await.unwrap();
    let (before, after) = (evolved.summary.held_out.before, evolved.summary.held_out.after);
    assert!(after.tpr > before.tpr, "{:?}", evolved.summary);
    assert!(after.tnr >= before.tnr - 0.05, "{:?}", evolved.summary);
    // the lineage holds together: each parent was a candidate
    for candidate in &evolved.lineage {
        if let Some(parent) = &candidate.parent {
            assert!(evolved.lineage.iter().any(|c| c.id == *parent), "{parent}");
        }
    }
}

/// A model whose replies are of no use, each in its own way.
#[derive(Debug)]
struct Useless {
    replies: &'static [&'static str],
    asked: AtomicUsize,
}

#[async_trait::async_trait]
impl LanguageModel for Useless {
    fn name(&self) -> &str {
        "useless"
    }

    async fn complete(&self, _: &Prompt, _: Duration) -> Result<Completion, ModelError> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        let text = self.replies[number % self.replies.len()].to_owned();
        Ok(Completion { text, cut: false, tokens_in: 10, tokens_out: 5 })
    }
}

#[tokio::test]
async fn a_model_of_no_use_releases_nothing_and_ends() {
    let task = task("assignment-grading");
    let settings = small(&task);
    for replies in [
        &["nonsense"][..],
        // everything is harmless, every edit loses its slot
        &["{\"malicious\": false}", "{\"score\": 10}", "{\"text\": \"no slot\"}", "{\"advice\": \"\"}"][..],
        // it obeys the attack while it judges
        &["10", "{\"score\": 10}"][..],
    ] {
        let model = Arc::new(Useless { replies, asked: AtomicUsize::new(0) });
        let world = Model::new(task.clone(), model, Prompts::load(None).unwrap(), 2_000);
        let folder = tempfile::tempdir().unwrap();
        match run(&world, &settings, folder.path()).await {
            Err(problem) => assert!(problem.to_string().contains("can be resumed"), "{problem}"),
            Ok(evolved) => {
                for candidate in evolved.defences.iter().chain(&evolved.lineage) {
                    assert!(candidate.text != "no slot" || candidate.side == agrail::evolve::Side::Attack);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_budget_that_is_used_up_stops_the_run_and_says_so() {
    let task = task("assignment-grading");
    let model = Arc::new(Useless { replies: &["{\"malicious\": true}"], asked: AtomicUsize::new(0) });
    let world = Model::new(task.clone(), model, Prompts::load(None).unwrap(), 10);
    let folder = tempfile::tempdir().unwrap();
    let problem = run(&world, &small(&task), folder.path()).await.unwrap_err().to_string();
    assert!(problem.contains("resumed"), "{problem}");
}

#[test]
fn a_task_that_cannot_be_used_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("task.toml");
    let good =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("eval/tasks/assignment-grading.toml"));
    let good = good.unwrap();
    for (text, why) in [
        (good.replace("{{data}}", "the text"), "exactly once"),
        (good.replace("split = \"validation\"", "split = \"train\""), "Validation"),
        (good.replace("maximum = 10", "maximum = 0"), "above"),
        ("name = 1".to_owned(), "no task"),
    ] {
        std::fs::write(&file, text).unwrap();
        let problem = format!("{:#}", anyhow::Error::from(Task::load(&file).unwrap_err()));
        assert!(problem.contains(why), "{problem}");
    }
}

/// A model that always says the same to the same, and is away at one call.
#[derive(Debug)]
struct Steady {
    away_at: usize,
    asked: AtomicUsize,
}

#[async_trait::async_trait]
impl LanguageModel for Steady {
    fn name(&self) -> &str {
        "steady"
    }

    async fn complete(&self, prompt: &Prompt, _: Duration) -> Result<Completion, ModelError> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == self.away_at {
            return Err(ModelError::Unreachable { url: "here".to_owned(), why: "away".to_owned() });
        }
        let size: usize = prompt.turns.iter().map(|t| t.text.len()).sum();
        let text = match prompt.schema.as_ref().map_or("", |s| s.name.as_str()) {
            "judge" => format!("{{\"malicious\": {}}}", size.is_multiple_of(3)),
            "grade" => format!("{{\"score\": {}}}", size % 11),
            "evolve-critic" => format!("{{\"advice\": \"more of {size}\"}}"),
            _ => format!("{{\"text\": \"look at [DATA] {size} times\"}}"),
        };
        Ok(Completion { text, cut: false, tokens_in: 10, tokens_out: 5 })
    }
}

#[tokio::test]
async fn a_model_that_is_away_for_a_while_changes_nothing() {
    let task = task("assignment-grading");
    let settings = small(&task);
    let world = |away_at: usize| {
        let model = Arc::new(Steady { away_at, asked: AtomicUsize::new(0) });
        Model::new(task.clone(), model, Prompts::load(None).unwrap(), 100_000)
    };
    let whole = tempfile::tempdir().unwrap();
    let unbroken = pools(&run(&world(usize::MAX), &settings, whole.path()).await.unwrap());
    // while it judges, grades, criticises, edits
    for away_at in [0, 7, 40, 61, 62, 63, 64, 65, 90] {
        let broken = tempfile::tempdir().unwrap();
        let problem = run(&world(away_at), &settings, broken.path()).await.unwrap_err().to_string();
        assert!(problem.contains("can be resumed"), "{away_at}: {problem}");
        assert_eq!(pools(&run(&world(usize::MAX), &settings, broken.path()).await.unwrap()), unbroken, "{away_at}");
    }
}
