//! Searching the recorded decisions.

use super::Memory;
use super::error::MemoryError;
use super::history::{DecisionRecord, decision_record};
use rusqlite::{named_params, params};
use std::time::Duration;

/// Longest search.
const SLOW: Duration = Duration::from_secs(10);
/// Most words of a search.
const WORDS: usize = 8;

/// Which decisions to find. An empty field restricts nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DecisionFilter {
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// Name of the agent.
    pub agent: String,
    /// Name of the identity.
    pub identity: String,
    /// Who stopped it: `policy:ID`, or the id alone.
    pub rule: String,
    /// A folder: the decisions on commands that were to run in it or below.
    pub folder: String,
    /// Words that the action, the request or the reason contains, in upper or lower case (of ASCII); the first eight.
    pub words: String,
    /// From when on, and until when, in milliseconds since 1970.
    pub from_ms: i64,
    pub until_ms: Option<i64>,
}

/// Where a page of decisions ends: time and id of its last one.
pub(crate) type Place = (i64, String);

const WHERE: &str = "
    at_ms >= :from AND at_ms <= :until AND (at_ms, id) < (:at, :id)
    AND (:decision = '' OR decision = :decision)
    AND (:agent = '' OR record ->> '$.agent' = :agent)
    AND (:identity = '' OR record ->> '$.identity.name' = :identity)
    AND (:folder IS NULL OR record ->> '$.action.cwd' = :folder
        OR substr(record ->> '$.action.cwd', 1, length(:folder) + 1) = :folder || '/')
    AND (:words IS NULL OR NOT EXISTS (
        SELECT 1 FROM json_each(:words) word WHERE
            instr(lower(coalesce(record ->> '$.request', '')), lower(word.value)) = 0
            AND instr(lower(coalesce(record ->> '$.verdict.reason', '')), lower(word.value)) = 0
            AND NOT EXISTS (
                SELECT 1 FROM json_tree(record, '$.action') part WHERE instr(lower(part.atom), lower(word.value)) > 0)))
    AND (:rule = '' OR EXISTS (
        SELECT 1 FROM json_each(record, '$.verdict.findings') found WHERE
            found.value ->> '$.by' IN (:rule, 'policy:' || :rule)
            AND found.value ->> '$.outcome' IN ('violation', 'unknown')))";

impl Memory {
    /// The newest decisions that a filter finds and that are older than `before`, newest first; at most `limit`.
    ///
    /// # Errors
    /// [`MemoryError::Locked`], [`MemoryError::Corrupt`], [`MemoryError::TooSlow`].
    pub(crate) fn find_decisions(
        &self,
        filter: &DecisionFilter,
        before: Option<&Place>,
        limit: usize,
    ) -> Result<Vec<DecisionRecord>, MemoryError> {
        let sql = format!(
            "SELECT id, at_ms, action, facts, policy, memory_version, decision, record FROM decision WHERE {WHERE} \
             ORDER BY at_ms DESC, id DESC LIMIT :limit"
        );
        // a JSON list for SQLite's json_each
        let words: Vec<&str> = filter.words.split_whitespace().take(WORDS).collect();
        let words = (!words.is_empty()).then(|| serde_json::json!(words).to_string());
        // the root is the empty folder: what is below it begins with a slash
        let folder = (!filter.folder.is_empty()).then(|| filter.folder.trim_end_matches('/'));
        let (at, id) = before.map_or((i64::MAX, ""), |(at, id)| (*at, id.as_str()));
        self.inner.store.with_slow_reader(SLOW, |c| {
            let mut statement = c.prepare_cached(&sql)?;
            let rows = statement.query_map(
                named_params! {
                    ":from": filter.from_ms, ":until": filter.until_ms.unwrap_or(i64::MAX), ":at": at, ":id": id,
                    ":decision": filter.decision, ":agent": filter.agent, ":identity": filter.identity,
                    ":folder": folder, ":words": words, ":rule": filter.rule,
                    ":limit": i64::try_from(limit).unwrap_or(i64::MAX),
                },
                decision_record,
            )?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    /// Calls `each` with the time and the record of each decision from `from_ms` on, newest first; at most `limit`.
    ///
    /// # Errors
    /// [`MemoryError::Locked`], [`MemoryError::Corrupt`], [`MemoryError::TooSlow`].
    pub(crate) fn each_decision(
        &self,
        from_ms: i64,
        limit: usize,
        mut each: impl FnMut(i64, &str),
    ) -> Result<(), MemoryError> {
        self.inner.store.with_slow_reader(SLOW, |c| {
            let sql = "SELECT at_ms, record FROM decision WHERE at_ms >= ?1 ORDER BY at_ms DESC LIMIT ?2";
            let mut statement = c.prepare_cached(sql)?;
            let mut rows = statement.query(params![from_ms, i64::try_from(limit).unwrap_or(i64::MAX)])?;
            while let Some(row) = rows.next()? {
                each(row.get(0)?, row.get_ref(1)?.as_str().unwrap_or_default());
            }
            Ok(())
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn memory() -> Memory {
        let memory = Memory::in_memory("none", 2).unwrap();
        for n in 0..10_i64 {
            let folder = if n < 5 { "/srv/shop" } else { "/srv/shopping" };
            let record = json!({
                "action": {"type": "shell", "command": format!("rm \"file{n}\" C:\\x"), "cwd": folder}, "request": "Tidy UP",
                "agent": if n % 2 == 0 { "a" } else { "b" }, "identity": {"name": "mila"},
                "verdict": {"reason": "no commit holds it", "findings": [{"by": "policy:lost", "outcome": if n == 3 { "violation" } else { "pass" }}]},
            });
            memory
                .record_decision(&DecisionRecord {
                    id: format!("V{n}"),
                    at_ms: 1_000 + n / 2,
                    action_digest: String::new(),
                    facts_digest: String::new(),
                    policy_digest: String::new(),
                    memory_version: 0,
                    decision: if n == 3 { "ask" } else { "allow" }.to_owned(),
                    record: record.to_string(),
                })
                .unwrap();
        }
        memory
    }

    fn ids(memory: &Memory, filter: &DecisionFilter) -> Vec<String> {
        memory.find_decisions(filter, None, 50).unwrap().into_iter().map(|found| found.id).collect()
    }

    #[test]
    fn each_field_restricts() {
        let memory = memory();
        let any = DecisionFilter::default();
        assert_eq!(ids(&memory, &any).len(), 10);
        assert_eq!(ids(&memory, &DecisionFilter { decision: "ask".to_owned(), ..any.clone() }), ["V3"]);
        assert_eq!(ids(&memory, &DecisionFilter { rule: "lost".to_owned(), ..any.clone() }), ["V3"]);
        assert_eq!(ids(&memory, &DecisionFilter { rule: "policy:lost".to_owned(), ..any.clone() }), ["V3"]);
        assert_eq!(ids(&memory, &DecisionFilter { agent: "b".to_owned(), ..any.clone() }).len(), 5);
        assert_eq!(ids(&memory, &DecisionFilter { identity: "eve".to_owned(), ..any.clone() }).len(), 0);
        let below = |folder: &str| ids(&memory, &DecisionFilter { folder: folder.to_owned(), ..any.clone() }).len();
        assert_eq!(
            (below("/srv/shop"), below("/srv/shop/"), below("/srv"), below("/sr"), below("/")),
            (5, 5, 10, 0, 10)
        );
        let saying = |words: &str| ids(&memory, &DecisionFilter { words: words.to_owned(), ..any.clone() }).len();
        assert_eq!(
            (saying("RM tidy commit"), saying("file7"), saying("file7 nothing"), saying("100%_'\"")),
            (10, 1, 0, 0)
        );
        let since = DecisionFilter { from_ms: 1_002, until_ms: Some(1_003), ..any };
        assert_eq!(ids(&memory, &since), ["V7", "V6", "V5", "V4"]);
    }

    #[test]
    fn pages_neither_skip_nor_repeat() {
        let memory = memory();
        let (mut before, mut seen): (Option<Place>, Vec<String>) = (None, Vec::new());
        loop {
            let page = memory.find_decisions(&DecisionFilter::default(), before.as_ref(), 3).unwrap();
            let Some(last) = page.last() else { break };
            before = Some((last.at_ms, last.id.clone()));
            seen.extend(page.into_iter().map(|found| found.id));
        }
        assert_eq!(seen, ["V9", "V8", "V7", "V6", "V5", "V4", "V3", "V2", "V1", "V0"]);
        let mut counted = 0;
        memory
            .each_decision(1_001, 5, |at, record| counted += usize::from(at >= 1_001 && record.contains("rm")))
            .unwrap();
        assert_eq!(counted, 5);
    }
}
