//! Upgrades policies that compare enumerated facts with texts.
//!
//! 1. Policies of the first release compare these facts with texts (`resource.class == "credential"`). Each such text
//!    becomes a word of the enumerated type (`Class::"credential"`), so that the policies still validate and decide the
//!    same.
//! 2. A word that the type does not have is an error that names the nearest one, in both notations.

use super::facts::{CONTEXT, TARGET};
use super::schema::enumerations;
use cedar_policy::Policy;
use serde_json::{Value, json};

/// A word that an enumerated type does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnknownWord {
    /// Name of the enumerated type.
    pub kind: &'static str,
    /// The word.
    pub word: String,
    /// The most similar word of the type.
    pub nearest: &'static str,
}

/// Why a policy cannot be upgraded.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpgradeError {
    #[error("{0:?}")]
    Word(UnknownWord),
    #[error(transparent)]
    ToJson(Box<cedar_policy::PolicyToJsonError>),
    #[error(transparent)]
    FromJson(Box<cedar_policy::PolicyFromJsonError>),
}

/// The same policy with words instead of texts; `None` if it contains no such text.
pub(super) fn upgrade(policy: &Policy) -> Result<Option<Policy>, UpgradeError> {
    let mut json = policy.to_json().map_err(|error| UpgradeError::ToJson(Box::new(error)))?;
    let mut changed = false;
    let types = enumerations();
    Walk { types: &types, changed: &mut changed }.node(&mut json).map_err(UpgradeError::Word)?;
    if !changed {
        return Ok(None);
    }
    let upgraded = Policy::from_json(Some(policy.id().clone()), json);
    upgraded.map(Some).map_err(|error| UpgradeError::FromJson(Box::new(error)))
}

type Types = [(&'static str, Vec<&'static str>)];

struct Walk<'a> {
    types: &'a Types,
    changed: &'a mut bool,
}

impl Walk<'_> {
    fn node(&mut self, node: &mut Value) -> Result<(), UnknownWord> {
        if let Value::Array(items) = node {
            return items.iter_mut().try_for_each(|item| self.node(item));
        }
        let Value::Object(fields) = node else { return Ok(()) };
        for (operator, operands) in fields.iter_mut() {
            match operator.as_str() {
                "==" | "!=" | "contains" => self.comparison(operands)?,
                "like" => {
                    if let Some(members) = self.pattern(operands) {
                        *self.changed = true;
                        *node = members;
                        return Ok(());
                    }
                }
                "Value" => {
                    self.entity(operands)?;
                    continue;
                }
                _ => {}
            }
            self.node(operands)?;
        }
        Ok(())
    }

    /// If one side is an enumerated fact, texts on the other side become words.
    fn comparison(&mut self, operands: &mut Value) -> Result<(), UnknownWord> {
        for (fact, other) in [("left", "right"), ("right", "left")] {
            if let Some(kind) = operands.get(fact).and_then(|node| self.type_of(node))
                && let Some(node) = operands.get_mut(other)
            {
                self.texts(node, kind)?;
            }
        }
        Ok(())
    }

    fn texts(&mut self, node: &mut Value, kind: &'static str) -> Result<(), UnknownWord> {
        if let Some(Value::Array(items)) = node.get_mut("Set") {
            return items.iter_mut().try_for_each(|item| self.texts(item, kind));
        }
        if let Some(text) = node.get("Value").and_then(Value::as_str).map(str::to_owned) {
            self.known(kind, &text)?;
            *self.changed = true;
            *node = word(kind, &text);
        }
        Ok(())
    }

    /// `resource.class like "url-*"` becomes a set of the words that match.
    fn pattern(&self, operands: &Value) -> Option<Value> {
        let kind = self.type_of(operands.get("left")?)?;
        let pieces = operands.get("pattern")?.as_array()?;
        let mut pattern = String::new();
        for piece in pieces {
            match piece.get("Literal").and_then(Value::as_str) {
                Some(text) => pattern.push_str(&glob::Pattern::escape(text)),
                None => pattern.push('*'),
            }
        }
        let pattern = glob::Pattern::new(&pattern).ok()?;
        let words = self.words(kind).iter().filter(|text| pattern.matches(text)).map(|text| word(kind, text));
        // an empty set has no type
        let words: Vec<Value> = words.collect();
        if words.is_empty() {
            return Some(json!({"Value": false}));
        }
        Some(json!({"contains": {"left": {"Set": words}, "right": operands.get("left")?}}))
    }

    /// Verifies a word that is written as an entity.
    fn entity(&self, value: &Value) -> Result<(), UnknownWord> {
        let part = |key: &str| value.get("__entity").and_then(|entity| entity.get(key)).and_then(Value::as_str);
        let Some((kind, id)) = part("type").zip(part("id")) else { return Ok(()) };
        match self.types.iter().find(|(name, _)| *name == kind) {
            Some((kind, _)) => self.known(kind, id),
            None => Ok(()),
        }
    }

    fn known(&self, kind: &'static str, text: &str) -> Result<(), UnknownWord> {
        let words = self.words(kind);
        if words.contains(&text) {
            return Ok(());
        }
        let distance = |word: &&&str| strsim::damerau_levenshtein(word, text);
        let nearest = words.iter().filter(|word| !word.is_empty()).min_by_key(distance).copied().unwrap_or_default();
        Err(UnknownWord { kind, word: text.to_owned(), nearest })
    }

    fn words(&self, kind: &str) -> &[&'static str] {
        self.types.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, words)| words)
    }

    /// The enumerated type of `resource.FACT` or `context.FACT`.
    fn type_of(&self, node: &Value) -> Option<&'static str> {
        let access = node.get(".")?;
        let attributes = match access.get("left")?.get("Var")?.as_str()? {
            "resource" => TARGET,
            "context" => CONTEXT,
            _ => return None,
        };
        let name = access.get("attr")?.as_str()?;
        let attribute = attributes.iter().find(|attribute| attribute.name == name)?;
        self.types.iter().find(|(kind, _)| *kind == attribute.cedar).map(|(kind, _)| *kind)
    }
}

fn word(kind: &str, text: &str) -> Value {
    json!({"Value": {"__entity": {"type": kind, "id": text}}})
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn upgraded(condition: &str) -> Result<Option<String>, UnknownWord> {
        let policy = format!("forbid(principal, action, resource) when {{ {condition} }};");
        match upgrade(&policy.parse().unwrap()) {
            Ok(found) => Ok(found.map(|policy| policy.to_string())),
            Err(UpgradeError::Word(word)) => Err(word),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn texts_become_words() {
        for (condition, expected) in [
            (r#"resource.class == "credential""#, r#"resource["class"] == Class::"credential""#),
            (r#""yes" != context.clash"#, r#"Known::"yes" != context["clash"]"#),
            (r#"["boot", "kernel"].contains(resource.class)"#, r#"[Class::"boot", Class::"kernel"].contains"#),
            (r#"resource.class like "system-b*""#, r#"[Class::"system-binary"].contains(resource["class"])"#),
            (r#"!(resource.type == "")"#, r#"resource["type"] == Type::"""#),
        ] {
            let found = upgraded(condition).unwrap().unwrap();
            let plain = |text: &str| text.replace("[\"", ".").replace("\"]", "");
            assert!(found.contains(expected) || plain(&found).contains(&plain(expected)), "{condition}: {found}");
        }
        for condition in [r#"resource.name == "credential""#, r#"resource.class == Class::"credential""#] {
            assert_eq!(upgraded(condition), Ok(None), "{condition}");
        }
    }

    #[test]
    fn misspelt_words_name_the_nearest() {
        for condition in [
            r#"resource.class == "credentail""#,
            r#"resource.class == Class::"credentail""#,
            r#"["boot", "credentail"].contains(resource.class)"#,
        ] {
            let error = upgraded(condition).unwrap_err();
            assert_eq!((error.kind, error.nearest), ("Class", "credential"), "{condition}");
        }
    }
}
