//! What a mailbox looks like from outside: cheap to ask, so that who waits, or looks again, need not read.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use atm_wire::MemberName;

use crate::files::{TICK, is_young};
use crate::lock::LockTimes;
use crate::mailbox::Mailbox;
use crate::paths::State;

/// A file of this size takes as long to read as waiting until its time tells of changes.
const LARGE: u64 = 1 << 20;
/// The files of the log layout: three queues and a cursor.
const MOST_FILES: usize = 4;

/// What files, such as a mailbox's, looked like from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(Vec<Option<(u64, u64, i64, i64)>>);

impl Signature {
    /// Of these files, or folders; none of them has to be there.
    pub fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let look = |path: P| fs::metadata(path).ok().as_ref().map(Self::part);
        Self(paths.into_iter().map(look).collect())
    }

    fn part(file: &Metadata) -> (u64, u64, i64, i64) {
        (file.ino(), file.len(), file.mtime(), file.mtime_nsec())
    }

    /// When one of the files was last written, in milliseconds since the epoch.
    pub fn changed_at(&self) -> Option<i64> {
        let millis = |(_, _, seconds, nanos): &(u64, u64, i64, i64)| {
            seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000)
        };
        self.0.iter().flatten().map(millis).max()
    }

    /// Whether the mail is in one layout. What counts of lines beside an array depends on more than these files.
    pub fn is_of_one_layout(&self) -> bool {
        self.0.len() <= MOST_FILES
    }

    /// Whether every change after `now` shows in the files' times.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        self.0.iter().flatten().all(|(_, _, seconds, nanos)| !is_young((*seconds, *nanos), now))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for file in &self.0 {
            match file {
                Some((inode, size, seconds, nanos)) => write!(f, "{inode}:{size}:{seconds}.{nanos} ")?,
                None => f.write_str("- ")?,
            }
        }
        Ok(())
    }
}

impl Mailbox {
    /// What changes whenever the mailbox may have changed.
    pub fn signature(&self) -> Signature {
        self.signature_where(true)
    }

    /// The same where it is known whether there may be a log.
    fn signature_where(&self, may_have_log: bool) -> Signature {
        // Most mail is in an array and nowhere else: then what tells so is all there is to ask.
        if let Some(array) = fs::metadata(&self.array).ok().filter(Metadata::is_file)
            && !(may_have_log && self.log.join("inbox").is_file())
        {
            return Signature(vec![Some(Signature::part(&array))]);
        }
        Signature::of(self.files())
    }

    /// The same, unless the files are so young that their next change might not show in it.
    pub fn settled_signature(&self) -> Option<Signature> {
        let now = SystemTime::now();
        Some(self.signature()).filter(|signature| signature.is_settled(now))
    }

    /// The same; files that are large are waited for, since reading them again costs more than these milliseconds.
    pub fn signature_once_settled(&self) -> Option<Signature> {
        let now = SystemTime::now();
        let signature = self.signature();
        if signature.is_settled(now) {
            return Some(signature);
        }
        if signature.0.iter().flatten().any(|(_, size, ..)| *size >= LARGE) {
            thread::sleep(TICK);
            return self.settled_signature();
        }
        None
    }
}

/// The mailboxes of one team, for a look at many of them at one moment.
#[derive(Debug)]
pub struct Mailboxes<'a> {
    team: PathBuf,
    has_logs: bool,
    state: &'a State,
    times: LockTimes,
}

impl<'a> Mailboxes<'a> {
    /// Those of the team in this folder.
    pub fn of(team: PathBuf, state: &'a State, times: LockTimes) -> Self {
        let has_logs = team.join("members").is_dir();
        Self { team, has_logs, state, times }
    }

    /// The folder of the team.
    pub fn team(&self) -> &Path {
        &self.team
    }

    /// The mailbox of a name, whether there is one or not.
    pub fn open(&self, name: &MemberName) -> Mailbox {
        Mailbox::open(&self.team, name, self.state, self.times)
    }

    /// What this one of them looks like.
    pub fn signature(&self, mailbox: &Mailbox) -> Signature {
        mailbox.signature_where(self.has_logs)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::paths::{array_inbox, log_folder};

    #[test]
    fn it_tells_of_every_change_in_whichever_layout() {
        let folder = tempfile::tempdir().unwrap();
        let (team, state) = (folder.path().join("demo"), State::new(folder.path().join("state")));
        let bob: MemberName = "bob".parse().unwrap();
        let mailbox = Mailbox::open(&team, &bob, &state, LockTimes::default());
        let array = array_inbox(&team, &bob);
        let log = log_folder(&team, &bob).join("inbox");
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let steps: [&dyn Fn(); 6] = [
            &|| (),
            &|| write(&array, "[]"),
            &|| write(&array, "[ ]"),
            &|| write(&log, "{}\n"),
            &|| write(&log, "{}\n{}\n"),
            &|| fs::remove_file(&array).unwrap(),
        ];
        let mut seen = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            step();
            let signature = mailbox.signature();
            let among = Mailboxes::of(team.clone(), &state, LockTimes::default());
            assert_eq!(among.signature(&among.open(&bob)), signature, "step {number}");
            assert!(!seen.contains(&signature.to_string()), "step {number} shows");
            assert_eq!(signature.is_of_one_layout(), !(array.exists() && log.exists()), "step {number}");
            seen.push(signature.to_string());
        }
    }

    #[test]
    fn what_was_written_within_a_tick_is_not_settled() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        let bob: MemberName = "bob".parse().unwrap();
        let mailbox = Mailbox::open(folder.path(), &bob, &state, LockTimes::default());
        let array = array_inbox(folder.path(), &bob);
        fs::create_dir_all(array.parent().unwrap()).unwrap();
        fs::write(&array, "[]").unwrap();
        let now = SystemTime::now();
        assert!(!mailbox.signature().is_settled(now));
        assert!(mailbox.signature().is_settled(now + Duration::from_secs(3)));
        fs::remove_file(&array).unwrap();
        assert!(mailbox.signature().is_settled(now), "nothing is there, and anything would show");
    }
}
