//! A custom model behind the guard: any type that answers a prompt. This one only counts its calls, and its reply
//! cannot be read. The decision therefore stays an ask: a model that fails never allows.
//!
//!     cargo run --release --example custom_model

use agrail::llm::{Completion, LanguageModel, ModelError, Prompt};
use agrail::prompts::Prompts;
use agrail::reason::llm::{Llm, LlmSettings};
use agrail::{Action, Context, Guard, Identity};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
struct Counts {
    calls: AtomicUsize,
}

#[async_trait]
impl LanguageModel for Counts {
    fn name(&self) -> &str {
        "counts"
    }

    async fn complete(&self, prompt: &Prompt, _limit: Duration) -> Result<Completion, ModelError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        println!("a prompt of {} parts", prompt.turns.len());
        Ok(Completion { text: "I do not know.".to_owned(), cut: false, tokens_in: 0, tokens_out: 4 })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Arc::new(Counts::default());
    let reasoner = Llm::new(model.clone(), Prompts::load(None)?, LlmSettings::default());
    let guard = Guard::builder().model(Arc::new(reasoner)).build()?;
    let context = Context::new(Identity::default(), None).with_request("convert the report");
    for command in ["ls", "frobnicate report.txt"] {
        let verdict = guard.check(&Action::Shell { command: command.to_owned(), cwd: None }, &context).await;
        println!(
            "{:5} {command}: {} ({} calls so far)",
            verdict.decision,
            verdict.reason,
            model.calls.load(Ordering::Relaxed)
        );
    }
    Ok(())
}
