//! What an operator's rows say of an action ([`crate::inhouse`]).

use crate::action::Action;
use crate::check::{Answerer, Check, Evidence, Finding, Outcome, Response, Source};
use crate::effect::{Effect, Kind, Target, Verb};
use crate::inhouse::{Machine, Rows, Word};
use crate::learn;
use crate::policy::EffectFacts;

/// What the rows say of one action.
pub(super) struct Known<'a> {
    rows: &'a Rows,
    action: &'a Action,
    machine: Option<Machine<'a>>,
    /// What they say of it as a call of a tool.
    called: Option<Word>,
}

impl<'a> Known<'a> {
    pub(super) fn new(rows: &'a Rows, action: &'a Action, machine: Option<Machine<'a>>) -> Self {
        Self { rows, action, machine, called: rows.word(action, machine) }
    }

    /// Gives the call of a described tool the verb that its row says.
    pub(super) fn retype(&self, effects: &mut [Effect]) {
        let Some((verb, operation)) = self.called.as_ref().and_then(|word| word.does) else { return };
        for effect in effects.iter_mut().filter(|effect| matches!(effect.target, Target::Named(Kind::Tool, _))) {
            effect.verb = verb;
            operation.clone_into(&mut effect.operation);
        }
    }

    /// Answers what a finding asks about a described call as such. `commands`: what the action runs.
    pub(super) fn answer(&self, query: &EffectFacts, commands: &[Vec<String>], mut finding: Finding) -> Finding {
        let open = finding.outcome != Outcome::Pass;
        let Some(word) = self.about(query, commands).filter(|_| open) else { return finding };
        match word.outside {
            None if learn::answerable(&finding) => {
                let says = std::mem::replace(&mut finding.reason, format!("{} describes this call", word.file));
                finding.evidence.push(Evidence { about: "answered finding".to_owned(), says });
                finding.outcome = Outcome::Pass;
                finding.source = Source::Policy(word.file);
            }
            Some(why) if query.kind != Kind::Tool => {
                finding.reason = format!("{}; {} does not describe this call: {why}", finding.reason, word.file);
                if word.denies {
                    (finding.outcome, finding.response) = (Outcome::Violation, Response::Deny);
                }
            }
            _ => {}
        }
        finding
    }

    fn about(&self, query: &EffectFacts, commands: &[Vec<String>]) -> Option<Word> {
        let name = match query.kind {
            Kind::Tool => return self.called.clone(),
            _ if query.verb != Verb::Unknown => return None,
            Kind::Program | Kind::Script => &query.name,
            Kind::Path => &query.program,
            _ => return None,
        };
        self.rows.command_word(name, self.action, commands, self.machine)
    }

    /// The finding about a call of a tool that its row does not describe.
    pub(super) fn outside(&self) -> Option<Finding> {
        let word = self.called.as_ref()?;
        let why = word.outside.as_ref()?;
        let check = Check::integrity("everyday use", "the operator's row describes this call of the tool");
        let reason = format!("{} does not describe this call: {why}", word.file);
        let mut finding = Finding::new(check, Outcome::Violation, Source::Policy(word.file.clone()), reason);
        if !word.denies {
            finding.response = Response::Ask(Answerer::Model);
        }
        Some(finding)
    }
}
