//! Where everything is.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use atm_wire::{MemberName, TeamName};
use uuid::Uuid;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::Bounds;
use crate::journal::Journal;
use crate::quarantine::Quarantine;

/// A socket's path may have about a hundred bytes; its name has a process's number in it.
const LONGEST_SOCKET_FOLDER: usize = 85;

/// How a team keeps its members' mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `inboxes/<name>.json`: one JSON array.
    Array,
    /// `members/<name>/inbox`: JSON Lines.
    Log,
}

/// The shared tree, usually `~/.claude`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// The tree below `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The tree's top.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of all teams.
    pub fn teams(&self) -> PathBuf {
        self.0.join("teams")
    }

    /// A team's folder: the one of that very name, else the one that a client would have made for it.
    pub fn team(&self, team: &TeamName) -> PathBuf {
        let exact = self.teams().join(team.as_str());
        if exact.is_dir() { exact } else { self.teams().join(team.folder()) }
    }

    /// A team's task folder.
    pub fn tasks(&self, team: &TeamName) -> PathBuf {
        self.0.join("tasks").join(team.file_stem())
    }
}

/// Our own state, which outlives every team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    path: PathBuf,
    bounds: Bounds,
}

impl State {
    /// The state below `path`; folders in it are made when they are needed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { bounds: Bounds::default().with_tree(&path), path }
    }

    /// Beside this shared tree, whose top may be behind any link.
    #[must_use]
    pub fn with_root(mut self, root: &Root) -> Self {
        self.bounds = self.bounds.with_tree(root.path());
        self
    }

    /// Where links may lead when something is written.
    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The state's top.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where things go that cannot stay and must not be lost.
    pub fn quarantine(&self) -> Quarantine {
        Quarantine::new(self.path.join("quarantine"))
    }

    /// Where it stands what mending changed, so that it can be undone.
    pub fn journal(&self) -> Journal {
        Journal::new(self.path.join("journal"))
    }

    /// The log of the ledger. The index that is made from it stands beside it, and so does the ledger of older versions.
    pub fn ledger(&self) -> PathBuf {
        self.path.join("log.db")
    }

    /// Moves a ledger that cannot be used out of the way, with what belongs to it; says where it is.
    pub fn set_ledger_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        let mut aside = None;
        // The log last: what was moved before it is made anew from it, or was taken over into it.
        for database in [self.path.join("index.db"), self.path.join("ledger.db"), self.ledger()] {
            let parts = ["-wal", "-shm", ""].map(|suffix| with_suffix(&database, suffix));
            for part in parts.into_iter().filter(|part| part.exists()) {
                aside = Some(self.quarantine().move_in(&part, "damaged")?);
            }
        }
        Ok(aside)
    }

    /// Where archived mail is, a folder a team.
    pub fn archives(&self) -> PathBuf {
        self.path.join("archive")
    }

    /// Where deleted teams go.
    pub fn deleted(&self) -> PathBuf {
        self.path.join("deleted")
    }

    /// The entry of a member that was taken out of the configuration in this file.
    pub(crate) fn removed(&self, config: &Path, member: &MemberName) -> PathBuf {
        self.queue_named(config, "removed").with_file_name(format!("{}.json", member.file_stem()))
    }

    /// The queue for a shared file: one name per file, whatever root it is below.
    pub(crate) fn queue(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "queue")
    }

    /// The turn of those who take mail out of a shared file.
    pub(crate) fn readers(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "readers")
    }

    /// The turn of those who answer requests that came into a shared file.
    pub(crate) fn deciders(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "deciders")
    }

    /// The turn of those who start and end members of the team with this file.
    pub(crate) fn starters(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "starters")
    }

    /// The turn of those who change the layout of the team with this file.
    pub(crate) fn converters(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "converters")
    }

    /// For which mail of this inbox its owner was nudged.
    pub(crate) fn nudges(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "nudges")
    }

    /// The place of the process that waits to wake this inbox's owner.
    pub(crate) fn seats(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "seats")
    }

    /// The seats of those who wait for mail in sessions of the tree `root`, a file each.
    pub(crate) fn session_seats(&self, root: &Path) -> PathBuf {
        self.queue_named(root, "session-seats")
    }

    /// What is remembered of the conversations of this inbox's owner, a file each.
    pub(crate) fn sessions(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "hooks")
    }

    /// What is reserved, a file for each working tree.
    pub(crate) fn reservations(&self) -> PathBuf {
        self.path.join("reservations")
    }

    /// What is reserved in the working tree with this top.
    pub(crate) fn reservations_of(&self, tree: &Path) -> PathBuf {
        let key = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, tree.as_os_str().as_encoded_bytes());
        self.reservations().join(format!("{}.json", key.simple()))
    }

    /// Where databases of clients are copied to, in order to be read.
    pub fn copies(&self) -> PathBuf {
        self.path.join("copies")
    }

    /// The conversations that work with this tree, a file each.
    pub(crate) fn register(&self, root: &Path) -> PathBuf {
        self.queue_named(root, "register")
    }

    /// What the folders of sessions are called by their people.
    pub(crate) fn session_aliases(&self, root: &Path) -> PathBuf {
        self.queue_named(root, "session-aliases")
    }

    /// What people want to hear nothing of for a while.
    pub(crate) fn mutes(&self, root: &Path) -> PathBuf {
        self.queue_named(root, "mutes")
    }

    /// Which members of other machines the teams below this root have.
    pub(crate) fn machines(&self, root: &Path) -> PathBuf {
        self.queue_named(root, "machines")
    }

    /// Which teams below this root are shared with other machines.
    pub(crate) fn shared_teams(&self, root: &Path) -> PathBuf {
        self.queue_named(root, "shared-teams")
    }

    /// What is the bridge's to other machines: its lock, its keys, how far it is.
    pub fn bridge(&self) -> PathBuf {
        self.path.join("bridge")
    }

    /// The token of servers on local ports.
    pub fn token(&self) -> PathBuf {
        self.path.join("http.token")
    }

    /// The token that programs call the web server with.
    pub fn web_token(&self) -> PathBuf {
        self.path.join("web.token")
    }

    /// The note that nothing waits in the ledger.
    pub(crate) fn still(&self) -> PathBuf {
        self.path.join("ledger.still")
    }

    /// What is the daemon's: its lock, its socket, its journal.
    pub fn daemon(&self) -> PathBuf {
        self.path.join("daemon")
    }

    /// The folder for the sockets of peers: the daemon's own or, since a socket's path has to be short, one that is named after it.
    pub fn peer_sockets(&self) -> PathBuf {
        let folder = self.daemon().join("peers");
        if folder.as_os_str().len() <= LONGEST_SOCKET_FOLDER {
            return folder;
        }
        let hash =
            Uuid::new_v5(&Uuid::NAMESPACE_URL, folder.as_os_str().as_encoded_bytes()).simple().to_string();
        PathBuf::from(format!("/tmp/atm-{}-{}", rustix::process::geteuid().as_raw(), &hash[..12]))
    }

    /// Of which conditions people were told that belong to no team.
    pub(crate) fn notified(&self) -> PathBuf {
        self.path.join("notified")
    }

    /// The lock of the daemon, in a folder that is there.
    pub fn daemon_lock(&self) -> Result<PathBuf, StoreError> {
        create_private_folders(&self.daemon())?;
        Ok(self.daemon().join("lock"))
    }

    /// Where hooks say what went wrong: they have nobody else to tell.
    pub fn hook_log(&self) -> PathBuf {
        self.path.join("hook.log")
    }

    /// Where it stands which lines and entries are no messages, and which files do not parse.
    pub fn error_log(&self) -> PathBuf {
        self.path.join("errors.log")
    }

    /// Other names of the teams in a folder.
    pub(crate) fn aliases(&self, shared: &Path) -> PathBuf {
        self.queue_named(shared, "aliases")
    }

    /// What was found out about this file or folder, and can be found out again.
    pub(crate) fn scratch(&self, shared: &Path, kind: &str) -> PathBuf {
        self.queue_named(shared, kind)
    }

    fn queue_named(&self, shared: &Path, kind: &str) -> PathBuf {
        let real = shared.parent().and_then(|folder| folder.canonicalize().ok());
        let folder = real.as_deref().or(shared.parent()).unwrap_or(Path::new(""));
        let key = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, folder.as_os_str().as_encoded_bytes());
        let name = shared.file_name().unwrap_or_default();
        self.path.join(kind).join(key.simple().to_string()).join(name)
    }
}

/// The array inbox of a member.
pub fn array_inbox(team: &Path, member: &MemberName) -> PathBuf {
    team.join("inboxes").join(format!("{}.json", member.file_stem()))
}

/// The folder of a member in the log layout.
pub fn log_folder(team: &Path, member: &MemberName) -> PathBuf {
    team.join("members").join(member.file_stem())
}

/// `<path><suffix>`: the way lock files are named.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates a folder of ours and its parents, for the owner alone.
pub(crate) fn create_private_folders(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    disk::create_dir_all(0o700, folder).doing("create", folder)?;
    // A parent's default rules may have widened it.
    disk::set_permissions(folder, Permissions::from_mode(0o700)).doing("set the mode of", folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client cannot connect to a longer path, and neither could we listen there.
    #[test]
    fn sockets_of_peers_have_short_paths() {
        let near = State::new("/home/me/.local/state/atm");
        assert_eq!(near.peer_sockets(), Path::new("/home/me/.local/state/atm/daemon/peers"));
        let far = |name: &str| State::new(format!("/{}/{name}", "x".repeat(100))).peer_sockets();
        assert!(far("a").starts_with("/tmp") && far("a").as_os_str().len() < 50, "{}", far("a").display());
        assert_eq!(far("a"), far("a"));
        assert_ne!(far("a"), far("b"));
    }
}
