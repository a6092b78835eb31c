//! Code of the project that a command runs.
//!
//! 1. [`programs`] are the project's own: console scripts, binaries of its packages and dependencies, aliases.
//! 2. [`scripts`] of `package.json`, [`make`] recipes and [`wrapper`] scripts of build tools are interpreted like any other
//!    script. [`workspace`] finds the members of a workspace.
//! 3. [`entry`]: scripts with which a framework starts. [`environments`]: what the action itself makes and installs,
//!    [`built`] the products of a build in the same action.
//! 4. [`loaded`]: files that a program runs as code, as its row lists them; recipes of task runners are read by [`tasks`].
//! 5. [`survey`] searches what a program may load in any language ([`index`], [`text`]) for what such code seldom names
//!    ([`suspect`]), and the settings and lock files of package managers for addresses that nobody has chosen ([`registries`]).

mod built;
mod entry;
mod environments;
mod index;
mod loaded;
pub(in crate::shell) mod make;
mod manifest;
mod programs;
mod registries;
mod scripts;
mod settings;
mod survey;
mod suspect;
mod tasks;
mod text;
mod workspace;
mod wrapper;

pub(super) use index::Index;
pub(super) use manifest::Manifest;
pub(super) use registries::is_requirements;
pub(super) use survey::{Searched, survey_text};
pub(super) use suspect::warm;
