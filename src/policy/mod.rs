//! Policies in Cedar over effects and facts.
//!
//! 1. Policy texts are parsed, validated against the schema, and split into one set per verb at load.
//!    Policies about what an action does as a whole are a set of their own (`event`).
//! 2. [`Policy::screen`] authorises one [`EffectFacts`] (an effect with its facts) against the set of its verb.
//!    Effects that the policies cannot tell apart get one answer (`alike`).
//! 3. Each forbid that applies becomes a violation with the reason of its policy. If only permits apply, the outcome is
//!    pass. If no policy applies, or evaluation fails, it is unknown. An error never becomes a pass.

mod alike;
mod allow;
mod bounds;
mod class;
mod event;
mod examples;
mod facts;
mod load;
mod project;
mod proof;
mod request;
mod schema;
mod upgrade;
mod words;

pub use class::{Destination, Known, Recovery, TargetClass, TargetType};
pub(crate) use event::EventFacts;
#[cfg(test)]
pub(crate) use event::{FAMILIES, SLOTS};
pub use facts::{EffectFacts, Subject};
pub use load::{PolicyError, Source};
pub use request::RequestError;

use request::Inside;

use crate::check::{
    Answerer, Authority, Check, CheckKind, Evidence, Finding, Outcome, Response, Severity, Source as Answered,
};
use crate::effect::{Kind, Verb};
use cedar_policy::{Authorizer, Decision as CedarDecision, Entity, PolicyId, PolicySet, Schema};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The annotations of a policy.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Rule {
    /// Stable id.
    pub id: String,
    /// `confidentiality`, `integrity`, `availability`, or a category of an operator.
    pub category: String,
    /// The check that it answers.
    pub check: String,
    /// Why it forbids or permits.
    pub reason: String,
    /// A safe alternative.
    pub advice: Option<String>,
    /// Consequence of a violation.
    #[serde(flatten)]
    pub response: Response,
    /// Severity of a violation, if the policy declares one.
    pub severity: Option<Severity>,
    /// Whether it forbids; otherwise it permits.
    pub forbids: bool,
    /// Whether it also judges what a file that the action writes does once something runs it. A person is asked then.
    pub later: bool,
    /// The policies that do not ask where it permits (`@allows`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allows: Vec<String>,
    /// Name of its file.
    pub file: String,
}

impl Rule {
    /// Whether it allows what another policy asks about.
    fn allows(&self, other: &Self) -> bool {
        matches!(other.response, Response::Ask(_)) && self.allows.contains(&other.id)
    }

    /// Whether it ships with the engine.
    #[must_use]
    pub fn is_shipped(&self) -> bool {
        self.file == load::BASE_FILE
    }
}

/// A loaded set of policies. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Policy {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The base policies, then the added ones.
    texts: Vec<Source>,
    /// The policies that apply to each verb, by the index of the verb; parsed at first use.
    parts: [OnceLock<Option<Policies>>; Verb::ALL.len()],
    /// All policies; parsed at load only if they have to be verified.
    everything: OnceLock<Option<Policies>>,
    /// The policies about events, without those about effects.
    events: Policies,
    schema: Option<Schema>,
    digest: String,
    words: request::Words,
    uses: request::Uses,
    /// The folders that policies name.
    folders: Vec<String>,
    /// The policies that are switched off, and why.
    disabled: BTreeMap<String, String>,
    examples: Vec<(String, String, String)>,
    /// The answers about effects so far.
    answers: Cache<alike::Shape, Arc<Answer>>,
}

/// Most answers that are kept.
const ANSWERS: usize = 8_192;
/// How many effects of a verb are few.
const FEW: usize = 8;

/// Policies with their annotations.
#[derive(Debug, Default)]
struct Policies {
    set: PolicySet,
    /// Those of them that allow what others ask about.
    allowing: PolicySet,
    rules: HashMap<PolicyId, Rule>,
    /// How they use the name of the target, and how many effects they were asked about before that was of interest.
    names: OnceLock<alike::Names>,
    asked: AtomicUsize,
}

impl Policies {
    /// How the policies use the name of the target. To find out takes as long as a few answers, so the first effects are
    /// told apart by all facts.
    fn names(&self) -> &alike::Names {
        if let Some(known) = self.names.get() {
            return known;
        }
        if self.asked.fetch_add(1, Ordering::Relaxed) < FEW {
            return &alike::Names::Used;
        }
        self.learnt_names()
    }

    fn learnt_names(&self) -> &alike::Names {
        self.names.get_or_init(|| alike::Names::of(&self.set))
    }
}

/// The answer of Cedar about an effect.
#[derive(Debug)]
struct Answer {
    decision: CedarDecision,
    /// The policies that decide.
    reasons: Vec<PolicyId>,
    /// If it is a denial: the policies that allow what others ask about.
    allowing: Vec<PolicyId>,
    /// A policy that could not be evaluated; then nothing passes.
    problem: Option<String>,
}

impl Inner {
    /// `None` if the shipped text cannot be parsed; every effect is unknown then.
    fn part(&self, verb: Verb) -> Option<&Policies> {
        self.parts.get(verb as usize)?.get_or_init(|| load::speaking_of(verb, self)).as_ref()
    }

    fn is_disabled(&self, id: &PolicyId) -> bool {
        self.disabled.contains_key::<str>(id.as_ref())
    }

    fn everything(&self) -> Option<&Policies> {
        self.everything.get_or_init(|| load::everything(&self.texts).ok()).as_ref()
    }
}

impl Policy {
    /// The universal criteria that ship with the engine.
    ///
    /// # Errors
    /// If the shipped text does not load, which a test rules out.
    pub fn base() -> Result<Self, PolicyError> {
        Self::load(&[])
    }

    /// The universal criteria together with an operator's policies. Operator policies can forbid more, permit effects
    /// that the base policies do not know, and allow what a policy asks about (`@allows`); they cannot lift a denial.
    ///
    /// # Errors
    /// The first problem, with file, line and column.
    pub fn load(sources: &[Source]) -> Result<Self, PolicyError> {
        Self::load_without(sources, &BTreeMap::new())
    }

    /// The same without the policies `disabled`: their ids, with reasons. Only what asks, and an operator's own policies
    /// can be disabled.
    ///
    /// # Errors
    /// The first problem, with file, line and column.
    pub fn load_without(sources: &[Source], disabled: &BTreeMap<String, String>) -> Result<Self, PolicyError> {
        let load = || load::load(sources, disabled, false).map(|inner| Self { inner: Arc::new(inner) });
        // without sources, nothing is parsed yet
        if sources.is_empty() { load() } else { bounds::roomy(load) }
    }

    /// All problems of these policies at once, each with its line (0: of no line), for a person who mends them. None if they
    /// load, with their examples.
    #[must_use]
    pub fn problems(sources: &[Source], disabled: &BTreeMap<String, String>) -> Vec<(usize, PolicyError)> {
        bounds::roomy(|| load::problems(sources, disabled))
    }

    /// Why each policy is switched off, by its id.
    #[must_use]
    pub fn disabled(&self) -> &BTreeMap<String, String> {
        &self.inner.disabled
    }

    /// Parses what is otherwise parsed at the first effects of each verb.
    pub(crate) fn warm(&self) {
        for verb in Verb::ALL.iter().copied() {
            self.inner.part(verb).map(Policies::learnt_names);
        }
    }

    /// Parses the policies about these verbs, which otherwise the first effect of each verb does.
    pub fn prepare(&self, verbs: &BTreeSet<Verb>) {
        for verb in verbs {
            self.inner.part(*verb);
        }
    }

    /// The same policies, verified as a whole: the shipped policies are validated, too, and their examples verified.
    /// [`Self::load`] verifies only the operator's policies; the tests of the engine verify the shipped ones.
    ///
    /// # Errors
    /// The first problem, with file, line and column.
    pub fn proved(&self) -> Result<Self, PolicyError> {
        let sources = self.inner.texts.get(1..).unwrap_or_default();
        bounds::roomy(|| load::load(sources, &self.inner.disabled, true)).map(|inner| Self { inner: Arc::new(inner) })
    }

    /// The Cedar text of the policy with this id, if there is one.
    #[must_use]
    pub fn text(&self, id: &str) -> Option<String> {
        self.inner.everything()?.set.policy(&PolicyId::new(id))?.to_cedar()
    }

    /// SHA-256 of all policy texts, hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.inner.digest
    }

    /// The texts: the shipped one, then those of the operator.
    #[cfg(feature = "serve")]
    pub(crate) fn sources(&self) -> &[Source] {
        &self.inner.texts
    }

    /// The schemas of the policies, as Cedar text: that of effects, then that of events.
    #[must_use]
    pub fn schema_text() -> &'static str {
        schema::text()
    }

    /// Whether there are policies about events.
    pub(crate) fn judges_events(&self) -> bool {
        !self.inner.events.set.is_empty()
    }

    /// The examples that were verified: file, effect, decision.
    #[must_use]
    pub fn examples(&self) -> &[(String, String, String)] {
        &self.inner.examples
    }

    /// Every rule, sorted by id.
    #[must_use]
    pub fn rules(&self) -> Vec<&Rule> {
        let mut rules: Vec<&Rule> = self.inner.everything().into_iter().flat_map(|all| all.rules.values()).collect();
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        rules
    }

    /// The findings about one effect: every violation, or one pass, or one unknown.
    #[must_use]
    pub fn screen(&self, subject: &Subject, query: &EffectFacts) -> Vec<Finding> {
        self.screener(subject).screen(query)
    }

    /// Screens several effects for one identity.
    pub(crate) fn screener<'a>(&'a self, subject: &'a Subject) -> Screener<'a> {
        Screener::new(&self.inner, subject)
    }

    /// Id of the first rule that answers the check with this name for any of these verbs.
    #[must_use]
    pub fn answers(&self, check: &str, verbs: &BTreeSet<Verb>) -> Option<&str> {
        let speaks = |rule: &&&Rule| {
            let id = PolicyId::new(&rule.id);
            verbs.iter().any(|v| self.inner.part(*v).is_some_and(|part| part.set.policy(&id).is_some()))
        };
        let rules: Vec<&Rule> = self
            .inner
            .everything()
            .into_iter()
            .flat_map(|all| all.rules.values())
            .filter(|r| r.check == check)
            .collect();
        rules.iter().filter(speaks).map(|r| r.id.as_str()).min()
    }
}

/// The policies for one identity.
pub(crate) struct Screener<'a> {
    inner: &'a Inner,
    subject: &'a Subject,
    /// Digest of the subject; without one, no answer is kept.
    digest: Option<[u8; 32]>,
    who: Result<Entity, RequestError>,
}

impl<'a> Screener<'a> {
    fn new(inner: &'a Inner, subject: &'a Subject) -> Self {
        let digest = serde_json::to_vec(subject).ok().map(|bytes| Sha256::digest(bytes).into());
        Self { inner, subject, digest, who: request::principal(&inner.words, subject) }
    }

    /// The answer of Cedar about one effect, or why there is none. Effects that are alike get one answer.
    fn answer(&self, part: &Policies, query: &EffectFacts) -> Result<Arc<Answer>, String> {
        let inner = self.inner;
        let shape = self.digest.map(|digest| part.names().shape(digest, self.subject, query));
        if let Some(known) = shape.as_ref().and_then(|shape| inner.answers.get(shape)) {
            return Ok(known);
        }
        let not_built = |problem: &RequestError| format!("the policy request could not be built: {problem}");
        let who = self.who.as_ref().map_err(not_built)?;
        let asked = |set: &PolicySet, inside: Inside<'_>| {
            let request = request::request(&inner.words, inner.uses, None, who, query, inside);
            let (request, entities) = request.map_err(|problem| not_built(&problem))?;
            let response = Authorizer::new().is_authorized(&request, set, &entities);
            let error = response.diagnostics().errors().next();
            let problem = error.map(|error| format!("a policy could not be evaluated: {error}"));
            let reasons: Vec<PolicyId> = response.diagnostics().reason().cloned().collect();
            Ok::<_, String>((response.decision(), reasons, problem))
        };
        let held = request::held(&inner.folders, query);
        let (mut decision, mut reasons, mut problem) = asked(&part.set, Inside::Perhaps(&held))?;
        if decision == CedarDecision::Allow && problem.is_none() && inner.uses.folders {
            (decision, reasons, problem) = asked(&part.set, Inside::Surely)?;
        }
        let allowing = match decision {
            CedarDecision::Deny if problem.is_none() && !part.allowing.is_empty() => {
                // however its folders are read: a condition may also name a folder that it leaves out
                let (_, surely, failed) = asked(&part.allowing, Inside::Surely)?;
                let (_, perhaps, too) = asked(&part.allowing, Inside::Perhaps(&held))?;
                problem = failed.or(too);
                surely.into_iter().filter(|id| problem.is_none() && perhaps.contains(id)).collect()
            }
            _ => Vec::new(),
        };
        let answer = Arc::new(Answer { decision, reasons, allowing, problem });
        if let Some(shape) = shape {
            inner.answers.insert(shape, Arc::clone(&answer));
        }
        Ok(answer)
    }

    /// The violations by an effect that a written file has once something runs it, or one unknown. A person may say that
    /// it should.
    pub fn screen_later(&self, file: &str, query: &EffectFacts) -> Vec<Finding> {
        let unknown = |problem: String| {
            let reason = format!("once {} is used: {problem}", words::shown(file));
            vec![finding(Check::understood(), Outcome::Unknown, Answered::NotUnderstood, reason, query)]
        };
        // nothing else that is unknown is kept: the file was not read to its end
        if query.verb == Verb::Unknown {
            return unknown(query.lead());
        }
        let Some(part) = self.inner.part(query.verb) else { return unknown(query.lead()) };
        let answer = match self.answer(part, query) {
            Ok(answer) => answer,
            Err(problem) => return unknown(problem),
        };
        let rules = answer.reasons.iter().filter_map(|id| part.rules.get(id)).filter(|rule| rule.forbids && rule.later);
        let failed = answer.problem.iter().flat_map(|problem| unknown(problem.clone()));
        rules
            .map(|rule| {
                let mut finding = rule_finding(rule, Outcome::Violation, self.subject, query);
                finding.response = Response::Ask(Answerer::Person);
                let shown = words::shown(file);
                finding.reason = match query.name == file {
                    true => format!("{shown}: {}", filled(&rule.reason, self.subject)),
                    false => format!("once {shown} is used, {}", finding.reason),
                };
                finding.advice = Some("show a person what the file would do".to_owned());
                finding
            })
            .chain(failed)
            .collect()
    }

    /// The findings about one effect: every violation, or one pass, or one unknown. A policy that fails is a violation that a
    /// person answers.
    pub fn screen(&self, query: &EffectFacts) -> Vec<Finding> {
        let Self { inner, subject, .. } = self;
        let unknown = |reason: String| {
            vec![finding(Check::understood(), Outcome::Unknown, Answered::NotUnderstood, reason, query)]
        };
        let Some(part) = inner.part(query.verb) else {
            return unknown(query.lead());
        };
        // neither a setting about unknown programs nor an earlier approval answers for a policy that failed
        let failed = |problem: String| Finding {
            response: Response::Ask(Answerer::Person),
            ..finding(Check::understood(), Outcome::Violation, Answered::NotUnderstood, problem, query)
        };
        let answer = match self.answer(part, query) {
            Ok(answer) => answer,
            Err(problem) => return vec![failed(problem)],
        };
        let rules: Vec<&Rule> = answer.reasons.iter().filter_map(|id| part.rules.get(id)).collect();
        let violations = |rules: &mut dyn Iterator<Item = &&Rule>| {
            let mut findings: Vec<Finding> =
                rules.map(|r| rule_finding(r, Outcome::Violation, subject, query)).collect();
            // denials first, because the first reason is shown
            findings.sort_by(|a, b| (a.response, &a.source).cmp(&(b.response, &b.source)));
            findings
        };
        // a policy that cannot be evaluated takes nothing back of what the others say
        if let Some(problem) = &answer.problem {
            let mut findings = violations(&mut rules.iter().filter(|rule| rule.forbids));
            findings.push(failed(problem.clone()));
            return findings;
        }
        match answer.decision {
            // of several permits the universal one is reported, whatever operators add
            CedarDecision::Allow => rules.iter().min_by_key(|r| (r.file != load::BASE_FILE, &r.id)).map_or_else(
                || unknown("no policy gives a reason".to_owned()),
                |rule| vec![rule_finding(rule, Outcome::Pass, subject, query)],
            ),
            CedarDecision::Deny if rules.is_empty() => unknown(query.lead()),
            CedarDecision::Deny => {
                let allowing: Vec<&Rule> = answer.allowing.iter().filter_map(|id| part.rules.get(id)).collect();
                let stands = |rule: &&&Rule| !allowing.iter().any(|allowing| allowing.allows(rule));
                let findings = violations(&mut rules.iter().filter(stands));
                if findings.is_empty() {
                    let first = allowing.iter().min_by_key(|rule| &rule.id);
                    return first.map_or_else(
                        || unknown(query.lead()),
                        |rule| vec![rule_finding(rule, Outcome::Pass, subject, query)],
                    );
                }
                findings
            }
        }
    }
}

/// The check that a policy answers.
fn check_of(rule: &Rule) -> Check {
    Check {
        category: rule.category.clone(),
        name: rule.check.clone(),
        definition: rule.reason.clone(),
        authority: Authority::Policy,
        required: true,
        kind: CheckKind::Action,
    }
}

fn rule_finding(rule: &Rule, outcome: Outcome, subject: &Subject, query: &EffectFacts) -> Finding {
    let reason = if outcome == Outcome::Pass {
        rule.reason.clone()
    } else {
        format!("{}: {}", query.lead(), filled(&rule.reason, subject))
    };
    Finding {
        response: rule.response,
        declared: rule.severity,
        advice: (outcome == Outcome::Violation).then(|| rule.advice.clone()).flatten(),
        ..finding(check_of(rule), outcome, Answered::Policy(rule.id.clone()), reason, query)
    }
}

/// The reason with `{roles}` and `{name}` replaced by the roles and the name of the identity.
fn filled(reason: &str, subject: &Subject) -> String {
    // bounded and without line breaks, because people read it
    let shown = |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(60).collect() };
    let mut roles: Vec<String> = subject.roles.iter().take(8).map(|r| shown(r)).collect();
    if roles.is_empty() {
        roles.push("(none)".to_owned());
    }
    // one pass, so that a role cannot insert a placeholder
    let mut out = String::with_capacity(reason.len());
    let mut rest = reason;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = if let Some(after) = from.strip_prefix("{roles}") {
            out.push_str(&roles.join(", "));
            after
        } else if let Some(after) = from.strip_prefix("{name}") {
            out.push_str(&shown(&subject.name));
            after
        } else {
            out.push('{');
            from.get(1..).unwrap_or_default()
        };
    }
    out + rest
}

/// Merges violations of one policy by several columns or tables into one finding that names all of them, with the facts
/// of each as evidence. Every other finding is unchanged.
#[must_use]
pub(crate) fn together(subject: &Subject, found: Vec<(&EffectFacts, Finding)>, policy: &Policy) -> Vec<Finding> {
    let data = |q: &EffectFacts| matches!(q.kind, Kind::Column | Kind::Table);
    let mut groups: Vec<(Vec<&EffectFacts>, Finding)> = Vec::with_capacity(found.len());
    for (query, finding) in found {
        let joins = finding.outcome == Outcome::Violation && data(query);
        let same = |(queries, first): &&mut (Vec<&EffectFacts>, Finding)| {
            first.source == finding.source
                && first.outcome == Outcome::Violation
                && queries.first().is_some_and(|q| data(q) && q.verb == query.verb)
        };
        match groups.iter_mut().find(same).filter(|_| joins) {
            Some((queries, first)) => {
                queries.push(query);
                first.evidence.extend(finding.evidence);
            }
            None => groups.push((vec![query], finding)),
        }
    }
    let reworded = |(queries, mut finding): (Vec<&EffectFacts>, Finding)| {
        let rules = queries.first().and_then(|query| policy.inner.part(query.verb)).map(|part| &part.rules);
        let id = match &finding.source {
            Answered::Policy(id) => Some(PolicyId::new(id)),
            _ => None,
        };
        let rule = rules.zip(id).and_then(|(rules, id)| rules.get(&id));
        if let (true, Some(rule)) = (queries.len() > 1, rule) {
            finding.reason = format!("{}: {}", words::lead_of(&queries), filled(&rule.reason, subject));
        }
        finding
    };
    groups.into_iter().map(reworded).collect()
}

fn finding(check: Check, outcome: Outcome, source: Answered, reason: String, query: &EffectFacts) -> Finding {
    let evidence = vec![Evidence { about: format!("{} {}", query.verb, query.name), says: query.facts_in_words() }];
    Finding { evidence, ..Finding::new(check, outcome, source, reason) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn lazy_parsing_finds_all_policies_of_a_verb() {
        let (lazy, proved) = (Policy::base().unwrap(), Policy::base().unwrap().proved().unwrap());
        assert!(lazy.inner.everything.get().is_none() && proved.inner.everything.get().is_some());
        for verb in Verb::ALL.iter().copied() {
            let ids = |policy: &Policy| -> BTreeSet<String> {
                policy.inner.part(verb).unwrap().set.policies().map(|p| p.to_string()).collect()
            };
            assert_eq!(ids(&lazy), ids(&proved), "{verb}");
            assert!(!ids(&lazy).is_empty(), "{verb}");
        }
    }

    #[test]
    fn shipped_policies_have_examples_and_no_groups() {
        let (text, examples) = (include_str!("base.cedar"), include_str!("base.examples.toml"));
        // groups and folders cost time in every request, so they are only resolved for an operator's policies
        assert!(!text.contains("Folder::"));
        for group in schema::GROUPS {
            assert!(!text.contains(&format!("Action::\"{}\"", group.name)), "{}", group.name);
        }
        let ids = text.lines().filter_map(|line| line.strip_prefix("@id(\"")?.strip_suffix("\")"));
        let missing: Vec<&str> = ids.filter(|id| !examples.contains(&format!("\"{id}\""))).collect();
        assert!(missing.is_empty(), "no example names {missing:?}");
    }
}
