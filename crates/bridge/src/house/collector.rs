//! What clients write for members of other machines, brought into the log.
//!
//! It has a thread and a ledger of its own, and waits for nobody: what a client deletes a moment later with its team's folder is
//! there by then, however long the engine's thread waits for a disk, or for the lock of somebody's inbox.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atm_office::machines::Quiet;
use atm_office::{Office, OfficeError};
use atm_store::LockTimes;
use atm_wire::TeamName;

use super::{House, Share};
use crate::watched::Expected;

/// How long one inbox that somebody else writes keeps the others waiting: what is in the log already is taken out of it later.
const PATIENCE: Duration = Duration::from_millis(50);
/// The same for the engine's thread. A letter that is accepted is written by the next look, or by who holds the inbox.
const HOUSE_PATIENCE: Duration = Duration::from_millis(200);

/// Reads the inboxes of members of other machines.
#[derive(Debug)]
pub struct Collector {
    office: Office,
    shares: Vec<Share>,
    quiet: HashMap<TeamName, Quiet>,
    moves: Moves,
    /// Where something changes when there is mail from `atm`.
    bell: PathBuf,
}

/// Taken by who sends mail on: the house, with all mail of a member that moved, and the collector, with what was left behind.
#[derive(Debug, Clone, Default)]
pub(super) struct Moves(Arc<Mutex<()>>);

impl Moves {
    pub(super) fn take(&self) -> MutexGuard<'_, ()> {
        // It guards nothing that a panic could leave half done: what is in the log is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector {
    /// The folders in which something changes when there is mail for other machines, from `atm` or from clients, or when other
    /// machines are trusted; and those above them, since a team comes and goes as a whole.
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let (root, machines) = (self.office.root(), self.office.machines());
        let mut folders = vec![root.teams()];
        for Share { local, .. } in &self.shares {
            let team = root.team(local);
            folders.extend([team.join("inboxes"), team]);
            folders.extend(machines.watched(local));
        }
        let mut there = Expected::new(folders, root.path().to_owned()).there();
        there.extend([self.bell.clone(), self.office.state().path().to_owned()]);
        there
    }

    /// Brings mail that clients wrote for other machines into the ledger; says how many letters are new. On an error some may be, too.
    pub fn collect(&mut self) -> Result<usize, OfficeError> {
        let (mut count, mut failed) = (0, None);
        for share in self.shares.iter().filter(|share| self.office.has_team(&share.local)) {
            let quiet = self.quiet.entry(share.local.clone()).or_default();
            let _moves = self.moves.take();
            match self.office.machines().collect_changed(&share.local, quiet) {
                Ok(collected) => count += collected,
                // One team's trouble is not another one's.
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(count), Err)
    }
}

impl House {
    /// Reads the inboxes here of members of other machines, beside everything else. There is one for a house.
    pub fn collector(&self) -> Result<Collector, OfficeError> {
        Ok(Collector {
            office: with_patience(self.office.apart(), PATIENCE),
            shares: self.shares.clone(),
            quiet: HashMap::new(),
            moves: self.moves_lock.clone(),
            bell: self.office.machines().bell()?,
        })
    }
}

/// The office of the engine's thread, which has other things to do than to wait for a lock.
pub(super) fn hurried(office: Office) -> Office {
    with_patience(office, HOUSE_PATIENCE)
}

fn with_patience(office: Office, wait: Duration) -> Office {
    let times = office.lock_times();
    office.with_lock_times(LockTimes { wait: wait.min(times.wait), ..times })
}
