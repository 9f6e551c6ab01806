//! A team in one file, and back.
//!
//! A backup is a tar, packed with zstd or gzip: first [`MANIFEST`], then the files that it names, below `team/`,
//! `tasks/` and `archive/`. It is taken while others write: each file is copied as it was at one moment, under its own
//! locks where it changes under the copy, and nothing is packed or synced under a lock. Mail is copied before the
//! archive, since that is the way in which messages move: one may be in both copies, none is in neither.
//!
//! | step | module |
//! |---|---|
//! | copy all files into one without a name | `collect`, `spool` |
//! | write manifest and files, rename | `pack` |
//! | check everything, into a folder beside its place | `unpack` |
//! | pack a plain tar as one of ours | `plain` |
//! | put it in place | `restore`, `staging` |
//! | add it to a team that is there | `merge` |
//!
//! [`MANIFEST`]: atm_wire::backup::MANIFEST

mod collect;
mod merge;
mod pack;
mod places;
mod plain;
mod restore;
mod spool;
mod staging;
mod unpack;

use std::path::PathBuf;

use atm_wire::backup::Manifest;
use atm_wire::{Stamp, TeamName};

use crate::error::StoreError;
use crate::files::NewFile;
use crate::interrupt;
use crate::lock::LockTimes;
use crate::paths::{Root, State};

pub use merge::{Files, Opened, open};
pub use plain::repack;
pub use restore::{Restored, adopt, restore};
pub use staging::{Repacked, abandoned_restores, remove_abandoned_restores};
pub use unpack::{Limits, check, manifest};

/// Told how much of how much is done.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Where a team is, or is to be.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The shared tree.
    pub root: &'a Root,
    /// What the archive calls that tree.
    pub root_key: &'a str,
    /// The team.
    pub team: &'a TeamName,
    /// Our own state.
    pub state: &'a State,
    /// How long to wait for locks.
    pub times: LockTimes,
}

/// How a backup is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packing {
    /// Small and fast.
    #[default]
    Zstd,
    /// What every machine can unpack.
    Gzip,
}

/// What backup is wanted.
#[derive(Debug, Clone)]
pub struct Order {
    /// The file to be made.
    pub out: PathBuf,
    /// Even if there is one already.
    pub force: bool,
    /// How it is packed.
    pub packing: Packing,
    /// Only the team's configuration.
    pub config_only: bool,
    /// Now.
    pub now: Stamp,
    /// The version of the program.
    pub atm: String,
}

/// A backup that was made.
#[derive(Debug)]
pub struct Backup {
    /// What is in it.
    pub manifest: Manifest,
    /// How large it is, packed.
    pub size: u64,
    /// What was left out.
    pub left_out: Vec<String>,
}

/// Makes a backup of a team: its folder, its tasks and its archive.
pub fn backup(site: Site, order: &Order, progress: Progress) -> Result<Backup, StoreError> {
    NewFile::check(&order.out, order.force)?;
    let stopped = |error| interrupt::explain(error, &order.out);
    let collected = collect::collect(site, order, progress).map_err(stopped)?;
    let packed = pack::write(order, &collected, progress).map_err(stopped)?;
    Ok(Backup { manifest: collected.manifest, size: packed, left_out: collected.left_out })
}
