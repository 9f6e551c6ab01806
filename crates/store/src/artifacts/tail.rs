//! The end of a log, and what is added to it.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use super::{ArtifactFolder, LOG};
use crate::error::{IoContext, StoreError};

/// The most that is read of one file at a time: a log can be one endless line.
const MOST: u64 = 8 << 20;
/// How much of the end is looked at first.
const FIRST_LOOK: u64 = 64 << 10;

/// Reads a member's `output.log` from near its end on, wherever it goes.
#[derive(Debug)]
pub struct Tail {
    /// Which file was read, and up to where.
    seen: Option<((u64, u64), u64)>,
}

/// What was added to a log.
#[derive(Debug, Default)]
pub struct Added {
    /// The text.
    pub text: Vec<u8>,
    /// The log was replaced or cut: this is from its start.
    pub anew: bool,
}

impl Tail {
    /// The last `lines` lines, and where to go on from.
    pub fn begin(folder: &ArtifactFolder, lines: usize) -> Result<Option<(Vec<u8>, Self)>, StoreError> {
        let Some(mut file) = folder.log()? else { return Ok(None) };
        let path = folder.path().join(LOG);
        let metadata = file.metadata().doing("look at", &path)?;
        let end = metadata.len();
        let mut look = FIRST_LOOK;
        let text = loop {
            let start = end.saturating_sub(look);
            let text = read(&mut file, start, end).doing("read", &path)?;
            match from_last_lines(&text, lines) {
                Some(at) => break text[at..].to_vec(),
                None if start == 0 || look >= MOST => break text,
                None => look = look.saturating_mul(4).min(MOST),
            }
        };
        Ok(Some((text, Self { seen: Some((identity(&metadata), end)) })))
    }

    /// Starts before a log that is not there yet.
    pub fn before() -> Self {
        Self { seen: None }
    }

    /// What was added since.
    pub fn more(&mut self, folder: &ArtifactFolder) -> Result<Added, StoreError> {
        let Some(mut file) = folder.log()? else { return Ok(Added::default()) };
        let path = folder.path().join(LOG);
        let metadata = file.metadata().doing("look at", &path)?;
        let (start, anew) = match self.seen {
            Some((seen, at)) if seen == identity(&metadata) && at <= metadata.len() => (at, false),
            seen => (0, seen.is_some()),
        };
        let end = metadata.len().min(start + MOST);
        let text = read(&mut file, start, end).doing("read", &path)?;
        self.seen = Some((identity(&metadata), start + text.len() as u64));
        Ok(Added { text, anew })
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn read(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut text)?;
    Ok(text)
}

/// Where the last `lines` lines begin; `None` if the text has no more than that, so that the first may be cut.
fn from_last_lines(text: &[u8], lines: usize) -> Option<usize> {
    if lines == 0 {
        return Some(text.len());
    }
    // The newline at the very end ends the last line, it does not begin another.
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    memchr::memrchr_iter(b'\n', body).nth(lines - 1).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_found() {
        let last = |text: &'static str, lines| from_last_lines(text.as_bytes(), lines).map(|at| &text[at..]);
        assert_eq!(last("a\nb\nc\n", 2), Some("b\nc\n"));
        assert_eq!(last("a\nb\nc", 2), Some("b\nc"));
        assert_eq!(last("a\nb\n\n", 2), Some("b\n\n"));
        assert_eq!(last("a\nb\n", 2), None);
        assert_eq!(last("a\nb\n", 0), Some(""));
        assert_eq!(last("", 3), None);
    }
}
