//! What a member leaves for others: `tasks/<team>/<name>/`, with `output.log`, `task-status.json` and `artifacts/`.
//!
//! Any member can write there, so what is in it is not trusted: below `tasks/<team>/` no link is followed, neither to a
//! folder nor to a file, and what is no plain file is not opened.

mod place;
mod tail;

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use atm_wire::status::{News, TaskStatus};
use atm_wire::{ArtifactName, MemberName, TeamName};

pub use tail::{Added, Tail};

use crate::commit::{Content, Plan, SharedFile};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Access, ensure_folder, ensure_folder_like};
use crate::lock::LockTimes;
use crate::lock::queue::Queue;
use crate::paths::{Root, State, create_private_folders};
use place::Place;

const LOG: &str = "output.log";
const STATUS: &str = "task-status.json";
const FILES: &str = "artifacts";

/// One member's folder.
#[derive(Debug)]
pub struct ArtifactFolder {
    path: PathBuf,
    /// The team's own folder, which tells who may read.
    team: PathBuf,
    state: State,
    times: LockTimes,
}

/// A file that a member left.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// Its name.
    pub name: ArtifactName,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written.
    pub modified: Option<SystemTime>,
}

impl ArtifactFolder {
    /// The folder of a member, whether it exists or not.
    pub fn new(root: &Root, team: &TeamName, member: &MemberName, state: &State, times: LockTimes) -> Self {
        let path = root.tasks(team).join(member.file_stem());
        Self { path, team: root.team(team), state: state.clone(), times }
    }

    /// The names that have such a folder with something in it.
    pub fn members(root: &Root, team: &TeamName) -> Result<Vec<MemberName>, StoreError> {
        let tasks = root.tasks(team);
        let Some(place) = Place::open(&tasks)? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for name in place.names()? {
            let Ok(member) = MemberName::parse(&name) else { continue };
            let Ok(Some(folder)) = place.folder(&name) else { continue };
            if folder.names()?.iter().any(|name| [LOG, STATUS, FILES].contains(&name.as_str())) {
                names.push(member);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the member reports of itself, if it does.
    pub fn status(&self) -> Result<Option<TaskStatus>, StoreError> {
        let Some(mut file) = self.open_in_folder(STATUS)? else { return Ok(None) };
        let path = self.path.join(STATUS);
        let mut text = String::new();
        file.read_to_string(&mut text).doing("read", &path)?;
        TaskStatus::parse(&text).map(Some).map_err(|flaw| StoreError::bad(&path, flaw.to_string()))
    }

    /// Brings the member's report up to date. One that does not parse is set aside.
    pub fn report(&self, news: &News) -> Result<TaskStatus, StoreError> {
        self.make()?;
        let file = SharedFile::new(self.path.join(STATUS), &self.state, self.times).without_links();
        self.open_in_folder(STATUS)?; // A link there is refused.
        let bad = |flaw: atm_wire::message::Flaw| StoreError::bad(file.path(), flaw.to_string());
        file.update(|look| {
            let old = match (look.content, file.whole(look)) {
                (Content::Missing, _) => None,
                (_, Ok(None)) => return Ok(Plan::Unsure),
                (_, Ok(Some(text))) if TaskStatus::parse(text).is_ok() => Some(text),
                (Content::Text(text), _) => set_aside(&file, text.as_bytes())?,
                (Content::NotUtf8(bytes), _) => set_aside(&file, bytes)?,
            };
            let text = TaskStatus::edit(old, news).map_err(bad)?;
            let report = TaskStatus::parse(&text).map_err(bad)?;
            Ok(Plan::Replace(text, report))
        })
    }

    /// The files that the member left, by name.
    pub fn list(&self) -> Result<Vec<Artifact>, StoreError> {
        let Some(place) = self.files()? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for name in place.names()? {
            let Ok(name) = ArtifactName::parse(&name) else { continue };
            if let Some(file) = place.file(name.as_str()).ok().flatten() {
                let metadata =
                    file.metadata().doing("look at", &self.path.join(FILES).join(name.as_str()))?;
                files.push(Artifact { name, size: metadata.len(), modified: metadata.modified().ok() });
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// Keeps a file for others, durably, in the place of one of that name; gives its size.
    pub fn put(&self, name: &ArtifactName, content: &mut impl Read) -> Result<u64, StoreError> {
        self.make()?;
        let path = self.path.join(FILES).join(name.as_str());
        let queue = Queue::enter(&self.state.queue(&path), &self.times.deadline())?;
        ensure_folder(&self.path.join(FILES))?;
        let place = self.files()?.ok_or(io::Error::from(io::ErrorKind::NotFound)).doing("open", &path)?;
        let size = place.put(name.as_str(), content, &queue)?;
        queue.clear();
        Ok(size)
    }

    /// A file that the member left, if there is one.
    pub fn open(&self, name: &ArtifactName) -> Result<Option<File>, StoreError> {
        self.files()?.map_or(Ok(None), |place| place.file(name.as_str()))
    }

    /// What the member's process has written, if anything keeps that.
    pub fn log(&self) -> Result<Option<File>, StoreError> {
        self.open_in_folder(LOG)
    }

    /// The log, for somebody who adds to it; made where it is missing. A link in its place is refused.
    pub fn log_to_add_to(&self) -> Result<PathBuf, StoreError> {
        self.make()?;
        let path = self.path.join(LOG);
        if self.log()?.is_none() {
            let made = disk::open(OpenOptions::new().append(true).create_new(true).mode(0o600), &path);
            made.and_then(|file| Access::inside(&self.path).give(&file)).doing("create", &path)?;
        }
        Ok(path)
    }

    fn open_in_folder(&self, name: &str) -> Result<Option<File>, StoreError> {
        self.folder()?.map_or(Ok(None), |place| place.file(name))
    }

    fn folder(&self) -> Result<Option<Place>, StoreError> {
        let (Some(tasks), Some(name)) = (self.path.parent(), self.path.file_name()) else { return Ok(None) };
        let Some(place) = Place::open(tasks)? else { return Ok(None) };
        place.folder(&name.to_string_lossy())
    }

    fn files(&self) -> Result<Option<Place>, StoreError> {
        self.folder()?.map_or(Ok(None), |place| place.folder(FILES))
    }

    /// Makes the folder where it is missing; a link in its place is refused.
    fn make(&self) -> Result<(), StoreError> {
        if let Some(tasks) = self.path.parent().and_then(Path::parent) {
            create_private_folders(tasks)?;
        }
        if let Some(tasks) = self.path.parent() {
            self.state.bounds().check_folder(tasks)?;
            ensure_folder_like(tasks, &self.team)?;
        }
        ensure_folder(&self.path)?;
        self.folder().map(drop)
    }
}

fn set_aside<'a>(file: &SharedFile, bytes: &[u8]) -> Result<Option<&'a str>, StoreError> {
    file.quarantine().keep(file.path(), bytes, "bad-json")?;
    Ok(None)
}
