//! Deliveries of an office that are accepted and not answered yet, so that a front that is told to stop can wait for
//! their end, or say that they will be written.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atm_ledger::Ledger;

/// The deliveries of one office and its clones.
#[derive(Debug, Clone, Default)]
pub struct Deliveries(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The logs of the ledgers that have those under way.
    underway: Mutex<Vec<PathBuf>>,
    /// What was answered so far: whether anything is written, and what is accepted and not written.
    answered: Mutex<Answered>,
}

#[derive(Debug, Default)]
struct Answered {
    has_written: bool,
    accepted: HashSet<String>,
}

/// What was sent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailSent {
    /// Something is written.
    pub has_written: bool,
    /// Something is accepted and not written yet.
    pub has_accepted: bool,
}

impl Deliveries {
    /// What was sent so far, for a front's exit code.
    pub fn sent(&self) -> MailSent {
        let answered = lock(&self.0.answered);
        MailSent { has_written: answered.has_written, has_accepted: !answered.accepted.is_empty() }
    }

    /// Whether letters that were accepted have no answer yet.
    pub fn is_delivering(&self) -> bool {
        !lock(&self.0.underway).is_empty()
    }

    /// For a front that ends now: makes what is accepted survive a power cut, and says whether there is anything. The
    /// office must not be used after this.
    pub fn leave_accepted(&self) -> bool {
        let underway = lock(&self.0.underway);
        for log in underway.iter() {
            // If it fails, only a power cut could undo it; there is no time left to say so.
            let _ = File::open(log).and_then(|log| log.sync_data());
        }
        !underway.is_empty()
    }

    /// A letter was answered: it is written, or only accepted.
    pub(crate) fn note_answer(&self, id: &str, is_written: bool) {
        let mut answered = lock(&self.0.answered);
        if is_written {
            answered.has_written = true;
        } else {
            answered.accepted.insert(id.to_owned());
        }
    }

    /// Letters were written: if one of them had been answered as accepted, it is so no longer.
    pub(crate) fn note_written(&self, ids: &[String]) {
        let mut answered = lock(&self.0.answered);
        for id in ids {
            answered.has_written |= answered.accepted.remove(id);
        }
    }

    /// Begins a delivery, between its acceptance and its answer.
    pub(crate) fn begin(&self, ledger: &Path) -> Underway {
        let log = Ledger::log_of(ledger);
        lock(&self.0.underway).push(log.clone());
        Underway { deliveries: self.clone(), log }
    }
}

/// A delivery between its acceptance and its answer; over on drop.
pub(crate) struct Underway {
    deliveries: Deliveries,
    log: PathBuf,
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut underway = lock(&self.deliveries.0.underway);
        if let Some(at) = underway.iter().position(|log| *log == self.log) {
            underway.swap_remove(at);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
