//! The daemon's journal of itself: a line for each event, as JSON, without the text of any message. It stays small.

use std::path::{Path, PathBuf};

use atm_store::{State, bounded_log};
use atm_wire::Stamp;

/// When a journal is moved aside, in bytes; one is kept beside it.
const FULL: u64 = 1 << 20;

/// The journal of a state folder.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// Where it is, whether there is one or not.
    pub fn of(state: &State) -> Self {
        Self { path: state.daemon().join("journal.log") }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line.
    pub fn note(&self, at: Stamp, level: &str, what: &str) {
        let line = serde_json::json!({ "at": at, "level": level.to_lowercase(), "what": what });
        // Where it cannot be written, there is nobody to tell.
        let _ = bounded_log::note_within(&self.path, &line.to_string(), FULL);
    }

    /// The last lines, oldest first.
    pub fn last(&self, count: usize) -> Vec<String> {
        let mut lines = bounded_log::last_within(&self.path, count, FULL);
        if lines.len() < count {
            let mut old = self.path.clone().into_os_string();
            old.push(".old");
            let mut before = bounded_log::last_within(Path::new(&old), count - lines.len(), FULL);
            before.append(&mut lines);
            lines = before;
        }
        lines
    }
}
