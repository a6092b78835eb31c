//! `${…}`: parameter expansion, as far as it is constant.
//!
//! If there are several possible values (such as a variable that only the machine knows, and its default), they are
//! kept as alternatives in one text. The text is spread into words where it is used.

use super::syntax::{parse, problem};
use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use foldhash::HashSet;

/// Delimiters around and between alternatives.
const OPEN: char = '\u{E002}';
const OR: char = '\u{E003}';
const CLOSE: char = '\u{E004}';
/// Most texts that result from spreading alternatives.
const MOST: usize = 32;
/// Longest text from which patterns are removed, in characters.
const LONGEST: usize = 4_096;

/// A text with these values as alternatives.
pub(crate) fn either(values: &[String]) -> String {
    match values {
        [one] => one.clone(),
        _ => format!("{OPEN}{}{CLOSE}", values.join(&OR.to_string())),
    }
}

/// All texts that a text with alternatives may be; [`UNKNOWN_SPAN`] is among them if there are too many.
pub(crate) fn spread(text: &str) -> Vec<String> {
    if !text.contains(OPEN) {
        return vec![text.to_owned()];
    }
    let (mut work, mut done) = (vec![text.to_owned()], Vec::new());
    while let Some(text) = work.pop() {
        if work.len() + done.len() > MOST {
            done.truncate(MOST);
            done.push(UNKNOWN_SPAN.to_string());
            return done;
        }
        // the innermost alternatives first
        let part = text.find(CLOSE).and_then(|end| Some((text.get(..end)?.rfind(OPEN)?, end)));
        let Some((begin, end)) = part else {
            let text = text.replace([OPEN, OR, CLOSE], "");
            if !done.contains(&text) {
                done.push(text);
            }
            continue;
        };
        let parts = (text.get(..begin), text.get(begin + OPEN.len_utf8()..end), text.get(end + CLOSE.len_utf8()..));
        if let (Some(before), Some(inner), Some(after)) = parts {
            work.extend(inner.split(OR).rev().map(|one| format!("{before}{one}{after}")));
        }
    }
    done
}

/// Whether a character may be part of a name.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Shell<'_> {
    /// The possible values of `${…}`.
    pub(crate) fn parameter(&mut self, raw: &str) -> Vec<String> {
        let inner = raw.strip_prefix("${").and_then(|r| r.strip_suffix('}')).unwrap_or(raw);
        let name: String = match inner.chars().next() {
            Some(all @ ('@' | '*')) => all.to_string(),
            _ => inner.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect(),
        };
        let mut rest = inner.get(name.len()..).unwrap_or_default();
        if rest.starts_with(['[', ':']) || inner.starts_with('!') {
            self.named_values(inner);
        }
        if let Some(other) = inner.strip_prefix('!').filter(|name| name.chars().all(is_of_name)) {
            return self.indirect(other);
        }
        if name.is_empty() {
            return self.length(inner);
        }
        let mut values = self.variable(&name);
        // each possible value by itself
        if !rest.is_empty()
            && let [value] = values.as_slice()
            && let choices = spread(value)
            && choices.len() > 1
        {
            return self.for_each_value(&name, choices, raw);
        }
        if let Some((index, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            rest = after;
            if !matches!(index, "@" | "*") {
                self.evaluated(index);
                let known = !values.iter().any(|v| v.contains(UNKNOWN_SPAN));
                let one = index.parse::<usize>().ok().filter(|_| known).and_then(|n| values.get(n).cloned());
                values = one.map_or_else(hole, |one| vec![one]);
            }
        }
        if rest.is_empty() {
            return values;
        }
        self.changed(&name, values, rest)
    }

    /// The value of the variable that another one names: `${!NAME}`.
    fn indirect(&mut self, other: &str) -> Vec<String> {
        match self.variable(other).as_slice() {
            [name] if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
                self.variable(name)
            }
            _ => hole(),
        }
    }

    /// The values of `${…}` for each possible value of its variable.
    fn for_each_value(&mut self, name: &str, choices: Vec<String>, raw: &str) -> Vec<String> {
        let before = self.state.variables.get(name).cloned();
        let mut results = Vec::new();
        for choice in choices {
            self.state.variables.insert(name.to_owned(), vec![choice]);
            results.extend(self.parameter(raw));
        }
        match before {
            Some(before) => drop(self.state.variables.insert(name.to_owned(), before)),
            None => drop(self.state.variables.remove(name)),
        }
        vec![either(&results)]
    }

    /// The values after the operator that follows the name: a default, a part, a replacement.
    fn changed(&mut self, name: &str, values: Vec<String>, rest: &str) -> Vec<String> {
        let (colon, operator) = match rest.strip_prefix(':') {
            Some(after) if after.starts_with(['-', '=', '+', '?']) => (true, after),
            _ => (false, rest),
        };
        let mut letters = operator.chars();
        let (first, word) = (letters.next().unwrap_or_default(), letters.as_str());
        let known = !values.iter().any(|v| v.contains(UNKNOWN_SPAN));
        match first {
            '-' | '=' | '+' => self.default_value(name, values, first, colon, word),
            '?' => values,
            '@' if word == "P" => {
                for value in &values {
                    self.evaluated(value);
                }
                hole()
            }
            _ if !known => hole(),
            '#' | '%' => self.without_pattern(&values, first, word),
            '/' => self.replaced(&values, word),
            '^' if word == "^" => values.iter().map(|v| v.to_uppercase()).collect(),
            ',' if word == "," => values.iter().map(|v| v.to_lowercase()).collect(),
            ':' => piece(&values, word),
            _ => hole(),
        }
    }

    /// `${#NAME}`, `${#NAME[@]}`.
    fn length(&self, inner: &str) -> Vec<String> {
        let Some(name) = inner.strip_prefix('#') else { return hole() };
        let (name, list) =
            name.strip_suffix("[@]").or_else(|| name.strip_suffix("[*]")).map_or((name, false), |name| (name, true));
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let Some(values) = self.state.variables.get(name).filter(|_| is_name) else { return hole() };
        let known = values.iter().all(|value| !value.contains([UNKNOWN_SPAN, OPEN]));
        match values.as_slice() {
            _ if !known => hole(),
            all if list => vec![all.len().to_string()],
            [value] => vec![value.chars().count().to_string()],
            _ => hole(),
        }
    }

    /// `${NAME-WORD}`, `${NAME=WORD}`, `${NAME+WORD}`; with a colon, an empty value counts as none.
    fn default_value(
        &mut self,
        name: &str,
        values: Vec<String>,
        operator: char,
        colon: bool,
        word: &str,
    ) -> Vec<String> {
        let known = !values.iter().any(|v| v.contains(UNKNOWN_SPAN));
        let empty = colon && values.iter().all(String::is_empty);
        let word = |shell: &mut Self| shell.text_of(word);
        if operator == '+' {
            let word = word(self);
            return match known {
                true if empty => vec![String::new()],
                true => vec![word],
                false => vec![either(&[String::new(), word])],
            };
        }
        let default = word(self);
        if known && !empty {
            return values;
        }
        // only the machine knows which; what nothing in the action assigns, its environment does not have
        let unset = !self.state.variables.contains_key(name) && name.starts_with(|c: char| !c.is_ascii_digit());
        let value = if known || unset { default } else { either(&[UNKNOWN_SPAN.to_string(), default]) };
        if operator == '=' {
            self.assign(name, vec![value.clone()]);
        }
        vec![value]
    }

    /// `${NAME#PATTERN}`, `${NAME%PATTERN}`; doubled, the longest match.
    fn without_pattern(&mut self, values: &[String], operator: char, word: &str) -> Vec<String> {
        let doubled = word.starts_with(operator);
        let pattern = self.text_of(word.strip_prefix(operator).unwrap_or(word));
        let cut = |value: &String| cut(value, &pattern, operator == '#', doubled);
        values.iter().map(cut).collect::<Option<_>>().unwrap_or_else(hole)
    }

    /// `${NAME/FROM/TO}`, `${NAME//FROM/TO}`.
    fn replaced(&mut self, values: &[String], word: &str) -> Vec<String> {
        let all = word.starts_with('/');
        let word = word.strip_prefix('/').unwrap_or(word);
        let end = word.char_indices().scan(false, |escaped, (at, c)| {
            let ends = c == '/' && !*escaped;
            *escaped = c == '\\' && !*escaped;
            Some((at, ends))
        });
        let end = end.filter(|(_, ends)| *ends).map(|(at, _)| at).next();
        let (from, to) = end.and_then(|end| Some((word.get(..end)?, word.get(end + 1..)?))).unwrap_or((word, ""));
        // the pattern is no text in quotes: a backslash stands before what counts as it is
        let escaped = !from.contains(['$', '`', '"', '\'']);
        let from = if escaped { from.replace('\\', "") } else { self.text_of(from) };
        let to = self.text_of(to);
        if from.is_empty() || from.contains(['*', '?', '[', '#', '%', UNKNOWN_SPAN]) {
            return hole();
        }
        let replaced = |v: &String| if all { v.replace(&from, &to) } else { v.replacen(&from, &to, 1) };
        values.iter().map(replaced).collect()
    }

    /// Expands a word within an expansion.
    fn text_of(&mut self, word: &str) -> String {
        if !word.contains(['$', '`', '"', '\'', '\\', '~']) {
            return word.to_owned();
        }
        let quoted = word.contains(['"', '\'']);
        let source = if quoted { format!("v={word}\n") } else { format!("v=\"{word}\"\n") };
        let Some(tree) = parse(&source).filter(|tree| problem(tree.root_node()).is_none()) else {
            return UNKNOWN_SPAN.to_string();
        };
        let assignment = children(tree.root_node()).into_iter().next();
        let value = assignment.and_then(|node| node.child_by_field_name("value"));
        // this tree has other nodes than the script
        self.seen.push(HashSet::default());
        let text = value.map_or_else(|| UNKNOWN_SPAN.to_string(), |value| self.marked(value, &source));
        self.seen.pop();
        if word.starts_with('~') { self.tilde(word) } else { text }
    }

    /// Evaluates the values of the variables in arithmetic, because the shell evaluates them again.
    pub(crate) fn named_values(&mut self, text: &str) {
        let names = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
        let values: Vec<String> = names.filter_map(|name| self.state.variables.get(name)).flatten().cloned().collect();
        values.iter().for_each(|value| self.evaluated(value));
    }

    /// Evaluates arithmetic. A variable that it may assign is not constant any more.
    pub(crate) fn arithmetic(&mut self, text: &str) {
        self.named_values(text);
        let compared = ["==", "!=", "<=", ">="]
            .iter()
            .fold(text.replace("<<=", "=").replace(">>=", "="), |text, sign| text.replace(sign, " "));
        if compared.contains('=') || text.contains("++") || text.contains("--") {
            for (name, values) in self.state.variables.iter_mut() {
                if text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name) {
                    *values = hole();
                }
            }
        }
    }

    /// Evaluates text that the shell evaluates although it was a plain string: subscripts, arithmetic, prompts. Its
    /// command substitutions run.
    pub(crate) fn evaluated(&mut self, text: &str) {
        if !text.contains("$(") && !text.contains('`') {
            return;
        }
        let source = format!(": \"{}\"", text.replace(['\\', '"'], ""));
        self.nested("text that is evaluated", &source, Output::default());
    }
}

/// The value of a part that is not constant.
fn hole() -> Vec<String> {
    vec![UNKNOWN_SPAN.to_string()]
}

/// `${NAME:FROM:LENGTH}` of a single value.
fn piece(values: &[String], word: &str) -> Vec<String> {
    let (from, length) = word.split_once(':').map_or((word, None), |(from, length)| (from, Some(length)));
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let (from, length) = (number(from), length.map(number));
    let piece = |value: &String| {
        let rest = value.chars().skip(from?);
        Some(match length {
            Some(length) => rest.take(length?).collect(),
            None => rest.collect(),
        })
    };
    match values {
        [value] => piece(value).map_or_else(hole, |piece| vec![piece]),
        _ => hole(),
    }
}

/// A value without the shortest or the longest match of a pattern at its beginning or end. `None`: not known.
fn cut(value: &str, pattern: &str, front: bool, most: bool) -> Option<String> {
    if pattern.contains(['[', '(', UNKNOWN_SPAN]) || value.chars().count() > LONGEST {
        return None;
    }
    let mut places: Vec<usize> = value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    if front == most {
        places.reverse();
    }
    let (chars, empty) = (pattern.chars().collect::<Vec<char>>(), String::new());
    for at in places {
        let (head, tail) = value.split_at_checked(at)?;
        let (gone, kept) = if front { (head, tail) } else { (tail, head) };
        if matches(&chars, gone) {
            return Some(if kept.is_empty() { empty } else { kept.to_owned() });
        }
    }
    Some(value.to_owned())
}

/// Whether the whole text matches a pattern of `*`, `?` and literal characters.
fn matches(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || text.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    (p, t) = (at + 1, from + 1);
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_spread_within_a_word() {
        let word = format!("/a/{}/c", either(&["x".to_owned(), either(&["y".to_owned(), "z".to_owned()])]));
        assert_eq!(spread(&word), ["/a/x/c", "/a/y/c", "/a/z/c"].map(str::to_owned).as_slice());
        assert_eq!(spread("plain"), ["plain"]);
        let many = either(&["x".to_owned(), "y".to_owned()]).repeat(9);
        assert!(spread(&many).contains(&UNKNOWN_SPAN.to_string()));
    }

    #[test]
    fn patterns_are_removed_as_in_the_shell() {
        for (value, pattern, front, most, left) in [
            ("a/b/c.txt", "*/", true, false, "b/c.txt"),
            ("a/b/c.txt", "*/", true, true, "c.txt"),
            ("a/b/c.tar.gz", ".*", false, false, "a/b/c.tar"),
            ("a/b/c.tar.gz", ".*", false, true, "a/b/c"),
            ("Xhome", "X", true, false, "home"),
            ("home", "X", true, false, "home"),
        ] {
            assert_eq!(cut(value, pattern, front, most).unwrap(), left, "{value} {pattern}");
        }
        assert_eq!(cut("a", "[ab]", true, false), None);
    }
}
