//! Doing what is due in one team. What goes wrong there stays there.

use std::time::Instant;

use atm_office::chores::{Chore, Outcome};
use atm_office::people::presence::Round;
use atm_office::trail::look::Looked;
use atm_office::{Office, OfficeError};

use crate::panics;
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

/// Does what is due. An error is the whole team's; also a panic, after which the daemon begins again ([`panics`]).
pub(crate) fn visit(office: &Office, chores: &[&dyn Chore], job: &Job) -> Result<Visited, String> {
    let begun = Instant::now();
    let visited = panics::in_team(&job.team, || match try_visit(office, chores, job) {
        // It went while it was visited: that is no trouble, and there is a last look.
        Err(_) if !office.has_team(&job.team) => try_visit(office, chores, job),
        visited => visited,
    });
    let mut visited = visited.map_err(|error| error.to_string())?;
    visited.done.took = begun.elapsed();
    Ok(visited)
}

fn try_visit(office: &Office, chores: &[&dyn Chore], job: &Job) -> Result<Visited, OfficeError> {
    #[cfg(debug_assertions)]
    atm_store::points::reached(&format!("visit_{}", job.team));
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
                report(&team.look()?);
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
                report(&office.look(&job.team)?);
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

/// Logs what a look recorded. It is read from the ledger only where somebody wants it.
fn report(looked: &Looked) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    for event in looked.events().unwrap_or_default() {
        let who = event.inbox.map(|inbox| format!("{}@{}", inbox.name, inbox.team));
        tracing::debug!(kind = ?event.kind, who, message = event.message, "recorded");
    }
}
