//! The deterministic stages of a check: canonicalise, effects, facts, screen.

use super::known::Known;
use super::origin::Operation;
use super::project::{self, Projects};
use super::{Settings, UnknownPrograms};
use crate::action::{Action, Context};
use crate::canonical::{self, canonical};
use crate::check::{Answerer, Check, Finding, Outcome, Response, Source};
use crate::effect::Kind;
use crate::effect::shell::Later;
use crate::effect::{self, Cause, Effect, Verb};
use crate::facts::{self, Approved, ScreenInput};
use crate::inhouse::{Machine, Rows};
use crate::policy::{self, EffectFacts, Policy};
use crate::shape::Event;
use crate::untrusted::Secrets;
use std::borrow::Cow;
use std::collections::HashSet;
use tracing::debug_span;

/// The effects of an action, their facts, and the findings of the policies.
#[derive(Debug, Default)]
pub(super) struct Understood {
    pub effects: Vec<Effect>,
    pub gathered: ScreenInput,
    pub findings: Vec<Finding>,
    /// The projects with policies of their own.
    pub projects: project::Found,
    /// Paths and digests of the scripts whose content was parsed.
    pub scripts: Vec<(String, String)>,
    /// The commands that the parser found.
    pub commands: Vec<Vec<String>>,
    /// What the action does as a whole, if something compares it or the steps are shown.
    pub events: Vec<Event>,
    pub action_digest: String,
    pub trace: Vec<String>,
}

impl Understood {
    /// Looks for the policies of projects and adds what they say about the effects.
    pub(super) fn screen_projects(&mut self, projects: &Projects, action: &Action, context: &Context) {
        let (cwd, account) = (folder_of(action), facts::account(context));
        let find = || projects.find(context.environment.as_ref(), &account, &cwd, &self.gathered);
        self.projects = debug_span!("projects").in_scope(find);
        let found = self.projects.screen(&self.gathered);
        self.trace.extend(found.iter().map(|f| format!("policy: {} -> {:?}: {}", f.source, f.outcome, f.reason)));
        self.findings.extend(found);
    }

    /// Adds what policies say about the action as a whole.
    pub(super) fn screen_events(&mut self, policy: &Policy) {
        let screener = policy.screener(&self.gathered.subject);
        self.findings.extend(screener.screen_events(self.events.iter().map(Event::facts), None));
        self.findings.extend(self.projects.screen_events(&self.gathered, &self.events));
    }

    /// Adds the events to the steps, in the words that policies use.
    pub(super) fn explain_events(&mut self) {
        self.trace.extend(self.events.iter().map(|event| format!("event: {}", event.facts().in_words())));
    }
}

/// SHA-256 of action, identity, request and agent, hexadecimal.
pub(super) fn digest(action: &Action, context: &Context) -> String {
    crate::digest([
        serde_json::to_vec(action).unwrap_or_default(),
        serde_json::to_vec(&context.identity).unwrap_or_default(),
        context.request.clone().into_bytes(),
        context.agent.clone().into_bytes(),
    ])
}

pub(super) fn understand(
    action: &Action,
    context: &Context,
    policy: &Policy,
    settings: &Settings,
    rows: &Rows,
    operation: Operation,
    approved: Approved<'_>,
) -> Understood {
    let mut trace = operation.trace;
    let account = facts::account(context);
    let who = effect::Who { name: &account.name, home: account.tilde() };
    let around: &dyn effect::shell::FileSource = match &context.environment {
        Some(environment) => environment,
        None => &effect::shell::NoFiles,
    };
    let providing = effect::shell::Providing(around, &settings.library);
    let around: &dyn effect::shell::FileSource = &providing;
    let typing = effect::shell::Typing(around);
    let around: &dyn effect::shell::FileSource = if context.typed { &typing } else { around };
    let seen = effect::shell::Seen::new(around);

    let mut reading = debug_span!("effects").in_scope(|| extract_effects(action, who, &seen, &mut trace));
    reading.effects.iter_mut().for_each(|effect| is_of(effect, &operation.name));
    let machine = context.environment.as_ref().map(|environment| Machine { environment, account: &account });
    let mut known = Known::new(rows, action, machine);
    known.retype(&mut reading.effects);
    known.note(&reading.effects);

    let cwd = folder_of(action);
    // a secret that the user gave goes where the user says
    let written = Secrets::of([action.text().as_ref()]).are_more_than(&context.request);
    let around = facts::Surroundings {
        own: &settings.own,
        ports: &settings.ports,
        cwd: &cwd,
        approved,
        seen: Some(&seen),
        written,
    };
    let gathered =
        debug_span!("facts").in_scope(|| facts::gather(&reading.effects, context, &account, &settings.urls, around));

    let answer = |query: &EffectFacts, finding| {
        known.answer(query, &reading.commands, settings.unknown_programs.apply(query, finding))
    };
    let mut screened = |gathered: &ScreenInput| screen(gathered, policy, settings.explain, &answer, &mut trace);
    let mut findings = debug_span!("screen").in_scope(|| screened(&gathered));
    let probe = |effects: &[Effect]| facts::gather(effects, context, &account, &settings.urls, around);
    if let Some(or) = operation.or {
        let mut other = reading.effects.clone();
        other.iter_mut().for_each(|effect| is_of(effect, or));
        findings = either((&operation.name, findings), (or, screened(&probe(&other))));
    }
    findings.extend(debug_span!("later").in_scope(|| screen_later(&reading.later, probe, policy, &mut trace)));
    // it says more than what policies ask about every call
    findings.splice(0..0, known.outside(&reading.commands));
    if reading.effects.is_empty() && !action.text().trim().is_empty() {
        findings.push(harmless());
    }
    Understood {
        commands: reading.commands,
        events: Vec::new(),
        action_digest: digest(action, context),
        effects: reading.effects,
        gathered,
        findings,
        projects: project::Found::default(),
        scripts: reading.scripts,
        trace,
    }
}

/// The folder in which a command runs; empty if it is not known.
fn folder_of(action: &Action) -> Cow<'_, str> {
    match action {
        Action::Shell { cwd: Some(cwd), .. } => cwd.to_string_lossy(),
        _ => Cow::Borrowed(""),
    }
}

/// Parses the raw form of an action and, if it differs, the canonical form, too.
fn extract_effects(
    action: &Action,
    who: effect::Who<'_>,
    around: &dyn effect::shell::FileSource,
    trace: &mut Vec<String>,
) -> effect::shell::Reading {
    let text = action.text();
    let form = canonical(&text, &canonical::Budget::default());
    let mut reading = effect::extract_effects(action, who, around);
    trace.push(format!("canonical form: {}", form.describe()));
    if form.changed {
        let other = effect::extract_effects(&action.with_text(form.text.to_string()), who, around);
        reading.join(other);
    }
    if !form.hidden.is_empty() {
        reading.effects.push(Effect::unknown(Cause::Obfuscated, &form.describe(), action.kind()));
    }
    trace.extend(reading.steps.iter().map(|step| format!("effects: {step}")));
    reading
}

/// Sets the operation of a step on the web.
fn is_of(effect: &mut Effect, operation: &str) {
    if effect.verb == Verb::Browse {
        operation.clone_into(&mut effect.operation);
    }
}

/// The findings about a task with two readings, each with its name. If policies stop only one of them, a person is asked.
fn either((name, found): (&str, Vec<Finding>), (or, other): (&str, Vec<Finding>)) -> Vec<Finding> {
    let stops = |finding: &Finding| !matches!(finding.outcome, Outcome::Pass | Outcome::Discarded);
    let asking = |reading: &str, against: &str, mut finding: Finding| {
        if stops(&finding) {
            if finding.response == Response::Deny {
                finding.response = Response::Ask(Answerer::Model);
            }
            finding.reason.push_str(&format!(", if the task is '{reading}'; it could also be '{against}'"));
        }
        finding
    };
    match (found.iter().any(stops), other.iter().any(stops)) {
        (true, false) => found.into_iter().map(|finding| asking(name, or, finding)).collect(),
        (false, true) => other.into_iter().map(|finding| asking(or, name, finding)).collect(),
        _ => found,
    }
}

/// Authorises each effect. `answer`: what settings and operators say of a finding.
fn screen(
    gathered: &ScreenInput,
    policy: &Policy,
    explain: bool,
    answer: &dyn Fn(&EffectFacts, Finding) -> Finding,
    trace: &mut Vec<String>,
) -> Vec<Finding> {
    let mut screened = Vec::new();
    let screener = policy.screener(&gathered.subject);
    for query in &gathered.queries {
        let found = screener.screen(query);
        if explain {
            trace.push(format!(
                "effect: {} {} [{}]",
                query.verb,
                query.name.replace(effect::UNKNOWN_SPAN, "…"),
                query.facts_in_words()
            ));
            trace.extend(found.iter().map(|f| format!("policy: {} -> {:?}: {}", f.source, f.outcome, f.reason)));
        }
        screened.extend(found.into_iter().map(|f| (query, answer(query, f))));
    }
    policy::together(&gathered.subject, screened, policy)
}

/// Authorises what the written files do once something runs them. Each policy is reported once for each file.
fn screen_later(
    later: &[Later],
    probe: impl Fn(&[Effect]) -> ScreenInput,
    policy: &Policy,
    trace: &mut Vec<String>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for one_file in later.chunk_by(|one, next| one.file == next.file) {
        let Some(Later { file, .. }) = one_file.first() else { continue };
        let effects: Vec<Effect> = one_file.iter().map(|later| later.effect.clone()).collect();
        let gathered = probe(&effects);
        let screener = policy.screener(&gathered.subject);
        let mut seen = HashSet::new();
        let found = gathered.queries.iter().flat_map(|query| screener.screen_later(file, query));
        findings.extend(found.filter(|finding| seen.insert(finding.source.to_string())));
    }
    trace.extend(findings.iter().map(|finding| format!("later: {}", finding.reason)));
    findings
}

/// The finding for an action that was parsed completely and has no effect.
fn harmless() -> Finding {
    let reason = "the action is known to have no effect on the system".to_owned();
    Finding::new(Check::understood(), Outcome::Pass, Source::NoEffect, reason)
}

impl UnknownPrograms {
    /// Applies the setting to a finding about an unknown program. Other findings are unchanged.
    fn apply(self, query: &EffectFacts, mut finding: Finding) -> Finding {
        if !matches!(query.kind, Kind::Program | Kind::Option) || finding.outcome != Outcome::Unknown {
            return finding;
        }
        match self {
            Self::Ask => {}
            // not for the superuser
            Self::Allow if query.runs_as_root => {}
            Self::Allow => {
                finding.outcome = Outcome::Pass;
                finding.reason.push_str("; the configuration allows unknown programs");
            }
            Self::Deny => {
                finding.outcome = Outcome::Violation;
                finding.reason.push_str("; the configuration denies unknown programs");
            }
        }
        finding
    }
}
