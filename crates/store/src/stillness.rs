//! A note that nothing waited to be written while the ledger's files looked as they did.
//!
//! A process that was killed leaves accepted mail in the ledger, and the next process that looks at mail writes it. Opening the
//! ledger for that costs more than the rest of a hook, so the answer "nothing waits" is remembered with what the files
//! looked like: as long as they look the same, it is still true. It is no promise: if the note is lost, the ledger is
//! asked once more, so it is not synced; and one that is there in part is like no signature, so it is written in place.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::files::{is_settled, write_note};
use crate::paths::State;

/// That note.
#[derive(Debug)]
pub struct Stillness {
    path: PathBuf,
    /// The database and its write-ahead log: every commit changes one of them.
    files: [PathBuf; 2],
}

impl Stillness {
    /// The note on the ledger of `state`.
    pub fn of(state: &State) -> Self {
        let ledger = state.ledger();
        let mut log = ledger.clone().into_os_string();
        log.push("-wal");
        Self { path: state.still(), files: [ledger, log.into()] }
    }

    /// What the ledger's files look like; `None` while they are so young that their next change might not show.
    pub fn signature(&self) -> Option<String> {
        let now = SystemTime::now();
        let mut signature = String::new();
        for file in &self.files {
            match fs::metadata(file) {
                Ok(found) if !is_settled(&found, now) => return None,
                Ok(found) => {
                    let (inode, size) = (found.ino(), found.len());
                    let _ = write!(signature, "{inode}:{size}:{}.{} ", found.mtime(), found.mtime_nsec());
                }
                Err(_) => signature.push_str("- "),
            }
        }
        Some(signature)
    }

    /// Whether nothing waited when the files looked like this.
    pub fn is_noted(&self, signature: &str) -> bool {
        crate::disk::read(&self.path).is_ok_and(|noted| noted == signature.as_bytes())
    }

    /// Remembers that nothing waited when the files looked like this.
    pub fn note(&self, signature: &str) {
        write_note(&self.path, signature);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_holds_until_a_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().to_owned());
        let still = Stillness::of(&state);
        let write = |name: &str, text: &str, age: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            (&file).write_all(text.as_bytes()).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        write("log.db", "a", 5);
        let before = still.signature().unwrap();
        assert!(!still.is_noted(&before));
        still.note(&before);
        assert!(still.is_noted(&before));
        write("log.db-wal", "b", 0);
        assert_eq!(still.signature(), None, "its next change might not show");
        write("log.db-wal", "b", 3);
        let after = still.signature().unwrap();
        assert!(!still.is_noted(&after));
        write("log.db-wal", "c", 2);
        assert_ne!(still.signature(), Some(after));
    }
}
