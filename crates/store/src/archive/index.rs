//! Which times the blocks of a part hold.
//!
//! The index is a small text beside its part: a heading with a hash of the part's first bytes, then a line a block:
//! `start end first last`, in bytes of the part and milliseconds since 1970. It is only ever a help: one that is
//! missing or does not fit is made anew from the part.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::{ALWAYS, Part};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::Staged;
use crate::mailbox::Warning;

/// How much of the mail one block holds.
pub(super) const BLOCK: u64 = 1 << 18;
/// How much of a part's start is taken for its heading. A part's first bytes never change.
const HEAD: usize = 256;
const HEADING: &str = "atm-archive-index 1";
/// The most that one block may hold: one message may be larger than a block should be.
const LARGEST: u64 = 256 << 20;
/// How much of a packed part is read at a time, to find where its blocks are.
const PIECE: usize = 1 << 20;
/// The first bytes of every packed block.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// A piece of a part: whole lines, or packed whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) times: RangeInclusive<i64>,
}

/// The blocks of an open part, from its index or, where that is of no use, from the part itself.
pub(super) fn blocks(part: &Part, file: &File) -> Result<(Vec<Block>, Option<Warning>), StoreError> {
    let length = file.metadata().doing("look at", &part.path)?.len();
    let (mut blocks, warning) = match load(part, file, length) {
        Ok(Some(blocks)) => (blocks, None),
        found => {
            let blocks = if part.is_packed { packed(part, file)? } else { plain(part, file, 0, length)? };
            store(part, file, &blocks);
            (blocks, found.err())
        }
    };
    if !part.is_packed {
        // What came since the last whole block is less than another one.
        let start = blocks.last().map_or(0, |block| block.end);
        if start < length {
            blocks.push(Block { start, end: length, times: ALWAYS });
        }
    }
    Ok((blocks, warning))
}

/// Brings the index of the part that grows up to date.
pub(super) fn extend(part: &Part, file: &File) -> Result<(), StoreError> {
    let length = file.metadata().doing("look at", &part.path)?.len();
    let Ok(Some(known)) = load(part, file, length) else { return blocks(part, file).map(drop) };
    let new = plain(part, file, known.last().map_or(0, |block| block.end), length)?;
    if new.is_empty() {
        return Ok(());
    }
    if known.is_empty() {
        store(part, file, &new);
        return Ok(());
    }
    let appended = disk::open(OpenOptions::new().append(true), part.index());
    let _ = appended.and_then(|index| disk::write_all(&index, lines(&new).as_bytes()));
    Ok(())
}

/// The whole blocks of a plain part between two places.
fn plain(part: &Part, file: &File, from: u64, to: u64) -> Result<Vec<Block>, StoreError> {
    let mut blocks = Vec::new();
    cut(file, &part.path, from, to, |start, bytes, is_whole| {
        if is_whole {
            blocks.push(Block { start, end: start + bytes.len() as u64, times: times(bytes) });
        }
        Ok(())
    })?;
    Ok(blocks)
}

/// The blocks of a packed part. One that cannot be unpacked may hold anything.
fn packed(part: &Part, file: &File) -> Result<Vec<Block>, StoreError> {
    let length = file.metadata().doing("look at", &part.path)?.len();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < length {
        let bytes = packed_block(file, at, length).doing("read", &part.path)?;
        let times = unpack(&bytes).map_or(ALWAYS, |plain| times(&plain));
        let end = at + bytes.len() as u64;
        blocks.push(Block { start: at, end, times });
        at = end;
    }
    Ok(blocks)
}

/// The block that begins at a place, with no more of the part in memory than it takes to see where it ends.
fn packed_block(file: &File, start: u64, length: u64) -> io::Result<Vec<u8>> {
    let most = usize::try_from((length - start).min(LARGEST)).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    while bytes.len() < most {
        let there = bytes.len();
        bytes.resize(most.min(there * 2 + PIECE), 0);
        file.read_exact_at(&mut bytes[there..], start + there as u64)?;
        if let Some(size) = zstd::zstd_safe::find_frame_compressed_size(&bytes).ok().filter(|size| *size > 0)
        {
            bytes.truncate(size);
            return Ok(bytes);
        }
    }
    // Where a block does not say where it ends, the next one begins with the same four bytes.
    if let Some(found) = memchr::memmem::find(&bytes[1..], &MAGIC) {
        bytes.truncate(1 + found);
    }
    Ok(bytes)
}

/// Unpacks a block. Archives come out of backups, too, and those from anywhere: one that is more than any mail is not
/// unpacked.
pub(super) fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    zstd::Decoder::new(bytes)?.take(LARGEST + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too large when it is unpacked"));
    }
    Ok(plain)
}

/// Cuts what stands between two places of a plain part into blocks of whole lines. The last one may be less than whole.
pub(super) fn cut(
    file: &File,
    path: &Path,
    from: u64,
    to: u64,
    mut each: impl FnMut(u64, &[u8], bool) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut at = from;
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let there = bytes.len() as u64;
        let more = (BLOCK - there % BLOCK).min(to.saturating_sub(at + there));
        if more == 0 {
            break;
        }
        bytes.resize(usize::try_from(there + more).unwrap_or(usize::MAX), 0);
        file.read_exact_at(&mut bytes[usize::try_from(there).unwrap_or(usize::MAX)..], at + there)
            .doing("read", path)?;
        if (bytes.len() as u64).is_multiple_of(BLOCK)
            && let Some(last) = memchr::memrchr(b'\n', &bytes)
        {
            each(at, &bytes[..=last], true)?;
            at += last as u64 + 1;
            bytes.drain(..=last);
        }
    }
    match memchr::memrchr(b'\n', &bytes) {
        Some(last) => each(at, &bytes[..=last], false),
        None => Ok(()),
    }
}

/// The earliest and the latest time of these lines; what says none is from 1970.
pub(super) fn times(lines: &[u8]) -> RangeInclusive<i64> {
    let time = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?;
        atm_wire::archive::time(line).map(atm_wire::Stamp::as_millis)
    };
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let at = time(line).unwrap_or(0);
        (first, last) = (first.min(at), last.max(at));
    }
    first..=last
}

/// The index, if there is one; why it is of no use, if it does not fit.
fn load(part: &Part, file: &File, length: u64) -> Result<Option<Vec<Block>>, Warning> {
    let Ok(text) = disk::read_to_string(part.index()) else { return Ok(None) };
    let bad = |line: usize, why: &str| Warning::Damaged {
        path: part.index(),
        place: format!("line {}", line + 1),
        why: format!("{why}; the index was made anew"),
    };
    if text.lines().next() != Some(heading(file).as_str()) {
        return Err(bad(0, "it is not about this part"));
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let block = block(line).ok_or_else(|| bad(number, "it is no block"))?;
        if block.start != blocks.last().map_or(0, |before| before.end) || block.start >= block.end {
            return Err(bad(number, "the block does not follow the one before it"));
        }
        blocks.push(block);
    }
    let end = blocks.last().map_or(0, |block| block.end);
    if end > length || (part.is_packed && end != length) {
        return Err(bad(blocks.len(), "the part does not end there"));
    }
    Ok(Some(blocks))
}

fn block(line: &str) -> Option<Block> {
    let mut numbers = line.split(' ');
    let (start, end) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let times = numbers.next()?.parse().ok()?..=numbers.next()?.parse().ok()?;
    numbers.next().is_none().then_some(Block { start, end, times })
}

fn lines(blocks: &[Block]) -> String {
    let mut text = String::new();
    for Block { start, end, times } in blocks {
        let _ = writeln!(text, "{start} {end} {} {}", times.start(), times.end());
    }
    text
}

fn heading(file: &File) -> String {
    let mut head = [0; HEAD];
    let read = file.read_at(&mut head, 0).unwrap_or(0);
    let hash = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, &head[..read]);
    format!("{HEADING} {}", hash.simple())
}

/// Puts the index beside its part. Without it the next look makes it again.
pub(super) fn store(part: &Part, file: &File, blocks: &[Block]) {
    let index = part.index();
    if blocks.is_empty() {
        let _ = disk::remove_file(index);
        return;
    }
    let text = format!("{}\n{}", heading(file), lines(blocks));
    let temp = Staged::name_for(&index);
    let written = disk::open(OpenOptions::new().write(true).create_new(true).mode(0o600), &temp);
    if written.and_then(|file| disk::write_all(&file, text.as_bytes())).is_err()
        || disk::rename(&temp, index).is_err()
    {
        let _ = disk::remove_file(temp);
    }
}
