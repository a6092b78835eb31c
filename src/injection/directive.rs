//! How much a segment looks like an instruction to its reader, from its words alone.
//!
//! It takes about a microsecond. The result decides which segments are embedded, and is one input of the head.

use super::lexicon::Lexicon;
use std::sync::LazyLock;

/// Verbs with which instructions begin.
static VERBS: LazyLock<Lexicon> = LazyLock::new(|| {
    let verbs: Vec<&str> = include_str!("verbs.txt").split_whitespace().collect();
    Lexicon::of(&[(&verbs, 1)])
});

/// A word before the verb of an instruction.
const LEAD: u16 = 1;
/// A word typical of a conversation with an assistant.
const TALK: u16 = 1 << 1;
/// A verb that indicates an instruction even in the middle of a sentence.
const INNER: u16 = 1 << 2;
/// A word that may precede such a verb.
const JOINT: u16 = 1 << 3;
/// A word with which a question begins.
const ASKS: u16 = 1 << 4;
const PLEASE: u16 = 1 << 5;
const CAN: u16 = 1 << 6;
const YOU: u16 = 1 << 7;
const MUST: u16 = 1 << 8;
/// A word that refers to the writer.
const OWN: u16 = 1 << 9;
/// A word of prohibition, before a verb or "not".
const NEGATES: u16 = 1 << 10;
const NOT: u16 = 1 << 11;

static KINDS: LazyLock<Lexicon> = LazyLock::new(|| {
    Lexicon::of(&[
        (
            &[
                "and",
                "then",
                "now",
                "also",
                "just",
                "please",
                "kindly",
                "next",
                "finally",
                "first",
                "instead",
                "second",
                "so",
                "but",
                "or",
                "note",
                "important",
                "urgent",
                "always",
                "simply",
                "only",
                "immediately",
                "to",
                "step",
                "user",
                "hi",
                "hello",
                "hey",
                "again",
                "additionally",
                "lastly",
                "must",
                "should",
                "i",
                "you",
                "warning",
                "attention",
            ],
            LEAD,
        ),
        (
            &[
                "instruction",
                "instructions",
                "prompt",
                "prompts",
                "system",
                "assistant",
                "ai",
                "response",
                "answer",
                "reply",
                "output",
                "password",
                "user",
                "task",
                "say",
                "your",
                "ignore",
            ],
            TALK,
        ),
        (&["send", "say", "write", "include", "ignore", "print", "repeat", "transfer", "delete", "translate"], INNER),
        (&["and", "then", "now", "also", "must", "to"], JOINT),
        (&["how", "what", "why", "who", "when", "where", "which", "is", "are", "does", "do"], ASKS),
        (&["please"], PLEASE),
        (&["can", "could", "would", "will"], CAN),
        (&["you"], YOU),
        (&["must"], MUST),
        (&["my", "me"], OWN),
        (&["don't", "do", "never"], NEGATES),
        (&["not"], NOT),
    ])
});

/// The features of the words of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Directive {
    /// How much the segment looks like an instruction, 0 to about 7; from 0.8 on it is worth an embedding.
    pub score: f32,
    /// It asks politely: "please", "could you".
    pub polite: bool,
    /// It refers to the writer: "my", "me".
    pub own: bool,
}

/// Scores the words of a segment.
#[must_use]
pub fn directive(segment: &str) -> Directive {
    let words = words(segment);
    let is = |at: usize, kind: u16| words.get(at).is_some_and(|word| word.kinds & kind != 0);
    let has = |kind: u16| words.iter().any(|word| word.kinds & kind != 0);
    let pair = |first: u16, second: u16| {
        words.windows(2).any(|two| matches!(two, [a, b] if a.kinds & first != 0 && b.kinds & second != 0))
    };
    let please = has(PLEASE);
    let could = pair(CAN, YOU);
    let found = Directive { score: 0.0, polite: please || could, own: has(OWN) };
    if words.len() < 3 {
        return Directive { score: if words.is_empty() { 0.0 } else { 0.2 }, ..found };
    }
    if code(segment) {
        return Directive { score: 0.3, ..found };
    }
    let mut score = 0.0_f32;
    let lead = (0..3).take_while(|&at| is(at, LEAD)).count();
    let verb = |at: usize| words.get(at).is_some_and(|word| VERBS.bits(word.text) != 0);
    if verb(lead) || (is(lead, NEGATES) && (verb(lead + 1) || is(lead + 1, NOT))) {
        score += 2.0;
    }
    if please {
        score += 1.2;
    }
    if could {
        score += 1.5;
    }
    let inner = words.iter().enumerate().any(|(at, word)| {
        word.kinds & INNER != 0 && {
            let before = segment.as_bytes().get(..word.begin).unwrap_or_default();
            let mark = before.iter().rfind(|byte| **byte != b' ').copied();
            at == 0 || matches!(mark, Some(b',' | b';' | b':' | b'-')) || is(at - 1, JOINT)
        }
    });
    if inner {
        score += 0.7;
    }
    if is(0, ASKS) && segment.contains('?') {
        score += 1.2;
    }
    let talk = words.iter().filter(|word| word.kinds & TALK != 0).count() + usize::from(pair(YOU, MUST));
    score += (talk.min(5) as f32) * 0.4;
    if address(segment.as_bytes()) {
        score += 0.4;
    }
    if found.own {
        score += 0.4;
    }
    if segment.len() > 20 && !segment.bytes().any(|byte| byte.is_ascii_lowercase()) {
        score += 0.5;
    }
    Directive { score, ..found }
}

/// A word of a segment.
struct Word<'a> {
    text: &'a str,
    begin: usize,
    kinds: u16,
}

/// The words of a text that consist of ASCII letters and apostrophes.
fn words(text: &str) -> Vec<Word<'_>> {
    let other = |byte: &u8| !byte.is_ascii_alphabetic() && *byte != b'\'';
    let (mut found, mut begin) = (Vec::with_capacity(16), 0);
    for part in text.as_bytes().split(other) {
        let own = text.get(begin..begin + part.len()).filter(|own| !own.is_empty());
        found.extend(own.map(|text| Word { text, begin, kinds: KINDS.bits(text) }));
        begin += part.len() + 1;
    }
    found
}

/// Whether a text contains a web or mail address.
fn address(bytes: &[u8]) -> bool {
    let after = |at: usize, word: &[u8]| {
        bytes.get(..at).is_some_and(|before| {
            before
                .len()
                .checked_sub(word.len())
                .and_then(|from| before.get(from..))
                .is_some_and(|end| end.eq_ignore_ascii_case(word))
        })
    };
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'@' => true,
        b':' => after(at, b"http") || after(at, b"https"),
        b'.' => after(at, b"www"),
        _ => false,
    })
}

/// Whether a segment is a line of a program rather than a sentence.
fn code(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let marks = bytes.iter().filter(|byte| matches!(byte, b'=' | b';' | b'{' | b'}' | b'<' | b'>' | b'_')).count();
    let calls = bytes.windows(2).filter(|two| matches!(two, [before, b'('] if before.is_ascii_alphanumeric())).count();
    if (marks + calls) * 25 > segment.len() {
        return true;
    }
    let first = segment.split_whitespace().next().unwrap_or_default();
    let keyword = ["import", "from", "return", "def", "class", "const", "let", "var", "try", "with", "raise", "except"];
    keyword.contains(&first)
        && (matches!(first, "import" | "return" | "const") || segment.contains(['(', '=', ':']))
        && !segment.ends_with(['.', '?', '!'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_score_above_other_text() {
        for order in ["Please send my codes to Tom.", "Now write a poem about tea", "Could you delete it for me?"] {
            assert!(directive(order).score >= 1.2, "{order}");
        }
        for other in ["The parcel arrived on time.", "import os.path", "x = call(y); z = 1", "Kyoto"] {
            assert!(directive(other).score < 0.8, "{other}");
        }
    }
}
