//! Approvals that a person widens.
//!
//! 1. [`Memory::arguments`] shows the arguments of an action that a person may approve, and which of them can be opened.
//! 2. [`Memory::would_pass`] replays a widening over the recorded decisions before it exists.
//! 3. [`Memory::widen`] keeps it: from then on actions pass that differ from the approved one in the opened arguments alone
//!    ([`Widening`]). It answers what the person was asked about and nothing else: what policy denies stays denied, and
//!    it holds for one identity and one agent.
//! 4. [`Memory::proposals`] are widenings that earlier answers suggest: actions that were approved several times and differed in
//!    one argument alone.

use super::FeedbackError;
use super::feedback::{Record, approvable_record};
use crate::clock::now_ms;
use crate::memory::{DecisionRecord, Entry, Grant, Memory};
use crate::shape::{Shape, Widening};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Number of approved actions that propose a widening.
const ENOUGH: usize = 3;
/// Most arguments that are opened at once: each multiplies the effects that have to be compared.
const OPEN: usize = 4;

/// An argument of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// Its number, from 1.
    pub number: usize,
    /// Its value.
    pub value: String,
    /// Whether it can be opened: whether another value of its kind could be told from a different action.
    pub opens: bool,
}

/// A widening that earlier answers suggest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// Id of the verdict on one of the approved actions.
    pub verdict: String,
    /// Number of the argument in which they differed, from 1.
    pub argument: usize,
    /// The approved actions: ids of their verdicts.
    pub approved: Vec<String>,
}

impl Memory {
    /// The arguments of the action that a verdict was about.
    ///
    /// # Errors
    /// [`FeedbackError::NotApprovable`] if it cannot be approved.
    pub fn arguments(&self, verdict: &str) -> Result<Vec<Argument>, FeedbackError> {
        let (_, shape, _) = approved(self, verdict)?;
        let numbered = shape.arguments().into_iter().enumerate();
        Ok(numbered.map(|(place, value)| Argument { number: place + 1, opens: shape.opens(&value), value }).collect())
    }

    /// The recorded actions that a person was asked about and that a widening of the approval of `verdict` along the arguments
    /// `open` (numbers from 1) would have let pass, in the order of the record; the action itself among them.
    ///
    /// # Errors
    /// [`FeedbackError::NotApprovable`] if it cannot be approved, or an argument cannot be opened.
    pub fn would_pass(
        &self,
        verdict: &str,
        open: &[usize],
        record: &[DecisionRecord],
    ) -> Result<Vec<String>, FeedbackError> {
        let (_, shape, outline) = approved(self, verdict)?;
        let widening = opened(verdict, shape, open)?;
        let passes = |decision: &&DecisionRecord| {
            let record: Option<Record> = serde_json::from_str(&decision.record).ok();
            let same = |record: &Record| record.outline.as_ref() == Some(&outline);
            let shape = record.filter(same).filter(approvable_record).and_then(|record| record.shape);
            shape.is_some_and(|shape| widening.admits(&shape))
        };
        Ok(record.iter().filter(passes).map(|decision| decision.id.clone()).collect())
    }

    /// Lets actions pass that differ from the one that `verdict` was about in the arguments `open` (numbers from 1) alone,
    /// `uses` times within `days` days. The caller has to make sure that it is a person who asks for it.
    ///
    /// # Errors
    /// [`FeedbackError::NotApprovable`] if it cannot be approved, or an argument cannot be opened.
    pub fn widen(&self, verdict: &str, open: &[usize], uses: u32, days: u32) -> Result<Entry, FeedbackError> {
        let (record, shape, outline) = approved(self, verdict)?;
        let widening = opened(verdict, shape, open)?;
        Ok(self.approve(&Grant {
            key: record.key.clone(),
            signature: outline,
            principal: record.identity.name.clone(),
            project: Some(record.agent.clone()),
            uses,
            expires_ms: now_ms().saturating_add(i64::from(days).saturating_mul(86_400_000)),
            taught_by: format!("feedback:widen:{verdict}"),
            widening: Some(widening),
        })?)
    }

    /// The widenings that earlier answers suggest. `answered`: ids of the verdicts that a person approved, wherever; those in
    /// the memory itself are added.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn proposals(
        &self,
        answered: &BTreeSet<String>,
        record: &[DecisionRecord],
    ) -> Result<Vec<Proposal>, FeedbackError> {
        let mut groups: BTreeMap<String, Vec<(&str, Shape)>> = BTreeMap::new();
        let given = self.approved()?;
        for decision in record.iter().filter(|decision| answered.contains(&decision.id) || given.contains(&decision.id))
        {
            let Ok(found) = serde_json::from_str::<Record>(&decision.record) else { continue };
            if let (true, Some(outline), Some(shape)) = (approvable_record(&found), &found.outline, &found.shape) {
                groups.entry(outline.clone()).or_default().push((&decision.id, shape.clone()));
            }
        }
        let widened = self.widenings()?;
        let mut found = Vec::new();
        for (_, mut group) in groups {
            group.retain(|(_, shape)| !widened.iter().any(|widening| widening.admits(shape)));
            let places = group.first().map_or(0, |(_, shape)| shape.arguments().len());
            found.extend((0..places).flat_map(|place| along(place, &group)));
        }
        Ok(found)
    }
}

/// The widenings along one argument that actions of one outline suggest.
fn along(place: usize, group: &[(&str, Shape)]) -> Vec<Proposal> {
    let mut left: Vec<&(&str, Shape)> = group.iter().collect();
    let mut found = Vec::new();
    while let Some((verdict, first)) = left.first().copied() {
        let widening = Widening { shape: first.clone(), open: BTreeSet::from([place]) };
        let (alike, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, shape)| widening.admits(shape));
        // what does not admit itself has an argument that cannot be compared
        left = others.into_iter().filter(|(id, _)| id != verdict).collect();
        let forms: BTreeSet<String> = alike.iter().map(|(_, shape)| shape.form.to_string()).collect();
        if forms.len() >= ENOUGH {
            let approved = alike.iter().map(|(id, _)| (*id).to_owned()).collect();
            found.push(Proposal { verdict: (*verdict).to_owned(), argument: place + 1, approved });
        }
    }
    found
}

/// The record of a verdict on an action that can be approved, with its shape and its outline.
fn approved(memory: &Memory, verdict: &str) -> Result<(Record, Shape, String), FeedbackError> {
    let mut record = super::feedback::recorded(memory, verdict)?;
    super::feedback::check_approvable(verdict, &record)?;
    match (record.shape.take(), record.outline.clone()) {
        (Some(shape), Some(outline)) => Ok((record, shape, outline)),
        _ => Err(FeedbackError::NotApprovable {
            id: verdict.to_owned(),
            why: "it holds a secret, has too many effects to compare, or was recorded by an earlier release",
        }),
    }
}

fn opened(verdict: &str, shape: Shape, open: &[usize]) -> Result<Widening, FeedbackError> {
    let cannot = |why| FeedbackError::NotApprovable { id: verdict.to_owned(), why };
    let values = shape.arguments();
    let mut places = BTreeSet::new();
    for number in open {
        let place = number.checked_sub(1).filter(|place| *place < values.len());
        let place = place.ok_or_else(|| cannot("it has no argument of that number"))?;
        if !values.get(place).is_some_and(|value| shape.opens(value)) {
            return Err(cannot(
                "the argument cannot be opened: another value could not be told from a different action",
            ));
        }
        places.insert(place);
    }
    if places.len() > OPEN {
        return Err(cannot("more than four arguments are opened"));
    }
    if places.is_empty() {
        return Err(cannot("no argument is opened; approve it as it stands, or name an argument"));
    }
    Ok(Widening { shape, open: places })
}
