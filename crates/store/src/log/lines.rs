//! The lines of one queue: its rotated files, oldest first, then the file itself.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_wire::{Message, Stamp};

use super::cursor::QueueCursor;
use crate::error::{IoContext, StoreError};
use crate::files::Snapshot;

/// How often the files are read again when one was rotated meanwhile.
const TRIES: usize = 5;

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
    /// When its inode changed last, which a rename does too: for a rotated file, not before it was rotated.
    changed: (i64, i64),
    text: String,
    /// Not all of its bytes are text.
    is_lossy: bool,
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
    /// When its file was last written.
    pub(super) changed: Stamp,
    /// Where it ends in its file, newline included, in bytes of the text.
    pub(super) end: usize,
    /// Its bytes are not those of the text.
    pub(super) is_lossy: bool,
    /// The place before this line.
    pub(super) at: Place,
}

impl QueueFiles {
    pub(super) fn read(path: &Path) -> Result<Self, StoreError> {
        let mut rotated = siblings(path)?;
        for _ in 0..TRIES {
            let mut files = Vec::new();
            for path in rotated.iter().map(PathBuf::as_path).chain([path]) {
                files.extend(LogFile::read(path)?);
            }
            // A file that was rotated while we read would be missing, and its unread rest passed over.
            let again = siblings(path)?;
            if again == rotated {
                return Ok(Self { files });
            }
            rotated = again;
        }
        Err(StoreError::Unsettled { path: path.to_owned() })
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.files.iter().enumerate().flat_map(|(index, file)| {
            (0..file.ends.len()).map(move |line| Line {
                path: &file.path,
                inode: file.inode,
                number: line + 1,
                text: file.line(line),
                changed: Stamp::from_millis(
                    file.changed.0.saturating_mul(1000).saturating_add(file.changed.1 / 1_000_000),
                ),
                end: file.ends[line],
                is_lossy: file.is_lossy && file.line(line).contains(char::REPLACEMENT_CHARACTER),
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
        let Some(current) = self.files.len().checked_sub(1) else { return (0, 0) };
        if let Some(mark) = &cursor.mark {
            // Our own note says which file the number is about, and what its last line was. A new file may have got
            // the inode of an old one.
            let is_it = |file: &LogFile| {
                file.inode == mark.inode
                    && (1..=file.ends.len()).contains(&cursor.line)
                    && hash(file.line(cursor.line - 1)) == mark.last
            };
            if let Some(index) = self.files.iter().position(is_it) {
                return (index, cursor.line);
            }
            // Of several lines that are the same, the first.
            if let Some(line) = self.lines().find(|line| hash(line.text) == mark.last) {
                return (line.at.0, line.number);
            }
        } else if cursor.line == 0 && cursor.time.is_none() {
            // Nothing was ever read.
            return (0, 0);
        } else {
            // A recipe's number is about the file that was the newest when the number was noted.
            let rotated_since = self.files[..current].iter().position(|file| file.changed >= cursor.noted);
            let index = rotated_since.unwrap_or(current);
            if cursor.line <= self.files[index].ends.len() {
                return (index, cursor.line);
            }
            if let Some(index) = self.files.iter().rposition(|file| file.ends.len() >= cursor.line) {
                return (index, cursor.line);
            }
        }
        match cursor.time {
            // A sender's clock may be behind, so that nothing after that time does not mean that all was read.
            Some(time) => self.first_after(time).unwrap_or((current, 0)),
            None => (0, 0),
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

    /// The last line before a place.
    pub(super) fn before(&self, place: Place) -> Option<Line<'_>> {
        self.lines().take_while(|line| line.at < place).last()
    }

    /// Where the newest file begins.
    pub(super) fn newest(&self) -> usize {
        self.files.len().saturating_sub(1)
    }
}

impl LogFile {
    fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let seen = Snapshot::read(path)?;
        let (Some(bytes), Some(metadata)) = (seen.bytes(), seen.metadata()) else { return Ok(None) };
        let text = String::from_utf8_lossy(bytes);
        let is_lossy = matches!(text, std::borrow::Cow::Owned(_));
        let text = text.into_owned();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).collect();
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Ok(Some(Self { path: path.to_owned(), inode: metadata.ino(), changed, text, is_lossy, ends }))
    }

    fn line(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text[start..self.ends[index]].trim_end_matches(['\n', '\r'])
    }
}

/// What a line is recognised by, also after somebody wrote it anew with other spaces.
pub(super) fn hash(line: &str) -> u64 {
    match Message::from_line(line) {
        Ok(message) => fnv(&[&message.from, &message.timestamp, &message.text].map(String::as_bytes)),
        Err(_) => fnv(&[line.as_bytes()]),
    }
}

/// FNV-1a: it stands in a file, so it must be the same for ever, which the standard library's is not.
fn fnv(parts: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    // JSON numbers beyond 2^53 are changed by shells' tools.
    hash >> 12
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
