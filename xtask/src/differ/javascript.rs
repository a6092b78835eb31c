//! Random javascript programs.

use super::source::{Maker, Program};

/// The program with a number.
pub fn program(number: u64) -> Program {
    let make = Maker::new(number);
    Program { source: String::new(), productions: make.productions }
}
