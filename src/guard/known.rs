//! What an operator's rows say of an action ([`crate::inhouse`]).

use crate::action::Action;
use crate::check::{Answerer, Check, Evidence, Finding, Outcome, Response, Source};
use crate::effect::{Effect, Kind, Target, Verb};
use crate::inhouse::{Machine, Rows, Word};
use crate::learn;
use crate::policy::EffectFacts;
use std::cell::RefCell;
use std::collections::HashMap;

/// What the rows say of one action.
pub(super) struct Known<'a> {
    rows: &'a Rows,
    action: &'a Action,
    machine: Option<Machine<'a>>,
    /// What they say of it as a call of a tool.
    called: Option<Word>,
    /// Whether it fetches something from elsewhere.
    fetches: bool,
    /// What they say of it as runs of programs, by the name of the program.
    runs: RefCell<HashMap<String, Option<Word>>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(rows: &'a Rows, action: &'a Action, machine: Option<Machine<'a>>) -> Self {
        Self { rows, action, machine, called: rows.word(action, machine), fetches: false, runs: RefCell::default() }
    }

    /// Gives the call of a described tool the verb that its row says.
    pub(super) fn retype(&self, effects: &mut [Effect]) {
        let Some((verb, operation)) = self.called.as_ref().and_then(|word| word.does) else { return };
        for effect in effects.iter_mut().filter(|effect| matches!(effect.target, Target::Named(Kind::Tool, _))) {
            effect.verb = verb;
            operation.clone_into(&mut effect.operation);
        }
    }

    /// Notes whether the action fetches something from elsewhere.
    pub(super) fn note(&mut self, effects: &[Effect]) {
        let fetches =
            |effect: &Effect| matches!(effect.target, Target::Named(Kind::Url | Kind::Host | Kind::Remote, _));
        self.fetches = effects.iter().any(fetches);
    }

    /// Answers what a finding asks about a described call as such. `commands`: what the action runs.
    pub(super) fn answer(&self, query: &EffectFacts, commands: &[Vec<String>], mut finding: Finding) -> Finding {
        let open = finding.outcome != Outcome::Pass;
        let Some(word) = self.about(query, commands).filter(|_| open) else { return finding };
        if word.outside.is_none() && learn::answerable(&finding) {
            let says = std::mem::replace(&mut finding.reason, format!("{} describes this call", word.file));
            finding.evidence.push(Evidence { about: "answered finding".to_owned(), says });
            finding.outcome = Outcome::Pass;
            finding.source = Source::Policy(word.file);
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
        self.of_program(name, commands)
    }

    /// What the rows say of the commands that run a program. What may come from elsewhere is none of its everyday files.
    fn of_program(&self, name: &str, commands: &[Vec<String>]) -> Option<Word> {
        if let Some(known) = self.runs.borrow().get(name) {
            return known.clone();
        }
        let mut word = self.rows.command_word(name, self.action, commands, self.machine);
        if let Some(word) =
            word.as_mut().filter(|word| self.fetches && !word.paths.is_empty() && word.outside.is_none())
        {
            let why = "the same action fetches something and may pass it to this command; run the command in an action of its own";
            word.outside = Some(format!("{} does not describe this call: {why}", word.file));
        }
        self.runs.borrow_mut().insert(name.to_owned(), word.clone());
        word
    }

    /// The findings about calls of described tools and programs that no row describes.
    pub(super) fn outside(&self, commands: &[Vec<String>]) -> Vec<Finding> {
        let programs = self.rows.programs(commands, self.machine);
        let of_programs = programs.iter().filter_map(|program| self.of_program(program, commands));
        self.called.iter().cloned().chain(of_programs).filter_map(|word| outside(&word)).collect()
    }
}

/// The finding about a call that is outside of everyday use.
fn outside(word: &Word) -> Option<Finding> {
    let reason = word.outside.clone()?;
    let check = Check::integrity("everyday use", "the operator's row describes this call");
    let mut finding = Finding::new(check, Outcome::Violation, Source::Policy(word.file.clone()), reason);
    finding.advice = Some("let a person decide, or change the row if this is everyday use".to_owned());
    if !word.denies {
        finding.response = Response::Ask(Answerer::Model);
    }
    Some(finding)
}
