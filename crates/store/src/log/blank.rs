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
use crate::interrupt;
use crate::lock::Deadline;
use crate::lock::flock::Flock;
use crate::lock::queue::Queue;
use crate::mailbox::Receipt;
use crate::paths::with_suffix;
use crate::points;
use crate::recall::{Recall, Recaller};
use atm_wire::message::Priority;

/// Lines by their files and numbers.
type Named = BTreeMap<PathBuf, HashMap<usize, String>>;

/// Blanks the unread lines that the receipts name; says where their copy is.
pub(super) fn set_aside(
    inbox: &LogInbox,
    receipts: &HashSet<Receipt>,
    why: &str,
) -> Result<PathBuf, StoreError> {
    let deadline = inbox.times.deadline();
    let _turn = Queue::enter(&inbox.queue(), &deadline)?;
    let named = find(inbox, |message, is_read| !is_read && receipts.contains(&Receipt::of(message)))?;
    let kept = keep(inbox, &named, why)?;
    blank(inbox, &named, &deadline)?;
    Ok(kept)
}

/// Blanks the lines that the receipts name, read or not. Their mail is elsewhere: no copy is kept.
pub(super) fn remove(inbox: &LogInbox, receipts: &HashSet<Receipt>) -> Result<(), StoreError> {
    let deadline = inbox.times.deadline();
    let _turn = Queue::enter(&inbox.queue(), &deadline)?;
    let named = find(inbox, |message, _| receipts.contains(&Receipt::of(message)))?;
    blank(inbox, &named, &deadline)
}

/// Blanks the lines of one message, if none of them was read.
pub(super) fn recall(
    inbox: &LogInbox,
    id: &str,
    keeps: bool,
    recaller: &mut dyn Recaller,
) -> Result<Recall, StoreError> {
    let deadline = inbox.times.deadline();
    let _turn = Queue::enter(&inbox.queue(), &deadline)?;
    points::reached("queued");
    let cursor = || disk::read(inbox.cursor_path()).ok();
    let (mut copies, before) = (Vec::new(), cursor());
    let named = find(inbox, |message, is_read| {
        let is_named = message.id == id;
        copies.extend(is_named.then_some(is_read));
        is_named && !is_read
    })?;
    let outcome = if let Some(outcome) = Recall::without_change(copies) {
        outcome
    } else {
        if keeps {
            keep(inbox, &named, "recalled")?;
        }
        interrupt::begin(&inbox.file(Priority::Normal))?;
        blank(inbox, &named, &deadline)?;
        points::reached("blanked");
        // Who reads a log takes no lock of ours, and moves the cursor over what it has read.
        if cursor() == before { Recall::TakenOut } else { Recall::InDoubt }
    };
    if recaller.conclude(outcome) {
        points::reached("recorded");
    }
    Ok(outcome)
}

/// The lines whose messages are wanted; it is asked with whether they were read.
fn find(inbox: &LogInbox, mut wanted: impl FnMut(&Message, bool) -> bool) -> Result<Named, StoreError> {
    let cursor = Cursor::load(&inbox.cursor_path())?;
    let mut numbers = inbox.numbers()?;
    let mut named = Named::new();
    for queue in QUEUES {
        let files = QueueFiles::read(&inbox.file(queue))?;
        let place = files.place(cursor.of(queue).as_ref());
        for line in files.lines() {
            let Ok(mut message) = Message::from_line(line.text) else { continue };
            numbers.name(&mut message);
            if wanted(&message, line.at < place) {
                named.entry(line.path.to_owned()).or_default().insert(line.number, line.text.to_owned());
            }
        }
    }
    Ok(named)
}

/// Puts a copy of the lines into the quarantine; says where.
fn keep(inbox: &LogInbox, named: &Named, why: &str) -> Result<PathBuf, StoreError> {
    let mut copy = String::new();
    for lines in named.values() {
        let mut numbers: Vec<&usize> = lines.keys().collect();
        numbers.sort_unstable();
        for number in numbers {
            copy.push_str(&lines[number]);
            copy.push('\n');
        }
    }
    inbox.state.quarantine().keep(&inbox.file(Priority::Normal), copy.as_bytes(), why)
}

fn blank(inbox: &LogInbox, named: &Named, deadline: &Deadline) -> Result<(), StoreError> {
    for (path, named) in named {
        let _flock = Flock::take(&with_suffix(path, ".lock"), deadline)?;
        let bytes = disk::read(path).doing("read", path)?;
        let target = inbox.state.bounds().resolve(path)?;
        let file = disk::open(OpenOptions::new().write(true), &target).doing("open", path)?;
        let mut at = 0;
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let (text, _) = split_end(line);
            // A line that is another one by now stays.
            if named.get(&(number + 1)).is_some_and(|named| named.as_bytes() == text) {
                disk::write_all_at(&file, &vec![b' '; text.len()], at).doing("write to", path)?;
            }
            at += line.len() as u64;
        }
        disk::sync_data(&file).doing("sync", path)?;
    }
    Ok(())
}
