//! Loading of policies: parses them, validates them against the schema, reads annotations, splits them by verb.

use super::upgrade::{UpgradeError, upgrade};
use super::{Inner, Policies, RequestError, Rule, allow, bounds, event, examples, request, schema};
use crate::check::{Answerer, Response, Severity};
use crate::effect::Verb;
use cedar_policy::{ActionConstraint, Effect as CedarEffect, PolicyId, PolicySet, Schema, ValidationMode, Validator};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::str::FromStr as _;
use std::sync::OnceLock;

/// Name of the universal policies in messages.
pub(super) const BASE_FILE: &str = "base.cedar";
const BASE: &str = include_str!("base.cedar");
const BASE_EXAMPLES: &str = include_str!("base.examples.toml");

/// A policy text with its name.
#[derive(Debug, Clone)]
pub struct Source {
    /// File name for messages.
    pub file: String,
    /// Cedar text.
    pub text: String,
    /// The examples beside it (TOML), if any.
    pub examples: Option<String>,
    /// It is the organisation's: what it says is loosened by nothing but other files of the organisation.
    pub organisation: bool,
}

/// Most policies, the shipped ones among them.
const POLICIES: usize = 10_000;

/// Why policies could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// There are too many.
    #[error(
        "{file}: with it there are more than {POLICIES} policies, and each start has to read them all; write one policy about \
         many targets: when {{ resource in [Folder::\"/a\", Folder::\"/b\"] }}"
    )]
    TooMany {
        /// File name.
        file: String,
    },
    /// A text nests so deep that reading it could end the process.
    #[error(
        "{file}:{line}: brackets are nested more than 32 deep, or one policy has too many operators; split the policy, or \
         compare with a set: [\"a\", \"b\"].contains(resource.name)"
    )]
    Deep {
        /// File name.
        file: String,
        /// Line, from 1.
        line: usize,
    },
    /// The text is not Cedar.
    #[error("{file}:{line}:{column}: {problem}")]
    Syntax {
        /// File name.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's message.
        problem: String,
    },
    /// A policy does not fit the schema.
    #[error("{file}: policy '{id}': {problem}; see the schema with 'agrail policy check --schema'")]
    Invalid {
        /// File name.
        file: String,
        /// Policy id.
        id: String,
        /// The validator's message.
        problem: String,
    },
    /// An annotation is missing or wrong.
    #[error("{file}: policy '{id}': {problem}")]
    Annotation {
        /// File name.
        file: String,
        /// Policy id, or its position.
        id: String,
        /// The problem.
        problem: String,
    },
    /// A policy cannot be disabled.
    #[error("policy.disable.{id}: {problem}")]
    Disabled {
        /// Policy id.
        id: String,
        /// The problem.
        problem: String,
    },
    /// A file contains no policy.
    #[error("{file}: the file contains no policy; restore its policies, or remove the file from policy.files")]
    Empty {
        /// File name.
        file: String,
    },
    /// An example beside a policy file has another decision or policy than expected.
    #[error("{file}: example {example}: expected {expected}, found {found}")]
    Example {
        /// File name.
        file: String,
        /// The action.
        example: String,
        /// The expectation in the file.
        expected: String,
        /// The result of the policies.
        found: String,
    },
    /// The examples beside a policy file cannot be parsed.
    #[error("{file}: {problem}")]
    Examples {
        /// File name.
        file: String,
        /// Line, column and problem.
        problem: String,
    },
    /// A fact is compared with a word that its type does not have, or a fact of an event has an unknown slot.
    #[error("{file}:{line}:{column}: policy '{id}': {kind} has no \"{word}\"; did you mean \"{nearest}\"?")]
    Word {
        /// File name.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Policy id.
        id: String,
        /// The enumerated type, or an event.
        kind: &'static str,
        /// The word.
        word: String,
        /// The most similar word of the type.
        nearest: &'static str,
    },
    /// The shipped schema does not load.
    #[error("the shipped schema does not load: {0}")]
    Schema(Box<cedar_policy::CedarSchemaError>),
    /// A name in the schema is not a Cedar name.
    #[error("the shipped schema contains an invalid name: {0}")]
    Request(#[from] RequestError),
}

/// The shipped policies with their examples.
fn base() -> Source {
    Source {
        file: BASE_FILE.to_owned(),
        text: BASE.to_owned(),
        examples: Some(BASE_EXAMPLES.to_owned()),
        organisation: false,
    }
}

/// Loads the base policies and `sources`, without those that are `disabled` (id and reason). A test verifies the base
/// policies, so that they are not verified at each start; `whole` verifies them, too.
pub(super) fn load(sources: &[Source], disabled: &BTreeMap<String, String>, whole: bool) -> Result<Inner, PolicyError> {
    let texts: Vec<Source> = std::iter::once(base()).chain(sources.iter().cloned()).collect();
    let mut hash = Sha256::new();
    hash.update(schema::text());
    for source in &texts {
        hash.update([0]);
        hash.update(&source.text);
    }
    for id in disabled.keys() {
        hash.update([1]);
        hash.update(id);
    }
    let uses = request::Uses::of(sources.iter().map(|source| source.text.as_str()));
    let mut inner = unparsed(texts, uses, crate::hex(&hash.finalize()))?;
    inner.disabled.clone_from(disabled);
    if !whole && sources.is_empty() && disabled.is_empty() {
        return Ok(inner);
    }
    let everything = everything(&inner.texts)?;
    let empty = |source: &&Source| !everything.rules.values().any(|rule| rule.file == source.file);
    if let Some(source) = sources.iter().find(empty) {
        return Err(PolicyError::Empty { file: source.file.clone() });
    }
    // parsing the schema takes as long as parsing the policies
    let schema = Schema::from_cedarschema_str(schema::of_effects()).map_err(|e| PolicyError::Schema(Box::new(e)))?.0;
    let (effects, events) = event::split(&everything)?;
    event::validate(&events, schema::USER)?;
    inner.events = events.without(disabled);
    if let Some(problem) = allow::problems(&everything, &inner.texts, disabled).into_iter().next() {
        return Err(problem);
    }
    if inner.uses.folders {
        inner.folders = request::folders_named_in(&everything.set);
    }
    let result = Validator::new(schema.clone()).validate(&effects, ValidationMode::Strict);
    if let Some(error) = result.validation_errors().next() {
        return Err(misfit(&everything, error));
    }
    inner.schema = Some(schema);
    inner.everything = OnceLock::from(Some(everything));
    let mut verified = Vec::new();
    // an operator's policy may forbid an effect that an example of the base policies allows, so their examples are
    // verified only without operator policies
    for source in
        inner.texts.iter().filter(|source| sources.is_empty() && disabled.is_empty() || source.file != BASE_FILE)
    {
        verified.extend(examples::verify(&inner, source)?);
    }
    inner.examples = verified;
    Ok(inner)
}

/// Policies of which nothing is parsed yet.
fn unparsed(texts: Vec<Source>, uses: request::Uses, digest: String) -> Result<Inner, PolicyError> {
    Ok(Inner {
        parts: std::array::from_fn(|_| OnceLock::new()),
        everything: OnceLock::new(),
        events: Policies::default(),
        digest,
        words: request::Words::new()?,
        uses,
        folders: Vec::new(),
        disabled: BTreeMap::new(),
        schema: None,
        texts,
        examples: Vec::new(),
        answers: Cache::new(super::ANSWERS),
    })
}

/// The policies of one text as a set of their own, without the base policies.
pub(super) fn alone(source: Source, policies: Policies) -> Result<Inner, PolicyError> {
    if policies.rules.is_empty() {
        return Err(PolicyError::Empty { file: source.file });
    }
    few(&policies, &source)?;
    if let Some(problem) = invalid(&policies).into_iter().next() {
        return Err(problem);
    }
    let digest = crate::digest([source.file.clone().into_bytes(), source.text.clone().into_bytes()]);
    let mut inner = unparsed(vec![source], request::Uses { groups: true, folders: true }, digest)?;
    inner.events = event::split(&policies)?.1;
    inner.folders = request::folders_named_in(&policies.set);
    inner.everything = OnceLock::from(Some(policies));
    Ok(inner)
}

/// All policies in these texts.
pub(super) fn everything(texts: &[Source]) -> Result<Policies, PolicyError> {
    let mut found = Policies::default();
    for source in texts {
        for policy in parsed(source)? {
            found.add(source, &policy)?;
        }
        few(&found, source)?;
    }
    Ok(found)
}

/// Each start reads all policies, and a hook has to answer within seconds.
fn few(found: &Policies, source: &Source) -> Result<(), PolicyError> {
    match found.rules.len() > POLICIES {
        true => Err(PolicyError::TooMany { file: source.file.clone() }),
        false => Ok(()),
    }
}

/// The policies of a text as they are written, or why they are no Cedar.
///
/// # Errors
/// [`PolicyError::Deep`]
fn set(source: &Source) -> Result<Result<PolicySet, cedar_policy::ParseErrors>, PolicyError> {
    bounds::verify(source)?;
    Ok(source.text.parse())
}

/// The policies in a text, with words instead of texts.
pub(super) fn parsed(source: &Source) -> Result<Vec<cedar_policy::Policy>, PolicyError> {
    let set = set(source)?.map_err(|e| syntax(source, &e))?;
    if let Some(template) = set.templates().next() {
        let id = template.annotation("id").map_or_else(|| template.id().to_string(), str::to_owned);
        let problem =
            "is a template, which stands for no policy; write its values in place of ?principal and ?resource";
        return Err(PolicyError::Invalid { file: source.file.clone(), id, problem: problem.to_owned() });
    }
    let upgraded = set.policies().map(|policy| {
        // the base policies already use words
        let new = if source.file == BASE_FILE { None } else { words(source, policy)? };
        Ok(new.unwrap_or_else(|| policy.clone()))
    });
    upgraded.collect()
}

/// The policy with words instead of texts; `None` if it contains no such text.
fn words(source: &Source, policy: &cedar_policy::Policy) -> Result<Option<cedar_policy::Policy>, PolicyError> {
    let id = policy.annotation("id").map_or_else(|| policy.id().to_string(), str::to_owned);
    upgrade(policy).map_err(|error| match error {
        UpgradeError::Word(unknown) => {
            // the position of the word within its policy
            let begin = source.text.find(&format!("@id(\"{id}\")")).unwrap_or_default();
            let rest = source.text.get(begin..).unwrap_or_default();
            // a text, or the slot of a fact
            let written = [format!("\"{}\"", unknown.word), format!("\"{} ", unknown.word)];
            let offset = begin + written.iter().find_map(|text| rest.find(text)).unwrap_or_default();
            let (line, column) = place(&source.text, offset);
            let (kind, word, nearest) = (unknown.kind, unknown.word, unknown.nearest);
            PolicyError::Word { file: source.file.clone(), line, column, id, kind, word, nearest }
        }
        other => PolicyError::Invalid { file: source.file.clone(), id, problem: other.to_string() },
    })
}

/// Line and column of a byte offset, from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
}

/// The policies that apply to a verb: a request is evaluated only against them. Only the pieces of the texts that may
/// apply to the verb are parsed, because a process may check a single action. `None` if parsing fails; a test rules
/// this out.
pub(super) fn speaking_of(verb: Verb, inner: &Inner) -> Option<Policies> {
    let mut found = Policies::default();
    if let Some(Some(everything)) = inner.everything.get() {
        let is_on = |policy: &&cedar_policy::Policy| !inner.is_disabled(policy.id());
        for policy in everything.set.policies().filter(is_on).filter(|policy| speaks(policy, verb)) {
            found.set.add(policy.clone()).ok()?;
        }
        found.rules.clone_from(&everything.rules);
        found.allowing = allow::allowing(&found);
        return Some(found);
    }
    for source in &inner.texts {
        let text: String = pieces(&source.text).filter(|piece| mentions(piece, verb)).collect();
        let parsed: PolicySet = text.parse().ok()?;
        for policy in parsed.policies().filter(|policy| speaks(policy, verb)) {
            found.add(source, policy).ok()?;
        }
    }
    Some(found)
}

fn speaks(policy: &cedar_policy::Policy, verb: Verb) -> bool {
    if event::is_of_events(policy) {
        return false;
    }
    let named = |uid: &cedar_policy::EntityUid| {
        let name = uid.id().unescaped();
        name == verb.as_str() || schema::groups_of(verb).any(|group| group.name == name)
    };
    match policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(uid) => named(&uid),
        ActionConstraint::In(uids) => uids.iter().any(named),
    }
}

/// A text cut before each line that begins with `@id`. In the shipped texts each piece is one policy.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let begins = text.match_indices("\n@id(").map(|(at, _)| at + 1);
    let cuts: Vec<usize> = std::iter::once(0).chain(begins).chain(std::iter::once(text.len())).collect();
    let ranges: Vec<(usize, usize)> = cuts.iter().copied().zip(cuts.iter().copied().skip(1)).collect();
    ranges.into_iter().filter_map(|(from, to)| text.get(from..to))
}

/// Whether the piece names the verb, or no verb at all.
fn mentions(piece: &str, verb: Verb) -> bool {
    let named = |name: &str| piece.contains(&format!("Action::\"{name}\""));
    !piece.contains("Action::\"") || named(verb.as_str()) || schema::groups_of(verb).any(|group| named(group.name))
}

impl Policies {
    /// The same without those that are switched off.
    fn without(mut self, disabled: &BTreeMap<String, String>) -> Self {
        for id in disabled.keys() {
            // most are about effects, and not in this set
            let _ = self.set.remove_static(PolicyId::new(id));
        }
        self
    }

    fn add(&mut self, source: &Source, policy: &cedar_policy::Policy) -> Result<(), PolicyError> {
        let rule = rule(source, policy)?;
        self.insert(source, policy, rule)
    }

    /// Adds a policy with its annotations.
    pub(super) fn insert(
        &mut self,
        source: &Source,
        policy: &cedar_policy::Policy,
        rule: Rule,
    ) -> Result<(), PolicyError> {
        let id = PolicyId::new(&rule.id);
        let wrong =
            |problem: String| PolicyError::Annotation { file: source.file.clone(), id: rule.id.clone(), problem };
        if self.rules.contains_key(&id) {
            return Err(wrong("another policy already has this @id; choose another one".to_owned()));
        }
        self.set.add(policy.new_id(id.clone())).map_err(|e| wrong(e.to_string()))?;
        self.rules.insert(id, rule);
        Ok(())
    }
}

pub(super) fn rule(source: &Source, policy: &cedar_policy::Policy) -> Result<Rule, PolicyError> {
    // all at once, because a lookup by name parses the name each time
    let annotations: HashMap<&str, &str> = policy.annotations().collect();
    let text = |key: &str| annotations.get(key).map(|text| (*text).to_owned());
    let id = text("id").unwrap_or_else(|| policy.id().to_string());
    let missing = |what: &str| PolicyError::Annotation {
        file: source.file.clone(),
        id: id.clone(),
        problem: format!("has no @{what}(\"...\"); write one above the policy"),
    };
    let later = match text("later").as_deref() {
        None => false,
        Some("ask") => true,
        Some(other) => {
            return Err(PolicyError::Annotation {
                file: source.file.clone(),
                id: id.clone(),
                problem: format!("@later is \"{other}\"; it must be \"ask\""),
            });
        }
    };
    let asks = match text("decision").as_deref() {
        None | Some("deny") => false,
        Some("ask") => true,
        Some(other) => {
            return Err(PolicyError::Annotation {
                file: source.file.clone(),
                id: id.clone(),
                problem: format!("@decision is \"{other}\"; it must be \"ask\" or \"deny\""),
            });
        }
    };
    if text("id").is_none() {
        return Err(missing("id"));
    }
    let severity = text("severity").map(|name| {
        Severity::from_str(&name).map_err(|_| PolicyError::Annotation {
            file: source.file.clone(),
            id: id.clone(),
            problem: format!("@severity is \"{name}\"; it must be \"access\", \"minor\", \"serious\" or \"grave\""),
        })
    });
    Ok(Rule {
        category: text("category").ok_or_else(|| missing("category"))?,
        reason: text("reason").ok_or_else(|| missing("reason"))?,
        check: text("check").unwrap_or_else(|| id.clone()),
        advice: text("advice"),
        response: match (asks, text("by").as_deref()) {
            (false, _) => Response::Deny,
            // what an account's own files and memory say does not answer for the organisation
            (true, _) if source.organisation => Response::Ask(Answerer::Person),
            (true, Some("person")) => Response::Ask(Answerer::Person),
            (true, _) => Response::Ask(Answerer::Model),
        },
        severity: severity.transpose()?,
        forbids: policy.effect() == CedarEffect::Forbid,
        later,
        allows: text("allows").map(|list| allow::names(&list)).unwrap_or_default(),
        file: source.file.clone(),
        id,
    })
}

fn syntax(source: &Source, error: &cedar_policy::ParseErrors) -> PolicyError {
    let first = error.iter().next();
    let mut first = first.map_or_else(|| one_syntax(source, error), |first| one_syntax(source, first));
    if let PolicyError::Syntax { problem, .. } = &mut first {
        *problem = error.to_string();
    }
    first
}

fn one_syntax(source: &Source, error: &(impl miette::Diagnostic + ?Sized)) -> PolicyError {
    let offset = error.labels().and_then(|mut labels| labels.next()).map_or(0, |label| label.offset());
    let (line, column) = place(&source.text, offset);
    PolicyError::Syntax { file: source.file.clone(), line, column, problem: error.to_string() }
}

/// All problems of these policies with their lines (0: of no line), for a person who mends them; none if they load.
pub(super) fn problems(sources: &[Source], disabled: &BTreeMap<String, String>) -> Vec<(usize, PolicyError)> {
    let mut found = Vec::new();
    let base = base();
    let mut all = Policies::default();
    for source in std::iter::once(&base).chain(sources) {
        let set = match set(source) {
            Ok(set) => set,
            Err(deep) => {
                found.push(deep);
                continue;
            }
        };
        match set {
            Ok(parsed) => {
                for policy in parsed.policies() {
                    let upgraded = if source.file == BASE_FILE { Ok(None) } else { words(source, policy) };
                    let added = upgraded.and_then(|new| all.add(source, new.as_ref().unwrap_or(policy)));
                    found.extend(added.err());
                }
            }
            Err(errors) => found.extend(errors.iter().map(|error| one_syntax(source, error))),
        }
        if let Err(many) = few(&all, source) {
            return vec![(0, many)];
        }
    }
    found.extend(allow::problems(&all, sources, disabled));
    found.extend(invalid(&all));
    if found.is_empty() {
        // what only a whole set can have: files without a policy, and examples
        found.extend(load(sources, disabled, true).err());
    }
    let mut found: Vec<(usize, PolicyError)> =
        found.into_iter().map(|problem| (line_of(sources, &problem), problem)).collect();
    found.sort_by_key(|(line, problem)| (problem.file().to_owned(), *line));
    found.dedup_by_key(|(_, problem)| problem.to_string());
    found
}

fn misfit(all: &Policies, error: &cedar_policy::ValidationError) -> PolicyError {
    PolicyError::Invalid {
        file: all.rules.get(error.policy_id()).map_or_else(String::new, |rule| rule.file.clone()),
        id: error.policy_id().to_string(),
        problem: explained(error),
    }
}

/// Verifies that policies about effects fit the schema.
pub(super) fn fitting(source: &Source, policies: &[cedar_policy::Policy]) -> Result<(), PolicyError> {
    let (schema, _) =
        Schema::from_cedarschema_str(schema::of_effects()).map_err(|error| PolicyError::Schema(Box::new(error)))?;
    let misfit = |id: String, problem: String| PolicyError::Invalid { file: source.file.clone(), id, problem };
    let set = PolicySet::from_policies(policies.iter().cloned());
    let set = set.map_err(|error| misfit(String::new(), error.to_string()))?;
    match Validator::new(schema).validate(&set, ValidationMode::Strict).validation_errors().next() {
        Some(error) => Err(misfit(error.policy_id().to_string(), explained(error))),
        None => Ok(()),
    }
}

/// What a policy has that does not fit the schema, and what was probably meant.
fn explained(error: &cedar_policy::ValidationError) -> String {
    use miette::Diagnostic as _;
    let text = error.to_string();
    // Cedar compares the whole entity, so that any action may seem as near as another
    if let (cedar_policy::ValidationError::UnrecognizedActionId(_), Some((_, id))) =
        (error, text.split_once("Action::\""))
    {
        let id = id.trim_end_matches(['"', '`']);
        let names = Verb::ALL.iter().map(|verb| verb.as_str()).chain(schema::GROUPS.iter().map(|group| group.name));
        let nearest = names.min_by_key(|name| strsim::damerau_levenshtein(name, id)).unwrap_or_default();
        return format!("{text}; did you mean `Action::\"{nearest}\"`?");
    }
    let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{error}{help}")
}

/// What does not fit the schemas.
fn invalid(all: &Policies) -> Vec<PolicyError> {
    let schema = match Schema::from_cedarschema_str(schema::of_effects()) {
        Ok((schema, _)) => schema,
        Err(error) => return vec![PolicyError::Schema(Box::new(error))],
    };
    let (effects, events) = match event::split(all) {
        Ok(split) => split,
        Err(problem) => return vec![problem],
    };
    let result = Validator::new(schema).validate(&effects, ValidationMode::Strict);
    let mut found: Vec<PolicyError> = result.validation_errors().map(|error| misfit(all, error)).collect();
    found.extend(event::validate(&events, schema::USER).err());
    found
}

/// The line of a problem, from 1; 0 if it has none.
pub(super) fn line_of(sources: &[Source], problem: &PolicyError) -> usize {
    let id = match problem {
        PolicyError::Syntax { line, .. } | PolicyError::Word { line, .. } | PolicyError::Deep { line, .. } => {
            return *line;
        }
        PolicyError::Invalid { id, .. } | PolicyError::Annotation { id, .. } => id,
        _ => return 0,
    };
    let Some(source) = sources.iter().find(|source| source.file == problem.file()) else { return 0 };
    let named = source.text.find(&format!("@id(\"{id}\")"));
    // a policy without an id is called by its number
    let number = || id.strip_prefix("policy")?.parse().ok();
    let nth = |number: usize| {
        let begins = |line: &&str| line.starts_with("permit") || line.starts_with("forbid");
        source.text.lines().enumerate().filter(|(_, line)| begins(line)).nth(number).map(|(at, _)| at + 1)
    };
    named.map(|at| place(&source.text, at).0).or_else(|| nth(number()?)).unwrap_or_default()
}

impl PolicyError {
    /// The file that has the problem; empty if none has.
    pub(super) fn file(&self) -> &str {
        match self {
            Self::Syntax { file, .. }
            | Self::Deep { file, .. }
            | Self::Invalid { file, .. }
            | Self::Annotation { file, .. }
            | Self::Empty { file }
            | Self::TooMany { file }
            | Self::Example { file, .. }
            | Self::Examples { file, .. }
            | Self::Word { file, .. } => file,
            Self::Disabled { .. } | Self::Schema(_) | Self::Request(_) => "",
        }
    }
}
