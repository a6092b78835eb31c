//! The state of a shell, as a value: everything that a statement can change for later ones.
//!
//! A child (a subshell, a part of a pipeline, a background job, another program) gets a [`State::fork`]; its changes
//! end with it. After code that may not have run, [`State::join`] merges the two states that are possible.

use super::UNKNOWN_SPAN;
use super::parameter::{either, spread};
use foldhash::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Most folders that may be the working folder, and most values that a variable may have.
const FOLDERS: usize = 3;
const VALUES: usize = 4;

/// A value that states share until one of them changes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shared<T>(Rc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}

/// The state of a shell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct State {
    pub home: String,
    /// `None`: unknown. Empty: paths are kept as written.
    pub cwd: Option<String>,
    /// Other folders that may be the working folder instead.
    pub elsewhere: Vec<String>,
    /// Folders that the script has certainly made.
    pub made: Shared<HashSet<String>>,
    /// Environments of Python that the script has certainly made.
    pub environments: Shared<HashSet<String>>,
    /// Names of containers that the script has certainly made.
    pub containers: Shared<HashSet<String>>,
    /// Whether the script ends when a command fails.
    pub ends_on_failure: bool,
    /// The folders that `pushd` keeps.
    pub stack: Vec<Option<String>>,
    pub variables: Shared<HashMap<String, Vec<String>>>,
    /// Plain words that variables were given, and in which text.
    pub plain: Shared<HashMap<String, (usize, String)>>,
    /// Names of exported variables.
    pub exported: Shared<HashSet<String>>,
    /// Names of read-only variables.
    pub readonly: Shared<HashSet<String>>,
    /// Values of variables before the running functions made them local.
    pub locals: Vec<HashMap<String, Option<Vec<String>>>>,
    /// The bodies of functions by name.
    pub functions: Shared<HashMap<String, String>>,
    /// Functions that may be undefined, because their definition may not have run.
    pub maybe_defined_functions: Shared<HashSet<String>>,
    /// Whether functions may be exported to child shells, by `export -f` or because everything is.
    pub exports_functions: bool,
    pub aliases: Shared<HashMap<String, String>>,
    /// The arguments of the script or function; `None`: unknown.
    pub arguments: Option<Vec<String>>,
    /// Whether commands run with elevated privileges.
    pub privileged: bool,
}

impl State {
    /// The state in which a shell starts.
    pub(crate) fn new(home: &str, cwd: &str) -> Self {
        Self { home: home.to_owned(), cwd: Some(cwd.to_owned()), ..Self::default() }
    }

    /// A copy for a child, whose changes do not reach this one.
    pub(crate) fn fork(&self) -> Self {
        self.clone()
    }

    /// Merges another possible state into this one: a part that differs may have either value.
    pub(crate) fn join(&mut self, other: &Self) {
        self.merge(other, alternatives);
    }

    /// Merges the state after another round of a loop: a part that differs may have any value.
    pub(crate) fn widen(&mut self, other: &Self) {
        self.merge(other, |_, _| None);
    }

    fn merge(&mut self, other: &Self, both: impl Fn(&[String], &[String]) -> Option<String>) {
        self.join_folders(other, both(&[], &[]).is_some());
        if self.made != other.made {
            self.made.retain(|folder| other.made.contains(folder));
        }
        self.ends_on_failure &= other.ends_on_failure;
        if self.environments != other.environments {
            self.environments.retain(|folder| other.environments.contains(folder));
        }
        if self.containers != other.containers {
            self.containers.retain(|name| other.containers.contains(name));
        }
        if self.stack != other.stack {
            self.stack.clear();
        }
        if self.home != other.home {
            self.home = UNKNOWN_SPAN.to_string();
        }
        if self.arguments != other.arguments {
            self.arguments = None;
        }
        self.privileged |= other.privileged;
        self.exports_functions |= other.exports_functions;
        if self.exported != other.exported {
            self.exported.retain(|name| other.exported.contains(name));
        }
        if self.readonly != other.readonly {
            self.readonly.extend(other.readonly.iter().cloned());
        }
        if self.plain != other.plain {
            self.plain.retain(|name, value| other.plain.get(name) == Some(value));
        }
        self.join_variables(other, both);
        self.join_functions(other);
        for (name, old) in other.aliases.iter() {
            if self.aliases.get(name) != Some(old) {
                self.aliases.insert(name.clone(), UNKNOWN_SPAN.to_string());
            }
        }
    }

    fn join_folders(&mut self, other: &Self, several: bool) {
        if self.cwd == other.cwd && self.elsewhere == other.elsewhere {
            return;
        }
        let known = |state: &Self| {
            let folders: Vec<String> = state.cwd.iter().chain(&state.elsewhere).cloned().collect();
            folders.iter().all(|folder| folder.starts_with('/')).then_some(folders).filter(|all| !all.is_empty())
        };
        let all = known(self).zip(known(other)).filter(|_| several);
        self.elsewhere.clear();
        self.cwd = all.and_then(|(mut all, more)| {
            more.into_iter().for_each(|folder| {
                if !all.contains(&folder) {
                    all.push(folder)
                }
            });
            let first = (all.len() <= FOLDERS).then(|| all.remove(0));
            self.elsewhere = if first.is_some() { all } else { Vec::new() };
            first
        });
    }

    fn join_variables(&mut self, other: &Self, both: impl Fn(&[String], &[String]) -> Option<String>) {
        if self.variables == other.variables {
            return;
        }
        for (name, old) in other.variables.iter() {
            let own = self.variables.get(name).map(Vec::as_slice);
            if own != Some(old.as_slice()) {
                let either = own.and_then(|own| both(own, old));
                self.variables.insert(name.clone(), vec![either.unwrap_or_else(|| UNKNOWN_SPAN.to_string())]);
            }
        }
        for (name, value) in self.variables.iter_mut() {
            if !other.variables.contains_key(name) && value.iter().any(|v| !v.contains(UNKNOWN_SPAN)) {
                *value = vec![UNKNOWN_SPAN.to_string()];
            }
        }
    }

    /// A function with two bodies has both.
    fn join_functions(&mut self, other: &Self) {
        if self.maybe_defined_functions != other.maybe_defined_functions {
            self.maybe_defined_functions.extend(other.maybe_defined_functions.iter().cloned());
        }
        if self.functions == other.functions {
            return;
        }
        let mut added = Vec::new();
        for (name, old) in other.functions.iter() {
            match self.functions.get(name) {
                Some(new) if new != old => {
                    let both = format!("{old}\n{new}");
                    self.functions.insert(name.clone(), both);
                }
                Some(_) => {}
                None => {
                    added.push(name.clone());
                    self.functions.insert(name.clone(), old.clone());
                }
            }
        }
        let mut missing: Vec<String> =
            self.functions.keys().filter(|name| !other.functions.contains_key(*name)).cloned().collect();
        missing.extend(added);
        self.maybe_defined_functions.extend(missing);
    }
}

/// Two possible values of a variable as one; `None` if they are too many, lists, or not known.
fn alternatives(own: &[String], other: &[String]) -> Option<String> {
    if own.len() > 1 || other.len() > 1 {
        return None;
    }
    let mut all: Vec<String> = Vec::new();
    for value in own.iter().chain(other).flat_map(|value| spread(value)) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    let known = all.iter().all(|value| !value.contains(UNKNOWN_SPAN));
    (known && all.len() <= VALUES).then(|| either(&all))
}
