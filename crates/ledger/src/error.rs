//! Why the ledger could not answer.

use std::path::PathBuf;

impl LedgerError {
    /// Whether another program kept the database to itself for too long. Nothing was changed then.
    pub fn is_busy(&self) -> bool {
        let Self::Database { source, .. } = self else { return false };
        source.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
    }

    /// Whether the file is no database, or a broken one: then nothing but a new one helps.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Database { source, .. } if is_damage(source))
    }

    /// Whether the file cannot be made, or not be written.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
        let Self::Database { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
    }
}

/// Whether an error shows that a file is no database, or a broken one.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

/// An error of the ledger. Mail does not depend on it: the office goes on and says so.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The database could not be opened, read or written.
    #[error("the ledger {} cannot be used: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why not.
        source: rusqlite::Error,
    },
    /// The folder could not be made.
    #[error("cannot make the ledger's folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// What was committed could not be synced: a power cut could undo it.
    #[error("cannot sync the ledger {}: {source}", path.display())]
    NotDurable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It was written by a newer `atm`, whose ways we do not know.
    #[error("the ledger {} is of version {found}; this atm knows {known} and leaves it alone", path.display())]
    TooNew {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
}
