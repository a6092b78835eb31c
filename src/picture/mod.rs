//! Pictures of decisions, for people: what a verdict rests on as a tree, and decisions over time.
//!
//! 1. [`Tree`] is read from the JSON of a verdict, so that a verdict of an earlier release can be drawn, too: each effect
//!    with its facts, and what was found about it.
//! 2. [`svg`] draws it; [`page`] is a page that needs nothing else.
//! 3. `over_time` plots counts.
//! 4. [`made`] names the origin of a report.
//!
//! What an agent has written is shown with hidden characters as escapes.

mod made;
mod plot;
mod svg;
mod tree;

pub use made::made;
pub(crate) use plot::{Counts, over_time};
pub use svg::{page, svg};
pub use tree::{Branch, Leaf, Mark, Tree};
