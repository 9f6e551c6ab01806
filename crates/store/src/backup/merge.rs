//! A backup beside a team that is there: unpacked and checked, to be looked at and taken over piece by piece.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use atm_wire::MemberName;
use atm_wire::backup::{FileEntry, Manifest};

use super::places::{Kind, kind};
use super::restore::Unpacked;
use super::unpack::Limits;
use super::{Progress, Site};
use crate::carry::Load;
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Access, Staged, ensure_folder, ensure_folder_like, rename_new, sync_folder};
use crate::interrupt;
use crate::lock::queue::Queue;
use crate::mailbox::Mailbox;
use crate::paths::{State, create_private_folders};
use crate::tasks::TaskFolder;
use crate::team::TeamFolder;

/// A backup that was checked, in folders beside their places; they are removed on drop.
pub struct Opened<'a> {
    site: Site<'a>,
    unpacked: Unpacked,
    _turn: Queue,
}

/// How many files came, and how many were there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Files {
    /// How many are there now that were not.
    pub added: usize,
    /// How many were there; they stay as they are.
    pub kept: usize,
}

/// Unpacks and checks a backup.
pub fn open<'a>(
    site: Site<'a>,
    backup: &Path,
    limits: Limits,
    progress: Progress,
) -> Result<Opened<'a>, StoreError> {
    create_private_folders(&site.root.teams())?;
    let folder = site.root.team(site.team);
    let turn = Unpacked::turn(&folder, site)?;
    let unpacked = Unpacked::new(&folder, site, backup, limits, progress)
        .map_err(|error| interrupt::explain(error, &folder))?;
    Ok(Opened { site, unpacked, _turn: turn })
}

impl Opened<'_> {
    /// What the backup says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.unpacked.manifest
    }

    /// The team's configuration, if there is one.
    pub fn config(&self) -> Result<Option<String>, StoreError> {
        let path = self.unpacked.folders.team.join("team/config.json");
        match disk::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", &path),
        }
    }

    /// Everybody who has an inbox in it.
    pub fn inbox_names(&self) -> Vec<MemberName> {
        self.folder().inbox_names()
    }

    /// The mail of one of them.
    pub fn mail(&self, name: &MemberName) -> Result<Load, StoreError> {
        let elsewhere = State::new(self.unpacked.folders.state.clone());
        Mailbox::open(self.folder().path(), name, &elsewhere, self.site.times).carry()
    }

    fn folder(&self) -> TeamFolder {
        TeamFolder::at(self.unpacked.folders.team.join("team"), self.site.state, self.site.times)
    }

    /// Adds what the archive does not have. Gives how many messages came, and how many were there.
    pub fn merge_archive(&self) -> Result<Files, StoreError> {
        let (added, kept) = self.unpacked.add_to_archive(self.site)?;
        Ok(Files { added, kept })
    }

    /// Makes the tasks that are not there.
    pub fn merge_tasks(&self) -> Result<Files, StoreError> {
        let tasks = TaskFolder::new(self.site.root, self.site.team, self.site.state, self.site.times);
        let mut files = Files::default();
        for file in &self.manifest().files {
            let path = self.unpacked.folders.team.join(OsStr::from_bytes(file.path.as_bytes()));
            match kind(file.path.as_bytes()) {
                Kind::Task(id) => {
                    let text = disk::read_to_string(&path).doing("read", &path)?;
                    let is_new = tasks.adopt(id, &text)?;
                    *if is_new { &mut files.added } else { &mut files.kept } += 1;
                }
                Kind::LastTask => {
                    let text = disk::read_to_string(&path).unwrap_or_default();
                    if let Ok(id) = atm_wire::task::TaskId::parse(text.trim()) {
                        tasks.reserve(id)?;
                    }
                }
                _ => {}
            }
        }
        Ok(files)
    }

    /// Makes the files that are neither mail nor tasks, where there is none of that name.
    pub fn merge_files(&self) -> Result<Files, StoreError> {
        let mut files = Files::default();
        let others = self.manifest().files.iter().filter(|file| kind(file.path.as_bytes()) == Kind::Other);
        for file in others {
            let is_new = self.merge_file(file)?;
            *if is_new { &mut files.added } else { &mut files.kept } += 1;
        }
        Ok(files)
    }

    fn merge_file(&self, file: &FileEntry) -> Result<bool, StoreError> {
        let (top, rest) = file.path.split();
        let folder = match top {
            b"tasks" => self.site.root.tasks(self.site.team),
            _ => self.site.root.team(self.site.team),
        };
        let target = folder.join(OsStr::from_bytes(rest));
        if target.symlink_metadata().is_ok() {
            return Ok(false);
        }
        if top == b"tasks" {
            create_private_folders(folder.parent().unwrap_or(Path::new("/")))?;
        }
        let above: Vec<&Path> =
            target.ancestors().skip(1).take_while(|path| path.starts_with(&folder)).collect();
        ensure_folder_like(&folder, &self.site.root.team(self.site.team))?;
        above.into_iter().rev().try_for_each(ensure_folder)?;
        let source = self.unpacked.folders.team.join(OsStr::from_bytes(file.path.as_bytes()));
        let (staged, new) = Staged::begin_beside(&target)?;
        let copied =
            disk::open_to_read(&source).and_then(|mut source| io::copy(&mut source, &mut disk::Writer(&new)));
        copied.and_then(|_| disk::sync_all(&new)).doing("write", staged.temp())?;
        let given = match Access::inside(target.parent().unwrap_or(&folder)) {
            Access::Owner => disk::set_file_permissions(&new, Permissions::from_mode(file.mode.bits())),
            group @ Access::Group(_) => group.give(&new),
        };
        given.doing("set the mode of", staged.temp())?;
        let _critical = interrupt::critical();
        match rename_new(staged.temp(), &target) {
            Err(StoreError::Exists { .. }) => return Ok(false),
            renamed => renamed?,
        }
        sync_folder(target.parent().unwrap_or(Path::new("/")))?;
        Ok(true)
    }
}
