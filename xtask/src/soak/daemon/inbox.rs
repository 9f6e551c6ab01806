//! What a client does with an inbox, under its lock: a folder beside the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

/// How long a lock may be in somebody's hands.
const PATIENCE: Duration = Duration::from_secs(20);

/// Changes the entries of an inbox; gives those that were there before.
pub(super) fn change(inbox: &Path, change: impl FnOnce(&[Value]) -> Vec<Value>) -> Result<Vec<Value>> {
    let lock = beside(inbox, ".lock");
    let begun = Instant::now();
    while let Err(error) = fs::create_dir(&lock) {
        if error.kind() != io::ErrorKind::AlreadyExists || begun.elapsed() > PATIENCE {
            bail!("cannot lock {}: {error}", lock.display());
        }
        thread::sleep(Duration::from_millis(3));
    }
    let changed = read(inbox).and_then(|before| {
        let temp = beside(inbox, &format!(".tmp.{}", std::process::id()));
        fs::write(&temp, serde_json::to_vec_pretty(&change(&before))?)?;
        fs::rename(&temp, inbox)?;
        Ok(before)
    });
    fs::remove_dir(&lock)?;
    changed
}

/// The entries of an inbox; none if there is no file.
pub(super) fn read(inbox: &Path) -> Result<Vec<Value>> {
    match fs::read(inbox) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// How many entries have these words.
pub(super) fn count(entries: &[Value], words: &str) -> usize {
    entries.iter().filter(|entry| entry["text"].as_str().is_some_and(|text| text.contains(words))).count()
}

fn beside(inbox: &Path, end: &str) -> PathBuf {
    let mut path = inbox.as_os_str().to_owned();
    path.push(end);
    path.into()
}
