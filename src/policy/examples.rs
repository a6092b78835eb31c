//! Examples beside a policy file, verified when it is loaded.
//!
//! ```toml
//! [[example]]
//! policy = "rename-onto-existing"        # the policy that decides; optional
//! expect = "deny"                        # allow, ask or deny
//! subject = { name = "alice" }           # fields of the schema's User
//! effect = { verb = "overwrite", kind = "path", name = "/hello", into = true, rename = true }
//!
//! [[example]]
//! policy = "no-deploy-at-night"
//! expect = "ask"
//! event  = { family = "command", facts = ["program shipctl", "first deploy"] }    # instead of an effect
//! ```

use super::event::{self, EventFacts};
use super::facts::{EffectFacts, Subject};
use super::load::PolicyError;
use super::request::{self, Inside};
use super::upgrade::fact;
use super::{Inner, Screener, Source};
use crate::check::{Finding, Outcome, Source as Answered};
use crate::verdict::{Decision, decide};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    example: Vec<Example>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    policy: Option<String>,
    expect: String,
    #[serde(default)]
    subject: Subject,
    effect: Option<EffectFacts>,
    event: Option<EventFacts>,
}

impl Example {
    fn what(&self) -> String {
        match (&self.effect, &self.event) {
            (Some(effect), _) => format!("{} {}", effect.verb, effect.name),
            (None, Some(event)) => event.in_words(),
            (None, None) => "neither an effect nor an event".to_owned(),
        }
    }

    /// The findings about it, or why it fits no schema.
    fn findings(&self, inner: &Inner, file: &str) -> Result<Vec<Finding>, String> {
        let screener = Screener::new(inner, &self.subject);
        let who = request::principal(&inner.words, &self.subject).map_err(|error| error.to_string())?;
        match (&self.effect, &self.event) {
            (Some(effect), None) => {
                request::request(&inner.words, inner.uses, inner.schema.as_ref(), &who, effect, Inside::Surely)
                    .map_err(|error| error.to_string())?;
                Ok(screener.screen(effect))
            }
            (None, Some(event)) => {
                event::event_request(&who, event).map_err(|error| error.to_string())?;
                event.facts.iter().try_for_each(|text| fact(text)).map_err(|error| error.to_string())?;
                // files may be written apart from each other, so only the policies beside the example count
                Ok(screener.screen_events(std::iter::once(event.clone()), Some(file)))
            }
            _ => Err("an example has either an effect or an event".to_owned()),
        }
    }
}

/// Verifies the examples. Returns file, effect and decision of each.
pub(super) fn verify(inner: &Inner, source: &Source) -> Result<Vec<(String, String, String)>, PolicyError> {
    let Some(text) = &source.examples else { return Ok(Vec::new()) };
    let file = std::path::Path::new(&source.file).with_extension("examples.toml").display().to_string();
    let parsed: File =
        toml::from_str(text).map_err(|e| PolicyError::Examples { file: file.clone(), problem: e.to_string() })?;
    let mut verified = Vec::with_capacity(parsed.example.len());
    for (number, example) in parsed.example.into_iter().enumerate() {
        let what = format!("{} ({})", number + 1, example.what());
        let wrong = |expected: String, found: String| PolicyError::Example {
            file: file.clone(),
            example: what.clone(),
            expected,
            found,
        };
        let findings = example
            .findings(inner, &source.file)
            .map_err(|problem| wrong("an effect or event that fits the schema".to_owned(), problem))?;
        // policies about events only forbid
        let passes = findings.is_empty() && example.event.is_some();
        let decision = if passes { Decision::Allow } else { decide(&findings).0 };
        if decision.to_string() != example.expect {
            let by: Vec<String> = findings.iter().map(|f| f.source.to_string()).collect();
            return Err(wrong(example.expect, format!("{decision} ({})", by.join(", "))));
        }
        if let Some(policy) = &example.policy {
            let id = Answered::Policy(policy.clone());
            if !findings.iter().any(|f| f.source == id && f.outcome != Outcome::Unknown) {
                let by: Vec<String> = findings.iter().map(|f| f.source.to_string()).collect();
                return Err(wrong(format!("a finding of policy '{policy}'"), by.join(", ")));
            }
        }
        verified.push((file.clone(), what, example.expect));
    }
    Ok(verified)
}

/// The effects of examples, with whom they are for.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) fn effects(text: &str) -> Vec<(super::Subject, EffectFacts)> {
    let file: File = toml::from_str(text).unwrap();
    file.example.into_iter().filter_map(|example| Some((example.subject, example.effect?))).collect()
}
