//! What belongs to no team: disks that are nearly full, a ledger that is damaged.
//!
//! Whether people were told is in a [`Flag`], since the ledger may be what is wrong.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use atm_office::{Office, OfficeError};
use atm_store::Flag;

use crate::Notifier;
use crate::event::{Event, Kind};
use crate::post::PostError;

/// A disk is nearly full below this share of it,
const SHARE: u64 = 20;
/// and below this much room.
const ROOM: u64 = 1 << 30;

/// Something that people were told, or should have been.
#[derive(Debug)]
pub struct Told {
    /// What.
    pub event: Event,
    /// Why they were not.
    pub error: Option<String>,
}

/// How a condition stands.
#[derive(Debug, PartialEq, Eq)]
enum Now {
    /// It holds; in words.
    Holds(String),
    /// Neither: what was said before stands.
    Between,
    Over,
}

impl Notifier {
    /// Looks at the machine, and tells what is new; with `dry_run` only says what that is.
    pub fn look_at_machine(&self, office: &Office, dry_run: bool) -> Vec<Told> {
        let now = office.now();
        let is_quiet = self.quiet_until(now).is_some();
        let mut told = Vec::new();
        for (name, kind, state) in self.conditions(office) {
            let flag = Flag::of_condition(office.state(), name);
            match state {
                Now::Over if !dry_run => {
                    if let Err(error) = flag.lower() {
                        tracing::warn!(%error, name, "cannot forget that people were told");
                    }
                }
                Now::Holds(text) if !is_quiet && !flag.is_raised() => {
                    let event = Event::new(kind, None, name, now, &text);
                    if dry_run {
                        told.push(Told { event, error: None });
                    } else {
                        told.extend(self.tell(&flag, event));
                    }
                }
                Now::Over | Now::Between | Now::Holds(_) => {}
            }
        }
        told
    }

    fn tell(&self, flag: &Flag, event: Event) -> Option<Told> {
        match flag.raise() {
            Ok(true) => {}
            Ok(false) => return None,
            // Told without a mark, it would be told each time.
            Err(error) => return Some(Told { event, error: Some(error.to_string()) }),
        }
        let posted = self.post.post(&event);
        if posted == Err(PostError::Full) {
            let _ = flag.lower();
        }
        Some(Told { event, error: posted.err().map(|error| error.to_string()) })
    }

    fn conditions(&self, office: &Office) -> Vec<(&'static str, Kind, Now)> {
        let mut all = Vec::new();
        if self.rules.on.contains(&Kind::Ledger) {
            all.push(("ledger", Kind::Ledger, ledger(office)));
        }
        if self.rules.on.contains(&Kind::Disk) {
            let (state, root) = (office.state().path(), office.root().path());
            all.push(("disk-state", Kind::Disk, self.disk(state)));
            if disk_of(root) != disk_of(state) {
                all.push(("disk-root", Kind::Disk, self.disk(root)));
            }
        }
        all
    }

    fn disk(&self, folder: &Path) -> Now {
        let Some(folder) = folder.ancestors().find(|folder| folder.is_dir()) else { return Now::Between };
        let Ok(found) = rustix::fs::statvfs(folder) else { return Now::Between };
        let (room, whole) =
            (found.f_bavail.saturating_mul(found.f_frsize), found.f_blocks.saturating_mul(found.f_frsize));
        match room_is_low(room, whole, self.rules.disk_below) {
            Some(true) => Now::Holds(format!(
                "The disk of {} is nearly full: {} MB of {} MB are free.",
                folder.display(),
                room / 1_000_000,
                whole / 1_000_000
            )),
            Some(false) => Now::Over,
            None => Now::Between,
        }
    }
}

/// Whether a disk is nearly full; none if that is as good as it was before, so that a disk at the edge is told once.
fn room_is_low(room: u64, whole: u64, below: Option<u64>) -> Option<bool> {
    if whole == 0 {
        return None;
    }
    let below = below.unwrap_or_else(|| ROOM.min(whole / SHARE));
    if room < below {
        Some(true)
    } else if room >= below.saturating_add(below / 2) {
        Some(false)
    } else {
        None
    }
}

fn disk_of(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.is_dir())?;
    Some(fs::metadata(there).ok()?.dev())
}

/// Asks the ledger for its end. One that is busy, out of reach or newer is not damaged.
fn ledger(office: &Office) -> Now {
    match office.check_ledger() {
        Ok(()) => Now::Over,
        Err(OfficeError::Ledger(error)) if error.is_damage() => {
            Now::Holds(format!("The ledger is damaged: {error}. `atm doctor` says what helps."))
        }
        Err(_) => Now::Between,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_at_the_edge_is_neither_full_nor_free() {
        const GB: u64 = 1 << 30;
        let rows = [
            (GB - 1, 100 * GB, None, Some(true)),
            (GB, 100 * GB, None, None),
            (GB + GB / 2, 100 * GB, None, Some(false)),
            (GB / 2, 2 * GB, None, Some(false)),
            (GB / 20, 2 * GB, None, Some(true)),
            (50 * GB, 100 * GB, Some(60 * GB), Some(true)),
            (0, 0, None, None),
            (u64::MAX, u64::MAX, Some(u64::MAX), Some(false)),
        ];
        for (room, whole, below, expected) in rows {
            assert_eq!(room_is_low(room, whole, below), expected, "{room} of {whole}, {below:?}");
        }
    }
}
