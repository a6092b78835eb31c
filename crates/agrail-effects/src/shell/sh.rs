//! `sh`, `bash` and other shells: source on the command line, from a file or from the input.

use super::{Output, Shell, UNKNOWN_SPAN};
use crate::{Cause, Verb};

impl Shell<'_> {
    pub(super) fn sh(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let options = self.options(program, words);
        for given in &options.given {
            match (given.name.as_str(), &given.value) {
                ("--rcfile" | "--init-file", Some(file)) => drop(self.run_file(file, &[], Some("bash"))),
                // fish
                ("-C" | "--init-command", Some(text)) => drop(self.command_string(program, text, &[], stdin)),
                _ => {}
            }
        }
        let rest = words.get(options.used..).unwrap_or_default();
        if let Some(text) = options.value(&["--command"]) {
            return self.command_string(program, text, rest, stdin);
        }
        match rest.split_first() {
            Some((text, rest)) if options.has(&["-c", "+c"]) => self.command_string(program, text, rest, stdin),
            Some((file, rest)) if file != "-" && !options.has(&["-s"]) => self.run_file(file, rest, Some("bash")),
            None if options.has(&["--version", "--help"]) => Output::default(),
            None if !stdin.piped => {
                if self.state.privileged {
                    self.named(Verb::Privilege, "a shell", program);
                }
                self.waits(program, stdin);
                Output::default()
            }
            _ => {
                let words = rest.strip_prefix(&["-".to_owned()]).unwrap_or(rest);
                self.run_input("bash", program, words, stdin);
                Output::default()
            }
        }
    }

    /// Interprets `sh -c TEXT NAME ARGUMENT...`.
    fn command_string(&mut self, program: &str, text: &str, words: &[String], stdin: &Output) -> Output {
        if text.trim() == UNKNOWN_SPAN.to_string() {
            self.unknown(Cause::Dynamic, "the source that it runs", program);
            return Output::default();
        }
        let how = format!("{program} -c");
        self.child(&how, |shell| {
            shell.state.arguments = Some(words.get(1..).unwrap_or_default().to_vec());
            if let Some(zero) = words.first() {
                shell.state.variables.insert("0".to_owned(), vec![zero.clone()]);
            }
            shell.nested(&how, text, stdin.clone())
        })
    }
}
