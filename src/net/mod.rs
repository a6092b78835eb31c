//! Decides which URLs may be fetched.
//!
//! 1. [`UrlPolicy::judge`] checks the text of a URL without using the network: scheme, form, host, port, and the data
//!    that it carries out. The guard knows no more of a fetch.
//! 2. [`UrlPolicy::resolve`] resolves the host once, checks every address and returns the ones to connect to, so that a
//!    second answer of the name server (DNS rebinding) has no effect. A fetcher must connect to these addresses only.
//! 3. [`Hops`] puts each redirect through 1 and 2 again, and limits their number.
//! 4. [`Protected`] detects whether an outgoing text contains a protected text, however it is encoded.
//!
//! Every refusal has a [`Reason`] with a stable id. A URL that cannot be parsed or resolved is refused.
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
mod policy;
mod protected;
mod reason;
#[cfg(feature = "net")]
mod resolve;

pub(crate) use policy::is_metadata;
pub use policy::{Admitted, UrlPolicy};
pub use protected::Protected;
pub use reason::{Reason, Refusal};
#[cfg(feature = "net")]
pub use resolve::{Hops, Pinned, Resolver, SystemResolver};
