//! A model with damaged replies; every run damages the same ones.

use agrail::llm::{Completion, LanguageModel, ModelError, Prompt, recording_key};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// Damages the share `rate` of a model's replies: truncates one third of them and inverts two thirds.
#[derive(Debug)]
pub struct Corrupt {
    /// The model.
    pub inner: Arc<dyn LanguageModel>,
    /// Share of the replies, 0..=1.
    pub rate: f64,
    /// Selects the damaged replies.
    pub seed: u64,
}

#[async_trait]
impl LanguageModel for Corrupt {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt, limit: Duration) -> Result<Completion, ModelError> {
        let mut reply = self.inner.complete(prompt, limit).await?;
        let draw = u64::from_str_radix(recording_key(self.name(), prompt).get(..12).unwrap_or("0"), 16).unwrap_or(0);
        let draw = mix(draw ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let share = (draw >> 11) as f64 / (1_u64 << 53) as f64;
        if share < self.rate / 3.0 {
            let mut end = reply.text.len() / 2;
            while !reply.text.is_char_boundary(end) {
                end -= 1;
            }
            reply.text.truncate(end);
        } else if share < self.rate {
            reply.text = inverted(&reply.text);
        }
        Ok(reply)
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The reply with every verdict inverted.
fn inverted(text: &str) -> String {
    const PAIRS: &[(&str, &str)] = &[
        ("\"pass\"", "\"violation\""),
        ("\"harm\":\"none\"", "\"harm\":\"lost\""),
        ("\"same\":true", "\"same\":false"),
        ("\"True\"", "\"False\""),
        ("Result: True", "Result: False"),
    ];
    let mut text = text.to_owned();
    for (a, b) in PAIRS {
        text = text.replace(a, "\u{1}").replace(b, a).replace('\u{1}', b);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_swapped() {
        let text =
            r#"{"answers":[{"check":1,"why":"x","verdict":"pass"},{"check":2,"why":"y","verdict":"violation"}]}"#;
        let other = inverted(text);
        assert!(
            other.contains(r#""check":1,"why":"x","verdict":"violation""#)
                && other.contains(r#""check":2,"why":"y","verdict":"pass""#)
        );
        assert_eq!(inverted(&other), text);
    }
}
