//! What is of no team, and grows: archives, also of teams that are gone, the ledger's own log, the quarantine.

use atm_office::Office;
use atm_store::archive::Archive;
use serde::Serialize;

use crate::archive::Upkeep;

/// What was done.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct House {
    /// How many parts of archives were packed.
    pub packed: usize,
    /// How many files were removed from the quarantine, having been there for long enough.
    pub removed: usize,
    /// What went wrong. The rest was done.
    pub troubles: Vec<String>,
}

/// Packs what is due, removes what was kept for long enough, and lets the ledger tidy up.
pub fn keep(office: &Office, upkeep: &Upkeep) -> House {
    let (state, now) = (office.state(), office.now());
    let mut house = House::default();
    match Archive::all(state, office.lock_times()) {
        Ok(archives) => {
            for archive in archives {
                match archive.pack_if_due(now, upkeep.rotate_over, upkeep.compress_after) {
                    Ok(packed) => house.packed += packed.parts,
                    Err(error) => house.troubles.push(error.to_string()),
                }
            }
        }
        Err(error) => house.troubles.push(error.to_string()),
    }
    match state.quarantine().remove_before(now.saturating_sub(upkeep.quarantine_for)) {
        Ok(removed) => house.removed = removed,
        Err(error) => house.troubles.push(error.to_string()),
    }
    office.tidy_ledger();
    house
}
