//! The analyzer: finds checks that are missing, wrong or duplicate.

use super::{Llm, evidence, learned, list, numbered, object, up_to};
use crate::llm::{Meter, ModelError, ask};
use crate::reason::{Case, Checklist, Item, Recall};
use serde::Deserialize;
use serde_json::json;

/// Most tokens of its reply.
const REPLY: u32 = 300;
/// Most checks that one reply may add.
const ADDED: usize = 4;

#[derive(Deserialize)]
struct Reply {
    same: bool,
    add: Vec<Added>,
    revise: Vec<Revised>,
    merge: Vec<Vec<usize>>,
}

#[derive(Deserialize)]
struct Added {
    category: String,
    name: String,
    definition: String,
}

#[derive(Deserialize)]
struct Revised {
    check: usize,
    definition: String,
}

pub(super) async fn analyze(
    llm: &Llm,
    case: &Case,
    recalled: &[Recall],
    known: &[Item],
    meter: &Meter,
) -> Result<Checklist, ModelError> {
    let mut pieces = evidence(case);
    // the checks must not depend on the result of the screen
    pieces.retain(|(name, _)| *name != "screen");
    pieces.push(("known", json!(numbered(known))));
    pieces.push(("recalled", json!(recalled.first().map(|r| &r.entry.key.natural))));
    let text = json!({"type": "string"});
    let category = json!({"type": "string", "enum": llm.categories()});
    let form = object(json!({
        "same": {"type": "boolean"},
        "add": up_to(ADDED, list(object(json!({"category": category, "name": text, "definition": text})))),
        "revise": up_to(known.len(), list(object(json!({"check": {"type": "integer"}, "definition": text})))),
        "merge": up_to(known.len(), list(list(json!({"type": "integer"})))),
    }));
    let slots = [("criteria", llm.settings.criteria.as_str())];
    let prompt = llm.prompt(("analyze", &[]), &slots, pieces, form, REPLY)?;
    let reply: Reply = ask(&*llm.analyzer, meter, &prompt).await?;
    Ok(checklist(known, reply, meter.limits().checks))
}

/// Applies a reply. Changes to a check that does not exist, or that must stay, are ignored.
fn checklist(known: &[Item], reply: Reply, most: usize) -> Checklist {
    let at = |number: usize| number.checked_sub(1).and_then(|place| known.get(place));
    let mut items = known.to_vec();
    let mut done = Checklist { same_kind: reply.same, ..Checklist::default() };
    for group in reply.merge {
        let mut members = group.iter().filter_map(|number| at(*number));
        let Some(stays) = members.next() else { continue };
        for goes in members.filter(|m| m.check != stays.check && !m.check.required && !m.fixed) {
            items.retain(|i| i.check != goes.check);
            done.merged.push((goes.check.clone(), stays.check.clone()));
        }
    }
    for change in reply.revise {
        if let Some(item) =
            at(change.check).filter(|i| !i.check.required && !i.fixed && !change.definition.trim().is_empty())
        {
            done.revised.push((item.check.clone(), super::line(&change.definition)));
        }
    }
    for new in reply.add.into_iter().take(ADDED) {
        let check = learned(&new.category, &new.name, &new.definition);
        let named = |i: &Item| i.check.category == check.category && i.check.name.eq_ignore_ascii_case(&check.name);
        let empty = check.name.is_empty() || check.definition.is_empty();
        if !empty && !items.iter().any(named) {
            items.push(Item { check, entry: None, fixed: false, firm: true });
        }
    }
    // checks that must stay come first, so that none of them is truncated
    items.sort_by_key(|i| !(i.fixed || i.check.required));
    items.truncate(most);
    done.items = items;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Item> {
        let mut required = learned("integrity", "must stay", "x");
        required.required = true;
        [learned("integrity", "a", "one"), learned("integrity", "b", "one again"), required]
            .into_iter()
            .map(|check| Item { check, entry: None, fixed: false, firm: true })
            .collect()
    }

    fn add(name: &str) -> Added {
        Added { category: "integrity".to_owned(), name: name.to_owned(), definition: "d".to_owned() }
    }

    #[test]
    fn replies_neither_remove_required_nor_flood() {
        let reply = Reply {
            same: true,
            add: (0..10_000).map(|n| add(&format!("new {n}"))).chain([add("A"), add("")]).collect(),
            revise: vec![
                Revised { check: 3, definition: "nothing".to_owned() },
                Revised { check: 99, definition: "nothing".to_owned() },
            ],
            merge: vec![vec![1, 2, 3], vec![0, 77], vec![]],
        };
        let done = checklist(&known(), reply, 12);
        let names: Vec<&str> = done.items.iter().map(|i| i.check.name.as_str()).collect();
        assert_eq!(names, ["must stay", "a", "new 0", "new 1", "new 2", "new 3"]);
        assert_eq!(done.merged.len(), 1);
        assert!(done.revised.is_empty(), "a required check is unchanged");
    }

    #[test]
    fn known_checks_are_not_added_again() {
        let reply = Reply { same: false, add: vec![add("B")], revise: Vec::new(), merge: Vec::new() };
        assert_eq!(checklist(&known(), reply, 12).items.len(), 3);
    }
}
