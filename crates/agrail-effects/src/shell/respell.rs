//! Other spellings of shell source with the same meaning, for what the parser does not know.

/// Words after which a command follows, so that a line before them has ended.
const RESERVED: [&str; 8] = ["while", "until", "for", "if", "case", "select", "do", "then"];

/// The text without two things that the shell takes literally and the parser does not: a `$` that begins nothing, and a
/// final `\` (dropped here, so that the command has one argument less). `None` if there is neither.
pub(super) fn plainer(text: &str) -> Option<String> {
    let body = text.trim_end_matches('\n');
    let slashes = body.len() - body.trim_end_matches('\\').len();
    let body = if slashes % 2 == 1 { body.get(..body.len() - 1)? } else { body };
    let mut out = String::with_capacity(body.len() + 8);
    let (mut single, mut escaped) = (false, false);
    let mut rest = body.chars().peekable();
    while let Some(c) = rest.next() {
        let begins = |n: &char| n.is_ascii_alphanumeric() || "_{('\"#?$!*@-".contains(*n);
        if c == '\'' && !escaped {
            single = !single;
        }
        if c == '$' && !single && !escaped && !rest.peek().is_some_and(begins) {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped && !single;
        out.push(c);
    }
    out.push('\n');
    (out != text).then_some(out)
}

/// `for NAME do` with its list: `for NAME in $@; do`. `None` if there is no such loop.
pub(super) fn loop_over_arguments(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find("for ") {
        let (before, after) = rest.split_at(at + 4);
        out.push_str(before);
        rest = after;
        let word = !before.get(..at).is_some_and(|head| head.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        let name = after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
        let (name, tail) = after.split_at(name);
        let next = tail.trim_start_matches([' ', '\t', '\n', ';']);
        let body = next.strip_prefix("do").is_some_and(|body| body.starts_with(char::is_whitespace));
        if word && !name.is_empty() && tail.len() > next.len() && body {
            out.push_str(&format!("{name} in $@; "));
            rest = next;
        }
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

/// A line of several assignments ends before a reserved word; the parser takes them for the environment of a command
/// of this name. `None` if there is no such line.
pub(super) fn end_assignments(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut out = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        if !are_assignments(line) {
            out.push((*line).to_owned());
            continue;
        }
        let next = lines.iter().skip(at + 1).map(|line| line.trim_start()).find(|line| !line.is_empty());
        let first = next.and_then(|line| line.split(|c: char| !c.is_ascii_alphabetic()).next()).unwrap_or_default();
        let ends = RESERVED.contains(&first);
        out.push(if ends { format!("{line};") } else { (*line).to_owned() });
    }
    let out = out.join("\n");
    (out != text).then_some(out)
}

/// Words that end a compound command, and those that may follow one without a separator.
const CLOSERS: [&str; 3] = ["fi", "done", "esac"];
const FOLLOWERS: [&str; 9] = ["fi", "done", "esac", "else", "elif", "then", "do", "}", ")"];
/// Words after which a command begins.
const OPENERS: [&str; 5] = ["then", "else", "do", "{", "("];

/// `fi fi` and `done else` on one line, as continued lines give them, with the `;` that the parser needs. `None` if there
/// is no such place.
pub(super) fn end_compounds(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    // whether a command may begin, and the quote that is open
    let (mut begins, mut quote) = (true, None);
    let mut words = text.split_inclusive(char::is_whitespace).peekable();
    while let Some(word) = words.next() {
        let name = word.trim_end();
        out.push_str(name);
        let mut blanks = word.get(name.len()..).unwrap_or_default().to_owned();
        while let Some(blank) = words.next_if(|next| next.trim_end().is_empty()) {
            blanks.push_str(blank);
        }
        let closes = quote.is_none() && begins && CLOSERS.contains(&name);
        let follows = words.peek().is_some_and(|next| FOLLOWERS.contains(&next.trim_end()));
        if closes && follows && !blanks.contains('\n') {
            out.push(';');
        }
        quote = name.chars().filter(|c| matches!(c, '\'' | '"')).fold(quote, |open, c| match open {
            None => Some(c),
            Some(mark) if mark == c => None,
            open => open,
        });
        begins = closes || name.ends_with([';', '&', '|']) || OPENERS.contains(&name) || blanks.contains('\n');
        out.push_str(&blanks);
    }
    (out != text).then_some(out)
}

/// Whether a line ends with at least two assignments, which may follow the opening of a block.
fn are_assignments(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let assigns = |word: &&&str| {
        let name = word.split('=').next().unwrap_or_default();
        word.contains('=')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let count = words.iter().rev().take_while(assigns).count();
    let opens = words.len() == count || words.get(words.len() - count - 1).is_some_and(|word| *word == "{");
    count > 1 && opens && !line.contains(['#', '\\']) && !line.trim_end().ends_with([';', '&', '|'])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn loops_without_a_list_run_over_the_arguments() {
        assert_eq!(loop_over_arguments("for x do ls; done\n").unwrap(), "for x in $@; do ls; done\n");
        assert_eq!(loop_over_arguments("for arg\ndo\n ls\ndone").unwrap(), "for arg in $@; do\n ls\ndone");
        assert_eq!(loop_over_arguments("for x in a; do ls; done; echo for document"), None);
    }

    #[test]
    fn compound_commands_end_before_the_end_of_another_one() {
        let text = "if a; then if b; then c; fi  fi else for x in y; do d; done fi\n";
        let other = "if a; then if b; then c; fi;  fi; else for x in y; do d; done; fi\n";
        assert_eq!(end_compounds(text).unwrap(), other);
        for text in ["echo fi fi\n", "if a; then b; fi\nfi\n", "echo 'x; fi fi'\n", "ls fi else"] {
            assert_eq!(end_compounds(text), None, "{text}");
        }
    }

    #[test]
    fn several_assignments_end_with_their_line() {
        assert_eq!(end_assignments("a=1 b=2\nwhile x; do y; done").unwrap(), "a=1 b=2;\nwhile x; do y; done");
        assert_eq!(
            end_assignments("f() { a=1 b=2\nif x; then y; fi; }").unwrap(),
            "f() { a=1 b=2;\nif x; then y; fi; }"
        );
        assert_eq!(end_assignments("a=1 b=2;\nwhile x; do y; done"), None);
        assert_eq!(end_assignments("a=1 b=2\nmake"), None);
        assert_eq!(end_assignments("a=1 b=2 make\nif x; then y; fi"), None);
    }
}
