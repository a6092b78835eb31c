//! Effects that policies cannot tell apart, so that Cedar answers once for all of them.
//!
//! The most varied fact is the name of the target, but policies only ask whether it is one of a few words or looks like a
//! few patterns. If all policies of a verb use it in this way alone, two effects are alike when all other facts are
//! equal and their names give the same answers. Otherwise only equal effects are alike.

use super::facts::{EffectFacts, Subject};
use crate::effect::UNKNOWN_SPAN;
use cedar_policy::PolicySet;
use serde_json::Value;

/// All that the policies of a verb can see of an effect: equal for effects that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    subject: [u8; 32],
    /// Without name and resolved path, if the names are only tested.
    facts: EffectFacts,
    tests: Vec<bool>,
}

/// How policies use the name of the target.
#[derive(Debug, Default)]
pub(super) enum Names {
    /// Each use is one of these tests.
    Tested(Vec<Test>),
    /// In another way.
    #[default]
    Used,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// It is that text.
    Is(String),
    /// It is the name of the principal.
    IsPrincipal,
    /// It begins with the first part, has the others in that order, and ends with the last part.
    Like(Vec<String>),
}

impl Names {
    /// The uses in a set of policies.
    pub fn of(set: &PolicySet) -> Self {
        let mut tests = Vec::new();
        let all = set.policies().try_fold((), |(), policy| {
            let policy = policy.to_json().ok()?;
            let scope = policy.get("resource")?.get("op")?.as_str()?;
            (matches!(scope, "All" | "is") && is_free_of_resource(policy.get("action")?)).then_some(())?;
            collect(policy.get("conditions")?, &mut tests)
        });
        match all {
            Some(()) if set.templates().next().is_none() => Self::Tested(tests),
            _ => Self::Used,
        }
    }

    /// The shape of an effect. `subject`: digest of the identity.
    pub fn shape(&self, subject: [u8; 32], principal: &Subject, facts: &EffectFacts) -> Shape {
        let mut facts = facts.clone();
        let Self::Tested(tests) = self else { return Shape { subject, facts, tests: Vec::new() } };
        let name = std::mem::take(&mut facts.name);
        facts.resolved = String::new();
        let mut answers: Vec<bool> = tests.iter().map(|test| test.holds(&name, principal)).collect();
        // policies know it as `dynamic`
        answers.push(name.contains(UNKNOWN_SPAN));
        Shape { subject, facts, tests: answers }
    }
}

impl Test {
    fn holds(&self, name: &str, principal: &Subject) -> bool {
        match self {
            Self::Is(text) => name == text,
            Self::IsPrincipal => name == principal.name,
            Self::Like(parts) => is_like(name, parts),
        }
    }
}

/// Whether a name consists of parts with anything between them.
fn is_like(name: &str, parts: &[String]) -> bool {
    let Some((first, others)) = parts.split_first() else { return false };
    let Some((last, middle)) = others.split_last() else { return name == first };
    let Some(mut rest) = name.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last.as_str())
}

/// Adds the tests of an expression; `None` if it uses the resource in another way.
fn collect(expression: &Value, tests: &mut Vec<Test>) -> Option<()> {
    if let Some(test) = test(expression) {
        tests.extend(test.into_iter().filter(|test| !tests.contains(test)).collect::<Vec<_>>());
        return Some(());
    }
    match expression {
        Value::Object(parts) => {
            let attribute = parts.get(".").or_else(|| parts.get("has"));
            if let Some(attribute) = attribute.filter(|attribute| is_resource(attribute.get("left"))) {
                return (attribute.get("attr")? != "name" || parts.contains_key("has")).then_some(());
            }
            // the resource as a whole
            if is_resource(Some(expression)) {
                return None;
            }
            parts.values().try_fold((), |(), part| collect(part, tests))
        }
        Value::Array(parts) => parts.iter().try_fold((), |(), part| collect(part, tests)),
        _ => Some(()),
    }
}

/// The tests of the name that an expression makes, if it makes nothing but those.
fn test(expression: &Value) -> Option<Vec<Test>> {
    let parts = expression.as_object().filter(|parts| parts.len() == 1)?;
    let (operator, sides) = parts.iter().next()?;
    let (left, right) = (sides.get("left"), sides.get("right"));
    match operator.as_str() {
        "==" | "!=" if is_name_of(left, "resource") => Some(vec![literal(right?)?]),
        "==" | "!=" if is_name_of(right, "resource") => Some(vec![literal(left?)?]),
        "contains" if is_name_of(right, "resource") => left?.get("Set")?.as_array()?.iter().map(literal).collect(),
        "like" if is_name_of(left, "resource") => Some(vec![Test::Like(pattern(sides.get("pattern")?)?)]),
        _ => None,
    }
}

fn literal(value: &Value) -> Option<Test> {
    if is_name_of(Some(value), "principal") {
        return Some(Test::IsPrincipal);
    }
    Some(Test::Is(value.get("Value")?.as_str()?.to_owned()))
}

/// The parts of a pattern between its `*`.
fn pattern(elements: &Value) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    for element in elements.as_array()? {
        match element.get("Literal").and_then(Value::as_str) {
            Some(text) => parts.last_mut()?.push_str(text),
            None if element == "Wildcard" => parts.push(String::new()),
            None => return None,
        }
    }
    Some(parts)
}

fn is_resource(value: Option<&Value>) -> bool {
    value.and_then(|value| value.get("Var")).is_some_and(|name| name == "resource")
}

fn is_name_of(value: Option<&Value>, variable: &str) -> bool {
    let access = value.and_then(|value| value.get("."));
    access.is_some_and(|access| {
        access.get("attr").is_some_and(|attribute| attribute == "name")
            && access.get("left").and_then(|left| left.get("Var")).is_some_and(|name| name == variable)
    })
}

fn is_free_of_resource(value: &Value) -> bool {
    !value.to_string().contains("\"resource\"")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::{Names, Test, is_like, pattern};
    use crate::effect::{Kind, Verb};
    use crate::policy::{EffectFacts, Policy, Subject};
    use cedar_policy::{Context, Entities, EntityUid, EvalResult, Expression, PolicySet, Request, eval_expression};
    use proptest::prelude::*;
    use serde_json::json;
    use std::str::FromStr as _;

    fn names(condition: &str) -> Names {
        let text = format!("forbid(principal, action, resource) when {{ {condition} }};");
        Names::of(&PolicySet::from_str(&text).unwrap())
    }

    #[test]
    fn uses_of_the_name_are_tests_or_more() {
        let Names::Tested(tests) = names(
            "resource.class == Class::\"x\" && (resource.name like \"a*b\" || [\"c\", \"d\"].contains(resource.name))
             && resource.name != principal.name && resource has name",
        ) else {
            panic!("not only tests")
        };
        let like = Test::Like(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(tests, [like, Test::Is("c".to_owned()), Test::Is("d".to_owned()), Test::IsPrincipal]);
        for used in [
            "resource.name == context.program",
            "[resource.name].contains(\"a\")",
            "resource == Target::\"a\"",
            "resource in Folder::\"/a\"",
            "principal.groups.contains(resource.name)",
            "{a: resource}.a.name == \"x\"",
            "context.program == resource.name",
        ] {
            assert!(matches!(names(used), Names::Used), "{used}");
        }
        let scoped = PolicySet::from_str("forbid(principal, action, resource == Target::\"a\");").unwrap();
        assert!(matches!(Names::of(&scoped), Names::Used));
    }

    #[test]
    fn the_shipped_policies_only_test_names() {
        let policy = Policy::base().unwrap();
        for verb in Verb::ALL.iter().copied() {
            assert!(matches!(Names::of(&policy.inner.part(verb).unwrap().set), Names::Tested(_)), "{verb}");
        }
    }

    #[test]
    fn alike_effects_get_one_answer() {
        let policy = Policy::base().unwrap();
        let subject = Subject { name: "user".to_owned(), ..Subject::default() };
        let screener = policy.screener(&subject);
        let sources = |found: &[crate::check::Finding]| -> Vec<String> {
            found.iter().map(|one| format!("{} {:?} {}", one.source, one.outcome, one.reason)).collect()
        };
        // the first few are told apart by all facts
        for name in [
            "/home/user/a",
            "/home/user/b",
            "c",
            "d",
            "e",
            "f",
            "g",
            "h",
            "i",
            "j",
            "k",
            "agrail",
            "/x/169.254.169.254/y",
            "a\u{fffc}",
        ] {
            for verb in [Verb::Delete, Verb::Write, Verb::Connect, Verb::Execute] {
                let facts = EffectFacts::new(verb, Kind::Path, name);
                let first = screener.screen(&facts);
                // new policies have no answers yet
                let anew = Policy::base().unwrap().screen(&subject, &facts);
                assert_eq!(sources(&first), sources(&anew));
                assert!(first.iter().all(|one| one.evidence.iter().all(|evidence| evidence.about.contains(name))));
            }
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_in_cedar(name in "[ab*/]{0,8}", text in "[ab*/]{0,6}") {
            let elements: Vec<serde_json::Value> = text
                .chars()
                .map(|c| if c == '*' { json!("Wildcard") } else { json!({"Literal": c.to_string()}) })
                .collect();
            let parts = pattern(&json!(elements)).unwrap();
            let condition = format!("{name:?} like {text:?}");
            let uid = |kind: &str| EntityUid::from_str(&format!("{kind}::\"x\"")).unwrap();
            let request = Request::new(uid("User"), uid("Action"), uid("Target"), Context::empty(), None).unwrap();
            let expression = Expression::from_str(&condition).unwrap();
            let decided = eval_expression(&request, &Entities::empty(), &expression).unwrap();
            prop_assert_eq!(decided == EvalResult::Bool(true), is_like(&name, &parts));
        }
    }
}
