//! A proxy between an MCP client and a tool server: over standard input and output ([`stdio`]), or over HTTP
//! ([`http`]).
//!
//! These rules apply to each JSON-RPC message, over either transport:
//!
//! 1. Messages pass unchanged in both directions, unless a rule below applies. Every protocol version therefore works.
//! 2. The guard checks `tools/call`, and `resources/read` of a file or a web page. If a call is not allowed, the proxy
//!    answers in place of the server, with a result that has `isError`, so that the model can read the reason. The
//!    server never sees the call.
//!    What the user has asked for is known from the session of the agent's hook, if that has recorded the same call as
//!    open; or from `--request`. Without both, a call is judged by what the agent has read through the proxy.
//! 3. Everything that the server answers becomes an observation: tool results, resources, prompts and the server's own
//!    instructions. A later call that follows an injected instruction is denied ([`Sessions`](crate::session::Sessions)).
//!    What is not text, such as an image, counts as unread.
//! 4. Each `tools/list` is compared with the server's first one ([`Pins`]). If the description or schema of a tool has
//!    changed, its calls are denied until a person accepts the change. Calls are also denied if the description
//!    contains a prompt injection, or if the server does not list the tool; if the client has not asked for the list,
//!    the proxy does.
//! 5. Requests of the server to the client's model or user (`sampling`, `elicitation`) are refused on behalf of the
//!    client, and the server is not told that the client could answer them.
//! 6. Requests that the server has not answered when it ends are answered by the proxy.
//!
//! A message that cannot be parsed is not forwarded, nor is an ambiguous one: with a duplicate key, or with a key that
//! differs from a key of the protocol only in case. Messages are parsed as JSON and not into the types of an SDK, so
//! that additions of later protocol versions pass unchanged, and exactly the checked message is forwarded. The tests
//! run the official SDK's client and server on both sides. Specification: modelcontextprotocol.io, 2025-11-25 and
//! 2026-07-28.

mod announced;
mod house;
pub mod http;
mod message;
mod pins;
mod proxy;
mod sse;
pub mod stdio;

pub use house::House;
pub use message::{Call, MessageError};
pub use pins::{PinError, Pins, Tool};
pub use proxy::{Fate, Proxy, ProxyError};
