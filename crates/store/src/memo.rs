//! Small texts of our own in the state folder: what we were asked to remember, and what we did already.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::commit::{Content, Plan, SharedFile};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::lock::LockTimes;
use crate::mailbox::Mailbox;
use crate::paths::{Root, State, create_private_folders};

/// One such text. It is replaced whole, and changed by one process at a time.
#[derive(Debug)]
pub struct Memo {
    file: SharedFile,
}

impl Memo {
    fn at(path: PathBuf, state: &State, times: LockTimes) -> Self {
        Self { file: SharedFile::new(path, state, times) }
    }

    /// For which mail a member was nudged last.
    pub fn of_nudges(mailbox: &Mailbox, state: &State, times: LockTimes) -> Self {
        Self::at(state.nudges(&mailbox.owner()), state, times)
    }

    /// What the teams below a root are called by their people.
    pub fn of_aliases(root: &Root, state: &State, times: LockTimes) -> Self {
        Self::at(state.aliases(&root.teams().join("aliases.json")), state, times)
    }

    /// What the folders of sessions that work with a root are called by their people.
    pub fn of_session_aliases(root: &Root, state: &State, times: LockTimes) -> Self {
        Self::at(state.session_aliases(root.path()), state, times)
    }

    /// What the people of the teams below a root want to hear nothing of for a while.
    pub fn of_mutes(root: &Root, state: &State, times: LockTimes) -> Self {
        Self::at(state.mutes(root.path()), state, times)
    }

    /// Which members of other machines the teams below a root have.
    pub fn of_machines(root: &Root, state: &State, times: LockTimes) -> Self {
        Self::at(state.machines(root.path()), state, times)
    }

    /// Which teams below a root are shared with other machines, and by what name this machine is known to them.
    pub fn of_shared_teams(root: &Root, state: &State, times: LockTimes) -> Self {
        Self::at(state.shared_teams(root.path()), state, times)
    }

    /// The token of servers on local ports.
    pub fn of_token(state: &State, times: LockTimes) -> Self {
        Self::at(state.token(), state, times)
    }

    /// What is reserved in the working tree with this top, which is named without links.
    pub fn of_reservations(tree: &Path, state: &State, times: LockTimes) -> Self {
        Self::at(state.reservations_of(tree), state, times)
    }

    /// The same of all working trees.
    pub fn all_reservations(state: &State, times: LockTimes) -> Result<Vec<Self>, StoreError> {
        let folder = state.reservations();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.doing("list", &folder)?,
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
        paths.sort();
        Ok(paths.into_iter().map(|path| Self::at(path, state, times)).collect())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Removes it, in our turn, if `judge` says so of what it says then.
    pub fn remove_if(&self, judge: impl FnOnce(&str) -> bool) -> Result<(), StoreError> {
        self.file.remove(|look| Ok((matches!(look.content, Content::Text(text) if judge(text)), ())))
    }

    /// The token that programs call the web server with.
    pub fn of_web_token(state: &State, times: LockTimes) -> Self {
        Self::at(state.web_token(), state, times)
    }

    /// Removes a secret that others may have read; refuses what is no regular file of this user.
    pub fn remove_if_exposed(&self) -> Result<(), StoreError> {
        let path = self.file.path();
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.doing("look at", path)?,
        };
        if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
            return Err(StoreError::bad(path, "is no regular file of this user; remove it"));
        }
        if !is_exposed(found.mode()) {
            return Ok(());
        }
        // Another process may have made a new one meanwhile.
        self.file.remove(|_| Ok((fs::symlink_metadata(path).is_ok_and(|found| is_exposed(found.mode())), ())))
    }

    /// Lets nobody but its owner read it: a file in a folder that a group shares is made for the group.
    pub fn restrict(&self) -> Result<(), StoreError> {
        let path = self.file.path();
        if is_exposed(fs::symlink_metadata(path).doing("look at", path)?.mode()) {
            disk::set_permissions(path, Permissions::from_mode(0o600)).doing("restrict", path)?;
        }
        Ok(())
    }

    /// What it says, if there is one.
    pub fn read(&self) -> Result<Option<String>, StoreError> {
        match disk::read_to_string(self.file.path()) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", self.file.path()),
        }
    }

    /// Puts what `change` makes of it in its place, durably; `None` leaves it. What `change` does happens once, in our
    /// turn.
    pub fn update<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(Option<&str>) -> Result<(Option<String>, T), E>,
    ) -> Result<T, E> {
        if let Some(folder) = self.file.path().parent() {
            create_private_folders(folder)?;
        }
        let mut change = Some(change);
        let mut made: Option<Result<(Option<String>, T), E>> = None;
        self.file.update(|look| {
            if let Some(change) = change.take() {
                made = Some(change(match look.content {
                    Content::Text(text) => Some(text),
                    Content::Missing | Content::NotUtf8(_) => None,
                }));
            }
            Ok(match &made {
                Some(Ok((Some(text), _))) => Plan::Replace(text.clone(), ()),
                _ => Plan::Keep(()),
            })
        })?;
        match made {
            Some(made) => made.map(|(_, value)| value),
            None => Err(StoreError::Unsettled { path: self.file.path().to_owned() }.into()),
        }
    }
}

/// Whether anybody but its owner may open a file of this mode.
fn is_exposed(mode: u32) -> bool {
    mode & 0o077 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_changed_in_turn_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
        let memo = Memo::of_aliases(&root, &state, LockTimes::default());
        assert_eq!(memo.read().unwrap(), None);
        let add = || {
            memo.update(|old| {
                let count: usize = old.map_or(0, |old| old.parse().unwrap());
                Ok::<_, StoreError>((Some((count + 1).to_string()), ()))
            })
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(add)).collect();
            for thread in threads {
                thread.join().unwrap().unwrap();
            }
        });
        assert_eq!(memo.read().unwrap().as_deref(), Some("8"));
        let kept = memo.update(|old| Ok::<_, StoreError>((None, old.map(ToOwned::to_owned)))).unwrap();
        assert_eq!((kept.as_deref(), memo.read().unwrap().as_deref()), (Some("8"), Some("8")));
    }
}
