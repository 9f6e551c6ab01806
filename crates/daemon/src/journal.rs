//! The daemon's journal of itself: a line for each event, as JSON, without the text of any message. It stays small.

use std::path::{Path, PathBuf};

use atm_store::{State, bounded_log};
use atm_wire::{Stamp, visible};

/// When a journal is moved aside, in bytes; one is kept beside it.
const FULL: u64 = 1 << 20;

/// How much is written of what happened, in characters.
const LONGEST: usize = 900;

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

    /// The one before it.
    pub fn old(&self) -> PathBuf {
        let mut old = self.path.clone().into_os_string();
        old.push(".old");
        old.into()
    }

    /// Adds a line. One that is too long for the log is cut here, where it can still be read afterwards.
    pub fn note(&self, at: Stamp, level: &str, what: &str) {
        // Its folder comes with the lock. Where somebody removed it, none is made.
        if !self.path.parent().is_some_and(Path::is_dir) {
            return;
        }
        let what = visible::line(what);
        let line = |length: usize| {
            let what: String = what.chars().take(length).collect();
            serde_json::json!({ "at": at, "level": level.to_lowercase(), "what": what }).to_string()
        };
        // Characters that JSON escapes are longer there.
        let lengths = [LONGEST, LONGEST / 2, LONGEST / 6];
        let line = lengths.into_iter().map(line).find(|line| line.chars().count() <= bounded_log::LINE);
        let line = line.unwrap_or_default();
        // Where it cannot be written, there is nobody to tell.
        let _ = bounded_log::note_within(&self.path, &line, FULL);
    }

    /// The last lines, oldest first.
    pub fn last(&self, count: usize) -> Vec<String> {
        let mut lines = bounded_log::last_within(&self.path, count, FULL);
        if lines.len() < count {
            let mut before = bounded_log::last_within(&self.old(), count - lines.len(), FULL);
            before.append(&mut lines);
            lines = before;
        }
        lines
    }
}
