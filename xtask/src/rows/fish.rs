//! Reads options from the completions of fish: lines of `complete -c NAME -s o -l option -r`.

use super::manual::{Arity, Documented, Manual};

/// The options and subcommands of one file of completions.
pub fn parse_fish(program: &str, text: &str) -> Manual {
    let mut manual = Manual::default();
    for line in text.replace("\\\n", " ").lines() {
        let words = words(line);
        if words.first().is_none_or(|word| word != "complete") {
            continue;
        }
        if let Some((option, sub)) = parse_complete(program, &words) {
            match sub {
                Some(names) => names.iter().for_each(|name| {
                    manual.subs.entry(name.clone()).or_default().add(option.clone());
                }),
                None => manual.add(option),
            }
        }
    }
    manual
}

fn parse_complete(program: &str, words: &[String]) -> Option<(Documented, Option<Vec<String>>)> {
    let mut option = Documented { names: Vec::new(), arity: Arity::None, value: String::new(), about: String::new() };
    let (mut command, mut sub) = (String::new(), None);
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let (key, attached) = match word.split_once('=') {
            Some((key, value)) if key.starts_with("--") => (key, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || attached.clone().or_else(|| rest.next().cloned()).unwrap_or_default();
        match key {
            "-c" | "--command" => command = value(),
            "-s" | "--short-option" => option.names.extend(value().chars().map(|letter| format!("-{letter}"))),
            "-l" | "--long-option" => option.names.push(format!("--{}", value())),
            "-o" | "--old-option" => option.names.push(format!("-{}", value())),
            "-d" | "--description" => option.about = value(),
            "-a" | "--arguments" => option.value = value().chars().take(80).collect(),
            "-n" | "--condition" => sub = subcommands(&value()).or(sub),
            "-w" | "--wraps" | "-p" | "--path" => drop(value()),
            "-r" | "--require-parameter" | "-x" | "--exclusive" => option.arity = Arity::Required,
            "-F" | "--force-files" => option.value = "FILE".to_owned(),
            bundle if bundle.starts_with('-') && !bundle.starts_with("--") => {
                if bundle.contains(['r', 'x']) {
                    option.arity = Arity::Required;
                }
                match bundle.chars().last() {
                    Some('a') => option.value = value().chars().take(80).collect(),
                    Some('d') => option.about = value(),
                    Some('c') => command = value(),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    // names that the file computes are not known
    let constant = !option.names.is_empty() && option.names.iter().all(|name| !name.contains(['$', '(']));
    (command == program && constant).then_some((option, sub))
}

/// The subcommands of a condition, if it names nothing else.
fn subcommands(condition: &str) -> Option<Vec<String>> {
    let (_, names) = condition.split_once("__fish_seen_subcommand_from ")?;
    let names: Vec<String> =
        names.split_whitespace().take_while(|name| !name.contains([';', '&'])).map(str::to_owned).collect();
    (!names.is_empty() && names.iter().all(|name| !name.contains(['$', '('])) && !condition.contains("not "))
        .then_some(names)
}

/// The words of a line, with quotes removed. Words are not expanded.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut open, mut begun) = (String::new(), None, false);
    let mut letters = line.trim().chars();
    while let Some(letter) = letters.next() {
        match (letter, open) {
            ('\\', _) => word.extend(letters.next()),
            (quote, Some(own)) if quote == own => open = None,
            (_, Some(_)) => word.push(letter),
            ('\'' | '"', None) => (open, begun) = (Some(letter), true),
            ('#', None) if word.is_empty() && !begun => break,
            (' ' | '\t', None) => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => word.push(letter),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn completions_name_options_of_programs_and_subcommands() {
        let text = "complete -c frob -s v -l verbose -d 'Say \"more\"'\n\
                    complete -c frob -s o -l output -r -F\n\
                    complete -c other -l nothing\n\
                    complete -c frob -n '__fish_seen_subcommand_from push pull' -l tag -xa 'a b'\n\
                    complete -c frob -l $computed\n";
        let manual = parse_fish("frob", text);
        let names: Vec<_> = manual.options.iter().map(|option| (option.names.join(" "), option.arity)).collect();
        assert_eq!(names, [("-v --verbose".to_owned(), Arity::None), ("-o --output".to_owned(), Arity::Required)]);
        for sub in ["push", "pull"] {
            assert_eq!(manual.subs[sub].options[0].arity, Arity::Required);
        }
    }
}
