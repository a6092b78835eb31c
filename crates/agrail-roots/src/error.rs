//! Errors of disposable roots.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a disposable root cannot be made, or a set-up did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The kernel cannot mount an overlay.
    #[error("this kernel has no overlayfs, which disposable roots need")]
    NoOverlay,
    /// This process is root, but lacks capabilities.
    #[error("disposable roots need {0}, which this root user lacks (a container started without --privileged?)")]
    Capabilities(String),
    /// This process is not root.
    // a user namespace does not help an unprivileged caller
    #[error(
        "disposable roots need root privileges: run this with sudo. A user namespace is no substitute: the files of the \
         overlay's lower layer belong to host ids that an unprivileged user cannot map, so set-ups could not change them \
         and the guard would see wrong owners"
    )]
    NotRoot,
    /// No name is left for the directory of this run.
    #[error("this process has too many run directories in {}", .0.display())]
    TooManyRuns(PathBuf),
    /// `/proc` does not show this process.
    #[error("/proc has no entry for this process")]
    NoProcess,
    /// The system refused a step.
    #[error("{what}")]
    System {
        /// The step, as "cannot ...".
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The holder did not start as the first process and thread of a namespace.
    #[error("the holder of a root must be {0}")]
    Holder(&'static str),
    /// Every user or group id is taken.
    #[error("no free user or group id")]
    NoFreeId,
    /// The holder reported a failure.
    #[error("{0}")]
    Reported(String),
    /// The holder did not start.
    #[error("the holder of a root did not start")]
    NotStarted,
    /// The holder ended before it had reported.
    #[error("the holder of the root ended early")]
    EndedEarly,
    /// The holder needs too long.
    #[error("making the root took more than {} s", .0.as_secs())]
    Slow(Duration),
    /// The set-up exceeded its time limit.
    #[error("the set-up ran past {} s and was stopped", .0.as_secs_f32())]
    SlowSetup(Duration),
    /// The root is the host's, which must not be used as a disposable root.
    #[error("the disposable root is the host's own root")]
    Host,
    /// The shared root is gone.
    #[error("the shared root has ended")]
    SharedEnded,
    /// The first root of a run cannot be made.
    #[error("cannot make a disposable root on this machine")]
    Prepare(#[source] Box<Self>),
    /// The root of a case cannot be made.
    #[error("root of case {id}")]
    Case {
        /// The id of the case.
        id: String,
        /// The cause.
        source: Box<Self>,
    },
}

/// Converts an error of the system in the step `what`.
pub(super) fn failed<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> RootError {
    move |source| RootError::System { what: what.into(), source: source.into() }
}

/// An error and its causes in one line, for a record that outlives the error.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
