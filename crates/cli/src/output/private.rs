//! Files for whoever asked, and for nobody else.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use atm_office::ExitCode;

use crate::failure::Failure;

/// Writes a file; one that is made for it is its owner's alone.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        Failure::new(ExitCode::Io, "io", format!("cannot write {}: {error}", path.display()))
    })
}
