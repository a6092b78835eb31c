//! agrail: a lifelong guardrail engine for LLM agents.
//!
//! Before an agent acts, it asks [`Guard::check`] whether the action may run. The answer is allow, ask or deny, with
//! reasons. The engine is complete without a model and without a network.
//!
//! # Bird's eye view
//!
//! One straight line, in `guard.rs`:
//!
//! 1. [`canonical`] normalises hostile text. The raw and the canonical form are both parsed.
//! 2. [`effect`] (package `agrail-effects`) turns the action into a list of effects. Any part that no parser and no
//!    table row covers becomes an `unknown` effect.
//! 3. [`facts`] probes the [`machine`] for the target of each effect. Probes are read-only and cannot leave their root.
//! 4. If the agent has read anything, [`provenance`] checks whether the action follows the user's request or an
//!    instruction injected by a page, mail or tool result; [`injection`] finds such instructions. If the request names a
//!    target, `scope` checks that the action has no other one. For a web agent,
//!    [`web`] classifies the task.
//! 5. [`policy`] authorises each effect with Cedar. A forbid ends the check. So does an action in which everything
//!    passes and that no memory entry matches.
//! 6. Otherwise [`reason`] paraphrases the action, [`memory`] recalls similar ones ([`embed`]), and the resulting
//!    checklist is answered by policy, by [`tools`], or by a model ([`llm`], [`prompts`]). Untrusted text is fenced
//!    ([`untrusted`]). `guard/model_scope.rs` limits the checks that a model may answer.
//! 7. [`verdict`] is the pure gate: the most severe finding decides.
//! 8. If a person approved exactly this action earlier, the one-time approval applies ([`approvals`]). [`audit`] logs
//!    the verdict before the caller gets it.
//! 9. [`learn`] records the decision and draws lessons afterwards; it cannot change the verdict. From reports of
//!    operators it induces rules: `shape` describes what an action does, and finds what the reports have in common and
//!    the rest of the record has not.
//!
//! # Code map
//!
//! | to change | go to |
//! |---|---|
//! | the effects of a program | `commands/`: one file per program, with examples; no Rust needed |
//! | the parser of a language | `crates/agrail-effects`: `shell`, `python`, `sql`, `tool_call.rs` |
//! | knowledge about the machine: accounts, path classes, files by identity, repositories, processes | `machine` |
//! | a fact that policies can use | `policy/facts.rs` declares it, `facts/gather` fills it in, `policy/words.rs` words it |
//! | rules that forbid or ask | `policy/base.cedar` and its examples; `policy/event.rs` for rules about actions as a whole; `eval/profiles` for the rules of benchmarks |
//! | the judgement of an action's origin | `provenance` |
//! | which targets a request names, and which an action has | `scope` |
//! | the detection of injections | `injection` (`rules.toml`, the trained head) |
//! | the kind of a web task | sentences in `eval/classify`, from which the weights in `web` are fitted (`classify`) |
//! | the order of the stages, settings | `guard`, `guard/build.rs`; of the program `bin/agrail/settings.rs` |
//! | the answers to checks | `reason`, `tools`; prompts in `prompts/*.md` |
//! | the model endpoint | `llm` |
//! | the URLs that may be fetched | `net` |
//! | the memory, learning from feedback | `memory`, `learn` |
//! | what reports have in common: the rules that are induced from them | `shape`, `learn/induced.rs`; as policies: `shape/cedar.rs`, `learn/written.rs` |
//! | what an approval covers, and how a person widens it | `shape/arguments.rs`, `learn/signed.rs`, `learn/widened.rs` |
//! | what an operator says of an in-house tool: its row, and how one is drafted | `inhouse`, `guard/known.rs`, `learn/tool.rs` |
//! | the answers of a person, the log of decisions | `approvals`, `audit` |
//! | a coding agent's hooks | `hook`: each host's names in `hosts/*.toml`, events in `event.rs`, answers in `answer.rs` |
//! | an MCP server behind the guard | `mcp` |
//! | the HTTP service and its console | `serve`; the pages of the console `serve/console` |
//! | a verdict as a tree and as a picture | `picture` |
//! | the research agent that runs inside the guard | `research` |
//! | co-evolution of injections and their detector (AEGIS) | `evolve` |
//! | replaying traces in disposable roots | `replay`; scores and experiments in the package `agrail-eval` (`eval/`) |
//! | the command line | `bin/agrail`, one file per verb |
//!
//! # Features
//!
//! Without default features this package is the engine alone: effects, machine, facts, policy, memory, learning, audit,
//! guard. `embed` adds the embedder, `llm` a model endpoint, `net` pinned name resolution, `hook`, `mcp`, `serve`,
//! `research`, `evolve` and `replay` the modules of these names, `cli` (the default) the program.
//!
//! # Order of the modules
//!
//! A module imports only modules that stand before it in this list; `tests/it/imports.rs` verifies it.
//!
//! `clock`, `digest`, `untrusted`, `store`, `net`, `machine`, `canonical`, `llm`, `prompts`, `embed`, `classify`,
//! `injection`, `web`, `action`, `check`, `verdict`, `picture`, `policy`, `shape`, `inhouse`, `scope`, `facts`, `provenance`, `tools`, `memory`, `reason`, `audit`,
//! `approvals`, `learn`, `guard`, `session`, `replay`, `hook`, `serve`, `mcp`, `research`, `evolve`
//!
//! # Invariants
//!
//! - Failure is never allow. An error, a panic or an exceeded deadline ends in deny, or in ask if the operator
//!   configured that. In `tiered`, if only the model fails, a person is asked about the checks that the rules left
//!   open.
//! - A verdict without findings, or with only unknown and discarded ones, is not allow.
//! - The gate is pure. Memory never weakens a deny, nor an ask that policy reserves for a person. Memory can settle
//!   only one kind of unknown: an unknown program that a person approved by the digest of its file and its exact
//!   arguments. An operator's row settles what policy asks about a call as such, and nothing else.
//! - No model lifts a deterministic deny, nor an ask for any cause but an unknown program. A reply that is missing,
//!   truncated, unreadable or over budget allows nothing. Text that the user did not write enters a prompt only through
//!   `untrusted::gather`.
//! - SQLite is the source of truth; the vector index is disposable.
//! - The library reads no environment variable, prints nothing and starts no runtime. It starts one thread, for the
//!   record of decisions, if a guard has a memory. Only `embed::Sources` with `fetch` set, `mcp::stdio` and
//!   `replay::sandbox` start processes.
//!
//! # Decisions that may surprise
//!
//! - A row about an in-house tool also tightens: a person is asked about a call that it does not describe, even if that
//!   would pass without the row. What policies find about a path, an address or a table in its arguments stands.
//! - A tool that works on files is judged by its effects on them, like a program with the same effects.
//! - `agrail policy check`, `doctor` and a test verify the shipped policies; a start does not, because that took two
//!   thirds of the start-up time of a hook. An operator's own policies are verified at each start.
//! - A queued approval is bound to action, identity, agent, facts, policy and memory, but not to the request: a person
//!   who says "go on" has not asked for a different action. It is bound to the normal form of the action, so that
//!   another spelling is not asked again; for an unknown program it is bound to the digest of its file.
//! - A decision that cannot be written to the audit log is not allowed.
//! - Lessons from incidents are recalled by target (`at path P`, `above path P`) instead of by class: a lesson covers
//!   every way to change that target and leaves its neighbours alone.
//! - The published procedure of AGrail, in which failures allow, is an arm of the experiments (`eval/paper`), not a
//!   switch of the guard. No guard can be built with it.
//! - In `tiered`, an alarm of the model that no policy shares is confirmed by a second question before it denies: small
//!   models raise many false alarms.
//! - Support for a check adds up over all entries that are recalled together, so that a kind of action converges even
//!   if it is spread over several entries.
//! - The origin of an action is judged before the screen and has authority `policy`: no model and no memory lifts that
//!   finding. It compares the request with the observations on one scale and does not use the injection score, because
//!   harmless-looking texts hijack agents, too.
//! - A tool call is `call`, `read`, `write`, `delete` or `send`, by the gravest word of its name; a web step is
//!   `browse`, with its task as operation.
//! - The injection judge (a model) is asked about the action, not about the text alone. It can only ask, and is off by
//!   default (`guard::Settings::judge`): a small model takes honest lookups for obedience.
//! - The MCP proxy reads messages as JSON instead of an SDK's types, so that it forwards exactly the message that it
//!   has checked, whatever a protocol version adds.
//! - The configuration is reloaded on a signal or an operator's request, not whenever a file changes: write access to
//!   the file must not be enough to change decisions. A reload by signal never loosens; an operator loosens over HTTP,
//!   explicitly, or by a restart.
//! - The research agent refuses to fetch a URL that contains a secret; a redacted URL would be another fetch than the
//!   one it wanted. A report contains no content word that neither its sources nor the user have.
//! - The headline of a verdict names the gravest harm, which is not always the finding that decided.
//! - A script that does not exist, and that nothing in the action creates, may be started: nothing would run.

pub mod action;
pub mod approvals;
pub mod audit;
pub mod canonical;
pub mod check;
pub mod classify;
mod clock;
mod digest;
pub use agrail_effects as effect;
pub mod embed;
#[cfg(feature = "evolve")]
pub mod evolve;
pub mod facts;
pub mod guard;
#[cfg(feature = "hook")]
pub mod hook;
mod inhouse;
pub mod injection;
pub mod learn;
pub mod llm;
pub mod machine;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod memory;
pub mod net;
#[cfg(feature = "serve")]
pub mod picture;
pub mod policy;
pub mod prompts;
pub mod provenance;
pub mod reason;
#[cfg(feature = "replay")]
pub mod replay;
#[cfg(feature = "research")]
pub mod research;
mod scope;
#[cfg(feature = "serve")]
pub mod serve;
pub mod session;
mod shape;
mod store;
pub mod tools;
pub mod untrusted;
pub mod verdict;
pub mod web;

pub use action::{Action, Context, Identity, Observation};
pub use guard::Guard;
pub use store::StoreError;

pub(crate) use digest::{digest, hex, sorted};
pub use verdict::{Decision, Verdict};
