//! Files that only the current user can read.

use std::io::Write;
use std::path::Path;

use atm_office::OfficeError;
use atm_store::files::NewFile;

use crate::exit::ExitCode;
use crate::failure::Failure;

/// Writes a file for its owner alone. It takes the place of what is there, also of a link, whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = NewFile::begin(path, true).map_err(OfficeError::from)?;
    file.write_all(text.as_bytes()).map_err(|error| {
        Failure::new(ExitCode::Io, "io", format!("cannot write {}: {error}", path.display()))
    })?;
    file.finish().map_err(OfficeError::from)?;
    Ok(())
}
