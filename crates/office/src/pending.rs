//! What waits for whom, and why we think so.

use atm_ledger::{Recorded, Stage, StageRecord};
use atm_wire::team::TeamConfig;
use atm_wire::{Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::history::Remembered;
use crate::office::Office;
use crate::transcript;

/// A conversation that went on for this long without a message that was taken has lost it.
const LOST_AFTER_MS: i64 = 5_000;
/// What was taken longer ago is not looked for in conversations any more.
const LATELY_MS: i64 = 24 * 60 * 60 * 1_000;
/// More than this is not a list any more.
const AT_MOST: usize = 1_000;

/// Why a message counts as waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Written while its recipient was off, and not taken yet.
    Queued,
    /// It wanted to be acknowledged, and the time is not over.
    AckAwaited,
    /// It wanted to be acknowledged, and the time is over.
    AckOverdue,
    /// Its client took it, and the conversation went on without it.
    LostByClient,
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
        let mut waiting = Vec::new();
        for message in found {
            let stages = self.books.with(|ledger| ledger.stages(&message))?;
            if let Some(why) = self.why_it_waits(team, &config, &message, &stages) {
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
        let transcripts =
            || transcript::transcripts_of(self.root.path(), config, team.as_str(), &message.inbox.name);
        let last_turn = || transcripts().iter().map(|found| found.changed_at).max();
        why(message, stages, self.now().as_millis(), last_turn)
    }
}

fn why(
    message: &Recorded,
    stages: &[StageRecord],
    now: i64,
    last_turn: impl Fn() -> Option<i64>,
) -> Option<Why> {
    let at = |stage| stages.iter().find(|record| record.stage == stage).map(|record| record.at);
    if let Some(until) = message.ack_by {
        return Some(if until < now { Why::AckOverdue } else { Why::AckAwaited });
    }
    if message.stage < Stage::Taken {
        return at(Stage::Queued).map(|_| Why::Queued);
    }
    if message.stage == Stage::Taken {
        let taken = at(Stage::Taken)?;
        if last_turn().is_some_and(|turn| turn > taken + LOST_AFTER_MS) {
            return Some(Why::LostByClient);
        }
    }
    at(Stage::Queued).map(|_| Why::NoSignOfWork)
}

impl Why {
    /// In words.
    pub fn words(self, by: Option<Stamp>) -> String {
        let until = by.map(|by| format!(" by {by}")).unwrap_or_default();
        match self {
            Self::Queued => "queued while its reader was off".to_owned(),
            Self::AckAwaited => format!("wants to be acknowledged{until}"),
            Self::AckOverdue => format!("was to be acknowledged{until}, and is not"),
            Self::LostByClient => "taken by the client, and not in the conversation since".to_owned(),
            Self::NoSignOfWork => "was queued and taken; no answer since".to_owned(),
        }
    }
}
