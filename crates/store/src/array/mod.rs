//! The array layout: `inboxes/<name>.json`, one JSON array.

mod archive;
mod carry;
mod checked;
mod content;
mod convert;
mod flags;
mod fold;
mod mark;
mod mend;
mod migrate;
mod recall;
mod salvage;
mod stream;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atm_wire::json::{self, Object, Patch};
use atm_wire::message::{Flaw, Sketch};
use atm_wire::{Draft, Message};
use serde_json::value::RawValue;

use crate::commit::{Content, Desk, Look, Plan, SharedFile, Step, Unwritten};
use crate::equal::{self, Numbers, Past};
use crate::error::StoreError;
use crate::files::{Snapshot, ensure_folder, read_patiently, resolve};
use crate::lock::LockTimes;
use crate::mailbox::{Appended, Listing, Marked, Outbox, Receipt, Warning};
use crate::paths::State;
use crate::quarantine::Quarantine;
use crate::recall::tell_left;
use crate::witness::{self, Witnesses};
pub use flags::Flags;
pub use mend::{Mended, mended, with_entries_of, without_copies};

use content::{Entries, Reading, SEARCH_AT_MOST};

/// An inbox that is one JSON array.
#[derive(Debug)]
pub struct ArrayInbox {
    file: SharedFile,
    folder: PathBuf,
    quarantine: Quarantine,
    /// Where the mail is, if there is such a file and ours is gone.
    unless: Option<PathBuf>,
    past: Option<Arc<dyn Past>>,
}

/// What came of writing what waited.
#[derive(Debug, Default)]
struct Delivered {
    ids: Vec<String>,
    known: Vec<String>,
    before: Option<Witnesses>,
    warning: Option<Warning>,
}

impl Delivered {
    /// Tells the outbox what is in the file now; says whether all of it is recorded.
    fn record(&self, outbox: &mut dyn Outbox) -> bool {
        let is_known = |id: &String| self.known.contains(id);
        let (known, new): (Vec<String>, Vec<String>) = self.ids.iter().cloned().partition(is_known);
        // Of new ones, nothing known is no witness; of known ones it is that they were there.
        let before = self.before.clone().unwrap_or_default();
        let groups = [(known, None), (new, Some(&before))];
        groups.iter().all(|(ids, before)| ids.is_empty() || outbox.written(ids, *before))
    }
}

impl ArrayInbox {
    /// The inbox at `path`.
    pub fn new(path: PathBuf, state: &State, times: LockTimes) -> Self {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let file = SharedFile::new(path, state, times).with_flock(folder.join(".lock")).with_directory_lock();
        Self { file, folder, quarantine: state.quarantine(), unless: None, past: None }
    }

    /// With somebody who remembers which of equal messages is which.
    pub(crate) fn with_past(self, past: Option<Arc<dyn Past>>) -> Self {
        Self { past, ..self }
    }

    /// The mail is here, unless this file of the other layout is there and ours is not.
    pub(crate) fn unless(mut self, other: PathBuf) -> Self {
        self.unless = Some(other);
        self
    }

    /// It has to be our turn, and the file missing.
    fn check_moved(&self) -> Result<(), StoreError> {
        match &self.unless {
            Some(other) if other.is_file() => Err(StoreError::Moved { path: self.path().to_owned() }),
            _ => Ok(()),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Makes an empty inbox, if there is none.
    pub fn create(&self) -> Result<(), StoreError> {
        ensure_folder(&self.folder)?;
        self.file.update(|look| match look.content {
            Content::Missing => self.check_moved().map(|()| Plan::Replace("[]".to_owned(), ())),
            _ => Ok(Plan::Keep(())),
        })
    }

    /// Adds what waits behind the last entry; the bytes before stay as they are.
    pub fn deliver(&self, outbox: &mut dyn Outbox, strict: bool) -> Result<Appended, StoreError> {
        ensure_folder(&self.folder)?;
        let outbox = RefCell::new(outbox);
        let prepare = |desk: &Desk| {
            let mut outbox = outbox.borrow_mut();
            let left = if outbox.knows_of_the_dead() { desk.left() } else { Vec::new() };
            if !left.is_empty() && tell_left(&left, &mut **outbox) {
                desk.left_is_told();
            }
            let mut drafts = outbox.waiting();
            // What could not be recorded still counts as waiting, and is in the file or was taken from it.
            drafts.retain(|draft| !left.contains(&draft.id));
            if drafts.is_empty() {
                return Ok(Step::Done(Delivered::default()));
            }
            let mut step = self.prepare_append(desk, &drafts, strict)?;
            if let Step::Ready(prepared) = &mut step
                && !outbox.knows_of_the_dead()
            {
                // Nobody else would write these: they go without a note, for which there may be no room.
                prepared.ids.clear();
            }
            Ok(step)
        };
        let conclude = |outcome: Result<&Delivered, Unwritten>| {
            let mut outbox = outbox.borrow_mut();
            match outcome {
                Ok(delivered) => delivered.record(&mut **outbox),
                Err(Unwritten { error, left }) => {
                    // We may not have come to telling this before.
                    if outbox.knows_of_the_dead() && !left.is_empty() {
                        tell_left(&left, &mut **outbox);
                    }
                    outbox.failed(error);
                    true
                }
            }
        };
        let (delivered, unsynced) = self.file.commit(prepare, conclude)?;
        let unsynced = unsynced.map(|error| Warning::Unsynced { why: error.to_string() });
        let warnings = delivered.warning.into_iter().chain(unsynced).collect();
        Ok(Appended { known: delivered.known, warnings })
    }

    /// Tells the outbox that nothing is going to be written, if nobody is in our queue; says whether it was told.
    pub(crate) fn give_up(&self, outbox: &mut dyn Outbox, why: &StoreError) -> Result<bool, StoreError> {
        let told = self.file.if_idle(|queue| {
            let left = queue.left();
            if outbox.knows_of_the_dead() && !left.is_empty() && tell_left(&left, outbox) {
                queue.left_is_told();
            }
            outbox.failed(why);
        })?;
        Ok(told.is_some())
    }

    fn prepare_append(
        &self,
        desk: &Desk,
        drafts: &[Draft],
        strict: bool,
    ) -> Result<Step<Delivered>, StoreError> {
        let ids: Vec<String> = drafts.iter().map(|draft| draft.id.clone()).collect();
        let delivered = |before| Delivered { ids: ids.clone(), before, ..Delivered::default() };
        if drafts.len() <= SEARCH_AT_MOST
            && let Some(prepared) = stream::prepare(desk, drafts, delivered)?
        {
            return Ok(Step::Ready(Box::new(prepared)));
        }
        let mut edit = |text: &str, entries: &Entries| {
            let known = entries.ids_among(text, drafts);
            let mut fresh = HashSet::new();
            let is_new = |draft: &&Draft| !known.contains(&draft.id) && fresh.insert(draft.id.clone());
            let new: Vec<_> = drafts.iter().filter(is_new).map(Draft::entry).collect();
            let patch =
                json::append(text, text.trim(), &entries.raw, &new).map_err(|error| self.bad(&error))?;
            let before = Witnesses::among(&entries.raw, |raw| witness::of_entry(raw));
            Ok((patch, (known, before)))
        };
        let mut step = desk.plan(&mut |look| {
            let plan = self.plan(look, strict, &mut edit)?;
            Ok(plan.map(|((known, before), warning)| Delivered { known, warning, ..delivered(Some(before)) }))
        })?;
        if let Step::Ready(prepared) = &mut step {
            prepared.ids.clone_from(&ids);
        }
        Ok(step)
    }

    /// Marks as read what the receipts name: only the flags' bytes change.
    pub fn mark_read(&self, receipts: &HashSet<Receipt>) -> Result<Marked, StoreError> {
        self.mark(None, &|| receipts)
    }

    /// The same; while the file is the one whose flags are given, it is not parsed.
    pub(crate) fn mark<'r>(
        &self,
        flags: Option<&Flags>,
        receipts: &dyn Fn() -> &'r HashSet<Receipt>,
    ) -> Result<Marked, StoreError> {
        let mut edit = |text: &str, entries: &Entries| {
            let (mut patch, receipts) = (Patch::default(), receipts());
            let mut marked = 0;
            for (raw, entry, receipt) in self.receipts_of(entries) {
                if receipts.contains(&receipt) {
                    marked += 1;
                    mark::mark(text, raw.get(), &entry, &mut patch).map_err(|error| self.bad(&error))?;
                }
            }
            Ok((patch, marked))
        };
        let prepare = |desk: &Desk| {
            if let Some(flags) = flags
                && let Some(step) = flags::prepare(desk, flags)?
            {
                return Ok(step);
            }
            match self.prepare_marks(desk, receipts())? {
                Some(step) => Ok(step),
                None => desk.plan(&mut |look| self.plan(look, false, &mut edit)),
            }
        };
        let ((marked, warning), unsynced) = self.file.commit(prepare, |_| true)?;
        if let Some(error) = unsynced {
            return Err(error);
        }
        Ok(Marked { marked, warnings: warning.into_iter().collect() })
    }

    /// The unread messages among the entries, with their receipts.
    fn receipts_of<'a>(&self, entries: &Entries<'a>) -> Vec<(&'a RawValue, Object<'a>, Receipt)> {
        let parsed: Vec<(&RawValue, Object, Sketch)> = entries
            .raw
            .iter()
            .filter_map(|raw| {
                let entry = Object::parse(raw.get()).ok()?;
                let sketch = Sketch::of(&entry)?;
                Some((*raw, entry, sketch))
            })
            .collect();
        let equals = parsed.iter().filter(|(.., sketch)| !sketch.id_given).map(|(.., sketch)| &*sketch.id);
        let mut numbers = Numbers::of(equals, self.past.as_ref());
        let mut unread = Vec::new();
        for (raw, entry, sketch) in parsed {
            let id = if sketch.id_given { sketch.id.to_string() } else { numbers.next(&sketch.id) };
            if !sketch.read {
                let receipt = Receipt::of_sketch(&id, &sketch);
                unread.push((raw, entry, receipt));
            }
        }
        unread
    }

    /// The messages among the entries, each with the place of its entry.
    fn messages_of(&self, entries: &Entries) -> (Vec<usize>, Vec<Message>) {
        let read = |(at, raw): (usize, &&RawValue)| Some((at, Message::from_entry(raw).ok()?));
        let (places, mut messages): (Vec<usize>, Vec<Message>) =
            entries.raw.iter().enumerate().filter_map(read).unzip();
        equal::name_all(&mut messages, self.past.as_ref());
        (places, messages)
    }

    /// The places of the entries that the receipts name.
    fn named(&self, entries: &Entries, receipts: &HashSet<Receipt>) -> BTreeSet<usize> {
        let (places, messages) = self.messages_of(entries);
        let named = places.into_iter().zip(&messages).filter(|(_, m)| receipts.contains(&Receipt::of(m)));
        named.map(|(at, _)| at).collect()
    }

    /// Puts a message behind the last one, in place of an entry with its id.
    pub fn offer(&self, draft: &Draft, is_wanted: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        ensure_folder(&self.folder)?;
        let (offered, _) = self.edit(|text, entries| {
            if !is_wanted() {
                return Ok((Patch::default(), false));
            }
            let is_old =
                |raw: &&RawValue| Message::from_entry(raw).is_ok_and(|message| message.id == draft.id);
            let old: BTreeSet<_> = entries
                .raw
                .iter()
                .enumerate()
                .filter(|(_, raw)| is_old(raw))
                .map(|(index, _)| index)
                .collect();
            let left = if old.is_empty() {
                text.to_owned()
            } else {
                json::remove(text, text.trim(), &entries.raw, &old).apply(text)
            };
            let raw = json::elements(&left).map_err(|error| self.bad(&error))?;
            let grown =
                json::append(&left, left.trim(), &raw, &[draft.entry()]).map_err(|error| self.bad(&error))?;
            let mut patch = Patch::default();
            patch.replace(0..text.len(), grown.apply(&left));
            Ok((patch, true))
        })?;
        Ok(offered)
    }

    /// Takes messages out of the file, whole; the other entries stay as they are.
    pub fn remove(&self, receipts: &HashSet<Receipt>) -> Result<usize, StoreError> {
        self.edit(|text, entries| {
            let gone = self.named(entries, receipts);
            if gone.is_empty() {
                return Ok((Patch::default(), 0));
            }
            Ok((json::remove(text, text.trim(), &entries.raw, &gone), gone.len()))
        })
        .map(|(removed, _)| removed)
    }

    /// Removes the file, under its locks, if it has no entry.
    pub fn remove_if_empty(&self) -> Result<(), StoreError> {
        self.file.remove(|look| {
            let is_empty =
                matches!(content::read(look.content), Reading::Entries(_, entries) if entries.raw.is_empty());
            Ok((is_empty, ()))
        })
    }

    /// Takes messages out of the file, whole, after a copy of their entries is in the quarantine; says where.
    pub fn set_aside(&self, receipts: &HashSet<Receipt>, why: &str) -> Result<PathBuf, StoreError> {
        let seen = Snapshot::read(&resolve(self.path())?)?;
        let named: Vec<String> = match content::read(Content::of(&seen)) {
            Reading::Entries(_, entries) => {
                let named = self.named(&entries, receipts).into_iter();
                named.map(|at| entries.raw[at].get().to_owned()).collect()
            }
            _ => Vec::new(),
        };
        let copy = format!("[{}]", named.join(","));
        let kept = self.quarantine.keep(self.path(), copy.as_bytes(), why)?;
        self.remove(receipts)?;
        Ok(kept)
    }

    /// Looks, without any lock, and changes nothing.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let target = resolve(self.path())?;
        let listing = read_patiently(&target, |seen, is_last| match content::read(Content::of(seen)) {
            Reading::Missing => Some(Listing::default()),
            Reading::Entries(_, entries) => Some(self.listing(entries.raw.iter().copied())),
            Reading::Broken(_) if !is_last => None,
            Reading::Broken(broken) => {
                let saved = salvage::salvage(&String::from_utf8_lossy(broken.bytes));
                let mut listing = self.listing(saved.iter().map(AsRef::as_ref));
                listing.warnings.push(Warning::Unparsable { path: self.path().to_owned(), why: broken.text });
                Some(listing)
            }
        })?;
        Ok(listing.unwrap_or_default())
    }

    fn listing<'a>(&self, raw: impl Iterator<Item = &'a RawValue>) -> Listing {
        let mut listing = Listing::default();
        for (index, raw) in raw.enumerate() {
            match self.message(index + 1, raw) {
                Ok(message) => listing.messages.push(message),
                Err(warning) => listing.warnings.push(warning),
            }
        }
        listing
    }

    /// The message that an entry is, or why it is none.
    fn message(&self, position: usize, raw: &RawValue) -> Result<Message, Warning> {
        Message::from_entry(raw).map_err(|flaw| self.skipped(position, flaw))
    }

    fn skipped(&self, position: usize, flaw: Flaw) -> Warning {
        Warning::SkippedEntry { path: self.path().to_owned(), position, flaw }
    }

    /// Runs an edit on the entries, whatever shape the file is in.
    fn edit<T>(
        &self,
        mut edit: impl FnMut(&str, &Entries) -> Result<(Patch, T), StoreError>,
    ) -> Result<(T, Option<Warning>), StoreError> {
        self.file.update(|look| self.plan(look, false, &mut edit))
    }

    /// Plans an edit on the entries; a file that surely does not parse is set aside and mended first.
    fn plan<T>(
        &self,
        look: Look,
        strict: bool,
        edit: &mut impl FnMut(&str, &Entries) -> Result<(Patch, T), StoreError>,
    ) -> Result<Plan<(T, Option<Warning>)>, StoreError> {
        match content::read(look.content) {
            Reading::Entries(text, entries) => {
                let (patch, value) = edit(text, &entries)?;
                Ok(if patch.is_empty() {
                    Plan::Keep((value, None))
                } else {
                    Plan::Patch(patch, (value, None))
                })
            }
            Reading::Missing => {
                self.check_moved()?;
                let empty = "[]";
                let (patch, value) = edit(empty, &Entries::default())?;
                let done = (value, None);
                Ok(if patch.is_empty() { Plan::Keep(done) } else { Plan::Replace(patch.apply(empty), done) })
            }
            Reading::Broken(_) if !look.sure => Ok(Plan::Unsure),
            Reading::Broken(why) if strict => Err(StoreError::bad(self.path(), why.text)),
            Reading::Broken(why) => {
                let saved = salvage::salvage(&String::from_utf8_lossy(why.bytes));
                let mended = salvage::as_array(&saved);
                let (patch, value) = edit(&mended, &Entries::parse(&mended).unwrap_or_default())?;
                let kept = self.file.set_aside(why.bytes, why.slug, &why.text)?;
                let warning = Warning::SetAside {
                    path: self.path().to_owned(),
                    kept,
                    why: why.text,
                    salvaged: saved.len(),
                };
                Ok(Plan::Replace(patch.apply(&mended), (value, Some(warning))))
            }
        }
    }

    fn bad(&self, error: &serde_json::Error) -> StoreError {
        StoreError::bad(self.path(), error.to_string())
    }
}
