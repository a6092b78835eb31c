//! Tests of `agrail-eval` through its command line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod import;
mod research;

/// The real embedder, shared by all tests. Its files come from the user's cache; missing files are fetched into it.
pub fn embedder() -> agrail::embed::MiniLm {
    use agrail::embed::{MiniLm, Sources};
    static SHARED: std::sync::OnceLock<MiniLm> = std::sync::OnceLock::new();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || std::path::PathBuf::from(std::env::var_os("HOME").expect("a home folder")).join(".cache"),
        std::path::PathBuf::from,
    );
    SHARED.get_or_init(|| MiniLm::new(Sources::fetching(cache.join("agrail")))).clone()
}
