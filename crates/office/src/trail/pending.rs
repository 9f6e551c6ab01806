//! What waits for whom, and why we think so.

use atm_ledger::{Recorded, Stage, StageRecord};
use atm_wire::team::TeamConfig;
use atm_wire::{Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::office::Office;
use crate::trail::history::Remembered;
use crate::trail::turns::{Fate, Turns};

/// What was taken longer ago is not looked for in conversations any more.
const LATELY_MS: i64 = 24 * 60 * 60 * 1_000;
/// More than this is not a list any more.
const AT_MOST: usize = 1_000;

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
    /// It had been queued; it was taken, and there is no sign of work.
    NoSignOfWork,
}

/// A message that waits.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    /// The message.
    #[serde(flatten)]
    pub message: Remembered,
    /// Why.
    pub why: Why,
    /// For how long, in milliseconds.
    pub waited_ms: i64,
}

impl Office {
    /// What waits in a team, oldest first.
    pub fn pending(&self, team: &TeamName) -> Result<Vec<Waiting>, OfficeError> {
        self.reconcile(team)?;
        let root = self.root_key();
        let now = self.now().as_millis();
        let lately = now - LATELY_MS;
        let found = self.books.with(|ledger| ledger.pending(&root, team.as_str(), lately, AT_MOST))?;
        let config = self.folder(team)?.load()?;
        let turns = Turns::new(self, team, &config);
        let mut waiting = Vec::new();
        for message in found {
            let stages = self.books.with(|ledger| ledger.stages(&message))?;
            let fate = || turns.fate(&message.inbox.name, &message.id, &stages);
            if let Some(why) = why((message.stage, message.ack_by), &stages, now, fate) {
                let waited_ms = now - message.sent_at;
                waiting.push(Waiting { message: message.into(), why, waited_ms });
            }
        }
        Ok(waiting)
    }

    /// Why a message that is not acted on counts as waiting, if it does.
    pub(crate) fn why_it_waits(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        message: &Recorded,
        stages: &[StageRecord],
    ) -> Option<Why> {
        let fate = || Turns::new(self, team, config).fate(&message.inbox.name, &message.id, stages);
        why((message.stage, message.ack_by), stages, self.now().as_millis(), fate)
    }
}

fn why(
    (stage, ack_by): (Stage, Option<i64>),
    stages: &[StageRecord],
    now: i64,
    fate: impl Fn() -> Fate,
) -> Option<Why> {
    let at = |stage| stages.iter().find(|record| record.stage == stage).map(|record| record.at);
    match stage {
        Stage::Accepted => return Some(Why::NotWritten),
        Stage::Held => return Some(Why::Held),
        _ => {}
    }
    if let Some(until) = ack_by {
        return Some(if until < now { Why::AckOverdue } else { Why::AckAwaited });
    }
    if stage < Stage::Taken {
        return at(Stage::Queued).map(|_| Why::Queued);
    }
    if stage != Stage::Taken {
        return at(Stage::Queued).map(|_| Why::NoSignOfWork);
    }
    let is_unproved = stages.iter().any(|record| record.evidence.unproved);
    match fate() {
        Fate::Lost => Some(Why::LostByClient),
        // Its client will show it: whoever offered it now would double it.
        Fate::Held => None,
        _ if at(Stage::Queued).is_some() => Some(Why::NoSignOfWork),
        Fate::Unknown if is_unproved => Some(Why::TakenUnproved),
        Fate::Unknown | Fate::OnOffer => None,
    }
}

impl Why {
    /// In words.
    pub fn words(self, by: Option<Stamp>) -> String {
        let until = by.map(|by| format!(" by {by}")).unwrap_or_default();
        match self {
            Self::NotWritten => "accepted, and not written yet: the inbox cannot be written".to_owned(),
            Self::Queued => "queued while its reader was off".to_owned(),
            Self::AckAwaited => format!("wants to be acknowledged{until}"),
            Self::AckOverdue => format!("was to be acknowledged{until}, and is not"),
            Self::LostByClient => "taken by the client, and not in a later turn of its conversation".to_owned(),
            Self::TakenUnproved => "gone from the inbox, and nothing proves that it was taken".to_owned(),
            Self::Held => {
                "undone again and again by a program that writes without the lock: end that one, and send it anew"
                    .to_owned()
            }
            Self::NoSignOfWork => "was queued and taken; no answer since".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use atm_ledger::Evidence;

    use super::*;

    fn taken(is_unproved: bool) -> Vec<StageRecord> {
        let evidence = if is_unproved { Evidence::unproved("gone") } else { Evidence::likely("gone") };
        vec![StageRecord { stage: Stage::Taken, at: 1_000_000, evidence }]
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
}
