//! Where the settings and lock files of package managers get their packages: addresses that nobody has chosen.
//!
//! Every package manager writes the same: a key, and an address. So one reader serves them all: the lines of a file that
//! can name a source, and the hosts on them. A host that is no public registry or hosting service is a source of its own.

use crate::shell::registry::{is_foreign, is_open, is_schema};

/// Most addresses of one file that are reported.
const MOST: usize = 4;

/// Which lines of a file can name a source.
enum Lines {
    All,
    /// Those with one of these texts.
    With(&'static [&'static str]),
    /// Those with one of these texts, and those in TOML tables with such heads.
    Tables(&'static [&'static str], &'static [&'static str]),
    /// Those in such XML elements.
    Within(&'static [&'static str]),
    /// PEP 723: comments with the packages of a script.
    Commented,
}

/// A format of settings or of a lock file (those of cargo have their own reader).
struct Format {
    /// Ends of the paths of its files.
    files: &'static [&'static str],
    /// Endings of other files of the format.
    endings: &'static [&'static str],
    lines: Lines,
    /// Whether each host counts that few share. Otherwise an organisation's own registry is usual there, and only addresses
    /// without TLS or without a name count.
    strict: bool,
}

/// The requirements and constraints of pip, which reads their sources itself where they are installed.
const REQUIREMENTS: Format = Format {
    files: &[],
    endings: &[],
    lines: Lines::With(&["-i ", "-f ", "--index-url", "--extra-index-url", "--find-links", " @ ", "git+"]),
    strict: true,
};

const FORMATS: [Format; 13] = [
    Format {
        files: &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".bundle/config",
            "bunfig.toml",
            "pip.conf",
            "pip.ini",
            "uv.toml",
            "poetry.toml",
            "Pipfile",
            "nuget.config",
            "NuGet.Config",
            "go.env",
            ".mvn/settings.xml",
            ".mvn/extensions.xml",
            "settings.xml",
            "requirements.yml",
        ],
        endings: &[],
        lines: Lines::All,
        strict: true,
    },
    Format {
        files: &["uv.lock", "pdm.lock", "poetry.lock", "Pipfile.lock", "bun.lock", "deno.json", "deno.jsonc"],
        endings: &[],
        lines: Lines::All,
        strict: false,
    },
    Format {
        files: &["package-lock.json", "npm-shrinkwrap.json"],
        endings: &[],
        lines: Lines::With(&["\"resolved\""]),
        strict: false,
    },
    Format { files: &["yarn.lock"], endings: &[], lines: Lines::With(&["resolved", "resolution"]), strict: false },
    Format { files: &["pnpm-lock.yaml"], endings: &[], lines: Lines::With(&["tarball"]), strict: false },
    Format { files: &["composer.json"], endings: &[], lines: Lines::With(&["\"url\""]), strict: true },
    Format {
        files: &["Gemfile"],
        endings: &[],
        lines: Lines::With(&["source ", "git:", ":git", "remote"]),
        strict: true,
    },
    Format { files: &["Gemfile.lock"], endings: &[], lines: Lines::With(&["remote:"]), strict: false },
    Format {
        files: &["pyproject.toml"],
        endings: &[],
        lines: Lines::Tables(
            &["git =", " @ ", "index", "find-links"],
            &["[[tool.uv.index", "[[tool.poetry.source", "[[tool.pdm.source"],
        ),
        strict: true,
    },
    Format {
        files: &["pom.xml"],
        endings: &[],
        lines: Lines::Within(&["<repository>", "<pluginRepository>", "<mirror>", "<snapshotRepository>"]),
        strict: false,
    },
    Format {
        files: &["settings.gradle", "build.gradle", "settings.gradle.kts", "build.gradle.kts"],
        endings: &[".gradle", ".gradle.kts"],
        lines: Lines::With(&["maven", "url", "ivy", "from"]),
        strict: false,
    },
    Format { files: &["main.tf"], endings: &[".tf"], lines: Lines::With(&["source"]), strict: true },
    Format { files: &[], endings: &[".py"], lines: Lines::Commented, strict: true },
];

/// The files in the folder of a project that name sources.
pub(super) fn files() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.files).copied()
}

/// The addresses in a file of settings from which a package manager would get code, without those that many share.
pub(super) fn foreign(path: &str, text: &str) -> Vec<String> {
    let is = |name: &&str| path.strip_suffix(*name).is_some_and(|before| before.is_empty() || before.ends_with('/'));
    let format = FORMATS.iter().find(|format| format.files.iter().any(is));
    let by_ending = || FORMATS.iter().find(|format| format.endings.iter().any(|ending| path.ends_with(ending)));
    let by_name = || is_requirements(path).then_some(&REQUIREMENTS);
    let Some(format) = format.or_else(by_ending).or_else(by_name) else { return Vec::new() };
    let far = if format.strict { is_foreign } else { is_open };
    let counts = |address: &str| far(address) && !(path.ends_with(".xml") && is_schema(address));
    let mut found: Vec<String> = Vec::new();
    for address in source_lines(&format.lines, text).into_iter().flat_map(addresses) {
        if counts(address) && !found.iter().any(|known| known == address) && found.len() < MOST {
            found.push(address.to_owned());
        }
    }
    found
}

/// Whether pip is given a file as requirements: `requirements-dev.txt`, `constraints.txt`, `requirements/base.in`.
pub(in crate::shell) fn is_requirements(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(name) = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".in")) else { return false };
    let named = |text: &str| text.contains("requirements") || text.contains("constraints");
    named(name) || named(folder.rsplit('/').next().unwrap_or_default())
}

/// The addresses on a line.
fn addresses(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").filter_map(move |(at, _)| {
        let scheme = line.get(..at)?.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
        let address = line.get(at - scheme.len()..)?;
        let end = address.find(|c: char| c.is_whitespace() || "\"'`<>,;)]".contains(c)).unwrap_or(address.len());
        address.get(..end)
    })
}

/// The lines with an address. Lock files are long, and most have few.
fn addressed(text: &str) -> impl Iterator<Item = &str> + Clone {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (before, after) = rest.split_at_checked(rest.find("://")?)?;
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let end = before.len() + after.find('\n').unwrap_or(after.len());
        let line = rest.get(begin..end)?;
        rest = rest.get(end..)?;
        Some(line)
    })
}

/// The lines of a file that name a source.
fn source_lines<'t>(lines: &Lines, text: &'t str) -> Vec<&'t str> {
    let all = addressed(text).map(str::trim);
    let plain = all.clone().filter(|line| !line.starts_with(['#', ';']) && !line.starts_with("//"));
    let with = |keys: &'static [&'static str]| {
        plain.clone().filter(|line| keys.iter().any(|key| line.contains(key))).collect::<Vec<_>>()
    };
    match lines {
        Lines::All => plain.collect(),
        Lines::With(keys) => with(keys),
        Lines::Tables(keys, heads) => [with(keys), tables(text, heads)].concat(),
        Lines::Within(begins) => within(text, begins),
        Lines::Commented if text.contains("# /// script") => {
            all.filter(|line| line.starts_with('#') && line.contains(" @ ")).collect()
        }
        Lines::Commented => Vec::new(),
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
            (".npmrc", "registry=https://${HOST}/"),
            (".bundle/config", "BUNDLE_MIRROR__ALL: \"https://gems.example.net\""),
            ("bun.lock", "\"a\": [\"a@1.0.0\", \"http://npm.example.net/a.tgz\"]"),
            ("settings.xml", "<url>https://evilapache.org/maven2</url>"),
            ("requirements-dev.txt", "requests\n--extra-index-url https://pypi.example.net/simple"),
            ("requirements/base.in", "a @ git+https://git.example.net/a.git"),
            ("constraints.txt", "-f https://files.example.net/wheels"),
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
            ("requirements.txt", "# https://a.example.org\nrequests==2.31 # as in https://b.example.org"),
            ("notes.txt", "--index-url https://pypi.example.net/simple"),
        ] {
            assert!(foreign(name, text).is_empty(), "{name}: {text}");
        }
    }
}
