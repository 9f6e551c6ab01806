//! What happens by the clock: offering mail again, escalation, expiry, health checks, wake-ups, ended panes, leases,
//! archiving.
//!
//! A chore says which steps are due, as a pure function of a [`Snapshot`]; the runner takes each step in the
//! ledger before it acts, so that any number of runners take it once. A step is recorded with all that it takes to carry it out: if
//! its owner died, the next runner goes on with it, or, where that could repeat an effect outside of our files, leaves it
//! as of unknown outcome for a person to look at.

mod exits;
pub mod health;
mod leases;
mod owner;
mod reservations;
pub mod retry;
mod runner;
mod sessions;
mod snapshot;
mod standing;
mod tend;
pub mod wake;

use std::fmt::Debug;

use atm_ledger::StepKey;
use atm_wire::{Stamp, TeamName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::OfficeError;
use crate::office::Office;

pub use exits::Exits;
pub use leases::Leases;
pub use reservations::Reservations;
pub use runner::{Outcome, StepReport};
pub(crate) use runner::{Ran, Runner, described};
pub use sessions::Sessions;
pub use snapshot::{MemberNow, Parts, Snapshot, Waited};
pub use standing::{Died, Standing};
pub use tend::TeamPass;

/// Something that is done by the clock.
pub trait Chore: Debug {
    /// The names that its steps have in the ledger.
    fn names(&self) -> &'static [&'static str];

    /// What it has to know.
    fn needs(&self) -> Parts;

    /// Whether it goes by what the others did in the same pass: then it looks again after them, if they did something.
    fn is_last(&self) -> bool {
        false
    }

    /// The steps that are due. Pure: two runners with the same snapshot and time find the same steps.
    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<Step>;

    /// When the next step may be due, as far as that can be told now.
    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp>;

    /// Carries out a step that the runner has taken. An error means that nothing was done.
    fn carry_out(&self, site: &Site, step: &Step) -> Result<Carried<Value>, OfficeError>;

    /// A step that is due turns out to be over: it was carried out, or nobody knows how far it came. A chore that does not
    /// decide by the ledger alone learns of it here, or the step would be due for ever and keep others from being so.
    fn learn_over(&self, _site: &Site, _step: &Step) -> Result<(), OfficeError> {
        Ok(())
    }
}

/// What carrying a step out twice would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing: it only writes mail or files, under names that follow from the step.
    Files,
    /// Something would happen again outside of our files: a line typed, a program called.
    Outside,
}

/// A step of a chore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The chore's name.
    pub chore: String,
    /// What it is about: a message, a member.
    pub subject: String,
    /// Which of the chore's steps with this subject.
    pub number: i64,
    /// What carrying it out twice would do.
    pub effect: Effect,
    /// What is done, in words.
    pub what: String,
    /// All that it takes to carry it out.
    pub details: Value,
}

impl Step {
    /// A step whose details are `details`.
    pub fn new(
        (chore, effect): (&str, Effect),
        subject: impl Into<String>,
        number: i64,
        what: impl Into<String>,
        details: &impl Serialize,
    ) -> Self {
        let details = serde_json::to_value(details).unwrap_or_default();
        Self { chore: chore.to_owned(), subject: subject.into(), number, effect, what: what.into(), details }
    }

    pub(crate) fn key(&self, office: &Office, team: &TeamName) -> StepKey {
        StepKey {
            root: office.root_key(),
            team: team.to_string(),
            chore: self.chore.clone(),
            subject: self.subject.clone(),
            number: self.number,
        }
    }
}

/// Whether somebody may have carried out a part of a step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Nobody has.
    First,
    /// Somebody took it, and died or failed in the middle of it.
    AfterDeath,
}

/// Where a step is carried out.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// By whose means.
    pub office: &'a Office,
    /// In which team.
    pub team: &'a TeamName,
    /// The time by which it was due: when the pass began.
    pub now: Stamp,
    /// Whether somebody may have carried out a part of it before.
    pub attempt: Attempt,
}

/// What came of carrying a step out.
#[derive(Debug)]
pub enum Carried<T> {
    /// It was done.
    Done(T),
    /// There was nothing to do any more, and it may be due again.
    Moot,
    /// It was tried, and may have had an effect: it counts.
    Failed(OfficeError),
    /// A part of it was done: it is carried out again, as after a death.
    Half(OfficeError),
}

impl<T> Carried<T> {
    /// The same with another value.
    pub fn map<U>(self, with: impl FnOnce(T) -> U) -> Carried<U> {
        match self {
            Self::Done(value) => Carried::Done(with(value)),
            Self::Moot => Carried::Moot,
            Self::Failed(error) => Carried::Failed(error),
            Self::Half(error) => Carried::Half(error),
        }
    }
}

/// The first of those times that are still to come.
pub fn soonest(times: impl IntoIterator<Item = Stamp>, now: Stamp) -> Option<Stamp> {
    times.into_iter().filter(|at| *at > now).min()
}
