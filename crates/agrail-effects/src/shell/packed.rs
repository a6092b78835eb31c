//! Programs that pack files, each into one with another ending: `gzip`, `xz`, `zstd`.

use super::{Output, Shell};
use crate::Verb;

/// Programs, and the ending of their files.
const ENDINGS: [(&[&str], &str); 7] = [
    (&["gzip", "gunzip", "pigz", "unpigz"], ".gz"),
    (&["bzip2", "bunzip2", "pbzip2"], ".bz2"),
    (&["xz", "unxz"], ".xz"),
    (&["lzma", "unlzma"], ".lzma"),
    (&["zstd", "unzstd", "zstdmt"], ".zst"),
    (&["lz4", "unlz4"], ".lz4"),
    (&["lzip"], ".lz"),
];
/// Options with which nothing is written beside a file.
const ELSEWHERE: [&str; 10] =
    ["-c", "--stdout", "--to-stdout", "-t", "--test", "-l", "--list", "-o", "--help", "--version"];

impl Shell<'_> {
    /// Adds the files that a program makes beside its operands; its row says what happens to those.
    pub(super) fn pack(&mut self, program: &str, words: &[String]) -> Option<Output> {
        let (_, ending) = ENDINGS.iter().find(|(programs, _)| programs.contains(&program))?;
        let (options, operands) = self.permuted(program, words);
        if options.has(&ELSEWHERE) {
            return None;
        }
        let unpacks = program.starts_with("un")
            || program.contains("unzip")
            || options.has(&["-d", "--decompress", "--uncompress"]);
        for file in operands.iter().filter(|file| *file != "-") {
            let made =
                if unpacks { file.strip_suffix(ending).unwrap_or(file).to_owned() } else { format!("{file}{ending}") };
            let effect = self.at(Verb::Create, &made, program);
            self.add(effect);
        }
        None
    }
}
