//! Writing the file of a backup.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use atm_wire::backup::{MANIFEST, Mode};
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::collect::Collected;
use super::{Order, Packing, Progress};
use crate::error::{IoContext, StoreError};
use crate::files::NewFile;
use crate::interrupt;

/// Writes and syncs the whole file beside its place, then renames it. Gives its size.
pub(super) fn write(order: &Order, collected: &Collected, progress: Progress) -> Result<u64, StoreError> {
    let mut file = NewFile::begin(&order.out, order.force)?;
    fill(order, collected, &mut file, progress).doing("write", &order.out)?;
    file.finish()
}

fn fill(order: &Order, collected: &Collected, out: &mut NewFile, progress: Progress) -> io::Result<()> {
    match order.packing {
        Packing::Zstd => content(collected, zstd::Encoder::new(out, 0)?, progress)?.finish()?,
        Packing::Gzip => {
            content(collected, GzEncoder::new(out, flate2::Compression::default()), progress)?.finish()?
        }
    };
    Ok(())
}

fn content<W: Write>(collected: &Collected, out: W, progress: Progress) -> io::Result<W> {
    let Collected { manifest, pieces, spool, .. } = collected;
    let mut tar = Builder::new(out);
    let text = serde_json::to_vec_pretty(manifest)?;
    let now = u64::try_from(manifest.created_at.as_millis() / 1000).unwrap_or(0);
    let header = |kind: EntryType, mode: Mode, size: u64, modified: u64| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode.bits());
        header.set_size(size);
        header.set_mtime(modified);
        header
    };
    let own = &mut header(EntryType::Regular, Mode::of_file(0o600), text.len() as u64, now);
    tar.append_data(own, MANIFEST, text.as_slice())?;
    for folder in &manifest.folders {
        let header = &mut header(EntryType::Directory, folder.mode, 0, now);
        tar.append_data(header, path(folder.path.as_bytes()), io::empty())?;
    }
    let total = manifest.total();
    let mut done = 0;
    for (file, (piece, modified)) in manifest.files.iter().zip(pieces) {
        let header = &mut header(EntryType::Regular, file.mode, file.size, *modified);
        let source = Watched { source: spool.read(piece), at: total + done, of: total * 2, progress };
        tar.append_data(header, path(file.path.as_bytes()), source)?;
        done += file.size;
    }
    tar.into_inner()
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Tells how far the reading is.
struct Watched<'a, 'b, R> {
    source: R,
    at: u64,
    of: u64,
    progress: &'a mut (dyn FnMut(u64, u64) + 'b),
}

impl<R: Read> Read for Watched<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupt::check()?;
        let read = self.source.read(buffer)?;
        self.at += read as u64;
        (self.progress)(self.at, self.of);
        Ok(read)
    }
}
