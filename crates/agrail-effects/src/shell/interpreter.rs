//! Interpreters of other languages: source on the command line, modules, scripts.

use super::command::quote_all;
use super::{Output, Shell};
use crate::table::{Table, Unlisted, is_plain};
use crate::{Cause, Detail, Verb};

/// Programs, their language, and the options after which source follows. The letters of perl and ruby are not those of
/// a row: some take digits or a suffix, and the last one takes the source.
const LANGUAGES: [(&[&str], &str, &[&str]); 4] = [
    (&["perl"], "perl", &["-e", "-E", "-ne", "-pe", "-nle", "-lne", "-ple", "-lane", "-ane", "-pie", "-le", "-0pe"]),
    (&["ruby"], "ruby", &["-e", "-ne", "-pe"]),
    (&["node", "nodejs", "deno", "bun"], "js", &["-e", "-p", "--eval", "--print", "-pe"]),
    (&["php"], "php", &["-r"]),
];
/// Other options of these programs with a value.
const TAKES: [&str; 9] = ["-W", "-X", "-I", "-M", "-r", "--require", "-C", "-d", "--define"];

impl Shell<'_> {
    /// Interprets python -c, perl -e and similar commands; otherwise a script file.
    pub(crate) fn interpreter(&mut self, program: &str, words: &[String], stdin: &Output) -> Option<Output> {
        let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if matches!(base, "python" | "pypy") {
            return Some(self.python_command(program, words, stdin));
        }
        let (_, language, inline) = LANGUAGES.iter().find(|(programs, ..)| programs.contains(&base))?;
        // interactive after its script
        if matches!(*language, "js" | "php")
            && words.iter().any(|w| matches!(w.as_str(), "-i" | "-a" | "--interactive"))
        {
            self.waits(program, &Output::default());
        }
        self.changes_by_options(program, words, &Self::options_of(program, words));
        let (mut index, mut in_place, mut ran) = (0, false, false);
        while let Some(word) = words.get(index) {
            if let Some(text) = source_of(language, word) {
                self.inline(language, text, words, &format!("{program} --eval"));
                (index, ran) = (index + 1, true);
                continue;
            }
            if let Some(module) = module_of(language, word) {
                self.named_module(language, &module, words);
            } else if *language != "php" && loads(word) {
                self.unknown(Cause::Arguments, &format!("{program} {word} loads code"), program);
            }
            let letters = perl_letters(language, word);
            in_place |= letters && word.contains('i');
            if let Some(text) = glued(language, word) {
                self.inline(language, text, words, &format!("{program} -e"));
                ran = true;
            } else if inline.contains(&word.as_str()) || (letters && word.ends_with(['e', 'E'])) {
                index += 1;
                let text = words.get(index).cloned().unwrap_or_default();
                self.inline(language, &text, words, &format!("{program} {word}"));
                ran = true;
            } else if word == "-" {
                break;
            } else if word.starts_with('-') {
                self.unlisted_long(program, word);
                self.php_setting(language, program, words.get(index..).unwrap_or_default());
                let long =
                    word.starts_with("--") && Table::shipped().row(program).is_some_and(|row| row.has_value(word));
                index += usize::from(long || TAKES.contains(&word.as_str()));
            } else if ran {
                self.processed(word, in_place, program);
            } else {
                let rest = words.get(index + 1..).unwrap_or_default();
                let checks = words.iter().take(index).any(|word| is_check(language, word));
                return Some(if checks {
                    self.checked(word, program)
                } else {
                    self.run_file(word, rest, Some(language))
                });
            }
            index += 1;
        }
        if !ran {
            self.input_script(language, program, words, stdin);
        }
        Some(Output::default())
    }

    /// Interprets a module that an option names, from the folders of `-I`.
    fn named_module(&mut self, language: &str, module: &str, words: &[String]) {
        if !crate::oneliner::is_known(language, module) {
            let folders = words.iter().filter_map(|word| word.strip_prefix("-I")).map(str::to_owned);
            self.load_module(module, language, &folders.collect::<Vec<_>>());
        }
    }

    /// Source on the command line, of which the other words are its arguments.
    fn inline(&mut self, language: &str, text: &str, words: &[String], how: &str) {
        let others: Vec<String> = words.iter().filter(|word| !word.contains(text)).cloned().collect();
        self.with_arguments(&others, |shell| shell.script(language, text, how));
    }

    /// A file that a one-liner processes. Perl opens a name with a bar as a command line.
    fn processed(&mut self, file: &str, in_place: bool, program: &str) {
        if file.starts_with(['|', '>', '+']) || file.ends_with('|') {
            self.unknown(Cause::Arguments, &format!("a file that is a command line: {file}"), program);
        }
        let mut effect = self.at(if in_place { Verb::Write } else { Verb::Read }, file, program);
        if in_place {
            effect.detail = Detail::InPlace;
        }
        self.add(effect);
    }

    /// Reports `php -d auto_prepend_file=FILE` and settings like it.
    fn php_setting(&mut self, language: &str, program: &str, words: &[String]) {
        let [option, setting, ..] = words else { return };
        let sets = language == "php" && matches!(option.as_str(), "-d" | "--define");
        if sets && !setting.split('=').all(is_plain) {
            self.unknown(Cause::Arguments, &format!("{program} -d {setting}"), program);
        }
    }

    /// A file of which only the syntax is looked at.
    fn checked(&mut self, file: &str, program: &str) -> Output {
        let effect = self.at(Verb::Read, file, program);
        self.add(effect);
        Output::default()
    }

    /// Reports a long option that the row of an interpreter does not list.
    fn unlisted_long(&mut self, program: &str, word: &str) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let listed = Table::shipped().row(program).is_some_and(|row| row.lists(name));
        if word.starts_with("--") && word.len() > 2 && !listed {
            let (name, value) = (name.to_owned(), value.map(str::to_owned));
            let option = Unlisted { name, value, perhaps_harmless: false, perhaps_own: false };
            self.unlisted_options(program, &[option], false, false);
        }
    }

    /// Interprets `python [OPTIONS] -c SOURCE`, `-m MODULE`, a script file, or the input.
    fn python_command(&mut self, program: &str, words: &[String], stdin: &Output) -> Output {
        let options = Self::options_of(program, words);
        let own = options.given.iter().find(|given| matches!(given.name.as_str(), "-c" | "-m"));
        let used = own.map_or(options.used, |given| given.end);
        // what follows belongs to the module or source
        self.options(program, words.get(..used).unwrap_or_default());
        // interactive after its script
        if options.given.iter().any(|given| given.name == "-i" && given.end <= used) {
            self.waits(program, &Output::default());
        }
        let rest = words.get(used..).unwrap_or_default();
        if let Some(given) = own {
            // what follows is the script's or the module's
            let value = given.value.as_deref().unwrap_or_default();
            if given.name == "-m" {
                return self.python_module(value, rest);
            }
            return self.with_arguments(rest, |shell| {
                shell.python(value, &format!("{program} -c"), Some(rest));
                Output::default()
            });
        }
        match rest.split_first() {
            Some((file, rest)) if file != "-" => self.run_file(file, rest, Some("python")),
            _ => {
                self.input_script("python", program, words, stdin);
                Output::default()
            }
        }
    }

    /// Interprets the input of an interpreter without a script, unless it only displays information about itself.
    fn input_script(&mut self, language: &str, program: &str, words: &[String], stdin: &Output) {
        if words.iter().any(|w| matches!(w.as_str(), "--version" | "-V" | "-v" | "--help" | "-h")) {
            return;
        }
        if stdin.piped || words.iter().any(|w| w == "-") {
            self.run_input(language, program, words, stdin);
        } else {
            self.waits(program, stdin);
        }
    }

    /// Interprets `python -m cProfile [OPTIONS] SCRIPT` and modules like it.
    fn python_tool(&mut self, module: &str, rest: &[String]) -> Output {
        let mut words = rest.iter().enumerate();
        while let Some((at, word)) = words.next() {
            let after = rest.get(at + 1..).unwrap_or_default();
            match (word.as_str(), after.split_first()) {
                ("-m", Some((own, rest))) => return self.python_module(own, rest),
                ("-o", Some((file, _))) => {
                    let effect = self.at(Verb::Write, file, module);
                    self.add(effect);
                    words.next();
                }
                ("-s", Some(_)) => drop(words.next()),
                ("-t" | "--trace" | "-T" | "--trackcalls" | "--help" | "-h", _) => {}
                // commands of the debugger, files of the tracer
                (option, _) if option.starts_with('-') => {
                    self.unknown(Cause::Option, &format!("{module} {option}"), module);
                }
                _ => return self.run_file(word, after, Some("python")),
            }
        }
        Output::default()
    }

    /// `python -m http.server [--bind ADDRESS] [--directory FOLDER] [PORT]`.
    fn serve_folder(&mut self, words: &[String]) {
        let (mut port, mut address, mut folder) = ("8000", None, None);
        let mut left = words.iter().map(String::as_str);
        while let Some(word) = left.next() {
            let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            match name {
                "-b" | "--bind" => address = value.or_else(|| left.next()),
                "-d" | "--directory" => folder = value.or_else(|| left.next()),
                "-p" | "--protocol" if value.is_none() => drop(left.next()),
                _ if !word.starts_with('-') => port = word,
                _ => {}
            }
        }
        if let Some(folder) = folder {
            let mut effect = self.at(Verb::Read, folder, "http.server");
            effect.recursive = true;
            self.add(effect);
        }
        if !address.is_some_and(super::roles::is_loopback) {
            self.named(Verb::Listen, port, "python");
        }
    }

    pub(crate) fn python_module(&mut self, module: &str, rest: &[String]) -> Output {
        // an option or a loaded module may turn it off, so the installed one counts as well
        let shadowing = self.shadowing_module(module);
        let ran = shadowing.as_ref().map(|file| self.run_file(file, rest, Some("python")));
        match module {
            "http.server" | "SimpleHTTPServer" => self.serve_folder(rest),
            "timeit" => {
                // the arguments are the code to time
                for source in rest.iter().filter(|word| !word.starts_with('-')) {
                    self.script("python", source, "python -m timeit");
                }
            }
            "json.tool" => {
                for (place, path) in rest.iter().filter(|word| !word.starts_with('-')).take(2).enumerate() {
                    let effect = self.at(if place == 0 { Verb::Read } else { Verb::Write }, path, "python");
                    self.add(effect);
                }
            }
            "this" | "calendar" | "platform" | "site" | "sysconfig" | "tokenize" | "ast" | "dis" => {}
            "cProfile" | "profile" | "pdb" | "trace" => return self.python_tool(module, rest),
            "venv" | "ensurepip" => {
                for path in rest.iter().filter(|w| !w.starts_with('-')) {
                    let effect = self.at(Verb::Create, path, "python");
                    let path = effect.target.name().to_owned();
                    self.add(effect);
                    self.makes_environment(&path);
                }
            }
            _ => {
                let words: Vec<String> = std::iter::once(module.to_owned()).chain(rest.iter().cloned()).collect();
                if Table::shipped().row(module).is_some() {
                    return self.wrapped("python -m", &words, Output::default());
                }
                if let Some(file) = self.project_module(module) {
                    if shadowing.as_ref() == Some(&file) {
                        return ran.unwrap_or_default();
                    }
                    return self.run_file(&file, rest, Some("python"));
                }
                if let Some(output) = self.project_program(module, rest) {
                    return output;
                }
                self.unknown(Cause::Program, &format!("python -m {module} {}", quote_all(rest)), "python");
            }
        }
        Output::default()
    }
}

/// Whether an option makes an interpreter only look at the syntax of a file.
fn is_check(language: &str, word: &str) -> bool {
    match language {
        "js" => matches!(word, "-c" | "--check"),
        "php" => matches!(word, "-l" | "--syntax-check"),
        "ruby" => matches!(word, "-c" | "-wc" | "-cw"),
        _ => false,
    }
}

/// The source in `--eval=SOURCE`.
fn source_of<'w>(language: &str, word: &'w str) -> Option<&'w str> {
    let (name, text) = word.split_once('=')?;
    (language == "js" && matches!(name, "--eval" | "--print")).then_some(text)
}

/// Whether a word consists of letters of options of perl, of which the last may be followed by source.
fn perl_letters(language: &str, word: &str) -> bool {
    language == "perl" && word.starts_with('-') && !["--", "-M", "-I"].iter().any(|begin| word.starts_with(begin))
}

/// The module that `-rNAME` of ruby or `-MNAME=x` of perl loads.
fn module_of(language: &str, word: &str) -> Option<String> {
    let name = match language {
        "ruby" => word.strip_prefix("-r")?,
        "perl" => word.strip_prefix("-M").or_else(|| word.strip_prefix("-m"))?,
        _ => return None,
    };
    // perl inserts the whole word into its source: `-M'A;system("b")'`
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-:=,".contains(c);
    if !name.chars().all(plain) {
        return None;
    }
    let name = name.split('=').next().unwrap_or_default().replace("::", ".");
    (!name.is_empty()).then_some(name)
}

/// Whether an option makes perl, ruby or node load the code named by its value.
fn loads(word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-') else { return false };
    let plain =
        ["-Mstrict", "-Mwarnings", "-MData::Dumper", "-MList::Util", "-MPOSIX", "-MJSON::PP", "-rjson", "-ryaml"];
    (letters.starts_with(['M', 'm', 'r'])
        && !plain.contains(&word)
        && !plain.iter().any(|p| word.starts_with(&format!("{p}="))))
        || word.starts_with("--require")
        || word.starts_with("--import")
        || word.starts_with("--loader")
        || word.starts_with("--experimental-loader")
}

/// The source in `-e'print 1'`: an option for source with its value in the same word.
fn glued<'w>(language: &str, word: &'w str) -> Option<&'w str> {
    let letters = word.strip_prefix('-').filter(|l| !l.starts_with('-'))?;
    let (before, option) = match language {
        "perl" | "ruby" => ("nplaw0123456789", ['e', 'E']),
        "js" => ("", ['e', 'p']),
        "php" => ("n", ['r', 'r']),
        _ => return None,
    };
    let at = letters.find(|c| !before.contains(c))?;
    let rest = letters.get(at..)?.strip_prefix(option)?;
    // `-le` and similar words consist of option letters only
    (!rest.is_empty() && rest.chars().any(|c| !c.is_ascii_alphabetic())).then_some(rest)
}
