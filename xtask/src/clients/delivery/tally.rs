//! What became of the mail: atm's answers beside what the model was really sent.

use serde_json::{Value, json};

/// Messages with the same words, which no conversation can tell apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// What the client did meanwhile.
    pub(super) phase: &'static str,
    pub(super) ids: Vec<String>,
    /// How often the words are in the conversation.
    pub(super) shown: usize,
    /// How many atm calls seen.
    pub(super) seen: usize,
    /// By how many, at most, atm's `seen` was ahead of the conversation at any time.
    pub(super) false_seen: usize,
    /// How many lie unread in the inbox.
    pub(super) unread: usize,
    /// How many of those that are neither seen nor unread atm lists as pending.
    pub(super) pending: usize,
}

/// The numbers of one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sent: usize,
    pub(super) once: usize,
    pub(super) doubled: usize,
    pub(super) seen: usize,
    pub(super) false_seen: usize,
    /// In the conversation, and atm does not say so.
    pub(super) missed: usize,
    pub(super) unread: usize,
    pub(super) noticed: usize,
    pub(super) unnoticed: usize,
}

impl Group {
    pub(super) fn tally(&self) -> Tally {
        let sent = self.ids.len();
        // Mail that was put back lies unread although its words were shown once: shown counts first.
        let arrived = self.shown.min(sent);
        let doubled = self.shown - arrived;
        let unread = self.unread.min(sent - arrived);
        let lost = sent - arrived - unread;
        let noticed = self.pending.min(lost);
        Tally {
            sent,
            once: arrived - doubled.min(arrived),
            doubled,
            seen: self.seen,
            false_seen: self.false_seen.max(self.seen.saturating_sub(self.shown)),
            missed: arrived.saturating_sub(self.seen),
            unread,
            noticed,
            unnoticed: lost - noticed,
        }
    }
}

impl Tally {
    pub(super) fn sum(groups: &[Group]) -> Self {
        groups.iter().map(Group::tally).fold(Self::default(), |sum, one| Self {
            sent: sum.sent + one.sent,
            once: sum.once + one.once,
            doubled: sum.doubled + one.doubled,
            seen: sum.seen + one.seen,
            false_seen: sum.false_seen + one.false_seen,
            missed: sum.missed + one.missed,
            unread: sum.unread + one.unread,
            noticed: sum.noticed + one.noticed,
            unnoticed: sum.unnoticed + one.unnoticed,
        })
    }

    /// Whether atm answered every question truly; what a client loses or doubles is the client's.
    pub(super) fn is_true(&self) -> bool {
        self.false_seen == 0 && self.missed == 0 && self.unnoticed == 0
    }

    pub(super) fn json(&self) -> Value {
        json!({ "sent": self.sent, "once": self.once, "doubled": self.doubled, "seen": self.seen,
                "false_seen": self.false_seen, "missed": self.missed, "unread": self.unread,
                "lost_noticed": self.noticed, "lost_unnoticed": self.unnoticed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(sent: usize, shown: usize, seen: usize) -> Group {
        Group { ids: vec![String::new(); sent], shown, seen, ..Group::default() }
    }

    #[test]
    fn all_is_well_when_every_message_is_shown_once_and_seen() {
        let tally = group(2, 2, 2).tally();
        assert_eq!(tally, Tally { sent: 2, once: 2, seen: 2, ..Tally::default() });
        assert!(tally.is_true());
    }

    #[test]
    fn one_occurrence_proves_one_of_two_messages_with_the_same_words() {
        let tally = Group { pending: 0, ..group(2, 1, 2) }.tally();
        assert_eq!((tally.once, tally.false_seen, tally.unnoticed), (1, 1, 1));
        assert!(!tally.is_true());
    }

    #[test]
    fn seen_too_early_stays_false_when_the_mail_comes_later() {
        let tally = Group { false_seen: 1, ..group(1, 1, 1) }.tally();
        assert_eq!((tally.once, tally.false_seen), (1, 1));
        assert!(!tally.is_true());
    }

    #[test]
    fn lost_mail_is_noticed_if_it_is_pending_and_no_loss_while_it_lies_unread() {
        let lost = Group { pending: 1, ..group(2, 0, 0) }.tally();
        assert_eq!((lost.noticed, lost.unnoticed), (1, 1));
        let waiting = Group { unread: 2, ..group(2, 0, 0) }.tally();
        assert_eq!((waiting.unread, waiting.noticed, waiting.unnoticed), (2, 0, 0));
        assert!(waiting.is_true());
    }

    #[test]
    fn mail_shown_twice_is_not_in_the_conversation_once() {
        let tally = group(1, 2, 1).tally();
        assert_eq!((tally.once, tally.doubled), (0, 1));
    }

    #[test]
    fn mail_in_the_conversation_that_atm_does_not_call_seen_is_missed() {
        let tally = Tally::sum(&[group(1, 1, 0), group(1, 1, 1)]);
        assert_eq!((tally.sent, tally.seen, tally.missed), (2, 1, 1));
        assert!(!tally.is_true());
    }
}
