//! Builtins that set variables to what comes from outside the script: `read`, `mapfile`, `getopts`, and loops over them.

use super::word::children;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::tree::Node;

/// Most lines that a loop or an array takes one by one.
const LINES: usize = 64;
/// Options of `read` and `mapfile` that change neither the text that is read nor where it comes from.
const PLAIN: [&str; 4] = ["-r", "-t", "-p", "-a"];

impl Shell<'_> {
    /// `read NAME...`, `mapfile NAME`, `getopts SPEC NAME`.
    pub(crate) fn read_into(&mut self, program: &str, words: &[String]) -> Output {
        let options = self.options(program, words);
        for given in &options.given {
            if given.name == "-C"
                && let Some(callback) = &given.value
            {
                self.nested("mapfile -C", callback, Output::default());
            }
        }
        let array = options.value(&["-a"]).map(str::to_owned);
        let plain = options.given.iter().all(|given| PLAIN.contains(&given.name.as_str()));
        let text = self.stdin.text.clone().filter(|text| plain && self.stdin.private && !text.contains(UNKNOWN_SPAN));
        let mut names = words.get(options.used..).unwrap_or_default().to_vec();
        let hole = || vec![UNKNOWN_SPAN.to_string()];
        match program {
            "getopts" => {
                names = vec![words.get(1).cloned().unwrap_or_default(), "OPTARG".to_owned(), "OPTIND".to_owned()]
            }
            "read" => {
                let raw = options.has(&["-r"]);
                if names.is_empty() && array.is_none() {
                    names.push("REPLY".to_owned());
                }
                if let Some(fields) =
                    text.and_then(|text| self.fields_of_line(&text, raw, array.is_some(), names.len()))
                {
                    match &array {
                        Some(name) => self.assign(name, fields),
                        None => names.iter().zip(fields).for_each(|(name, field)| self.assign(name, vec![field])),
                    }
                    return Output::silent();
                }
                names.extend(array);
            }
            _ => {
                let name = names.first().cloned().unwrap_or_else(|| "MAPFILE".to_owned());
                // without `-t` the ends of lines stay
                let cut = options.given.iter().all(|given| given.name == "-t") && options.has(&["-t"]);
                let lines =
                    self.stdin.text.clone().filter(|text| cut && self.stdin.private && !text.contains(UNKNOWN_SPAN));
                let lines = lines.map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
                self.assign(&name, lines.filter(|lines| lines.len() <= LINES).unwrap_or_else(hole));
                return Output::silent();
            }
        }
        names.iter().for_each(|name| self.assign(name, hole()));
        Output::silent()
    }

    /// The values that `read` gives to its names; `None` if they are not known.
    fn fields_of_line(&self, text: &str, raw: bool, all: bool, names: usize) -> Option<Vec<String>> {
        let line = text.lines().next().unwrap_or_default();
        if line.contains('\\') && !raw {
            return None;
        }
        let separators = self.state.variables.get("IFS").map_or_else(|| " \t".to_owned(), |values| values.concat());
        let blank = separators.chars().all(|c| matches!(c, ' ' | '\t' | '\n'));
        if separators.is_empty() {
            return (!all).then(|| {
                std::iter::once(line.to_owned()).chain(vec![String::new(); names.saturating_sub(1)]).collect()
            });
        }
        if !blank && separators.chars().count() > 1 || separators.contains(UNKNOWN_SPAN) {
            return None;
        }
        let is_separator = |c: char| separators.contains(c);
        if all {
            let parts = line.split(is_separator).filter(|part| !blank || !part.is_empty());
            return Some(parts.map(str::to_owned).collect());
        }
        let mut rest = if blank { line.trim_matches(is_separator) } else { line };
        let mut fields = Vec::new();
        for _ in 1..names {
            let (field, after) = rest.split_once(is_separator).unwrap_or((rest, ""));
            fields.push(field.to_owned());
            rest = if blank { after.trim_start_matches(is_separator) } else { after };
        }
        // a single separator at the end belongs to the last field
        let last = if blank || names == 1 && !rest.ends_with(is_separator) {
            rest
        } else {
            rest.trim_end_matches(is_separator)
        };
        fields.push(last.to_owned());
        Some(fields)
    }

    /// Interprets a loop over input or options that is known, round by round. `None` if the loop is another one, or what it
    /// runs over is not known.
    pub(super) fn known_loop(&mut self, node: Node<'_>, source: &str, stdin: &Output) -> Option<Output> {
        if node.kind() != "while_statement"
            || !node.utf8_text(source.as_bytes()).is_ok_and(|text| text.starts_with("while"))
        {
            return None;
        }
        let condition = children(node).into_iter().find(|child| child.is_named())?;
        let body = node.child_by_field_name("body")?;
        let name = condition.child_by_field_name("name").filter(|_| condition.kind() == "command")?;
        match name.utf8_text(source.as_bytes()).ok()? {
            "read" if !self.state.functions.contains_key("read") => {
                let text = stdin.text.clone().filter(|text| !text.contains(UNKNOWN_SPAN))?;
                let lines: Vec<&str> = text.lines().collect();
                // the last round, in which `read` fails, sets its variables, too
                let rounds = (lines.len() <= LINES).then(|| lines.into_iter().chain([""]))?;
                let mut output = Output::silent();
                let count = text.lines().count();
                for (round, line) in rounds.enumerate() {
                    let line =
                        Output { text: Some(format!("{line}\n")), private: true, piped: true, ..Output::default() };
                    self.statement(condition, source, line);
                    if round < count {
                        output = super::syntax::join(output, self.statement(body, source, Output::default()));
                    } else if count == 0 {
                        self.skip(body);
                    }
                }
                Some(output)
            }
            "getopts" => {
                let words: Vec<String> = children(condition)
                    .into_iter()
                    .filter(Node::is_named)
                    .flat_map(|word| self.fields(word, source))
                    .collect();
                self.option_loop(&words, body, source, stdin)
            }
            _ => None,
        }
    }

    /// Interprets `while getopts SPEC NAME; do ... done` with known arguments.
    fn option_loop(&mut self, words: &[String], body: Node<'_>, source: &str, stdin: &Output) -> Option<Output> {
        let [_, spec, name, given @ ..] = words else { return None };
        let arguments = if given.is_empty() { self.state.arguments.clone()? } else { given.to_vec() };
        let known = |word: &String| !word.contains(UNKNOWN_SPAN);
        if !arguments.iter().all(known) || spec.contains(UNKNOWN_SPAN) || arguments.len() > LINES {
            return None;
        }
        let (letters, quiet) = spec.strip_prefix(':').map_or((spec.as_str(), false), |rest| (rest, true));
        let listed = |letter: char| letter != ':' && letters.contains(letter);
        let takes = |letter: char| letters.split(letter).nth(1).is_some_and(|rest| rest.starts_with(':'));
        let (mut at, mut output) = (0, Output::silent());
        while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
            at += 1;
            if word == "--" {
                break;
            }
            let mut letters = word.chars().skip(1);
            while let Some(letter) = letters.next() {
                let (mut found, mut value) = (letter, String::new());
                if !listed(letter) {
                    (found, value) = ('?', if quiet { letter.to_string() } else { String::new() });
                } else if takes(letter) {
                    value = letters.by_ref().collect();
                    if value.is_empty() {
                        match arguments.get(at) {
                            Some(next) => value.clone_from(next),
                            None if quiet => (found, value) = (':', letter.to_string()),
                            None => found = '?',
                        }
                        at += 1;
                    }
                }
                self.assign(name, vec![found.to_string()]);
                self.assign("OPTARG", vec![value]);
                output = super::syntax::join(output, self.statement(body, source, stdin.clone()));
            }
        }
        self.skip(body);
        self.assign(name, vec!["?".to_owned()]);
        self.assign("OPTIND", vec![(at + 1).to_string()]);
        Some(output)
    }
}
