//! Whether a standard stream goes anywhere.
//!
//! A process that is started with a closed stream gets the null device in its place, opened for reading and writing, so
//! that the next file is not taken for it; and a stream that cannot be written swallows what is written to it. Both
//! would make mail count as shown that nobody could see. `> /dev/null` opens for writing alone: a caller that does
//! so does not want to see it. A runner that gives its child the null device for reading and writing cannot be told from a
//! closed stream, and nobody sees what goes there either.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, stat};

/// Fails unless what is written to `stream` goes somewhere, or is thrown away on purpose.
pub(crate) fn check(stream: impl AsFd, name: &str) -> io::Result<()> {
    let closed = |why: &str| Err(io::Error::other(format!("{name} {why}")));
    let Ok(flags) = fcntl_getfl(&stream) else { return closed("is closed") };
    let mode = flags & OFlags::RWMODE;
    if mode == OFlags::RDONLY {
        return closed("is not open for writing");
    }
    if mode == OFlags::RDWR && is_null_device(&stream) {
        return closed("is closed, or the null device opened for reading and writing");
    }
    Ok(())
}

fn is_null_device(stream: impl AsFd) -> bool {
    let (Ok(found), Ok(null)) = (fstat(stream), stat("/dev/null")) else { return false };
    FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice && found.st_rdev == null.st_rdev
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn only_what_can_be_written_and_is_wanted_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let (_reader, writer) = io::pipe().unwrap();
        let opened = |path: &str, read| File::options().read(read).write(true).open(path).unwrap();
        File::create(&path).unwrap();
        assert!(check(&writer, "it").is_ok(), "a pipe");
        assert!(check(opened("/dev/null", false), "it").is_ok(), "thrown away on purpose");
        assert!(check(opened(path.to_str().unwrap(), true), "it").is_ok(), "a file");
        assert!(check(opened("/dev/null", true), "it").is_err(), "what stands for a closed stream");
        assert!(check(File::open(&path).unwrap(), "it").is_err(), "cannot be written");
    }
}
