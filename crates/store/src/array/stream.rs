//! Appending to a large inbox: it is copied in pieces, checked on the way by a second thread, read once and written
//! once, and never in memory as a whole.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::SystemTime;

use atm_wire::Draft;
use atm_wire::json::{self, ArrayCheck, Outline};
use memchr::memmem;

use super::checked::Checked;
use crate::commit::{Desk, Prepared};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Snapshot, Staged, open};
use crate::witness::Witnesses;

/// Smaller files are cheaper to handle in memory.
const LARGE: u64 = 1 << 20;
const PIECE: usize = 1 << 17;
/// Pieces that may wait for the checking thread.
const AHEAD: usize = 3;
/// How much of the start is kept to see how the file is laid out, and what stands there first.
const HEAD: usize = 1 << 15;
/// How much of the end is looked at to see what stands there last.
const TAIL: u64 = 1 << 15;
/// More behind the last element than this is not how anybody writes an inbox.
const LONGEST_TAIL: u64 = 1 << 12;

/// Prepares the append, or `None` if this is not a plain case: then the way through memory has to see to it.
/// `value` makes what the commit gives of what stands before the drafts.
pub(super) fn prepare<T>(
    desk: &Desk,
    drafts: &[Draft],
    value: impl FnOnce(Option<Witnesses>) -> T,
) -> Result<Option<Prepared<T>>, StoreError> {
    let opened_at = SystemTime::now();
    let Some((source, metadata)) = open(desk.target)? else { return Ok(None) };
    if metadata.len() < LARGE {
        return Ok(None);
    }
    let (staged, mut copy) = Staged::begin(desk.temp(), desk.target, Some(&metadata))?;
    let ids: Vec<&str> = drafts.iter().map(|draft| draft.id.as_str()).collect();
    if ids.iter().collect::<HashSet<_>>().len() < ids.len() {
        return Ok(None);
    }
    let checked = Checked::new(desk.note_about(".checked"));
    let known = checked.outline(&metadata, opened_at);
    let mut ends =
        Ends { source: &source, source_path: desk.target, copy: &mut copy, copy_path: staged.temp() };
    let copied = match known {
        Some(outline) => ends.copy_known(&ids)?.map(|(head, copied)| (outline, head, copied)),
        None => ends.copy_checked(&ids)?,
    };
    let Some((outline, head, copied)) = copied else { return Ok(None) };
    let (Some(end), Some(added)) = (outline.last_end, addition(&head, drafts)) else { return Ok(None) };
    let length = metadata.len();
    if copied != length || outline.close >= length || length - end > LONGEST_TAIL {
        return Ok(None);
    }
    // What stands behind the last element moves behind the new one.
    let start = end.saturating_sub(TAIL);
    let mut tail = vec![0; usize::try_from(length - start).unwrap_or_default()];
    match source.read_exact_at(&mut tail, start) {
        // Somebody rewrites it in place at this moment: the other way waits for that.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read.doing("read", desk.target)?,
    }
    let (last, rest) = tail.split_at(usize::try_from(end - start).unwrap_or_default());
    if rest.trim_ascii() != b"]" {
        return Ok(None);
    }
    let value = value(Witnesses::at_the_ends(&head, last));
    let written = copy
        .seek(SeekFrom::Start(end))
        .and_then(|_| disk::write_all(&copy, added.as_bytes()))
        .and_then(|()| disk::write_all(&copy, rest))
        .and_then(|()| disk::sync_all(&copy));
    written.doing("write", staged.temp())?;
    let gap = added.len() as u64;
    checked.note(&copy.metadata().doing("look at", staged.temp())?, end + gap);
    let seen = Snapshot::copied(desk.target, (source, metadata), opened_at, copy, end, gap)?;
    let ids = ids.into_iter().map(ToOwned::to_owned).collect();
    Ok(Some(Prepared { staged, seen, value, ids }))
}

fn addition(head: &[u8], drafts: &[Draft]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let array = head.trim_start();
    let model = array.get(1..)?.trim_start();
    let new: Vec<_> = drafts.iter().map(Draft::entry).collect();
    model.starts_with('{').then(|| json::addition(array, model, &new).ok()).flatten()
}

/// From where to where is copied.
struct Ends<'a> {
    source: &'a File,
    source_path: &'a Path,
    copy: &'a mut File,
    copy_path: &'a Path,
}

impl Ends<'_> {
    /// Copies a file that is known to be an array. `None` if it has one of the ids in it.
    fn copy_known(&mut self, ids: &[&str]) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        let mut search = Search::new(ids);
        let (mut head, mut copied, mut found) = (Vec::new(), 0, false);
        let mut piece = Vec::with_capacity(PIECE);
        while self.copy_piece(&mut piece, &mut head, &mut copied)? {
            found |= search.finds_in(&piece);
        }
        Ok((!found).then_some((head, copied)))
    }

    /// Copies the whole file and syncs it, while a second thread checks it, or this one where the system has no other.
    /// `None` if it is no array, or has one of the ids in it.
    fn copy_checked(&mut self, ids: &[&str]) -> Result<Option<(Outline, Vec<u8>, u64)>, StoreError> {
        let (mut head, mut copied) = (Vec::new(), 0);
        let (mut search, mut found) = (Search::new(ids), false);
        let outline = thread::scope(|scope| -> Result<Option<Outline>, StoreError> {
            let (to_check, pieces) = mpsc::sync_channel::<Vec<u8>>(AHEAD);
            let (give_back, returned) = mpsc::channel();
            let begun = thread::Builder::new().spawn_scoped(scope, move || check(&pieces, &give_back));
            let mut check_here = begun.is_err().then(ArrayCheck::default);
            let mut spare = None;
            loop {
                let mut piece: Vec<u8> = spare
                    .take()
                    .or_else(|| returned.try_recv().ok())
                    .unwrap_or_else(|| Vec::with_capacity(PIECE));
                if !self.copy_piece(&mut piece, &mut head, &mut copied)? {
                    break;
                }
                // Here: the other thread has more to do.
                found |= search.finds_in(&piece);
                if let Some(check) = &mut check_here {
                    check.feed(&piece);
                    spare = Some(piece);
                } else if to_check.send(piece).is_err() {
                    break;
                }
            }
            drop(to_check);
            // The disk works while the other thread still checks; the end, which changes, is synced again later.
            disk::sync_data(self.copy).doing("sync", self.copy_path)?;
            let joined = begun.ok().and_then(|checking| checking.join().unwrap_or(None));
            Ok(check_here.map_or(joined, ArrayCheck::finish))
        })?;
        Ok(outline.filter(|_| !found).map(|outline| (outline, head, copied)))
    }

    /// Copies the next piece; says whether there was one.
    fn copy_piece(
        &mut self,
        piece: &mut Vec<u8>,
        head: &mut Vec<u8>,
        copied: &mut u64,
    ) -> Result<bool, StoreError> {
        piece.clear();
        let read = disk::read_to_end(self.source.take(PIECE as u64), self.source_path, piece)
            .doing("read", self.source_path)?;
        disk::write_all(self.copy, piece).doing("write", self.copy_path)?;
        *copied += read as u64;
        if head.is_empty() {
            head.extend_from_slice(&piece[..piece.len().min(HEAD)]);
        }
        Ok(read > 0)
    }
}

fn check(pieces: &Receiver<Vec<u8>>, give_back: &Sender<Vec<u8>>) -> Option<Outline> {
    let mut check = ArrayCheck::default();
    for piece in pieces {
        check.feed(&piece);
        let _ = give_back.send(piece);
    }
    check.finish()
}

/// Looks for ids in a text that comes in pieces.
struct Search<'a> {
    finders: Vec<memmem::Finder<'a>>,
    longest: usize,
    /// The end of the piece before: an id may lie across the cut.
    cut: Vec<u8>,
}

impl<'a> Search<'a> {
    fn new(ids: &'a [&str]) -> Self {
        let longest = ids.iter().map(|id| id.len()).max().unwrap_or(0);
        Self { finders: ids.iter().map(memmem::Finder::new).collect(), longest, cut: Vec::new() }
    }

    fn finds_in(&mut self, piece: &[u8]) -> bool {
        self.cut.extend_from_slice(&piece[..piece.len().min(self.longest)]);
        let is_there =
            |finder: &memmem::Finder| finder.find(&self.cut).or_else(|| finder.find(piece)).is_some();
        let found = self.finders.iter().any(is_there);
        self.cut.clear();
        self.cut.extend_from_slice(&piece[piece.len().saturating_sub(self.longest)..]);
        found
    }
}
