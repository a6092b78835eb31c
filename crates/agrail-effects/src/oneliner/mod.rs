//! Source in awk, Perl, Ruby, PHP, Lua, R, Julia, Emacs Lisp, gnuplot, m4 and of line editors, most of it one-liners.
//!
//! These languages have a closed vocabulary instead of a grammar: the source is split into words, texts and marks; a word
//! is inert if the language's list says so or if the source itself defines it, has the effects of its row, and is unknown
//! otherwise. To mention a name is to use it, wherever in the source it is, so the order of execution does not matter.
//! Whatever the splitting does not cover (`%`-literals of Ruby, a `/` of which only a parser knows what
//! it is) is a problem of the reading, never a guess.

mod arguments;
mod description;
pub mod editor;
mod heredoc;
mod language;
mod lexer;
mod own;
mod perl;
mod quotes;
mod reader;
mod redirects;
#[cfg(test)]
mod tests;

use crate::reading::Reading;
use language::Language;

/// Begins the target of a call that is relative to the folder of the source itself.
pub const OWN_FOLDER: &str = "__DIR__";
/// Longest source that is read, in bytes.
const MAX_SOURCE: usize = 64 * 1024;

/// Whether a module is listed as one without effects.
pub fn is_known(language: &str, module: &str) -> bool {
    Language::named(language).is_some_and(|language| language.is_inert(module) || language.keywords.contains(module))
}

/// The effects of source in a language; `None` if nothing is known about the language.
pub fn extract_effects(language: &str, source: &str) -> Option<Reading> {
    let language = Language::named(language)?;
    if source.len() > MAX_SOURCE {
        return Some(Reading::failed(crate::Cause::Budget, "the source is too long"));
    }
    let lexed = lexer::lex(language, source);
    Some(reader::read(language, &lexed.tokens, lexed.problems))
}
