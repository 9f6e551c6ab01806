//! A client's settings file: replaced whole, by rename, with its mode, and what it was before we touched it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Staged, resolve, sync_folder};
use crate::paths::{State, create_private_folders};

/// One such file.
#[derive(Debug, Clone)]
pub struct ClientFile {
    path: PathBuf,
    memory: PathBuf,
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
}

impl ClientFile {
    /// The file at `path`.
    pub fn new(path: impl Into<PathBuf>, state: &State) -> Self {
        let path = path.into();
        let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, path.as_os_str().as_encoded_bytes()).simple();
        Self { memory: state.path().join("installed").join(format!("{key}.json")), path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds, if it is there.
    pub fn read(&self) -> Result<Option<String>, StoreError> {
        match disk::read(&self.path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(StoreError::bad(&self.path, "is not UTF-8")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", &self.path),
        }
    }

    /// What we remember of having touched it.
    pub fn touched(&self) -> Option<Touched> {
        serde_json::from_slice(&disk::read(&self.memory).ok()?).ok()
    }

    /// Puts `after` in its place (nothing: removes it), if it still holds `before`. What it was is remembered first.
    pub fn replace(
        &self,
        before: Option<&str>,
        after: Option<&str>,
        remember: Option<&Touched>,
    ) -> Result<(), StoreError> {
        if let Some(touched) = remember {
            // Strings and a path: that cannot fail.
            put(&self.memory, &serde_json::to_string(touched).unwrap_or_default(), true)?;
        }
        if self.read()?.as_deref() != before {
            return Err(StoreError::Unsettled { path: self.path.clone() });
        }
        match after {
            Some(text) => put(&self.path, text, false),
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
}

fn put(path: &Path, text: &str, private: bool) -> Result<(), StoreError> {
    let target = resolve(path)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    if private {
        create_private_folders(folder)?;
    } else {
        disk::create_dir_all(0o755, folder).doing("create", folder)?;
    }
    let old = fs::metadata(&target).ok();
    Staged::write(Staged::name_for(&target), &target, old.as_ref(), &[text])?.commit()?;
    sync_folder(folder)
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
        let touched = Touched { path: link.clone(), before: Some("{}".to_owned()), after: "{1}".to_owned() };
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
}
