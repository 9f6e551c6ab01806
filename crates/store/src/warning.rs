//! What a reader or writer should know, although the operation went on.

use std::path::PathBuf;

use atm_wire::counted;
use atm_wire::message::Flaw;

/// Something that a reader or writer should be told, while the operation went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// An entry is no message; its bytes stay where they are.
    SkippedEntry {
        /// The file.
        path: PathBuf,
        /// Which entry or line, counted from 1.
        position: usize,
        /// Why.
        flaw: Flaw,
    },
    /// A line has no time; it is shown with that of the line before it, or else of its file.
    NoTime {
        /// The file.
        path: PathBuf,
        /// Which line, counted from 1.
        position: usize,
    },
    /// The file did not parse; what could be read of it is shown, nothing was changed.
    Unparsable {
        /// The file.
        path: PathBuf,
        /// Place and reason.
        why: String,
    },
    /// The file did not parse: it was set aside, and what could be read was saved into a new one.
    SetAside {
        /// The file.
        path: PathBuf,
        /// Where the old bytes are now.
        kept: PathBuf,
        /// Place and reason.
        why: String,
        /// How many messages were saved.
        salvaged: usize,
    },
    /// It is written, and a power cut could still undo it.
    Unsynced {
        /// File and reason.
        why: String,
    },
    /// A part of the archive cannot be read; the rest of it is not concerned.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong there.
        why: String,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::SkippedEntry { path, position, flaw } => {
                write!(f, "{}: entry {position} {flaw}: skipped, left as it is", path.display())
            }
            Self::NoTime { path, position } => write!(
                f,
                "{}: line {position} has no `timestamp`: the time of the line before it is shown",
                path.display()
            ),
            Self::Unparsable { path, why } => {
                write!(f, "{}: {why}; showing what can be read, nothing was changed", path.display())
            }
            Self::SetAside { path, kept, why, salvaged } => write!(
                f,
                "{}: {why}; its bytes are kept in {}, {} carried over",
                path.display(),
                kept.display(),
                counted(*salvaged, "readable message")
            ),
            Self::Unsynced { why } => f.write_str(why),
            Self::Damaged { path, place, why } => write!(f, "{}: {place}: {why}", path.display()),
        }
    }
}
