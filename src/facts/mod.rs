//! Facts about the target of each effect.
//!
//! [`gather`] turns effects into the input of the policies. It probes each path on the machine, and judges each address
//! by its text.

mod gather;
mod url;

pub use gather::{ScreenInput, Surroundings, gather};

use crate::action::Context;
use crate::effect::shell::{FileSource, ReadError};
use crate::machine::{Account, Environment, MachineError};

impl FileSource for Environment {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
        self.read_script(path, max).map_err(|problem: MachineError| match self.is_there(path) {
            Some(false) => ReadError::Missing(problem.to_string()),
            _ => ReadError::Unreadable(problem.to_string()),
        })
    }

    fn folder(&self, path: &str) -> Option<bool> {
        self.is_folder(path)
    }

    fn folders(&self, path: &str) -> Option<Vec<String>> {
        let listing = self.entries(path, false);
        let folders = listing.entries.into_iter().filter(|entry| entry.folder && entry.exact && !entry.link);
        listing.complete.then(|| folders.map(|entry| entry.name).collect())
    }

    fn files(&self, path: &str) -> Option<Vec<String>> {
        let listing = self.entries(path, false);
        let files = listing.entries.into_iter().filter(|entry| !entry.folder && entry.exact && !entry.link);
        listing.complete.then(|| files.map(|entry| entry.name).collect())
    }

    fn resolved(&self, path: &str) -> Option<String> {
        self.resolve(path)
    }
}

/// The account that a context names, looked up in its environment if it has one.
#[must_use]
pub fn account(context: &Context) -> Account {
    let name = &context.identity.name;
    context.environment.as_ref().map_or_else(|| Account::unknown(name), |e| e.account(name))
}
