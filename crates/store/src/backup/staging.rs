//! The two folders that a backup is unpacked into: a hidden one beside the teams, and one in the state folder. And the one
//! for a plain tar that is packed anew before.
//!
//! The restore that fills one holds an `flock` on it. One without a holder is a dead restore's, of whichever team, and
//! the next restore or `doctor --fix` removes it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::remove_folder;
use crate::fresh::fresh_id;
use crate::interrupt;
use crate::lock::LockTimes;
use crate::lock::queue::Queue;
use crate::paths::{Root, State, create_private_folders};
use crate::points;

/// In the name of a folder that a backup is unpacked into.
const MARK: &str = ".atm-restore-";

/// The folders of one restore, both held and removed on drop.
#[derive(Debug)]
pub(super) struct Staging {
    /// For `team` and `tasks`.
    pub(super) team: PathBuf,
    /// For `archive`.
    pub(super) state: PathBuf,
    held: Vec<File>,
}

impl Staging {
    /// Makes them for the team whose place is `folder`.
    pub(super) fn new(folder: &Path, state: &State, times: LockTimes) -> Result<Self, StoreError> {
        let id = fresh_id().simple().to_string();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut staging = Self {
            team: folder.with_file_name(format!(".{name}{MARK}{id}")),
            state: place(state).join(format!("{name}{MARK}{id}")),
            held: Vec::new(),
        };
        let _turn = turn(state, times)?;
        for (path, point) in [(&staging.team, "restore_begun"), (&staging.state, "restore_staged")] {
            staging.held.push(make(path, || points::reached(point))?);
        }
        Ok(staging)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for folder in [&self.team, &self.state] {
            remove_folder(folder);
            interrupt::forget(folder);
        }
        self.held.clear();
    }
}

/// A plain tar that is packed anew, in a folder of its own that is held, and removed on drop.
#[derive(Debug)]
pub struct Repacked {
    folder: PathBuf,
    #[cfg_attr(not(test), expect(dead_code, reason = "held for its drop"))]
    held: File,
}

impl Repacked {
    pub(super) fn begin(state: &State, times: LockTimes) -> Result<Self, StoreError> {
        let folder = place(state).join(format!("repacked{MARK}{}", fresh_id().simple()));
        let _turn = turn(state, times)?;
        let held = make(&folder, || ())?;
        Ok(Self { folder, held })
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.folder.join("team.tar.zst")
    }
}

impl Drop for Repacked {
    fn drop(&mut self) {
        remove_folder(&self.folder);
        interrupt::forget(&self.folder);
    }
}

/// Makes a folder and holds it.
fn make(path: &Path, made: impl FnOnce()) -> Result<File, StoreError> {
    interrupt::create_folder(path, || disk::create_dir(0o700, path)).doing("create", path)?;
    made();
    let held = disk::open_to_read(path).doing("open", path)?;
    // Where there is no `flock`, nobody takes it for a dead one's either.
    let _ = disk::try_lock(&held);
    Ok(held)
}

/// The folders that dead restores left, each held by us from now on.
fn abandoned(root: &Root, state: &State, times: LockTimes) -> Result<Vec<(PathBuf, File)>, StoreError> {
    let is_ours = |path: &PathBuf, prefix: &str| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let id = name.strip_prefix(prefix).and_then(|name| name.rsplit_once(MARK)).map(|(_, id)| id);
        id.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let found = |folder: PathBuf, prefix: &'static str| {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| entry.path()).filter(move |path| is_ours(path, prefix))
    };
    let all: Vec<PathBuf> = found(root.teams(), ".").chain(found(place(state), "")).collect();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    // Nobody is between making a folder and holding it.
    let _turn = turn(state, times)?;
    let free = |path: PathBuf| {
        let held = disk::open_to_read(&path).ok()?;
        disk::try_lock(&held).is_ok().then_some((path, held))
    };
    Ok(all.into_iter().filter_map(free).collect())
}

/// The folders that restores left which died in the middle.
pub fn abandoned_restores(root: &Root, state: &State, times: LockTimes) -> Result<Vec<PathBuf>, StoreError> {
    Ok(abandoned(root, state, times)?.into_iter().map(|(path, _)| path).collect())
}

/// Removes what restores left which died in the middle.
pub fn remove_abandoned_restores(root: &Root, state: &State, times: LockTimes) -> Result<(), StoreError> {
    for (path, _held) in abandoned(root, state, times)? {
        remove_folder(&path);
    }
    Ok(())
}

/// Held while folders are made, and while one looks for those that nobody holds.
fn turn(state: &State, times: LockTimes) -> Result<Queue, StoreError> {
    create_private_folders(&place(state))?;
    Queue::enter(&state.queue(&place(state)), &times.deadline())
}

fn place(state: &State) -> PathBuf {
    state.path().join("restoring")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_being_packed_anew_by_a_dead_process_is_removed_too() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
        let times = LockTimes::default();
        let [living, dead] = [(); 2].map(|()| Repacked::begin(&state, times).unwrap());
        for repacked in [&living, &dead] {
            fs::write(repacked.file(), "half of it").unwrap();
        }
        let left = dead.folder.clone();
        dead.held.unlock().unwrap();
        std::mem::forget(dead);
        assert_eq!(abandoned_restores(&root, &state, times).unwrap(), std::slice::from_ref(&left));
        remove_abandoned_restores(&root, &state, times).unwrap();
        assert!(!left.exists() && living.file().exists());
        let place = living.folder.clone();
        drop(living);
        assert!(!place.exists());
    }

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
        fs::create_dir_all(root.teams().join("dev")).unwrap();
        let times = LockTimes::default();
        let living = Staging::new(&root.teams().join("dev"), &state, times).unwrap();
        let dead = Staging::new(&root.teams().join("o.ther"), &state, times).unwrap();
        for folder in [&dead.team, &dead.state, &living.team] {
            fs::create_dir(folder.join("team")).unwrap();
        }
        let left = [dead.team.clone(), dead.state.clone()];
        dead.held.iter().for_each(|held| held.unlock().unwrap());
        std::mem::forget(dead);
        let other = root.teams().join(".x.atm-restore-mine");
        fs::create_dir(&other).unwrap();
        assert_eq!(abandoned_restores(&root, &state, times).unwrap(), left);
        remove_abandoned_restores(&root, &state, times).unwrap();
        assert!(left.iter().all(|path| !path.exists()));
        assert!(living.team.exists() && living.state.exists() && other.exists());
        let places = [living.team.clone(), living.state.clone()];
        drop(living);
        assert!(places.iter().all(|path| !path.exists()));
    }
}
