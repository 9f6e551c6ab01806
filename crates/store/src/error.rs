//! What can go wrong with the files, with the file and the cause.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// An error of the store. Nothing was changed, unless it is [`StoreError::Unsynced`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: Arc<io::Error>,
    },
    /// It is written, and a power cut could still undo it.
    #[error("{} is written, but a power cut could undo it: {source}", path.display())]
    Unsynced {
        /// The file that was written.
        path: PathBuf,
        /// Why it could not be synced.
        source: Box<StoreError>,
    },
    /// The process was told to stop before it had begun this.
    #[error("stopped before {} was written", path.display())]
    Interrupted {
        /// The file that was to be written, or the lock that was waited for.
        path: PathBuf,
    },
    /// A lock could not be had in time.
    #[error("{} is held by another program (waited {} ms)", lock.display(), waited.as_millis())]
    Busy {
        /// The lock's path.
        lock: PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// Something that is not a lock stands where the lock belongs, and it is not safe to move it away.
    #[error("{} is in the way of a lock: {why}", lock.display())]
    LockBlocked {
        /// The lock's path.
        lock: PathBuf,
        /// What is there.
        why: String,
    },
    /// The file changed every time we were about to replace it: somebody writes without any lock.
    #[error("{} is being rewritten without a lock, again and again", path.display())]
    Unsettled {
        /// The file.
        path: PathBuf,
    },
    /// The mail is not there any more: somebody has just brought it into the other layout.
    #[error("the mail of {} is in the other layout now", path.display())]
    Moved {
        /// Where it was.
        path: PathBuf,
    },
    /// The content is not what the file should hold.
    #[error("{}: {why}", path.display())]
    BadContent {
        /// The file.
        path: PathBuf,
        /// Place and reason.
        why: String,
    },
    /// The file's format is of a later generation than we know.
    #[error("{} is of version {version} of its format, which this atm can read and not write", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that it says.
        version: String,
    },
    /// A file or folder cannot be given to a group.
    #[error("{} cannot be given to the group {group}: you are not in it", path.display())]
    NotInGroup {
        /// The file or folder.
        path: PathBuf,
        /// The group.
        group: String,
    },
    /// A link in the place of a shared file, or of its folder, leads to what is not the user's to replace.
    #[error("{} leads to {}: {why}", link.display(), target.display())]
    LinkedAway {
        /// The file as it is named.
        link: PathBuf,
        /// Where it really is.
        target: PathBuf,
        /// Why it may not lead there.
        why: &'static str,
    },
    /// A backup that cannot be restored.
    #[error("{} cannot be restored: {why}", path.display())]
    BadBackup {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is a file or folder of that name already.
    #[error("{} exists already", path.display())]
    Exists {
        /// Which.
        path: PathBuf,
    },
    /// There is no such member in the team's `config.json`.
    #[error("{} has no member {name:?}", path.display())]
    NoMember {
        /// The team's file.
        path: PathBuf,
        /// The name that was asked for.
        name: String,
    },
}

impl StoreError {
    pub(crate) fn unsynced(path: &Path, source: Self) -> Self {
        Self::Unsynced { path: path.to_owned(), source: Box::new(source) }
    }

    pub(crate) fn bad(path: &Path, why: impl Into<String>) -> Self {
        Self::BadContent { path: path.to_owned(), why: why.into() }
    }
}

/// Says with which file an I/O error happened.
pub(crate) trait IoContext<T> {
    fn doing(self, action: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn doing(self, action: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io { action, path: path.to_owned(), source: Arc::new(source) })
    }
}

impl<T> IoContext<T> for rustix::io::Result<T> {
    fn doing(self, action: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(io::Error::from).doing(action, path)
    }
}
