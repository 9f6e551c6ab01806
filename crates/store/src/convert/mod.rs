//! Bringing a mailbox from one layout into the other, beside everybody who writes to it.
//!
//! An array becomes a log:
//!
//! 1. The log is written beside its place: what was read, then the rest, with the cursor between.
//! 2. A mark (`mark.rs`) is written: what is in the log does not count while the array is in its place.
//! 3. Under the array's locks, and if it is still what was read, the log is put in place, and the array renamed:
//!    **from here on the log counts.**
//!
//! A log becomes an array:
//!
//! 1. The mark is written: once there is an array, this many bytes of the log do not count.
//! 2. The array is put in place by a [commit](crate::commit): **from here on it counts.**
//! 3. The log's files are renamed. What a shell appends to them late, or had appended since they were read, is brought in.
//!
//! Where there is an array beside the log before, what is in both counts once, so the mark comes after the commit.
//! At the end the mark is removed, and the old files go to the quarantine. The next run after a conversion that died
//! continues where it stopped.

mod folder;
pub(crate) mod mark;

use std::time::Duration;

use crate::carry::{Carried, Load};
use crate::disk;
use crate::error::StoreError;
use crate::files::{Snapshot, ensure_folder};
use crate::mailbox::{Mailbox, Warning};
use crate::paths::Layout;
use crate::points;
use mark::{Mark, all_taken_out, taken_out, was_at};

/// A shell opens the inbox before it starts the program that writes the line; these are the waits, in milliseconds,
/// between the looks for such a line.
const LATE_MS: [u64; 7] = [1, 4, 10, 20, 40, 60, 80];

/// What a conversion did.
#[derive(Debug, Default)]
pub struct Converted {
    /// How many messages there were.
    pub messages: usize,
    /// How many of them are unread.
    pub unread: usize,
    /// Where the old files are.
    pub kept: Vec<std::path::PathBuf>,
    /// What was left behind, in the old files.
    pub warnings: Vec<Warning>,
}

/// Told how many messages of how many are done.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

impl Mailbox {
    /// Whether there is anything to be done to have it in that layout.
    pub fn is_in(&self, layout: Layout) -> Result<bool, StoreError> {
        let is_clean = Mark::read(&self.log).is_none() && all_taken_out(&self.log).is_empty();
        Ok(is_clean
            && !taken_out(&self.array).exists()
            && match layout {
                Layout::Array => !self.log_inbox().has_files()?,
                Layout::Log => !self.array.is_file(),
            })
    }

    /// Brings it into that layout. `to` is whose it is. Readers have to wait meanwhile, who have the [turn](Self::turn).
    pub fn convert(&self, to: &str, layout: Layout, progress: Progress) -> Result<Converted, StoreError> {
        let mut done = Converted::default();
        self.finish(to, &mut done)?;
        let has_lines = self.log_inbox().has_files()?;
        match layout {
            Layout::Array if has_lines => self.to_array(to, &mut done, progress)?,
            Layout::Log if self.array.is_file() => {
                if has_lines {
                    self.to_array(to, &mut done, progress)?;
                }
                self.to_log(to, &mut done, progress)?;
            }
            Layout::Array | Layout::Log => {}
        }
        points::reached("convert_done");
        Ok(done)
    }

    /// Goes on from where a conversion was that died.
    fn finish(&self, to: &str, done: &mut Converted) -> Result<(), StoreError> {
        let log = self.log_inbox();
        if self.log.is_dir() {
            let _turn = log.hold(&self.times.deadline())?;
            log.remove_left();
        }
        match Mark::read(&self.log) {
            // One of no file that is there is of a log that was never put in place: what it says is of nothing.
            Some(mark)
                if self.array.is_file()
                    && !taken_out(&self.array).exists()
                    && (mark.in_array.is_empty() || log.has_any_of(&mark.in_array)?) =>
            {
                self.take_lines_out(to, mark, done)
            }
            _ => self.keep_old(done),
        }
    }

    /// The mark goes, then the old files.
    fn keep_old(&self, done: &mut Converted) -> Result<(), StoreError> {
        Mark::remove(&self.log)?;
        points::reached("convert_unmarked");
        let array = Some(taken_out(&self.array)).filter(|path| path.exists());
        for path in all_taken_out(&self.log).into_iter().chain(array) {
            let kept = self.state.quarantine().move_in_as(&path, &was_at(&path), "converted")?;
            done.kept.push(kept);
        }
        Ok(())
    }

    fn to_log(&self, to: &str, done: &mut Converted, progress: Progress) -> Result<(), StoreError> {
        let log = self.log_inbox();
        if let Some(members) = self.log.parent() {
            ensure_folder(members)?;
        }
        ensure_folder(&self.log)?;
        let deadline = self.times.deadline();
        let mut turn = None;
        let prepare = |load: Load, seen: &Snapshot| {
            // Our turn at the array comes first, everywhere.
            if turn.is_none() {
                turn = Some(log.hold(&deadline)?);
            }
            let staged = log.stage(to, &load.messages, seen.metadata(), progress)?;
            points::reached("convert_written");
            Mark { in_array: staged.in_array.clone() }.put(&self.log)?;
            points::reached("convert_marked");
            Ok((staged, load))
        };
        let taken = self.array_inbox().take_out(&taken_out(&self.array), prepare, |(staged, _)| staged.put());
        let (_, Load { messages, warnings }) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                // If the log was not put in place, the mark is of nothing, and a file of others may get the same number.
                let mark = Mark::read(&self.log).unwrap_or_default();
                if !log.has_any_of(&mark.in_array).unwrap_or(true) {
                    Mark::remove(&self.log)?;
                }
                return Err(error);
            }
        };
        points::reached("convert_counts");
        done.messages = messages.len();
        done.unread = messages.iter().filter(|carried| !carried.message.read).count();
        done.warnings.extend(warnings);
        self.keep_old(done)
    }

    fn to_array(&self, to: &str, done: &mut Converted, progress: Progress) -> Result<(), StoreError> {
        let log = self.log_inbox();
        let mut mark = Mark { in_array: Vec::new() };
        let mut warnings = Vec::new();
        let mut counts = (0, 0);
        let turn = log.hold(&self.times.deadline())?;
        self.array_inbox().bring_in(
            to,
            |is_there| {
                let whole = log.whole()?;
                (mark.in_array, warnings) = (whole.read, whole.warnings);
                if !is_there {
                    mark.put(&self.log)?;
                    points::reached("convert_marked");
                }
                let unread = whole.runs.iter().flatten().filter(|carried| !carried.message.read).count();
                let messages = in_order(whole.runs);
                counts = (messages.len(), unread);
                Ok(messages)
            },
            progress,
        )?;
        points::reached("convert_counts");
        // Also where there was an array: what is in both counts once, until here.
        mark.put(&self.log)?;
        (done.messages, done.unread) = counts;
        done.warnings.extend(warnings);
        drop(turn);
        self.take_lines_out(to, mark, done)
    }

    /// Takes the log's files out of their places, and brings in what comes late.
    fn take_lines_out(&self, to: &str, mut mark: Mark, done: &mut Converted) -> Result<(), StoreError> {
        let log = self.log_inbox();
        let deadline = self.times.deadline();
        let turn = log.hold(&deadline)?;
        log.take_out(&deadline)?;
        drop(turn);
        points::reached("lines_taken_out");
        for (at, wait) in LATE_MS.iter().enumerate() {
            let late = log.late(&mut mark.in_array, at + 1 == LATE_MS.len())?;
            if !late.is_empty() {
                let added = self.array_inbox().add(to, &late)?;
                mark.put(&self.log)?;
                done.messages += added;
                done.unread += added;
            }
            disk::pause(Duration::from_millis(*wait));
        }
        points::reached("convert_late");
        log.reset_cursor()?;
        self.keep_old(done)
    }
}

/// Several runs of messages as one, by their times. Those of one run stay in their order.
fn in_order(runs: Vec<Vec<Carried>>) -> Vec<Carried> {
    let mut runs: Vec<_> = runs.into_iter().map(|run| run.into_iter().peekable()).collect();
    let mut all = Vec::new();
    loop {
        let heads = runs.iter_mut().enumerate();
        let next = heads.filter_map(|(at, run)| Some((run.peek()?.message.sent_at, at))).min();
        let Some((_, at)) = next else { return all };
        all.extend(runs[at].next());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use atm_wire::message::Priority;

    use super::*;

    #[test]
    fn messages_stand_by_their_times_and_those_of_one_run_in_their_order() {
        let run = |messages: &[(&str, &str)]| -> Vec<Carried> {
            let line = |(text, time): &(&str, &str)| {
                let line = format!(
                    r#"{{"type":"message","from":"a","timestamp":"{time}","content":{{"text":"{text}"}}}}"#
                );
                Carried::from_line(&line, Priority::Normal, false).unwrap()
            };
            messages.iter().map(line).collect()
        };
        let at = |second: &str| format!("2026-11-15T18:42:{second}Z");
        let (one, two, three) = (at("01"), at("02"), at("03"));
        let first = run(&[("b", &two), ("a", &one), ("x", "no time")]);
        let second = run(&[("c", &one), ("d", &two), ("e", &three)]);
        let texts: Vec<String> = in_order(vec![first, Vec::new(), second])
            .into_iter()
            .map(|carried| carried.message.text)
            .collect();
        assert_eq!(texts, ["c", "b", "a", "x", "d", "e"]);
    }

    #[test]
    fn a_file_that_was_taken_out_says_where_it_was() {
        for path in
            ["/t/inboxes/bob.json", "/t/members/bob/inbox-high", "/t/members/bob/inbox.20261115-184220"]
        {
            let out = taken_out(Path::new(path));
            assert!(mark::is_of_conversion(&out) && !mark::is_of_conversion(Path::new(path)), "{path}");
            assert_eq!(was_at(&out), Path::new(path));
        }
    }
}
