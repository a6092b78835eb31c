//! Examples beside a policy file, verified when it is loaded.
//!
//! ```toml
//! [[example]]
//! policy = "rename-onto-existing"        # the policy that decides; optional
//! expect = "deny"                        # allow, ask or deny
//! subject = { name = "alice" }           # fields of the schema's User
//! effect = { verb = "overwrite", kind = "path", name = "/hello", into = true, rename = true }
//! ```

use super::facts::{EffectFacts, Subject};
use super::load::PolicyError;
use super::request;
use super::{Inner, Screener, Source};
use crate::check::{Outcome, Source as Answered};
use crate::verdict::decide;
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
    effect: EffectFacts,
}

/// Verifies the examples. Returns file, effect and decision of each.
pub(super) fn verify(inner: &Inner, source: &Source) -> Result<Vec<(String, String, String)>, PolicyError> {
    let Some(text) = &source.examples else { return Ok(Vec::new()) };
    let file = std::path::Path::new(&source.file).with_extension("examples.toml").display().to_string();
    let parsed: File =
        toml::from_str(text).map_err(|e| PolicyError::Examples { file: file.clone(), problem: e.to_string() })?;
    let mut verified = Vec::with_capacity(parsed.example.len());
    for (number, example) in parsed.example.into_iter().enumerate() {
        let what = format!("{} ({} {})", number + 1, example.effect.verb, example.effect.name);
        let wrong = |expected: String, found: String| PolicyError::Example {
            file: file.clone(),
            example: what.clone(),
            expected,
            found,
        };
        request::principal(&inner.words, &example.subject)
            .and_then(|who| request::request(&inner.words, inner.uses, inner.schema.as_ref(), &who, &example.effect))
            .map_err(|e| wrong("an effect that fits the schema".to_owned(), e.to_string()))?;
        let findings = Screener::new(inner, &example.subject).screen(&example.effect);
        let (decision, ..) = decide(&findings);
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
