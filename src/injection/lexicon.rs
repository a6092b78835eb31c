//! A small set of words with their kinds, against which every word of a text is looked up.

/// Bytes of the longest word that is kept.
const LONGEST: usize = 16;

/// Words with the bits of their kinds, by length. A word is stored as one number, so that words are not compared letter
/// by letter.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    words: [Vec<(u128, u16)>; LONGEST + 1],
}

impl Lexicon {
    /// Builds a lexicon from lists of words, each with the bits of its kind. Words consist of letters and `'`.
    pub fn of(lists: &[(&[&'static str], u16)]) -> Self {
        let mut own = Self::default();
        for (words, bits) in lists {
            for word in *words {
                let Some((number, same)) = number(word).zip(own.words.get_mut(word.len())) else { continue };
                match same.iter_mut().find(|(known, _)| *known == number) {
                    Some((_, known)) => *known |= bits,
                    None => same.push((number, *bits)),
                }
            }
        }
        own
    }

    /// The bits of a word, case-insensitive; 0 if it is in no list.
    pub fn bits(&self, word: &str) -> u16 {
        let Some((wanted, same)) = number(word).zip(self.words.get(word.len())) else { return 0 };
        same.iter().find(|(number, _)| *number == wanted).map_or(0, |(_, bits)| *bits)
    }
}

/// A word in lower case as a number; `None` if it is too long. Only letters are mapped to letters.
fn number(word: &str) -> Option<u128> {
    let mut bytes = [0; LONGEST];
    bytes.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    Some(u128::from_le_bytes(bytes) | u128::from_le_bytes([0x20; LONGEST]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lexicon_knows_only_its_words() {
        let words = Lexicon::of(&[(&["send", "say", "translate"], 1), (&["say", "me"], 2)]);
        for (word, bits) in [("send", 1), ("SEND", 1), ("say", 3), ("Translate", 1), ("me", 2)] {
            assert_eq!(words.bits(word), bits, "{word}");
        }
        for word in ["", "sent", "sends", "é", "1", "sa\u{19}", "s y", "a very long word that nothing is", "xray"] {
            assert_eq!(words.bits(word), 0, "{word}");
        }
    }
}
