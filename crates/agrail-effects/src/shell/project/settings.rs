//! Changes that `npm pkg set` makes to a `package.json`: its new content is what its arguments say.

use crate::shell::{Output, Shell};
use crate::{Effect, Target, Verb};
use serde_json::{Map, Value};

impl Shell<'_> {
    /// Reads `npm pkg set KEY=VALUE...` in the folder of a `package.json`. Returns whether that is all that the command
    /// does; with options, with lists among the keys, or without such a file, it is not.
    pub(super) fn sets_package(&mut self, program: &str, words: &[String]) -> bool {
        let Some(pairs) = pairs(words) else { return false };
        let path = self.path("package.json");
        let Ok(contents) = self.read_contents(&path) else { return false };
        let changed = contents.iter().map(|content| {
            let mut file = serde_json::from_slice::<Map<String, Value>>(content).ok()?;
            pairs.iter().try_for_each(|(keys, value)| put(&mut file, keys, value))?;
            serde_json::to_string_pretty(&file).ok()
        });
        let Some(changed) = changed.collect::<Option<Vec<String>>>() else { return false };
        for text in changed {
            let output = Output { text: Some(text), ..Output::default() };
            self.put_output(&path, &output, Verb::Write, program);
        }
        self.push(Effect::new(Verb::Write, Target::Path(path), program));
        true
    }
}

/// The keys and values that are set; `None`: it is another command, or not all of it is known.
fn pairs(words: &[String]) -> Option<Vec<(Vec<&str>, &str)>> {
    let [command, verb, pairs @ ..] = words else { return None };
    if command != "pkg" || verb != "set" || pairs.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|pair| {
            let (key, value) = pair.split_once('=')?;
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '@' | '/');
            let keys: Vec<&str> = key.split('.').collect();
            let known = key.chars().all(plain) && keys.iter().all(|key| !key.is_empty()) && !key.starts_with('-');
            known.then_some((keys, value))
        })
        .collect()
}

/// Sets a value in nested objects; `None` if something else is in the way.
fn put(file: &mut Map<String, Value>, keys: &[&str], value: &str) -> Option<()> {
    let (last, around) = keys.split_last()?;
    let mut place = file;
    for key in around {
        place = place.entry((*key).to_owned()).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    }
    place.insert((*last).to_owned(), Value::String(value.to_owned()));
    Some(())
}
