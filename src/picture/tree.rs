//! What a verdict rests on, as a tree: the action, its effects, and what was found about each.

use crate::untrusted::visible;
use serde_json::Value;

/// Most branches; the gravest are kept.
const BRANCHES: usize = 40;
/// Most findings about one effect.
const LEAVES: usize = 8;

/// The weight of what was found, lightest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It is fine, or does not matter.
    Pass,
    /// It is unknown.
    Unknown,
    /// It asks a person.
    Asks,
    /// It denies.
    Denies,
}

impl Mark {
    /// `pass`, `unknown`, `asks` or `denies`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unknown => "unknown",
            Self::Asks => "asks",
            Self::Denies => "denies",
        }
    }
}

/// One finding about an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Its weight.
    pub mark: Mark,
    /// Who found it: `policy:ID`, `memory:ID` ...
    pub by: String,
    /// The finding in one sentence.
    pub reason: String,
}

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Verb and target; or what a finding is about that concerns no single effect.
    pub effect: String,
    /// What is known about the target.
    pub facts: Vec<String>,
    /// What was found, gravest first.
    pub leaves: Vec<Leaf>,
}

impl Branch {
    /// The gravest of its findings.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.leaves.iter().map(|leaf| leaf.mark).max().unwrap_or(Mark::Pass)
    }
}

/// A verdict as a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// The reason of the verdict.
    pub reason: String,
    /// A safe alternative.
    pub advice: Option<String>,
    /// The effects, those with the gravest findings first.
    pub branches: Vec<Branch>,
    /// The number of effects that were left out.
    pub left_out: usize,
}

impl Tree {
    /// Reads the JSON of a verdict. What is missing in it is left out. `asks`: whether who found a violation (`policy:ID` ...)
    /// asks a person because of it instead of denying, which the JSON does not say.
    #[must_use]
    pub fn of(verdict: &Value, asks: impl Fn(&str) -> bool) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(|text| visible(text).into_owned());
        let decision = text(verdict.get("decision")).unwrap_or_default();
        let mut branches: Vec<Branch> = list(verdict, "effects")
            .map(|effect| {
                let part = |key| text(effect.get(key)).unwrap_or_default();
                branch(format!("{} {}", part("verb"), part("target")))
            })
            .collect();
        for finding in list(verdict, "findings") {
            let leaf = Leaf {
                mark: mark(finding, &decision, &asks),
                by: text(finding.get("by")).unwrap_or_default(),
                reason: text(finding.get("reason")).unwrap_or_default(),
            };
            let mut evidence = list(finding, "evidence").peekable();
            if evidence.peek().is_none() {
                grow(&mut branches, "the action as a whole", None, &leaf);
            }
            for piece in evidence {
                let about = text(piece.get("about")).unwrap_or_default();
                grow(&mut branches, &about, text(piece.get("says")), &leaf);
            }
        }
        for branch in &mut branches {
            branch.leaves.sort_by(|a, b| (b.mark, &a.by).cmp(&(a.mark, &b.by)));
            branch.leaves.truncate(LEAVES);
        }
        branches.sort_by_key(|branch| std::cmp::Reverse(branch.mark()));
        let hidden = verdict.get("effects_left_out").and_then(Value::as_u64).unwrap_or_default();
        let left_out = branches.len().saturating_sub(BRANCHES) + usize::try_from(hidden).unwrap_or(usize::MAX);
        branches.truncate(BRANCHES);
        let reason = text(verdict.get("reason")).unwrap_or_default();
        Self { decision, reason, advice: text(verdict.get("advice")), branches, left_out }
    }

    /// The tree as lines of text, each with its weight; the root is left out.
    #[must_use]
    pub fn lines(&self) -> Vec<(Mark, String)> {
        let mut lines = Vec::new();
        let last = self.branches.len().saturating_sub(1);
        for (place, branch) in self.branches.iter().enumerate() {
            let ends = place == last && self.left_out == 0;
            let (fork, bar) = if ends { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            lines.push((branch.mark(), format!("{fork}{}", branch.effect)));
            let facts = branch.facts.iter().map(|fact| (Mark::Pass, format!("{bar}   {fact}")));
            lines.extend(facts);
            let end = branch.leaves.len().saturating_sub(1);
            for (number, leaf) in branch.leaves.iter().enumerate() {
                let fork = if number == end { "└─ " } else { "├─ " };
                lines.push((leaf.mark, format!("{bar}{fork}{}  {}: {}", leaf.mark.as_str(), leaf.by, leaf.reason)));
            }
        }
        if self.left_out > 0 {
            lines.push((Mark::Pass, format!("└─ and {} more effects", self.left_out)));
        }
        lines
    }
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn branch(effect: String) -> Branch {
    Branch { effect, facts: Vec::new(), leaves: Vec::new() }
}

fn mark(finding: &Value, decision: &str, asks: impl Fn(&str) -> bool) -> Mark {
    let by = finding.get("by").and_then(Value::as_str).unwrap_or_default();
    match finding.get("outcome").and_then(Value::as_str) {
        // none denies in a verdict that asks
        Some("violation") if decision == "deny" && !asks(by) => Mark::Denies,
        Some("violation") => Mark::Asks,
        Some("pass" | "discarded") => Mark::Pass,
        _ => Mark::Unknown,
    }
}

/// Adds a finding to what it is about.
fn grow(branches: &mut Vec<Branch>, about: &str, says: Option<String>, leaf: &Leaf) {
    let place = branches.iter().position(|branch| is_about(&branch.effect, about)).unwrap_or_else(|| {
        branches.push(branch(about.to_owned()));
        branches.len() - 1
    });
    let Some(branch) = branches.get_mut(place) else { return };
    branch.facts.extend(says.filter(|says| !says.is_empty() && !branch.facts.contains(says)));
    if !branch.leaves.contains(leaf) {
        branch.leaves.push(leaf.clone());
    }
}

/// Evidence names a target without its kind: `unknown frobnicate` is about `unknown program frobnicate`.
fn is_about(effect: &str, about: &str) -> bool {
    let parts = (effect.split_once(' '), about.split_once(' '));
    let (Some((verb, target)), Some((same, name))) = parts else { return effect == about };
    verb == same && (target == name || target.split_once(' ').is_some_and(|(_, bare)| bare == name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verdict() -> Value {
        let finding = |outcome: &str, by: &str, about: &str, says: &str| json!({"outcome": outcome, "by": by, "reason": format!("about {about}"), "evidence": [{"about": about, "says": says}]});
        json!({
            "decision": "deny", "reason": "rm would delete /etc", "advice": null,
            "effects": [
                {"verb": "read", "target": "/srv/a"}, {"verb": "unknown", "target": "program frob"},
                {"verb": "delete", "target": "/etc\u{202e}"},
            ],
            "effects_left_out": 3,
            "findings": [
                finding("pass", "policy:understood", "read /srv/a", "class shared"),
                finding("unknown", "policy:understood", "unknown frob", "class program"),
                finding("violation", "policy:remove", "delete /etc\u{202e}", "class system-config"),
                json!({"outcome": "violation", "by": "memory:01", "reason": "reported", "evidence": []}),
            ],
        })
    }

    #[test]
    fn each_finding_stands_at_its_effect_gravest_first() {
        let tree = Tree::of(&verdict(), |by| by == "memory:01");
        let found: Vec<(&str, Mark, usize)> =
            tree.branches.iter().map(|branch| (branch.effect.as_str(), branch.mark(), branch.leaves.len())).collect();
        let wanted = [
            ("delete /etc\\u{202e}", Mark::Denies, 1),
            ("the action as a whole", Mark::Asks, 1),
            ("unknown program frob", Mark::Unknown, 1),
            ("read /srv/a", Mark::Pass, 1),
        ];
        assert_eq!(found, wanted);
        assert_eq!(tree.branches[0].facts, ["class system-config"]);
        assert_eq!(tree.left_out, 3);
        let asks = Tree::of(&json!({"decision": "ask", "findings": verdict()["findings"]}), |_| false);
        assert_eq!(asks.branches[0].mark(), Mark::Asks, "nothing denies in a verdict that asks");
    }

    #[test]
    fn the_text_has_a_line_for_each_finding() {
        let lines: Vec<String> =
            Tree::of(&verdict(), |by| by == "memory:01").lines().into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines[0], "├─ delete /etc\\u{202e}");
        assert_eq!(lines[1], "│     class system-config");
        assert_eq!(lines[2], "│  └─ denies  policy:remove: about delete /etc\\u{202e}");
        assert_eq!(lines.last().unwrap(), "└─ and 3 more effects");
        assert!(Tree::of(&Value::Null, |_| false).lines().is_empty());
    }

    #[test]
    fn a_verdict_with_many_effects_is_cut_to_the_gravest() {
        let effects: Vec<Value> = (0..500).map(|n| json!({"verb": "read", "target": format!("/srv/{n}")})).collect();
        let findings = json!([{"outcome": "violation", "by": "policy:x", "reason": "r", "evidence": [{"about": "read /srv/499", "says": ""}]}]);
        let tree = Tree::of(&json!({"decision": "deny", "effects": effects, "findings": findings}), |_| false);
        assert_eq!((tree.branches.len(), tree.left_out), (BRANCHES, 500 - BRANCHES));
        assert_eq!(tree.branches[0].effect, "read /srv/499");
    }
}
