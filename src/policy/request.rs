//! One effect as a Cedar request.

use super::facts::{EffectFacts, Subject};
use super::schema;
use crate::effect::{Kind, UNKNOWN_SPAN, Verb};
use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicySet, Request, RestrictedExpression as Value,
    Schema,
};
use std::collections::{HashMap, HashSet};

/// Longest path, in bytes, whose folders policies can refer to: the kernel's limit.
const LONGEST_PATH: usize = 4096;

/// Why a request cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// An attribute is not a Cedar value.
    #[error(transparent)]
    Attribute(Box<cedar_policy::EntityAttrEvaluationError>),
    /// The context is not a Cedar record.
    #[error(transparent)]
    Context(Box<cedar_policy::ContextCreationError>),
    /// The request does not fit the schema.
    #[error(transparent)]
    Request(Box<cedar_policy::RequestValidationError>),
    /// The entities do not fit the schema.
    #[error(transparent)]
    Entities(Box<cedar_policy::entities_errors::EntitiesError>),
    /// A path is longer than the kernel accepts, so its folders are not listed.
    #[error("the path has {0} bytes, and policies about folders read at most {LONGEST_PATH}")]
    LongPath(usize),
    /// A name is not a Cedar name.
    #[error(transparent)]
    Name(Box<cedar_policy::ParseErrors>),
}

/// The words of one enumerated type.
#[derive(Debug)]
pub(super) struct Vocabulary {
    name: EntityTypeName,
    words: HashMap<&'static str, EntityUid>,
}

impl Vocabulary {
    fn new(name: &str, words: Vec<&'static str>) -> Result<Self, RequestError> {
        let name = parse(name)?;
        let uid = |word: &str| EntityUid::from_type_name_and_id(name.clone(), EntityId::new(word));
        let words = words.into_iter().map(|word| (word, uid(word))).collect();
        Ok(Self { name, words })
    }

    pub fn uid(&self, word: &str) -> EntityUid {
        let new = || EntityUid::from_type_name_and_id(self.name.clone(), EntityId::new(word));
        self.words.get(word).cloned().unwrap_or_else(new)
    }
}

/// Type, action and enumerated names, parsed once.
#[derive(Debug)]
pub(super) struct Words {
    user: EntityTypeName,
    target: EntityTypeName,
    folder: EntityTypeName,
    action: EntityTypeName,
    actions: HashMap<Verb, EntityUid>,
    /// Each action with its groups, for policies that refer to groups.
    grouped: HashMap<Verb, Entity>,
    pub class: Vocabulary,
    pub destination: Vocabulary,
    pub kind: Vocabulary,
    pub known: Vocabulary,
    pub recovery: Vocabulary,
    pub target_type: Vocabulary,
}

impl Words {
    pub fn new() -> Result<Self, RequestError> {
        let action = parse("Action")?;
        let uid = |name: &str| EntityUid::from_type_name_and_id(action.clone(), EntityId::new(name));
        let actions = Verb::ALL.iter().map(|verb| (*verb, uid(verb.as_str()))).collect();
        let grouped = Verb::ALL.iter().map(|verb| {
            let groups: HashSet<EntityUid> = schema::groups_of(*verb).map(|group| uid(group.name)).collect();
            (*verb, Entity::new_no_attrs(uid(verb.as_str()), groups))
        });
        let grouped = grouped.collect();
        let [class, destination, kind, known, recovery, target_type] =
            schema::enumerations().map(|(name, words)| Vocabulary::new(name, words));
        Ok(Self {
            user: parse("User")?,
            target: parse("Target")?,
            folder: parse("Folder")?,
            action,
            actions,
            grouped,
            class: class?,
            destination: destination?,
            kind: kind?,
            known: known?,
            recovery: recovery?,
            target_type: target_type?,
        })
    }
}

impl Words {
    pub fn folder(&self, path: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.folder.clone(), EntityId::new(path))
    }

    fn action(&self, verb: Verb) -> EntityUid {
        let new = || EntityUid::from_type_name_and_id(self.action.clone(), EntityId::new(verb.as_str()));
        self.actions.get(&verb).cloned().unwrap_or_else(new)
    }
}

fn parse(name: &str) -> Result<EntityTypeName, RequestError> {
    name.parse().map_err(|error| RequestError::Name(Box::new(error)))
}

/// The entities other than attributes that the loaded policies refer to. Unused ones are not built.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Uses {
    /// Policies refer to groups of actions.
    pub groups: bool,
    /// Policies refer to folders.
    pub folders: bool,
}

impl Uses {
    /// The uses of an operator's policies; shipped ones refer to neither. A group's name may be written with escapes,
    /// so it is not searched for.
    pub fn of<'a>(operator: impl Iterator<Item = &'a str>) -> Self {
        operator
            .fold(Self::default(), |uses, text| Self { groups: true, folders: uses.folders || text.contains("Folder") })
    }
}

/// In which folders a target counts as being.
#[derive(Debug, Clone, Copy)]
pub(super) enum Inside<'a> {
    /// In those that it may be in, as written or with links resolved, and in these, which it holds: for policies that
    /// forbid.
    Perhaps(&'a [String]),
    /// Only in those that it is in however it is read: for policies that permit.
    Surely,
}

/// The Cedar request of one effect. With a `schema`, the request is also validated, which takes 6 us.
pub(super) fn request(
    words: &Words,
    uses: Uses,
    schema: Option<&Schema>,
    who: &Entity,
    facts: &EffectFacts,
    inside: Inside<'_>,
) -> Result<(Request, Entities), RequestError> {
    let user = who.uid();
    let target = EntityUid::from_type_name_and_id(words.target.clone(), EntityId::new(&facts.name));
    let action = words.action(facts.verb);
    let attribute = |error| RequestError::Attribute(Box::new(error));
    let folders = if uses.folders { folders(words, facts, inside)? } else { HashSet::new() };
    let what = Entity::new(target.clone(), facts.target_attributes(words), folders).map_err(attribute)?;
    let context =
        Context::from_pairs(facts.context_attributes(words)).map_err(|error| RequestError::Context(Box::new(error)))?;
    let request =
        Request::new(user, action, target, context, schema).map_err(|error| RequestError::Request(Box::new(error)))?;
    let grouped = words.grouped.get(&facts.verb).filter(|_| uses.groups && schema.is_none()).cloned();
    let place = match facts.folder.as_str() {
        folder if uses.folders && !folder.is_empty() && folder.len() <= LONGEST_PATH => {
            let above = above(folder).filter(|above| above != folder).map(|path| words.folder(&path)).collect();
            Some(Entity::new_no_attrs(words.folder(folder), above))
        }
        _ => None,
    };
    let entities = Entities::from_entities([who.clone(), what].into_iter().chain(grouped).chain(place), schema)
        .map_err(|error| RequestError::Entities(Box::new(error)))?;
    Ok((request, entities))
}

/// The identity as a Cedar entity.
pub(super) fn principal(words: &Words, subject: &Subject) -> Result<Entity, RequestError> {
    let user = EntityUid::from_type_name_and_id(words.user.clone(), EntityId::new(&subject.name));
    let text = |s: &str| Value::new_string(s.to_owned());
    let set = |items: &[String]| Value::new_set(items.iter().map(|s| Value::new_string(s.clone())));
    let mut attributes = HashMap::from([
        ("name".to_owned(), text(&subject.name)),
        ("known".to_owned(), Value::new_bool(subject.known)),
        ("superuser".to_owned(), Value::new_bool(subject.superuser)),
        ("groups".to_owned(), set(&subject.groups)),
        ("roles".to_owned(), set(&subject.roles)),
    ]);
    // tags are text, but Cedar orders only numbers
    if let Some(age) = subject.attributes.get("age").and_then(|age| age.trim().parse().ok()) {
        attributes.insert("age".to_owned(), Value::new_long(age));
    }
    let tags = subject.attributes.iter().map(|(key, value)| (key.clone(), text(value)));
    Entity::new_with_tags(user, attributes, HashSet::new(), tags)
        .map_err(|error| RequestError::Attribute(Box::new(error)))
}

/// The folders that contain a path. The path itself counts as one of them.
fn folders(words: &Words, facts: &EffectFacts, inside: Inside<'_>) -> Result<HashSet<EntityUid>, RequestError> {
    if facts.kind != Kind::Path {
        return Ok(HashSet::new());
    }
    let written = facts.constant_part();
    let resolved = if facts.resolved.is_empty() { written } else { facts.resolved.as_str() };
    let longest = written.len().max(resolved.len());
    if longest > LONGEST_PATH {
        return Err(RequestError::LongPath(longest));
    }
    let paths: HashSet<String> = match inside {
        Inside::Perhaps(held) => above(written).chain(above(resolved)).chain(held.iter().cloned()).collect(),
        // what is not constant may lead out of the folder
        Inside::Surely if facts.is_prefix || facts.unresolved || facts.name.contains(UNKNOWN_SPAN) => HashSet::new(),
        Inside::Surely => {
            let written: HashSet<String> = above(written).collect();
            above(resolved).filter(|path| written.contains(path)).collect()
        }
    };
    Ok(paths.iter().map(|path| words.folder(path)).collect())
}

/// A path and the folders that contain it.
fn above(path: &str) -> impl Iterator<Item = String> + '_ {
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0).chain([path.len()]);
    ends.filter_map(|end| path.get(..end)).chain(["/"]).map(str::to_owned)
}

/// Those of the folders named in policies that the effect concerns because its target holds them.
pub(super) fn held(named: &[String], facts: &EffectFacts) -> Vec<String> {
    let whole = facts.recursive
        || facts.is_prefix
        || matches!(facts.verb, Verb::Delete | Verb::Discard | Verb::Move | Verb::Mount | Verb::Encrypt);
    if !whole || facts.kind != Kind::Path {
        return Vec::new();
    }
    let holds = |folder: &str, path: &str| {
        folder.strip_prefix(path.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
    };
    let paths = [facts.constant_part(), facts.resolved.as_str()];
    let held = named.iter().filter(|folder| paths.iter().any(|path| !path.is_empty() && holds(folder, path)));
    held.cloned().collect()
}

/// The folders that policies name.
pub(super) fn folders_named_in(policies: &PolicySet) -> Vec<String> {
    let all = policies.policies().flat_map(cedar_policy::Policy::entity_literals);
    let folders = all.filter(|uid| uid.type_name().to_string() == "Folder");
    let mut named: Vec<String> = folders.map(|uid| uid.id().unescaped().to_owned()).collect();
    named.sort_unstable();
    named.dedup();
    named
}
