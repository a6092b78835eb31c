//! Everything that the engine promises, from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::too_many_lines, reason = "tables of cases")]

mod accepted;
mod aliases;
mod approvals;
mod audit;
mod browser;
mod builds;
mod cli;
mod configuration;
mod destinations;
mod docs;
mod evolve;
mod facts;
mod first_release;
mod forget;
mod guard;
mod hook;
mod hostile;
mod hosts;
mod identity;
mod imports;
mod inhouse;
mod javascript;
mod kill;
mod knowledge;
mod made;
mod makefiles;
mod mcp;
mod mcp_sdk;
mod meaning;
mod memory;
mod memory_file;
mod mistakes;
mod model;
mod notify;
mod oneliners;
mod operations;
mod people;
mod permission;
mod policies;
mod privilege;
mod profiles;
mod project_policies;
mod projects;
mod properties;
mod prove;
mod provenance;
mod public_api;
mod readers;
mod reasons;
mod recorded;
mod recovery;
mod research;
mod resident;
mod roots;
mod rules;
mod scope;
mod scripts;
mod secrets;
mod serve;
mod sessions;
mod shell;
mod silence;
mod stake;
mod survey;
mod table;
mod texts;
mod transcripts;
mod url;
mod widened;
mod wishes;
mod words;
mod written;

/// The real embedder, one for all tests: its files come from the user's cache, or are fetched into it.
pub fn embedder() -> agrail::embed::MiniLm {
    use agrail::embed::{MiniLm, Sources};
    static SHARED: std::sync::OnceLock<MiniLm> = std::sync::OnceLock::new();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || std::path::PathBuf::from(std::env::var_os("HOME").expect("a home folder")).join(".cache"),
        std::path::PathBuf::from,
    );
    SHARED.get_or_init(|| MiniLm::new(Sources::fetching(cache.join("agrail")))).clone()
}
