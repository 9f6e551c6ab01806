//! Where the bridge keeps its own files, below the state folder.

use std::path::{Path, PathBuf};

/// The bridge's files.
#[derive(Debug, Clone)]
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Those below this state folder.
    pub fn of(state: &Path) -> Self {
        Self { folder: state.join("bridge") }
    }

    /// This machine's key.
    pub fn key(&self) -> PathBuf {
        self.folder.join("key")
    }

    /// The machines that are trusted.
    pub fn trust(&self) -> PathBuf {
        self.folder.join("trust.json")
    }

    /// What is remembered across restarts.
    pub fn memory(&self) -> PathBuf {
        self.folder.join("memory.json")
    }

    /// When this machine last spoke, to the minute.
    pub fn last_word(&self) -> PathBuf {
        self.folder.join("last-word")
    }

    /// The dead letters that people asked for again.
    pub fn wanted(&self) -> PathBuf {
        self.folder.join("wanted")
    }

    /// What is remembered of tasks across restarts.
    pub fn tasks(&self) -> PathBuf {
        self.folder.join("tasks.json")
    }

    /// What of that has changed since that file was written.
    pub fn task_journal(&self) -> PathBuf {
        self.folder.join("tasks.journal")
    }

    /// How the realm was kept on the server when it was last seen.
    pub fn limits(&self) -> PathBuf {
        self.folder.join("limits.json")
    }

    /// What the running bridge says of itself.
    pub fn status(&self) -> PathBuf {
        self.folder.join("status.json")
    }
}
