//! agrail: a lifelong guardrail engine for LLM agents.
//!
//! Before an agent acts it asks whether the action may run. The first room that stands is [`effect`]:
//! what an action would do, from a real parse and a table of command semantics.

pub mod effect;
