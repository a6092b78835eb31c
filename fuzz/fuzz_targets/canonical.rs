//! The canonical form: no panic, bounded output, idempotent.
#![no_main]

use agrail::canonical::{Budget, canonical};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let once = canonical(text, &Budget::default());
    assert!(once.decoded.len() <= Budget::default().items);
    let again = canonical(&once.text, &Budget::default());
    assert_eq!(once.text, again.text);
});
