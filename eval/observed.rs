//! The cost of observations: complete checks of a tool call after texts of several sizes.

use crate::perf::{Latency, latency};
use agrail::action::{Action, Context, Identity, Observation};
use agrail::embed::Embedder;
use agrail::{Decision, Guard};
use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

/// A page of an ordinary web shop that contains two imperatives.
const PAGE: &str = "The parcel arrived on time and the box was intact. You can park behind the church until noon. \
    Please let us know if Friday suits you! {\"name\": \"lamp\", \"note\": \"Bring a coat, it gets cold\"}\n\
    | Lisbon | 1998 | 420 | Install the plugin before you build, then restart the service.\n";

/// Complete checks after one text.
#[derive(Debug, Serialize)]
pub struct Observed {
    /// Size of the observation in bytes.
    bytes: usize,
    /// Latency with rules and words alone.
    rules: Latency,
    /// Latency with the embedder, which judges the origin of the action.
    embedding: Latency,
    /// Median cost with rules alone, µs per KiB.
    rules_us_per_kb: f64,
}

/// Measures each size; every check has a different text.
pub async fn measure(embedder: Arc<dyn Embedder>, sizes: &[(usize, usize)]) -> Result<Vec<Observed>> {
    let plain = Guard::builder().build()?;
    let meaning = Guard::builder().embedder(embedder).build()?;
    let mut found = Vec::new();
    for &(bytes, rounds) in sizes {
        eprintln!("{rounds} checks after observations of {bytes} bytes");
        let rules = checks(&plain, bytes, rounds).await?;
        let embedding = checks(&meaning, bytes, rounds).await?;
        let rules_us_per_kb = rules.p50_us() / (bytes as f64 / 1024.0);
        found.push(Observed { bytes, rules, embedding, rules_us_per_kb });
    }
    Ok(found)
}

async fn checks(guard: &Guard, bytes: usize, rounds: usize) -> Result<Latency> {
    let mut times = Vec::with_capacity(rounds);
    for number in 0..rounds + 3 {
        let mut text = PAGE.repeat(bytes / PAGE.len());
        text.push_str(&format!("Order {number} is on its way to Mill Lane {number}. Send the invoice to Ann Lee."));
        let mut context = Context::new(Identity::default(), None).with_request("What do I owe the shop, and when?");
        context.observations.push(Observation { source: "shop".to_owned(), text: text.into() });
        let action = Action::ToolCall {
            server: None,
            tool: "get_balance".to_owned(),
            arguments: json!({"shop": format!("lamp shop {number}")}),
        };
        let started = Instant::now();
        let verdict = guard.check(&action, &context).await;
        if number >= 3 {
            times.push(started.elapsed());
        }
        ensure!(verdict.decision != Decision::Deny, "an honest call was denied: {}", verdict.reason);
    }
    Ok(latency(times))
}
