//! Marking by places that were seen when the mail was listed: a file that is still the same need not be parsed again.

use std::ops::Range;

use atm_wire::Message;
use atm_wire::json::{self, Patch};
use serde_json::value::RawValue;

use super::content::{self, Reading};
use super::{ArrayInbox, mark};
use crate::commit::{Content, Desk, Prepared, Step};
use crate::error::StoreError;
use crate::files::{Identity, Snapshot, Staged, read_patiently, resolve};
use crate::mailbox::{Listing, Warning};

/// A larger file is not read into memory to be marked.
const LARGEST: u64 = 1 << 25;

/// Where the flags of messages stand that were unread in one version of a file.
#[derive(Debug)]
pub struct Flags {
    version: Identity,
    /// Of each message; none where it has no plain flag.
    places: Vec<Option<Range<usize>>>,
}

impl Flags {
    /// Those of some messages only, by their numbers in the listing.
    #[must_use]
    pub fn of(&self, messages: &[usize]) -> Self {
        let place = |number: &usize| self.places.get(*number).cloned().flatten();
        Self { version: self.version, places: messages.iter().map(place).collect() }
    }

    /// Those of the first messages only.
    pub fn truncate(&mut self, count: usize) {
        self.places.truncate(count);
    }
}

impl ArrayInbox {
    /// Looks as [`ArrayInbox::list`] does; gives the flags' places, too, where the version can be told from the next.
    pub(crate) fn list_with_flags(&self) -> Result<(Listing, Option<Flags>), StoreError> {
        let target = resolve(self.path())?;
        let listed = read_patiently(&target, |seen, _| {
            let version = seen.settled_identity().filter(|version| version.size() <= LARGEST)?;
            match content::read(Content::of(seen)) {
                Reading::Entries(text, entries) => Some(self.listing_with_flags(text, &entries.raw, version)),
                Reading::Missing | Reading::Broken(_) => None,
            }
        });
        match listed? {
            Some((listing, flags)) => Ok((listing, Some(flags))),
            None => Ok((self.list()?, None)),
        }
    }

    fn listing_with_flags(&self, text: &str, entries: &[&RawValue], version: Identity) -> (Listing, Flags) {
        let (mut listing, mut places) = (Listing::default(), Vec::new());
        for (index, raw) in entries.iter().enumerate() {
            match Message::from_entry_with_flag(raw) {
                Ok((message, flag)) => {
                    let start = json::span(text, raw.get()).start;
                    places.push(flag.map(|flag| start + flag.start..start + flag.end));
                    listing.messages.push(message);
                }
                Err(flaw) => listing.warnings.push(self.skipped(index + 1, flaw)),
            }
        }
        (listing, Flags { version, places })
    }
}

/// How many were marked, and what went on beside it.
type Marks = (usize, Option<Warning>);

/// Prepares the marks at these places; none if the file is another one by now, or a place is not known.
pub(super) fn prepare(desk: &Desk, flags: &Flags) -> Result<Option<Step<Marks>>, StoreError> {
    let seen = Snapshot::read(desk.target)?;
    if seen.identity() != Some(flags.version) {
        return Ok(None);
    }
    let Content::Text(text) = Content::of(&seen) else { return Ok(None) };
    let mut patch = Patch::default();
    for place in &flags.places {
        match place {
            Some(place) if text.get(place.clone()) == Some("false") => {
                mark::set(place.clone(), &mut patch);
            }
            _ => return Ok(None),
        }
    }
    let staged = Staged::write(desk.temp(), desk.target, seen.metadata(), &patch.pieces(text))?;
    let value = (flags.places.len(), None);
    Ok(Some(Step::Ready(Box::new(Prepared { staged, seen, value, ids: Vec::new() }))))
}
