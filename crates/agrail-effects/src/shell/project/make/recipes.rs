//! The recipes that some goals run: those of their own rules and of patterns, and of all that they need.

use super::expand::{AUTOMATIC, Scope, stem};
use super::parse::{Makefile, Rule};
use crate::{Effect, Target, Verb};
use foldhash::HashSet;

/// Most recipe lines that are interpreted.
pub(super) const LINES: usize = 400;
/// After so many compilations of the same shape that only read and write files of the folder, the others do as well.
pub(super) const ALIKE: usize = 2;
/// Most targets that are looked at.
const GOALS: usize = 4_000;
/// Compilers that write which files an object needs.
const COMPILERS: [&str; 8] = ["cc", "gcc", "g++", "c++", "clang", "clang++", "gfortran", "nvcc"];

/// A line of a recipe. The shape of a compilation is the line with `%` in place of the files of the target.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub text: String,
    pub shape: Option<String>,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Line { text, shape: None }
    }
}

/// Variables of targets: name, mark and value.
type Variables = Vec<(String, String, String)>;

/// The recipe lines of some goals and of all their prerequisites.
pub(super) fn recipes(file: &Makefile, scope: &mut Scope<'_>, goals: Vec<String>) -> Vec<Line> {
    let mut open: Vec<(String, Vec<usize>, Variables)> =
        goals.into_iter().map(|goal| (goal, Vec::new(), Vec::new())).collect();
    let (mut seen, mut lines) = (HashSet::default(), Vec::new());
    while let Some((goal, used, inherited)) = open.pop() {
        if !seen.insert((goal.clone(), inherited.clone())) || lines.len() > LINES {
            continue;
        }
        if seen.len() > GOALS {
            scope.problems.push("the makefile has too many targets".to_owned());
            break;
        }
        let rules = rules_of(file, &goal, &used);
        // the variables of a target are those of all that it needs
        let mut variables = inherited;
        variables.extend(rules.iter().flat_map(|(rule, ..)| rule.variables.iter().cloned()));
        for (rule, stem, pattern) in rules {
            let needs: Vec<String> = rule.needs.iter().map(|need| need.replace('%', &stem)).collect();
            let used: Vec<usize> = used.iter().copied().chain(pattern).collect();
            open.extend(needs.iter().map(|need| (need.clone(), used.clone(), variables.clone())));
            lines.extend(recipe(file, scope, &goal, (&rule.recipe, &variables), &needs, stem));
        }
    }
    lines
}

/// The recipe lines of one target, with the variables that `make` sets for it.
fn recipe(
    file: &Makefile,
    scope: &mut Scope<'_>,
    goal: &str,
    (written, variables): (&[String], &Variables),
    needs: &[String],
    stem: String,
) -> Vec<Line> {
    let (shaped_by, plain) = (stem.clone(), !stem.is_empty() && is_plain(&stem));
    if written.is_empty() {
        return Vec::new();
    }
    // most targets have no variables of their own
    let before = (!variables.is_empty()).then(|| (scope.variables.clone(), scope.others.clone()));
    let (first, all) = (needs.first().cloned().unwrap_or_default(), needs.join(" "));
    for (name, value) in AUTOMATIC.into_iter().zip([goal.to_owned(), first, all.clone(), all.clone(), all, stem]) {
        scope.variables.insert(name.to_owned(), value);
    }
    for (name, mark, value) in variables {
        scope.assign(name, mark, value, false);
    }
    let mut recipe = Vec::new();
    // one more than the most shows that there are too many
    for written in written.iter().take(LINES + 1) {
        let again = ["$(MAKE)", "${MAKE}"].iter().any(|name| written.contains(name));
        // a variable may hold several lines
        let texts = scope.expand_all(written);
        for line in texts.iter().flat_map(|text| text.lines()) {
            let command = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
            let marks = line.get(..line.len() - command.len()).unwrap_or_default();
            if again || marks.contains('+') {
                scope.always.push(command.to_owned());
            }
            let text = unannounced(command).to_owned();
            let shape = plain.then(|| shape(&text, &shaped_by)).flatten();
            recipe.push(Line { text, shape });
        }
    }
    match before {
        Some(before) => (scope.variables, scope.others) = before,
        None => {
            AUTOMATIC.iter().for_each(|name| drop(scope.variables.remove(*name)));
        }
    }
    if file.one_shell {
        return vec![recipe.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n").into()];
    }
    recipe
}

/// The shape of a compilation of one file, which stands for that of others: the command line with `%` in place of the stem.
fn shape(line: &str, stem: &str) -> Option<String> {
    let program = line.split_whitespace().next()?;
    let simple = !line.contains(['`', '$', ';', '|', '&', '<', '>', '(', '\\', '@', '\n']);
    let word = |word: &str| match !word.starts_with('-') && is_plain(word) {
        true => word.replace(stem, "%"),
        false => word.to_owned(),
    };
    (simple && COMPILERS.contains(&program)).then(|| line.split_whitespace().map(word).collect::<Vec<_>>().join(" "))
}

/// A command line without the message in front of it: `printf 'CC a.c' 1>&2; cc -c a.c` is `cc -c a.c`.
fn unannounced(line: &str) -> &str {
    let Some((before, rest)) = line.split_once("1>&2;") else { return line };
    let prints = before.starts_with("printf ") || before.starts_with("echo ");
    if prints && !before.contains(['`', '$', ';', '|', '&', '>']) { rest.trim_start() } else { line }
}

/// Whether a command line only lets a compiler write which files an object needs.
pub(super) fn only_lists_needs(line: &str) -> bool {
    let computed = line.contains("$(") || line.contains('`');
    // `printf ... 1>&2;cc -MM a.c > a.d || true`
    let mut parts = line.split([';', '|', '&']).filter(|part| !part.trim().is_empty());
    !computed
        && parts.all(|part| match part.split_whitespace().next().unwrap_or_default() {
            "printf" | "echo" => part.ends_with('>'),
            "2" | "true" | "set" | "rm" | "mkdir" => true,
            program => COMPILERS.contains(&program) && part.split_whitespace().any(|word| matches!(word, "-M" | "-MM")),
        })
}

/// Whether a word is the relative path of an ordinary file, for which a command means the same as for another one.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    word.chars().all(plain)
        && word.split('/').all(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// Whether an effect reads or writes a file of the folder, or is a program's start.
pub(super) fn only_makes_files(effect: &Effect, folder: &str) -> bool {
    match effect.verb {
        Verb::Read | Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite => {
            matches!(&effect.target, Target::Path(path)
                if path == "/dev/null" || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        }
        Verb::List => true,
        _ => false,
    }
}

/// The rules of a target, each with what `%` stands for and the number of its pattern: its own, and, if that has no recipe,
/// those of all patterns that match; without any, that of `.DEFAULT`.
///
/// `used` holds the patterns that led to the target: `make` uses none of them twice in a chain.
pub(super) fn rules_of<'f>(file: &'f Makefile, goal: &str, used: &[usize]) -> Vec<(&'f Rule, String, Option<usize>)> {
    let own = file.rules.get(goal);
    let mut all: Vec<_> = own.into_iter().map(|rule| (rule, String::new(), None)).collect();
    if own.is_none_or(|rule| rule.recipe.is_empty()) {
        let unused = file.patterns.iter().enumerate().filter(|(at, _)| !used.contains(at));
        all.extend(unused.filter_map(|(at, (pattern, rule))| Some((rule, stem(pattern, goal)?.to_owned(), Some(at)))));
    }
    if all.is_empty() {
        all.extend(file.rules.get(".DEFAULT").map(|rule| (rule, String::new(), None)));
    }
    all
}
