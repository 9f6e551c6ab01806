//! What is done for one team after the other: the trouble of one is not another one's.

use atm_office::OfficeError;

/// What could be done, and the first thing that could not.
#[derive(Debug)]
#[must_use]
pub struct Outcome<T> {
    /// What came of it.
    pub done: T,
    /// What went wrong first.
    pub trouble: Option<OfficeError>,
}

impl<T> Outcome<T> {
    /// What came of one team; the first trouble is kept.
    pub(super) fn note<U>(&mut self, result: Result<U, OfficeError>) -> Option<U> {
        match result {
            Ok(done) => Some(done),
            Err(error) => {
                self.trouble.get_or_insert(error);
                None
            }
        }
    }
}
