//! Dead letters that people asked for again: the bridge takes them in although their numbers are passed.
//!
//! One empty file each, named by the digest of the envelope. Only this machine's own `atm bridge dead --again` makes them, so
//! nobody who can publish can have an old envelope taken in.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use atm_store::StoreError;
use atm_store::files::replace_own;
use atm_wire::backup::hex;
use sha2::{Digest, Sha256};

use crate::files::Files;

/// Asks for an envelope again.
pub fn add(files: &Files, envelope: &[u8]) -> Result<(), StoreError> {
    replace_own(&files.wanted().join(digest(envelope)), "")
}

/// The envelopes that are asked for, by digest. A folder that cannot be read asks for none.
pub fn list(files: &Files) -> BTreeSet<String> {
    let entries = fs::read_dir(files.wanted()).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// It was taken in, or is dead once more.
pub fn remove(files: &Files, envelope: &[u8]) -> io::Result<()> {
    fs::remove_file(files.wanted().join(digest(envelope)))
}

/// What names an envelope here.
pub fn digest(envelope: &[u8]) -> String {
    hex(&Sha256::digest(envelope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_asked_for_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::of(folder.path());
        assert!(list(&files).is_empty());
        add(&files, b"one").unwrap();
        add(&files, b"one").unwrap();
        add(&files, b"two").unwrap();
        assert_eq!(list(&files), BTreeSet::from([digest(b"one"), digest(b"two")]));
        remove(&files, b"one").unwrap();
        assert_eq!(list(&files), BTreeSet::from([digest(b"two")]));
    }
}
