//! By what a message is recognised: its id, or what it says.
//!
//! A message that came without an id gets one made of its sender, time and text, so that it is the same at every look
//! with nothing written to the file. Two entries that are equal in all three are two messages: the n-th of them, counted
//! in the order of the file, has n in the seed of its id. The first one's id has no number, as if it were alone.
//!
//! Which is the n-th is remembered ([`Numbered`]), since entries leave the file. The rule, for equal entries of which
//! the numbers `first..next` stood in the file at the last look, when there are `count` of them now:
//!
//! - as many as before: the same ones;
//! - more: new ones were appended, and get the next numbers, which no entry had before;
//! - fewer: the *earlier* ones are gone, since readers take mail in the order of the file. Those that are left keep
//!   the last numbers.
//!
//! So an entry that comes when all equal ones are gone is a new message, never one that was taken, and unread mail is
//! never hidden behind the record of another. What cannot be told is an equal entry that went and one that came between
//! two looks: then the newcomer has the number of the one that went.

use std::borrow::Cow;

use uuid::Uuid;

use super::Message;
use crate::json::compact;

/// Makes ids for messages that came without one.
const ID_NAMESPACE: Uuid = Uuid::from_u128(0x6d1f_9c53_0f0e_5a7c_9b52_61f2_54e1_aa10);
/// Makes fingerprints.
const FINGERPRINTS: Uuid = Uuid::from_u128(0x2b7e_4f0a_91c6_5d38_8a04_c7d1_3e96_b25f);

/// The id of a message without one, if it is the first with this sender, time and text.
pub(super) fn derived_id(from: &str, timestamp: &str, text: &str) -> String {
    let seed = [from, timestamp, text].join("\0");
    Uuid::new_v5(&ID_NAMESPACE, seed.as_bytes()).to_string()
}

/// The id of the n-th of equal messages, counted from 1, of which the first has the id `first`.
pub fn nth_id(first: &str, number: u32) -> String {
    match Uuid::parse_str(first) {
        Ok(namespace) if number > 1 => Uuid::new_v5(&namespace, &number.to_be_bytes()).to_string(),
        _ => first.to_owned(),
    }
}

/// The numbers of equal messages that stood in the file at the last look: from the first on, up to the next one that
/// is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    /// The number of the first that stood there.
    pub first: u32,
    /// The number that the next new one gets.
    pub next: u32,
}

impl Default for Numbered {
    /// None was ever seen.
    fn default() -> Self {
        Self { first: 1, next: 1 }
    }
}

impl Numbered {
    /// The numbers when `count` of them are in the file now.
    #[must_use]
    pub fn now(self, count: u32) -> Self {
        let stood = self.next.saturating_sub(self.first);
        if count > stood {
            Self { first: self.first, next: self.first.saturating_add(count) }
        } else {
            Self { first: self.next.saturating_sub(count), next: self.next }
        }
    }
}

/// What an entry is recognised by as long as it stands in an inbox, whatever becomes of its flags: a hash of its own id,
/// if it has one, and of sender, time and text. It is kept, so it is the same for ever. Equal entries have the same.
pub fn fingerprint(id: Option<&str>, from: &str, timestamp: &str, text: &str) -> String {
    // A payload has other spaces in the other layout.
    let text = if text.starts_with('{') { Cow::Owned(compact(text)) } else { Cow::Borrowed(text) };
    let seed = [id.unwrap_or_default(), from, timestamp, &text].join("\0");
    let mut hash = Uuid::new_v5(&FINGERPRINTS, seed.as_bytes()).simple().to_string();
    hash.truncate(16);
    hash
}

impl Message {
    /// The id that it has, or that the first of its equals has.
    pub fn first_id(&self) -> String {
        if self.id_given { self.id.clone() } else { derived_id(&self.from, &self.timestamp, &self.text) }
    }

    /// Whether it goes by an id with a number: it has none of its own, and others that are equal came before it.
    pub fn has_number(&self) -> bool {
        !self.id_given && self.id != self.first_id()
    }

    /// What its entry is recognised by; see [`fingerprint`].
    pub fn fingerprint(&self) -> String {
        let id = self.id_given.then_some(self.id.as_str());
        fingerprint(id, &self.from, &self.timestamp, &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_own_id_and_the_first_has_the_plain_one() {
        let first = derived_id("a", "t", "hi");
        assert_eq!(nth_id(&first, 1), first);
        let ids: std::collections::HashSet<String> = (1..100).map(|n| nth_id(&first, n)).collect();
        assert_eq!(ids.len(), 99);
        assert_ne!(nth_id(&first, 2), nth_id(&derived_id("b", "t", "hi"), 2));
    }

    #[test]
    fn those_that_are_left_keep_their_numbers() {
        // How many were in the file at each look, and the numbers that they had.
        let story = [(2, 1..3), (2, 1..3), (1, 2..3), (3, 2..5), (0, 5..5), (1, 5..6), (0, 6..6), (2, 6..8)];
        let mut numbered = Numbered::default();
        for (count, numbers) in story {
            numbered = numbered.now(count);
            assert_eq!(numbered.first..numbered.next, numbers, "{count}");
        }
    }

    #[test]
    fn a_fingerprint_is_the_same_for_ever() {
        assert_eq!(fingerprint(None, "a", "t", "hi"), fingerprint(None, "a", "t", "hi"));
        assert_ne!(fingerprint(Some("1"), "a", "t", "hi"), fingerprint(None, "a", "t", "hi"));
        assert_eq!(fingerprint(None, "a", "t", "{ \"b\": 1 }"), fingerprint(None, "a", "t", "{\"b\":1}"));
        assert_eq!(fingerprint(Some("m1"), "alice", "2026-11-15T18:42:20.463Z", "hello").len(), 16);
    }
}
