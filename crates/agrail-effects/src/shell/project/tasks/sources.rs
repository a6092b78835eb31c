//! Where the packages of a project come from: `requirements.txt`, `package.json`, `.npmrc`, `.cargo/config.toml`.
//!
//! Packages by plain names come from the index that is set elsewhere. What counts is a line that names an address, an
//! option, or a program that takes part in a build.

use super::{BESIDE, Step};
use crate::reading::quote;
use crate::shell::registry::is_open;
use serde_json::Value;

/// The lines of a requirements file that are not plain names, as arguments of `pip install`.
pub(super) fn requirements(text: &str) -> Vec<Step> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim());
    let lines = lines.filter(|line| !line.starts_with('#') && (line.starts_with('-') || line.contains("://")));
    let step = |line: &str| {
        let nested = ["-r", "--requirement", "-c", "--constraint"].iter().find_map(|name| {
            let rest = line.strip_prefix(name)?;
            rest.starts_with(['=', ' ']).then(|| rest.trim_start_matches(['=', ' ']))
        });
        match nested {
            // relative to the file, unlike other paths
            Some(file) => {
                Step { folder: Some(BESIDE.to_owned()), ..Step::shell(format!("pip install -r {}", quote(file))) }
            }
            None if line.starts_with("--hash") => Step::shell(""),
            None if line.starts_with('-') => Step::shell(format!("pip install {line}")),
            None => Step::shell(format!("pip install {}", quote(line.split(" --").next().unwrap_or(line)))),
        }
    };
    lines.map(step).collect()
}

/// The dependencies of a `package.json` that are addresses without TLS, as arguments of `npm install`; those that replace
/// the dependencies of others count, too.
pub(super) fn npm(text: &str) -> Option<Vec<Step>> {
    let file: Value = serde_json::from_str(text).ok()?;
    let kinds = ["dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions", "pnpm"];
    let mut open: Vec<&Value> = kinds.iter().filter_map(|kind| file.get(*kind)).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(value) = open.get(at).copied() {
        at += 1;
        match value {
            Value::Object(all) => open.extend(all.values()),
            Value::String(text) if is_open(text) => found.push(Step::shell(format!("npm install {}", quote(text)))),
            _ => {}
        }
    }
    Some(found)
}

/// Settings of npm that name an index without TLS, or a program.
pub(super) fn npmrc(text: &str) -> Vec<Step> {
    let setting = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        if name.ends_with("registry") && is_open(value) {
            return Some(Step::shell(format!("npm config set registry {}", quote(value))));
        }
        matches!(name, "script-shell" | "git" | "node-gyp" | "init-module").then(|| Step::shell(value))
    };
    text.lines().filter_map(setting).collect()
}

/// Programs that cargo starts by its configuration, and indexes that replace the registry.
pub(super) fn cargo(text: &str) -> Option<Vec<Step>> {
    let file: toml::Table = toml::from_str(text).ok()?;
    let mut steps = Vec::new();
    let line = |value: &toml::Value| match value {
        toml::Value::String(line) => Some(line.clone()),
        toml::Value::Array(words) => {
            Some(words.iter().filter_map(toml::Value::as_str).map(quote).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    };
    let programs = |table: Option<&toml::Value>| {
        let keys = ["rustc", "rustc-wrapper", "rustc-workspace-wrapper", "rustdoc", "runner", "linker"];
        keys.iter().filter_map(|key| line(table?.get(*key)?)).collect::<Vec<String>>()
    };
    steps.extend(programs(file.get("build")));
    let targets = file.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    steps.extend(targets.flat_map(|target| programs(Some(target))));
    let sources = file.get("source").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let open = sources.filter_map(|source| source.get("registry")?.as_str()).filter(|address| is_open(address));
    steps.extend(open.map(|address| format!("CARGO_REGISTRIES_X_INDEX={} cargo fetch", quote(address))));
    Some(steps.into_iter().map(Step::shell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(steps: Vec<Step>) -> Vec<String> {
        steps.into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn only_addresses_and_options_count() {
        let file = "# x\nrequests==2 # y\n-r more.txt\n--index-url http://203.0.113.5/s\na @ https://h.example/a.whl\n";
        let all = [
            "pip install -r more.txt",
            "pip install --index-url http://203.0.113.5/s",
            "pip install 'a @ https://h.example/a.whl'",
        ];
        assert_eq!(texts(requirements(file)), all);
    }

    #[test]
    fn open_addresses_and_programs_count() {
        let file = r#"{"dependencies": {"a": "^1", "b": "http://h.example/b.tgz", "c": "https://203.0.113.5/c.tgz",
                       "d": "git+https://github.com/x/y"}}"#;
        let all = texts(npm(file).unwrap_or_default());
        assert_eq!(all, ["npm install http://h.example/b.tgz", "npm install https://203.0.113.5/c.tgz"]);
        let file = "registry=https://npm.corp.example/\n@x:registry=http://h.example\nscript-shell=/tmp/sh\n";
        assert_eq!(texts(npmrc(file)), ["npm config set registry http://h.example", "/tmp/sh"]);
        let file = "[build]\nrustc-wrapper = 'sccache'\n[target.x]\nrunner = ['sh', '-c', 'a b']\n[alias]\nx = 'run'\n";
        assert_eq!(texts(cargo(file).unwrap_or_default()), ["sccache", "sh -c 'a b'"]);
    }
}
