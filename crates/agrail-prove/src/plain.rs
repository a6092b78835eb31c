//! Makes a case plain: facts that do not matter get the value that says least.

use crate::job::{Case, Thing};
use crate::prove::Claim;
use anyhow::{Context as _, Result, anyhow};
use cedar_policy::{Context, Entities, EntityUid, Request, Schema};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A request and its entities as JSON.
#[derive(Debug, Clone)]
struct Draft {
    entities: Vec<Value>,
    context: Map<String, Value>,
}

/// Where a fact stands.
#[derive(Debug, Clone)]
enum Place {
    Attribute(usize, String),
    Parents(usize),
    Context(String),
}

/// The case without the facts that do not matter.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn case(
    claim: &Claim<'_>,
    schema: &Schema,
    words: &BTreeMap<String, String>,
    request: &Request,
    entities: &Entities,
) -> Result<Case> {
    let (Some(principal), Some(action), Some(resource)) = (request.principal(), request.action(), request.resource())
    else {
        return Err(anyhow!("the case names no principal, action or resource"));
    };
    let is_one = |entity: &Value| uid(entity).is_some_and(|one| one == uid_of(principal) || one == uid_of(resource));
    let all = entities.to_json_value()?;
    let context = request.context().context("the case has no context")?.to_json_value()?;
    let mut draft = Draft {
        entities: all.as_array().into_iter().flatten().filter(|entity| is_one(entity)).cloned().collect(),
        context: context.as_object().cloned().unwrap_or_default(),
    };
    let stays = |draft: &Draft| still(claim, schema, (principal, action, resource), draft).unwrap_or(false);
    // one fact may matter only because of another, so twice
    for place in places(&draft).iter().chain(&places(&draft)) {
        if let Some(simpler) = draft.simpler(place, words).into_iter().find(|simpler| stays(simpler)) {
            draft = simpler;
        }
    }
    draft.into_case(principal, action, resource, words).context("the case lacks its principal or resource")
}

/// Whether the draft is a case that refutes the claim.
fn still(claim: &Claim<'_>, schema: &Schema, of: (&EntityUid, &EntityUid, &EntityUid), draft: &Draft) -> Result<bool> {
    let (principal, action, resource) = of;
    let context = Context::from_json_value(Value::Object(draft.context.clone()), Some((schema, action)))?;
    let request = Request::new(principal.clone(), action.clone(), resource.clone(), context, Some(schema))?;
    let entities = Entities::from_json_value(Value::Array(draft.entities.clone()), Some(schema))?;
    Ok(claim.is_refuted_by(&request, &entities))
}

fn places(draft: &Draft) -> Vec<Place> {
    let of_entities = draft.entities.iter().enumerate().flat_map(|(at, entity)| {
        let attributes = entity.get("attrs").and_then(Value::as_object).into_iter().flatten();
        let named: Vec<Place> = attributes.map(|(name, _)| Place::Attribute(at, name.clone())).collect();
        named.into_iter().chain([Place::Parents(at)])
    });
    of_entities.chain(draft.context.keys().cloned().map(Place::Context)).collect()
}

impl Draft {
    /// The drafts that say less at this place, the plainest first.
    fn simpler(&self, place: &Place, words: &BTreeMap<String, String>) -> Vec<Self> {
        let Some(now) = self.at(place) else { return Vec::new() };
        let mut values: Vec<Value> = least(now, words).into_iter().filter(|value| value != now).collect();
        if let (Place::Parents(_), Some(parents)) = (place, now.as_array()) {
            // one folder says less than many
            values.extend(parents.iter().filter(|_| parents.len() > 1).map(|one| json!([one])));
        }
        let with = |value: Value| {
            let mut draft = self.clone();
            *draft.at_mut(place)? = value;
            Some(draft)
        };
        values.into_iter().filter_map(with).collect()
    }

    fn at(&self, place: &Place) -> Option<&Value> {
        match place {
            Place::Attribute(at, name) => self.entities.get(*at)?.get("attrs")?.get(name),
            Place::Parents(at) => self.entities.get(*at)?.get("parents"),
            Place::Context(name) => self.context.get(name),
        }
    }

    fn at_mut(&mut self, place: &Place) -> Option<&mut Value> {
        match place {
            Place::Attribute(at, name) => self.entities.get_mut(*at)?.get_mut("attrs")?.get_mut(name),
            Place::Parents(at) => self.entities.get_mut(*at)?.get_mut("parents"),
            Place::Context(name) => self.context.get_mut(name),
        }
    }

    fn into_case(
        self,
        principal: &EntityUid,
        action: &EntityUid,
        resource: &EntityUid,
        words: &BTreeMap<String, String>,
    ) -> Option<Case> {
        let thing = |of: &EntityUid| {
            let entity = self.entities.iter().find(|entity| uid(entity) == Some(uid_of(of)))?;
            let parents = entity.get("parents").and_then(Value::as_array).into_iter().flatten();
            Some(Thing {
                id: of.id().unescaped().to_owned(),
                facts: told(entity.get("attrs").and_then(Value::as_object)?, words),
                within: parents.filter_map(|parent| Some(parent.get("id")?.as_str()?.to_owned())).collect(),
            })
        };
        Some(Case {
            action: action.id().unescaped().to_owned(),
            principal: thing(principal)?,
            resource: thing(resource)?,
            context: told(&self.context, words),
        })
    }
}

/// The values that say least in place of this one.
fn least(value: &Value, words: &BTreeMap<String, String>) -> Vec<Value> {
    match value {
        Value::Bool(_) => vec![json!(false)],
        Value::Number(_) => vec![json!(0)],
        Value::String(_) => vec![json!("")],
        Value::Array(_) => vec![json!([])],
        Value::Object(_) => match reference(value) {
            Some((kind, _)) => {
                let word = words.get(kind).map_or("", String::as_str);
                vec![json!({ "__entity": { "type": kind, "id": word } })]
            }
            None => Vec::new(),
        },
        Value::Null => Vec::new(),
    }
}

/// The facts that say something: names of words in place of references.
fn told(facts: &Map<String, Value>, words: &BTreeMap<String, String>) -> Map<String, Value> {
    let says = |(_, value): &(&String, &Value)| !least(value, words).contains(value);
    let shown = |value: &Value| reference(value).map_or_else(|| value.clone(), |(_, id)| json!(id));
    facts.iter().filter(says).map(|(name, value)| (name.clone(), shown(value))).collect()
}

/// Type and id of a reference to an entity.
fn reference(value: &Value) -> Option<(&str, &str)> {
    let entity = value.get("__entity")?;
    Some((entity.get("type")?.as_str()?, entity.get("id")?.as_str()?))
}

fn uid(entity: &Value) -> Option<(String, String)> {
    let uid = entity.get("uid")?;
    Some((uid.get("type")?.as_str()?.to_owned(), uid.get("id")?.as_str()?.to_owned()))
}

fn uid_of(uid: &EntityUid) -> (String, String) {
    (uid.type_name().to_string(), uid.id().unescaped().to_owned())
}
