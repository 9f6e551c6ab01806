//! When the machine was started.

use std::fs::Metadata;
use std::time::{Duration, SystemTime};

use crate::disk;

/// Whether a file was last written before the machine was started, as far as that can be told: then what is on the disk
/// beside it need not be what was there when it was written.
pub(crate) fn is_older_than_boot(file: &Metadata) -> bool {
    let written = file.modified().ok();
    written.zip(booted_at()).is_some_and(|(written, boot)| written < boot)
}

/// `None` where the system does not say so in a file.
fn booted_at() -> Option<SystemTime> {
    let text = disk::read_to_string("/proc/stat").ok()?;
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn a_file_of_an_earlier_start_is_told_from_one_of_this() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        fs::write(&path, "").unwrap();
        assert!(!is_older_than_boot(&fs::metadata(&path).unwrap()));
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(is_older_than_boot(&fs::metadata(&path).unwrap()), booted_at().is_some());
    }
}
