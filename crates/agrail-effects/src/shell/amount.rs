//! Amounts: outputs without end, sizes that no disk takes in passing or that leave the disk full, and jobs by the thousand.

use super::{Output, Shell};
use crate::role::Role;
use crate::table::{Bound, Options};

/// Size from which an output or a file exhausts the disk, in bytes; the same as in Python.
const EXHAUSTING: u64 = 100_000_000_000;
/// Size below which free space is not looked at, in bytes.
const SMALL: u64 = 100_000_000;
/// Jobs at once from which a command exhausts the processes of an account.
pub(super) const JOBS: u64 = 1_000;
/// The same with so much input that they never become fewer.
const FLOOD: u64 = 100;
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
            "head" | "ghead" => input && counted(words).is_some_and(|size| self.fills(size, &[])),
            "dd" | "gdd" => {
                let to: Vec<&str> = words.iter().filter_map(|word| word.strip_prefix("of=")).collect();
                let much = input && copied(words).is_none_or(|size| self.fills(size, &to));
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

    /// Reports a size that exhausts the disk on which one of the files among the arguments is.
    pub(super) fn size(&mut self, value: &str, bound: &Bound, program: &str) {
        let files = bound.arguments.iter().filter(|(role, ..)| matches!(role, Role::Act { .. }));
        let files: Vec<&str> = files.map(|(_, file, _)| file.as_str()).collect();
        if bytes(value).is_some_and(|size| self.fills(size, &files)) {
            self.exhaust("disk", program);
        }
    }

    /// Whether a size is too large for any disk, or takes more than nine tenths of the free space on the disk of one of the
    /// files (without files, of the current folder).
    fn fills(&self, size: u64, files: &[&str]) -> bool {
        let leaves_none = |path: &str| self.around.free(&self.path(path)).is_some_and(|free| size > free / 10 * 9);
        let files = if files.is_empty() { &["."] } else { files };
        size >= EXHAUSTING || size >= SMALL && files.iter().any(|path| leaves_none(path))
    }

    /// Reports a program that runs so many jobs at once (`xargs -P`, `parallel -j`) that no other can start.
    pub(super) fn jobs(&mut self, program: &str, options: &Options, stdin: &Output) {
        let counts = ["-P", "--max-procs", "-j", "--jobs"];
        let jobs = options.given.iter().filter(|option| counts.contains(&option.name.as_str()));
        let jobs = jobs.filter_map(|option| option.value.as_ref()?.parse::<u64>().ok()).max();
        // 0: as many as there is input
        let all = stdin.endless || stdin.many;
        if jobs.is_some_and(|jobs| jobs >= JOBS || all && (jobs == 0 || jobs >= FLOOD)) {
            self.exhaust("process", program);
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
    use crate::shell::{FileSource, NoFiles, ReadError};
    use crate::{Action, Verb, Who, extract_effects};

    /// A disk on which 10 GB are left, but 1 TB below `/large`.
    struct Small;

    impl FileSource for Small {
        fn script(&self, path: &str, _max: usize) -> Result<Vec<u8>, ReadError> {
            Err(ReadError::Missing(path.to_owned()))
        }

        fn folder(&self, _path: &str) -> Option<bool> {
            None
        }

        fn free(&self, path: &str) -> Option<u64> {
            Some(if path.starts_with("/large/") { 1_000_000_000_000 } else { 10_000_000_000 })
        }
    }

    /// What a command exhausts.
    fn exhausted(command: &str, around: &dyn FileSource) -> Vec<String> {
        let action = Action::Shell { command: command.to_owned(), cwd: Some("/home/alice".into()) };
        let effects = extract_effects(&action, Who { name: "alice", home: "/home/alice" }, around).effects;
        let exhausts = effects.iter().filter(|effect| effect.verb == Verb::Exhaust);
        exhausts.map(|effect| effect.target.name().to_owned()).collect()
    }

    #[test]
    fn a_size_is_compared_with_what_is_free() {
        for command in [
            "fallocate -l 9500M image",
            "fallocate -l 9500M /home/alice/image",
            "dd if=/dev/zero of=image bs=1M count=9500",
            "head -c 9500M /dev/urandom > image",
        ] {
            assert_eq!(exhausted(command, &Small), ["disk"], "{command}");
            assert!(exhausted(command, &NoFiles).is_empty(), "{command}");
        }
        for command in [
            "fallocate -l 5G image",
            "fallocate -l 50G /large/image",
            "dd if=/dev/zero of=/large/image bs=1M count=9500",
            "truncate -s 50G image",
        ] {
            assert!(exhausted(command, &Small).is_empty(), "{command}");
        }
        assert_eq!(exhausted("fallocate -l 100G /large/image", &Small), ["disk"]);
    }

    #[test]
    fn thousands_of_jobs_at_once_exhaust_the_processes() {
        for command in [
            "for i in $(seq 5000); do ./job & done",
            "for i in {1..5000}; do sleep 100 & done",
            "for i in {1..50}; do for j in {1..50}; do ./job & done; done",
            "while true; do ./job & done",
            "seq 5000 | xargs -P 2000 -n 1 ./job",
            "yes | xargs -P0 -n1 ./job",
            "seq 5000 | shuf | xargs -P 0 -n 1 ./job",
            "seq 5000 | xargs -P 200 -n 1 ./job",
            "parallel -j 2000 ./job ::: a",
        ] {
            assert_eq!(exhausted(command, &NoFiles), ["process"], "{command}");
        }
        for command in [
            "for i in {1..20}; do ./job & done; wait",
            "for i in {1..5000}; do ./job; done",
            "for i in {1..5000}; do ./job & wait; done",
            "for i in {1..5000}; do for j in 1 2 3 4; do ./job & done; wait; done",
            "xargs -P 0 -n 1 ./job < list",
            "seq 20 | xargs -P 0 -n 1 ./job",
            "seq 5000 | head -n 20 | xargs -P 0 -n 1 ./job",
            "parallel -j 8 ./job ::: a b",
        ] {
            assert!(exhausted(command, &NoFiles).is_empty(), "{command}: {:?}", exhausted(command, &NoFiles));
        }
    }

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
