//! agrail: a lifelong guardrail engine for LLM agents.
//!
//! Before an agent acts it asks [`Guard::check`] whether the action may run; the answer is allow, ask or deny, with
//! reasons. The engine is complete without a model and without a network.
//!
//! # Bird's eye
//!
//! One straight line, in `guard.rs`:
//!
//! 0. If the agent has read something, [`provenance`] says whose word the action follows ([`injection`] finds orders in
//!    what was read); for a step on the web, [`web`] says what the task amounts to.
//! 1. [`canonical`]: hostile text is brought into its canonical form; the raw and the canonical form are both read.
//! 2. [`effect`]: the action is parsed into what it would do. What no reader or table understands is unknown.
//! 3. [`facts`]: the machine is looked at for each effect's target, read-only and rooted.
//! 4. [`policy`]: Cedar authorises each effect with its facts. A forbid ends the check; so does an action in which
//!    everything passes and that no memory entry matches.
//! 5. [`reason`]: else the action is paraphrased, [`memory`] recalls ([`embed`] for similarity), the checklist is put
//!    together, and each check is answered by policy, by [`tools`], by a model ([`llm`], [`prompts`], what is
//!    [`untrusted`] fenced), or by nobody. `guard/ask.rs` says where a model may speak.
//! 6. [`verdict`]: the pure gate takes the most severe finding.
//! 7. [`approvals`]: what a person answered to exactly this holds once. [`audit`]: the verdict is logged before it is given.
//! 8. [`learn`]: after the verdict the decision is recorded and lessons are drawn; that cannot change it.
//!
//! # Code map
//!
//! | room | what is in it | to change |
//! |---|---|---|
//! | `effect/commands/*.toml` | what each program does to the system, with examples | add a command |
//! | `effect/shell`, `effect/python`, `effect/sql` | the readers | follow a construct of the language |
//! | `effect/sql`, `effect/tool_call.rs` | statements, calls of tools | read more of them |
//! | `provenance` | what the request explains, and what only a text explains | judge origin |
//! | `injection` | rules by family with examples (`rules.toml`), the trained head | find orders in texts |
//! | `web/operations.toml` | descriptions of what tasks on the web amount to | add an operation |
//! | `policy/operator` | shipped rules for data agents and web agents, by name | add a shipped policy |
//! | `facts` | probes, accounts, classes of paths, files by identity; `gather.rs` turns effects into what policies are asked | learn a fact |
//! | `policy` | schema, `base.cedar` and its examples, `operator/` (shipped for named agents), loading, screening | forbid or permit something |
//! | `guard` | the line, `build.rs` for settings | order of stages |
//! | `reason`, `tools` | who answers checks | add a reasoner or a probe |
//! | `prompts/*.md` | what models are told, with examples; slots checked at load | word a prompt |
//! | `llm` | endpoint, retries, budget, recordings, reading of replies | talk to a model |
//! | `net` | which URLs may be fetched; addresses looked up once, redirects checked | fetch something |
//! | `evolve` | AEGIS: the loop, the optimizer by mutation (`mutation/grammar.toml`) and with a model, run folders | harden the detector |
//! | `research` | an agent inside the guard: fetcher, pages, components, output contract; the naive agent to compare with | how it reads, what may stand in a report |
//! | `untrusted` | fences for what the user did not write, redaction | put a text into a prompt |
//! | `memory`, `learn` | versions, vectors, seeds; feedback, the record of decisions | how it learns |
//! | `hook` | events of coding agents, sessions, answers in the host's words, its settings | support a host |
//! | `mcp` | between an MCP client and a server: messages, pins of tools | what of the protocol is looked at |
//! | `serve` | HTTP: router, tokens, load, console | an endpoint, a view |
//! | `approvals`, `audit` | questions that wait for a person; the log and its replay | how a person has a say |
//! | `replay` | traces in disposable roots, for `demo` and `agrail-eval` | evaluation |
//! | `bin/agrail`, `eval` | command lines | output |
//!
//! # Invariants
//!
//! - Failure is never allow: an error, a panic, a deadline that passes end in deny, or ask if so configured. In `tiered`,
//!   where the model alone fails, what the rules left open is asked of a person.
//! - No finding, or only unknown and discarded ones, is not allow.
//! - The gate is pure. Memory never weakens a deny or an ask that wants a person. Of what is unknown it answers one kind:
//!   a program that no table knows, approved by the digest of its file and its exact arguments.
//! - No model lifts a deterministic deny, or an ask for any other cause than an unknown program; no reply that is
//!   missing, cut, unreadable or over budget allows anything. Text that the user did not write enters a prompt only
//!   through [`untrusted::gather`].
//! - SQLite is the truth and the vector index is disposable.
//! - The library reads no environment variable, prints nothing, starts no runtime. It starts one thread, for the record
//!   of decisions, if a guard has a memory. Only [`embed::Sources`] with `fetch` set, [`mcp::stdio`] and [`replay::sandbox`]
//!   start processes.
//!
//! # Where this differs from the design it started from
//!
//! - There is no `integrations` room: `hook` and `serve` are rooms of their own. A tool that works on files is judged by what
//!   it does to them, like a program that does the same.
//! - Shipped policies are proved by a test, and by `agrail policy check` and `doctor`, rather than at each start: that took
//!   two thirds of the start-up of a hook. An operator's own are proved each time.
//! - An approval over the queue is bound to action, identity, agent, facts, policy and memory, but not to the request: a person
//!   who says "go on" has not asked for something else.
//! - A decision that cannot be written to the audit log is not allowed.
//! - Lessons from incidents are recalled by target (`at path P`, `above path P`) rather than by class of target alone:
//!   they hold for every way to change that target, and leave its neighbours alone.
//! - `check` opens the environment that the caller gives; a path that does not exist keeps its class.
//! - Replaying lives in the library (`replay`) because the demo needs it as well as `agrail-eval`.
//! - The published procedure of AGrail, whose failures allow, is an arm of the experiments (`eval/paper`) and not a
//!   switch of the guard: no guard can be built with it.
//! - An alarm of the model that no policy shares is looked at a second time before it denies; small models raise many.
//! - Support of a check adds up over the entries that are recalled together, in the words of the check that was there
//!   first; thereby a kind of action converges that is spread over several entries.
//! - Whose word an action follows is found before the screen, because it needs embeddings, and is a finding of authority
//!   policy: no model and no memory lifts it. It compares the request with what was read on one scale; there is no score
//!   of an injection in it, since texts that look harmless hijack, too.
//! - A tool call is `call`, `read`, `write`, `delete` or `send` by the words of its name, gravest first; a step on the web
//!   is `browse` with what its task amounts to as operation.
//! - The judge of injections is asked about the action, not about the text alone: after a poisoned page what the user asked
//!   for is as honest as before. It can only ask, and is off by default (`guard::Settings::judge`): a small model takes honest
//!   lookups for obedience.
//! - The MCP proxy reads messages as JSON rather than as the types of an SDK: what it checks is what it passes on, whatever a
//!   version of the protocol adds. The SDK stands on both sides of it in the tests.
//! - The configuration is read anew on a signal or an operator's word, not whenever a file changes: who can write the file
//!   must not thereby change what decides.
//! - In research, what is protected is refused in what leaves rather than redacted: a fetch without it would not be the fetch
//!   that was wanted. No content word may stand in a report that neither its source nor the user has.
//! - The headline of a verdict is the gravest finding by harm and may be another than the one that decided: what an action
//!   would do is told before the permission that it lacks.
//! - An approval in the queue is bound to the normal form of the action, so that another spelling is not asked again; one of
//!   a program that no table knows is bound to the digest of its file.
//! - A reload by signal never loosens; an operator loosens over HTTP, in so many words, or by a restart.
//! - A script that is known not to exist, and that nothing in the action makes, may be started: nothing would run.

pub mod action;
pub mod approvals;
pub mod audit;
pub mod canonical;
pub mod check;
pub mod effect;
pub mod embed;
pub mod evolve;
pub mod facts;
pub mod guard;
pub mod hook;
pub mod injection;
pub mod learn;
pub mod llm;
pub mod mcp;
pub mod memory;
pub mod net;
pub mod policy;
pub mod prompts;
pub mod provenance;
pub mod reason;
pub mod replay;
pub mod research;
pub mod serve;
pub mod tools;
pub mod untrusted;
pub mod verdict;
pub mod web;

pub use action::{Action, Context, Identity, Observation};
pub use guard::Guard;
pub use verdict::{Decision, Verdict};

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Lower-case hexadecimal SHA-256 over parts; where one ends and the next begins counts.
pub(crate) fn digest<const N: usize>(parts: [Vec<u8>; N]) -> String {
    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}
