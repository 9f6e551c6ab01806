//! Marking as read. A large inbox is copied in pieces, one entry at a time, and never in memory as a whole.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::thread;
use std::time::SystemTime;

use atm_wire::json::{self, Object, Patch, Splitter};
use atm_wire::message::Sketch;
use serde_json::value::RawValue;

use super::ArrayInbox;
use crate::commit::{Desk, Prepared, Step};
use crate::disk;
use crate::equal::Numbers;
use crate::error::{IoContext, StoreError};
use crate::files::{Snapshot, Staged, TICK, is_settled, open};
use crate::mailbox::{Receipt, Warning};

const PIECE: usize = 1 << 17;

/// Puts into `patch` what marks the entry `raw` of `text`.
pub(super) fn mark(
    text: &str,
    raw: &str,
    entry: &Object,
    patch: &mut Patch,
) -> Result<(), serde_json::Error> {
    let flags = entry.iter().filter(|(key, _)| *key == "read").map(|(_, flag)| json::span(text, flag.get()));
    let before = patch.len();
    flags.for_each(|place| set(place, patch));
    if patch.len() == before {
        patch.merge(json::set_member(text, raw, "read", &true)?);
    }
    Ok(())
}

/// Puts into `patch` what sets the flag at `place`.
pub(super) fn set(place: Range<usize>, patch: &mut Patch) {
    patch.replace(place, "true");
}

/// How many were marked, and what went on beside it.
type Done = (usize, Option<Warning>);

impl ArrayInbox {
    /// Prepares a copy with the marks, or `None` if this is not a plain case: then the way through memory has to see to it.
    pub(super) fn prepare_marks(
        &self,
        desk: &Desk,
        receipts: &HashSet<Receipt>,
    ) -> Result<Option<Step<Done>>, StoreError> {
        if self.is_large() { prepare(desk, receipts, self) } else { Ok(None) }
    }
}

/// The numbers of equal messages without ids of their own. They take a walk through the whole inbox, which one that
/// has only messages with ids does not need.
struct LazyNumbers<'i> {
    inbox: &'i ArrayInbox,
    numbers: Result<Option<Numbers>, StoreError>,
}

impl LazyNumbers<'_> {
    /// The id of the next message that is equal to `first`.
    fn next(&mut self, first: &str) -> Option<String> {
        if let Ok(numbers @ None) = &mut self.numbers {
            match self.inbox.numbers() {
                Ok(counted) => *numbers = Some(counted),
                Err(error) => self.numbers = Err(error),
            }
        }
        let numbers = self.numbers.as_mut().ok()?.as_mut()?;
        Some(numbers.next(first))
    }
}

fn prepare(
    desk: &Desk,
    receipts: &HashSet<Receipt>,
    inbox: &ArrayInbox,
) -> Result<Option<Step<Done>>, StoreError> {
    let mut numbers = LazyNumbers { inbox, numbers: Ok(None) };
    let Some((_, found)) = open(desk.target)? else { return Ok(None) };
    if !is_settled(&found, SystemTime::now()) {
        // Its time will betray the next change: the bytes need not be kept to compare them.
        thread::sleep(TICK);
    }
    let opened_at = SystemTime::now();
    let Some((mut source, metadata)) = open(desk.target)? else { return Ok(None) };
    if !is_settled(&metadata, opened_at) {
        return Ok(None);
    }
    let (staged, copy) = Staged::begin(desk.temp(), desk.target, Some(&metadata))?;
    let mut copy = BufWriter::with_capacity(PIECE, disk::Writer(copy));
    let mut splitter = Splitter::default();
    let mut piece = vec![0; PIECE];
    let (mut marked, mut is_json, mut written) = (0, true, Ok(()));
    loop {
        let read = source.read(&mut piece).doing("read", desk.target)?;
        if read == 0 || !is_json {
            break;
        }
        splitter.feed(&piece[..read], |before, element| {
            let Some(text) = marked_element(element, receipts, &mut numbers) else {
                is_json = false;
                return;
            };
            marked += usize::from(matches!(text, Cow::Owned(_)));
            if written.is_ok() {
                written = copy.write_all(before).and_then(|()| copy.write_all(text.as_bytes()));
            }
        });
    }
    numbers.numbers?;
    let Some(rest) = splitter.finish().filter(|_| is_json) else { return Ok(None) };
    if marked == 0 {
        return Ok(Some(Step::Done((0, None))));
    }
    let synced = || -> io::Result<()> {
        written?;
        copy.write_all(&rest)?;
        disk::sync_all(&copy.into_inner().map_err(io::IntoInnerError::into_error)?.0)
    };
    synced().doing("write", staged.temp())?;
    let seen = Snapshot::unkept(desk.target, (source, metadata), opened_at)?;
    let value = (marked, None);
    Ok(Some(Step::Ready(Box::new(Prepared { staged, seen, value, ids: Vec::new() }))))
}

/// The element, as it is or with its mark; `None` if it is no JSON.
fn marked_element<'e>(
    element: &'e [u8],
    receipts: &HashSet<Receipt>,
    numbers: &mut LazyNumbers,
) -> Option<Cow<'e, str>> {
    let text = std::str::from_utf8(element).ok()?;
    serde_json::from_str::<&RawValue>(text).ok()?;
    let as_it_is = Some(Cow::Borrowed(text));
    let Ok(entry) = Object::parse(text) else { return as_it_is };
    let Some(sketch) = Sketch::of(&entry) else { return as_it_is };
    let id = if sketch.id_given { sketch.id.to_string() } else { numbers.next(&sketch.id)? };
    if sketch.read || !receipts.contains(&Receipt::of_sketch(&id, &sketch)) {
        return as_it_is;
    }
    let mut patch = Patch::default();
    mark(text, text, &entry, &mut patch).ok()?;
    Some(Cow::Owned(patch.apply(text)))
}
