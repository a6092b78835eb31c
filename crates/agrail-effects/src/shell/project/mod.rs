//! Code of the project that a command runs.
//!
//! 1. [`programs`] are the project's own: console scripts, binaries of its packages and dependencies, aliases.
//! 2. [`scripts`] of `package.json`, [`make`] recipes and [`wrapper`] scripts of build tools are interpreted like any other
//!    script. [`workspace`] finds the members of a workspace.

mod make;
mod programs;
mod scripts;
mod workspace;
mod wrapper;
