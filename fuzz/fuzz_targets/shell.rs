//! The shell parser: no panic, no endless loop, and a harmful command before hostile text is still found.
#![no_main]

use agrail::effect::shell::{self, NoFiles};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// Where the text is noted that is being read: where a stack ends, the process ends before the fuzzer can save it.
static LAST: LazyLock<Option<std::ffi::OsString>> = LazyLock::new(|| std::env::var_os("AGRAIL_FUZZ_LAST"));

fuzz_target!(|text: &str| {
    if let Some(last) = LAST.as_ref() {
        let _ = std::fs::write(last, text);
    }
    let _ = shell::extract_effects(text, "user", "/home/user", "/home/user", &NoFiles);
    let reading = shell::extract_effects(&format!("rm -rf /etc\n{text}"), "user", "/home/user", "/home/user", &NoFiles);
    assert!(!reading.effects.is_empty(), "a command before hostile text was lost");
});
