//! The shell reader: no panic, no endless run, and a harmful command put in front is still seen.
#![no_main]

use agrail::effect::shell::{self, Nowhere};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = shell::read(text, "user", "/home/user", "/home/user", &Nowhere);
    let reading = shell::read(&format!("rm -rf /etc\n{text}"), "user", "/home/user", "/home/user", &Nowhere);
    assert!(!reading.effects.is_empty(), "a command before hostile text was lost");
});
