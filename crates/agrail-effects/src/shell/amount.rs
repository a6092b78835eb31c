//! Amounts: outputs without end, and sizes that no disk takes in passing.

use super::{Output, Shell};

/// Size from which an output or a file exhausts the disk, in bytes; the same as in Python.
const EXHAUSTING: u64 = 100_000_000_000;
/// Files that never end.
pub(super) const SOURCES: [&str; 4] = ["/dev/full", "/dev/random", "/dev/urandom", "/dev/zero"];
/// Filters whose output ends only when their input does.
const THROUGH: [&str; 14] =
    ["awk", "base64", "bzip2", "cat", "grep", "gzip", "od", "rev", "sed", "tee", "tr", "xxd", "xz", "zstd"];
/// Programs that print nothing before they have all of their input.
const COLLECT: [&str; 5] = ["shuf", "sort", "sponge", "tac", "tail"];

impl Shell<'_> {
    /// Whether a program prints without end, or so much that it is the same. Reports a disk or memory that it fills.
    pub(super) fn is_endless(&mut self, program: &str, words: &[String], stdin: &Output) -> bool {
        let source = words.iter().any(|word| SOURCES.contains(&word.trim_start_matches("if=")));
        let input = stdin.endless || source;
        let file = |word: &String| word.strip_prefix("of=").is_some_and(|path| !path.starts_with("/dev/"));
        match program {
            "yes" => true,
            "head" | "ghead" => input && counted(words).is_some_and(|size| size >= EXHAUSTING),
            "dd" | "gdd" => {
                let much = input && copied(words).is_none_or(|size| size >= EXHAUSTING);
                if much && words.iter().any(file) {
                    self.exhaust("disk", program);
                }
                much && !words.iter().any(|word| word.starts_with("of="))
            }
            program if input && COLLECT.contains(&program) => {
                self.exhaust("memory", program);
                false
            }
            program => input && THROUGH.contains(&program),
        }
    }

    /// Reports a size that exhausts the disk.
    pub(super) fn size(&mut self, value: &str, program: &str) {
        if bytes(value).is_some_and(|size| size >= EXHAUSTING) {
            self.exhaust("disk", program);
        }
    }
}

/// The value of `-c` of `head`.
fn counted(words: &[String]) -> Option<u64> {
    let value = words.iter().enumerate().find_map(|(place, word)| match word.as_str() {
        "-c" | "--bytes" => words.get(place + 1).map(String::as_str),
        word => word.strip_prefix("--bytes=").or_else(|| word.strip_prefix("-c")),
    });
    bytes(value?)
}

/// How many bytes `dd` copies; `None`: as many as there are.
fn copied(words: &[String]) -> Option<u64> {
    let value = |name: &str| words.iter().rev().find_map(|word| bytes(word.strip_prefix(name)?));
    let block = value("bs=").or_else(|| value("ibs=")).unwrap_or(512);
    // with a flag, the count is in bytes
    let plain = words.iter().any(|word| word.starts_with("iflag=") && word.contains("count_bytes"));
    Some(value("count=")?.saturating_mul(if plain { 1 } else { block }))
}

/// A size as programs write it: `512`, `64K`, `1.5G`, `10GiB`, `5TB`, `4x1M`.
fn bytes(text: &str) -> Option<u64> {
    if text.contains('x') {
        return text.split('x').try_fold(1_u64, |product, factor| Some(product.saturating_mul(plain(factor)?)));
    }
    plain(text)
}

/// A size without factors.
fn plain(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.to_ascii_uppercase();
    let thousand = if unit.ends_with('B') && !unit.ends_with("IB") && unit.len() > 1 { 1_000_u64 } else { 1_024 };
    let factor = match unit.chars().next() {
        None | Some('C') => 1,
        Some('W') => 2,
        Some('B') => 512,
        Some(letter) => thousand.checked_pow(1 + u32::try_from("KMGTPEZY".find(letter)?).ok()?).unwrap_or(u64::MAX),
    };
    match number.parse::<u64>() {
        Ok(number) => Some(number.saturating_mul(factor)),
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an estimate"
        )]
        Err(_) => number.parse::<f64>().ok().map(|number| (number * factor as f64) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, copied, counted};

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn sizes_are_read_as_programs_read_them() {
        for (text, size) in [
            ("512", Some(512)),
            ("64K", Some(65_536)),
            ("1.5k", Some(1_536)),
            ("2MB", Some(2_000_000)),
            ("1GiB", Some(1 << 30)),
            ("2x1M", Some(2 << 20)),
            ("1b", Some(512)),
            ("900Y", Some(u64::MAX)),
            ("many", None),
            ("", None),
        ] {
            assert_eq!(bytes(text), size, "{text}");
        }
        assert_eq!(bytes(&"2x".repeat(100_000)), None);
        assert_eq!(bytes(&("2x".repeat(100_000) + "2")), Some(u64::MAX));
        assert_eq!(counted(&words("-c 10 /dev/zero")), Some(10));
        assert_eq!(counted(&words("-c5G")), Some(5 << 30));
        assert_eq!(copied(&words("if=/dev/zero of=f bs=1M count=3")), Some(3 << 20));
        assert_eq!(copied(&words("if=/dev/zero of=f bs=1M")), None);
    }
}
