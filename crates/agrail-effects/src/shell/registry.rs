//! Where packages come from: registries, addresses, hosting services.

use super::roles::is_loopback;
use super::{Shell, UNKNOWN_SPAN};
use crate::Verb;
use url::{Host, Url};

/// The hosts of the registries that programs use without a setting.
const PUBLIC: [&str; 9] = [
    "crates.io",
    "index.crates.io",
    "proxy.golang.org",
    "pypi.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "repo.maven.apache.org",
    "rubygems.org",
    "static.rust-lang.org",
];
/// Hosts of other registries and of services that many projects share.
const SHARED: [&str; 40] = [
    "api.nuget.org",
    "bitbucket.org",
    "central.sonatype.com",
    "codeberg.org",
    "codeload.github.com",
    "conda.anaconda.org",
    "deno.land",
    "dl.google.com",
    "download.pytorch.org",
    "esm.sh",
    "files.pythonhosted.org",
    "galaxy.ansible.com",
    "git.sr.ht",
    "github.com",
    "gitlab.com",
    "jitpack.io",
    "jsr.io",
    "maven.google.com",
    "maven.pkg.github.com",
    "npm.jsr.io",
    "npm.pkg.github.com",
    "oss.sonatype.org",
    "packages.confluent.io",
    "packagist.org",
    "plugins.gradle.org",
    "pypi.python.org",
    "raw.githubusercontent.com",
    "registry.bower.io",
    "registry.npmjs.com",
    "registry.terraform.io",
    "repo.anaconda.com",
    "repo.clojars.org",
    "repo.packagist.org",
    "repo.spring.io",
    "repo1.maven.org",
    "s01.oss.sonatype.org",
    "services.gradle.org",
    "static.crates.io",
    "sum.golang.org",
    "www.nuget.org",
];
/// Domains in the names of XML schemas.
const SCHEMAS: [&str; 2] = ["apache.org", "w3.org"];
/// The channels of conda whose packages are reviewed.
const CHANNELS: [&str; 8] = ["anaconda", "bioconda", "conda-forge", "defaults", "main", "nvidia", "pytorch", "r"];

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
            // `pip install git+https://HOST/OWNER/NAME`, `pip install "name @ URL"`, `brew install URL`
            (Verb::Install, "") if is_address(value) => {
                self.packages_from(address_of(value), program);
                true
            }
            // `npm config set registry URL`
            (Verb::Config, "source") => {
                let address = value.split_once('=').map_or(value, |(_, address)| address);
                if address.contains("://") && !is_public(address) {
                    self.packages_from(address, program);
                }
                // `pip config set global.trusted-host HOST`
                if value.ends_with("trusted-host") {
                    self.variable_effect(value, "unverified", "");
                }
                self.named(Verb::Config, program, program);
                true
            }
            (Verb::Listen, _) => is_loopback(value),
            _ => false,
        }
    }
}

/// What follows the `@` of `name @ address`, or all of it.
fn address_of(package: &str) -> &str {
    package.rsplit(" @ ").next().unwrap_or(package).trim()
}

/// Whether a package is named by an address elsewhere: not by a name, a file or one of the registries.
fn is_address(package: &str) -> bool {
    let address = address_of(package);
    let remote = address.contains("://") || address.starts_with("git@");
    remote && !address.starts_with("file:") && !is_public(address)
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

/// Whether a host serves packages to programs that have no other setting.
#[must_use]
pub fn is_public_registry(host: &str) -> bool {
    PUBLIC.contains(&host)
}

/// Whether many projects share a host, as they do a hosting service.
#[must_use]
pub fn is_shared_host(host: &str) -> bool {
    SHARED.contains(&host)
}

/// The address as programs use it, without the way in which it is asked.
fn parsed(address: &str) -> Option<Url> {
    let address = address.trim().trim_start_matches("sparse+").trim_start_matches("git+");
    Url::parse(address).ok()
}

/// Whether an address of packages is one that programs use without a setting, or no address at all (`direct`, `off`).
pub(in crate::shell) fn is_public(address: &str) -> bool {
    let of_registry = |url: Url| {
        let plain = url.username().is_empty() && url.password().is_none() && url.port().is_none();
        plain && url.scheme() == "https" && url.host_str().is_some_and(|host| PUBLIC.contains(&host))
    };
    let address = address.trim();
    matches!(address, "" | "direct" | "off") || CHANNELS.contains(&address) || parsed(address).is_some_and(of_registry)
}

/// Whether an address leads to a host that is neither shared nor this machine. One that cannot be read may lead anywhere.
pub(in crate::shell) fn is_foreign(address: &str) -> bool {
    let Some(url) = parsed(address) else { return true };
    let shared = |host: &str| SHARED.contains(&host) && url.port().is_none();
    let known = |host: &str| shared(host) || is_public(address);
    !is_local(&url) && !url.host_str().is_some_and(known)
}

/// Hosts of well-known modules of Go, whose own page says where their code is.
const GO_HOSTS: [&str; 24] = [
    "buf.build",
    "cloud.google.com",
    "cuelang.org",
    "dario.cat",
    "entgo.io",
    "filippo.io",
    "go.etcd.io",
    "go.mongodb.org",
    "go.opentelemetry.io",
    "go.uber.org",
    "goa.design",
    "golang.org",
    "google.golang.org",
    "gopkg.in",
    "gorm.io",
    "gotest.tools",
    "helm.sh",
    "honnef.co",
    "k8s.io",
    "knative.dev",
    "modernc.org",
    "mvdan.cc",
    "rsc.io",
    "sigs.k8s.io",
];

/// Whether a module of Go is at such a host.
pub(in crate::shell) fn is_go_host(module: &str) -> bool {
    GO_HOSTS.contains(&module.split('/').next().unwrap_or_default())
}

/// Whether an address leads to another machine without TLS, or to one without a name.
pub(in crate::shell) fn is_open(address: &str) -> bool {
    let Some(url) = parsed(address) else { return false };
    let numeric = matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
    !is_local(&url) && (numeric || url.scheme() == "http")
}

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => matches!(name, "localhost" | "host.docker.internal"),
        None => true,
    }
}

/// Whether an address is in a domain that names XML schemas.
pub(in crate::shell) fn is_schema(address: &str) -> bool {
    let url = parsed(address);
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let of = |domain: &&str| host.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    SCHEMAS.iter().any(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_by_their_whole_host() {
        for address in ["https://pypi.org/simple", "direct", "sparse+https://index.crates.io/", ""] {
            assert!(is_public(address), "{address}");
        }
        for address in [
            "https://pypi.org.evil.example/simple",
            "http://pypi.org/simple",
            "http://203.0.113.5",
            "https://pypi.org:x@h.example",
            "https://a@pypi.org",
        ] {
            assert!(!is_public(address), "{address}");
        }
    }
}
