//! What a daemon that died left of its peers: entries in the registry, and sockets in our own folder.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_clients::claude::peer::{self, Listed};
use atm_store::PeerEntry;

use crate::error::OfficeError;
use crate::office::Office;

/// A socket that nobody listens at may be about to be listened at.
const YOUNG: Duration = Duration::from_secs(10);

/// Something that is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftPeer {
    /// The file.
    pub path: PathBuf,
    /// What it is, in words.
    pub what: String,
    entry: Option<Listed>,
}

impl Office {
    /// What daemons that died have left of their peers.
    pub fn left_peers(&self) -> Vec<LeftPeer> {
        let (root, space) = (self.root.path(), self.probe.pid_space());
        let is_left = |listed: &Listed| listed.is_left(&space, |pid| self.probe.started(pid));
        let entries = peer::listed(root).into_iter().filter(is_left).map(|listed| LeftPeer {
            path: peer::file(root, listed.process.pid),
            what: format!(
                "{} is still in Claude Code's list of agents, and nobody listens for it",
                listed.name
            ),
            entry: Some(listed),
        });
        let sockets = fs::read_dir(self.state.peer_sockets()).into_iter().flatten().flatten();
        let sockets = sockets.map(|found| found.path()).filter(|path| self.is_left_socket(path));
        let what = "a socket of a peer that nobody listens at".to_owned();
        entries.chain(sockets.map(|path| LeftPeer { path, what: what.clone(), entry: None })).collect()
    }

    /// Takes it away, if it is still the same; says whether it did.
    pub fn remove_left_peer(&self, left: &LeftPeer) -> Result<bool, OfficeError> {
        let entry = PeerEntry::at(left.path.clone());
        Ok(match &left.entry {
            Some(known) => {
                // The number may be another peer's by now.
                entry.remove_if(|_| peer::listed(self.root.path()).contains(known))?
            }
            None if self.is_left_socket(&left.path) => fs::remove_file(&left.path).is_ok(),
            None => false,
        })
    }

    fn is_left_socket(&self, path: &Path) -> bool {
        let number =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".sock"));
        let Some(pid) = number.and_then(|number| number.parse::<u64>().ok()) else { return false };
        let Ok(found) = fs::symlink_metadata(path) else { return false };
        let is_young = || found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < YOUNG));
        let is_dead = self.probe.started(pid).is_none();
        found.file_type().is_socket() && (is_dead || !is_young() && UnixStream::connect(path).is_err())
    }
}
