//! The log layout: `members/<name>/inbox`, JSON Lines that only grow, beside `inbox-high` and `inbox-low`.
//!
//! A line is a message once its newline is there. What is read is told by a cursor in `state.json`, a number of
//! lines, as shell recipes keep it; see [`cursor`] for what happens when the file was rotated under it.

mod append;
mod archive;
mod blank;
mod carry;
pub mod cursor;
mod lines;
mod rotate;

use std::collections::HashSet;
use std::path::PathBuf;

use atm_wire::message::Priority;
use atm_wire::{Draft, Message};

use crate::commit::SharedFile;
use crate::error::StoreError;
use crate::files::ensure_folder;
use crate::lock::LockTimes;
use crate::lock::queue::Queue;
use crate::mailbox::{Appended, Listing, Marked, Outbox, Receipt, Warning};
use crate::paths::State;
use cursor::Cursor;
use lines::QueueFiles;

/// The order in which the queues are read.
const QUEUES: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

/// An inbox that is a folder of JSON Lines files.
#[derive(Debug)]
pub struct LogInbox {
    folder: PathBuf,
    state: State,
    times: LockTimes,
}

impl LogInbox {
    /// The inbox in the member's `folder`.
    pub fn new(folder: PathBuf, state: &State, times: LockTimes) -> Self {
        Self { folder, state: state.clone(), times }
    }

    /// The file for mail of that priority.
    pub fn file(&self, priority: Priority) -> PathBuf {
        self.folder.join(match priority {
            Priority::High => "inbox-high",
            Priority::Normal => "inbox",
            Priority::Low => "inbox-low",
        })
    }

    /// The files that mail and cursor are in.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        QUEUES.map(|queue| self.file(queue)).into_iter().chain([self.cursor_path()]).collect()
    }

    /// Makes an empty inbox and its cursor, if there is none.
    pub fn create(&self) -> Result<(), StoreError> {
        self.ensure_folders()?;
        append::create(self, Priority::Normal)?;
        cursor::create(&self.cursor_file())
    }

    /// Adds what waits: one write a queue, however many lines there are.
    pub fn deliver(&self, outbox: &mut dyn Outbox) -> Result<Appended, StoreError> {
        self.create()?;
        let deadline = self.times.deadline();
        let _turn = Queue::enter(&self.state.queue(&self.file(Priority::Normal)), &deadline)?;
        let drafts = outbox.waiting();
        let mut appended = Appended::default();
        for queue in QUEUES {
            let drafts: Vec<_> = drafts.iter().filter(|draft| draft.ours.priority == queue).collect();
            if drafts.is_empty() {
                continue;
            }
            appended.known.extend(append::append(self, queue, &drafts, &deadline)?);
            let ids: Vec<String> = drafts.iter().map(|draft| draft.id.clone()).collect();
            outbox.written(&ids);
        }
        Ok(appended)
    }

    /// Adds a message once more, though its id is there.
    pub fn offer(&self, draft: &Draft) -> Result<(), StoreError> {
        self.create()?;
        let deadline = self.times.deadline();
        let _turn = Queue::enter(&self.state.queue(&self.file(Priority::Normal)), &deadline)?;
        append::append_again(self, draft.ours.priority, draft, &deadline)
    }

    /// Looks, without any lock, and changes nothing.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let cursor = Cursor::load(&self.cursor_path())?;
        let mut listing = Listing::default();
        for queue in QUEUES {
            let files = QueueFiles::read(&self.file(queue))?;
            let place = files.place(cursor.of(queue).as_ref());
            for line in files.lines() {
                match Message::from_line(line.text) {
                    Ok(mut message) => {
                        message.read = line.at < place;
                        listing.messages.push(message);
                    }
                    Err(_) if line.text.trim().is_empty() => {}
                    Err(flaw) => {
                        let (path, position) = (line.path.to_owned(), line.number);
                        listing.warnings.push(Warning::SkippedEntry { path, position, flaw });
                    }
                }
            }
        }
        Ok(listing)
    }

    /// Moves the cursors over what was handed out, up to the first line that was not.
    pub fn mark_read(&self, receipts: &HashSet<Receipt>) -> Result<Marked, StoreError> {
        self.ensure_folders()?;
        let file = self.cursor_file();
        let queues = QUEUES.map(|queue| (queue, self.file(queue)));
        let marked = file.update(|look| cursor::advance(&file, look, &queues, receipts))?;
        Ok(Marked { marked, warnings: Vec::new() })
    }

    /// Blanks the lines of messages, where they stand, after a copy of them is in the quarantine; says where.
    pub fn set_aside(&self, receipts: &HashSet<Receipt>, why: &str) -> Result<PathBuf, StoreError> {
        blank::set_aside(self, receipts, why)
    }

    fn cursor_path(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    fn cursor_file(&self) -> SharedFile {
        SharedFile::new(self.cursor_path(), &self.state, self.times)
    }

    fn ensure_folders(&self) -> Result<(), StoreError> {
        if let Some(members) = self.folder.parent() {
            ensure_folder(members)?;
        }
        ensure_folder(&self.folder)
    }
}
