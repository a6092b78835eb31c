//! Where the settings and lock files of package managers get their packages: addresses that nobody has chosen.
//!
//! Every package manager writes the same: a key, and an address. So one reader serves them all: the lines of a file that
//! can name a source, and the hosts on them. A host that is no public registry or hosting service is a source of its own.

use crate::shell::environment::is_public;
use url::Url;

/// Files that are searched (those of cargo have their own reader), relative to the folder of a project.
pub(super) const FILES: [&str; 37] = [
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bunfig.toml",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "deno.json",
    "pip.conf",
    "pip.ini",
    "uv.toml",
    "uv.lock",
    "pyproject.toml",
    "poetry.toml",
    "poetry.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "Gemfile",
    "Gemfile.lock",
    ".bundle/config",
    "composer.json",
    "nuget.config",
    "NuGet.Config",
    "pom.xml",
    ".mvn/settings.xml",
    ".mvn/extensions.xml",
    "settings.xml",
    "settings.gradle",
    "build.gradle",
    "settings.gradle.kts",
    "build.gradle.kts",
    "go.env",
    "main.tf",
    "requirements.yml",
];
/// Hosts of registries and of services that many projects share.
const SHARED: [&str; 40] = [
    "github.com",
    "codeload.github.com",
    "raw.githubusercontent.com",
    "npm.pkg.github.com",
    "maven.pkg.github.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "git.sr.ht",
    "files.pythonhosted.org",
    "pypi.python.org",
    "download.pytorch.org",
    "conda.anaconda.org",
    "repo.anaconda.com",
    "registry.npmjs.com",
    "npm.jsr.io",
    "jsr.io",
    "deno.land",
    "esm.sh",
    "repo1.maven.org",
    "central.sonatype.com",
    "oss.sonatype.org",
    "s01.oss.sonatype.org",
    "repo.spring.io",
    "plugins.gradle.org",
    "services.gradle.org",
    "maven.google.com",
    "dl.google.com",
    "jitpack.io",
    "packagist.org",
    "repo.packagist.org",
    "api.nuget.org",
    "www.nuget.org",
    "static.crates.io",
    "sum.golang.org",
    "registry.terraform.io",
    "galaxy.ansible.com",
    "repo.clojars.org",
    "packages.confluent.io",
    "registry.bower.io",
];
/// Files of which each address is a source.
const ALL: [&str; 19] = [
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bunfig.toml",
    "pip.conf",
    "pip.ini",
    "uv.toml",
    "uv.lock",
    "pdm.lock",
    "poetry.toml",
    "poetry.lock",
    "Pipfile",
    "Pipfile.lock",
    "nuget.config",
    "NuGet.Config",
    "go.env",
    "settings.xml",
    "extensions.xml",
    "requirements.yml",
];
/// Files that name a source of their own besides the usual ones, and lock files: an organisation's own registry with TLS
/// is usual there.
const NAMED: [&str; 5] = [".gradle", "pom.xml", ".lock", "-lock.", "npm-shrinkwrap"];
/// Most addresses of one file that are reported.
const MOST: usize = 4;

/// The addresses in a file of settings from which a package manager would get code, without those that many share.
pub(super) fn foreign(path: &str, text: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut found = Vec::new();
    for line in source_lines(name, text) {
        let begins = line.match_indices("://").filter_map(|(at, _)| {
            let scheme = line.get(..at)?.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
            line.get(at - scheme.len()..)
        });
        for address in begins {
            let end = address.find(|c: char| c.is_whitespace() || "\"'`<>,;)]}".contains(c)).unwrap_or(address.len());
            let address = address.get(..end).unwrap_or(address);
            let counts = if NAMED.iter().any(|known| name.contains(known)) { is_open } else { is_foreign };
            if counts(address) && !found.iter().any(|known| known == address) && found.len() < MOST {
                found.push(address.to_owned());
            }
        }
    }
    found
}

/// The lines of a file that name a source.
fn source_lines<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
    let lines = text.lines().map(str::trim).filter(|line| line.contains("://"));
    let plain = lines.clone().filter(|line| !line.starts_with(['#', ';']) && !line.starts_with("//"));
    let with = |keys: &'static [&'static str]| {
        plain.clone().filter(move |line| keys.iter().any(|key| line.contains(key))).collect::<Vec<_>>()
    };
    match name {
        "package-lock.json" | "npm-shrinkwrap.json" => with(&["\"resolved\""]),
        "yarn.lock" => with(&["resolved", "resolution"]),
        "pnpm-lock.yaml" => with(&["tarball"]),
        "composer.json" => with(&["\"url\""]),
        "Gemfile" => with(&["source ", "git:", ":git", "remote"]),
        "Gemfile.lock" => with(&["remote:"]),
        "pyproject.toml" => with(&["git =", " @ ", "index", "find-links"])
            .into_iter()
            .chain(tables(text, &["[[tool.uv.index", "[[tool.poetry.source", "[[tool.pdm.source"]))
            .collect(),
        "pom.xml" => within(text, &["<repository>", "<pluginRepository>", "<mirror>", "<snapshotRepository>"]),
        _ if name.contains(".gradle") => with(&["maven", "url", "ivy", "from"]),
        _ if name.ends_with(".tf") => with(&["source"]),
        // PEP 723: a comment with the packages of a script
        _ if name.ends_with(".py") => match text.contains("# /// script") {
            true => lines.filter(|line| line.starts_with('#') && line.contains(" @ ")).collect(),
            false => Vec::new(),
        },
        _ if ALL.contains(&name) => plain.collect(),
        _ => Vec::new(),
    }
}

/// The lines of the tables of a TOML file with such heads.
fn tables<'t>(text: &'t str, heads: &[&str]) -> Vec<&'t str> {
    let mut within = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            within = heads.iter().any(|head| line.starts_with(head));
        } else if within {
            found.push(line);
        }
    }
    found
}

/// The lines of such elements of an XML file.
fn within<'t>(text: &'t str, begins: &[&str]) -> Vec<&'t str> {
    let parts = begins.iter().flat_map(|begin| text.split(begin).skip(1));
    parts.flat_map(|part| part.split("</url>").next().unwrap_or_default().lines()).collect()
}

/// Whether an address leads to a host that is neither shared nor this machine.
fn is_foreign(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let Some(host) = url.host_str() else { return false };
    let local = matches!(host, "localhost" | "127.0.0.1" | "[::1]" | "host.docker.internal");
    let schema = host.ends_with("apache.org") || host.ends_with("w3.org");
    !local && !schema && !SHARED.contains(&host) && !is_public(address) && !host.contains('$')
}

/// Whether an address leads to a foreign host without TLS, or to one without a name.
fn is_open(address: &str) -> bool {
    let url = Url::parse(address);
    let numeric = url.as_ref().is_ok_and(|url| matches!(url.host(), Some(url::Host::Ipv4(_) | url::Host::Ipv6(_))));
    is_foreign(address) && (numeric || url.is_ok_and(|url| url.scheme() == "http"))
}

#[cfg(test)]
mod tests {
    use super::foreign;

    #[test]
    fn sources_are_found_in_every_format() {
        for (name, text) in [
            ("package-lock.json", "\"resolved\": \"http://203.0.113.3/a.tgz\","),
            ("a/.npmrc", "registry=https://npm.example.net/"),
            ("pip.conf", "[global]\nindex-url = http://pypi.example.net/simple"),
            ("uv.toml", "[[index]]\nurl = \"http://203.0.113.4/simple\""),
            ("pyproject.toml", "[[tool.uv.index]]\nurl = \"https://idx.example.net\""),
            ("pyproject.toml", "dependencies = [\"a @ https://files.example.net/a.whl\"]"),
            ("composer.json", "{\"type\": \"composer\", \"url\": \"http://packages.example.net\"}"),
            ("Gemfile", "source \"http://gems.example.net\" do"),
            ("settings.xml", "<mirror><url>http://203.0.113.4/maven2/</url></mirror>"),
            ("pom.xml", "<repository>\n<id>a</id>\n<url>http://repo.example.net</url>"),
            ("go.env", "GOPROXY=http://203.0.113.5:3000"),
            ("main.tf", "source = \"git::https://git.example.net/a.git\""),
            ("x.py", "# /// script\n#   \"a @ https://files.example.net/a.whl\",\n# ///"),
        ] {
            assert_eq!(foreign(name, text).len(), 1, "{name}: {text}");
        }
    }

    #[test]
    fn shared_sources_and_other_addresses_are_none() {
        for (name, text) in [
            (
                "package-lock.json",
                "\"resolved\": \"https://registry.npmjs.org/a.tgz\",\n\"url\": \"https://oc.example\"",
            ),
            ("pyproject.toml", "[project.urls]\nHomepage = \"https://a.example.org\""),
            ("pom.xml", "<url>https://a.example.org</url><scm><url>https://b.example.org</url></scm>"),
            ("composer.json", "\"homepage\": \"https://a.example.org\""),
            ("build.gradle", "// https://docs.example.org\nmaven { url 'https://jitpack.io' }"),
            ("Gemfile.lock", "GEM\n  remote: https://rubygems.org/"),
            (".npmrc", "registry=http://localhost:4873"),
            ("x.py", "a = \"b @ https://a.example.org\""),
        ] {
            assert!(foreign(name, text).is_empty(), "{name}: {text}");
        }
    }
}
