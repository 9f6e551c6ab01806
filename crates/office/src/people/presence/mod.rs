//! Who is there, and how we know.
//!
//! Nobody tells us who runs: it is told from traces, some of which are stale. `gather` looks for them, `rules`
//! weighs them by strength and age. All that depends on somebody being there asks here; a send only where the
//! configuration calls its recipient inactive, or does not know it.

mod asking;
mod folder;
mod gather;
mod own;
mod round;
mod rules;
mod tied;
mod transition;

use atm_ledger::{Evidence, PastState};
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::office::Office;

pub(crate) use asking::{asking, went_on_at};
pub(crate) use gather::{Surroundings, detail, ended, is_chore};

pub(crate) use round::Judged;
pub use round::Round;
pub(crate) use rules::{CHECK_PATIENCE, Signs, judge};

/// Whether somebody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Running.
    Online,
    /// Running, with nothing to do.
    Idle,
    /// Running, and not answering.
    Stalled,
    /// Not running.
    Offline,
    /// Nothing says.
    Unknown,
}

impl Presence {
    /// The spelling in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Idle => "idle",
            Self::Stalled => "stalled",
            Self::Offline => "offline",
            Self::Unknown => "unknown",
        }
    }
}

/// How much a trace counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// It decides the state.
    Decides,
    /// It agrees, or could not change anything.
    Beside,
    /// It says otherwise and is not believed: something stronger or newer does not agree.
    Overruled,
}

/// A trace of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// In words.
    pub what: String,
    /// When, where that is known.
    pub at: Option<Stamp>,
    /// How much it counts.
    pub weight: Weight,
}

/// Whether somebody is there, and why we say so.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// The state.
    pub state: Presence,
    /// What it does, where its client says so: `working`, `idle`, `waiting for …`.
    pub activity: Option<String>,
    /// The traces, what decides first.
    pub evidence: Vec<Trace>,
}

impl Judgement {
    /// What decided, in words.
    pub fn why(&self) -> String {
        let mut deciding: Vec<&Trace> =
            self.evidence.iter().filter(|trace| trace.weight == Weight::Decides).collect();
        // What is held against it comes before what speaks for it: that it is there is why it counts as stalled at all.
        if self.state == Presence::Stalled {
            deciding.reverse();
        }
        deciding.into_iter().map(|trace| trace.what.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// A state that a member was in, as a front shows it.
#[derive(Debug, Clone, Serialize)]
pub struct PastPresence {
    /// When it began, or when it was first seen to be so.
    pub at: Stamp,
    /// The state.
    pub state: String,
    /// How we know.
    pub evidence: Option<Evidence>,
}

/// One member's presence, as a front shows it.
#[derive(Debug, Clone, Serialize)]
pub struct PresenceView {
    /// The name.
    pub name: String,
    /// The team.
    pub team: String,
    /// The state, and why.
    #[serde(flatten)]
    pub judgement: Judgement,
}

impl Office {
    /// Whether a member is there, and why we say so.
    pub fn presence(&self, team: &TeamName, name: &MemberName) -> Result<PresenceView, OfficeError> {
        let mut team = self.team_to_look_at(team)?;
        team.look()?;
        // If tmux cannot be asked, or nothing written, the file's word stands.
        let _ = team.notice_exits();
        let known = self.last_states(team.name());
        let judgement = team.judge(team.member(name)?);
        self.record_presence(team.name(), &known, [(name.as_str(), &judgement)].into_iter());
        Ok(PresenceView { name: name.to_string(), team: team.name().to_string(), judgement })
    }

    /// The last `most` states of a member that were recorded, the newest first. Nobody looks all the time: what came and
    /// went between two looks is not among them.
    pub fn past_presence(
        &self,
        team: &TeamName,
        name: &MemberName,
        most: usize,
    ) -> Result<Vec<PastPresence>, OfficeError> {
        if !self.books.exist() {
            return Ok(Vec::new());
        }
        let root = self.root_key();
        let past = self.books.with(|ledger| ledger.past_states(&root, team.as_str(), name.as_str(), most))?;
        let view = |past: PastState| PastPresence {
            at: Stamp::from_millis(past.at),
            state: past.state,
            evidence: past.evidence,
        };
        Ok(past.into_iter().map(view).collect())
    }
}
