//! A client's settings file: replaced whole, by rename, with its mode, and what it was before we touched it.
//!
//! Its temp files hold a copy of the client's settings, which may have secrets in them. So each is noted in the file's
//! queue before it is made, as those of shared files are: the next process that edits the file removes what a dead
//! one left.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Bounds, Staged, in_real_folder, read_small, sync_folder};
use crate::lock::LockTimes;
use crate::lock::queue::Queue;
use crate::paths::{State, create_private_folders};
use crate::points;

/// The largest file of a client that is read. Some clients keep much in one file.
const LARGEST: u64 = 64 << 20;

/// One such file.
#[derive(Debug, Clone)]
pub struct ClientFile {
    path: PathBuf,
    memory: PathBuf,
    state: State,
    within: Option<PathBuf>,
}

/// What we did to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// The file.
    pub path: PathBuf,
    /// What it held before; nothing, where there was none.
    pub before: Option<String>,
    /// What we made of it.
    pub after: String,
    /// The folders that were made for it, the deepest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

impl ClientFile {
    /// The file at `path`.
    pub fn new(path: impl Into<PathBuf>, state: &State) -> Self {
        let path = path.into();
        let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, path.as_os_str().as_encoded_bytes()).simple();
        let memory = state.path().join("installed").join(format!("{key}.json"));
        Self { memory, path, state: state.clone(), within: None }
    }

    /// It has to be below `folder`, also by its real path: links in there may be somebody else's work.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        self.within = Some(folder.to_owned());
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it really is, behind links; an error if it may not be replaced there.
    pub fn target(&self) -> Result<PathBuf, StoreError> {
        let bounds = Bounds::default();
        match &self.within {
            Some(folder) => bounds.resolve_within(folder, &self.path),
            None => bounds.resolve(&self.path),
        }
    }

    /// What it holds, if it is there. A pipe or a device is an error, and nothing is waited for.
    pub fn read(&self) -> Result<Option<String>, StoreError> {
        let Some(file) = read_small(&self.path, LARGEST)? else { return Ok(None) };
        String::from_utf8(file.bytes).map(Some).map_err(|_| StoreError::bad(&self.path, "is not UTF-8"))
    }

    /// What we remember of having touched it.
    pub fn touched(&self) -> Option<Touched> {
        serde_json::from_slice(&read_small(&self.memory, 4 * LARGEST).ok()??.bytes).ok()
    }

    /// Puts `after` in its place (nothing: removes it), if it still holds `before`. What it was is remembered first.
    pub fn replace(
        &self,
        before: Option<&str>,
        after: Option<&str>,
        remember: Option<&Touched>,
    ) -> Result<(), StoreError> {
        let target = self.target()?;
        let folder = target.parent().unwrap_or(Path::new("/"));
        let queue = self.queue(&target)?;
        points::reached("client_entered");
        if let Some(touched) = remember {
            if let Some(folder) = self.memory.parent() {
                create_private_folders(folder)?;
            }
            let mut folders = missing(folder);
            folders.extend(self.touched().map(|before| before.folders).unwrap_or_default());
            // Strings and paths: that cannot fail.
            let text = serde_json::to_string(&Touched { folders, ..touched.clone() }).unwrap_or_default();
            put(&self.memory, &text, &queue).map_err(|error| match error {
                // The client's own file was not touched.
                StoreError::Unsynced { source, .. } => *source,
                error => error,
            })?;
            points::reached("client_remembered");
        }
        if self.read()?.as_deref() != before {
            return Err(StoreError::Unsettled { path: self.path.clone() });
        }
        match after {
            Some(text) => {
                disk::create_dir_all(0o755, folder).doing("create", folder)?;
                put(&target, text, &queue)
            }
            None => disk::remove_file(&self.path).doing("remove", &self.path),
        }
    }

    /// It is as if we had never touched it.
    pub fn forget(&self) -> Result<(), StoreError> {
        match disk::remove_file(&self.memory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).doing("remove", &self.memory)
            }
            _ => Ok(()),
        }
    }

    /// Removes what a process left that died while it replaced this file.
    pub fn clear_leftovers(&self) -> Result<(), StoreError> {
        let target = self.target()?;
        // Where there never was a turn, nothing was left.
        if self.state.queue(&target).exists() { self.queue(&target).map(drop) } else { Ok(()) }
    }

    /// Our turn at the file, among all `atm` processes.
    fn queue(&self, target: &Path) -> Result<Queue, StoreError> {
        Queue::enter(&self.state.queue(target), &LockTimes::default().deadline())
    }
}

/// The folders that are yet to be made, the deepest first.
fn missing(folder: &Path) -> Vec<PathBuf> {
    folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

/// Removes folders that were made for files that are gone, as far as they are empty: what is in them is somebody else's.
pub fn remove_made_folders(mut folders: Vec<PathBuf>) {
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        // One that is used, or gone, is not ours to remove.
        let _ = disk::remove_dir(folder);
    }
}

/// Replaces a file, in its turn.
fn put(path: &Path, text: &str, queue: &Queue) -> Result<(), StoreError> {
    let target = &in_real_folder(path)?;
    let temp = Staged::name_in(target, &queue.file_beside(""));
    queue.note(&temp);
    points::reached("client_noted");
    let old = fs::metadata(target).ok();
    let staged = Staged::write(temp, target, old.as_ref(), &[text])?;
    points::reached("client_staged");
    staged.commit()?;
    points::reached("client_renamed");
    let synced = sync_folder(target.parent().unwrap_or(Path::new("/")));
    queue.clear();
    synced.map_err(|error| StoreError::unsynced(target, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_replaced_whole_with_its_mode_and_only_if_nobody_changed_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        let real = folder.path().join("real.json");
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("settings.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        let file = ClientFile::new(&link, &state);
        let touched = Touched {
            path: link.clone(),
            before: Some("{}".to_owned()),
            after: "{1}".to_owned(),
            folders: Vec::new(),
        };
        file.replace(Some("{}"), Some("{1}"), Some(&touched)).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "{1}");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(file.touched(), Some(touched));
        assert!(matches!(file.replace(Some("{}"), None, None), Err(StoreError::Unsettled { .. })));
        file.forget().unwrap();
        file.forget().unwrap();
        assert_eq!(file.touched(), None);
        fs::write(&real, [0xff]).unwrap();
        assert!(file.read().is_err());
        fs::remove_file(&real).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&real).status().unwrap().success());
        assert!(file.read().unwrap_err().to_string().ends_with("is not a regular file"), "and no wait");
    }

    #[test]
    fn it_stays_within_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let state = State::new(folder.join("state"));
        let (project, home) = (folder.join("project"), folder.join("home"));
        for place in [&project, &home] {
            fs::create_dir_all(place.join("dir")).unwrap();
            fs::write(place.join("dir/s.json"), "{}").unwrap();
        }
        for (to, named, is_inside) in [
            (project.join("dir"), "link/s.json", true),
            (project.join("dir/s.json"), "link", true),
            (home.join("dir"), "link/s.json", false),
            (home.join("dir"), "link/new/s.json", false),
            (home.join("dir/s.json"), "link", false),
            (home.join("new.json"), "link", false),
        ] {
            let link = project.join("link");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&to, &link).unwrap();
            let file = ClientFile::new(project.join(named), &state);
            assert!(file.target().is_ok(), "the user's own link");
            let before = file.read().unwrap();
            let file = file.within(&project);
            let replaced = file.replace(before.as_deref(), Some("{1}"), None);
            assert_eq!(replaced.is_ok(), is_inside, "{named} to {}: {replaced:?}", to.display());
        }
        assert_eq!(fs::read_to_string(project.join("dir/s.json")).unwrap(), "{1}");
        assert_eq!(fs::read_to_string(home.join("dir/s.json")).unwrap(), "{}");
        assert!(!home.join("new.json").exists() && !home.join("dir/new").exists());
        // A folder that is itself behind a link, or yet to be made, is that folder.
        std::os::unix::fs::symlink(&project, folder.join("alias")).unwrap();
        let real = |at: &str| {
            let at = folder.join(at);
            ClientFile::new(at.join("dir/s.json"), &state).within(&at).target().unwrap()
        };
        assert_eq!(real("alias"), project.join("dir/s.json"));
        assert_eq!(real("alias/none"), project.join("none/dir/s.json"));
    }

    #[test]
    fn a_new_file_gets_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let file = ClientFile::new(folder.path().join("a/b.json"), &State::new(folder.path().join("state")));
        assert_eq!(file.read().unwrap(), None);
        file.replace(None, Some("x"), None).unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some("x"));
        file.replace(Some("x"), None, None).unwrap();
        assert_eq!(file.read().unwrap(), None);
    }

    /// An empty folder was left where a client had none.
    #[test]
    fn folders_that_were_made_for_it_go_with_it_unless_somebody_uses_them() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let state = State::new(home.join("state"));
        fs::create_dir(home.join("mine")).unwrap();
        let install = |path: &str| {
            let file = ClientFile::new(home.join(path), &state);
            let path = file.path().to_owned();
            let touched = Touched { path, before: None, after: "x".to_owned(), folders: Vec::new() };
            file.replace(None, Some("x"), Some(&touched)).unwrap();
            // A second time there is nothing to make, and what was made is not forgotten.
            let again = Touched { after: "y".to_owned(), ..touched };
            file.replace(Some("x"), Some("y"), Some(&again)).unwrap();
            file
        };
        let files = ["a/b/one.json", "a/two.json", "mine/three.json", "used/deep/four.json"].map(install);
        fs::write(home.join("used/by-the-client"), "").unwrap();
        let mut made = Vec::new();
        for file in &files {
            made.extend(file.touched().unwrap().folders);
            file.replace(Some("y"), None, None).unwrap();
        }
        remove_made_folders(made);
        let left = |name: &str| home.join(name).exists();
        assert!(!left("a") && !left("used/deep"));
        assert!(left("mine") && left("used/by-the-client"));
    }
}
