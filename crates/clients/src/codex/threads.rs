//! Whether a thread of Codex is open in a process.
//!
//! A process that has a thread open, idle or busy, holds a `flock` on `thread-writer-locks/<thread>.lock` in the folder of
//! Codex. The file stays after a kill, the lock does not. The lock is never taken, only looked for where the system lists
//! all of them. None of this is documented: where the folder or the list is missing, nobody can tell.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::conversations::Openness;

/// Where Linux lists the locks of all processes; there is no such list elsewhere.
const LOCKS: &str = "/proc/locks";

/// Whether a process has the thread open whose conversation is kept at `conversation`.
pub(super) fn openness(conversation: &Path, thread: &str) -> Openness {
    let sessions = conversation.ancestors().find(|folder| folder.ends_with("sessions"));
    let Some(home) = sessions.and_then(Path::parent) else { return Openness::Unknown };
    let folder = home.join("thread-writer-locks");
    if !folder.is_dir() {
        return Openness::Unknown;
    }
    let Some(locks) = held_locks() else { return Openness::Unknown };
    match fs::metadata(folder.join(format!("{thread}.lock"))) {
        Ok(found) => {
            let holder = holder(&locks, found.ino(), found.dev());
            holder.map_or(Openness::Closed, |pid| Openness::Open { pid })
        }
        Err(_) => Openness::Closed,
    }
}

/// The locks that processes hold, where the system lists them.
fn held_locks() -> Option<String> {
    fs::read_to_string(LOCKS).ok()
}

/// The process that holds a `flock` on the file of this inode and device. Some file systems say another device there than
/// they do of their files: then the inode decides, if no other lock has it.
fn holder(locks: &str, inode: u64, device: u64) -> Option<u64> {
    let held: Vec<(u64, bool)> = locks
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // A line with an arrow is of a process that waits.
            let [_, "FLOCK", _, _, pid, place, ..] = words.as_slice() else { return None };
            let (where_, number) = place.rsplit_once(':')?;
            let is_inode = number.parse::<u64>().ok()? == inode;
            let (major, minor) = where_.split_once(':')?;
            let major = u64::from_str_radix(major, 16).ok()?;
            let minor = u64::from_str_radix(minor, 16).ok()?;
            is_inode.then_some((pid.parse().ok()?, (major, minor) == numbers_of(device)))
        })
        .collect();
    let exact = held.iter().find(|(_, is_device)| *is_device);
    exact.or(if held.len() == 1 { held.first() } else { None }).map(|(pid, _)| *pid)
}

/// The two numbers of a device, as Linux packs them.
fn numbers_of(device: u64) -> (u64, u64) {
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & !0xff);
    (major, minor & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_found_by_inode_and_device() {
        let device = (0xfe << 8) | 1;
        let list = "1: POSIX  ADVISORY  WRITE 7 fe:01:500 0 EOF\n\
                    2: FLOCK  ADVISORY  WRITE 4242 fe:01:500 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 4343 fe:01:500 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE 8 00:1b:600 0 EOF\n\
                    4: FLOCK  ADVISORY  WRITE 9 fe:02:700 0 EOF\n\
                    5: FLOCK  ADVISORY  WRITE 10 fe:03:700 0 EOF\nodd\n";
        for (inode, expected) in [(500, Some(4242)), (600, Some(8)), (700, None), (5, None)] {
            assert_eq!(holder(list, inode, device), expected, "{inode}");
        }
    }

    /// With a real lock of this process, and a file whose process is gone.
    #[test]
    fn a_thread_is_open_while_a_process_holds_its_lock() {
        let home = tempfile::tempdir().unwrap();
        let conversation = home.path().join("sessions/2026/11/17/rollout-x.jsonl");
        assert_eq!(openness(&conversation, "t1"), Openness::Unknown, "there is no folder of locks");
        let folder = home.path().join("thread-writer-locks");
        fs::create_dir(&folder).unwrap();
        let lock = fs::File::create(folder.join("t1.lock")).unwrap();
        if fs::metadata(LOCKS).is_err() {
            return assert_eq!(openness(&conversation, "t1"), Openness::Unknown, "nothing lists locks here");
        }
        assert_eq!(openness(&conversation, "t1"), Openness::Closed);
        lock.lock().unwrap();
        assert_eq!(openness(&conversation, "t1"), Openness::Open { pid: u64::from(std::process::id()) });
        assert_eq!(openness(&conversation, "t2"), Openness::Closed, "another thread");
        assert_eq!(openness(Path::new("/elsewhere/x.jsonl"), "t1"), Openness::Unknown);
        drop(lock);
        assert_eq!(openness(&conversation, "t1"), Openness::Closed);
    }
}
