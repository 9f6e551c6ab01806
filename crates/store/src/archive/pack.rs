//! Closing the part that grows, and packing what was closed.
//!
//! 1. The growing part gets its name for good: a rename.
//! 2. A packed copy of it is written beside it, fsynced, and put in place.
//! 3. The plain one is removed.
//!
//! At each of these steps the messages are there; while there are both copies, readers take the plain one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use atm_wire::Stamp;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::index::{self, Block};
use super::{Archive, PACKED, PLAIN, Part, Whence, Writer};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Staged, in_real_folder, sync_folder};
use crate::paths::with_suffix;
use crate::points;

const LEVEL: i32 = 3;

/// What packing came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packed {
    /// How many parts were packed.
    pub parts: usize,
    /// How many bytes they had.
    pub before: u64,
    /// How many they have now.
    pub after: u64,
}

impl Archive {
    /// Whether the part that grows is to be closed: it is larger than `over`, or its first message has been in it for
    /// longer than `after`.
    pub fn is_due(&self, now: Stamp, over: u64, after: Duration) -> Result<bool, StoreError> {
        let path = self.file();
        let Ok(file) = disk::open_to_read(&path) else { return Ok(false) };
        let length = file.metadata().doing("look at", &path)?.len();
        if length == 0 || length > over {
            return Ok(length > 0);
        }
        let mut is_old = false;
        let mut is_first = true;
        index::cut(&file, &path, 0, length.min(index::BLOCK), |_, bytes, _| {
            let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let origin = std::str::from_utf8(line)
                .ok()
                .filter(|_| is_first)
                .and_then(|line| atm_wire::archive::parse(line).ok()?.origin);
            is_first = false;
            is_old |= origin.is_some_and(|origin| now.since(origin.at) > after);
            Ok(())
        })?;
        Ok(is_old)
    }

    /// Closes the part that grows, if that is due, and packs what is closed.
    pub fn pack_if_due(&self, now: Stamp, over: u64, after: Duration) -> Result<Packed, StoreError> {
        let has_closed = || Ok(self.parts()?.iter().any(|part| !part.is_packed && part.label.is_some()));
        let is_due = self.is_due(now, over, after)?;
        if !is_due && !has_closed()? {
            return Ok(Packed::default());
        }
        // Nothing is put into it here.
        let whence = Whence { root: String::new(), team: String::new(), to: String::new(), at: now };
        self.writer(whence)?.pack_if_due(now, over, after, &mut |_, _| {})
    }
}

impl Writer {
    /// Closes the part that grows, if that is due, and packs what is closed.
    pub fn pack_if_due(
        &self,
        now: Stamp,
        over: u64,
        after: Duration,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Packed, StoreError> {
        if self.archive.is_due(now, over, after)? {
            self.close()?;
        }
        self.pack(progress)
    }

    /// Closes the part that grows, if there is anything in it.
    pub fn close(&self) -> Result<(), StoreError> {
        let growing = self.archive.growing();
        let Ok(file) = disk::open_to_read(&growing.path) else { return Ok(()) };
        let length = file.metadata().doing("look at", &growing.path)?.len();
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        index::cut(&file, &growing.path, 0, length, |_, bytes, _| {
            let times = index::times(bytes);
            (first, last) = (first.min(*times.start()), last.max(*times.end()));
            Ok(())
        })?;
        if first > last {
            return Ok(());
        }
        let label =
            format!("{}-{}", Stamp::from_millis(first).file_name(), Stamp::from_millis(last).file_name());
        let closed = self.free_name(&label);
        // It says a byte of the part that grows.
        self.recorded();
        // The index first: one that is beside no part is of no harm, and the wrong one would have to be found out.
        let _ = disk::rename(growing.index(), with_suffix(&closed, super::INDEX));
        disk::rename(&growing.path, &closed).doing("rename", &growing.path)?;
        sync_folder(&self.archive.folder)?;
        points::reached("part_closed");
        Ok(())
    }

    /// Packs what is closed. `progress` is told how many bytes of how many are done.
    pub fn pack(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Packed, StoreError> {
        let parts = self.archive.parts()?;
        let plain: Vec<&Part> = parts.iter().filter(|part| !part.is_packed && part.label.is_some()).collect();
        let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let total = plain.iter().map(|part| size(&part.path)).sum();
        let mut packed = Packed::default();
        for part in plain {
            let before = size(&part.path);
            let done = packed.before;
            let new = self.pack_part(part, &mut |at| progress(done + at, total))?;
            packed = Packed {
                parts: packed.parts + 1,
                before: packed.before + before,
                after: packed.after + size(&new.path),
            };
        }
        if packed.parts > 0 {
            points::reached("part_done");
        }
        Ok(packed)
    }

    fn pack_part(&self, part: &Part, progress: &mut dyn FnMut(u64)) -> Result<Part, StoreError> {
        let path = &part.path;
        let new = Part {
            path: path.with_extension(PACKED.trim_start_matches('.')),
            is_packed: true,
            label: part.label.clone(),
        };
        let file = disk::open_to_read(path).doing("open", path)?;
        let metadata = file.metadata().doing("look at", path)?;
        let target = in_real_folder(&new.path)?;
        let temp = Staged::name_for(&target);
        self.turn.note(&temp);
        let (staged, packed) = Staged::begin(temp, &target, Some(&metadata))?;
        let mut zstd = Compressor::new(LEVEL).doing("pack", path)?;
        zstd.set_parameter(CParameter::ChecksumFlag(true)).doing("pack", path)?;
        let mut blocks: Vec<Block> = Vec::new();
        index::cut(&file, path, 0, metadata.len(), |at, bytes, _| {
            let frame = zstd.compress(bytes).doing("pack", path)?;
            disk::write_all(&packed, &frame).doing("write", staged.temp())?;
            let start = blocks.last().map_or(0, |block| block.end);
            blocks.push(Block { start, end: start + frame.len() as u64, times: index::times(bytes) });
            progress(at + bytes.len() as u64);
            Ok(())
        })?;
        disk::sync_all(&packed).doing("sync", staged.temp())?;
        points::reached("part_staged");
        index::store(&new, &packed, &blocks);
        staged.commit()?;
        sync_folder(&self.archive.folder)?;
        self.turn.clear();
        points::reached("part_packed");
        self.drop_plain(part)?;
        points::reached("part_dropped");
        Ok(new)
    }

    /// Removes plain parts whose packed copy is in place: somebody died before that.
    pub(super) fn drop_what_was_packed(&self) -> Result<(), StoreError> {
        for part in self.archive.parts()?.iter().filter(|part| !part.is_packed && part.label.is_some()) {
            if part.path.with_extension(PACKED.trim_start_matches('.')).exists() {
                self.drop_plain(part)?;
            }
        }
        Ok(())
    }

    fn drop_plain(&self, part: &Part) -> Result<(), StoreError> {
        disk::remove_file(&part.path).doing("remove", &part.path)?;
        let _ = disk::remove_file(part.index());
        sync_folder(&self.archive.folder)
    }

    /// The name of a closed part that no other has.
    fn free_name(&self, label: &str) -> std::path::PathBuf {
        let name =
            |more: &str| self.archive.folder.join(format!("{}.{label}{more}{PLAIN}", self.archive.stem));
        let is_free =
            |path: &std::path::PathBuf| !path.exists() && !path.with_extension("jsonl.zst").exists();
        let numbered = (2..).map(|number| name(&format!(".{number}")));
        std::iter::once(name("")).chain(numbered).find(is_free).unwrap_or_else(|| name(""))
    }
}
