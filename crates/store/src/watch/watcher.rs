//! The system's file events for all that wait in one process.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use notify::event::{ModifyKind, RenameMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// One watch for each folder, however many wait for it.
#[derive(Debug, Clone, Default)]
pub struct Watcher(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    system: Mutex<System>,
    /// Locked inside the system's own thread, so never while the system is asked for something.
    heard: Arc<Mutex<Heard>>,
}

#[derive(Debug, Default)]
struct System {
    /// Made when it is first needed.
    watcher: Option<RecommendedWatcher>,
    /// The system has none left.
    has_none: bool,
    watches: HashMap<PathBuf, Watch>,
    next: u64,
}

#[derive(Debug)]
struct Watch {
    id: u64,
    users: usize,
    /// The folder that it is of: another one may have its name by now.
    of: Identity,
}

/// What tells a folder from a later one of the same name, which may have the same number.
pub type Identity = (u64, u64, Option<SystemTime>);

/// What tells the folder that is at a path from others.
pub fn identity(folder: &Path) -> Option<Identity> {
    let found = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    Some((found.dev(), found.ino(), found.created().ok()))
}

/// What the system told of.
#[derive(Debug, Default)]
struct Heard {
    subscribers: Vec<Subscriber>,
    /// Watched folders that went away. With such news the system's library drops the watch that it has of that path, even if
    /// it is of a folder that was made there since.
    removed: HashSet<PathBuf>,
}

/// Somebody who waits for folders.
#[derive(Debug)]
struct Subscriber {
    id: u64,
    folders: HashSet<PathBuf>,
    changed: BTreeSet<PathBuf>,
    /// Events were lost: everything may have changed.
    lost: bool,
    wake: Sender<()>,
}

impl Watcher {
    /// Sees that a folder is watched for somebody who has the watch `held` of it; gives the watch that it has now.
    fn hold(&self, folder: &Path, held: Option<u64>) -> Option<u64> {
        let mut system = lock(&self.0.system);
        let was_removed = lock(&self.0.heard).removed.remove(folder);
        let found = identity(folder);
        if let Some(watch) = system.watches.get(folder) {
            let (id, is_same) = (watch.id, found == Some(watch.of));
            if !is_same || was_removed {
                let watcher = system.watcher(&self.0.heard)?;
                // It may be gone already.
                let _ = watcher.unwatch(folder);
                let is_watched =
                    found.is_some() && watcher.watch(folder, RecursiveMode::NonRecursive).is_ok();
                if !is_watched {
                    system.watches.remove(folder);
                    return None;
                }
            }
            let watch = system.watches.get_mut(folder)?;
            watch.of = found?;
            watch.users += usize::from(held != Some(id));
            return Some(id);
        }
        let of = found?;
        system.watcher(&self.0.heard)?.watch(folder, RecursiveMode::NonRecursive).ok()?;
        let id = system.next_id();
        system.watches.insert(folder.to_owned(), Watch { id, users: 1, of });
        Some(id)
    }

    fn release(&self, folder: &Path, held: u64) {
        let mut system = lock(&self.0.system);
        let Some(watch) = system.watches.get_mut(folder).filter(|watch| watch.id == held) else { return };
        watch.users -= 1;
        if watch.users == 0 {
            system.watches.remove(folder);
            if let Some(watcher) = system.watcher(&self.0.heard) {
                let _ = watcher.unwatch(folder);
            }
        }
    }
}

impl System {
    fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn watcher(&mut self, heard: &Arc<Mutex<Heard>>) -> Option<&mut RecommendedWatcher> {
        let make = || {
            let heard = Arc::clone(heard);
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if let Ok(event) = event
                    && !event.kind.is_access()
                {
                    lock(&heard).take(&event);
                }
            })
        };
        if self.watcher.is_none() && !self.has_none {
            self.watcher = make().ok();
            self.has_none = self.watcher.is_none();
        }
        self.watcher.as_mut()
    }
}

impl Heard {
    fn take(&mut self, event: &notify::Event) {
        let is_end =
            event.kind.is_remove() || event.kind == EventKind::Modify(ModifyKind::Name(RenameMode::From));
        for path in event.paths.iter().filter(|_| is_end) {
            if self.subscribers.iter().any(|subscriber| subscriber.folders.contains(path)) {
                self.removed.insert(path.clone());
            }
        }
        self.subscribers.iter_mut().for_each(|subscriber| subscriber.tell(&event.paths));
    }

    fn of(&mut self, id: u64) -> Option<&mut Subscriber> {
        self.subscribers.iter_mut().find(|subscriber| subscriber.id == id)
    }
}

impl Subscriber {
    fn tell(&mut self, paths: &[PathBuf]) {
        let folders = paths.iter().flat_map(|path| [Some(path.as_path()), path.parent()]).flatten();
        let ours: Vec<PathBuf> =
            folders.filter(|folder| self.folders.contains(*folder)).map(ToOwned::to_owned).collect();
        // An event without a path says that some were lost.
        if !ours.is_empty() || paths.is_empty() {
            self.lost |= paths.is_empty();
            self.changed.extend(ours);
            let _ = self.wake.send(());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happened in somebody's folders.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) folders: BTreeSet<PathBuf>,
    /// Events were lost: anything may have changed.
    pub(super) lost: bool,
}

/// Somebody's folders, which are watched until it is dropped.
#[derive(Debug)]
pub(super) struct Subscription {
    watcher: Watcher,
    id: u64,
    /// Each with the watch that it has; none where the system gives none.
    folders: BTreeMap<PathBuf, Option<u64>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        lock(&self.watcher.0.heard).subscribers.retain(|subscriber| subscriber.id != self.id);
        for (folder, held) in &self.folders {
            if let Some(held) = held {
                self.watcher.release(folder, *held);
            }
        }
    }
}

impl Subscription {
    /// Of no folder yet.
    pub(super) fn new(watcher: &Watcher, wake: Sender<()>) -> Self {
        let id = lock(&watcher.0.system).next_id();
        let (folders, changed) = (HashSet::new(), BTreeSet::new());
        lock(&watcher.0.heard).subscribers.push(Subscriber { id, folders, changed, lost: false, wake });
        Self { watcher: watcher.clone(), id, folders: BTreeMap::new() }
    }

    /// Watches exactly these folders from now on, as far as they are there.
    pub(super) fn set(&mut self, folders: impl IntoIterator<Item = PathBuf>) {
        let mut before = mem::take(&mut self.folders);
        for folder in folders {
            let held = before.remove(&folder).flatten();
            self.folders.insert(folder, held);
        }
        for (folder, held) in before {
            if let Some(held) = held {
                self.watcher.release(&folder, held);
            }
        }
        let wanted = self.folders.keys().cloned().collect();
        if let Some(ours) = lock(&self.watcher.0.heard).of(self.id) {
            ours.folders = wanted;
        }
        self.attach();
    }

    /// Watches those that have come, and those again that were removed and made anew.
    pub(super) fn attach(&mut self) {
        for (folder, held) in &mut self.folders {
            *held = self.watcher.hold(folder, *held);
        }
    }

    /// What happened since the last time. Folders that went away are watched again, if others are in their place.
    pub(super) fn take(&mut self) -> Changes {
        let mut heard = lock(&self.watcher.0.heard);
        let removed: Vec<PathBuf> =
            heard.removed.iter().filter(|folder| self.folders.contains_key(*folder)).cloned().collect();
        let ours = heard.of(self.id);
        let changes = ours
            .map(|ours| Changes { folders: mem::take(&mut ours.changed), lost: mem::take(&mut ours.lost) });
        drop(heard);
        for folder in removed {
            if let Some(held) = self.folders.get_mut(&folder) {
                *held = self.watcher.hold(&folder, *held);
            }
        }
        changes.unwrap_or_default()
    }

    /// Whether the system watches all of them.
    pub(super) fn has_all(&self) -> bool {
        self.folders.values().all(Option::is_some)
    }

    /// How many the system watches.
    pub(super) fn watched(&self) -> usize {
        self.folders.values().filter(|held| held.is_some()).count()
    }

    /// Those that the system does not watch.
    pub(super) fn unwatched(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().filter(|(_, held)| held.is_none()).map(|(folder, _)| folder.as_path())
    }
}
