//! `sh`, `bash` and other shells: source on the command line, from a file or from the input.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::Cause;

impl Shell<'_> {
    pub(super) fn sh(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let mut index = 0;
        let (mut command, mut reads) = (false, false);
        while let Some(word) = words.get(index) {
            if let Some(letters) = word.strip_prefix(['-', '+']).filter(|l| !l.starts_with('-') && !l.is_empty()) {
                command |= letters.contains('c');
                reads |= word.starts_with('-') && letters.contains('s') && !letters.contains('c');
                if letters.ends_with(['o', 'O']) {
                    index += 1;
                }
            } else if matches!(word.as_str(), "--rcfile" | "--init-file") {
                index += 1;
                if let Some(file) = words.get(index).cloned() {
                    self.run_file(&file, &[], Some("bash"));
                }
            } else if word == "-" || !word.starts_with('-') {
                break;
            }
            index += 1;
        }
        match words.get(index).cloned() {
            Some(text) if command => {
                let arguments =
                    std::mem::replace(&mut self.arguments, words.get(index + 2..).unwrap_or_default().to_vec());
                let zero = words.get(index + 1).cloned();
                let before = zero.map(|z| self.variables.insert("0".to_owned(), vec![z]));
                let output = if text.trim() == UNKNOWN_SPAN.to_string() {
                    self.unknown(Cause::Dynamic, "what it runs is not constant", program);
                    Output::default()
                } else {
                    let how = format!("{program} -c");
                    self.child(&how, |shell| shell.nested(&how, &text, stdin.clone()))
                };
                if let Some(before) = before {
                    match before {
                        Some(old) => self.variables.insert("0".to_owned(), old),
                        None => self.variables.remove("0"),
                    };
                }
                self.arguments = arguments;
                output
            }
            Some(_) if reads => {
                self.run_input("bash", program, stdin);
                Output::default()
            }
            Some(file) if file == "-" => {
                self.run_input("bash", program, stdin);
                Output::default()
            }
            Some(file) => self.run_file(&file, words.get(index + 1..).unwrap_or_default(), Some("bash")),
            None if words.iter().any(|w| w == "--version" || w == "--help") => Output::default(),
            None => {
                if stdin.piped {
                    self.run_input("bash", program, stdin);
                } else {
                    self.waits(program, stdin);
                }
                Output::default()
            }
        }
    }
}
