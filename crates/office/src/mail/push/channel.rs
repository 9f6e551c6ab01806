//! By which channel a letter may be offered to a conversation now: by push or by a hook, one at a time and in order.
//!
//! | the letter | push | hook |
//! |---|---|---|
//! | new, and nothing is on its way | yes | yes: whichever comes first |
//! | new, and a frame is on its way | after that frame | after that frame: it would come before older mail |
//! | in a frame on its way | no | no |
//! | presented by a hook | no | it is before the model |
//! | was in a frame that was lost | again, in other words | yes |
//! | was lost as often as is tried, or no frame was let in | no | yes |
//! | a notice, or what only some may send | no | yes |
//! | denied by the client's user | no | no |

use std::collections::{BTreeMap, HashSet};

use atm_wire::Message;
use atm_wire::payload::Content;

use crate::mail::hook::Record;
use crate::protocol::policy::{May, may};

/// After so many frames that were lost, a letter is left to the hooks.
pub(crate) const MOST_LOST: u32 = 2;
/// Notices that say little, of which hooks make one line.
const NOTICES: [&str; 2] = ["idle_notification", "heartbeat"];

/// What is offered to a conversation, and by which channel.
#[derive(Debug)]
pub(crate) struct Channels<'a> {
    /// What no channel may offer: it is on its way, before the model, or was denied.
    taken: HashSet<&'a str>,
    lost: &'a BTreeMap<String, u32>,
    has_frames: bool,
}

impl<'a> Channels<'a> {
    /// As the note on a conversation has it.
    pub(crate) fn of(record: &'a Record) -> Self {
        let pushed = record.pushed.iter().flat_map(|frame| &frame.receipts);
        let taken = pushed.chain(&record.presented).chain(&record.denied).map(String::as_str).collect();
        Self { taken, lost: &record.lost, has_frames: !record.pushed.is_empty() }
    }

    /// How often a letter was in a frame that was lost.
    pub(crate) fn times_lost(&self, receipt: &str) -> u32 {
        self.lost.get(receipt).copied().unwrap_or_default()
    }

    /// Whether a letter is for push, now or after the frame that is on its way.
    pub(crate) fn may_push(&self, receipt: &str, is_pushable: bool) -> bool {
        is_pushable && !self.taken.contains(receipt) && self.times_lost(receipt) < MOST_LOST
    }

    /// Whether a hook may offer a letter now.
    pub(crate) fn may_present(&self, receipt: &str, is_pushable: bool) -> bool {
        let comes_after_a_frame = self.has_frames && self.may_push(receipt, is_pushable);
        !self.taken.contains(receipt) && !comes_after_a_frame
    }
}

/// Only plain mail is pushed, and what anyone may send; notices that say little are left to the hooks.
pub(crate) fn is_pushable(message: &Message) -> bool {
    match message.content() {
        Content::Text => true,
        Content::Protocol(parsed) => {
            let kind = parsed.payload.kind();
            may(kind) == May::Anyone && !NOTICES.contains(&kind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::hook::PushedFrame;

    #[test]
    fn a_letter_is_offered_by_one_channel_at_a_time_and_never_before_older_mail() {
        let frame = PushedFrame { receipts: vec!["in a frame".into()], ..PushedFrame::default() };
        let idle = Record {
            presented: vec!["presented".into()],
            denied: vec!["denied".into()],
            lost: BTreeMap::from([("lost".into(), 1), ("given up".into(), MOST_LOST)]),
            ..Record::default()
        };
        let busy = Record { pushed: vec![frame], ..idle.clone() };
        for (record, receipt, is_pushable, push, hook) in [
            (&idle, "new", true, true, true),
            (&idle, "notice", false, false, true),
            (&idle, "lost", true, true, true),
            (&idle, "given up", true, false, true),
            (&idle, "presented", true, false, false),
            (&idle, "denied", true, false, false),
            (&busy, "new", true, true, false),
            (&busy, "notice", false, false, true),
            (&busy, "in a frame", true, false, false),
            (&busy, "lost", true, true, false),
            (&busy, "given up", true, false, true),
            (&busy, "presented", true, false, false),
            (&busy, "denied", true, false, false),
        ] {
            let channels = Channels::of(record);
            let may = (channels.may_push(receipt, is_pushable), channels.may_present(receipt, is_pushable));
            assert_eq!(may, (push, hook), "{receipt}, with {} frames on their way", record.pushed.len());
        }
    }
}
