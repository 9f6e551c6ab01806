//! What a hook said and its client dropped: a prompt that was taken back or refused, a hook that was broken off. It is the client's to
//! drop; where its conversation went on without the mail, the mail is new again.

use std::collections::HashSet;

use atm_wire::{MemberName, Message};

use super::{Record, receipt};
use crate::team::Team;

impl Record {
    /// Whether this was said where every client keeps what it was told, and for the first time.
    fn has_to_stand(&self, receipt: &String) -> bool {
        [&self.told_at_start, &self.told_before, &self.trusted].iter().all(|others| !others.contains(receipt))
    }
}

impl Record {
    /// What is read by now, by whichever front, is asked for no more; this is `new` for the conversation.
    pub(super) fn forget_trusted(&mut self, new: &[Message]) {
        let (presented, is_new) =
            (&self.presented, |told: &String| new.iter().any(|message| receipt(message) == *told));
        self.trusted.retain(|told| presented.contains(told) || is_new(told));
    }
}

impl Team<'_> {
    /// Of what was told in turns until this one's end, what the client dropped, and the rest. Once for each message: one that is not found
    /// after it was told again is not told for ever.
    pub(super) fn split_dropped(
        &self,
        (who, session): (&MemberName, &str),
        record: &mut Record,
        told: Vec<Message>,
    ) -> (Vec<Message>, Vec<Message>) {
        let (office, team) = (self.office(), self.name());
        if told.is_empty() {
            return (Vec::new(), told);
        }
        // Its place in the conversation is the better proof. Without it, that it was handed over has to do.
        let ids: Vec<&str> = told.iter().map(|message| message.id.as_str()).collect();
        let _ = office.prove_presented(team, (who, session), &ids);
        let asked: Vec<Message> =
            told.iter().filter(|message| record.has_to_stand(&receipt(message))).cloned().collect();
        let dropped = match record.said_at {
            Some(said_at) if !asked.is_empty() => {
                office.find_dropped(team, (who, session), said_at, &asked).unwrap_or_default()
            }
            _ => HashSet::new(),
        };
        let (dropped, told): (Vec<Message>, Vec<Message>) =
            told.into_iter().partition(|message| dropped.contains(&message.id));
        record.trusted.extend(dropped.iter().map(receipt));
        (dropped, told)
    }
}
