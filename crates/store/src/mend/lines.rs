//! Taking lines out of a log: each is written over with spaces, in place, so that nothing that is appended meanwhile is
//! lost and no number shifts that cursors count by.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::path::Path;

use super::Mending;
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::journal::{Change, Locks, Version, digest};
use crate::lock::flock::Flock;
use crate::paths::with_suffix;

impl Mending {
    /// Blanks the complete lines that `is_bad`; gives their bytes.
    pub fn blank_lines(
        &mut self,
        path: &Path,
        is_bad: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let deadline = self.times.deadline();
        let target = self.state.bounds().resolve(path)?;
        let _flock = Flock::take(&with_suffix(path, ".lock"), &deadline)?;
        let bytes = disk::read(path).doing("read", path)?;
        let (mut at, mut found) = (0, Vec::new());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if let Some(text) = line.strip_suffix(b"\n").filter(|text| is_bad(text)) {
                found.push((at, text.to_vec()));
            }
            at += line.len() as u64;
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        for (at, text) in &found {
            let number = self.entry.changes.len();
            let kept = self.journal.keep(&self.entry, number, text)?;
            self.entry.changes.push(Change {
                path: path.to_owned(),
                locks: Locks::Log,
                before: Version::Span { at: *at, digest: digest(text), kept: Some(kept) },
                after: Version::Span { at: *at, digest: digest(&vec![b' '; text.len()]), kept: None },
            });
        }
        self.journal.write(&self.entry)?;
        let file = disk::open(OpenOptions::new().write(true), &target).doing("open", path)?;
        for (at, text) in &found {
            disk::write_all_at(&file, &vec![b' '; text.len()], *at).doing("write to", path)?;
        }
        disk::sync_data(&file).doing("sync", path)?;
        Ok(found.into_iter().map(|(_, text)| text).collect())
    }

    /// Adds the complete lines of `lines` behind the last one, but for those that stand there. Undoing it blanks them.
    pub fn append_lines(&mut self, path: &Path, lines: &[u8]) -> Result<(), StoreError> {
        let deadline = self.times.deadline();
        let target = self.state.bounds().resolve(path)?;
        let _flock = Flock::take(&with_suffix(path, ".lock"), &deadline)?;
        let there = disk::read(path).doing("read", path)?;
        let known: HashSet<&[u8]> = there.split(|byte| *byte == b'\n').collect();
        let mut added =
            if there.last().is_some_and(|byte| *byte != b'\n') { vec![b'\n'] } else { Vec::new() };
        let complete =
            lines.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        for line in complete.filter(|line| !line.trim_ascii().is_empty() && !known.contains(line)) {
            let at = (there.len() + added.len()) as u64;
            let blank = vec![b' '; line.len()];
            let kept = self.journal.keep(&self.entry, self.entry.changes.len(), &blank)?;
            self.entry.changes.push(Change {
                path: path.to_owned(),
                locks: Locks::Log,
                before: Version::Span { at, digest: digest(&blank), kept: Some(kept) },
                after: Version::Span { at, digest: digest(line), kept: None },
            });
            added.extend_from_slice(line);
            added.push(b'\n');
        }
        self.journal.write(&self.entry)?;
        let file = disk::open(OpenOptions::new().append(true), &target).doing("open", path)?;
        disk::write_all(&file, &added).and_then(|()| disk::sync_data(&file)).doing("write to", path)
    }
}
