//! Where packages come from: registries, addresses, hosting services.

use super::environment::is_public;
use super::roles::is_loopback;
use super::{Shell, UNKNOWN_SPAN};
use crate::Verb;

impl Shell<'_> {
    /// Sources of packages, and servers that nobody else can reach. Whether that is all that the argument does.
    pub(super) fn source_or_loopback(&mut self, verb: Verb, operation: &str, value: &str, program: &str) -> bool {
        match (verb, operation) {
            (Verb::Install, "source") => is_public(value),
            // a namespace of users of its own takes privileges away
            (Verb::Privilege, "namespace") => value != "host" && !value.contains([':', UNKNOWN_SPAN]),
            // `go run HOST/MODULE@VERSION`
            (Verb::Install, "module") => {
                // without a version it is the one that the project requires
                if value.contains('@') {
                    self.named(Verb::Install, value, program);
                }
                true
            }
            // a package by its address comes from a place that nobody has chosen before
            (Verb::Install, "local") if value.contains("://") || is_hosted(value, program) => {
                self.packages_from(value, program);
                true
            }
            // `npm config set registry URL`
            (Verb::Config, "source") => {
                let address = value.split_once('=').map_or(value, |(_, address)| address);
                if address.contains("://") && !is_public(address) {
                    self.packages_from(address, program);
                }
                self.named(Verb::Config, program, program);
                true
            }
            (Verb::Listen, _) => is_loopback(value),
            _ => false,
        }
    }
}

/// Whether a package manager of JavaScript takes a name for one of a hosting service: `github:owner/name`,
/// `owner/name`.
fn is_hosted(value: &str, program: &str) -> bool {
    let named = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let short = value.split('#').next().and_then(|name| name.split_once('/'));
    let short = short.is_some_and(|(owner, name)| {
        !owner.is_empty() && !owner.starts_with('.') && named(owner) && named(name) && !name.is_empty()
    });
    let hosts = ["github:", "gitlab:", "bitbucket:", "gist:", "git@"];
    ["npm", "pnpm", "yarn", "bun"].contains(&program) && (short || hosts.iter().any(|host| value.starts_with(host)))
}
