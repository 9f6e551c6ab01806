//! By which channel a letter may be offered to a conversation now: by push or by a hook, one at a time and in order. What an agent
//! reads by itself, it is given as by a hook.
//!
//! | the letter | push | hook | `atm read` |
//! |---|---|---|---|
//! | new, and nothing is on its way | yes | yes: whichever comes first | yes |
//! | new, and a frame is on its way | after that frame | after that frame: it would come before older mail | as a hook |
//! | in a frame on its way | no | no | no |
//! | presented by a hook | no | it is before the model | again: it is asked for |
//! | was in a frame that was lost | again, in other words | yes | yes |
//! | was lost as often as is tried, or no frame was let in | no | yes | yes |
//! | a notice, or what only some may send | no | yes | yes |
//! | denied by the client's user | no | no | no |

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
    /// What no channel may offer: it is on its way, or was denied.
    kept: HashSet<&'a str>,
    /// What is before the model.
    presented: HashSet<&'a str>,
    lost: &'a BTreeMap<String, u32>,
    has_frames: bool,
}

impl<'a> Channels<'a> {
    /// As the note on a conversation has it.
    pub(crate) fn of(record: &'a Record) -> Self {
        let pushed = record.pushed.iter().flat_map(|frame| &frame.receipts);
        let kept = pushed.chain(&record.denied).map(String::as_str).collect();
        let presented = record.presented.iter().map(String::as_str).collect();
        Self { kept, presented, lost: &record.lost, has_frames: !record.pushed.is_empty() }
    }

    /// How often a letter was in a frame that was lost.
    pub(crate) fn times_lost(&self, receipt: &str) -> u32 {
        self.lost.get(receipt).copied().unwrap_or_default()
    }

    /// Whether a letter is for push, now or after the frame that is on its way.
    pub(crate) fn may_push(&self, receipt: &str, is_pushable: bool) -> bool {
        is_pushable && !self.is_offered(receipt) && self.times_lost(receipt) < MOST_LOST
    }

    /// Whether a hook may offer a letter now.
    pub(crate) fn may_present(&self, receipt: &str, is_pushable: bool) -> bool {
        !self.is_offered(receipt) && !self.comes_after_a_frame(receipt, is_pushable)
    }

    /// Whether an agent that asks for its mail may have a letter now.
    pub(crate) fn may_read(&self, receipt: &str, is_pushable: bool) -> bool {
        !self.kept.contains(receipt) && !self.comes_after_a_frame(receipt, is_pushable)
    }

    /// Whether a letter is for push, behind the frame that is on its way.
    pub(crate) fn comes_after_a_frame(&self, receipt: &str, is_pushable: bool) -> bool {
        self.has_frames && self.may_push(receipt, is_pushable)
    }

    fn is_offered(&self, receipt: &str) -> bool {
        self.kept.contains(receipt) || self.presented.contains(receipt)
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
        for (record, receipt, is_pushable, push, hook, read) in [
            (&idle, "new", true, true, true, true),
            (&idle, "notice", false, false, true, true),
            (&idle, "lost", true, true, true, true),
            (&idle, "given up", true, false, true, true),
            (&idle, "presented", true, false, false, true),
            (&idle, "denied", true, false, false, false),
            (&busy, "new", true, true, false, false),
            (&busy, "notice", false, false, true, true),
            (&busy, "in a frame", true, false, false, false),
            (&busy, "lost", true, true, false, false),
            (&busy, "given up", true, false, true, true),
            (&busy, "presented", true, false, false, true),
            (&busy, "denied", true, false, false, false),
        ] {
            let channels = Channels::of(record);
            let may = (
                channels.may_push(receipt, is_pushable),
                channels.may_present(receipt, is_pushable),
                channels.may_read(receipt, is_pushable),
            );
            assert_eq!(
                may,
                (push, hook, read),
                "{receipt}, with {} frames on their way",
                record.pushed.len()
            );
        }
    }

    /// What only some may send is told by a hook, in its own words: pushed, it would pass for plain mail.
    #[test]
    fn plain_mail_is_pushed_and_what_anyone_may_send_but_for_notices() {
        let payload = |kind: &str| format!(r#"{{"type":"{kind}","request_id":"r1","from":"bob"}}"#);
        for (text, expected) in [
            ("please look".to_owned(), true),
            ("{ no JSON".to_owned(), true),
            (payload("plan_approval_request"), true),
            (payload("weather_report"), true),
            (payload("shutdown_request"), false),
            (payload("shutdown_response"), false),
            (payload("shutdown_approved"), false),
            (payload("plan_approval_response"), false),
            (payload("permission_request"), false),
            (payload("permission_response"), false),
            (payload("mode_set_request"), false),
            (payload("idle_notification"), false),
            (payload("heartbeat"), false),
        ] {
            let entry = serde_json::json!({
                "from": "bob", "text": text, "timestamp": "2026-11-15T06:00:00Z", "read": false,
            });
            let entry = serde_json::value::RawValue::from_string(entry.to_string()).unwrap();
            assert_eq!(is_pushable(&Message::from_entry(&entry).unwrap()), expected, "{text}");
        }
    }
}
