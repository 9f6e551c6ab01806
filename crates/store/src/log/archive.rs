//! Taking lines out of a log into the archive, beside those who append without a lock and readers who count lines.
//!
//! 1. The lines are written to the archive.
//! 2. The cursor says the number that the last line read will have. A reader who counts finds too few lines counted
//!    until the file is cut, and shows some again; the other way round it would pass over mail. We go by the mark.
//! 3. Each file is replaced by what stays of it, see [`super::rewrite`].
//!
//! The last line that was read stays: it is what the mark is on.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use atm_wire::Message;
use atm_wire::archive::Form;
use atm_wire::message::Priority;

use super::cursor::{self, Cursor, QueueCursor};
use super::lines::{Line, Place, QueueFiles};
use super::rewrite::split_end;
use super::{LogInbox, QUEUES};
use crate::archive::Writer;
use crate::commit::{Look, Plan, SharedFile};
use crate::disk;
use crate::equal::Numbers;
use crate::error::{IoContext, StoreError};
use crate::mailbox::{Listing, Warning};
use crate::points;
use crate::upkeep::{Choose, pick};

/// The lines of one queue as they stand, and which of them are messages.
pub(super) struct Standing<'a> {
    lines: Vec<Line<'a>>,
    place: Place,
    /// For each message, its place among the lines.
    places: Vec<usize>,
    messages: Vec<Message>,
    /// The last message that was read, as its place among the lines.
    pub(super) last_read: Option<usize>,
}

impl<'a> Standing<'a> {
    /// Equal messages go by `numbers`, which are those of the queues before this one.
    pub(super) fn new(files: &'a QueueFiles, cursor: Option<&QueueCursor>, numbers: &mut Numbers) -> Self {
        let place = files.place(cursor);
        let lines: Vec<Line> = files.lines().collect();
        let (mut places, mut messages) = (Vec::new(), Vec::new());
        let mut last_read = None;
        for (at, line) in lines.iter().enumerate() {
            let Ok(mut message) = Message::from_line(line.text) else { continue };
            numbers.name(&mut message);
            message.read = line.at < place;
            if message.read {
                last_read = Some(at);
            }
            places.push(at);
            messages.push(message);
        }
        Self { lines, place, places, messages, last_read }
    }

    /// How many messages in this file were not read.
    pub(super) fn unread_in(&self, file: usize) -> usize {
        let unread = |(at, message): &(&usize, &Message)| self.lines[**at].at.0 == file && !message.read;
        self.places.iter().zip(&self.messages).filter(unread).count()
    }

    pub(super) fn line(&self, at: usize) -> &Line<'a> {
        &self.lines[at]
    }

    /// The chosen messages, less what has to stay: the line that the mark is on, and what is not quite text.
    fn choose(&self, choose: Choose) -> BTreeSet<usize> {
        let mut chosen = choose(&self.messages);
        chosen
            .retain(|at| Some(self.places[*at]) != self.last_read && !self.lines[self.places[*at]].is_lossy);
        chosen
    }
}

/// What is to go out of the files of one queue.
#[derive(Debug, Default)]
struct Cut {
    files: Vec<(PathBuf, Vec<String>)>,
    messages: Vec<Message>,
    /// For the next queue.
    numbers: Numbers,
}

impl LogInbox {
    /// Moves messages into the archive.
    pub(crate) fn archive(&self, writer: &mut Writer, choose: Choose) -> Result<Vec<Message>, StoreError> {
        let mut moved = Vec::new();
        if !self.beyond.is_empty() {
            // On its way into the array: what came since will be archived from there.
            return Ok(moved);
        }
        let mut numbers = self.numbers()?;
        for queue in QUEUES {
            let file = self.cursor_file();
            let cut =
                file.update(|look| self.plan_cut(&file, look, queue, numbers.clone(), writer, choose))?;
            for (path, lines) in &cut.files {
                self.cut(queue, path, lines)?;
            }
            if !cut.messages.is_empty() {
                points::reached("inbox_cut");
            }
            moved.extend(cut.messages);
            numbers = cut.numbers;
        }
        Ok(moved)
    }

    /// What would be moved now.
    pub(crate) fn would_archive(&self, choose: Choose) -> Result<Vec<Message>, StoreError> {
        let cursor = Cursor::load(&self.cursor_path())?;
        let mut found = Vec::new();
        let mut numbers = self.numbers()?;
        for queue in QUEUES {
            let files = QueueFiles::read(&self.file(queue))?;
            let standing = Standing::new(&files, cursor.of(queue).as_ref(), &mut numbers);
            let chosen = standing.choose(choose);
            found.extend(pick(standing.messages, &chosen));
        }
        Ok(found)
    }

    fn plan_cut(
        &self,
        file: &SharedFile,
        look: Look,
        queue: Priority,
        mut numbers: Numbers,
        writer: &mut Writer,
        choose: Choose,
    ) -> Result<Plan<Cut>, StoreError> {
        let Some(text) = cursor::readable(file, look)? else { return Ok(Plan::Unsure) };
        let cursor = Cursor::parse(&text, fs::metadata(file.path()).ok().as_ref());
        let files = QueueFiles::read(&self.file(queue))?;
        let standing = Standing::new(&files, cursor.of(queue).as_ref(), &mut numbers);
        let chosen = standing.choose(choose);
        let gone: BTreeSet<usize> = chosen.iter().map(|at| standing.places[*at]).collect();
        let batch: Vec<(&Message, &str)> = chosen
            .iter()
            .map(|at| (&standing.messages[*at], standing.lines[standing.places[*at]].text))
            .collect();
        writer.put(Form::Log, &batch)?;
        let mut cut = Cut { numbers, ..Cut::default() };
        for at in &gone {
            let line = &standing.lines[*at];
            match cut.files.last_mut().filter(|(path, _)| path == line.path) {
                Some((_, lines)) => lines.push(line.text.to_owned()),
                None => cut.files.push((line.path.to_owned(), vec![line.text.to_owned()])),
            }
        }
        // How many lines of a file stay, of those before a place.
        let stay = |place: Place| {
            let is_before = |(at, line): &(usize, &Line)| {
                line.at.0 == place.0 && line.at.1 < place.1 && !gone.contains(at)
            };
            standing.lines.iter().enumerate().filter(is_before).count()
        };
        let text = standing.last_read.filter(|_| !gone.is_empty()).map(|at| {
            let line = &standing.lines[at];
            let told = if standing.place.0 == files.newest() { stay(standing.place) } else { 0 };
            cursor::with_mark(
                file,
                &text,
                queue,
                (line.inode, line.text),
                stay((line.at.0, line.at.1 + 1)),
                told,
            )
        });
        cut.messages = pick(standing.messages, &chosen);
        match text.transpose()? {
            Some(text) => Ok(Plan::Replace(text, cut)),
            None => Ok(Plan::Keep(cut)),
        }
    }

    /// Takes lines out of a file of a queue; a rotated one of which nothing stays goes as a whole.
    fn cut(&self, queue: Priority, path: &Path, lines: &[String]) -> Result<(), StoreError> {
        self.rewrite(queue, path, |bytes| (without(bytes, lines), ()))?;
        let is_empty = fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
        if path != self.file(queue) && is_empty {
            disk::remove_file(path).doing("remove", path)?;
        }
        Ok(())
    }

    pub(super) fn old_archive_path(&self) -> PathBuf {
        self.folder.join("inbox-archive")
    }

    /// What recipes have put into the layout's own archive.
    pub(crate) fn old_archive(&self) -> Result<Listing, StoreError> {
        let files = QueueFiles::read(&self.old_archive_path())?;
        let mut listing = Listing::default();
        for line in files.lines() {
            match Message::from_line(line.text) {
                Ok(message) => listing.messages.push(Message { read: true, ..message }),
                Err(_) if line.text.trim().is_empty() => {}
                Err(flaw) => {
                    let (path, position) = (line.path.to_owned(), line.number);
                    listing.warnings.push(Warning::SkippedEntry { path, position, flaw });
                }
            }
        }
        Ok(listing)
    }

    /// Moves that archive into ours.
    pub(crate) fn absorb_old_archive(&self, writer: &mut Writer) -> Result<Vec<Message>, StoreError> {
        let path = self.old_archive_path();
        let files = QueueFiles::read(&path)?;
        let lines: Vec<(Message, &str)> = files
            .lines()
            .filter(|line| line.path == path && !line.is_lossy)
            .filter_map(|line| {
                Some((Message { read: true, ..Message::from_line(line.text).ok()? }, line.text))
            })
            .collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let batch: Vec<(&Message, &str)> = lines.iter().map(|(message, text)| (message, *text)).collect();
        writer.put(Form::Log, &batch)?;
        let texts: Vec<String> = lines.iter().map(|(_, text)| (*text).to_owned()).collect();
        self.cut(Priority::Normal, &path, &texts)?;
        points::reached("inbox_cut");
        Ok(lines.into_iter().map(|(message, _)| message).collect())
    }
}

/// What is left of a log without the lines; nothing where all stays.
fn without(bytes: &[u8], lines: &[String]) -> Option<Vec<u8>> {
    let mut gone: HashMap<&[u8], usize> = HashMap::new();
    for line in lines {
        *gone.entry(line.as_bytes()).or_default() += 1;
    }
    let mut stays = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let (text, end) = split_end(line);
        match gone.get_mut(text).filter(|left| **left > 0 && !end.is_empty()) {
            Some(left) => *left -= 1,
            None => stays.extend_from_slice(line),
        }
    }
    (stays.len() < bytes.len()).then_some(stays)
}
