//! `getopt.getopt`.

use crate::UNKNOWN_SPAN;
use crate::python::Reader;
use crate::python::calls::Args;
use crate::python::values::{Value, list, text};

impl Reader<'_> {
    /// The options with their values and the other words. `None` if something about them is not certain.
    pub(super) fn getopt(&mut self, args: &Args, mixed: bool) -> Option<Value> {
        let texts = |value: Value| -> Option<Vec<String>> {
            let all = value.elements().filter(|_| !value.is_text())?;
            let texts: Vec<String> = all.iter().map(Value::show).collect();
            texts.iter().all(|text| !text.contains([UNKNOWN_SPAN, '*', '['])).then_some(texts)
        };
        let words = texts(args.at(0)).filter(|words| words.iter().all(|word| !word.contains('?')))?;
        let short = args.get(1, "shortopts")?.show();
        // optional values are new
        if short.contains(UNKNOWN_SPAN) || short.contains("::") {
            return None;
        }
        let mixed = mixed && !short.starts_with('+');
        let long = match args.get(2, "longopts") {
            None | Some(Value::None) => Vec::new(),
            Some(Value::Text(one)) => vec![one.to_string()],
            Some(other) => texts(other)?,
        };
        if long.iter().any(|option| option.ends_with("=?")) {
            return None;
        }
        let (given, rest) = read(&words, &short, &long, mixed)?;
        let pair = |(name, value): (String, String)| list(vec![text(name), text(value)]);
        let given = given.into_iter().map(pair).collect();
        Some(list(vec![list(given), list(rest.iter().map(text).collect())]))
    }
}

/// Options with their values, and the words that are no options.
type Given = (Vec<(String, String)>, Vec<String>);

fn read(words: &[String], short: &str, long: &[String], mixed: bool) -> Option<Given> {
    let (mut given, mut plain, mut rest) = (Vec::new(), Vec::new(), words);
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word == "--" {
            break;
        }
        if let Some(name) = word.strip_prefix("--") {
            let (name, attached) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            let full = |option: &&String| option.trim_end_matches('=') == name;
            let found: Vec<&String> = match long.iter().find(full) {
                Some(option) => vec![option],
                None => long.iter().filter(|option| option.starts_with(name)).collect(),
            };
            let [option] = found.as_slice() else { return None };
            let value = match (option.ends_with('='), attached) {
                (true, Some(value)) => value.to_owned(),
                (true, None) => take(&mut rest)?,
                (false, None) => String::new(),
                (false, Some(_)) => return None,
            };
            given.push((format!("--{}", option.trim_end_matches('=')), value));
        } else if word.len() > 1 && word.starts_with('-') {
            let mut letters = word.get(1..)?;
            while let Some(letter) = letters.chars().next() {
                letters = letters.get(letter.len_utf8()..)?;
                let at = short.find(letter).filter(|_| letter != ':')?;
                let takes = short.get(at + letter.len_utf8()..).is_some_and(|rest| rest.starts_with(':'));
                let value = match (takes, std::mem::take(&mut letters)) {
                    (true, "") => take(&mut rest)?,
                    (true, attached) => attached.to_owned(),
                    (false, others) => {
                        letters = others;
                        String::new()
                    }
                };
                given.push((format!("-{letter}"), value));
            }
        } else {
            plain.push(word.clone());
            if !mixed {
                break;
            }
        }
    }
    plain.extend(rest.iter().cloned());
    Some((given, plain))
}

/// The next word.
fn take(rest: &mut &[String]) -> Option<String> {
    let (word, after) = rest.split_first()?;
    *rest = after;
    Some(word.clone())
}
