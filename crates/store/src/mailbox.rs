//! One member's mail, whichever layout it is kept in.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use atm_wire::json::compact;
use atm_wire::message::Sketch;
use atm_wire::{Draft, MemberName, Message};

use crate::array::{ArrayInbox, Flags};
use crate::carry::missing;
use crate::equal::{self, Past};
use crate::error::StoreError;
use crate::lock::LockTimes;
use crate::lock::queue::Queue;
use crate::log::LogInbox;
use crate::paths::{self, Layout, State};
pub use crate::place::team_layout;
pub use crate::signature::Signature;
pub use crate::warning::Warning;
use crate::witness::Witnesses;

/// What is in a mailbox.
#[derive(Debug, Default)]
pub struct Listing {
    /// The messages, in reading order.
    pub messages: Vec<Message>,
    /// What was passed over.
    pub warnings: Vec<Warning>,
}

/// What an append did.
#[derive(Debug, Default)]
pub struct Appended {
    /// Ids that were in the inbox already and were not written again.
    pub known: Vec<String>,
    /// What went on beside it.
    pub warnings: Vec<Warning>,
}

/// What marking as read did.
#[derive(Debug, Default)]
pub struct Marked {
    /// How many messages were unread and are read now.
    pub marked: usize,
    /// What went on beside it.
    pub warnings: Vec<Warning>,
}

/// What is to be written into one inbox.
///
/// It is asked and told inside our own queue for that inbox: the process whose turn it is writes for all who wait, nothing
/// is written twice, and what is taken back there is not being written by anybody else.
pub trait Outbox {
    /// What waits now. Asked again whenever the file changed under the preparation.
    fn waiting(&mut self) -> Vec<Draft>;

    /// These are in the file. `before` is what stood there when they were put behind it, where that is known. Says whether
    /// that is recorded; if not, the next writer of this inbox is told.
    fn written(&mut self, ids: &[String], before: Option<&Witnesses>) -> bool;

    /// These were taken out of the file by somebody who died before it could be recorded. Says whether that is recorded.
    fn recalled(&mut self, _ids: &[String]) -> bool {
        true
    }

    /// Nothing that is still waiting was written, for this reason.
    fn failed(&mut self, _error: &StoreError) {}

    /// Whether it can use what others had written before they died.
    fn knows_of_the_dead(&self) -> bool {
        true
    }
}

/// Drafts that nobody else knows of.
struct Own<'a>(&'a [Draft]);

impl Outbox for Own<'_> {
    fn waiting(&mut self) -> Vec<Draft> {
        self.0.to_vec()
    }

    fn written(&mut self, _ids: &[String], _before: Option<&Witnesses>) -> bool {
        true
    }

    fn knows_of_the_dead(&self) -> bool {
        false
    }
}

/// Names one message that was handed out, so that exactly that one is marked as read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt {
    id: String,
    content: u64,
}

impl Receipt {
    /// The receipt for `message`.
    pub fn of(message: &Message) -> Self {
        Self::new(&message.id, &message.from, &message.timestamp, &message.text)
    }

    /// The receipt for an entry that goes by this id.
    pub(crate) fn of_sketch(id: &str, sketch: &Sketch) -> Self {
        Self::new(id, &sketch.from, &sketch.timestamp, &sketch.text)
    }

    fn new(id: &str, from: &str, timestamp: &str, text: &str) -> Self {
        // Ids of foreign programs are not always unique: the content counts too. A payload has other spaces in the other
        // layout.
        let text = if text.starts_with('{') { Cow::Owned(compact(text)) } else { Cow::Borrowed(text) };
        let mut hasher = DefaultHasher::new();
        (from, timestamp, text).hash(&mut hasher);
        Self { id: id.to_owned(), content: hasher.finish() }
    }
}

impl std::fmt::Display for Receipt {
    /// One line, by which it can be known again.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:016x} {}", self.content, self.id.escape_debug())
    }
}

/// One member's mail.
///
/// Which files that is, is found out anew for each thing that is done: another process may have
/// [converted](crate::convert) the mailbox since the last one.
#[derive(Debug)]
pub struct Mailbox {
    pub(crate) array: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) state: State,
    pub(crate) times: LockTimes,
    pub(crate) past: Option<Arc<dyn Past>>,
}

#[derive(Debug)]
pub(crate) enum Inbox {
    Array(ArrayInbox),
    Log(LogInbox),
}

/// The turn of one reader of a mailbox, or of one who decides; ends on drop. Writers do not wait for it.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held for its drop")] Mutex<Queue>);

impl Turn {
    pub(crate) fn enter(path: &Path, times: LockTimes) -> Result<Self, StoreError> {
        Queue::enter(path, &times.deadline()).map(Mutex::new).map(Self)
    }
}

impl Mailbox {
    /// The mailbox of `member` in the team at `team`: in the layout that it is kept in, else in the team's.
    pub fn open(team: &Path, member: &MemberName, state: &State, times: LockTimes) -> Self {
        let (array, log) = (paths::array_inbox(team, member), paths::log_folder(team, member));
        Self { array, log, state: state.clone(), times, past: None }
    }

    /// With somebody who remembers which of equal messages is which.
    #[must_use]
    pub fn with_past(self, past: Arc<dyn Past>) -> Self {
        Self { past: Some(past), ..self }
    }

    /// The layout that this mailbox is kept in.
    pub fn layout(&self) -> Layout {
        self.place().layout
    }

    /// The file that mail is written to.
    pub fn file(&self) -> PathBuf {
        match self.layout() {
            Layout::Array => self.array.clone(),
            Layout::Log => self.log.join("inbox"),
        }
    }

    /// Whether there is such a file.
    pub fn exists(&self) -> bool {
        self.file().is_file()
    }

    /// Makes an empty inbox, if there is none.
    pub fn create(&self) -> Result<(), StoreError> {
        self.change(|inbox, _| match inbox {
            Inbox::Array(array) => array.create(),
            Inbox::Log(log) => log.create(),
        })
    }

    /// Adds messages behind the last one, durably. With `strict`, a file that does not parse is an error.
    pub fn append(&self, drafts: &[Draft], strict: bool) -> Result<Appended, StoreError> {
        self.deliver(&mut Own(drafts), strict)
    }

    /// Adds all that waits, durably, in one write.
    pub fn deliver(&self, outbox: &mut dyn Outbox, strict: bool) -> Result<Appended, StoreError> {
        self.change(|inbox, _| match inbox {
            Inbox::Array(array) => array.deliver(outbox, strict),
            Inbox::Log(log) => log.deliver(outbox),
        })
    }

    /// Tells the outbox inside the inbox's queue, without waiting for it, that nothing is going to be written; says whether
    /// it could be told. If not, somebody else is at work there, perhaps with what waits.
    pub fn give_up(&self, outbox: &mut dyn Outbox, why: &StoreError) -> Result<bool, StoreError> {
        match self.layout() {
            Layout::Array => self.array_inbox().give_up(outbox, why),
            Layout::Log => self.log_inbox().give_up(outbox, why),
        }
    }

    /// Offers a message again under its old id: in place of the old entry, or as a new line. Whether that is still wanted
    /// is asked in the inbox's queue, where nobody can be taking it back; says whether it was.
    pub fn offer(&self, draft: &Draft, is_wanted: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        self.change(|inbox, _| match inbox {
            Inbox::Array(array) => array.offer(draft, is_wanted),
            Inbox::Log(log) => log.offer(draft, is_wanted),
        })
    }

    /// Looks, and changes nothing.
    pub fn list(&self) -> Result<Listing, StoreError> {
        self.look(|inbox, lines| self.list_in(inbox, lines))
    }

    fn list_in(&self, inbox: &Inbox, lines: Option<&LogInbox>) -> Result<Listing, StoreError> {
        let mut listing = match inbox {
            Inbox::Array(array) => array.list()?,
            Inbox::Log(log) => log.list()?,
        };
        if let Some(lines) = lines {
            let beside = lines.list()?;
            listing.warnings.extend(beside.warnings);
            let new = missing(&listing.messages, beside.messages, |message| message);
            listing.messages.extend(new);
        }
        equal::name_all(&mut listing.messages, self.past.as_ref());
        Ok(listing)
    }

    /// Looks as [`Mailbox::list`] does, for who is going to mark some of it: a file that has not changed by then need not
    /// be parsed again.
    pub fn list_to_mark(&self) -> Result<(Listing, Option<Flags>), StoreError> {
        self.look(|inbox, lines| match (inbox, lines) {
            (Inbox::Array(array), None) => {
                let (mut listing, flags) = array.list_with_flags()?;
                equal::name_all(&mut listing.messages, self.past.as_ref());
                Ok((listing, flags))
            }
            _ => Ok((self.list_in(inbox, lines)?, None)),
        })
    }

    /// Looks at one message after the other, in reading order, and changes nothing: `each` keeps what it needs in what
    /// `empty` makes. A large array is never in memory as a whole. It may begin anew, if the mail changes meanwhile.
    pub fn fold<T>(
        &self,
        mut empty: impl FnMut() -> T,
        mut each: impl FnMut(&mut T, Message),
    ) -> Result<(T, Vec<Warning>), StoreError> {
        self.look(|inbox, lines| {
            if let (Inbox::Array(array), None) = (inbox, lines)
                && array.is_large()
            {
                return Self::fold_large(array, &mut empty, &mut each);
            }
            let listing = self.list_in(inbox, lines)?;
            let mut all = empty();
            listing.messages.into_iter().for_each(|message| each(&mut all, message));
            Ok((all, listing.warnings))
        })
    }

    /// Where there are messages without ids, in two passes more: which of equal ones is which depends on how many there are.
    fn fold_large<T>(
        array: &ArrayInbox,
        empty: &mut impl FnMut() -> T,
        each: &mut impl FnMut(&mut T, Message),
    ) -> Result<(T, Vec<Warning>), StoreError> {
        let ((all, have_ids), warnings) =
            array.fold(&mut || (empty(), true), &mut |(all, have_ids), message| {
                *have_ids &= message.id_given;
                if *have_ids {
                    each(all, message);
                }
            })?;
        if have_ids {
            return Ok((all, warnings));
        }
        let numbers = array.numbers()?;
        let ((all, _), warnings) =
            array.fold(&mut || (empty(), numbers.clone()), &mut |(all, numbers), mut message| {
                numbers.name(&mut message);
                each(all, message);
            })?;
        Ok((all, warnings))
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let place = self.place();
        let array = (place.layout == Layout::Array).then(|| self.array.clone());
        let log =
            (place.layout == Layout::Log || place.lines_beside.is_some()).then(|| self.log_inbox().files());
        array.into_iter().chain(log.into_iter().flatten()).collect()
    }

    /// Waits for the turn to take mail: two readers of one name never get the same message.
    pub fn turn(&self) -> Result<Turn, StoreError> {
        Turn::enter(&self.state.readers(&self.owner()), self.times)
    }

    /// Marks as read what was handed out, and nothing else. Says how many it found unread.
    pub fn mark_read(&self, receipts: &HashSet<Receipt>) -> Result<Marked, StoreError> {
        if receipts.is_empty() {
            return Ok(Marked::default());
        }
        self.change(|inbox, lines| {
            let mut marked = match inbox {
                Inbox::Array(array) => array.mark_read(receipts)?,
                Inbox::Log(log) => log.mark_read(receipts)?,
            };
            if let Some(lines) = lines {
                marked.marked += lines.mark_read(receipts)?.marked;
            }
            Ok(marked)
        })
    }

    /// The same for messages that were listed to be marked, with their flags, if all of them and no others have one.
    pub fn mark_listed(&self, messages: &[Message], flags: Option<&Flags>) -> Result<Marked, StoreError> {
        if messages.is_empty() {
            return Ok(Marked::default());
        }
        let made = OnceCell::new();
        let receipts = || made.get_or_init(|| messages.iter().map(Receipt::of).collect());
        self.change(|inbox, lines| match (inbox, lines) {
            (Inbox::Array(array), None) => array.mark(flags, &receipts),
            _ => self.mark_read(receipts()),
        })
    }

    /// Takes unread messages out of the mail, and says in which file of the quarantine they are kept. The other
    /// messages stay as they are.
    pub fn set_aside(&self, receipts: &HashSet<Receipt>, why: &str) -> Result<PathBuf, StoreError> {
        self.change(|inbox, lines| {
            if let Some(lines) = lines {
                lines.set_aside(receipts, why)?;
            }
            match inbox {
                Inbox::Array(array) => array.set_aside(receipts, why),
                Inbox::Log(log) => log.set_aside(receipts, why),
            }
        })
    }

    /// Waits for the turn to answer requests that were put to this name: each is answered once.
    pub fn deciding(&self) -> Result<Turn, StoreError> {
        Turn::enter(&self.state.deciders(&self.owner()), self.times)
    }

    /// Hands out the first `limit` unread messages and marks them as read, in one step.
    pub fn take(&self, limit: usize) -> Result<Listing, StoreError> {
        let _turn = self.turn()?;
        let mut listing = self.list()?;
        listing.messages.retain(|message| !message.read);
        listing.messages.truncate(limit);
        self.mark_read(&listing.messages.iter().map(Receipt::of).collect())?;
        Ok(listing)
    }

    /// What the owner's turns and notes are named after, whichever layout the mail is in.
    pub(crate) fn owner(&self) -> PathBuf {
        let name = self.log.file_name().unwrap_or_default();
        self.team().join(name)
    }

    pub(crate) fn team(&self) -> &Path {
        self.log.parent().and_then(Path::parent).unwrap_or(Path::new(""))
    }
}
