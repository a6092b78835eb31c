//! sed scripts: the few commands that run programs or access files.

/// The effects of a sed script beyond editing text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sed {
    /// Command lines that `e COMMAND` runs.
    pub commands: Vec<String>,
    /// Whether it runs its own text (`s///e`, `e` alone) or does not parse.
    pub opaque: bool,
    /// Files that `w` writes.
    pub writes: Vec<String>,
    /// Files that `r` reads.
    pub reads: Vec<String>,
}

/// Parses a script.
pub(crate) fn parse_script(script: &str) -> Sed {
    let mut found = Sed::default();
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        at = match command(&chars, at, &mut found) {
            Some(next) if next > at => next,
            _ => {
                found.opaque = true;
                return found;
            }
        };
    }
    found
}

/// Parses the command at `start`; returns the index after it, or `None` if it does not parse.
fn command(chars: &[char], start: usize, found: &mut Sed) -> Option<usize> {
    let mut at = start;
    while chars.get(at).is_some_and(|c| c.is_whitespace() || matches!(c, ';' | '}')) {
        at += 1;
    }
    // the addresses
    loop {
        match chars.get(at) {
            None => return Some(at.max(start + 1)),
            Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' ' | '\t') => at += 1,
            Some('/') => at = flags(chars, delimited(chars, at + 1, '/')?),
            Some('\\') => at = flags(chars, delimited(chars, at + 2, *chars.get(at + 1)?)?),
            Some(_) => break,
        }
    }
    match chars.get(at)? {
        's' => substitution(chars, at, found),
        'y' => {
            let delimiter = *chars.get(at + 1)?;
            delimited(chars, delimited(chars, at + 2, delimiter)?, delimiter)
        }
        'e' => {
            let (command, end) = rest_of_line(chars, at + 1);
            if command.is_empty() {
                found.opaque = true;
            } else {
                found.commands.push(command);
            }
            Some(end.max(at + 1))
        }
        'w' | 'W' | 'r' | 'R' => {
            let (file, end) = rest_of_line(chars, at + 1);
            if matches!(chars.get(at), Some('w' | 'W')) {
                found.writes.push(file)
            } else {
                found.reads.push(file)
            }
            Some(end.max(at + 1))
        }
        'a' | 'i' | 'c' | '#' | ':' | 'b' | 't' | 'T' | 'v' => {
            let ends = |c: &char| *c == '\n' || (*c == ';' && matches!(chars.get(at), Some('b' | 't' | 'T' | ':')));
            let mut end = chars.iter().skip(at).position(ends).map_or(chars.len(), |n| at + n);
            // text continues on the next line after a backslash
            while end < chars.len() && chars.get(end - 1) == Some(&'\\') {
                end = chars.iter().skip(end + 1).position(|c| *c == '\n').map_or(chars.len(), |n| end + 1 + n);
            }
            Some(end.max(at + 1))
        }
        'p' | 'P' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'x' | '=' | 'z' | 'F' | '{' => Some(at + 1),
        'q' | 'Q' | 'l' | 'L' => {
            // optional number
            let number = chars.iter().skip(at + 1).take_while(|c| c.is_ascii_digit() || **c == ' ').count();
            Some(at + 1 + number)
        }
        ';' | '\n' | '}' => Some(at + 1),
        _ => None,
    }
}

/// Parses `s/FROM/TO/FLAGS`, of which two flags act: `e` runs the text, `w` writes it to a file.
fn substitution(chars: &[char], at: usize, found: &mut Sed) -> Option<usize> {
    let delimiter = *chars.get(at + 1)?;
    let middle = delimited(chars, at + 2, delimiter)?;
    let mut end = delimited(chars, middle, delimiter)?;
    while let Some(flag) = chars.get(end).filter(|c| !matches!(c, ';' | '\n' | '}' | ' ' | '#')) {
        match flag {
            'e' => found.opaque = true,
            'w' => {
                let (file, next) = rest_of_line(chars, end + 1);
                found.writes.push(file);
                return Some(next.max(end + 1));
            }
            _ => {}
        }
        end += 1;
    }
    Some(end)
}

/// The text up to the end of the line, and the index of that end.
fn rest_of_line(chars: &[char], from: usize) -> (String, usize) {
    let end = chars.iter().skip(from).position(|c| *c == '\n').map_or(chars.len(), |n| from + n);
    (chars.get(from..end).unwrap_or_default().iter().collect::<String>().trim().to_owned(), end)
}

/// The index after the next unescaped delimiter.
fn delimited(chars: &[char], from: usize, delimiter: char) -> Option<usize> {
    let (mut at, mut set) = (from, false);
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '[' if !set => set = chars.get(at + 1..).is_some_and(|r| r.iter().skip(1).any(|c| *c == ']')),
            ']' => set = false,
            c if *c == delimiter && (!set || delimiter != '/' || !closes(chars, at)) => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether a bracket closes before the line ends: then a delimiter within the brackets is literal.
fn closes(chars: &[char], at: usize) -> bool {
    chars.iter().skip(at).take_while(|c| **c != '\n').any(|c| *c == ']')
}

fn flags(chars: &[char], mut at: usize) -> usize {
    while matches!(chars.get(at), Some('I' | 'M')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editing_is_harmless() {
        for script in [
            "s/a/b/g",
            "1,3d;$p",
            "/x/{s/a/b/;p}",
            "s|/etc|/tmp|",
            r"s/[/]/x/",
            "/^$/d",
            "2q",
            "y/abc/def/",
            "s/\\//x/;N;P;D",
            "$!N",
            "a hello",
            "0~3p",
            "s/we/ew/2",
        ] {
            assert_eq!(parse_script(script), Sed::default(), "{script}");
        }
    }

    #[test]
    fn programs_and_files_of_scripts_are_found() {
        assert_eq!(parse_script("1e rm -rf /usr").commands, ["rm -rf /usr"]);
        assert!(parse_script("s/x/id/e").opaque && parse_script("e").opaque);
        assert_eq!(parse_script("/x/w /etc/passwd").writes, ["/etc/passwd"]);
        assert_eq!(parse_script("s/a/b/w out.txt").writes, ["out.txt"]);
        assert_eq!(parse_script("r /etc/shadow").reads, ["/etc/shadow"]);
        assert!(parse_script("s/a").opaque);
    }
}
