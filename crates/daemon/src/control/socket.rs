//! The socket's place. A path to a socket may have about a hundred bytes; a state folder's may be longer.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use atm_store::State;

use crate::error::{DaemonError, Doing};

/// The longest path that every system takes.
const LONGEST_PATH: usize = 100;

/// A path that is short enough, and what has to be kept open while it is used.
struct Short {
    path: PathBuf,
    _folder: Option<File>,
}

fn short(socket: &Path) -> io::Result<Short> {
    if socket.as_os_str().len() <= LONGEST_PATH {
        return Ok(Short { path: socket.to_owned(), _folder: None });
    }
    let (folder, name) = (socket.parent().unwrap_or(Path::new("/")), socket.file_name().unwrap_or_default());
    let folder = File::open(folder)?;
    // The same place by another name, where the system has one.
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    if !Path::new("/proc/self/fd").is_dir() {
        let what = format!("its path has more than {LONGEST_PATH} bytes; choose a shorter --state");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(Short { path, _folder: Some(folder) })
}

pub(super) fn path(state: &State) -> PathBuf {
    state.daemon().join("socket")
}

/// Listens. Only the holder of the lock may: what stands there is of one that died.
pub(crate) fn bind(state: &State) -> Result<UnixListener, DaemonError> {
    let socket = path(state);
    if socket.symlink_metadata().is_ok() {
        fs::remove_file(&socket).doing("remove", &socket)?;
    }
    let listener =
        short(&socket).and_then(|short| UnixListener::bind(&short.path)).doing("listen at", &socket)?;
    // The folder above is the owner's alone, too.
    fs::set_permissions(&socket, Permissions::from_mode(0o600)).doing("set the mode of", &socket)?;
    Ok(listener)
}

pub(super) fn connect(state: &State) -> io::Result<UnixStream> {
    UnixStream::connect(&short(&path(state))?.path)
}

/// The listener that a service manager handed over as standard input, if it did.
pub fn inherited() -> Option<UnixListener> {
    let input = io::stdin();
    let is_socket = rustix::fs::fstat(input.as_fd()).is_ok_and(|found| {
        rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Socket
    });
    listening(is_socket.then(|| input.as_fd().try_clone_to_owned().ok()).flatten()?)
}

/// Many programs give those that they start one end of a pair of sockets to read from: that one listens for nobody.
fn listening(socket: OwnedFd) -> Option<UnixListener> {
    let socket = UnixStream::from(socket);
    let is_named = socket.local_addr().is_ok_and(|address| address.as_pathname().is_some());
    let is_connected = socket.peer_addr().is_ok();
    (is_named && !is_connected).then(|| UnixListener::from(OwnedFd::from(socket)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_socket_that_listens_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        for socket in [client, accepted, one, other] {
            assert!(listening(socket.into()).is_none());
        }
        assert!(listening(listener.into()).is_some());
    }
}
