//! What can go wrong with a daemon.

use std::io;
use std::path::PathBuf;

use atm_office::OfficeError;
use atm_store::StoreError;

/// Why there is no daemon, or no answer from one.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// There is one.
    #[error("a daemon runs already (process {pid})")]
    Runs {
        /// Its process.
        pid: u32,
    },
    /// There is one, and it watches another tree.
    #[error("a daemon runs already (process {pid}) and watches {}, not {}", watches.display(), wanted.display())]
    OtherRoot {
        /// Its process.
        pid: u32,
        /// The root that it was started with.
        watches: PathBuf,
        /// The root that was asked for.
        wanted: PathBuf,
    },
    /// There is none.
    #[error("no daemon runs")]
    NotRunning,
    /// One holds the lock and does not answer.
    #[error("the daemon (process {pid}) does not answer: it is suspended, or busy with one thing for long")]
    Silent {
        /// Its process; 0 if it could not be told.
        pid: u32,
    },
    /// It answers that it cannot.
    #[error("the daemon says: {0}")]
    Refused(String),
    /// It says something that we do not understand.
    #[error("the daemon's answer cannot be read: {0}")]
    Unreadable(String),
    /// It ended before it served.
    #[error("the daemon ended at its start: {0}")]
    DidNotStart(String),
    /// A file of ours could not be read or written.
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        cause: io::Error,
    },
    /// Files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Mail.
    #[error(transparent)]
    Office(#[from] OfficeError),
}

/// Names what was tried.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: impl Into<PathBuf>) -> Result<T, DaemonError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: impl Into<PathBuf>) -> Result<T, DaemonError> {
        self.map_err(|cause| DaemonError::Io { doing, path: path.into(), cause })
    }
}
