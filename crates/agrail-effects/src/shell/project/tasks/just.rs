//! `justfile`: recipes with parameters and dependencies, variables, `{{...}}`.

use super::{MOST, Step, fill};
use crate::UNKNOWN_SPAN;
use foldhash::HashSet;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
struct Justfile {
    variables: BTreeMap<String, String>,
    recipes: Vec<Recipe>,
}

#[derive(Debug, Default)]
struct Recipe {
    name: String,
    parameters: Vec<Parameter>,
    needs: Vec<String>,
    lines: Vec<String>,
}

#[derive(Debug)]
struct Parameter {
    name: String,
    default: Option<String>,
    /// It takes all words that are left.
    rest: bool,
}

/// The steps of the chosen recipes; of the first one if none is chosen.
pub(super) fn steps(text: &str, chosen: &[String]) -> Vec<Step> {
    let mut file = parse(text);
    let mut words = Vec::new();
    for word in chosen {
        match word.split_once('=') {
            Some((name, value)) if file.recipe(word).is_none() => {
                drop(file.variables.insert(name.to_owned(), value.to_owned()));
            }
            _ => words.push(word.as_str()),
        }
    }
    let mut open: Vec<(&Recipe, Vec<&str>)> = Vec::new();
    while let Some((name, rest)) = words.split_first() {
        let Some(recipe) = file.recipe(name) else { break };
        let takes = if recipe.parameters.iter().any(|one| one.rest) { rest.len() } else { recipe.parameters.len() };
        let (own, after) = rest.split_at(takes.min(rest.len()));
        open.push((recipe, own.to_vec()));
        words = after.to_vec();
    }
    if open.is_empty() && chosen.is_empty() {
        open.extend(file.recipes.first().map(|first| (first, Vec::new())));
    }
    let (mut all, mut seen) = (Vec::new(), HashSet::default());
    while let Some((recipe, words)) = open.pop() {
        if !seen.insert(&recipe.name) || all.len() > MOST {
            continue;
        }
        open.extend(recipe.needs.iter().filter_map(|name| Some((file.recipe(name)?, Vec::new()))));
        all.extend(recipe.steps(&file, &words));
    }
    all
}

impl Justfile {
    fn recipe(&self, name: &str) -> Option<&Recipe> {
        self.recipes.iter().find(|recipe| recipe.name == name)
    }
}

impl Recipe {
    /// Its lines with the values of parameters and variables. A body that begins with `#!` is one script.
    fn steps(&self, file: &Justfile, words: &[&str]) -> Vec<Step> {
        let mut values = file.variables.clone();
        for (at, parameter) in self.parameters.iter().enumerate() {
            let given = if parameter.rest { words.get(at..).map(|rest| rest.join(" ")) } else { None };
            let given =
                given.filter(|given| !given.is_empty()).or_else(|| words.get(at).map(|word| (*word).to_owned()));
            let value = given.or_else(|| parameter.default.clone());
            let none = if parameter.rest { String::new() } else { UNKNOWN_SPAN.to_string() };
            values.insert(parameter.name.clone(), value.unwrap_or(none));
        }
        let filled = |line: &String| {
            let line = line.replace("{{{{", "\u{1}");
            fill(&line, "{{", "}}", |name| value_of(name, &values)).replace('\u{1}', "{{")
        };
        let lines: Vec<String> = self.lines.iter().map(filled).collect();
        if lines.first().is_some_and(|line| line.starts_with("#!")) {
            // a shell runs it by its first line
            let file = "recipe.just-script";
            let text = lines.join("\n");
            return vec![Step::shell(format!("cat > {file} <<'END-OF-RECIPE'\n{text}\nEND-OF-RECIPE\n./{file}"))];
        }
        let plain = |line: &str| line.trim_start_matches(['@', '-', ' ']).to_owned();
        lines.join("\n").replace("\\\n", " ").lines().map(|line| Step::shell(plain(line))).collect()
    }
}

/// The value of an expression: texts and variables, joined by `+` or `/`.
fn value_of(expression: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    let expression = expression.trim();
    if let Some(text) = literal(expression) {
        return Some(text.to_owned());
    }
    if let Some(value) = variables.get(expression) {
        return Some(value.clone());
    }
    for (mark, between) in [('+', ""), ('/', "/")] {
        if let Some((left, right)) = expression.split_once(mark) {
            return Some(format!("{}{between}{}", value_of(left, variables)?, value_of(right, variables)?));
        }
    }
    None
}

/// The content of a quoted text without further quotes.
fn literal(text: &str) -> Option<&str> {
    ['"', '\''].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.contains(*quote) && !inner.contains('\\')).then_some(inner)
    })
}

fn parse(text: &str) -> Justfile {
    let mut file = Justfile::default();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = file.recipes.last_mut().filter(|_| !line.trim().is_empty()) {
                recipe.lines.push(line.trim_start().to_owned());
            }
            continue;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '[']) {
            continue;
        }
        if let Some((name, value)) = line.split_once(":=") {
            let name = name.trim().trim_start_matches("export ").trim();
            let value = value_of(value, &file.variables).unwrap_or_else(|| UNKNOWN_SPAN.to_string());
            file.variables.insert(name.to_owned(), value);
        } else if let Some((head, needs)) = line.split_once(':') {
            file.recipes.extend(recipe(head, needs));
        }
    }
    file
}

fn recipe(head: &str, needs: &str) -> Option<Recipe> {
    let mut words = head.trim_start_matches('@').split_whitespace();
    let name = words.next()?.to_owned();
    let parameter = |word: &str| {
        let rest = word.starts_with(['*', '+']);
        let word = word.trim_start_matches(['*', '+', '$']);
        let (name, default) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let default = default.map(|value| literal(value).map_or_else(|| UNKNOWN_SPAN.to_string(), str::to_owned));
        Parameter { name: name.to_owned(), default, rest }
    };
    let parameters = words.map(parameter).collect();
    let needs = needs.split_whitespace().filter(|word| *word != "&&");
    let needs = needs.map(|word| word.trim_matches(['(', ')']).to_owned()).collect();
    Some(Recipe { name, parameters, needs, lines: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, chosen: &[&str]) -> Vec<String> {
        let chosen: Vec<String> = chosen.iter().map(|word| (*word).to_owned()).collect();
        steps(text, &chosen).into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn recipes_run_with_their_needs() {
        let file = "out := 'dist'\nset shell := ['bash', '-c']\n\nall: build\n  @echo done\n\nbuild: clean\n  cc -o {{out}}/a \
                    a.c\nclean:\n  rm -rf {{out}}\n";
        assert_eq!(texts(file, &[]), ["echo done", "cc -o dist/a a.c", "rm -rf dist"]);
        assert_eq!(texts(file, &["out=x", "clean"]), ["rm -rf x"]);
        assert!(texts(file, &["nothing"]).is_empty());
    }

    #[test]
    fn parameters_have_values() {
        let file = "test name='all' *rest:\n  pytest {{name}} {{rest}}\ndeploy where:\n  scp a {{where}}:\n  echo {{ f(x) }}\n";
        assert_eq!(texts(file, &["test"]), ["pytest all "]);
        assert_eq!(texts(file, &["test", "a", "-v", "-x"]), ["pytest a -v -x"]);
        assert_eq!(texts(file, &["deploy", "host"]), ["scp a host:".to_owned(), format!("echo {UNKNOWN_SPAN}")]);
    }
}
