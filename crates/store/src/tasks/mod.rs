//! The tasks of a team: `tasks/<team>/<id>.json`, one file a task.
//!
//! | change | locks, in this order |
//! |---|---|
//! | a task | our queue for it, `flock` on `.lock`, the directory `<id>.json.lock` |
//! | a new task, the number of the last one | our queue for `.lock`, `flock` on `.lock`, the directory `.lock.lock` |
//!
//! A new task's number is taken first, by raising `.highwatermark`, and its file is made after that: who dies in
//! between leaves a gap, and no number is ever given twice.

mod mirror;
mod number;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use atm_wire::TeamName;
use atm_wire::task::{Change, Task, TaskId, edit};

use crate::commit::{Content, Look, Plan, SharedFile};
use crate::error::{IoContext, StoreError};
use crate::files::{Snapshot, ensure_folder_like, is_settled, read_patiently, resolve};
use crate::lock::LockTimes;
use crate::lock::queue::Queue;
use crate::paths::{Root, State, create_private_folders};

/// The tasks of one team on disk.
#[derive(Debug)]
pub struct TaskFolder {
    path: PathBuf,
    /// The team's own folder, which tells who may read.
    team: PathBuf,
    state: State,
    times: LockTimes,
}

/// All tasks of a team.
#[derive(Debug, Default)]
pub struct TaskListing {
    /// Those that can be read, by their number, lowest first.
    pub tasks: Vec<(TaskId, Task)>,
    /// The files that cannot.
    pub skipped: Vec<Skipped>,
}

/// A task's file that cannot be read. It is left alone, and its number is never given to another.
#[derive(Debug, Clone)]
pub struct Skipped {
    /// The number in its name.
    pub id: TaskId,
    /// What is wrong with which file.
    pub error: StoreError,
}

/// What the files of all tasks look like from outside: it changes whenever a task may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TasksSignature {
    /// It, as text.
    pub text: String,
    /// The next change is bound to show in it: no file is so young that two changes could look the same.
    pub is_settled: bool,
}

/// What somebody wants to happen to a task, after a look at it.
#[derive(Debug)]
pub enum Decision<T> {
    /// Nothing.
    Keep(T),
    /// These changes.
    Change(Vec<Change>, T),
}

/// A turn at the links between a team's tasks, among all `atm` processes; ends on drop.
#[derive(Debug)]
pub struct LinkTurn {
    _queue: Queue,
}

impl TaskFolder {
    /// The tasks of `team`, whether there are any or not.
    pub fn new(root: &Root, team: &TeamName, state: &State, times: LockTimes) -> Self {
        Self { path: root.tasks(team), team: root.team(team), state: state.clone(), times }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All tasks. A file that does not parse is reported, not silently left out.
    pub fn list(&self) -> Result<TaskListing, StoreError> {
        let mut ids: Vec<TaskId> = self
            .file_names()?
            .iter()
            .filter_map(|name| TaskId::parse(name.strip_suffix(".json")?).ok())
            .collect();
        ids.sort();
        let mut listing = TaskListing::default();
        for id in ids {
            match self.load(id) {
                Ok(Some(task)) => listing.tasks.push((id, task)),
                // Somebody removed it meanwhile.
                Ok(None) => {}
                Err(error) => listing.skipped.push(Skipped { id, error }),
            }
        }
        Ok(listing)
    }

    /// What the task files look like, without reading any; none if there are none.
    pub fn signature(&self) -> Result<Option<TasksSignature>, StoreError> {
        let now = SystemTime::now();
        let (mut count, mut all, mut settled) = (0_u64, 0_u64, true);
        for name in self.file_names()? {
            if name.strip_suffix(".json").is_none_or(|id| TaskId::parse(id).is_err()) {
                continue;
            }
            // One that is gone by now is missing from the next signature.
            let Ok(found) = fs::metadata(self.path.join(&name)) else { continue };
            let mut hasher = DefaultHasher::new();
            (name, found.ino(), found.len(), found.mtime(), found.mtime_nsec()).hash(&mut hasher);
            // In whatever order the folder lists them.
            all = all.wrapping_add(hasher.finish());
            settled &= is_settled(&found, now);
            count += 1;
        }
        let text = format!("{count}:{all:016x}");
        Ok((count > 0).then_some(TasksSignature { text, is_settled: settled }))
    }

    /// When a task's file was last written, in milliseconds since the epoch.
    pub fn changed_at(&self, id: TaskId) -> Option<i64> {
        let found = fs::metadata(self.file(id)).ok()?;
        Some(found.mtime() * 1000 + found.mtime_nsec() / 1_000_000)
    }

    /// One task, if there is a file of that number.
    pub fn load(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let path = self.file(id);
        let task = read_patiently(&resolve(&path)?, |seen, is_last| match parse(&path, seen) {
            Err(_) if !is_last => None,
            parsed => Some(parsed),
        })?;
        task.unwrap_or(Ok(None))
    }

    /// Makes a task under the next number, which it gets told.
    pub fn create(&self, make: impl Fn(TaskId) -> Task) -> Result<(TaskId, Task), StoreError> {
        self.ensure_folders()?;
        loop {
            let id = self.take_number()?;
            let task = make(id);
            let path = self.file(id);
            let text = task.render().map_err(|error| StoreError::bad(&path, error.to_string()))?;
            // Only a client that does not look at the last number can have made this file meanwhile.
            let is_new = self.under_creation_lock(path).update(|look| match look.content {
                Content::Missing => Ok(Plan::Replace(text.clone(), true)),
                _ => Ok(Plan::Keep(false)),
            })?;
            if is_new {
                return Ok((id, task));
            }
        }
    }

    /// Makes the task of that number from a text, if there is none. Says whether it did.
    pub fn adopt(&self, id: TaskId, text: &str) -> Result<bool, StoreError> {
        self.ensure_folders()?;
        self.keep_number(id)?;
        self.under_creation_lock(self.file(id)).update(|look| match look.content {
            Content::Missing => Ok(Plan::Replace(text.to_owned(), true)),
            _ => Ok(Plan::Keep(false)),
        })
    }

    /// Sees to it that no number up to this one is given to a new task.
    pub fn reserve(&self, id: TaskId) -> Result<(), StoreError> {
        self.ensure_folders()?;
        self.keep_number(id)
    }

    fn ensure_folders(&self) -> Result<(), StoreError> {
        if let Some(tasks) = self.path.parent() {
            create_private_folders(tasks)?;
        }
        ensure_folder_like(&self.path, &self.team)
    }

    /// Looks at a task and changes it, as one step. `decide` may be asked several times; the last time is the one that
    /// counts. The task is as it is afterwards; `None` if there is none of that number.
    pub fn update<T>(
        &self,
        id: TaskId,
        mut decide: impl FnMut(&Task) -> Decision<T>,
    ) -> Result<Option<(Task, T)>, StoreError> {
        let file = self.shared(id);
        if !file.path().exists() {
            return Ok(None);
        }
        file.update(|look| {
            if matches!(look.content, Content::Missing) {
                return Ok(Plan::Keep(None));
            }
            let Some((task, text)) = whole(&file, look)? else { return Ok(Plan::Unsure) };
            let (changes, value) = match decide(&task) {
                Decision::Keep(value) => return Ok(Plan::Keep(Some((task, value)))),
                Decision::Change(changes, value) => (changes, value),
            };
            let bad = |flaw: atm_wire::message::Flaw| StoreError::bad(file.path(), flaw.to_string());
            let edited = edit(text, &changes).map_err(bad)?;
            let task = Task::parse(&edited).map_err(bad)?;
            Ok(if edited == text {
                Plan::Keep(Some((task, value)))
            } else {
                Plan::Replace(edited, Some((task, value)))
            })
        })
    }

    /// Removes a task if `judge`, who sees it as it is then, says so; its number stays taken. `None` if there is none.
    pub fn delete<E>(
        &self,
        id: TaskId,
        judge: impl FnOnce(&Task) -> Result<(), E>,
    ) -> Result<Option<Result<Task, E>>, StoreError> {
        if self.load(id)?.is_none() {
            return Ok(None);
        }
        self.keep_number(id)?;
        let file = self.shared(id);
        file.remove(|look| {
            if matches!(look.content, Content::Missing) {
                return Ok((false, None));
            }
            let Some((task, _)) = whole(&file, look)? else { return Ok((false, None)) };
            Ok(match judge(&task) {
                Ok(()) => (true, Some(Ok(task))),
                Err(refused) => (false, Some(Err(refused))),
            })
        })
    }

    /// Our turn at the links between tasks: who checks them for a circle must not be overtaken by who adds to them.
    pub fn link_turn(&self) -> Result<LinkTurn, StoreError> {
        let queue = Queue::enter(&self.state.queue(&self.path.join("links")), &self.times.deadline())?;
        Ok(LinkTurn { _queue: queue })
    }

    fn file(&self, id: TaskId) -> PathBuf {
        self.path.join(format!("{id}.json"))
    }

    /// A task's file with its own lock.
    fn shared(&self, id: TaskId) -> SharedFile {
        SharedFile::new(self.file(id), &self.state, self.times)
            .with_flock(self.path.join(".lock"))
            .with_directory_lock()
    }

    /// A file that is changed under the lock of those who make tasks. All of them have one queue: a file that was never
    /// made has no next one to clear away what its maker left.
    fn under_creation_lock(&self, path: PathBuf) -> SharedFile {
        let lock = self.path.join(".lock");
        SharedFile::new(path, &self.state, self.times)
            .in_queue_of(&lock, &self.state)
            .with_flock(lock)
            .with_directory(self.path.join(".lock.lock"))
    }

    fn file_names(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).doing("list", &self.path),
        };
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }
}

fn parse(path: &Path, seen: &Snapshot) -> Result<Option<Task>, StoreError> {
    match Content::of(seen) {
        Content::Missing => Ok(None),
        Content::NotUtf8(_) => Err(StoreError::bad(path, "is not UTF-8")),
        Content::Text(text) => {
            Task::parse(text).map(Some).map_err(|flaw| StoreError::bad(path, flaw.to_string()))
        }
    }
}

/// The task and its text, or `None` where somebody may be in the middle of writing it.
fn whole<'a>(file: &SharedFile, look: Look<'a>) -> Result<Option<(Task, &'a str)>, StoreError> {
    let Some(text) = file.whole(look)? else { return Ok(None) };
    let task = Task::parse(text).map_err(|flaw| StoreError::bad(file.path(), flaw.to_string()))?;
    Ok(Some((task, text)))
}
