//! Which URLs may be fetched.
//!
//! 1. [`UrlPolicy::judge`] reads the text of a URL alone, without a network: scheme, form, host, port, and what it
//!    carries. It is what the guard knows of a fetch.
//! 2. [`UrlPolicy::resolve`] looks the host up once, checks every address and returns the ones to connect to, so that
//!    a second answer of the name server (DNS rebinding) changes nothing. A fetcher must connect to these only.
//! 3. [`Hops`] puts each redirect through 1 and 2 again, and counts.
//!
//! 4. [`Protected`] says whether an outgoing text gives away what must not leave, however it is encoded.
//!
//! What is refused has a [`Reason`] with a stable id. What cannot be read or looked up is refused.
//!
//! ```
//! use agrail::net::{Reason, UrlPolicy};
//!
//! let policy = UrlPolicy::default();
//! assert!(policy.judge("https://example.com/page").is_ok());
//! assert_eq!(policy.judge("http://0x7f.1/").unwrap_err().reason, Reason::EncodedHost);
//! ```

pub mod address;
mod carries;
mod host;
pub mod local;
mod policy;
mod protected;
mod reason;
mod resolve;

pub use policy::{Admitted, UrlPolicy, is_metadata};
pub use protected::Protected;
pub use reason::{Reason, Refusal};
pub use resolve::{Hops, Pinned, Resolver, SystemResolver};
