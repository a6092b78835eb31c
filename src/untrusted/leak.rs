//! A secret that was written although it should not have been, in every form in which it may stand in a file.

/// What stands in the place of a leaked secret afterwards.
pub const REMOVED: &str = "[removed]";
/// Shortest secret, in characters: a shorter text stands in many places by chance.
const SHORTEST: usize = 6;

/// A leaked secret. It is never shown.
#[derive(Clone)]
pub struct Leak {
    /// Its forms, the longest first: as it is, and in JSON, once and twice.
    forms: Vec<String>,
}

impl std::fmt::Debug for Leak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leak")
    }
}

impl Leak {
    /// A leaked secret; white space around it is not part of it. `None` if it has fewer than 6 characters: such a text may
    /// stand anywhere by chance.
    #[must_use]
    pub fn new(secret: &str) -> Option<Self> {
        let secret = secret.trim();
        if secret.chars().count() < SHORTEST {
            return None;
        }
        let json = |text: &str| {
            let quoted = serde_json::Value::from(text).to_string();
            quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
        };
        let once = json(secret);
        let mut forms = vec![json(&once), once, secret.to_owned()];
        forms.dedup();
        Some(Self { forms })
    }

    /// The forms in which it may stand in a file, the longest first.
    pub(crate) fn forms(&self) -> &[String] {
        &self.forms
    }

    /// Whether it stands in some bytes.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.forms.iter().any(|form| memchr::memmem::find(bytes, form.as_bytes()).is_some())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_form() {
        let leak = Leak::new(" a\"b\\cdefg\n").unwrap();
        let plain = serde_json::json!({"text": "x a\"b\\cdefg y"}).to_string();
        let nested = serde_json::json!({"text": plain}).to_string();
        for text in ["a\"b\\cdefg", plain.as_str(), nested.as_str()] {
            assert!(leak.is_in(text.as_bytes()), "{text}");
        }
        assert!(!leak.is_in(b"a b cdefg"));
        assert!(Leak::new("abc12").is_none());
        assert_eq!(format!("{leak:?}"), "Leak");
    }
}
