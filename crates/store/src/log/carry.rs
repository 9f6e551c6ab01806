//! Lines on their way into a log, and out of it.

use atm_wire::message::Priority;

use super::cursor::Cursor;
use super::lines::QueueFiles;
use super::{LogInbox, QUEUES, append};
use crate::carry::{Carried, Load, TakenIn, missing};
use crate::error::StoreError;
use crate::mailbox::Warning;

/// How often lines are written again when the file was replaced under the write.
const TRIES: usize = 5;

impl LogInbox {
    pub(crate) fn carry(&self) -> Result<Load, StoreError> {
        let cursor = Cursor::load(&self.cursor_path())?;
        let mut load = Load::default();
        for queue in QUEUES {
            let files = QueueFiles::read(&self.file(queue))?;
            let place = files.place(cursor.of(queue).as_ref());
            for line in files.lines().filter(|line| self.counts(line)) {
                match Carried::from_line(line.text, queue, line.at < place) {
                    Ok(carried) => load.messages.push(carried),
                    Err(_) if line.text.trim().is_empty() => {}
                    Err(flaw) => {
                        let (path, position) = (line.path.to_owned(), line.number);
                        load.warnings.push(Warning::SkippedEntry { path, position, flaw });
                    }
                }
            }
        }
        Ok(load)
    }

    /// Appends what is not there. What was read stays behind: here it would be unread again.
    pub(crate) fn take_in(&self, to: &str, carried: &[Carried]) -> Result<TakenIn, StoreError> {
        let deadline = self.times.deadline();
        let _turn = self.enter(&deadline)?;
        let mut taken = TakenIn::default();
        for try_number in 0..TRIES {
            let there = self.list()?.messages;
            let new = missing(&there, carried, |carried| &carried.message);
            let (read, unread): (Vec<&Carried>, Vec<&Carried>) =
                new.iter().partition(|carried| carried.message.read);
            if try_number == 0 {
                taken.known = carried.len() - new.len();
                taken.added = unread.iter().map(|carried| carried.message.clone()).collect();
                taken.read = read.into_iter().cloned().collect();
            }
            let mut is_there = true;
            for queue in QUEUES {
                let path = self.file(queue);
                let bad = |flaw: atm_wire::message::Flaw| StoreError::bad(&path, flaw.to_string());
                let of_queue = unread.iter().filter(|carried| carried.priority == queue);
                let lines: Vec<String> =
                    of_queue.map(|carried| carried.as_line(to)).collect::<Result<_, _>>().map_err(bad)?;
                if !lines.is_empty() {
                    let file = append::write(self, &path, &lines.concat(), &deadline)?.synced()?;
                    is_there &= append::is_still_there(&file, &path);
                }
            }
            if is_there {
                return Ok(taken);
            }
        }
        Err(StoreError::Unsettled { path: self.file(Priority::Normal) })
    }
}
