//! Waiting for files to change, by the system's events, with a slow look of our own in case one gets lost.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Events get lost on network file systems and when the kernel's queue overflows.
const SAFETY_LOOK: Duration = Duration::from_secs(3);
/// While a folder that we were asked to watch is not there.
const MISSING_LOOK: Duration = Duration::from_millis(250);

/// Watches folders. A file's own watch would die with the first rename, so folders it is.
#[derive(Debug)]
pub struct FolderWatch {
    watcher: Option<RecommendedWatcher>,
    events: Receiver<()>,
    folders: Vec<(PathBuf, bool)>,
}

impl FolderWatch {
    /// Starts to watch. Where the system has no watches left, looking now and then takes their place.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let (send, events) = mpsc::channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                let _ = send.send(());
            }
        });
        let mut folders: Vec<_> = folders.into_iter().map(|folder| (folder, false)).collect();
        folders.sort();
        folders.dedup();
        let mut watch = Self { watcher: watcher.ok(), events, folders };
        watch.attach();
        watch
    }

    /// Waits until something may have changed, or `deadline` is over; says whether it is not over yet.
    ///
    /// Look at the files before the first call: what happened before the watch began gives no event.
    pub fn wait(&mut self, deadline: Option<Instant>) -> bool {
        self.attach();
        let look = if self.folders.iter().all(|(_, watched)| *watched) { SAFETY_LOOK } else { MISSING_LOOK };
        let left = deadline.map_or(look, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return false;
        }
        match self.events.recv_timeout(left.min(look)) {
            Ok(()) => while self.events.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(look)),
        }
        true
    }

    fn attach(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for (folder, watched) in &mut self.folders {
            if *watched && !Path::exists(folder) {
                let _ = watcher.unwatch(folder);
                *watched = false;
            } else if !*watched {
                *watched = watcher.watch(folder, RecursiveMode::NonRecursive).is_ok();
            }
        }
    }
}
