//! Letters that are accepted and not written yet, so that a process that is told to stop can take them back.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use atm_ledger::{Evidence, InboxKey, Ledger};

use crate::clock::{Clock, SystemClock};
use crate::office::Office;
use crate::send::Addressed;

static UNDERWAY: Mutex<Vec<Letter>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, PartialEq, Eq)]
struct Letter {
    ledger: PathBuf,
    inbox: InboxKey,
    id: String,
}

/// Letters that a send is about to write; over on drop.
pub(crate) struct Underway(Vec<Letter>);

impl Underway {
    pub(crate) fn begin(office: &Office, addressed: &[Addressed]) -> Self {
        let letter = |addressed: &Addressed| Letter {
            ledger: office.state().ledger(),
            inbox: office.inbox_key(&addressed.team, &addressed.to),
            id: addressed.draft.id.clone(),
        };
        let letters: Vec<Letter> = addressed.iter().map(letter).collect();
        UNDERWAY.lock().unwrap_or_else(PoisonError::into_inner).extend(letters.iter().cloned());
        Self(letters)
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        UNDERWAY.lock().unwrap_or_else(PoisonError::into_inner).retain(|letter| !self.0.contains(letter));
    }
}

/// For a front that is told to stop: finishes the commit that is under way, removes what was being prepared, and takes
/// back what was accepted and is not written. After this the office must not be used any more.
pub fn abandon() {
    atm_store::interrupt::abandon();
    let mut underway = UNDERWAY.lock().unwrap_or_else(PoisonError::into_inner);
    let letters = std::mem::take(&mut *underway);
    // Kept for good: a send that finds its letters gone from the queue would take them for written, and say so.
    std::mem::forget(underway);
    let evidence = Evidence::certain("the sender was told to stop before it was written");
    for letter in letters {
        // If the ledger cannot be had, the letter is written by the next command: late, and not lost.
        if let Ok(mut ledger) = Ledger::open(&letter.ledger) {
            let _ = ledger.withdraw(&letter.inbox, &letter.id, SystemClock.now().as_millis(), &evidence);
        }
    }
}
