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
    /// The files that it writes, if it also connects to somewhere.
    brought: Vec<String>,
}

impl<'a> Known<'a> {
    pub(super) fn new(rows: &'a Rows, action: &'a Action, machine: Option<Machine<'a>>) -> Self {
        Self { rows, action, machine, called: rows.word(action, machine), brought: Vec::new() }
    }

    /// Gives the call of a described tool the verb that its row says.
    pub(super) fn retype(&self, effects: &mut [Effect]) {
        let Some((verb, operation)) = self.called.as_ref().and_then(|word| word.does) else { return };
        for effect in effects.iter_mut().filter(|effect| matches!(effect.target, Target::Named(Kind::Tool, _))) {
            effect.verb = verb;
            operation.clone_into(&mut effect.operation);
        }
    }

    /// Notes the files that come from elsewhere.
    pub(super) fn note(&mut self, effects: &[Effect]) {
        let connects = |effect: &Effect| matches!(effect.target, Target::Named(Kind::Url | Kind::Host, _));
        if effects.iter().any(connects) {
            let changes = |verb: Verb| !matches!(verb, Verb::Read | Verb::List | Verb::Unknown);
            let written =
                effects.iter().filter(|effect| changes(effect.verb)).filter_map(|effect| match &effect.target {
                    Target::Path(path) => Some(path.clone()),
                    Target::Named(..) => None,
                });
            // an installation that may write anywhere in a project says nothing of one file
            self.brought = written.filter(|path| !self.is_above(path)).collect();
        }
    }

    /// Whether the action works in a folder or below it.
    fn is_above(&self, folder: &str) -> bool {
        let Action::Shell { cwd: Some(cwd), .. } = self.action else { return false };
        cwd.starts_with(folder)
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

    /// What the rows say of the commands that run a program. A file that comes from elsewhere is none of its everyday ones.
    fn of_program(&self, name: &str, commands: &[Vec<String>]) -> Option<Word> {
        let mut word = self.rows.command_word(name, self.action, commands, self.machine)?;
        let within = |path: &str, folder: &String| path == folder || path.starts_with(&format!("{folder}/"));
        let from = |path: &&String| self.brought.iter().any(|brought| within(path, brought));
        if let Some(path) = word.paths.iter().find(from) {
            word.outside = Some(format!("{path} comes from elsewhere in the same action"));
        }
        Some(word)
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
