//! AGrail's published procedure (arXiv 2502.11448), for comparison only.
//!
//! 1. The published order of steps: paraphrase, retrieve the nearest entry, analyze, execute, write the memory, then
//!    run the tools that the executor called, then decide. The published prompts are zero-shot; these are reworded.
//! 2. The published rules: each check embeds the whole memory again. An entry is overwritten if its similarity is above
//!    0.8 or if the analyzer requests it. The memory is written before the tools have answered. An empty list allows,
//!    and an unreadable reply allows.
//! 3. One deviation favours the procedure: agrail's parser reads the replies, including some that break the original
//!    parser. As in the original, the analyzer's document is accepted with any keys and values.
//! 4. One deviation is necessary: the original detector runs Python that a model wrote. Here the same model judges
//!    facts from read-only probes, with one call for each check that the executor hands to the detector.
//!
//! The procedure is not part of the library, so that no guard can be built with its failures.

use crate::profiles;
use agrail::action::{Action, Context};
use agrail::embed::Embedder;
use agrail::facts;
use agrail::llm::{LanguageModel, Limits, Meter, ModelError, Prompt, reply};
use agrail::prompts::Template;
use agrail::verdict::Decision;
use anyhow::Result;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

const NEAR: f32 = 0.8;
/// Maximum tokens of one reply. The published code sets no limit; without one, small models never end.
const REPLY: u32 = 1_200;

/// One entry of the procedure's memory.
#[derive(Debug, Clone)]
struct Entry {
    key: String,
    checks: Vec<(String, String, String)>,
}

/// The procedure with its memory.
#[derive(Debug)]
pub struct Paper {
    model: Arc<dyn LanguageModel>,
    embedder: Arc<dyn Embedder>,
    memory: Mutex<Vec<Entry>>,
    prompts: [Template; 4],
}

/// Result of one check.
#[derive(Debug)]
pub struct Outcome {
    /// Allow or deny.
    pub decision: Decision,
    /// Model usage of the check.
    pub spent: agrail::llm::Spent,
    /// Checks in the memory for this action, after the check.
    pub checklist: Vec<(String, String)>,
    /// Number of entries in the memory.
    pub entries: usize,
}

impl Paper {
    /// The procedure with an empty memory.
    ///
    /// # Errors
    /// If a prompt is broken.
    pub fn new(model: Arc<dyn LanguageModel>, embedder: Arc<dyn Embedder>) -> Result<Self> {
        let prompts = [
            Template::parse("paraphrase.md", include_str!("paraphrase.md"), &["action"])?,
            Template::parse("analyze.md", include_str!("analyze.md"), &["request", "action", "memory"])?,
            Template::parse("execute.md", include_str!("execute.md"), &["checks", "request", "action"])?,
            Template::parse("tool.md", include_str!("tool.md"), &["check", "action", "request", "facts"])?,
        ];
        Ok(Self { model, embedder, memory: Mutex::default(), prompts })
    }

    /// One check. Every failure allows, as published.
    pub async fn check(&self, action: &Action, context: &Context) -> Outcome {
        let limits = Limits { prompt_tokens: u64::MAX, reply_tokens: 100_000, calls: 20, ..Limits::default() };
        let meter = Meter::new(Limits { wall: std::time::Duration::from_secs(600), ..limits });
        let mut checklist = Vec::new();
        let decision = match self.line(action, context, &meter, &mut checklist).await {
            Ok(false) => Decision::Deny,
            // a failure allows, as published
            Ok(true) | Err(_) => Decision::Allow,
        };
        let entries = self.memory.lock().unwrap_or_else(PoisonError::into_inner).len();
        Outcome { decision, spent: meter.spent(), checklist, entries }
    }

    async fn line(
        &self,
        action: &Action,
        context: &Context,
        meter: &Meter,
        checklist: &mut Vec<(String, String)>,
    ) -> Result<bool, ModelError> {
        let [paraphrase, analyze, execute, tool] = &self.prompts;
        let text = action.text().into_owned();
        let request = format!("{} (the user's identity is {})", context.request, context.identity.name);
        let said = self.ask(meter, paraphrase, &[("action", &text)], 160).await?;
        let key: String = said.lines().filter(|l| !l.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
        let nearest = self.nearest(&key).await?;
        let recalled = nearest.as_ref().map_or_else(
            || {
                "{\"Action\": \"select the data\", \"Role-based Checking\": {\"Information Confidentiality\": \"...\"}}"
                    .to_owned()
            },
            |(_, entry)| shown(&entry.key, &entry.checks),
        );
        let analysis =
            self.ask(meter, analyze, &[("request", &request), ("action", &text), ("memory", &recalled)], REPLY).await?;
        let checks = listed(&self.accept(meter, reply::document(&analysis))?);
        let lower = analysis.to_lowercase();
        let in_memory = lower.rsplit_once("in memory").is_some_and(|(_, after)| after.contains("true"));
        let list = shown(&key, &checks);
        let executed =
            self.ask(meter, execute, &[("checks", &list), ("request", &request), ("action", &text)], REPLY).await?;
        let answers = self.accept(meter, reply::answers(&executed))?;
        let kept: Vec<_> = (checks.iter())
            .filter(|(_, name, _)| !answers.iter().any(|a| a.discarded && same(&a.name, name)))
            .cloned()
            .collect();
        let near =
            nearest.as_ref().filter(|(similarity, _)| in_memory || *similarity > NEAR).map(|(_, e)| e.key.clone());
        self.write(near, &key, &kept);
        *checklist = kept.iter().map(|(_, name, definition)| (name.clone(), definition.clone())).collect();
        // as published, the tools run only after the memory was written
        let mut all_safe = true;
        for answer in answers.iter().filter(|a| !a.discarded) {
            let safe = match (&answer.tool, answer.result) {
                (Some(_), _) => {
                    let facts = found(action, context);
                    let slots =
                        [("check", answer.name.as_str()), ("action", &text), ("request", &request), ("facts", &facts)];
                    let judged = self.ask(meter, tool, &slots, 200).await?;
                    !judged.to_lowercase().rsplit_once("result").is_some_and(|(_, after)| after.contains("false"))
                }
                (None, result) => result != Some(false),
            };
            all_safe &= safe;
        }
        Ok(all_safe)
    }

    fn accept<T>(&self, meter: &Meter, read: Result<T, reply::Malformed>) -> Result<T, ModelError> {
        read.map_err(|e| {
            meter.count_malformed();
            ModelError::Malformed(e.why)
        })
    }

    async fn ask(
        &self,
        meter: &Meter,
        template: &Template,
        slots: &[(&str, &str)],
        most: u32,
    ) -> Result<String, ModelError> {
        let turns = template.fill(slots).map_err(|e| ModelError::Malformed(e.to_string()))?;
        let prompt = Prompt::new(turns, most);
        let (limit, _) = meter.admit(&prompt)?;
        let completion = self.model.complete(&prompt, limit).await?;
        meter.count(&completion);
        Ok(completion.text)
    }

    /// Embeds the whole memory again and takes the nearest entry.
    async fn nearest(&self, key: &str) -> Result<Option<(f32, Entry)>, ModelError> {
        let entries = self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let failed = |e: &dyn std::fmt::Display| ModelError::Malformed(format!("embedding: {e}"));
        let mut texts = vec![key];
        texts.extend(entries.iter().map(|e| e.key.as_str()));
        let vectors = self.embedder.embed(&texts).await.map_err(|e| failed(&e))?;
        let Some((query, rest)) = vectors.split_first() else { return Ok(None) };
        let scored = entries
            .into_iter()
            .zip(rest)
            .map(|(entry, vector)| (query.iter().zip(vector).map(|(a, b)| a * b).sum::<f32>(), entry));
        Ok(scored.max_by(|a, b| a.0.total_cmp(&b.0)))
    }

    fn write(&self, near: Option<String>, key: &str, checks: &[(String, String, String)]) {
        if checks.is_empty() {
            return;
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        match near.and_then(|near| memory.iter_mut().find(|e| e.key == near)) {
            Some(entry) => entry.checks = checks.to_vec(),
            None => memory.push(Entry { key: key.to_owned(), checks: checks.to_vec() }),
        }
    }
}

/// The checks of the analyzer's document. The published code accepts any keys and values.
fn listed(document: &Value) -> Vec<(String, String, String)> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut checks = Vec::new();
    for (category, value) in document.as_object().into_iter().flatten().filter(|(key, _)| *key != "Action") {
        match value {
            Value::Object(items) => {
                checks.extend(items.iter().map(|(name, is)| (category.clone(), name.clone(), plain(is))));
            }
            other => checks.push((category.clone(), category.clone(), plain(other))),
        }
    }
    checks
}

fn same(a: &str, b: &str) -> bool {
    let plain = |t: &str| t.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let (a, b) = (plain(a), plain(b));
    !a.is_empty() && (a.contains(&b) || b.contains(&a))
}

fn shown(key: &str, checks: &[(String, String, String)]) -> String {
    let mut object = serde_json::Map::new();
    object.insert("Action".to_owned(), json!(key));
    for (category, name, definition) in checks {
        let group = object.entry(category.clone()).or_insert_with(|| json!({}));
        if let Some(group) = group.as_object_mut() {
            group.insert(name.clone(), json!(definition));
        }
    }
    Value::Object(object).to_string()
}

/// The facts about the action's targets in the environment.
fn found(action: &Action, context: &Context) -> String {
    let account = facts::account(context);
    let who = agrail::effect::Who { name: &account.name, home: &account.home };
    let around: &dyn agrail::effect::shell::FileSource = match &context.environment {
        Some(environment) => environment,
        None => &agrail::effect::shell::NoFiles,
    };
    // the rows are constant; a test verifies that they parse
    let library = profiles::library().unwrap_or_default();
    let reading = agrail::effect::extract_effects(action, who, &agrail::effect::shell::Providing(around, &library));
    let gathered = facts::gather(
        &reading.effects,
        context,
        &account,
        &agrail::net::UrlPolicy::default(),
        facts::Surroundings::default(),
    );
    let mut text = String::new();
    for query in gathered.queries.iter().take(12) {
        let _ = writeln!(text, "{}: {}", query.name, query.facts_in_words());
    }
    text
}
