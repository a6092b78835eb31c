//! Commands whose output is known if their input is: `echo`, `printf`, `base64`, `tr`, `xxd`.

use super::quoting::ansi_c;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Verb;
use base64::Engine as _;

impl Shell<'_> {
    /// `split [FILE [PREFIX]]`: the names of the pieces begin with the prefix, or with `x`.
    pub(super) fn split(&mut self, program: &str, words: &[String]) -> Option<Output> {
        let (options, operands) = self.permuted(program, words);
        if !options.has(&["--help", "--version"]) {
            let prefix = operands.get(1).map_or("x", String::as_str);
            let effect = self.at(Verb::Write, &format!("{prefix}*"), program);
            self.add(effect);
        }
        None
    }

    pub(crate) fn echo(&mut self, program: &str, words: &[String]) -> Output {
        let options = self.options(program, words);
        let rest = words.get(options.used..).unwrap_or_default();
        if let Some(name) = options.value(&["-v"]) {
            self.assign(name, vec![printf(rest)]);
            return Output::default();
        }
        let mut text = if program == "printf" { printf(rest) } else { rest.join(" ") };
        if program == "echo" && options.has(&["-e"]) {
            text = ansi_c(&text);
        }
        if program == "echo" && !options.has(&["-n"]) {
            text.push('\n');
        }
        Output { text: Some(text), ..Output::default() }
    }

    /// `base64 -d`; an encoding is left to the row.
    pub(super) fn base64(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let (options, mut operands) = self.permuted(program, words);
        // `-id`: the input is a file on macOS; elsewhere `-i` is a flag
        let input = options.value(&["--input"]);
        if !options.has(&["--decode", "-D"]) && input != Some("d") {
            return None;
        }
        operands.splice(0..0, input.filter(|file| *file != "d").map(str::to_owned));
        if let Some(file) = operands.iter().find(|file| *file != "-") {
            let effect = self.at(Verb::Read, file, "base64");
            self.add(effect);
            return Some(Output { decoded: true, ..Output::default() });
        }
        let decoded = stdin.text.as_ref().and_then(|text| {
            let compact: String = text.split_whitespace().collect();
            let engine = base64::engine::general_purpose::GeneralPurpose::new(
                &base64::alphabet::STANDARD,
                base64::engine::general_purpose::GeneralPurposeConfig::new()
                    .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
            );
            engine.decode(compact).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        });
        Some(Output { text: decoded, decoded: true, network: stdin.network, names: None, ..Output::default() })
    }

    /// `rev`: each line backwards.
    pub(super) fn rev(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let (_, mut files) = self.permuted(program, words);
        files.retain(|file| file != "-");
        for file in &files {
            let effect = self.at(Verb::Read, file, program);
            self.add(effect);
        }
        if !files.is_empty() {
            return Output::default();
        }
        let backwards = |text: &String| text.lines().map(|l| l.chars().rev().collect::<String>() + "\n").collect();
        Output { text: stdin.text.as_ref().map(backwards), decoded: true, ..stdin.clone() }
    }

    /// `tr` of constant text with simple ranges (rot13 and similar); otherwise the output is not constant.
    pub(crate) fn tr(&mut self, words: &[String], stdin: &Output) -> Output {
        let options = self.options("tr", words);
        let operands = words.get(options.used..).unwrap_or_default();
        let sets: Vec<Vec<char>> = operands.iter().map(|w| expand_set(w)).collect();
        let text = match (sets.as_slice(), &stdin.text) {
            ([from, to], Some(text)) if options.given.is_empty() && from.len() <= 512 => Some(
                text.chars()
                    .map(|c| match from.iter().position(|f| *f == c) {
                        Some(i) => to.get(i).or(to.last()).copied().unwrap_or(c),
                        None => c,
                    })
                    .collect(),
            ),
            ([set], Some(text)) if options.has(&["--delete"]) && options.given.len() == 1 => {
                Some(text.chars().filter(|c| !set.contains(c)).collect())
            }
            _ => None,
        };
        Output { text, decoded: true, names: stdin.names.clone(), network: stdin.network, ..Output::default() }
    }
}

fn expand_set(set: &str) -> Vec<char> {
    let chars: Vec<char> = set.chars().collect();
    let mut all = Vec::new();
    let mut i = 0;
    while let Some(c) = chars.get(i) {
        match (chars.get(i + 1), chars.get(i + 2)) {
            (Some('-'), Some(end)) if *c <= *end && u32::from(*end) - u32::from(*c) < 256 => {
                all.extend(*c..=*end);
                i += 3;
            }
            _ => {
                all.push(*c);
                i += 1;
            }
        }
    }
    all
}

/// `xxd -r`: hexadecimal digits of known text; anything else is left to the row.
pub(super) fn xxd(words: &[String], stdin: &Output) -> Option<Output> {
    let options = Shell::options_of("xxd", words);
    let reads = options.given.iter().any(|given| given.name.starts_with("-r"));
    (reads && stdin.text.is_some()).then(|| decode_hex(stdin))
}

fn decode_hex(stdin: &Output) -> Output {
    let known = stdin.text.as_ref().filter(|text| !text.contains(UNKNOWN_SPAN));
    let text = known.and_then(|text| {
        let digits: Vec<u8> = text
            .chars()
            .filter(|c| !c.is_whitespace())
            .filter_map(|c| c.to_digit(16))
            .map(|d| u8::try_from(d).unwrap_or_default())
            .collect();
        let bytes: Vec<u8> = digits
            .chunks_exact(2)
            .filter_map(|p| match p {
                [a, b] => Some(a * 16 + b),
                _ => None,
            })
            .collect();
        String::from_utf8(bytes).ok()
    });
    Output { text, decoded: true, network: stdin.network, names: None, ..Output::default() }
}

/// `printf` with `%s`, `%b`, `%d`, `%%` and escapes; [`UNKNOWN_SPAN`] replaces any other directive.
pub(crate) fn printf(words: &[String]) -> String {
    let Some((format, values)) = words.split_first() else { return String::new() };
    let format = ansi_c(format);
    let mut text = String::new();
    let mut values = values.iter();
    for round in 0..64 {
        let before = values.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            match chars.next() {
                Some('s' | 'd' | 'q' | 'i' | 'u') => text.push_str(values.next().map_or("", String::as_str)),
                Some('b') => text.push_str(&ansi_c(values.next().map_or("", String::as_str))),
                Some('%') => text.push('%'),
                _ => {
                    text.push(UNKNOWN_SPAN);
                    return text;
                }
            }
        }
        if values.len() == 0 || (values.len() == before && round > 0) || values.len() == before {
            break;
        }
    }
    text
}
