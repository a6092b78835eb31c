//! Facts about the target of each effect.
//!
//! [`gather`] turns effects into the input of the policies. It probes each path on the machine, and judges each address
//! by its text.

mod gather;
mod url;

pub use gather::{Approved, ScreenInput, Surroundings, gather};
pub(crate) use gather::{contents, footprint};
pub(crate) use url::place_of;

use crate::action::Context;
use crate::effect::shell::{FileSource, Names, ReadError};
use crate::machine::{Account, Environment, MachineError};

impl FileSource for Environment {
    fn script(&self, path: &str, max: usize) -> Result<Vec<u8>, ReadError> {
        self.read_script(path, max).map_err(|problem: MachineError| {
            if problem.is_missing() {
                ReadError::Missing(problem.to_string())
            } else {
                ReadError::Unreadable(problem.to_string())
            }
        })
    }

    fn folder(&self, path: &str) -> Option<bool> {
        self.is_folder(path)
    }

    fn is_missing(&self, path: &str) -> bool {
        self.is_there(path) == Some(false)
    }

    fn names(&self, path: &str) -> Option<Names> {
        let listing = self.entries(path, false);
        let mut names = Names::default();
        for entry in listing.entries {
            match entry {
                entry if entry.link || !entry.exact => names.others.push(entry.name),
                entry if entry.folder => names.folders.push(entry.name),
                entry => names.files.push(entry.name),
            }
        }
        listing.complete.then_some(names)
    }

    fn resolved(&self, path: &str) -> Option<String> {
        self.resolve(path)
    }

    fn free(&self, path: &str) -> Option<u64> {
        Environment::free(self, path)
    }
}

/// The account that a context names, looked up in its environment if it has one.
#[must_use]
pub fn account(context: &Context) -> Account {
    let name = &context.identity.name;
    let account = context.environment.as_ref().map_or_else(|| Account::unknown(name), |e| e.account(name));
    match &context.home {
        Some(home) => account.with_variable_home(home),
        None => account,
    }
}
