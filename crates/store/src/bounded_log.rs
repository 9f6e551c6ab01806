//! A small log of our own that never grows beyond a bound.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use atm_wire::visible;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::read_small;
use crate::paths::{create_private_folders, with_suffix};

/// When a log is moved aside, in bytes; the one before it goes.
const FULL: u64 = 64 * 1024;
/// How much of one line is kept, in characters.
pub const LINE: usize = 1000;

/// Adds a line. What it says may be from elsewhere: it stays one line, and nothing hides in it.
pub fn note(path: &Path, line: &str) -> Result<(), StoreError> {
    note_within(path, line, FULL)
}

/// The same in a log that may become larger.
pub fn note_within(path: &Path, line: &str, full: u64) -> Result<(), StoreError> {
    if let Some(folder) = path.parent() {
        create_private_folders(folder)?;
    }
    if fs::metadata(path).is_ok_and(|found| found.len() > full) {
        disk::rename(path, with_suffix(path, ".old")).doing("move aside", path)?;
    }
    let text = one_line(line) + "\n";
    let mut options = OpenOptions::new();
    let file = disk::open(options.append(true).create(true).mode(0o600), path).doing("open", path)?;
    disk::write_all(&file, text.as_bytes()).doing("write", path)
}

/// Whether a line of the log says this.
pub fn has(path: &Path, words: &str) -> bool {
    let words = one_line(words);
    let text = read(path, FULL);
    // A line begins with its time, and may have been cut.
    let start: String = words.chars().take(LINE / 2).collect();
    text.contains(&start)
}

/// The last lines of the log, oldest first.
pub fn last(path: &Path, count: usize) -> Vec<String> {
    last_within(path, count, FULL)
}

/// The same of a log that may become larger.
pub fn last_within(path: &Path, count: usize, full: u64) -> Vec<String> {
    let text = read(path, full);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].iter().map(ToString::to_string).collect()
}

/// All of it: a line may be added to one that is full by a byte.
fn read(path: &Path, full: u64) -> String {
    let bytes = read_small(path, 2 * full).ok().flatten().map(|file| file.bytes).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn one_line(text: &str) -> String {
    let text: String = text.chars().take(LINE).map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible::line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_small_and_a_line_stays_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("state/hook.log");
        note(&log, "one\nforged\u{1b}[31m\u{202e}").unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "one forged [31m\\u{202e}\n");
        assert!(has(&log, "one\nforged") && !has(&log, "two"));
        note(&log, "two").unwrap();
        assert_eq!(last(&log, 1), ["two"]);
        assert_eq!(last(&log, 9).len(), 2);
        for _ in 0..200 {
            note(&log, &"é".repeat(5000)).unwrap();
        }
        let size = |path: &Path| fs::metadata(path).unwrap().len();
        assert!(size(&log) < 2 * FULL && size(&with_suffix(&log, ".old")) < 2 * FULL);
        assert_eq!(fs::read_dir(folder.path().join("state")).unwrap().count(), 2);
    }
}
