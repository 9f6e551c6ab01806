//! Taking single lines out of a log that others append to: each is written over with spaces, in place.
//!
//! A file that is replaced would lose what a shell appends to the old one meanwhile, and a removed line would shift the
//! numbers that cursors count by. A line of spaces is one that every reader passes over.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::OpenOptions;
use std::path::PathBuf;

use atm_wire::Message;

use super::cursor::Cursor;
use super::lines::QueueFiles;
use super::rewrite::split_end;
use super::{LogInbox, QUEUES};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::lock::flock::Flock;
use crate::lock::queue::Queue;
use crate::mailbox::Receipt;
use crate::paths::with_suffix;
use atm_wire::message::Priority;

/// Blanks the unread lines that the receipts name; says where their copy is.
pub(super) fn set_aside(
    inbox: &LogInbox,
    receipts: &HashSet<Receipt>,
    why: &str,
) -> Result<PathBuf, StoreError> {
    let deadline = inbox.times.deadline();
    let _turn = Queue::enter(&inbox.state.queue(&inbox.file(Priority::Normal)), &deadline)?;
    let cursor = Cursor::load(&inbox.cursor_path())?;
    let mut numbers = inbox.numbers()?;
    let mut copy = String::new();
    let mut named: BTreeMap<PathBuf, HashMap<usize, String>> = BTreeMap::new();
    for queue in QUEUES {
        let files = QueueFiles::read(&inbox.file(queue))?;
        let place = files.place(cursor.of(queue).as_ref());
        for line in files.lines() {
            let Ok(mut message) = Message::from_line(line.text) else { continue };
            numbers.name(&mut message);
            if line.at >= place && receipts.contains(&Receipt::of(&message)) {
                copy.push_str(line.text);
                copy.push('\n');
                named.entry(line.path.to_owned()).or_default().insert(line.number, line.text.to_owned());
            }
        }
    }
    let kept = inbox.state.quarantine().keep(&inbox.file(Priority::Normal), copy.as_bytes(), why)?;
    for (path, named) in named {
        let _flock = Flock::take(&with_suffix(&path, ".lock"), &deadline)?;
        let bytes = disk::read(&path).doing("read", &path)?;
        let target = inbox.state.bounds().resolve(&path)?;
        let file = disk::open(OpenOptions::new().write(true), &target).doing("open", &path)?;
        let mut at = 0;
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let (text, _) = split_end(line);
            // A line that is another one by now stays.
            if named.get(&(number + 1)).is_some_and(|named| named.as_bytes() == text) {
                disk::write_all_at(&file, &vec![b' '; text.len()], at).doing("write to", &path)?;
            }
            at += line.len() as u64;
        }
        disk::sync_data(&file).doing("sync", &path)?;
    }
    Ok(kept)
}
