//! One pass over a team's chores.

use atm_wire::{Stamp, TeamName};
use serde::Serialize;

use super::{Chore, Exits, Parts, Runner, Snapshot, StepReport};
use crate::error::OfficeError;
use crate::office::Office;
use crate::team::Team;

/// For how long the record of a step that has ended is kept.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// What came of one pass.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// The steps, in the order in which they were taken.
    pub(crate) steps: Vec<StepReport>,
    /// When the next step may be due, as far as that can be told.
    pub(crate) next: Option<Stamp>,
}

/// A team after a pass, as a front shows it.
#[derive(Debug, Serialize)]
pub struct TeamPass {
    /// The team.
    pub team: TeamName,
    /// The steps that were taken, or are due.
    pub steps: Vec<StepReport>,
    /// When the next step may be due, as far as that can be told.
    pub next: Option<Stamp>,
}

impl Office {
    /// Takes all steps of these chores that are due in a team; with `dry_run` only says which. Whose program has ended is
    /// noticed first, since the others go by that.
    pub fn tend(
        &self,
        team: &TeamName,
        chores: &[&dyn Chore],
        dry_run: bool,
    ) -> Result<TeamPass, OfficeError> {
        self.team_to_look_at(team)?.tend(chores, dry_run)
    }
}

impl Team<'_> {
    /// As [`Office::tend`].
    pub fn tend(&mut self, chores: &[&dyn Chore], dry_run: bool) -> Result<TeamPass, OfficeError> {
        let mut pass = self.tend_to(&[&Exits], dry_run)?;
        if !pass.steps.is_empty() {
            self.reload()?;
        }
        let rest = self.tend_to(chores, dry_run)?;
        pass.steps.extend(rest.steps);
        let (office, team) = (self.office(), self.name());
        if !dry_run && office.books.exist() {
            let (root, before) = (office.root_key(), office.now().as_millis() - KEPT_MS);
            office.books.with(|ledger| ledger.forget_steps(&root, team.as_str(), before))?;
        }
        Ok(TeamPass { team: team.clone(), steps: pass.steps, next: rest.next })
    }

    /// Takes the steps of some chores that are due.
    pub(crate) fn tend_to(&mut self, chores: &[&dyn Chore], dry_run: bool) -> Result<Pass, OfficeError> {
        let team = self.name().clone();
        let _span = tracing::debug_span!("chores", %team, dry_run).entered();
        let runner = Runner::new(self.office(), &team);
        let mut pass = Pass::default();
        if !dry_run {
            pass.steps = runner.recover(chores)?;
        }
        if !pass.steps.is_empty() {
            // What a step of a dead runner left to do may have changed it.
            self.reload()?;
        }
        let needs = |chores: &[&dyn Chore]| {
            chores.iter().fold(Parts::default(), |parts, chore| parts.with(chore.needs()))
        };
        let mut snapshot = Snapshot::take(self, needs(chores))?;
        let (last, first): (Vec<&dyn Chore>, Vec<&dyn Chore>) =
            chores.iter().copied().partition(|chore| chore.is_last());
        for (chores, are_last) in [(&first, false), (&last, true)] {
            if are_last && !chores.is_empty() && !pass.steps.is_empty() && !dry_run {
                self.reload()?;
                snapshot = Snapshot::take(self, needs(chores))?;
            }
            // What the others did happened after the pass began.
            let now = if are_last { self.office().now() } else { runner.now };
            for chore in chores {
                let due = chore.due(&snapshot, now);
                pass.steps.extend(runner.run_all(*chore, due, dry_run));
            }
            let next = chores.iter().filter_map(|chore| chore.next(&snapshot, now)).min();
            pass.next = [pass.next, next].into_iter().flatten().min();
        }
        Ok(pass)
    }
}
