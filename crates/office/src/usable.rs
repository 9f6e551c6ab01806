//! Whether our own files can be used, by trying it: what a monitor asks.

use atm_store::{Scratch, StoreError};

use crate::error::OfficeError;
use crate::office::Office;

impl Office {
    /// Writes a file into the state folder and reads it again.
    pub fn check_store(&self) -> Result<(), OfficeError> {
        let (probe, text) = (Scratch::of_probe(&self.state), std::process::id().to_string());
        probe.replace(text.as_bytes())?;
        // Another process may try it at the same time.
        match probe.read() {
            Some(read) if !read.is_empty() => Ok(()),
            _ => {
                let (path, why) = (probe.path().to_owned(), "does not read as it was written".to_owned());
                Err(StoreError::BadContent { path, why }.into())
            }
        }
    }

    /// Asks the ledger for its end, to find out whether it can be asked. Makes none where there is none.
    pub fn check_ledger(&self) -> Result<(), OfficeError> {
        if self.books.exist() {
            self.books.with(|ledger| ledger.cursor())?;
        }
        Ok(())
    }

    /// Finds out whether the ledger could be written now. Makes none where there is none.
    pub fn check_ledger_writable(&self) -> Result<(), OfficeError> {
        if self.books.exist() {
            self.books.with(|ledger| ledger.check_writable())?;
        }
        Ok(())
    }
}
