//! What keeps a mailbox small: its mail moves into the archive, or under another name.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use atm_wire::{Message, Stamp};

use crate::archive::Writer;
use crate::disk;
use crate::equal;
use crate::error::StoreError;
use crate::files::is_temp_of_ours;
use crate::mailbox::{Inbox, Listing, Mailbox};

/// No change takes as long as this: a temp file that is older belongs to nobody.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// Says which of a queue's messages, all of which it is given in their order, are to be archived. It may be asked
/// several times; the last answer counts.
pub type Choose<'a> = &'a mut dyn FnMut(&[Message]) -> BTreeSet<usize>;

/// What rotating did.
#[derive(Debug, Default)]
pub struct Rotated {
    /// The new names of what was rotated.
    pub files: Vec<PathBuf>,
    /// What is too large and stays, for so many unread messages in it.
    pub stays: Vec<(PathBuf, usize)>,
}

impl Mailbox {
    /// Moves messages into the archive: they are durably there before they leave the inbox. Mail that comes meanwhile
    /// stays. Gives what was moved.
    pub fn archive(&self, writer: &mut Writer, choose: Choose) -> Result<Vec<Message>, StoreError> {
        self.change(|inbox, lines| {
            let mut moved = match inbox {
                Inbox::Array(array) => array.archive(writer, choose)?,
                Inbox::Log(log) => log.archive(writer, choose)?,
            };
            if let Some(lines) = lines {
                moved.extend(lines.archive(writer, choose)?);
            }
            Ok(moved)
        })
    }

    /// What [`Mailbox::archive`] would move now.
    pub fn would_archive(&self, choose: Choose) -> Result<Vec<Message>, StoreError> {
        self.look(|inbox, lines| {
            let mut found = match inbox {
                Inbox::Array(array) => {
                    let mut messages = array.list()?.messages;
                    equal::name_all(&mut messages, self.past.as_ref());
                    let chosen = choose(&messages);
                    pick(messages, &chosen)
                }
                Inbox::Log(log) => log.would_archive(choose)?,
            };
            if let Some(lines) = lines {
                found.extend(lines.would_archive(choose)?);
            }
            Ok(found)
        })
    }

    /// The log layout's own archive, which recipes make. It stays when the mail is made an array.
    pub fn old_archive(&self) -> Result<Listing, StoreError> {
        self.log_inbox().old_archive()
    }

    /// Moves the log layout's own archive into ours. Gives what was moved.
    pub fn absorb_old_archive(&self, writer: &mut Writer) -> Result<Vec<Message>, StoreError> {
        self.log_inbox().absorb_old_archive(writer)
    }

    /// How many bytes of mail there are, in the largest file of it.
    pub fn size(&self) -> u64 {
        self.files()
            .iter()
            .filter_map(|path| fs::metadata(path).ok())
            .map(|found| found.len())
            .max()
            .unwrap_or(0)
    }

    /// Gives the files of the log layout that are larger than `over` another name, which says the time, and begins new
    /// ones; `None` in the other layout. Those with unread mail stay, unless `force`.
    pub fn rotate(&self, over: u64, now: Stamp, force: bool) -> Result<Option<Rotated>, StoreError> {
        self.change(|inbox, _| match inbox {
            Inbox::Array(_) => Ok(None),
            Inbox::Log(log) => log.rotate(over, now, force).map(Some),
        })
    }

    /// Removes temp files of ours that a process left which died, and whose note is lost too. Says how many.
    pub fn sweep(&self) -> usize {
        let file = self.file();
        let Some(folder) = file.parent() else { return 0 };
        let is_left = |path: &PathBuf| {
            let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
            is_temp_of_ours(path) && age > LEFT_AFTER
        };
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let left = entries.map(|entry| entry.path()).filter(is_left);
        left.filter(|path| disk::remove_file(path).is_ok()).count()
    }
}

/// The messages at these places.
pub(crate) fn pick(messages: Vec<Message>, places: &BTreeSet<usize>) -> Vec<Message> {
    let chosen = messages.into_iter().enumerate().filter(|(place, _)| places.contains(place));
    chosen.map(|(_, message)| message).collect()
}
