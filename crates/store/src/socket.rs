//! Sockets in the state folder. A path to a socket may have about a hundred bytes; a state folder's may be longer.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::disk;

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
    let folder = disk::open_to_read(folder)?;
    // The same place by another name, where the system has one.
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    if !Path::new("/proc/self/fd").is_dir() {
        let what = format!("its path has more than {LONGEST_PATH} bytes; choose a shorter --state");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(Short { path, _folder: Some(folder) })
}

/// Listens there, for this user alone. Only the holder of the lock beside it may: what stands there is of one that died.
pub fn listen(socket: &Path) -> io::Result<UnixListener> {
    if socket.symlink_metadata().is_ok() {
        disk::remove_file(socket)?;
    }
    let listener = UnixListener::bind(&short(socket)?.path)?;
    // The folder above is the owner's alone, too.
    disk::set_permissions(socket, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to who listens there.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(&short(socket)?.path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_long_path_is_no_hindrance() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a-folder-with-a-long-name".repeat(4)).join("below".repeat(8));
        fs::create_dir_all(&deep).unwrap();
        let socket = deep.join("socket");
        let _listener = listen(&socket).unwrap();
        assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        connect(&socket).unwrap();
        // One that died left its socket.
        listen(&socket).unwrap();
    }
}
