//! Deliveries of this process that are accepted and not answered yet, so that a front that is told to stop can wait for
//! their end, or say that they will be written.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use atm_ledger::Ledger;

/// The logs of the ledgers that have them.
static UNDERWAY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What was answered so far: whether anything is written, and what is accepted and not written.
static ANSWERED: Mutex<Option<Answered>> = Mutex::new(None);

#[derive(Default)]
struct Answered {
    has_written: bool,
    accepted: HashSet<String>,
}

/// What this process has sent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailSent {
    /// Something is written.
    pub has_written: bool,
    /// Something is accepted and not written yet.
    pub has_accepted: bool,
}

/// What this process has sent so far, for its exit code.
pub fn mail_sent() -> MailSent {
    let answered = lock(&ANSWERED);
    answered.as_ref().map_or_else(MailSent::default, |answered| MailSent {
        has_written: answered.has_written,
        has_accepted: !answered.accepted.is_empty(),
    })
}

/// A letter was answered: it is written, or only accepted.
pub(crate) fn note_answer(id: &str, is_written: bool) {
    let mut answered = lock(&ANSWERED);
    let answered = answered.get_or_insert_default();
    if is_written {
        answered.has_written = true;
    } else {
        answered.accepted.insert(id.to_owned());
    }
}

/// Letters were written: if one of them had been answered as accepted, it is so no longer.
pub(crate) fn note_written(ids: &[String]) {
    if let Some(answered) = lock(&ANSWERED).as_mut() {
        for id in ids {
            answered.has_written |= answered.accepted.remove(id);
        }
    }
}

/// A delivery between its acceptance and its answer; over on drop.
pub(crate) struct Underway(PathBuf);

impl Underway {
    pub(crate) fn begin(ledger: &Path) -> Self {
        let log = Ledger::log_of(ledger);
        lock(&UNDERWAY).push(log.clone());
        Self(log)
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut underway = lock(&UNDERWAY);
        if let Some(at) = underway.iter().position(|log| *log == self.0) {
            underway.swap_remove(at);
        }
    }
}

/// Whether letters that this process accepted have no answer yet.
pub fn is_delivering() -> bool {
    !lock(&UNDERWAY).is_empty()
}

/// For a front that ends now: makes what is accepted survive a power cut, and says whether there is anything. The office
/// must not be used after this.
pub fn leave_accepted() -> bool {
    let underway = lock(&UNDERWAY);
    for log in underway.iter() {
        // If it fails, only a power cut could undo it; there is no time left to say so.
        let _ = File::open(log).and_then(|log| log.sync_data());
    }
    !underway.is_empty()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
