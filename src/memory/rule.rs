//! Rules that were induced from reports: an entry with a condition.

use super::Memory;
use super::entry::{Entry, Key, LearnedCheck, Provenance, Status, Trigger};
use super::error::{MemoryError, Refusal};
use super::learn::new_entry;
use super::store::Vector;
use crate::shape::Condition;
use crate::untrusted::Secrets;

/// Most bytes of the JSON of a condition; the newest examples are dropped first, which its patterns cover.
const CONDITION: usize = 512 * 1024;

/// A rule as it shall be kept.
#[derive(Debug)]
pub(crate) struct Ruling {
    /// The entry of which it is the next version, and the version from which it was made; `None` for a new one.
    pub entry: Option<(String, u64)>,
    /// The paraphrase of the first report.
    pub key: Key,
    /// The check that it answers.
    pub check: LearnedCheck,
    /// What recalls it.
    pub triggers: Vec<Trigger>,
    /// Its condition.
    pub condition: Condition,
    /// Who reported.
    pub principal: String,
    /// The project, if known.
    pub project: Option<String>,
    /// The source: `feedback:...:VERDICT`.
    pub source: String,
}

impl Memory {
    /// Keeps a rule, as a new entry or as the next version of one. If somebody else changed that one meanwhile, it becomes
    /// a new entry, so that neither change is lost.
    ///
    /// # Errors
    /// [`MemoryError::Refused`] if the entry was withdrawn or holds something else.
    pub(crate) fn rule(&self, mut ruling: Ruling) -> Result<Entry, MemoryError> {
        let size = |condition: &Condition| serde_json::to_vec(condition).map_or(usize::MAX, |bytes| bytes.len());
        while size(&ruling.condition) > CONDITION && ruling.condition.examples.len() > 1 {
            ruling.condition.examples.pop();
        }
        let secrets = Secrets::default();
        let clean = |text: &str| secrets.redact(text).into_owned();
        self.write(|w| {
            let head = ruling.entry.as_ref().map(|(id, version)| Ok::<_, MemoryError>((w.head(id)?.entry, *version)));
            let head = head.transpose()?;
            let next = head.filter(|(entry, version)| entry.version == *version).map(|(entry, _)| entry);
            let what = if next.is_some() { "revise" } else { "learn" };
            let mut entry = match next {
                None => {
                    let provenance = Provenance {
                        taught_by: ruling.source.clone(),
                        principal: ruling.principal.clone(),
                        project: ruling.project.clone(),
                        tainted: false,
                    };
                    let key = Key { natural: clean(&ruling.key.natural), command: clean(&ruling.key.command) };
                    let mut entry = new_entry(key, provenance, w.now_ms);
                    entry.status = Status::Active;
                    entry
                }
                Some(entry) => {
                    if entry.status != Status::Active || entry.condition.is_none() {
                        return Err(Refusal::Withdrawn.into());
                    }
                    entry
                }
            };
            entry.checks = vec![LearnedCheck { definition: clean(&ruling.check.definition), ..ruling.check }];
            entry.triggers = ruling.triggers;
            entry.condition = Some(ruling.condition);
            w.put(entry, &Vector::Keep(None), &ruling.source, what)
        })
    }
}
