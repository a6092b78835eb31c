//! The shell parser: no panic, no endless loop, and a harmful command before hostile text is still found.
#![no_main]

use agrail::effect::shell::{self, NoFiles};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = shell::extract_effects(text, "user", "/home/user", "/home/user", &NoFiles);
    let reading = shell::extract_effects(&format!("rm -rf /etc\n{text}"), "user", "/home/user", "/home/user", &NoFiles);
    assert!(!reading.effects.is_empty(), "a command before hostile text was lost");
});
