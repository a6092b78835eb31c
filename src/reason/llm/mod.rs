//! The reasoner with a model: AGrail's paraphraser, analyzer and executor (arXiv 2502.11448), made safe.
//!
//! 1. `analyze` asks for checks that are missing, wrong or duplicate. Usually there are none, and the reply is a few
//!    tokens.
//! 2. `execute` asks for a verdict on each check. Tools are called with structured arguments. A check without an answer
//!    is unknown. A violation that no policy shares is confirmed by a second question.
//! 3. [`single`](LlmSettings::single) does both in one call (an ablation).
//! 4. `recognize` asks whether the reason of a report is true of the action.
//! 5. `judge` asks one question about the observations; its prompt may be an evolved one (`agrail evolve`).
//!
//! Text that the user did not write is fenced, including recalled checks. Replies have a schema and bounded lengths.

mod analyze;
mod execute;
mod judge;
mod reported;

use super::{Case, Checklist, Item, Reasoner, Recall};
use crate::check::{Authority, Check, CheckKind, Finding, Outcome, Reasoning, Source};
use crate::llm::{LanguageModel, Meter, ModelError, Prompt, Schema, ask, object};
use crate::memory::Key;
use crate::policy::Policy;
use crate::prompts::Prompts;
use crate::shape::Condition;
use crate::tools::Toolbox;
use crate::untrusted::gather;
use crate::verdict::Decision;
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Most effects that a prompt names.
const EFFECTS: usize = 12;
/// Most observations in a prompt (the last ones), and the most characters of each.
const OBSERVATIONS: usize = 3;
const READ: usize = 700;
/// Longest text of one effect, name or reason, in characters.
const LINE: usize = 300;

/// Settings of the reasoner.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LlmSettings {
    /// The safety criteria, one per line: `category: meaning`. Default: the universal ones. An operator may set
    /// others ("guard request").
    pub criteria: String,
    /// The model also writes the paraphrase, if an effect is unknown.
    pub paraphrase: bool,
    /// The executor may call tools.
    pub tools: bool,
    /// One call analyzes and executes.
    pub single: bool,
    /// A violation that the policies do not share is confirmed by a second question.
    pub confirm: bool,
}

impl Default for LlmSettings {
    fn default() -> Self {
        let criteria = crate::prompts::UNIVERSAL.trim().to_owned();
        Self { criteria, paraphrase: true, tools: true, single: false, confirm: true }
    }
}

/// The reasoner with a model.
#[derive(Debug)]
pub struct Llm {
    paraphraser: Arc<dyn LanguageModel>,
    analyzer: Arc<dyn LanguageModel>,
    executor: Arc<dyn LanguageModel>,
    prompts: Prompts,
    settings: LlmSettings,
}

impl Llm {
    /// One model for all three parts.
    #[must_use]
    pub fn new(model: Arc<dyn LanguageModel>, prompts: Prompts, settings: LlmSettings) -> Self {
        Self { paraphraser: Arc::clone(&model), analyzer: Arc::clone(&model), executor: model, prompts, settings }
    }

    /// Another model for the paraphrase.
    #[must_use]
    pub fn paraphraser(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.paraphraser = model;
        self
    }

    /// Another model for the executor.
    #[must_use]
    pub fn executor(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.executor = model;
        self
    }

    /// The prompt with this name, with its slots filled and the pieces fenced. `tools`: those that the model may call.
    fn prompt(
        &self,
        (name, tools): (&str, &[&str]),
        slots: &[(&str, &str)],
        pieces: Vec<(&str, Value)>,
        form: Value,
        reply_tokens: u32,
    ) -> Result<Prompt, ModelError> {
        let fenced = gather(pieces).map_err(|e| ModelError::Budget(format!("randomness: {e}")))?;
        let mut slots = slots.to_vec();
        slots.push(("data", &fenced.text));
        let turns = self.prompts.offering(tools, name, &slots).map_err(|e| ModelError::Malformed(e.to_string()))?;
        let schema = Some(Schema { name: name.to_owned(), schema: form });
        Ok(Prompt { turns, schema, reply_tokens, nonce: fenced.nonce })
    }

    /// The categories that checks may have.
    fn categories(&self) -> Vec<&str> {
        let lines = self.settings.criteria.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(category, _)| category.trim()).filter(|c| !c.is_empty()).collect()
    }
}

#[derive(Deserialize)]
struct Paraphrased {
    natural: String,
    command: String,
}

#[async_trait]
impl Reasoner for Llm {
    fn name(&self) -> &'static str {
        "llm"
    }

    async fn paraphrase(&self, case: &Case, meter: &Meter) -> Result<Key, ModelError> {
        let understood = case.gathered.queries.iter().all(|q| q.verb != crate::effect::Verb::Unknown);
        if !self.settings.paraphrase || (understood && !case.gathered.queries.is_empty()) {
            return Ok(super::rules::paraphrase(&case.gathered.queries));
        }
        let pieces = vec![("action", json!(case.action.text()))];
        let form = object(json!({"natural": {"type": "string"}, "command": {"type": "string"}}));
        let prompt = self.prompt(("paraphrase", &[]), &[], pieces, form, 120)?;
        let said: Paraphrased = ask(&*self.paraphraser, meter, &prompt).await?;
        Ok(Key { natural: line(&said.natural), command: line(&said.command) })
    }

    async fn analyze(
        &self,
        case: &Case,
        recalled: &[Recall],
        known: &[Item],
        meter: &Meter,
    ) -> Result<Checklist, ModelError> {
        if self.settings.single {
            return Ok(Checklist { items: known.to_vec(), ..Checklist::default() });
        }
        analyze::analyze(self, case, recalled, known, meter).await
    }

    async fn execute(
        &self,
        case: &Case,
        checklist: &[Item],
        _policy: &Policy,
        tools: &Toolbox,
        meter: &Meter,
    ) -> Result<Vec<Finding>, ModelError> {
        if self.settings.single {
            return execute::single(self, case, checklist, meter).await;
        }
        execute::execute(self, case, checklist, tools, meter).await
    }

    async fn judge(&self, case: &Case, asked: &[String], meter: &Meter) -> Result<Option<Finding>, ModelError> {
        judge::judge(self, case, asked, meter).await
    }

    async fn recognize(&self, case: &Case, report: &Condition, meter: &Meter) -> Result<Option<String>, ModelError> {
        reported::recognize(self, case, report, meter).await
    }
}

/// The pieces of every prompt: request, action, effects with their facts, the result of the screen, and observations.
fn evidence(case: &Case) -> Vec<(&'static str, Value)> {
    let queries = &case.gathered.queries;
    let mut effects: Vec<String> = (queries.iter().take(EFFECTS))
        .map(|q| {
            line(&format!("{} {}: {}", q.verb, q.name.replace(crate::effect::UNKNOWN_SPAN, "…"), q.facts_in_words()))
        })
        .collect();
    if queries.len() > EFFECTS {
        effects.push(format!("and {} more effects", queries.len() - EFFECTS));
    }
    let open = |f: &&Finding| matches!(f.outcome, Outcome::Violation | Outcome::Unknown);
    let screen = match case.screened.iter().find(open) {
        Some(finding) if finding.check.kind == CheckKind::Project => {
            format!("{}: the policies of the project speak against it", case.screen)
        }
        Some(finding) => format!("{}: {}", case.screen, line(&finding.reason)),
        None => "nothing speaks against it".to_owned(),
    };
    let mut pieces = vec![
        ("request", json!(case.context.request)),
        ("action", json!(case.action.text())),
        ("effects", json!(effects)),
        ("screen", json!(screen)),
    ];
    let read = case.context.observations.iter().rev().take(OBSERVATIONS);
    let read: Vec<Value> =
        read.map(|o| json!({"source": line(&o.source), "text": cut(o.text.expose_untrusted(), READ)})).collect();
    if !read.is_empty() {
        pieces.push(("read", json!(read)));
    }
    pieces
}

/// The checks as numbered lines.
fn numbered(items: &[Item]) -> Vec<String> {
    let one = |(place, item): (usize, &Item)| {
        let Check { category, name, definition, .. } = &item.check;
        line(&format!("{} {category}: {name}: {definition}", place + 1))
    };
    items.iter().enumerate().map(one).collect()
}

/// One bounded line without control characters.
fn line(text: &str) -> String {
    let clean: String = text.chars().take(LINE + 1).map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(clean.trim(), LINE)
}

/// At most `most` characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// A list schema with a maximum length.
fn up_to(most: usize, mut list: Value) -> Value {
    if let Some(list) = list.as_object_mut() {
        list.insert("maxItems".to_owned(), json!(most.max(1)));
    }
    list
}

/// A check that a model wrote.
fn learned(category: &str, name: &str, definition: &str) -> Check {
    Check {
        category: line(category),
        name: line(name),
        definition: line(definition),
        authority: Authority::Learned,
        required: false,
        kind: CheckKind::Action,
    }
}

fn finding(check: &Check, outcome: Outcome, reason: String) -> Finding {
    Finding::new(check.clone(), outcome, Source::Reasoner(Reasoning::Llm), reason)
}

/// Whether the screen alone allows the action.
fn passed(case: &Case) -> bool {
    case.screen == Decision::Allow
}
