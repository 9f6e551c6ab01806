//! Whether a message was seen: the one place that decides it from the recipient's conversation.
//!
//! - Where the client keeps our id, that decides: the id of a frame that was pushed, which proves exactly what its event lists,
//!   the id of a peer's message, whatever it quotes, and the headings of mail that a hook put before the model ([`atm_wire::brief`]). Whether it lies unread does not matter then: a hook marks it at the end of the turn.
//! - Elsewhere sender and text decide, and one occurrence proves one message. Two sends of the same words need two
//!   occurrences; of several messages that it could be, it is the oldest.
//! - Not before it was sent: an older occurrence is of other mail with the same words.
//! - By its text, not while it lies unread in its inbox: clients take mail out, or mark it, before they show it.
//! - Mail that is quoted inside other mail proves nothing: see `frame`.
//!
//! What this decides is recorded with the occurrence's own time, and never twice: see the ledger's proofs.

use std::collections::HashMap;

use atm_wire::brief::{headings, short_id};
use atm_wire::visible;

use crate::trail::frame::{Body, Frame, next_frame};
use crate::trail::transcript::{Shape, Shown};

/// Clocks of one machine differ by less.
const CLOCKS_MS: i64 = 2_000;
/// An occurrence of mail that still lies unread may be younger than our look at the inbox. For so long it is looked at
/// again.
const SETTLED_MS: i64 = 10_000;

/// A message of which nobody knows that it was seen.
#[derive(Debug)]
pub(crate) struct Candidate {
    id: String,
    /// The sender and the id as a heading spells them.
    heading: (String, String),
    sent_at: i64,
    body: Body,
    is_unread: bool,
}

impl Candidate {
    /// A message, and whether it lies unread in its inbox.
    pub(crate) fn new(id: &str, from: &str, text: &str, sent_at: i64, is_unread: bool) -> Self {
        let heading = (visible::name(from).into_owned(), short_id(id));
        Self { id: id.to_owned(), heading, sent_at, body: Body::new(from, text), is_unread }
    }

    /// Whether it was sent before an entry of this time was written.
    fn is_before(&self, at: i64) -> bool {
        self.sent_at <= at.saturating_add(CLOCKS_MS)
    }
}

/// Names of all occurrences that an entry may hold, as far as it has an id: what the ledger is asked about.
pub(crate) fn entry_ids(shown: &[Shown]) -> Vec<&str> {
    shown.iter().filter_map(|entry| entry.entry.as_deref()).collect()
}

/// The occurrences that have proved a message, by the entry's own id with their place in it. What stands in them is known,
/// so an occurrence that is read once more ends where it ended before.
#[derive(Debug, Default)]
pub(crate) struct Used(HashMap<String, Body>);

impl Used {
    /// An occurrence has proved the message with this sender and text.
    pub(crate) fn insert(&mut self, entry: String, from: &str, text: &str) {
        self.0.insert(entry, Body::new(from, text));
    }
}

/// The messages that frames for this recipient have, by the frame's id, as their own events list them.
pub(crate) type Frames = HashMap<String, Vec<String>>;

/// Proof that a message was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Which message.
    pub(crate) id: String,
    /// Where it stands: the entry's place, plus its own in the entry.
    pub(crate) position: u64,
    /// The entry's own id with its place in the entry.
    pub(crate) entry: Option<String>,
    /// When the entry was written, in milliseconds since the epoch.
    pub(crate) at: i64,
    /// That is only known to be no later.
    pub(crate) is_bound: bool,
    /// By what it is known to be this message.
    pub(crate) basis: Basis,
}

/// By what an occurrence is known to be of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// By its id.
    Id,
    /// By sender and text.
    Text {
        /// Before it stands mail that nobody knows, the end of which was found by its tags: it may be a quote in that one.
        may_be_quoted: bool,
    },
}

/// What a conversation proves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What was seen, in the conversation's order.
    pub(crate) seen: Vec<Seen>,
    /// From where it has to be read again, since it may prove more then.
    pub(crate) again_from: Option<u64>,
}

/// What the entries of a conversation, the last of which was written at `changed_at`, prove about messages that stand in
/// the order in which they were sent. Messages that are proved are taken out, and occurrences are `used`.
pub(crate) fn judge_seen(
    shown: &[Shown],
    open: &mut Vec<Candidate>,
    used: &mut Used,
    frames: &Frames,
    (changed_at, now): (i64, i64),
) -> Verdict {
    let mut verdict = Verdict::default();
    for entry in shown {
        let at = entry.at.unwrap_or(changed_at);
        let named = match listed(entry, frames) {
            Some(ids) => listed_of(ids, open),
            None => named(entry, at, open),
        };
        for (place, index) in named {
            let message = open.remove(index);
            verdict.seen.push(Seen::new(&message, entry, place, Basis::Id, (at, now)));
        }
        if entry.shape != Shape::Framed {
            continue;
        }
        for occurrence in Occurrence::all(entry, open, used) {
            let fits = |message: &Candidate| {
                message.is_before(at) && message.body.length_in(&occurrence.frame) == Some(occurrence.length)
            };
            if let Some(index) = open.iter().position(|message| fits(message) && !message.is_unread) {
                let message = open.remove(index);
                let basis = Basis::Text { may_be_quoted: occurrence.may_be_quoted };
                let seen = Seen::new(&message, entry, occurrence.place, basis, (at, now));
                used.0.extend(seen.entry.clone().map(|entry| (entry, message.body)));
                verdict.seen.push(seen);
            } else if now.saturating_sub(at) < SETTLED_MS && open.iter().any(fits) {
                verdict.again_from = Some(entry.cursor);
                return verdict;
            }
        }
    }
    verdict
}

impl Seen {
    /// A message that stands at `place` of an entry.
    fn new(message: &Candidate, entry: &Shown, place: u64, basis: Basis, (at, now): (i64, i64)) -> Self {
        Self {
            id: message.id.clone(),
            position: entry.position + place,
            entry: name(entry, place),
            at: at.clamp(message.sent_at.min(now), now),
            is_bound: entry.at.is_none(),
            basis,
        }
    }
}

/// The name of a place in an entry, if the entry has an id.
fn name(entry: &Shown, place: u64) -> Option<String> {
    entry.entry.as_ref().map(|entry| format!("{entry}/{place}"))
}

/// What an entry shows under the id of a frame of ours: what the frame's event lists, whatever stands in its text.
fn listed<'a>(entry: &Shown, frames: &'a Frames) -> Option<&'a [String]> {
    match &entry.shape {
        Shape::Peer(frame) => frames.get(frame).map(Vec::as_slice),
        Shape::Framed | Shape::Listed => None,
    }
}

/// The open ones of these messages, each by its place in the list and by its index once those before it are taken out.
fn listed_of(ids: &[String], open: &[Candidate]) -> Vec<(u64, usize)> {
    let mut left: Vec<&Candidate> = open.iter().collect();
    let mut found = Vec::new();
    for (place, id) in (0..).zip(ids) {
        if let Some(index) = left.iter().position(|message| message.id == *id) {
            left.remove(index);
            found.push((place, index));
        }
    }
    found
}

/// The open messages that an entry names, each by its place in the entry and by its index once those before it are taken
/// out.
fn named(entry: &Shown, at: i64, open: &[Candidate]) -> Vec<(u64, usize)> {
    if entry.shape == Shape::Framed {
        return Vec::new();
    }
    let mut left: Vec<&Candidate> = open.iter().collect();
    let mut found = Vec::new();
    let mut take = |place: u64, fits: &dyn Fn(&Candidate) -> bool| {
        if let Some(index) = left.iter().position(|message| message.is_before(at) && fits(message)) {
            left.remove(index);
            found.push((place, index));
        }
    };
    // A peer's words are its own, whatever they quote: only the id counts.
    if let Shape::Peer(id) = &entry.shape {
        take(0, &|message| message.id == *id);
        return found;
    }
    let mut before = 0;
    for text in &entry.texts {
        for heading in headings(text) {
            let fits =
                |message: &Candidate| message.heading.0 == heading.from && message.heading.1 == heading.id;
            take(before + heading.at as u64, &fits);
        }
        before += text.len() as u64;
    }
    found
}

/// A frame in which one of the open messages stands.
struct Occurrence<'a> {
    frame: Frame<'a>,
    length: usize,
    /// Where it stands in the entry.
    place: u64,
    /// It follows a frame of which nobody knows what stands in it.
    may_be_quoted: bool,
}

impl<'a> Occurrence<'a> {
    /// Those of an entry that have proved nothing yet: a conversation that is resumed can be a copy of an earlier one. Of
    /// messages that fit, the longest counts: a shorter one would be a part of it.
    fn all(entry: &'a Shown, open: &[Candidate], used: &Used) -> Vec<Self> {
        let mut found = Vec::new();
        let mut before = 0;
        for text in &entry.texts {
            let mut from = 0;
            let mut may_be_quoted = false;
            while let Some((frame, start)) = next_frame(text, from) {
                let place = before + start as u64;
                if let Some(body) = name(entry, place).as_ref().and_then(|name| used.0.get(name)) {
                    from = start + body.length_in(&frame).unwrap_or_else(|| frame.length());
                    continue;
                }
                let length = open.iter().filter_map(|message| message.body.length_in(&frame)).max();
                from = start + length.unwrap_or_else(|| frame.length());
                match length {
                    Some(length) => found.push(Self { frame, length, place, may_be_quoted }),
                    None => may_be_quoted = true,
                }
            }
            before += text.len() as u64;
        }
        found
    }
}

#[cfg(test)]
mod tests;
