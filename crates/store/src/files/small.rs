//! A small file of somebody else's making, read whole: settings, notes, a client's configuration.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::open;
use crate::error::{IoContext, StoreError};

/// What a small file holds, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// The user that owns it.
    pub owner: u32,
}

/// Reads a file of at most `most` bytes; `None` where there is none. A pipe, a device, a folder or a larger file is an
/// error: none of them is read, and none is waited for.
pub fn read_small(path: &Path, most: u64) -> Result<Option<SmallFile>, StoreError> {
    // Looked at before it is opened: opening a device can have effects of its own.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(StoreError::bad(path, "is not a regular file"));
    }
    let Some((file, metadata)) = open(path)? else { return Ok(None) };
    // With room for the end: it is read at once.
    let size = usize::try_from(metadata.len().min(most)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size.saturating_add(1));
    if metadata.len() <= most {
        file.take(most + 1).read_to_end(&mut bytes).doing("read", path)?;
    }
    // It may grow while it is read.
    if metadata.len().max(bytes.len() as u64) > most {
        return Err(StoreError::bad(path, format!("is larger than {} KiB", most.div_ceil(1024))));
    }
    Ok(Some(SmallFile { bytes, owner: metadata.uid() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_small_regular_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings");
        assert_eq!(read_small(&path, 4).unwrap(), None);
        fs::write(&path, "four").unwrap();
        assert_eq!(read_small(&path, 4).unwrap().unwrap().bytes, b"four");
        assert_eq!(
            read_small(&path, 3).unwrap_err().to_string(),
            format!("{}: is larger than 1 KiB", path.display())
        );
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for other in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert!(read_small(other, 4).unwrap_err().to_string().ends_with("is not a regular file"));
        }
    }
}
