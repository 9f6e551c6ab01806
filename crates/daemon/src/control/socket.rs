//! The socket's place.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use atm_store::{State, socket};

use crate::error::{DaemonError, Doing};

pub(super) fn path(state: &State) -> PathBuf {
    state.daemon().join("socket")
}

/// Listens. Only the holder of the lock may: what stands there is of one that died.
pub(crate) fn bind(state: &State) -> Result<UnixListener, DaemonError> {
    let socket = path(state);
    socket::listen(&socket).doing("listen at", &socket)
}

pub(super) fn connect(state: &State) -> io::Result<UnixStream> {
    socket::connect(&path(state))
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
