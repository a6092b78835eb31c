//! The guard that a configuration describes.

use crate::settings::{Config, days_long};
use agrail::Guard;
use agrail::approvals::Approvals;
use agrail::audit::{Audit, Retention};
use agrail::embed::MiniLm;
use agrail::guard::{GuardBuilder, Settings, UnknownPrograms};
use agrail::learn::Learning;
use agrail::memory::Memory;
use agrail::policy::Policy;
use agrail::verdict::Decision;
use anyhow::{Result, anyhow, bail};
use std::sync::Arc;
use std::time::Duration;

/// What a guard records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Nothing, and nothing is recalled.
    Nothing,
    /// Decisions in the memory and the audit log.
    Decisions,
    /// Those, and questions in the queue of pending approvals.
    All,
}

impl Config {
    /// A builder with settings, policies and memory. It has an embedder only if the embedder's files exist: a check
    /// never waits for a download.
    pub fn builder(&self, with_memory: bool) -> Result<GuardBuilder> {
        self.recording(if with_memory { Record::All } else { Record::Nothing })
    }

    /// The same, with what it records.
    pub fn recording(&self, record: Record) -> Result<GuardBuilder> {
        self.shadowed(record, false, |_| {})
    }

    /// The same. `shadow`: no decision blocks. `meanwhile`: what to do with the policies while files are opened.
    pub fn shadowed(&self, record: Record, shadow: bool, meanwhile: impl FnOnce(&Policy)) -> Result<GuardBuilder> {
        // open the files while the policies are loaded
        let (judging, kept) = std::thread::scope(|scope| {
            let kept = scope.spawn(|| self.kept(record, shadow));
            let judging = self.judging(meanwhile);
            (judging, kept.join().unwrap_or_else(|_| Err(anyhow!("the memory could not be opened"))))
        });
        let (mut builder, (memory, approvals, audit)) = (judging?, kept?);
        if let Some(memory) = memory {
            builder = builder.memory(memory);
        }
        if let Some(approvals) = approvals {
            builder = builder.approvals(approvals);
        }
        if let Some(audit) = audit {
            builder = builder.audit(audit);
        }
        Ok(builder)
    }

    /// A builder with what is read only.
    fn judging(&self, meanwhile: impl FnOnce(&Policy)) -> Result<GuardBuilder> {
        let policy = self.policy()?;
        meanwhile(&policy);
        let mut builder = Guard::builder().settings(self.settings()?).policy(policy).rows(self.rows()?);
        if let Some(reasoner) = self.model.reasoner(self)? {
            let mode = self.model.mode()?;
            builder = builder.model(reasoner).with(|s| (s.mode, s.judge) = (mode, self.model.judge));
        }
        let sources = self.embedder_sources(false)?;
        let named = self.embedder.runtime.is_some() || self.embedder.model.is_some();
        if named && !sources.present() {
            bail!(
                "the embedding model or its runtime is missing at the path in [embedder]; run 'agrail doctor' for the missing files"
            );
        }
        if sources.present() {
            builder = builder.embedder(Arc::new(MiniLm::new(sources)));
        }
        Ok(builder)
    }

    /// Opens the stores that record decisions.
    fn kept(&self, record: Record, shadow: bool) -> Result<(Option<Memory>, Option<Approvals>, Option<Audit>)> {
        if record == Record::Nothing {
            return Ok((None, None, None));
        }
        let memory = if self.memory.off { None } else { Some(self.open_memory_on_demand()?) };
        let approvals = match record {
            Record::All => Some(Approvals::open(&self.approvals_path()?)?),
            _ => None,
        };
        let audit = match (self.audit.off, self.audit.durable) {
            (true, _) => None,
            (false, durable) => {
                let bytes = self.audit.keep_mb.map(|megabytes| megabytes.saturating_mul(1 << 20));
                let retention = Retention { age: self.audit.keep_days.map(days_long), bytes };
                let audit = Audit::open(&self.audit_folder()?, shadow)?.retain(retention);
                Some(if durable { audit.durable() } else { audit })
            }
        };
        Ok((memory, approvals, audit))
    }

    fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::default();
        settings.deadline = Duration::from_millis(self.deadline_ms());
        settings.limits = self.model.limits();
        settings.limits.wall = settings.limits.wall.min(settings.deadline.mul_f64(0.9));
        settings.on_failure = match self.guard.on_failure.as_str() {
            "deny" => Decision::Deny,
            "ask" => Decision::Ask,
            other => bail!("guard.on_failure is \"{other}\"; it must be \"deny\" or \"ask\" (failure is never allow)"),
        };
        settings.unknown_programs = match self.guard.unknown_programs.as_str() {
            "ask" => UnknownPrograms::Ask,
            "allow" => UnknownPrograms::Allow,
            "deny" => UnknownPrograms::Deny,
            other => bail!("guard.unknown_programs is \"{other}\"; it must be \"ask\", \"allow\" or \"deny\""),
        };
        settings.project_policies = self.policy.projects;
        settings.learning = match self.guard.learning.as_str() {
            "feedback" => Learning::Feedback,
            "episodes" => Learning::Episodes,
            "frozen" => Learning::Frozen,
            other => bail!("guard.learning is \"{other}\"; it must be \"feedback\", \"episodes\" or \"frozen\""),
        };
        settings.similarity = self.memory.similarity.unwrap_or(settings.similarity);
        settings.neighbours = self.memory.neighbours.unwrap_or(settings.neighbours);
        settings.own = self.own();
        settings.library = Arc::new(self.library()?);
        settings.ports.extend(self.serve.listen.map(|address| address.port()));
        Ok(settings)
    }
}
