//! Syntax trees. A text is parsed once: its tree is kept by the text's digest for as long as there is room, because an
//! agent runs the same scripts again and again.

mod node;

pub(crate) use node::{Node, Tree};

use crate::budget::{self, Cost};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::LazyLock;
use tree_sitter::{Language, ParseOptions, ParseState, Parser};

/// Most trees that are kept, and their weight together, in bytes.
const TREES: usize = 4_096;
const ROOM: u64 = 64 * 1024 * 1024;
/// Bytes of a node, and of a tree without its nodes.
const NODE: u64 = 32;
const LIGHTEST: u64 = 256;

/// The languages that are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Grammar {
    Bash,
    Python,
    JavaScript,
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

impl Grammar {
    /// Most levels of a tree. The readers of Bash walk it by calls of functions, and must not run out of their stack;
    /// those of the other languages have bounds of their own.
    fn deepest(self) -> usize {
        match self {
            Self::Bash => 1_000,
            Self::Python | Self::JavaScript | Self::TypeScript | Self::Tsx => usize::MAX,
        }
    }

    fn language(self) -> Language {
        match self {
            Self::Bash => tree_sitter_bash::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        }
    }
}

/// The grammar, the length of the text and its digest.
type Key = (Grammar, usize, [u8; 32]);

#[derive(Clone)]
struct Weight;

impl Weighter<Key, (Tree, Cost)> for Weight {
    fn weight(&self, _: &Key, (tree, _): &(Tree, Cost)) -> u64 {
        LIGHTEST + tree.len() as u64 * NODE
    }
}

static KEPT: LazyLock<Cache<Key, (Tree, Cost), Weight>> = LazyLock::new(|| Cache::with_weighter(TREES, ROOM, Weight));

/// The tree of a text; `None` if the parser gives up, the budget is spent, or the text is nested too deep.
pub(crate) fn parse(grammar: Grammar, text: &str) -> Option<Tree> {
    thread_local! {
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    let key = (grammar, text.len(), Sha256::digest(text).into());
    if let Some((known, cost)) = KEPT.get(&key) {
        return (!budget::charges(cost)).then_some(known);
    }
    let (parsed, cost) = budget::costing(|| {
        PARSER.with_borrow_mut(|parser| {
            parser.set_language(&grammar.language()).ok()?;
            parser.reset();
            let mut goes_on =
                |_: &ParseState| if budget::parses() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            let options = ParseOptions::new().progress_callback(&mut goes_on);
            let bytes = text.as_bytes();
            parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
        })
    });
    let tree = Tree::new(grammar, &parsed?)?;
    KEPT.insert(key, (tree.clone(), cost));
    Some(tree)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Grammar, parse};

    #[test]
    fn each_grammar_has_its_own_tree_of_a_text() {
        let text = "a = 1 if b else c\n";
        for _ in 0..2 {
            assert!(!parse(Grammar::Python, text).unwrap().root_node().has_error());
            assert!(parse(Grammar::JavaScript, text).unwrap().root_node().has_error());
        }
        assert_eq!(parse(Grammar::Bash, "ls").unwrap().root_node().kind(), "program");
    }
}
