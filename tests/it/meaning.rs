//! Reports with a reason: recall by meaning proposes them, a model answers, a person is asked.
//!
//! The model is a real one, played back: see `recorded.rs`.

use crate::recorded::{MODEL, file, model};
use agrail::action::{Action, Context, Identity};
use agrail::embed::{EmbedError, Embedder};
use agrail::learn::{Feedback, FeedbackError, Learnt, apply_feedback};
use agrail::llm::{LanguageModel, Player};
use agrail::memory::Memory;
use agrail::prompts::Prompts;
use agrail::reason::llm::{Llm, LlmSettings};
use agrail::verdict::{Mode, Verdict};
use agrail::{Decision, Guard};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const REASON: &str = "told a guest that a better room costs nothing";

struct Desk {
    guard: Guard,
    memory: Memory,
}

impl Desk {
    fn new(model: Option<Arc<dyn LanguageModel>>, embedder: Arc<dyn Embedder>) -> Self {
        let memory = Memory::in_memory(embedder.id(), embedder.dimensions()).unwrap();
        let mut builder = Guard::builder().memory(memory.clone()).embedder(embedder);
        if let Some(model) = model {
            let llm = Llm::new(model, Prompts::load(None).unwrap(), LlmSettings::default());
            builder = builder.model(Arc::new(llm)).with(|s| {
                s.mode = Mode::Tiered;
                s.deadline = Duration::from_secs(120);
                s.limits.wall = Duration::from_secs(120);
            });
        }
        Self { guard: builder.build().unwrap(), memory }
    }

    async fn check(&self, action: &Action) -> Verdict {
        let verdict = self.guard.check(action, &Context::new(Identity::default(), None)).await;
        self.guard.settle().await.unwrap();
        verdict
    }

    async fn report(&self, action: &Action, reason: &str) -> String {
        let id = self.check(action).await.id;
        self.memory.report(&id, Feedback::Incident, reason, "olga").unwrap();
        id
    }

    /// Reports three promises.
    async fn taught(self) -> Self {
        for text in [
            "Lovely news: we have put you in the sea view suite, at no extra cost.",
            "You will get the larger room. Do not worry about the price, it stays as it is.",
        ] {
            self.report(&say(text), REASON).await;
        }
        let body = "We are happy to move you up to the corner room, free of charge.";
        let mail = json!({"to": "guest@mail.example", "subject": "Your room", "body": body});
        self.report(&Action::ToolCall { server: None, tool: "send_email".to_owned(), arguments: mail }, REASON).await;
        self
    }
}

fn say(text: &str) -> Action {
    Action::Message { text: text.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_reported_is_recognised_in_other_words() {
    let Some(model) = model() else { return };
    let desk = Desk::new(Some(model), Arc::new(crate::embedder())).taught().await;
    let held = say("Instead of the standard double we give you a deluxe room and charge nothing for it.");
    let verdict = desk.check(&held).await;
    assert_eq!(verdict.decision, Decision::Ask, "{}", verdict.reason);
    assert!(verdict.reason.contains(REASON) && verdict.ask_of == Some("person"), "{}", verdict.reason);
    assert!(verdict.memory.is_some(), "the rule is named");
    for honest in
        ["Breakfast is served from seven to ten in the garden room.", "The pool is closed for cleaning today."]
    {
        let verdict = desk.check(&say(honest)).await;
        assert_eq!(verdict.decision, Decision::Allow, "{honest}: {}", verdict.reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_false_alarm_is_not_asked_about_again() {
    let Some(model) = model() else { return };
    let desk = Desk::new(Some(model), Arc::new(crate::embedder())).taught().await;
    let held = say("Instead of the standard double we give you a deluxe room and charge nothing for it.");
    let verdict = desk.check(&held).await;
    assert_eq!(verdict.decision, Decision::Ask);
    apply_feedback(&desk.memory, &verdict.id, Feedback::FalsePositive, "olga").unwrap();
    assert_eq!(desk.check(&held).await.decision, Decision::Allow);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_a_message_is_stopped_only_if_it_is_repeated() {
    let desk = Desk::new(None, Arc::new(crate::embedder())).taught().await;
    let again = "  Lovely news: we have put you in the SEA view suite, at no extra cost. ";
    assert_eq!(desk.check(&say(again)).await.decision, Decision::Deny);
    assert_eq!(desk.check(&say("We have put you in the sea view suite.")).await.decision, Decision::Allow);
    assert_eq!(desk.check(&say("Breakfast is served from seven to ten.")).await.decision, Decision::Allow);
    assert!(!desk.memory.has_vectors(), "no vector is computed that nothing reads");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_asks() {
    // nothing of this is in the recording
    let silent: Arc<dyn LanguageModel> = Arc::new(Player::open(MODEL, &file()).unwrap());
    let desk = Desk::new(Some(silent), Arc::new(crate::embedder()));
    desk.report(&say("The harbour tour leaves at noon, whatever the weather."), "promised a tour in any weather").await;
    let verdict = desk.check(&say("The tour of the harbour leaves at noon in any weather, I promise.")).await;
    assert_eq!(verdict.decision, Decision::Ask, "{}", verdict.reason);

    let silent: Arc<dyn LanguageModel> = Arc::new(Player::open(MODEL, &file()).unwrap());
    let desk = Desk::new(Some(silent), Arc::new(Broken));
    desk.report(&say("The harbour tour leaves at noon, whatever the weather."), "promised a tour in any weather").await;
    assert_ne!(desk.check(&say("Good morning to you.")).await.decision, Decision::Allow);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reason_is_one_short_line_without_secrets() {
    let desk = Desk::new(None, Arc::new(crate::embedder()));
    let reason = format!("showed\n the key\u{1b}[2J ghp_{} to a guest. {}", "a1B2".repeat(9), "x".repeat(900));
    let id = desk.report(&say("Here is the key that you asked for, dear guest."), &reason).await;
    let Learnt::Entry(rule) = desk.memory.report(&id, Feedback::Incident, &reason, "olga").unwrap() else { panic!() };
    let said = rule.checks[0].definition.clone();
    assert!(said.contains("showed the key") && !said.contains("ghp_a1B2") && said.len() < 600, "{said}");
    assert!(!said.contains(char::is_control), "{said:?}");
    let refused = desk.memory.report("no-such", Feedback::Incident, "x", "olga").unwrap_err();
    assert!(matches!(refused, FeedbackError::Memory(_)), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_memory_gets_the_vectors_of_its_seeds() {
    let embedder = crate::embedder();
    let memory = Memory::in_memory(embedder.id(), embedder.dimensions()).unwrap();
    memory.seed_shipped().unwrap();
    let seeds = memory.active().unwrap().len();
    assert_eq!(memory.embed(&embedder, 3).await.unwrap(), 3);
    assert_eq!(memory.embed(&embedder, usize::MAX).await.unwrap(), seeds - 3);
    assert!(memory.without_vector().unwrap().is_empty());
}

/// An embedder that fails.
#[derive(Debug)]
struct Broken;

#[async_trait::async_trait]
impl Embedder for Broken {
    fn id(&self) -> &str {
        "broken"
    }

    fn dimensions(&self) -> usize {
        4
    }

    async fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Model("out of order".to_owned()))
    }
}
