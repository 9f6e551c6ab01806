//! What a daemon that died left of its peers: entries in the registry, whole or not yet in their place, and sockets in our own
//! folder.

use std::fs::{self, Metadata};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_clients::claude::peer::{self, Listed};
use atm_store::PeerEntry;

use crate::error::OfficeError;
use crate::office::Office;

/// A socket that nobody listens at may be about to be listened at, and a copy of an entry may be about to be put in its place.
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
        let sockets = sockets.map(|path| LeftPeer { path, what: what.clone(), entry: None });
        let unplaced = PeerEntry::unplaced(&root.join("sessions")).into_iter();
        let unplaced =
            unplaced.filter(|(pid, path)| self.is_left_copy(*pid, path)).map(|(_, path)| LeftPeer {
                path,
                what: "a copy of a peer's entry, which its process died over".to_owned(),
                entry: None,
            });
        entries.chain(sockets).chain(unplaced).collect()
    }

    /// Takes it away, if it is still the same; says whether it did.
    pub fn remove_left_peer(&self, left: &LeftPeer) -> Result<bool, OfficeError> {
        let entry = PeerEntry::at(left.path.clone());
        if let Some(known) = &left.entry {
            // The number may be another peer's by now.
            return Ok(entry.remove_if(|_| peer::listed(self.root.path()).contains(known))?);
        }
        let copies = PeerEntry::unplaced(&self.root.path().join("sessions"));
        let is_copy =
            copies.into_iter().any(|(pid, path)| path == left.path && self.is_left_copy(pid, &path));
        Ok((is_copy || self.is_left_socket(&left.path)) && fs::remove_file(&left.path).is_ok())
    }

    /// Whether a copy of an entry will never be put in its place: its process or daemon has ended, or it takes far too long.
    fn is_left_copy(&self, pid: u64, path: &Path) -> bool {
        let Ok(found) = fs::symlink_metadata(path) else { return false };
        let listed = peer::read_copy(pid, path);
        let is_over = || {
            let space = self.probe.pid_space();
            listed.is_some_and(|listed| listed.is_left(&space, |pid| self.probe.started(pid)))
        };
        found.is_file() && (!is_young(&found) || is_over())
    }

    fn is_left_socket(&self, path: &Path) -> bool {
        let number =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".sock"));
        let Some(pid) = number.and_then(|number| number.parse::<u64>().ok()) else { return false };
        let Ok(found) = fs::symlink_metadata(path) else { return false };
        let is_dead = self.probe.started(pid).is_none();
        found.file_type().is_socket() && (is_dead || !is_young(&found) && UnixStream::connect(path).is_err())
    }
}

fn is_young(found: &Metadata) -> bool {
    found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < YOUNG))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use atm_clients::claude::peer::{Entry, Process};

    use super::*;

    /// A process that is killed while it enters itself has no entry yet, and a copy of it lay in the registry for good.
    #[test]
    fn an_entry_that_was_never_put_in_its_place_is_left_too() {
        let env = atm_support::TestEnv::new();
        let office = Office::new(env.store_root(), env.store_state());
        let registry = env.root().join("sessions");
        fs::create_dir_all(&registry).unwrap();
        let space = office.probe().pid_space();
        let running = u64::from(std::process::id());
        let text = |pid: u64, space: &str| {
            let process = Process { pid, start: office.probe().started(pid).unwrap_or("1".to_owned()) };
            let (cwd, socket) = (Path::new("/"), Path::new("/s"));
            let (id, name) = ("id", "bob (codex, team shop)");
            Entry { process: &process, daemon: &process, pid_space: space, id, name, cwd, began: 1, socket }
                .render()
        };
        // No process has a number like this.
        let dead = 1 << 30;
        for (file, text, age, is_left) in [
            (format!(".{dead}.json.atm-{:032x}", 1), text(dead, &space), 0, true),
            (format!(".{dead}.json.atm-{:032x}", 2), text(dead, "elsewhere"), 0, false),
            (format!(".{running}.json.atm-{:032x}", 3), text(running, &space), 0, false),
            // Nobody takes so long to write so little.
            (format!(".{running}.json.atm-{:032x}", 4), text(running, &space), 60, true),
            (format!(".{dead}.json.atm-{:032x}", 5), String::new(), 0, false),
            (format!(".{dead}.json.atm-{:032x}", 6), String::new(), 60, true),
            // Of others.
            (format!(".{dead}.json.tmp"), text(dead, &space), 60, false),
            (format!(".x.json.atm-{:032x}", 7), String::new(), 60, false),
            (format!("{dead}.{:064x}.key", 8), String::new(), 60, false),
        ] {
            let path = registry.join(&file);
            fs::write(&path, text).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
            let left = office.left_peers();
            assert_eq!(left.iter().any(|left| left.path == path), is_left, "{file} {age}");
            for left in left {
                assert!(office.remove_left_peer(&left).unwrap(), "{file}");
            }
            assert_eq!(path.exists(), !is_left, "{file}");
            let _ = fs::remove_file(&path);
        }
    }
}
