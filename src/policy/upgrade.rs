//! Upgrades policies that compare enumerated facts with texts.
//!
//! 1. Policies of the first release compare these facts with texts (`resource.class == "credential"`). Each such text
//!    becomes a word of the enumerated type (`Class::"credential"`), so that the policies still validate and decide the
//!    same.
//! 2. A word that the type does not have is an error that names the nearest one, in both notations. So is a fact of an
//!    event whose slot does not exist: it would never be true.

use super::event::SLOTS;
use super::facts::{CONTEXT, TARGET};
use super::schema::enumerations;
use cedar_policy::Policy;
use serde_json::{Value, json};

/// A word that an enumerated type does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} has no \"{word}\"; did you mean \"{nearest}\"?")]
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
    #[error(transparent)]
    Word(#[from] UnknownWord),
    #[error("\"{0}\" is not a fact of an event; a fact is a slot and a value, such as \"program git\"")]
    Fact(String),
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
    Walk { types: &types, changed: &mut changed }.node(&mut json)?;
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
    fn node(&mut self, node: &mut Value) -> Result<(), UpgradeError> {
        if let Value::Array(items) = node {
            return items.iter_mut().try_for_each(|item| self.node(item));
        }
        let Value::Object(fields) = node else { return Ok(()) };
        for (operator, operands) in fields.iter_mut() {
            match operator.as_str() {
                "contains" | "containsAll" | "containsAny" if is_facts(operands) => facts(operands)?,
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
        known(kind, self.words(kind), text)
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

fn known(kind: &'static str, words: &[&'static str], text: &str) -> Result<(), UnknownWord> {
    if words.contains(&text) {
        return Ok(());
    }
    let distance = |word: &&&str| strsim::damerau_levenshtein(word, text);
    let nearest = words.iter().filter(|word| !word.is_empty()).min_by_key(distance).copied().unwrap_or_default();
    Err(UnknownWord { kind, word: text.to_owned(), nearest })
}

/// Whether the left side is `context.facts`, the facts of an event.
fn is_facts(operands: &Value) -> bool {
    let access = operands.get("left").and_then(|node| node.get("."));
    let part = |key: &str| access.and_then(|access| access.get(key));
    let context = part("left").and_then(|left| left.get("Var")).and_then(Value::as_str);
    context == Some("context") && part("attr").and_then(Value::as_str) == Some("facts")
}

/// Verifies a fact of an event: a slot, a space, a value. The value may be empty, because `/` has no name.
pub(super) fn fact(text: &str) -> Result<(), UpgradeError> {
    let (slot, _) = text.split_once(' ').ok_or_else(|| UpgradeError::Fact(text.to_owned()))?;
    Ok(known("an event", &SLOTS, slot)?)
}

/// Verifies the facts on the right side.
fn facts(operands: &Value) -> Result<(), UpgradeError> {
    let Some(right) = operands.get("right") else { return Ok(()) };
    let listed = right.get("Set").and_then(Value::as_array).into_iter().flatten();
    let mut texts = listed.chain(std::iter::once(right)).filter_map(|node| node.get("Value").and_then(Value::as_str));
    texts.try_for_each(fact)
}

fn word(kind: &str, text: &str) -> Value {
    json!({"Value": {"__entity": {"type": kind, "id": text}}})
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_events_have_a_slot_and_a_value() {
        let load = |condition: &str| {
            let policy = format!("forbid(principal, action == Action::\"event\", resource) when {{ {condition} }};");
            upgrade(&policy.parse().unwrap()).map(|_| ()).map_err(|error| error.to_string())
        };
        for condition in [
            r#"context.facts.containsAll(["program git", "first push"])"#,
            r#"context.facts.contains("value two words") && context.more"#,
        ] {
            assert_eq!(load(condition), Ok(()), "{condition}");
        }
        for (condition, expected) in [
            (r#"context.facts.contains("programm git")"#, r#"an event has no "programm"; did you mean "program"?"#),
            (r#"context.facts.containsAny(["first push", "worth main"])"#, r#"did you mean "word"?"#),
            (r#"context.spreads && !(context.facts.containsAll(["git"]))"#, r#""git" is not a fact of an event"#),
            (r#"context.facts.contains("")"#, "such as \"program git\""),
        ] {
            let error = load(condition).unwrap_err();
            assert!(error.contains(expected), "{condition}: {error}");
        }
    }

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
