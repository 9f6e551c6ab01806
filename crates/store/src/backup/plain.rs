//! A backup that `tar` made of a team's folders, without a manifest: it is packed anew as one of ours, and is then checked
//! and put in place as every backup is.
//!
//! | in the tar | in the backup |
//! |---|---|
//! | `…/teams/<team>/…`, by the one `config.json` that is there | `team/…` |
//! | `…/tasks/<team>/…`, of the same tree | `tasks/…` |
//! | locks | left out |
//! | all else | left out |

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::Path;

use atm_wire::backup::{FORMAT, FileEntry, FolderEntry, MANIFEST, Manifest, Mode, Place, VERSION};
use tar::EntryType;

use super::collect::Collected;
use super::places::{Kind, kind};
use super::spool::{Piece, Spool};
use super::staging::Repacked;
use super::unpack::{Limits, Reading, kind_of};
use super::{Order, pack};
use crate::error::StoreError;
use crate::lock::LockTimes;
use crate::paths::State;

/// The mode of a folder that is in the tar only by what is in it.
const PRIVATE: u32 = 0o700;

/// Packs a plain tar anew, as `order` says, but into a file in the state folder that is gone with what is given back.
/// Nothing if it was none: a backup of ours is left alone.
pub fn repack(
    backup: &Path,
    mut order: Order,
    limits: Limits,
    (state, times): (&State, LockTimes),
) -> Result<Option<Repacked>, StoreError> {
    let Some(tree) = Tree::find(backup, limits)? else { return Ok(None) };
    let repacked = Repacked::begin(state, times)?;
    order.out = repacked.file();
    let collected = tree.collect(backup, &order, limits)?;
    pack::write(&order, &collected, &mut |_, _| {})?;
    Ok(Some(repacked))
}

/// Where a team is in a tar.
struct Tree {
    /// The parts of the path above `teams`.
    above: Vec<Vec<u8>>,
    team: Vec<u8>,
}

impl Tree {
    /// Finds the team, by its configuration; nothing if the file begins with a manifest.
    fn find(backup: &Path, limits: Limits) -> Result<Option<Self>, StoreError> {
        let (reading, mut tar) = Reading::plain(backup, limits)?;
        let mut entries = reading.sound(tar.entries())?.raw(true);
        let mut found: Option<Self> = None;
        let mut is_first = true;
        loop {
            let name = match reading.next(&mut entries) {
                Ok(Some((name, ..))) => name,
                // No tar at all: who reads it as a backup says so.
                Err(StoreError::BadBackup { .. }) | Ok(None) if is_first => return Ok(None),
                Ok(None) => break,
                Err(error) => return Err(error),
            };
            if std::mem::take(&mut is_first) && name == MANIFEST.as_bytes() {
                return Ok(None);
            }
            let parts = parts(&name);
            if let [above @ .., teams, team, file] = parts.as_slice()
                && teams == b"teams"
                && file == b"config.json"
            {
                if found.is_some() {
                    return Err(reading.bad("it has several teams: pack one at a time"));
                }
                found = Some(Self { above: above.to_vec(), team: team.clone() });
            }
        }
        let none = "it has neither a manifest nor a teams/NAME/config.json: it is no backup of a team";
        found.map(Some).ok_or_else(|| reading.bad(none))
    }

    /// What a path of the tar is in the backup, if it belongs there.
    fn place(&self, name: &[u8]) -> Option<Vec<u8>> {
        let parts = parts(name);
        let rest = parts.strip_prefix(self.above.as_slice())?;
        let (top, rest) = match rest {
            [top, team, rest @ ..] if *team == self.team && top == b"teams" => (b"team".to_vec(), rest),
            [top, team, rest @ ..] if *team == self.team && top == b"tasks" => (b"tasks".to_vec(), rest),
            _ => return None,
        };
        if rest.iter().any(|part| part.ends_with(b".lock")) {
            return None;
        }
        let parts: Vec<Vec<u8>> = [top].into_iter().chain(rest.iter().cloned()).collect();
        Some(parts.join(&b'/'))
    }

    fn collect(&self, backup: &Path, order: &Order, limits: Limits) -> Result<Collected, StoreError> {
        let (reading, mut tar) = Reading::plain(backup, limits)?;
        let mut entries = reading.sound(tar.entries())?.raw(true);
        let mut spool = Spool::new(&order.out)?;
        let mut folders: BTreeMap<Place, Mode> = BTreeMap::new();
        let mut files: Vec<((u64, bool), FileEntry, Piece)> = Vec::new();
        let mut seen = HashSet::new();
        while let Some((name, entry_kind, mut entry)) = reading.next(&mut entries)? {
            if entry_kind == EntryType::XHeader {
                // Where a long name stands that the next entry has only in part.
                let mut text = Vec::new();
                reading.sound(entry.by_ref().take(1 << 16).read_to_end(&mut text))?;
                if text.windows(6).any(|bytes| bytes == b" path=") {
                    return Err(reading.bad("a name in it is too long"));
                }
                continue;
            }
            let Some(bytes) = self.place(&name) else { continue };
            let place = Place::parse(&bytes).map_err(|why| reading.bad(why))?;
            if kind(place.as_bytes()) == Kind::Lock {
                continue;
            }
            if !seen.insert(place.clone()) {
                return Err(reading.bad(format!("{place} is in it twice")));
            }
            let mode = reading.sound(entry.header().mode())?;
            match entry_kind {
                EntryType::Directory => {
                    folders.insert(place, Mode::of_folder(mode));
                }
                EntryType::Regular => {
                    let modified = entry.header().mtime().unwrap_or_default();
                    let size = entry.size();
                    let piece = spool.take(&mut entry, backup, size)?;
                    if piece.size != size {
                        return Err(reading.bad(format!("it ends in the middle of {place}")));
                    }
                    // Of two at one time a cursor is the earlier, as in every backup.
                    let is_later = kind(place.as_bytes()) != Kind::Cursor;
                    let sha256 = piece.sha256.clone();
                    let file = FileEntry { path: place, size, mode: Mode::of_file(mode), sha256 };
                    files.push(((modified, is_later), file, piece));
                }
                other => return Err(reading.bad(format!("{place} is {}, not a file", kind_of(other)))),
            }
        }
        add_parents(&mut folders, files.iter().map(|(_, file, _)| &file.path));
        files.sort_by(|(a, left, _), (b, right, _)| (a, &left.path).cmp(&(b, &right.path)));
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            team: String::from_utf8_lossy(&self.team).into_owned(),
            root: String::new(),
            created_at: order.now,
            atm: order.atm.clone(),
            config_only: false,
            group: None,
            folders: folders.into_iter().map(|(path, mode)| FolderEntry { path, mode }).collect(),
            files: files.iter().map(|(_, file, _)| file.clone()).collect(),
        };
        let pieces = files.into_iter().map(|((modified, _), _, piece)| (piece, modified)).collect();
        Ok(Collected { manifest, pieces, spool, left_out: Vec::new() })
    }
}

/// The parts of a path: `./home/x/` has two.
fn parts(name: &[u8]) -> Vec<Vec<u8>> {
    let parts = name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    parts.map(<[u8]>::to_vec).collect()
}

/// A tar need not have the folders that its files are in.
fn add_parents<'a>(folders: &mut BTreeMap<Place, Mode>, files: impl Iterator<Item = &'a Place>) {
    let known: Vec<Place> = folders.keys().cloned().collect();
    for place in files.cloned().chain(known) {
        let mut bytes = place.as_bytes();
        while let Some(end) = bytes.iter().rposition(|byte| *byte == b'/') {
            bytes = &bytes[..end];
            if let Ok(parent) = Place::parse(bytes) {
                folders.entry(parent).or_insert(Mode::of_folder(PRIVATE));
            }
        }
    }
}
