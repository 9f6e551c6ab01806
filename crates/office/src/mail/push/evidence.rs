//! What is recorded of frames: what their client said of them, and that the conversation shows them.

use std::collections::HashSet;

use atm_clients::claude::socket::Status;
use atm_ledger::{Evidence, Frame, Handover, Stage};
use atm_store::{Mailbox, Receipt as MailReceipt};
use atm_wire::{MemberName, Message, visible};

use crate::error::OfficeError;
use crate::mail::hook::{Heard, PushedFrame, Record, receipt};
use crate::team::Team;
use crate::trail::effects;
use crate::trail::look::{READ, UNREAD, in_inbox};

/// As much of a client's words as evidence repeats.
const MOST_WORDS: usize = 200;

impl Team<'_> {
    /// Records what the client said of the frames on their way, each word once and in its order; whether it dropped one.
    pub(crate) fn note_heard(
        &self,
        who: &MemberName,
        record: &mut Record,
        messages: &[Message],
    ) -> Result<bool, OfficeError> {
        let mut has_dropped = false;
        let now = self.office().now().as_millis();
        for frame in &mut record.pushed {
            // In one millisecond a message is held once.
            for (heard, at) in frame.unnoted.iter().zip(now..) {
                self.note_word(who, frame, (heard, at), messages)?;
                has_dropped |= matches!(heard.status, Status::Dropped(_));
            }
            frame.unnoted.clear();
        }
        Ok(has_dropped)
    }

    /// A client's word: on `held` where its user has to act, else beside the frame.
    fn note_word(
        &self,
        who: &MemberName,
        frame: &PushedFrame,
        (heard, at): (&Heard, i64),
        messages: &[Message],
    ) -> Result<(), OfficeError> {
        let evidence = Evidence::certain(describe(heard)).by(super::CLIENT);
        if matches!(heard.status, Status::Held | Status::Denied) {
            let inside: Vec<&Message> =
                messages.iter().filter(|message| frame.ids.contains(&message.id)).collect();
            return self.note_stage(who, &inside, (Stage::Held, evidence), at);
        }
        let listed =
            Frame { frame: frame.frame.clone(), session: String::new(), messages: frame.ids.clone() };
        let key = self.inbox_key(who);
        Ok(self.office().books.with(|ledger| ledger.push(&key, &listed, &evidence, at))?)
    }

    /// Marks as read what the conversation shows, by the receipts of these messages.
    pub(crate) fn mark_shown_in_frames(
        &self,
        who: &MemberName,
        inbox: &Mailbox,
        messages: &[Message],
        shown: &HashSet<String>,
    ) -> Result<(), OfficeError> {
        let seen: Vec<&Message> =
            messages.iter().filter(|message| shown.contains(&receipt(message))).collect();
        if seen.is_empty() {
            return Ok(());
        }
        inbox.mark_read(&seen.iter().map(|message| MailReceipt::of(message)).collect())?;
        let marked = Evidence::certain("marked as read: it is in the conversation");
        let marked = marked.by(who.as_str()).changed(UNREAD, READ).in_file(inbox.file());
        self.note_stage(who, &seen, (Stage::Taken, marked), self.office().now().as_millis())
    }

    fn note_stage(
        &self,
        who: &MemberName,
        messages: &[&Message],
        stage: (Stage, Evidence),
        at: i64,
    ) -> Result<(), OfficeError> {
        let (key, file) = (self.inbox_key(who), self.mailbox(who).file());
        let found = in_inbox(&file);
        let handover = Handover { found: &found, stages: &[stage], at };
        let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
        let new = |place: usize| effects::noticed(messages[place], at);
        Ok(self.office().books.with(|ledger| ledger.hand_over(&key, &ids, &handover, new))?)
    }
}

/// A client's word, as evidence says it, with its own reason.
fn describe(heard: &Heard) -> String {
    let (what, status) = match &heard.status {
        Status::Held => ("the client holds it: its user has to decide", "held".to_owned()),
        Status::Denied => ("the client's user did not let it in", "denied".to_owned()),
        Status::Delivered => ("the client's user let it in", "delivered".to_owned()),
        Status::Expired if heard.is_refused() => ("the session takes no frames", "expired".to_owned()),
        Status::Expired => ("its user did not decide in time", "expired".to_owned()),
        Status::Dropped(why) => ("dropped by the client", words(why)),
    };
    let why = heard.why.as_deref().map(|why| format!(", {}", words(why))).unwrap_or_default();
    format!("{what} (its receipt: {status}{why})")
}

/// What a client said, in one line that is not too long.
fn words(said: &str) -> String {
    let cut: String = said.chars().take(MOST_WORDS).collect();
    visible::line(&cut).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether nobody decided or nothing is let in was one to the reader of the evidence, and the client's reason was nowhere.
    #[test]
    fn a_clients_word_is_told_with_its_reason() {
        for (status, why, expected) in [
            (Status::Held, None, "the client holds it: its user has to decide (its receipt: held)"),
            (
                Status::Denied,
                Some("not now\u{1b}[2J"),
                "the client's user did not let it in (its receipt: denied, not now",
            ),
            (Status::Expired, None, "its user did not decide in time (its receipt: expired)"),
            (Status::Expired, Some("refused"), "the session takes no frames (its receipt: expired, refused)"),
            (
                Status::Expired,
                Some("refused: by a rule"),
                "the session takes no frames (its receipt: expired, refused: by a rule)",
            ),
            (
                Status::Dropped("rate-limited".into()),
                Some("slow down"),
                "dropped by the client (its receipt: rate-limited, slow down)",
            ),
        ] {
            let said = describe(&Heard { status, why: why.map(ToOwned::to_owned) });
            assert!(said.starts_with(expected) && !said.contains('\u{1b}'), "{said}");
        }
        let long = Heard { status: Status::Denied, why: Some("x".repeat(100_000)) };
        assert!(describe(&long).len() < 300);
    }
}
