//! The effects of all words of a source.

use super::arguments;
use super::description::Syntax;
use super::language::{FED, Language, Place, Row};
use super::lexer::Token;
use super::own::{self, Own};
use super::redirects;
use crate::reading::{Call, LIBRARY, MODULE, MODULE_FOLDER, Problems, Reading, quote};
use crate::{Cause, Detail, UNKNOWN_SPAN};
use foldhash::HashSet;

/// Most calls of one source.
const MAX_CALLS: usize = 64;
/// Modes of a command whose input or output is a file of the program.
const MODES: [&str; 6] = ["a", "r", "r+", "rb", "w", "wb"];
/// Macros of Julia that run what follows them as it is written, and nothing else.
const MACROS: [&str; 24] = [
    "allocated",
    "assert",
    "benchmark",
    "btime",
    "debug",
    "elapsed",
    "error",
    "fastmath",
    "inbounds",
    "inferred",
    "info",
    "inline",
    "isdefined",
    "printf",
    "show",
    "simd",
    "sprintf",
    "test",
    "test_throws",
    "testset",
    "time",
    "timed",
    "views",
    "warn",
];

/// The packages of R itself.
const OF_R: [&str; 10] =
    ["base", "compiler", "graphics", "grDevices", "methods", "parallel", "stats", "tcltk", "tools", "utils"];

/// Reads the tokens of a source.
pub fn read(language: &Language, tokens: &[Token], problems: Problems) -> Reading {
    let own = own::find(language, tokens);
    let mut reader = Reader { language, tokens, own, calls: Vec::new(), problems, named: HashSet::default() };
    if language.has(Syntax::Redirects) {
        for (role, target) in redirects::find(&reader.own, tokens) {
            reader.emit(role, target, false, "a redirection");
        }
    }
    for at in 0..tokens.len() {
        reader.token(at);
    }
    reader.mentioned();
    Reading::new(reader.calls, reader.problems)
}

struct Reader<'t> {
    language: &'t Language,
    tokens: &'t [Token],
    own: Own,
    calls: Vec<Call>,
    problems: Problems,
    /// Places of the names of modules.
    named: HashSet<usize>,
}

impl<'t> Reader<'t> {
    /// Values are not followed: a path that is computed may be any path that the source mentions.
    fn mentioned(&mut self) {
        let changes = |role: &str| matches!(role, "write" | "append" | "delete" | "create" | "read");
        let computed: Vec<Call> = self
            .calls
            .iter()
            .filter(|call| changes(&call.role) && call.target.starts_with(UNKNOWN_SPAN))
            .cloned()
            .collect();
        for token in self.tokens {
            let Token::Text(text) = token else { continue };
            let is_path = (text.contains('/') || text.starts_with('~')) && !text.contains("://");
            // a regular expression
            let odd = |c: char| c.is_whitespace() || "\\()^|+$".contains(c);
            if !is_path || text.contains(odd) || text.starts_with(UNKNOWN_SPAN) {
                continue;
            }
            // the mark between folders is no file
            for call in computed.iter().filter(|call| call.role == "delete" || text != "/") {
                self.emit(&call.role, text.clone(), call.recursive || call.role == "delete", &call.via);
            }
        }
    }

    fn get(&self, at: usize) -> Option<&'t Token> {
        self.tokens.get(at)
    }

    fn before(&self, at: usize) -> Option<&'t Token> {
        self.get(at.checked_sub(1)?)
    }

    fn is_mark(&self, at: usize, marks: &[&str]) -> bool {
        matches!(self.get(at), Some(Token::Mark(mark)) if marks.contains(&mark.as_str()))
    }

    fn token(&mut self, at: usize) {
        match self.get(at) {
            Some(Token::Word(word)) => self.word(at, word),
            Some(Token::Command(text)) => self.emit("script:bash", text.clone(), false, "a command line in its source"),
            Some(Token::Variable(name)) => self.variable(at, name),
            Some(Token::Mark(mark)) if matches!(mark.as_str(), "`" | "@" | "\\" | "&") => self.odd(at, mark),
            Some(Token::Close(')' | ']' | '}')) if self.calls_result(at) => self.unknown("the call of a value"),
            _ => {}
        }
    }

    /// Marks that lead to a function by other means than its name.
    fn odd(&mut self, at: usize, mark: &str) {
        let named = matches!(self.get(at + 1), Some(Token::Word(_)));
        let fine = match (self.language.name.as_str(), mark) {
            ("perl" | "ruby", "&") => {
                named
                    || self.is_mark(at + 1, &["&"])
                    || self.is_mark(at.wrapping_sub(1), &["&"])
                    || matches!(self.get(at + 1), Some(Token::Open('(') | Token::Number(_)))
            }
            (_, "&") => true,
            ("r", "\\") => self.get(at + 1) == Some(&Token::Open('(')),
            ("perl", "\\") => {
                matches!(self.get(at + 1), Some(Token::Variable(_) | Token::Word(_))) || self.is_mark(at + 1, &["&"])
            }
            ("php", "@") => true,
            ("julia", "@") => {
                self.named.insert(at + 1);
                match self.get(at + 1) {
                    Some(Token::Word(word)) if MACROS.contains(&word.as_str()) => true,
                    Some(Token::Word(word)) if !self.language.system.contains(&format!("@{word}")) => {
                        self.missing(&format!("@{word}"));
                        true
                    }
                    _ => false,
                }
            }
            // `App\Support\Price`, `\strlen()`
            ("php", "\\") => matches!(self.get(at + 1), Some(Token::Word(_))),
            _ => false,
        };
        if !fine {
            self.problems.add(Cause::Language, format!("{}: {mark} in its source", self.language.name));
        }
    }

    /// Whether the value of an expression is called: `$f->()(x)`, `t["x"](y)`.
    fn calls_result(&self, at: usize) -> bool {
        let calls = self.get(at + 1) == Some(&Token::Open('('));
        let paren = self.get(at) == Some(&Token::Close(')'));
        let brace = self.get(at) == Some(&Token::Close('}'));
        calls && !brace && !(paren && self.controlled(at))
    }

    /// Whether a closing parenthesis ends the condition of a statement.
    fn controlled(&self, close: usize) -> bool {
        let mut depth = 0_usize;
        for at in (0..=close).rev() {
            match self.get(at) {
                Some(Token::Close(_)) => depth += 1,
                Some(Token::Open(_)) => {
                    depth -= 1;
                    if depth == 0 {
                        return matches!(self.before(at), Some(Token::Word(word)) if self.language.keywords.contains(word) || self.language.functions.contains(word));
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn variable(&mut self, at: usize, name: &str) {
        let assigned = self.language.variables.contains(name)
            && !matches!(self.before(at), Some(Token::Open('(') | Token::Word(_)) if !self.is_mark(at + 1, &["="]) && !self.pushed(at));
        if assigned {
            self.unknown(name);
        }
        // `$(NF - 1)` of awk
        let called = self.get(at + 1) == Some(&Token::Open('(')) && name != "$" && !self.own.functions.contains(name);
        let member_called =
            self.get(at + 1) == Some(&Token::Mark("->".into())) && self.get(at + 2) == Some(&Token::Open('('));
        if called && !matches!(self.before(at), Some(Token::Word(word)) if self.language.binders.contains(word))
            || member_called
        {
            self.unknown("the call of a variable");
        }
        if matches!(self.before(at), Some(Token::Member)) {
            self.unknown("a method whose name is computed");
        }
    }

    /// Whether a variable is the first argument of a function that changes it.
    fn pushed(&self, at: usize) -> bool {
        let word = |at: Option<usize>| match at.and_then(|at| self.get(at)) {
            Some(Token::Word(word)) => matches!(word.as_str(), "push" | "unshift" | "splice" | "local"),
            _ => false,
        };
        word(at.checked_sub(1)) || word(at.checked_sub(2))
    }

    fn word(&mut self, at: usize, word: &str) {
        let language = self.language;
        if self.named.contains(&at) {
            return;
        }
        let member = matches!(self.before(at), Some(Token::Member));
        let mut name = word.to_owned();
        if member {
            match at.checked_sub(2).and_then(|at| self.get(at)) {
                Some(Token::Word(object)) if language.is_space(object) => name = format!("{object}.{word}"),
                Some(Token::Word(object)) if language.has(Syntax::Infix) => return self.foreign_member(object, word),
                _ => return self.method(at, word),
            }
        } else if matches!(self.get(at + 1), Some(Token::Member)) && language.is_space(word) {
            return;
        }
        if language.modules.contains(&name) && self.module(at) {
            return;
        }
        let called = self.get(at + 1) == Some(&Token::Open('('));
        if let Some(rows) = language.rows.get(&name) {
            return rows.iter().for_each(|row| self.row(at, row, &name));
        }
        if language.acts.contains(&name) {
            return self.unknown(&name);
        }
        if let Some(index) = language.callbacks.get(&name) {
            self.callback(at, *index, &name);
        }
        // a class is not a constant
        let class = self.get(at + 1) == Some(&Token::Member)
            || matches!(self.before(at), Some(Token::Word(word)) if matches!(word.as_str(), "new" | "extends"));
        if class && language.system.contains(&name) && !language.is_inert(&name) {
            return self.unknown(&name);
        }
        let known = language.keywords.contains(&name)
            || language.functions.contains(&name)
            || language.binders.contains(&name)
            || language.is_inert(&name)
            || self.own.functions.contains(&name)
            || own::is_bare(language, self.tokens, at, &name) && !member && !self.is_handed_on(at);
        let juxtaposed = language.has(Syntax::Spaced)
            && matches!(self.get(at + 1), Some(Token::Text(_) | Token::Number(_) | Token::Variable(_)));
        // `Dir["*"]` of Ruby lists
        let lists = name == "Dir" && self.get(at + 1) == Some(&Token::Open('['));
        // `-e $file` of Perl
        let tests = language.name == "perl"
            && self.is_mark(at.wrapping_sub(1), &["-"])
            && matches!(
                word,
                "e" | "f" | "d" | "r" | "w" | "x" | "s" | "z" | "l" | "p" | "t" | "T" | "B" | "M" | "A" | "C"
            );
        if !known && !lists && !tests && (called || juxtaposed || member || !self.own.names.contains(&name)) {
            self.missing(&name);
        }
    }

    /// Whether a bare word of R is more than a value: the package of `library(processx)`, the function of `FUN = write`.
    fn is_handed_on(&self, at: usize) -> bool {
        if self.language.name == "r" && matches!(self.before(at), Some(Token::Label(_))) {
            return true;
        }
        let loads = |word: &str| matches!(word, "library" | "require" | "requireNamespace" | "attachNamespace");
        self.is_open(at.wrapping_sub(1))
            && matches!(self.get(at.wrapping_sub(2)), Some(Token::Word(word)) if loads(word))
    }

    fn is_open(&self, at: usize) -> bool {
        self.get(at) == Some(&Token::Open('('))
    }

    /// The name of a module after a word that loads it. Returns whether there is one.
    fn module(&mut self, at: usize) -> bool {
        let mut place = at + 1;
        if self.get(place) == Some(&Token::Open('(')) {
            place += 1;
        }
        let mut name = String::new();
        match self.get(place) {
            Some(Token::Text(text)) => name.clone_from(text),
            _ => {
                while let Some(Token::Word(part)) = self.get(place) {
                    name.push_str(part);
                    self.named.insert(place);
                    if self.get(place + 1) != Some(&Token::Member) {
                        break;
                    }
                    name.push('.');
                    place += 2;
                }
            }
        }
        if name.is_empty() || name.contains(UNKNOWN_SPAN) {
            return false;
        }
        let listed = self.language.is_inert(&name) || self.language.keywords.contains(&name);
        if name == "lib" {
            // `use lib 'folder'`
            if let Some(Token::Text(folder)) = self.get(place + 1) {
                self.emit(MODULE_FOLDER, folder.clone(), false, "lib");
            }
        } else if !listed {
            self.emit(MODULE, name, false, "module");
        }
        true
    }

    /// `package::function`.
    fn foreign_member(&mut self, package: &str, word: &str) {
        let base = matches!(package, "base" | "stats" | "utils" | "graphics");
        match self.language.rows.get(word) {
            None if base && self.language.is_inert(word) => {}
            None if !OF_R.contains(&package) => self.missing(&format!("{package}::{word}")),
            _ => self.unknown(&format!("{package}::{word}")),
        }
    }

    /// A member of a value.
    fn method(&mut self, at: usize, word: &str) {
        let language = self.language;
        if let Some(rows) = language.rows.get(&format!(".{word}")) {
            return rows.iter().for_each(|row| self.row(at, row, word));
        }
        // `FilesystemIterator::SKIP_DOTS`
        let constant = language.has(Syntax::Upper) && own::is_bare(language, self.tokens, at, word);
        let known = language.methods.contains(word)
            || constant && !word.chars().any(char::is_lowercase)
            || self.own.functions.contains(word)
            || self.own.names.contains(word) && self.get(at + 1) != Some(&Token::Open('('));
        if !known {
            self.missing(&format!(".{word}"));
        }
    }

    /// A function that calls one of its arguments.
    fn callback(&mut self, at: usize, index: usize, name: &str) {
        let language = self.language;
        let given = arguments::of(language, self.tokens, at).unwrap_or_default();
        let Some(argument) = given.get(index) else { return };
        let fine = match argument.first() {
            Some(Token::Word(word)) => {
                language.functions.contains(word)
                    || language.keywords.contains(word)
                    || self.own.functions.contains(word)
                    || language.is_inert(word)
            }
            Some(Token::Text(text)) => argument.len() == 1 && language.is_inert(text),
            Some(Token::Mark(mark)) => mark == "\\",
            Some(Token::Label(_)) => true,
            _ => false,
        };
        if !fine {
            self.unknown(&format!("what {name} calls"));
        }
    }

    /// The effects of a row.
    fn row(&mut self, at: usize, row: &Row, name: &str) {
        let given = arguments::of(self.language, self.tokens, at);
        let mut all = given.unwrap_or_default();
        let fed = row.role == FED;
        // the mode of the input
        if let [_, .., mode] = all.as_slice()
            && name.ends_with("popen")
            && MODES.contains(&arguments::text(&self.own, mode).as_str())
        {
            all.pop();
        }
        // without a file, they print
        if self.language.name == "r" && matches!(name, "writeLines" | "dput") && all.len() < 2 {
            return;
        }
        let dynamic = UNKNOWN_SPAN.to_string();
        if row.role == "open" {
            return self.open(&all, name);
        }
        let targets: Vec<String> = match row.place {
            Place::Name => vec![name.to_owned()],
            Place::At(index) => vec![all.get(index).map_or(dynamic, |argument| arguments::text(&self.own, argument))],
            Place::Each if all.is_empty() => vec![dynamic],
            Place::Each => {
                let items = all.iter().flat_map(|argument| arguments::items(argument));
                items.map(|item| arguments::text(&self.own, item)).collect()
            }
            Place::Words => vec![self.words(&all)],
            Place::Chain => vec![self.chain(at)],
            Place::Receiver => vec![self.receiver(at)],
        };
        if self.language.has(Syntax::Redirects) && row.role == "script:bash" && targets.iter().all(String::is_empty) {
            return self.unknown(name);
        }
        for target in targets {
            match fed {
                true => self.emit("script:bash", redirects::fed(&target), false, name),
                false => self.emit(&row.role, target, row.recursive, name),
            }
        }
    }

    /// The command line of a call: one argument is a command line, several are its words.
    fn words(&self, all: &[&[Token]]) -> String {
        match all {
            [] => UNKNOWN_SPAN.to_string(),
            [line] if arguments::items(line).len() == 1 => arguments::text(&self.own, line),
            _ => {
                let words = all.iter().flat_map(|argument| arguments::items(argument));
                words.map(|word| quote(&arguments::text(&self.own, word))).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// The texts of a statement from a call on, as words. A line that begins with a member goes on with it.
    fn chain(&self, at: usize) -> String {
        let (mut words, mut depth) = (Vec::new(), 0_usize);
        for (place, token) in self.tokens.iter().enumerate().skip(at + 1) {
            match token {
                Token::Open(_) => depth += 1,
                Token::Close(_) if depth == 0 => break,
                Token::Close(_) => depth -= 1,
                Token::Break if depth == 0 && self.get(place + 1) != Some(&Token::Member) => break,
                Token::Text(text) => words.push(quote(text)),
                _ => {}
            }
        }
        words.join(" ")
    }

    /// The text before the member at `at`, or those among the arguments of the call before it.
    fn receiver(&self, at: usize) -> String {
        let Some(end) = at.checked_sub(2) else { return UNKNOWN_SPAN.to_string() };
        match self.get(end) {
            Some(Token::Text(text)) => text.clone(),
            Some(Token::Close(')')) => {
                let inside = self.tokens.get(..end).unwrap_or_default().iter().rev();
                let mut texts = inside.take_while(|token| !matches!(token, Token::Open(_)));
                match (texts.next(), texts.next()) {
                    (Some(Token::Text(text)), None) => text.clone(),
                    _ => UNKNOWN_SPAN.to_string(),
                }
            }
            _ => UNKNOWN_SPAN.to_string(),
        }
    }

    /// A file that is opened with a mode.
    fn open(&mut self, all: &[&[Token]], name: &str) {
        // Perl: the handle comes first, and the mode may be in front of the path
        let (first, perl) = if name == "open" && self.language.has(Syntax::Perl) { (1, true) } else { (0, false) };
        let at = |index: usize| all.get(index).map(|argument| arguments::text(&self.own, argument));
        let (mode, path) = match (at(first), at(first + 1)) {
            (Some(mode), Some(path)) if perl => (mode, path),
            (Some(path), mode) if !perl => (mode.unwrap_or_else(|| "r".into()), path),
            (Some(both), _) => {
                let path = both.trim_start_matches(['<', '>', '+', ' ', '|']);
                (both.strip_suffix(path).unwrap_or_default().trim().to_owned(), path.trim().to_owned())
            }
            (None, _) => return self.unknown(name),
        };
        let mode = mode.split(':').next().unwrap_or_default().trim();
        match mode {
            "" | "<" | "r" | "rb" | "rt" => self.emit("read", path, false, name),
            ">>" | "a" | "ab" | "a+" => self.emit("append", path, false, name),
            ">" | "+>" | "+<" | "w" | "wb" | "w+" | "r+" | "wt" => self.emit("write", path, false, name),
            "-|" => self.emit("script:bash", path, false, name),
            "|" | "|-" => self.emit("script:bash", redirects::fed(&path), false, name),
            _ => self.unknown(name),
        }
    }

    fn emit(&mut self, role: &str, target: String, recursive: bool, via: &str) {
        // a path that begins or ends so is a command line in Perl and Ruby
        if matches!(role, "read" | "write" | "append") && (target.starts_with('|') || target.ends_with('|')) {
            return self.unknown(via);
        }
        let dynamic = target.contains(UNKNOWN_SPAN);
        let role = if role == "read" && target.contains("://") { "connect:url" } else { role };
        let call = Call { role: role.into(), target, recursive, dynamic, detail: Detail::None, via: via.into() };
        if self.calls.contains(&call) {
            return;
        }
        if self.calls.len() >= MAX_CALLS {
            return self.problems.add(Cause::Budget, "too many calls");
        }
        self.calls.push(call);
    }

    /// A name that nothing lists: of the language itself, or of the project and its packages.
    fn missing(&mut self, name: &str) {
        let role = if self.language.may_reach(name) { "unknown" } else { LIBRARY };
        self.emit(role, name.to_owned(), false, name);
    }

    fn unknown(&mut self, what: &str) {
        self.emit("unknown", what.to_owned(), false, what);
    }
}
