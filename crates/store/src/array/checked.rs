//! The version of a large inbox that we wrote last is known to be an array: it need not be checked again.
//!
//! A note beside our queue says which file that was. Any other program that writes makes another file of it, or
//! another size or time; a file that is too young for its time to tell is checked. A note that is wrong in any way
//! only costs a check: the place it names is looked at before it is used.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::SystemTime;

use atm_wire::json::Outline;

use crate::disk;
use crate::files::{is_settled, write_note};

pub(super) struct Checked {
    note: PathBuf,
}

impl Checked {
    pub(super) fn new(note: PathBuf) -> Self {
        Self { note }
    }

    /// The outline of the file, if it is the one that we wrote.
    pub(super) fn outline(&self, file: &Metadata, opened_at: SystemTime) -> Option<Outline> {
        let note = disk::read_to_string(&self.note).ok()?;
        let (identity, end) = note.rsplit_once(' ')?;
        if identity != identify(file) || !is_settled(file, opened_at) {
            return None;
        }
        let end = end.parse().ok().filter(|end| *end < file.len())?;
        Some(Outline { last_end: Some(end), close: end })
    }

    /// Notes a version that is about to be put in place, and where its last element ends.
    pub(super) fn note(&self, file: &Metadata, end: u64) {
        write_note(&self.note, &format!("{} {end}", identify(file)));
    }
}

fn identify(file: &Metadata) -> String {
    format!("{} {} {} {} {}", file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec())
}
