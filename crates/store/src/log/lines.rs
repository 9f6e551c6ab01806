//! The lines of one queue: its rotated files, oldest first, then the file itself.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_wire::{Message, Stamp};

use super::cursor::QueueCursor;
use crate::error::{IoContext, StoreError};

/// A place between lines: which file, and how many of its lines are before.
pub(super) type Place = (usize, usize);

/// One queue's files with their content.
#[derive(Debug)]
pub(super) struct QueueFiles {
    files: Vec<LogFile>,
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    inode: u64,
    text: String,
    /// Where each complete line ends, newline included.
    ends: Vec<usize>,
}

/// A complete line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) path: &'a Path,
    pub(super) inode: u64,
    /// Counted from 1 in its file.
    pub(super) number: usize,
    pub(super) text: &'a str,
    /// The place before this line.
    pub(super) at: Place,
}

impl QueueFiles {
    pub(super) fn read(path: &Path) -> Result<Self, StoreError> {
        let mut files = Vec::new();
        for path in siblings(path)?.into_iter().chain([path.to_owned()]) {
            match fs::metadata(&path).and_then(|metadata| Ok((metadata, fs::read(&path)?))) {
                Ok((metadata, bytes)) => files.push(LogFile::new(path, &metadata, &bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).doing("read", &path),
            }
        }
        Ok(Self { files })
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.files.iter().enumerate().flat_map(|(index, file)| {
            (0..file.ends.len()).map(move |line| Line {
                path: &file.path,
                inode: file.inode,
                number: line + 1,
                text: file.line(line),
                at: (index, line),
            })
        })
    }

    /// The first place that is not read.
    ///
    /// In doubt a message is shown again rather than passed over: the cursor is a number of lines in a file that
    /// others may have rotated (`mv inbox inbox.<time>`) or rewritten (`tail … > tmp; mv`) since.
    pub(super) fn place(&self, cursor: Option<&QueueCursor>) -> Place {
        let Some(cursor) = cursor else { return (0, 0) };
        let current = self.files.len().saturating_sub(1);
        let Some(newest) = self.files.last() else { return (0, 0) };
        if let Some(mark) = &cursor.mark {
            // Our own note says which file the number is about, and what its last line was.
            if let Some(index) = self.files.iter().position(|file| file.inode == mark.inode) {
                let file = &self.files[index];
                let line = cursor.line.min(file.ends.len());
                if line == 0 || hash(file.line(line - 1)) == mark.last {
                    return (index, line);
                }
            }
            let find =
                |file: &LogFile| (0..file.ends.len()).rfind(|line| hash(file.line(*line)) == mark.last);
            if let Some((index, line)) =
                self.files.iter().enumerate().rev().find_map(|(index, file)| Some((index, find(file)?)))
            {
                return (index, line + 1);
            }
        } else if cursor.line <= newest.ends.len() {
            return (current, cursor.line);
        } else if let Some(index) = self.files.iter().rposition(|file| file.ends.len() >= cursor.line) {
            // The recipe's number is beyond the end: it is about the file that was rotated away.
            return (index, cursor.line);
        }
        match cursor.time {
            Some(time) => self.first_after(time).unwrap_or((current, newest.ends.len())),
            None => (current, 0),
        }
    }

    fn first_after(&self, time: Stamp) -> Option<Place> {
        self.lines()
            .find(|line| {
                Message::from_line(line.text)
                    .ok()
                    .and_then(|message| message.sent_at)
                    .is_some_and(|sent| sent >= time)
            })
            .map(|line| line.at)
    }

    /// Where the newest file begins.
    pub(super) fn newest(&self) -> usize {
        self.files.len().saturating_sub(1)
    }
}

impl LogFile {
    fn new(path: PathBuf, metadata: &Metadata, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).collect();
        Self { path, inode: metadata.ino(), text, ends }
    }

    fn line(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text[start..self.ends[index]].trim_end_matches(['\n', '\r'])
    }
}

/// What a line is recognised by.
pub(super) fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    // JSON numbers beyond 2^53 are changed by shells' tools.
    hasher.finish() >> 12
}

/// The rotated files of `path` (`<path>.<YYYYmmdd-HHMMSS>`), oldest first.
pub(super) fn siblings(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).doing("list", folder),
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let file = entry.file_name().to_string_lossy().into_owned();
            file.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.')).is_some_and(is_rotation_time)
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}

fn is_rotation_time(suffix: &str) -> bool {
    suffix.len() == 15
        && suffix
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 8 { byte == b'-' } else { byte.is_ascii_digit() })
}
