//! What became of a message.

use std::slice;
use std::time::{Duration, Instant};

use atm_ledger::{Evidence, Recorded, Stage, StageRecord};
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::machines::RECALL;
use crate::mail::partly::{After, Done};
use crate::mail::reply::SHORTEST_PART;
use crate::office::Office;
use crate::team::Team;
use crate::trail::history::{Remembered, Search, Trace, each};

/// Among so many is the last that is a message: letters that take another one back are none.
const FEW: usize = 8;

/// Stands for the last message that one sent.
pub const LAST: &str = "last";

/// Which message an answer is about.
#[derive(Debug, Clone, Serialize)]
pub struct Heading {
    /// Its id.
    pub id: String,
    /// The recipient's team.
    pub team: String,
    /// From whom.
    pub from: String,
    /// For whom.
    pub to: String,
    /// When it was sent.
    pub timestamp: Stamp,
    /// What it is about.
    pub summary: Option<String>,
}

impl From<Recorded> for Heading {
    fn from(message: Recorded) -> Self {
        Self {
            id: message.id,
            team: message.inbox.team,
            from: message.sender,
            to: message.inbox.name,
            timestamp: Stamp::from_millis(message.sent_at),
            summary: message.summary,
        }
    }
}

/// A message's way so far. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Serialize)]
pub struct Track {
    /// Which message.
    #[serde(flatten)]
    pub message: Heading,
    /// How far it came.
    pub stage: Stage,
    /// Whether it is, or was, where its recipient's client looks.
    pub arrived: bool,
    /// Whether it is known that its recipient's client took it, and not only that it is gone.
    pub processed: bool,
    /// What it waits for, if it is for another machine and not confirmed there yet.
    #[serde(rename = "waitsFor", skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// All stages it reached, in their order.
    pub stages: Vec<TrackStage>,
}

/// One stage of a message.
#[derive(Debug, Clone, Serialize)]
pub struct TrackStage {
    /// Which.
    pub stage: Stage,
    /// When.
    pub at: Stamp,
    /// How we know.
    pub evidence: Evidence,
}

/// Whether it is known that the recipient's client took a message.
fn is_processed(stage: Stage, stages: &[TrackStage]) -> bool {
    let is_proof = |reached: &TrackStage| reached.stage == Stage::Taken && !reached.evidence.unproved;
    stage.includes(Stage::Taken) && (stage > Stage::Taken || stages.iter().any(is_proof))
}

impl Team<'_> {
    /// What became of a message, and the message itself: by its id or a part of it, or [`LAST`], the last that `sender` sent.
    pub fn track_message(&self, sender: &MemberName, what: &str) -> Result<(Track, Remembered), OfficeError> {
        let recorded = self.sent_message(sender, what)?;
        let message = Remembered::from(recorded.clone());
        Ok((self.office().tracked(recorded)?, message))
    }

    /// A message by its id or a part of it, or [`LAST`], after a look.
    pub(crate) fn sent_message(&self, sender: &MemberName, what: &str) -> Result<Recorded, OfficeError> {
        self.catch_up()?;
        match self.office().recorded_after(self.name(), what) {
            Err(OfficeError::NotRecorded { .. }) if what == LAST => {
                let from = Some(sender.to_string());
                self.office().last_recorded(self.name(), Trace { from, ..Trace::default() })
            }
            found => found,
        }
    }
}

impl Office {
    /// What became of a message: by its id, or by the start or end of it. Looks at what changed in `team` first.
    pub fn track(&self, team: Option<&TeamName>, id: &str) -> Result<Track, OfficeError> {
        self.tracked(self.recorded_after_look(team, id)?)
    }

    /// What became of the message that somebody means: by its id or a part of it, by [`LAST`], or by words of its text, of which
    /// the newest message counts. One in these teams is preferred, if any is named.
    pub fn track_meant(
        &self,
        teams: &[TeamName],
        sender: &MemberName,
        what: &str,
    ) -> Result<Track, OfficeError> {
        self.tracked(self.recorded_meant(teams, sender, what)?)
    }

    fn tracked(&self, message: Recorded) -> Result<Track, OfficeError> {
        let records = self.books.with(|ledger| ledger.stages(&message))?;
        let stage_of = |record: StageRecord| TrackStage {
            stage: record.stage,
            at: Stamp::from_millis(record.at),
            evidence: record.evidence,
        };
        let stages: Vec<TrackStage> = records.into_iter().map(stage_of).collect();
        Ok(Track {
            stage: message.stage,
            arrived: message.stage.includes(Stage::Written),
            processed: is_processed(message.stage, &stages),
            waits_for: self.machines().waits_for(&message)?,
            stages,
            message: message.into(),
        })
    }

    fn recorded_meant(
        &self,
        teams: &[TeamName],
        sender: &MemberName,
        what: &str,
    ) -> Result<Recorded, OfficeError> {
        let unknown = match self.recorded_in_any(teams, what) {
            Ok(message) => return Ok(message),
            Err(error @ (OfficeError::NotRecorded { .. } | OfficeError::WhichMessage { .. })) => error,
            Err(error) => return Err(error),
        };
        let teams = teams.to_vec();
        let newest = if what == LAST {
            let from = Some(sender.to_string());
            let sent = self.trace_recorded(&Trace { teams, from, limit: FEW, ..Trace::default() })?;
            sent.into_iter().rfind(|message| message.r#type != RECALL)
        } else {
            let words = what.to_owned();
            self.search_recorded(&Search { words, teams, limit: 1, ..Search::default() })?.pop()
        };
        let newest = newest.ok_or(unknown)?;
        self.recorded(Some(&TeamName::parse(&newest.team)?), &newest.id)
    }

    /// A message that somebody sent: by its id or a part of it, or [`LAST`].
    pub(crate) fn sent_message(
        &self,
        team: Option<&TeamName>,
        sender: &MemberName,
        what: &str,
    ) -> Result<Recorded, OfficeError> {
        self.message_or_last(
            team.map_or(&[], slice::from_ref),
            what,
            Trace { from: Some(sender.to_string()), ..Trace::default() },
        )
    }

    /// A message by its id or a part of it, or by [`LAST`], the last that somebody sent or got. One in these teams is
    /// preferred, if any is named.
    pub(super) fn recorded_with(
        &self,
        teams: &[TeamName],
        who: &MemberName,
        what: &str,
    ) -> Result<Recorded, OfficeError> {
        let with = Trace { with: Some(who.to_string()), ..Trace::default() };
        self.message_or_last(teams, what, with)
    }

    /// A message by its id or a part of it, or by [`LAST`]: the last one of a trace.
    pub(crate) fn message_or_last(
        &self,
        teams: &[TeamName],
        what: &str,
        trace: Trace,
    ) -> Result<Recorded, OfficeError> {
        let unknown = match self.recorded_in_any(teams, what) {
            Err(unknown @ OfficeError::NotRecorded { .. }) if what == LAST => unknown,
            recorded => return recorded,
        };
        let trace = Trace { teams: teams.to_vec(), limit: FEW, ..trace };
        let last = self.trace_recorded(&trace)?.into_iter().rfind(|message| message.r#type != RECALL);
        let last = last.ok_or(unknown)?;
        self.recorded(Some(&TeamName::parse(&last.team)?), &last.id)
    }

    /// The last message of a trace in a team that was looked at just now.
    pub(crate) fn last_recorded(&self, team: &TeamName, trace: Trace) -> Result<Recorded, OfficeError> {
        let root = self.root_key();
        let filter = Trace { limit: FEW, ..trace }.filter(Some(team));
        let traced = self.books.with(|ledger| ledger.trace(&root, &filter))?;
        let last = traced.into_iter().rfind(|message| message.kind != RECALL);
        last.ok_or_else(|| OfficeError::NotRecorded { id: LAST.to_owned() })
    }

    /// A message as it is on record, after a look: in the first of the teams that tells which one it is.
    fn recorded_in_any(&self, teams: &[TeamName], id: &str) -> Result<Recorded, OfficeError> {
        let mut unknown = OfficeError::NotRecorded { id: id.to_owned() };
        for team in each(teams) {
            match self.recorded_after_look(team, id) {
                Err(error @ (OfficeError::NotRecorded { .. } | OfficeError::WhichMessage { .. })) => {
                    unknown = error;
                }
                recorded => return recorded,
            }
        }
        Err(unknown)
    }

    /// Waits until a message came as far as `wanted`; file events wake it.
    pub fn wait_for_stage(
        &self,
        team: &TeamName,
        id: &str,
        wanted: Stage,
        timeout: Duration,
    ) -> Result<Track, OfficeError> {
        let deadline = Instant::now() + timeout;
        let mut watch = self.mail_watch(team);
        loop {
            let track = self.track(Some(team), id).after(|| Done::Sent(format!("message {id}")))?;
            if track.stage.includes(wanted) {
                return Ok(track);
            }
            // What failed or is held will not come any further.
            if track.stage.is_stuck() || !watch.wait(Some(deadline)) {
                return Err(OfficeError::NotInTime { id: track.message.id, stage: track.stage, wanted });
            }
        }
    }

    /// Brings the ledger up to date: for one team, or for all.
    pub(crate) fn catch_up(&self, team: Option<&TeamName>) -> Result<(), OfficeError> {
        match team {
            Some(team) => self.look(team).map(drop),
            None => self.look_at_all(),
        }
    }

    /// A message as it is on record, after a look at its team: at all of them only if nobody knows which one that is.
    pub(crate) fn recorded_after_look(
        &self,
        team: Option<&TeamName>,
        id: &str,
    ) -> Result<Recorded, OfficeError> {
        let Some(team) = team else {
            return match self.recorded(None, id) {
                Err(OfficeError::NotRecorded { .. }) => {
                    self.catch_up(None)?;
                    self.recorded(None, id)
                }
                recorded => self.at_home(&recorded?),
            };
        };
        self.look(team)?;
        self.recorded_after(team, id)
    }

    /// A message as it is on record, of a team that was looked at just now, or of another one after a look at that.
    fn recorded_after(&self, looked: &TeamName, id: &str) -> Result<Recorded, OfficeError> {
        let found = self.recorded(Some(looked), id)?;
        if looked.as_str() == found.inbox.team { Ok(found) } else { self.at_home(&found) }
    }

    /// A message as it is on record after a look at its team.
    fn at_home(&self, before: &Recorded) -> Result<Recorded, OfficeError> {
        let home = TeamName::parse(&before.inbox.team)?;
        self.look(&home)?;
        self.recorded(Some(&home), &before.id)
    }

    pub(crate) fn recorded(&self, team: Option<&TeamName>, id: &str) -> Result<Recorded, OfficeError> {
        let root = self.root_key();
        let by_part = id.len() >= SHORTEST_PART;
        let mut found = self.books.with(|ledger| ledger.find(&root, id, by_part))?;
        if found.iter().any(|message| team.is_some_and(|team| team.as_str() == message.inbox.team)) {
            found.retain(|message| team.is_none_or(|team| team.as_str() == message.inbox.team));
        }
        // One that went to another inbox under its id is followed there.
        if found.len() > 1 && found.iter().all(|message| message.id == found[0].id) {
            let arrived: Vec<_> =
                found.iter().filter(|message| message.stage != Stage::Failed).cloned().collect();
            found = if arrived.is_empty() { found } else { arrived };
        }
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(OfficeError::NotRecorded { id: id.to_owned() }),
            _ => Err(OfficeError::WhichMessage {
                id: id.to_owned(),
                choices: found.into_iter().map(|message| message.id).collect(),
            }),
        }
    }
}
