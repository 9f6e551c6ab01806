//! Taking steps: in the ledger first, then in the world.

use std::cell::OnceCell;

use atm_ledger::{StepKey, StepOwner, StepRow, StepState, Taken};
use atm_store::{interrupt, points};
use atm_wire::{Stamp, TeamName};
use serde::Serialize;
use serde_json::Value;

use super::{Attempt, Carried, Chore, Effect, Site, Step, owner};
use crate::error::OfficeError;
use crate::office::Office;

/// What became of a step that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is due, and was only looked at.
    Due,
    /// It was done.
    Done,
    /// It could not be done, or was tried in vain.
    Failed,
    /// Its owner died over it; it may have had an effect, and is not repeated.
    Unknown,
}

/// A step of a pass, as a front shows it.
#[derive(Debug, Serialize)]
pub struct StepReport {
    /// The team.
    pub team: TeamName,
    /// The step.
    #[serde(flatten)]
    pub step: Step,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it failed.
    #[serde(serialize_with = "words")]
    pub error: Option<OfficeError>,
}

#[expect(clippy::ref_option, reason = "serde gives the field as it is")]
fn words<S: serde::Serializer>(error: &Option<OfficeError>, serializer: S) -> Result<S::Ok, S::Error> {
    match error {
        Some(error) => serializer.collect_str(error),
        None => serializer.serialize_none(),
    }
}

/// What came of a step that a runner wanted to take.
#[derive(Debug)]
pub(crate) enum Ran<T> {
    /// It was done.
    Done(T),
    /// There was nothing to do any more.
    Moot,
    /// It was tried, and failed; it counts.
    Failed(OfficeError),
    /// Another runner has it.
    TakenByAnother,
    /// It was carried out before, or nobody knows how far it came.
    Over,
}

/// Takes steps in one team.
#[derive(Debug)]
pub(crate) struct Runner<'a> {
    pub(crate) office: &'a Office,
    pub(crate) team: &'a TeamName,
    /// When the pass began.
    pub(crate) now: Stamp,
    owner: OnceCell<StepOwner>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(office: &'a Office, team: &'a TeamName) -> Self {
        Self { office, team, now: office.now(), owner: OnceCell::new() }
    }

    fn owner(&self) -> &StepOwner {
        self.owner.get_or_init(owner::this_process)
    }

    fn site(&self, attempt: Attempt) -> Site<'a> {
        Site { office: self.office, team: self.team, now: self.now, attempt }
    }

    fn report(&self, step: Step, outcome: Outcome, error: Option<OfficeError>) -> StepReport {
        StepReport { team: self.team.clone(), step, outcome, error }
    }

    /// Takes a step and lets `act` carry it out, unless somebody else took it.
    pub(crate) fn run<T>(
        &self,
        step: &Step,
        act: impl FnOnce() -> Result<Carried<T>, OfficeError>,
    ) -> Result<Ran<T>, OfficeError> {
        // A runner that is asked to stop takes no further step, and finishes the one that it took.
        interrupt::begin(self.office.state.path())?;
        let key = step.key(self.office, self.team);
        let recorded = serde_json::to_string(step).unwrap_or_default();
        let now = self.office.now().as_millis();
        let books = &self.office.books;
        let taken = books.with(|ledger| {
            let taken = ledger.take_step(&key, self.owner(), &recorded, now)?;
            // A power cut must not make it free again.
            if taken == Taken::Yes && step.effect == Effect::Outside {
                ledger.make_durable()?;
            }
            Ok(taken)
        })?;
        if taken != Taken::Yes {
            tracing::debug!(team = %self.team, chore = step.chore, subject = step.subject, ?taken, "not ours");
            let is_over = matches!(taken, Taken::AlreadyFinished | Taken::Unknown);
            return Ok(if is_over { Ran::Over } else { Ran::TakenByAnother });
        }
        let _span =
            tracing::debug_span!("step", team = %self.team, chore = step.chore, what = step.what).entered();
        points::reached("step_taken");
        let carried = act();
        points::reached("step_carried_out");
        let give_back = || books.with(|ledger| ledger.give_step_back(&key, self.owner()));
        match carried {
            Ok(Carried::Done(value)) => self.finish(&key).map(|()| Ran::Done(value)),
            Ok(Carried::Failed(error)) => self.finish(&key).map(|()| Ran::Failed(error)),
            Ok(Carried::Moot) => Ok(give_back().map(|()| Ran::Moot)?),
            Ok(Carried::Half(error)) => {
                self.leave(&key);
                Err(error)
            }
            Err(error) => {
                // If that fails too, it is free when we have ended.
                let _ = give_back();
                Err(error)
            }
        }
    }

    /// Leaves a step that is half done to the next runner. If that fails too, it is theirs when we have ended.
    fn leave(&self, key: &StepKey) {
        let now = self.office.now().as_millis();
        let left =
            self.office.books.with(|ledger| ledger.take_over_step(key, self.owner(), &owner::nobody(), now));
        tracing::warn!(team = %self.team, chore = key.chore, subject = key.subject, ?left, "half done");
    }

    fn finish(&self, key: &StepKey) -> Result<(), OfficeError> {
        let now = self.office.now().as_millis();
        self.office.books.with(|ledger| ledger.finish_step(key, self.owner(), now))?;
        Ok(())
    }

    /// Takes the steps of a chore that are due; with `dry_run` only says which.
    pub(crate) fn run_all(&self, chore: &dyn Chore, steps: Vec<Step>, dry_run: bool) -> Vec<StepReport> {
        let mut reports = Vec::new();
        for mut step in steps {
            if dry_run {
                reports.push(self.report(step, Outcome::Due, None));
                continue;
            }
            let ran = self.run(&step, || chore.carry_out(&self.site(Attempt::First), &step));
            let (outcome, error) = match ran {
                Ok(Ran::Done(details)) => {
                    step.details = details;
                    (Outcome::Done, None)
                }
                Ok(Ran::Failed(error)) | Err(error) => (Outcome::Failed, Some(error)),
                Ok(Ran::Moot | Ran::TakenByAnother) => continue,
                Ok(Ran::Over) => match chore.learn_over(&self.site(Attempt::First), &step) {
                    Ok(()) => continue,
                    Err(error) => (Outcome::Failed, Some(error)),
                },
            };
            reports.push(self.report(step, outcome, error));
        }
        reports
    }

    /// Goes on with the steps whose owners died, as far as these chores know how; what must not be repeated is recorded as
    /// of unknown outcome.
    pub(crate) fn recover(&self, chores: &[&dyn Chore]) -> Result<Vec<StepReport>, OfficeError> {
        if !self.office.books.exist() {
            return Ok(Vec::new());
        }
        let (root, team) = (self.office.root_key(), self.team.as_str());
        let open = self.office.books.with(|ledger| ledger.open_steps(&root, team))?;
        let mut reports = Vec::new();
        for row in open.iter().filter(|row| row.state == StepState::Taken) {
            if owner::is_abandoned(row, self.now) {
                reports.extend(self.recover_one(chores, row)?);
            }
        }
        Ok(reports)
    }

    fn recover_one(&self, chores: &[&dyn Chore], row: &StepRow) -> Result<Option<StepReport>, OfficeError> {
        let now = self.office.now().as_millis();
        let books = &self.office.books;
        let parsed: Option<Step> = serde_json::from_str(&row.what).ok();
        let Some(mut step) = parsed.filter(|step| step.effect == Effect::Files) else {
            let left = books.with(|ledger| ledger.leave_step_unknown(&row.key, &row.owner, now))?;
            tracing::warn!(team = %self.team, chore = row.key.chore, pid = row.owner.pid, "outcome unknown");
            let step = described(row);
            return Ok(left.then(|| self.report(step, Outcome::Unknown, None)));
        };
        let Some(chore) = chores.iter().find(|chore| chore.names().contains(&row.key.chore.as_str())) else {
            return Ok(None);
        };
        if !books.with(|ledger| ledger.take_over_step(&row.key, &row.owner, self.owner(), now))? {
            return Ok(None);
        }
        tracing::info!(team = %self.team, chore = row.key.chore, pid = row.owner.pid, "taken over");
        Ok(match chore.carry_out(&self.site(Attempt::AfterDeath), &step) {
            Ok(Carried::Done(details)) => {
                self.finish(&row.key)?;
                step.details = details;
                Some(self.report(step, Outcome::Done, None))
            }
            Ok(Carried::Moot) => self.finish(&row.key).map(|()| None)?,
            Ok(Carried::Failed(error)) => {
                self.finish(&row.key)?;
                Some(self.report(step, Outcome::Failed, Some(error)))
            }
            // Half done perhaps: also for this process, if it comes by again.
            Ok(Carried::Half(error)) | Err(error) => {
                self.leave(&row.key);
                Some(self.report(step, Outcome::Failed, Some(error)))
            }
        })
    }
}

/// A step as the ledger has it, also if its record cannot be read.
pub(crate) fn described(row: &StepRow) -> Step {
    let unreadable = || Step {
        chore: row.key.chore.clone(),
        subject: row.key.subject.clone(),
        number: row.key.number,
        effect: Effect::Outside,
        what: format!("{} {}", row.key.chore, row.key.subject),
        details: Value::Null,
    };
    serde_json::from_str(&row.what).unwrap_or_else(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use atm_store::{Root, State, StoreError};

    use super::*;
    use crate::chores::{Parts, Snapshot};

    /// A chore of which the first attempts each do a part, and that is done with the last.
    #[derive(Debug)]
    struct Parted {
        halves: usize,
        attempts: RefCell<Vec<Attempt>>,
    }

    impl Chore for Parted {
        fn names(&self) -> &'static [&'static str] {
            &["parted"]
        }

        fn needs(&self) -> Parts {
            Parts::default()
        }

        fn due(&self, _: &Snapshot, _: Stamp) -> Vec<Step> {
            Vec::new()
        }

        fn next(&self, _: &Snapshot, _: Stamp) -> Option<Stamp> {
            None
        }

        fn carry_out(&self, site: &Site, _: &Step) -> Result<Carried<Value>, OfficeError> {
            let mut attempts = self.attempts.borrow_mut();
            attempts.push(site.attempt);
            let full = || StoreError::Interrupted { path: "here".into() };
            Ok(if attempts.len() > self.halves {
                Carried::Done(Value::Null)
            } else {
                Carried::Half(full().into())
            })
        }
    }

    fn outcomes(reports: &[StepReport]) -> Vec<Outcome> {
        reports.iter().map(|report| report.outcome).collect()
    }

    /// A step that is half done is neither free, which would do its first half twice, nor kept from this process, which
    /// may run for weeks.
    #[test]
    fn what_was_left_half_done_is_finished_by_the_next_pass_or_reported_as_unknown() {
        let team: TeamName = "demo".parse().unwrap();
        for (effect, halves, of_passes) in [
            (Effect::Files, 1, &[&[Outcome::Done][..], &[]][..]),
            (Effect::Files, 2, &[&[Outcome::Failed], &[Outcome::Done], &[]]),
            (Effect::Outside, 1, &[&[Outcome::Unknown], &[]]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let office =
                Office::new(Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
            let chore = Parted { halves, attempts: RefCell::default() };
            let step = Step::new(("parted", effect), "bob", 1, "something in parts", &Value::Null);
            let first = Runner::new(&office, &team).run_all(&chore, vec![step.clone()], false);
            assert_eq!(outcomes(&first), [Outcome::Failed], "{effect:?}");
            assert!(first[0].error.is_some());
            let again = Runner::new(&office, &team).run_all(&chore, vec![step.clone()], false);
            assert!(again.is_empty(), "it is not free: {again:?}");
            for expected in of_passes {
                let reports = Runner::new(&office, &team).recover(&[&chore]).unwrap();
                assert_eq!(outcomes(&reports), *expected, "{effect:?} {halves}");
            }
            let over = Runner::new(&office, &team).run_all(&chore, vec![step], false);
            assert!(over.is_empty(), "it is over: {over:?}");
            let attempts = chore.attempts.borrow();
            assert_eq!(attempts[0], Attempt::First);
            assert!(attempts[1..].iter().all(|attempt| *attempt == Attempt::AfterDeath), "{attempts:?}");
            let expected = if effect == Effect::Files { halves + 1 } else { 1 };
            assert_eq!(attempts.len(), expected, "{effect:?}");
        }
    }
}
