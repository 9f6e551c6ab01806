//! Doing what is due in one team. What goes wrong there stays there.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use atm_office::chores::{Chore, Outcome};
use atm_office::people::presence::Round;
use atm_office::{Office, OfficeError};

use crate::schedule::{Done, Job};

/// What came of a visit.
#[derive(Debug, Default)]
pub(crate) struct Visited {
    pub(crate) done: Done,
    /// The team is gone.
    pub(crate) is_gone: bool,
    /// Processes and sessions that concern it, if that was judged.
    pub(crate) round: Option<Round>,
    /// How many steps were taken.
    pub(crate) steps: usize,
    /// What went wrong with some of them.
    pub(crate) troubles: Vec<String>,
}

/// Does what is due. An error is the whole team's; also a panic, which must not end the others' daemon.
pub(crate) fn visit(office: &Office, chores: &[&dyn Chore], job: &Job) -> Result<Visited, String> {
    let begun = Instant::now();
    let visited = catch_unwind(AssertUnwindSafe(|| match try_visit(office, chores, job) {
        // It went while it was visited: that is no trouble, and there is a last look.
        Err(_) if !office.has_team(&job.team) => try_visit(office, chores, job),
        visited => visited,
    }));
    match visited {
        Ok(Ok(mut visited)) => {
            visited.done.took = begun.elapsed();
            Ok(visited)
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(format!("it panicked: {}", words_of(panic.as_ref()))),
    }
}

fn try_visit(office: &Office, chores: &[&dyn Chore], job: &Job) -> Result<Visited, OfficeError> {
    let mut visited = Visited::default();
    if !office.has_team(&job.team) {
        // What became of its mail is recorded, once.
        let looked = office.look(&job.team);
        visited.is_gone = true;
        return match looked {
            Ok(_) | Err(OfficeError::NoTeam { .. }) => Ok(visited),
            Err(error) => Err(error),
        };
    }
    if job.look || job.presence {
        match office.team(&job.team) {
            Ok(mut team) => {
                team.look()?;
                if job.presence {
                    if let Err(error) = team.notice_exits() {
                        visited.troubles.push(error.to_string());
                    }
                    let round = team.presence_round();
                    visited.done.presence_next = round.next;
                    visited.round = Some(round);
                }
            }
            // Its configuration cannot be read now; its inboxes can.
            Err(error) => {
                office.look(&job.team)?;
                return Err(error);
            }
        }
    }
    if job.tend {
        let pass = office.tend(&job.team, chores, false)?;
        visited.done.tend_next = pass.next;
        visited.steps = pass.steps.iter().filter(|report| report.outcome == Outcome::Done).count();
        for report in &pass.steps {
            tracing::info!(team = %job.team, chore = report.step.chore, outcome = ?report.outcome, "step");
            if let Some(error) = &report.error {
                visited.troubles.push(format!("{}: {error}", report.step.chore));
            }
        }
    }
    Ok(visited)
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".to_owned())
}

/// The processes and sessions of each team, and who is concerned by one.
#[derive(Debug, Default)]
pub(crate) struct Concerned(std::collections::BTreeMap<atm_wire::TeamName, Round>);

impl Concerned {
    pub(crate) fn set(&mut self, team: &atm_wire::TeamName, round: Round) {
        self.0.insert(team.clone(), round);
    }

    pub(crate) fn forget(&mut self, team: &atm_wire::TeamName) {
        self.0.remove(team);
    }

    pub(crate) fn processes(&self) -> BTreeSet<u64> {
        self.0.values().flat_map(|round| round.processes.iter().copied()).collect()
    }

    pub(crate) fn by_process(&self, died: &BTreeSet<u64>) -> Vec<atm_wire::TeamName> {
        self.teams(|round| !round.processes.is_disjoint(died))
    }

    pub(crate) fn by_session(&self, changed: &BTreeSet<String>) -> Vec<atm_wire::TeamName> {
        self.teams(|round| !round.sessions.is_disjoint(changed))
    }

    fn teams(&self, is_concerned: impl Fn(&Round) -> bool) -> Vec<atm_wire::TeamName> {
        self.0.iter().filter(|(_, round)| is_concerned(round)).map(|(team, _)| team.clone()).collect()
    }
}
