//! Putting a backup in place: unpacked and checked beside it first, then renamed.
//!
//! | step | a crash before it leaves | cleaned up by |
//! |---|---|---|
//! | the turn at that team's name | nothing | |
//! | all files unpacked, checked and synced | a hidden folder beside the teams, one in the state folder | the next restore, `doctor --fix` |
//! | the archive put in place, or added to the one that is there | as above | as above |
//! | the tasks renamed into place | an archive that is there again | it is not doubled by the next restore |
//! | **the team renamed into place** | the tasks | the next restore finds that they are the same |
//!
//! So the team is there at once and whole, or not at all.

use std::ffi::OsStr;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::staging::{Staging, remove_abandoned_restores};
use super::unpack::{Limits, Sink, unpack};
use super::{Progress, Site};
use crate::archive::{ALWAYS, Archive, Whence};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{rename_new, sync_folder};
use crate::group::Group;
use crate::interrupt;
use crate::lock::queue::Queue;
use crate::paths::{State, create_private_folders};
use crate::points;
use atm_wire::archive::Archived;
use atm_wire::backup::{FileEntry, FolderEntry, Manifest, Mode, Place};
use atm_wire::{migrate, team};

/// Times of files tell which of two changed first only if they are so far apart.
const TICK: Duration = Duration::from_millis(12);

/// A backup that was put in place.
#[derive(Debug)]
pub struct Restored {
    /// What was in it.
    pub manifest: Manifest,
    /// The team's folder.
    pub folder: PathBuf,
    /// How many messages of its archive were there already.
    pub archived_before: usize,
    /// The group that could read it, and cannot now: it is not there, or not ours to give files to.
    pub lost_group: Option<String>,
}

/// Makes a team of a backup, under the site's name. There must be no such team.
pub fn restore(
    site: Site,
    backup: &Path,
    limits: Limits,
    progress: Progress,
) -> Result<Restored, StoreError> {
    let teams = site.root.teams();
    create_private_folders(&teams)?;
    let folder = teams.join(site.team.as_str());
    let tasks = site.root.tasks(site.team);
    let _turn = Unpacked::turn(&folder, site)?;
    if folder.exists() {
        return Err(StoreError::Exists { path: folder });
    }
    let unpacked = Unpacked::new(&folder, site, backup, limits, progress)
        .map_err(|error| interrupt::explain(error, &folder))?;
    let manifest = &unpacked.manifest;
    if tasks.exists() && !is_same(&tasks, manifest, b"tasks") {
        return Err(StoreError::Exists { path: tasks });
    }
    if manifest.team != site.team.as_str() {
        let config = unpacked.folders.team.join("team/config.json");
        rename_team(&config, &manifest.team, site.team.as_str(), backup)?;
    }
    points::reached("restore_unpacked");
    let archived_before = unpacked.put_archive(site)?;
    points::reached("restore_archived");
    if unpacked.folders.team.join("tasks").is_dir() && !tasks.exists() {
        create_private_folders(tasks.parent().unwrap_or(&teams))?;
        unpacked.put("tasks", &tasks)?;
    }
    points::reached("restore_tasks");
    unpacked.put("team", &folder)?;
    points::reached("restore_placed");
    let manifest = manifest.clone();
    let lost_group = manifest.group.clone().filter(|_| unpacked.sharing == Sharing::Lost);
    drop(unpacked);
    Ok(Restored { manifest, folder, archived_before, lost_group })
}

/// A backup's files in folders beside their places, checked and synced; removed on drop.
pub(super) struct Unpacked {
    pub(super) manifest: Manifest,
    pub(super) folders: Staging,
    sharing: Sharing,
}

/// What becomes of the group that could read a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// There was none: modes are as they were, and so is whose group the files get.
    None,
    /// It gets the files.
    With(u32),
    /// It cannot get them, and nobody else's group may.
    Lost,
}

impl Sharing {
    /// What can be done for this group, with a folder of ours to try it on.
    fn of(group: Option<&str>, folder: &Path) -> Self {
        let Some(name) = group else { return Self::None };
        let given = Group::find(name).filter(|group| disk::chown(folder, None, Some(group.id)).is_ok());
        given.map_or(Self::Lost, |group| Self::With(group.id))
    }

    fn group(self) -> Option<u32> {
        if let Self::With(group) = self { Some(group) } else { None }
    }

    fn mode(self, mode: Mode) -> Permissions {
        let hidden = if self == Self::Lost { 0o2070 } else { 0 };
        Permissions::from_mode(mode.bits() & !hidden)
    }
}

impl Unpacked {
    /// Our turn at a team's name, and what dead restores left is gone.
    pub(super) fn turn(folder: &Path, site: Site) -> Result<Queue, StoreError> {
        let turn = Queue::enter(&site.state.queue(folder), &site.times.deadline())?;
        remove_abandoned_restores(site.root, site.state, site.times)?;
        Ok(turn)
    }

    /// Unpacks beside `folder`, and the archive in the state folder.
    pub(super) fn new(
        folder: &Path,
        site: Site,
        backup: &Path,
        limits: Limits,
        progress: Progress,
    ) -> Result<Self, StoreError> {
        let folders = Staging::new(folder, site.state, site.times)?;
        let mut unpacking = Stage {
            team: folders.team.clone(),
            state: folders.state.clone(),
            rotated: Vec::new(),
            modes: Vec::new(),
            sharing: Sharing::None,
        };
        let manifest = unpack(backup, limits, &mut unpacking, progress)?;
        points::reached("restore_checked");
        unpacking.finish()?;
        Ok(Self { manifest, folders, sharing: unpacking.sharing })
    }

    /// Gives one of its folders its mode and its place, in which nothing may be. A folder that may not be written into
    /// cannot be moved, and gets its mode there.
    fn put(&self, top: &str, to: &Path) -> Result<(), StoreError> {
        let from = if top == "archive" { &self.folders.state } else { &self.folders.team }.join(top);
        let _critical = interrupt::critical();
        let folder = self.manifest.folders.iter().find(|folder| folder.path.as_bytes() == top.as_bytes());
        let mode = folder.map(|folder| self.sharing.mode(folder.mode));
        let set = |path: &Path, mode: &Permissions| {
            disk::set_permissions(path, mode.clone()).doing("set the mode of", path)
        };
        let (before, after) = mode.map_or((None, None), |mode| {
            if mode.mode() & 0o200 == 0 { (None, Some(mode)) } else { (Some(mode), None) }
        });
        before.map_or(Ok(()), |mode| set(&from, &mode))?;
        rename_new(&from, to)?;
        after.map_or(Ok(()), |mode| set(to, &mode))?;
        sync_folder(to.parent().unwrap_or(Path::new("/"))).map_err(|error| StoreError::unsynced(to, error))
    }

    /// Puts the archive in place. One that is there is added to: gives how many messages it had already.
    fn put_archive(&self, site: Site) -> Result<usize, StoreError> {
        let staged = self.folders.state.join("archive");
        if !staged.is_dir() {
            return Ok(0);
        }
        let target = site.state.archives().join(site.team.file_stem());
        let is_same_team = self.manifest.root == site.root_key && self.manifest.team == site.team.as_str();
        if is_same_team && !target.exists() {
            create_private_folders(&site.state.archives())?;
            self.put("archive", &target)?;
            return Ok(0);
        }
        self.add_to_archive(site).map(|(_, known)| known)
    }

    /// Adds to the archive what it does not have. Gives how many messages came, and how many were there.
    pub(super) fn add_to_archive(&self, site: Site) -> Result<(usize, usize), StoreError> {
        let staged = self.folders.state.join("archive");
        if !staged.is_dir() {
            return Ok((0, 0));
        }
        let state = State::new(self.folders.state.clone());
        let (mut all, mut known) = (0, 0);
        for archive in Archive::in_folder(&staged, &state, site.times)? {
            let view = archive.view(ALWAYS)?;
            for block in view.blocks() {
                let mut warnings = Vec::new();
                let messages = view.read(block, &mut warnings);
                all += messages.len();
                known += adopt(site, archive.stem(), &messages)?;
                if let Some(warning) = warnings.first() {
                    return Err(StoreError::bad(&staged, warning.to_string()));
                }
            }
        }
        Ok((all - known, known))
    }
}

/// Puts archived messages into the archives of the names that they were for, or of `stem`. Gives how many were there.
pub fn adopt(site: Site, stem: &str, messages: &[Archived]) -> Result<usize, StoreError> {
    let to =
        |message: &Archived| message.origin.as_ref().map_or(stem, |origin| origin.to.as_str()).to_owned();
    let mut names: Vec<String> = messages.iter().map(to).collect();
    names.sort();
    names.dedup();
    let mut known = 0;
    for name in names {
        let Ok(member) = atm_wire::MemberName::parse(&name) else { continue };
        let archive = Archive::new(site.state, site.team, &member, site.times);
        let whence = Whence {
            root: site.root_key.to_owned(),
            team: site.team.to_string(),
            to: name.clone(),
            at: atm_wire::Stamp::from_millis(0),
        };
        let of_name: Vec<&Archived> = messages.iter().filter(|message| to(message) == name).collect();
        known += archive.writer(whence)?.adopt(&of_name)?;
    }
    Ok(known)
}

/// Where files are written before they are in place.
struct Stage {
    team: PathBuf,
    state: PathBuf,
    /// The folders of logs with rotated files: there the order of changes tells what was read.
    rotated: Vec<Vec<u8>>,
    modes: Vec<(PathBuf, Mode)>,
    sharing: Sharing,
}

impl Stage {
    fn path(&self, place: &Place) -> PathBuf {
        let top = if place.split().0 == b"archive" { &self.state } else { &self.team };
        top.join(OsStr::from_bytes(place.as_bytes()))
    }

    /// The group that gets it; the archive is the owner's alone.
    fn group_for(&self, place: &Place) -> Option<u32> {
        self.sharing.group().filter(|_| place.split().0 != b"archive")
    }

    /// Whether it is a cursor beside rotated files.
    fn is_counted(&self, place: &Place) -> bool {
        place
            .as_bytes()
            .strip_suffix(b"/state.json")
            .is_some_and(|folder| self.rotated.iter().any(|f| f == folder))
    }

    /// Gives the folders their modes and syncs them, the innermost first.
    fn finish(&mut self) -> Result<(), StoreError> {
        self.modes.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
        let tops = [self.team.join("team"), self.team.join("tasks"), self.state.join("archive")];
        for (path, mode) in self.modes.iter().filter(|(path, _)| !tops.contains(path)) {
            let _critical = interrupt::critical();
            disk::set_permissions(path, self.sharing.mode(*mode)).doing("set the mode of", path)?;
            match sync_folder(path) {
                // A mode that does not let us look in is what was asked for.
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {}
                synced => synced?,
            }
        }
        let tops = tops.iter().filter(|path| path.is_dir()).chain([&self.team, &self.state]);
        tops.map(PathBuf::as_path).try_for_each(sync_folder)
    }
}

impl Sink for Stage {
    fn begin(&mut self, manifest: &Manifest) -> Result<(), StoreError> {
        let is_rotated = |place: &Place| {
            let name = place.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            name.starts_with(b"inbox") && name.contains(&b'.') && !name.ends_with(b".lock")
        };
        let folders = manifest.files.iter().filter(|file| is_rotated(&file.path)).filter_map(|file| {
            let bytes = file.path.as_bytes();
            Some(bytes[..bytes.iter().rposition(|byte| *byte == b'/')?].to_vec())
        });
        self.rotated = folders.collect();
        self.sharing = Sharing::of(manifest.group.as_deref(), &self.team);
        // All folders first, the outermost first: files may come in any order.
        let mut folders: Vec<&FolderEntry> = manifest.folders.iter().collect();
        folders.sort_by_key(|folder| folder.path.as_bytes().len());
        for folder in folders {
            let path = self.path(&folder.path);
            let _critical = interrupt::critical();
            disk::create_dir(0o700, &path).doing("create", &path)?;
            disk::chown(&path, None, self.group_for(&folder.path)).doing("give to the group", &path)?;
            self.modes.push((path, folder.mode));
        }
        Ok(())
    }

    fn folder(&mut self, _: &FolderEntry) -> Result<(), StoreError> {
        Ok(())
    }

    fn file(&mut self, file: &FileEntry, content: &mut dyn Read) -> Result<(), StoreError> {
        let path = self.path(&file.path);
        let is_counted = self.is_counted(&file.path);
        if is_counted {
            disk::pause(TICK);
        }
        // Told to stop, the process does not begin another file; what is there is removed.
        let _critical = interrupt::critical();
        let target = disk::open(OpenOptions::new().write(true).create_new(true).mode(0o600), &path)
            .doing("create", &path)?;
        io::copy(content, &mut disk::Writer(&target)).doing("write", &path)?;
        disk::fchown(&target, None, self.group_for(&file.path)).doing("give to the group", &path)?;
        disk::set_file_permissions(&target, self.sharing.mode(file.mode)).doing("set the mode of", &path)?;
        disk::sync_all(&target).doing("sync", &path)?;
        if is_counted {
            disk::pause(TICK);
        }
        points::reached("restore_file");
        Ok(())
    }
}

/// Whether a folder has every file that the backup has for it, with the same bytes.
fn is_same(folder: &Path, manifest: &Manifest, top: &[u8]) -> bool {
    let mut files = manifest.files.iter().filter(|file| file.path.split().0 == top);
    files.all(|file| {
        let path = folder.join(OsStr::from_bytes(file.path.split().1));
        disk::open_to_read(path)
            .is_ok_and(|there| super::spool::hash(&there).is_ok_and(|hash| hash == file.sha256))
    })
}

/// The team's own name, where its configuration has it.
fn rename_team(config: &Path, old: &str, new: &str, backup: &Path) -> Result<(), StoreError> {
    if !config.is_file() {
        return Ok(());
    }
    let text = disk::read_to_string(config).doing("read", config)?;
    if let Some(version) = migrate::newer(&text) {
        let why = format!(
            "its config.json is of version {version} of its format, which this atm cannot give another name"
        );
        return Err(StoreError::BadBackup { path: backup.to_owned(), why });
    }
    let renamed =
        team::renamed(&text, old, new).map_err(|error| StoreError::bad(config, error.to_string()))?;
    let _critical = interrupt::critical();
    // It is not in its place yet: nobody else sees it.
    disk::write(config, renamed).doing("write", config)?;
    disk::open_to_read(config).and_then(|file| disk::sync_all(&file)).doing("sync", config)
}
