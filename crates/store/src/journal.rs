//! What mending changed: each file as it was, durably, before it is touched, so that it can be put back.
//!
//! `journal/<id>/entry.json` says what was done, to which files, and what they were and became; beside it are the bytes
//! that they held, `0.before`, `1.before` and so on. An entry is complete before the change that it is about: after a
//! crash the file is either what it was or what the entry says it became.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Staged, sync_folder, write_new};
use crate::paths::create_private_folders;

const ENTRY: &str = "entry.json";

/// The journal's folder.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
}

/// One mending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name, which is also its folder's.
    pub id: String,
    /// When it was begun.
    pub at: Stamp,
    /// What was mended, as a code.
    pub code: String,
    /// And in words.
    pub what: String,
    /// Whether it came to its end. One that did not was cut short by a crash, and can be undone all the same.
    pub done: bool,
    /// When it was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<Stamp>,
    /// The entry that this one undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_of: Option<String>,
    /// What was changed, in order.
    pub changes: Vec<Change>,
}

/// One file of a mending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which.
    pub path: PathBuf,
    /// The locks that belong to it.
    pub locks: Locks,
    /// What was there.
    pub before: Version,
    /// What it became.
    pub after: Version,
}

/// Who else writes a file, and so which locks protect it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locks {
    /// An array inbox: `flock` on `.lock` beside it, and the clients' directory.
    Inbox,
    /// `config.json` or a task: the clients' directory.
    Directory,
    /// A log: `flock` on `<file>.lock`.
    Log,
    /// Nobody locks it: only our own queue.
    Queue,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Version {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// What tells its bytes from others.
        digest: String,
        /// Its mode.
        mode: u32,
        /// When it was last written, in nanoseconds since 1970.
        modified: i64,
        /// Where its bytes are kept, beside the entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// An empty folder.
    Folder {
        /// Its mode.
        mode: u32,
        /// When it was last written, in nanoseconds since 1970.
        modified: i64,
    },
    /// A part of a file whose rest is not concerned.
    Span {
        /// Where it begins.
        at: u64,
        /// What tells its bytes from others.
        digest: String,
        /// Where its bytes are kept, beside the entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// Only the mode is concerned.
    Mode {
        /// The mode.
        mode: u32,
    },
}

impl Version {
    /// A file of these bytes.
    pub(crate) fn file(bytes: &[u8], found: Option<&Metadata>, kept: Option<String>) -> Self {
        let mode = found.map_or(0o600, |found| found.mode() & 0o7777);
        let modified = found.map_or(0, modified);
        Self::File { digest: digest(bytes), mode, modified, kept }
    }

    /// Where the bytes are kept, if they are.
    pub(crate) fn kept(&self) -> Option<&str> {
        match self {
            Self::File { kept, .. } | Self::Span { kept, .. } => kept.as_deref(),
            Self::Absent | Self::Folder { .. } | Self::Mode { .. } => None,
        }
    }
}

/// What tells bytes from others.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, bytes).to_string()
}

/// When something was last written, in nanoseconds since 1970.
pub(crate) fn modified(found: &Metadata) -> i64 {
    found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec())
}

impl Journal {
    /// The journal at `folder`, which is made when something has to go there.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// All entries that can be read, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let mut entries: Vec<Entry> =
            names.filter_map(|name| self.read(&name.file_name().to_string_lossy())).collect();
        entries.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        entries
    }

    fn read(&self, id: &str) -> Option<Entry> {
        let text = disk::read_to_string(self.folder.join(id).join(ENTRY)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// A new entry without changes, which is not on disk yet.
    pub(crate) fn begin(&self, code: &str, what: &str, now: Stamp) -> Result<Entry, StoreError> {
        create_private_folders(&self.folder)?;
        let name = now.file_name();
        let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
        for id in names {
            match disk::create_dir(0o700, self.folder.join(&id)) {
                Ok(()) => {
                    sync_folder(&self.folder)?;
                    let (code, what) = (code.to_owned(), what.to_owned());
                    let (undone_at, undo_of) = (None, None);
                    return Ok(Entry {
                        id,
                        at: now,
                        code,
                        what,
                        done: false,
                        undone_at,
                        undo_of,
                        changes: Vec::new(),
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).doing("create", &self.folder.join(&id)),
            }
        }
        unreachable!("there is always a next number")
    }

    /// Keeps the bytes that a change is about to take away, durably; says under which name.
    pub(crate) fn keep(&self, entry: &Entry, number: usize, bytes: &[u8]) -> Result<String, StoreError> {
        let name = format!("{number}.before");
        let path = self.folder.join(&entry.id).join(&name);
        // A look that was not the last one may have left another version.
        let _ = disk::remove_file(&path);
        write_new(&path, bytes)?;
        Ok(name)
    }

    /// The bytes that were kept.
    pub(crate) fn kept(&self, entry: &Entry, name: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.folder.join(&entry.id).join(name);
        // The name is from a file: it must not lead anywhere else.
        if Path::new(name).components().count() != 1 || !name.ends_with(".before") {
            return Err(StoreError::bad(&path, "is not a name of the journal's"));
        }
        disk::read(&path).doing("read", &path)
    }

    /// Writes the entry, durably.
    pub(crate) fn write(&self, entry: &Entry) -> Result<(), StoreError> {
        let folder = self.folder.join(&entry.id);
        let path = folder.join(ENTRY);
        let text =
            serde_json::to_string_pretty(entry).map_err(|error| StoreError::bad(&path, error.to_string()))?;
        Staged::write_beside(&path, None, &[text])?.commit()?;
        sync_folder(&folder)
    }

    /// Takes an entry back under which nothing was changed.
    pub(crate) fn forget(&self, entry: &Entry) {
        let _ = disk::remove_dir_all(self.folder.join(&entry.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_their_order_and_junk_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path().join("journal"));
        assert!(journal.entries().is_empty());
        let now = Stamp::from_millis(1_794_768_140_463);
        for what in ["one", "two"] {
            let mut entry = journal.begin("ATM-D001", what, now).unwrap();
            let kept = journal.keep(&entry, 0, b"bytes").unwrap();
            let before = Version::file(b"bytes", None, Some(kept));
            entry.changes.push(Change {
                path: "/x".into(),
                locks: Locks::Inbox,
                before,
                after: Version::Absent,
            });
            journal.write(&entry).unwrap();
        }
        fs::create_dir(folder.path().join("journal/junk")).unwrap();
        let entries = journal.entries();
        assert_eq!(entries.iter().map(|entry| entry.what.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(journal.kept(&entries[0], "0.before").unwrap(), b"bytes");
        assert!(journal.kept(&entries[0], "../../x.before").is_err(), "a name leads nowhere else");
    }
}
