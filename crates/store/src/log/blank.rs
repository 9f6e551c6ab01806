//! Taking single lines out of a log that others append to: each is written over with spaces, in place.
//!
//! A file that is replaced would lose what a shell appends to the old one meanwhile, and a removed line would shift the
//! numbers that cursors count by. A line of spaces is one that every reader passes over.

use std::collections::{BTreeSet, HashSet};
use std::fs::OpenOptions;
use std::path::PathBuf;

use atm_wire::Message;

use super::cursor::Cursor;
use super::lines::QueueFiles;
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
    let named = |line: &str| Message::from_line(line).is_ok_and(|m| receipts.contains(&Receipt::of(&m)));
    let cursor = Cursor::load(&inbox.cursor_path())?;
    let (mut copy, mut paths) = (String::new(), BTreeSet::new());
    for queue in QUEUES {
        let files = QueueFiles::read(&inbox.file(queue))?;
        let place = files.place(cursor.of(queue).as_ref());
        for line in files.lines().filter(|line| line.at >= place && named(line.text)) {
            copy.push_str(line.text);
            copy.push('\n');
            paths.insert(line.path.to_owned());
        }
    }
    let kept = inbox.state.quarantine().keep(&inbox.file(Priority::Normal), copy.as_bytes(), why)?;
    for path in paths {
        let _flock = Flock::take(&with_suffix(&path, ".lock"), &deadline)?;
        let bytes = disk::read(&path).doing("read", &path)?;
        let file = disk::open(OpenOptions::new().write(true), &path).doing("open", &path)?;
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n");
            if let Some(text) = text.filter(|text| std::str::from_utf8(text).is_ok_and(named)) {
                disk::write_all_at(&file, &vec![b' '; text.len()], at).doing("write to", &path)?;
            }
            at += line.len() as u64;
        }
        disk::sync_data(&file).doing("sync", &path)?;
    }
    Ok(kept)
}
