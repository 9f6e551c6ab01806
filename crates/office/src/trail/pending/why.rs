//! Why a message counts as waiting.

use atm_ledger::{Stage, StageRecord};
use atm_wire::Stamp;
use serde::Serialize;

use crate::mail::push::CLIENT;
use crate::trail::turns::Fate;

/// Why a message counts as waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Accepted, and not in the inbox yet: it could not be written so far.
    NotWritten,
    /// Written while its recipient was off, and not taken yet.
    Queued,
    /// It wanted to be acknowledged, and the time is not over.
    AckAwaited,
    /// It wanted to be acknowledged, and the time is over.
    AckOverdue,
    /// Its client took it, and a later turn of the conversation does not have it.
    LostByClient,
    /// It is gone from the inbox, and nothing shows that somebody took it.
    TakenUnproved,
    /// Somebody undid it again and again, and it is not put back any more.
    Held,
    /// Its client holds what was pushed until its user decides, or its user did not let it in.
    HeldByClient,
    /// It had been queued; it was taken, and there is no sign of work.
    NoSignOfWork,
    /// It lies unread for long, although its recipient is there, or may be.
    UnreadLong,
    /// It lies unread, and its recipient is off.
    UnreadOffline,
}

/// Why a message waits, by its stages and what its conversation tells; nothing if it does not.
pub(super) fn why(
    (stage, ack_by): (Stage, Option<i64>),
    stages: &[StageRecord],
    now: i64,
    fate: impl Fn() -> Fate,
) -> Option<Why> {
    match stage {
        Stage::Accepted => return Some(Why::NotWritten),
        Stage::Held => {
            let last = stages.iter().rfind(|record| record.stage == Stage::Held);
            let is_client = last.is_some_and(|record| record.evidence.by.as_deref() == Some(CLIENT));
            return Some(if is_client { Why::HeldByClient } else { Why::Held });
        }
        _ => {}
    }
    let was_queued = stages.iter().any(|record| record.stage == Stage::Queued && !record.is_offer);
    let was_offered = stages.iter().any(|record| record.is_offer);
    // What its reader cannot have read comes first: it is offered again, and others are notified. Whether an acknowledgment
    // is missing is a question only for what arrived.
    let not_arrived = match stage {
        stage if stage < Stage::Taken => was_queued.then_some(Why::Queued),
        Stage::Taken => match fate() {
            Fate::Lost => Some(Why::LostByClient),
            // It lies there again, and is not shown yet.
            Fate::OnOffer if was_offered => Some(Why::LostByClient),
            // Its client will show it: an offer now would double it.
            Fate::Held if ack_by.is_none() => return None,
            Fate::Unknown if is_unproved(stages) && !was_queued => Some(Why::TakenUnproved),
            _ => None,
        },
        _ => None,
    };
    let acknowledgment = ack_by.map(|until| if until < now { Why::AckOverdue } else { Why::AckAwaited });
    not_arrived.or(acknowledgment).or((was_queued && stage >= Stage::Taken).then_some(Why::NoSignOfWork))
}

fn is_unproved(stages: &[StageRecord]) -> bool {
    stages.iter().any(|record| record.evidence.unproved)
}

impl Why {
    /// In words.
    pub fn words(self, by: Option<Stamp>) -> String {
        let until = by.map(|by| format!(" by {by}")).unwrap_or_default();
        match self {
            Self::NotWritten => {
                "accepted, and not written yet: the inbox cannot be written, or another machine has not confirmed it"
                    .to_owned()
            }
            Self::Queued => "queued while its reader was off".to_owned(),
            Self::AckAwaited => format!("wants to be acknowledged{until}"),
            Self::AckOverdue => format!("was to be acknowledged{until}, and is not"),
            Self::LostByClient => "taken by the client, and not in a later turn of its conversation".to_owned(),
            Self::TakenUnproved => "gone from the inbox, and nothing proves that it was taken".to_owned(),
            Self::Held => {
                "undone again and again by a program that writes without the lock: end that one, and send it anew"
                    .to_owned()
            }
            Self::HeldByClient => {
                "held by its reader's client: its user has to decide there, or did not let it in".to_owned()
            }
            Self::NoSignOfWork => "was queued and taken; no answer since".to_owned(),
            Self::UnreadOffline => "lies unread, and its reader is off".to_owned(),
            Self::UnreadLong => "lies unread for long, and its reader is not off".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use atm_ledger::Evidence;

    use super::*;

    fn taken(is_unproved: bool) -> Vec<StageRecord> {
        let evidence = if is_unproved { Evidence::unproved("gone") } else { Evidence::likely("gone") };
        vec![StageRecord { stage: Stage::Taken, at: 1_000_000, evidence, is_offer: false }]
    }

    #[test]
    fn the_conversation_decides_and_where_there_is_none_it_stays_open() {
        let rows = [
            (true, Fate::Unknown, Some(Why::TakenUnproved)),
            (true, Fate::Held, None),
            (true, Fate::OnOffer, None),
            (true, Fate::Lost, Some(Why::LostByClient)),
            (false, Fate::Unknown, None),
            (false, Fate::Held, None),
            (false, Fate::Lost, Some(Why::LostByClient)),
        ];
        for (is_unproved, fate, expected) in rows {
            let why = why((Stage::Taken, None), &taken(is_unproved), 2_000_000, || fate);
            assert_eq!(why, expected, "{is_unproved} {fate:?}");
        }
    }

    /// Mail that wants an acknowledgment was listed as awaited or overdue only, and so neither offered again nor escalated
    /// although it was queued or lost; and mail that was offered once wanted a sign of work for ever.
    #[test]
    fn what_did_not_arrive_is_no_question_of_acknowledgment_and_an_offer_asks_for_no_work() {
        let record =
            |stage, is_offer| StageRecord { stage, at: 1, evidence: Evidence::certain("x"), is_offer };
        let (queued, offered) = (record(Stage::Queued, false), record(Stage::Queued, true));
        let taken = record(Stage::Taken, false);
        let rows = [
            (Stage::Written, vec![], Fate::Unknown, Some(Why::AckOverdue), None),
            (Stage::Queued, vec![queued.clone()], Fate::Unknown, Some(Why::Queued), Some(Why::Queued)),
            (Stage::Taken, vec![taken.clone()], Fate::Lost, Some(Why::LostByClient), Some(Why::LostByClient)),
            (Stage::Taken, vec![taken.clone()], Fate::Held, Some(Why::AckOverdue), None),
            (
                Stage::Taken,
                vec![taken.clone(), offered.clone()],
                Fate::OnOffer,
                Some(Why::LostByClient),
                Some(Why::LostByClient),
            ),
            (Stage::Seen, vec![taken.clone(), offered], Fate::Unknown, Some(Why::AckOverdue), None),
            (Stage::Seen, vec![queued, taken], Fate::Unknown, Some(Why::AckOverdue), Some(Why::NoSignOfWork)),
        ];
        for (stage, stages, fate, with_ack, without) in rows {
            let why = |ack_by| why((stage, ack_by), &stages, 9, || fate);
            assert_eq!((why(Some(5)), why(None)), (with_ack, without), "{stage} {fate:?}");
        }
    }

    /// What the user of a client had to decide on was listed as undone by a program that writes without the lock.
    #[test]
    fn what_a_client_holds_is_not_what_a_writer_undid() {
        let held = |evidence| vec![StageRecord { stage: Stage::Held, at: 1, evidence, is_offer: false }];
        let undone = held(Evidence::certain("undone"));
        let asked = held(Evidence::certain("its receipt: held").by(CLIENT));
        let both = [undone.clone(), asked.clone()].concat();
        for (stages, expected) in [(undone, Why::Held), (asked, Why::HeldByClient), (both, Why::HeldByClient)]
        {
            assert_eq!(why((Stage::Held, None), &stages, 9, || Fate::Unknown), Some(expected));
        }
    }
}
