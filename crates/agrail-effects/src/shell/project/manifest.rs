//! `package.json`, parsed once for each content.

use crate::shell::Shell;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most contents that are kept.
const MOST: usize = 64;

/// The scripts of a package by name, each with all its possible command lines.
pub(super) type Scripts = BTreeMap<String, Vec<String>>;

/// A `package.json`.
pub(in crate::shell) struct Manifest {
    pub file: Map<String, Value>,
    pub scripts: Rc<Scripts>,
}

impl Manifest {
    fn parse(content: &[u8]) -> Option<Self> {
        let Ok(Value::Object(file)) = serde_json::from_slice(content) else { return None };
        let lines = |line: &Value| line.as_str().map(str::to_owned).into_iter().collect();
        let own = file.get("scripts").and_then(Value::as_object).into_iter().flatten();
        let scripts = Rc::new(own.map(|(name, line)| (name.clone(), lines(line))).collect());
        Some(Self { file, scripts })
    }

    /// Whether it defines a program, or a dependency brings one.
    pub fn defines(&self, name: &str) -> bool {
        let lists = ["dependencies", "devDependencies"].iter().filter_map(|key| self.file.get(*key)?.as_object());
        // `eslint`, `@biomejs/biome`, `@changesets/cli`: packages that bring a program of their name
        let brings = |package: &String| {
            let (scope, base) =
                package.strip_prefix('@').and_then(|rest| rest.split_once('/')).unwrap_or(("", package));
            base == name || base == "cli" && (scope == name || scope.strip_suffix('s') == Some(name))
        };
        if lists.flat_map(|list| list.keys()).any(brings) {
            return true;
        }
        match self.file.get("bin") {
            Some(Value::Object(bins)) => bins.contains_key(name),
            Some(Value::String(_)) => {
                let own = self.file.get("name").and_then(Value::as_str).unwrap_or_default();
                own.rsplit('/').next() == Some(name)
            }
            _ => false,
        }
    }
}

impl Shell<'_> {
    /// A `package.json` with this content; `None` if it is no object.
    pub(super) fn package_file(&self, content: &[u8]) -> Option<Rc<Manifest>> {
        if let Some(known) = self.manifests.borrow().get(content) {
            return known.clone();
        }
        let manifest = Manifest::parse(content).map(Rc::new);
        let mut kept = self.manifests.borrow_mut();
        if kept.len() < MOST {
            kept.insert(content.to_owned(), manifest.clone());
        }
        manifest
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Manifest;

    #[test]
    fn a_package_defines_the_programs_of_itself_and_of_its_dependencies() {
        let defines = |content: &str, name: &str| Manifest::parse(content.as_bytes()).unwrap().defines(name);
        assert!(defines(r#"{"name": "@x/frob", "bin": "a.js"}"#, "frob"));
        assert!(defines(r#"{"name": "x", "bin": {"frob": "a.js"}}"#, "frob"));
        assert!(defines(r#"{"devDependencies": {"@frobs/cli": "1"}}"#, "frob"));
        assert!(!defines(r#"{"name": "frob"}"#, "frob"));
    }

    #[test]
    fn scripts_are_texts_of_an_object() {
        let scripts = |content: &str| Manifest::parse(content.as_bytes()).map(|manifest| manifest.scripts);
        let named = scripts(r#"{"scripts": {"a": "ls", "b": 1}}"#).unwrap();
        assert_eq!(named.get("a").unwrap(), &["ls"]);
        assert!(named.get("b").unwrap().is_empty());
        assert!(scripts(r#"{"scripts": ["ls"]}"#).unwrap().is_empty());
        assert!(scripts("[]").is_none() && scripts("{").is_none() && scripts("\u{feff}{}").is_none());
    }
}
