//! Reading the archive, without a lock, a block at a time.

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use atm_wire::archive::{self, Archived};

use super::index::{self, Block};
use super::writer::whole_lines;
use super::{Archive, Part, overlaps};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::mailbox::Warning;

/// How often the parts are opened again when one was closed or packed meanwhile.
const TRIES: usize = 5;

/// The archive as it was at one moment: whatever is packed or moved since, these files stay open.
#[derive(Debug)]
pub struct View {
    parts: Vec<Opened>,
    times: RangeInclusive<i64>,
    warnings: Vec<Warning>,
}

#[derive(Debug)]
struct Opened {
    part: Part,
    file: File,
    blocks: Vec<Block>,
}

/// Names a block of a [`View`].
#[derive(Debug, Clone, Copy)]
pub struct BlockRef {
    part: usize,
    block: usize,
}

impl Archive {
    /// Opens what may hold messages of these times.
    pub fn view(&self, times: RangeInclusive<i64>) -> Result<View, StoreError> {
        for _ in 0..TRIES {
            if let Some(files) = self.open_all(&times)? {
                return View::new(files, times);
            }
        }
        Err(StoreError::Unsettled { path: self.file() })
    }

    /// Every part as a file, with its name and how much of it is whole lines.
    pub(crate) fn open_parts(&self) -> Result<Vec<(PathBuf, File, u64)>, StoreError> {
        for _ in 0..TRIES {
            let Some(files) = self.open_all(&super::ALWAYS)? else { continue };
            let length = |part: &Part, file: &File| match part.label {
                Some(_) => file.metadata().map(|metadata| metadata.len()),
                None => whole_lines(file),
            };
            let with_length = |(part, file): (Part, File)| {
                let length = length(&part, &file).doing("read", &part.path)?;
                Ok((part.path, file, length))
            };
            return files.into_iter().map(with_length).collect();
        }
        Err(StoreError::Unsettled { path: self.file() })
    }

    /// All parts as files, or `None` if they changed while they were opened.
    fn open_all(&self, times: &RangeInclusive<i64>) -> Result<Option<Vec<(Part, File)>>, StoreError> {
        let parts = self.parts()?;
        let mut files = Vec::new();
        for part in parts.iter().filter(|part| overlaps(&part.span(), times)) {
            match disk::open_to_read(&part.path) {
                Ok(file) => files.push((part.clone(), file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error).doing("open", &part.path),
            }
        }
        // The one that grows may have been closed and begun anew under its name.
        let is_another = |(part, file): &(Part, File)| {
            let inode =
                |metadata: io::Result<std::fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
            part.label.is_none() && inode(file.metadata()) != inode(part.path.metadata())
        };
        Ok((self.parts()? == parts && !files.iter().any(is_another)).then_some(files))
    }
}

impl View {
    fn new(files: Vec<(Part, File)>, times: RangeInclusive<i64>) -> Result<Self, StoreError> {
        let mut view = Self { parts: Vec::new(), times, warnings: Vec::new() };
        for (part, file) in files {
            let (blocks, warning) = index::blocks(&part, &file)?;
            view.parts.push(Opened { part, file, blocks });
            view.warnings.extend(warning);
        }
        Ok(view)
    }

    /// What was found wrong with the indexes.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The blocks that may hold messages of the wanted times, oldest first.
    pub fn blocks(&self) -> Vec<BlockRef> {
        let of_part = |(part, opened): (usize, &Opened)| {
            let wanted = move |(_, block): &(usize, &Block)| overlaps(&block.times, &self.times);
            let found = opened.blocks.iter().enumerate().filter(wanted);
            found.map(|(block, _)| BlockRef { part, block }).collect::<Vec<_>>()
        };
        self.parts.iter().enumerate().flat_map(of_part).collect()
    }

    /// The times that a block may hold.
    pub fn times(&self, at: BlockRef) -> RangeInclusive<i64> {
        self.parts[at.part].blocks[at.block].times.clone()
    }

    /// How many bytes a block has in its file.
    pub fn size(&self, at: BlockRef) -> u64 {
        let block = &self.parts[at.part].blocks[at.block];
        block.end - block.start
    }

    /// The messages of a block, in the order in which they were archived. What cannot be read is a warning.
    pub fn read(&self, at: BlockRef, warnings: &mut Vec<Warning>) -> Vec<Archived> {
        let Opened { part, file, blocks } = &self.parts[at.part];
        let block = &blocks[at.block];
        let bytes = match bytes(part, file, block) {
            Ok(bytes) => bytes,
            Err(error) => {
                let place = format!("block at byte {}", block.start);
                let why = format!("cannot be read: {error}; left out");
                warnings.push(Warning::Damaged { path: part.path.clone(), place, why });
                return Vec::new();
            }
        };
        let mut messages = Vec::new();
        let mut offset = 0;
        // A last line without its newline is still being written, or was left by a crash: it is none yet.
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let start = offset;
            offset += line.len();
            let read = std::str::from_utf8(line)
                .map_err(|_| "is not UTF-8".to_owned())
                .and_then(|line| archive::parse(line.trim_end()).map_err(|flaw| flaw.to_string()));
            match read {
                Ok(message) => messages.push(message),
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(why) => {
                    let place = if part.is_packed {
                        format!("block at byte {}, line at byte {start} of it", block.start)
                    } else {
                        format!("line at byte {}", block.start + start as u64)
                    };
                    let why = format!("{why}; left out");
                    warnings.push(Warning::Damaged { path: part.path.clone(), place, why });
                }
            }
        }
        messages
    }
}

fn bytes(part: &Part, file: &File, block: &Block) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(block.end - block.start).unwrap_or_default()];
    file.read_exact_at(&mut bytes, block.start)?;
    if part.is_packed { index::unpack(&bytes) } else { Ok(bytes) }
}
