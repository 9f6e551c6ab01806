//! Tasks of a team that is shared with other machines. Who has a task, how far it is and until when is changed by
//! compare-and-set in a bucket that all of them have, by the bridge, which is asked here and puts what came of it into the
//! files before it answers. Where it cannot be asked, nothing is granted. What else changes a file is a request that the
//! bridge carries there.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use atm_store::{Memo, Serving, StoreError, socket};
use atm_wire::task::{Task, TaskId};
use atm_wire::{MachineName, MemberName, Stamp, TeamName};
use serde::{Deserialize, Serialize};

use super::edit::Edit;
use super::{TaskError, Tasks};
use crate::error::OfficeError;
use crate::machines::Machines;
use crate::office::Office;

/// The longest lease in a shared team: after the bucket was lost, nothing that was claimed before is granted for as long.
pub const LONGEST_SHARED_LEASE: Duration = Duration::from_secs(30 * 60);
/// How long the bridge may take to answer.
pub const BRIDGE_PATIENCE: Duration = Duration::from_secs(5);
/// The longest line of either side: no server takes a task whose text is longer.
pub const LONGEST_LINE: u64 = 2 * 1024 * 1024;

/// What a process asks the bridge, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// To claim a task for a member of this machine, or to keep its claim for as long again.
    Claim {
        /// Whose team it is: one state folder may serve several roots.
        root: String,
        /// The team, as it is called here.
        team: TeamName,
        /// Which task.
        id: TaskId,
        /// For whom.
        who: MemberName,
        /// For how many seconds.
        seconds: f64,
        /// Only if it is this member's already.
        renews: bool,
    },
    /// To change who has a task, how far it is or until when, and what else changes with it; or to delete it.
    Change {
        /// Whose team it is.
        root: String,
        /// The team, as it is called here.
        team: TeamName,
        /// Which task.
        id: TaskId,
        /// What this was decided on: if it is not so any more, it is decided anew.
        seen: Hold,
        /// What changes; `None` deletes the task.
        edits: Option<Vec<Edit>>,
    },
    /// To reserve the number of a new task.
    Number {
        /// Whose team it is.
        root: String,
        /// The team, as it is called here.
        team: TeamName,
    },
}

/// Who has a task and how far it is, as a file here says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The owner, as it is called here.
    pub owner: Option<String>,
    /// How far it is, in the word of the file.
    pub status: String,
}

impl Hold {
    /// That of a task.
    pub fn of(task: &Task) -> Self {
        Self { owner: task.owner.clone(), status: task.status.to_string() }
    }
}

/// What the bridge answers, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is claimed, and the file here shows it.
    Granted,
    /// It is changed or deleted, and the file here shows it.
    Done,
    /// Who has it, or how far it is, is not what the change was decided on. The file here shows what is.
    Stale,
    /// The number is reserved.
    Number {
        /// Which.
        id: TaskId,
    },
    /// Somebody else has it.
    Held {
        /// Who, as it is called here.
        owner: String,
        /// Until when, if that is known.
        until: Option<Stamp>,
    },
    /// It is not this member's.
    NotHeld,
    /// It is done.
    Completed,
    /// There is none of that number.
    NoTask,
    /// The bucket was lost: who held it before may still do.
    NotYet {
        /// Until when.
        until: Stamp,
    },
    /// The bucket cannot be reached: nothing is changed.
    Away {
        /// Why.
        why: String,
    },
    /// The bucket was asked, and what came of it is not known, or not in the file here.
    Unsure {
        /// Why.
        why: String,
    },
}

/// Which teams are shared, and what this machine is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SharedTeams {
    machine: MachineName,
    teams: Vec<TeamName>,
}

impl Office {
    /// What this machine is called by those that it shares a team with; `None` if the team is its own.
    pub(crate) fn shares(&self, team: &TeamName) -> Result<Option<MachineName>, OfficeError> {
        let Some(text) = self.shared_teams_memo().read()? else { return Ok(None) };
        // What cannot be read must not let anybody claim what another machine has.
        let shared: SharedTeams = serde_json::from_str(&text).map_err(|error| StoreError::BadContent {
            path: self.shared_teams_memo().path().to_owned(),
            why: error.to_string(),
        })?;
        Ok(shared.teams.contains(team).then_some(shared.machine))
    }

    fn shared_teams_memo(&self) -> Memo {
        Memo::of_shared_teams(&self.root, &self.state, self.times)
    }
}

impl Machines<'_> {
    /// Writes down which teams are shared from now on, also while no bridge runs.
    pub fn set_shared_teams(&self, machine: &MachineName, teams: &[TeamName]) -> Result<(), OfficeError> {
        let shared = SharedTeams { machine: machine.clone(), teams: teams.to_vec() };
        let text = serde_json::to_string(&shared).unwrap_or_default();
        self.office.shared_teams_memo().update(|_| Ok((Some(text), ())))
    }

    /// The teams that are written down as shared.
    pub fn shared_teams(&self) -> Result<Vec<TeamName>, OfficeError> {
        let text = self.office.shared_teams_memo().read()?;
        let shared: Option<SharedTeams> = text.and_then(|text| serde_json::from_str(&text).ok());
        Ok(shared.map(|shared| shared.teams).unwrap_or_default())
    }

    /// A team is this machine's own again. Says whether it was shared.
    pub fn unshare_tasks(&self, team: &TeamName) -> Result<bool, OfficeError> {
        let memo = self.office.shared_teams_memo();
        memo.update(|text| {
            let Some(mut shared) = text.and_then(|text| serde_json::from_str::<SharedTeams>(text).ok())
            else {
                return Ok((None, false));
            };
            let before = shared.teams.len();
            shared.teams.retain(|other| other != team);
            let is_gone = shared.teams.len() < before;
            Ok((Some(serde_json::to_string(&shared).unwrap_or_default()), is_gone))
        })
    }

    /// Where the bridge is asked about tasks.
    pub fn tasks_socket(&self) -> PathBuf {
        self.office.state.bridge().join("tasks.socket")
    }

    /// What the root of this office is called in what is asked.
    pub fn root(&self) -> String {
        self.office.root_key()
    }
}

impl Tasks<'_> {
    /// The machine's name, if the team's tasks are shared and this one is on other machines, too.
    pub(super) fn sharing(&self, task: Option<&Task>) -> Result<Option<MachineName>, OfficeError> {
        let machine = self.team.office().shares(self.team.name())?;
        // The mark of another machine says nothing here.
        let is_own = |task: &Task, machine: &MachineName| task.made_on().as_deref() == Some(machine.as_str());
        Ok(machine.filter(|machine| task.is_none_or(|task| !is_own(task, machine))))
    }

    /// Claims or keeps a task of a shared team.
    pub(super) fn claim_shared(
        &self,
        who: &MemberName,
        id: TaskId,
        lease: Duration,
        renews: bool,
    ) -> Result<(), OfficeError> {
        self.team.check_here(who, "its tasks are claimed there")?;
        if lease > LONGEST_SHARED_LEASE {
            return Err(TaskError::LongLease { most: LONGEST_SHARED_LEASE }.into());
        }
        let (root, team) = (self.team.office().root_key(), self.team.name().clone());
        let seconds = lease.as_secs_f64();
        let ask = Ask::Claim { root, team: team.clone(), id, who: who.clone(), seconds, renews };
        Err(match self.ask_bridge(&ask) {
            Answer::Granted => return Ok(()),
            Answer::Held { owner, until } => TaskError::Held { id, owner, until },
            Answer::NotHeld => TaskError::NotHeld { id, who: who.to_string() },
            Answer::Completed => TaskError::Completed { id },
            Answer::NoTask => TaskError::NoTask { team, id },
            Answer::NotYet { until } => TaskError::NotYet { id, until },
            Answer::Away { why } => TaskError::Away { team, why },
            Answer::Unsure { why } => TaskError::Unsure { team, why },
            Answer::Number { .. } | Answer::Done | Answer::Stale => {
                TaskError::Unsure { team, why: "the bridge answered something else".into() }
            }
        }
        .into())
    }

    /// A number that no other machine gives; `None` if none can be had now.
    pub(super) fn shared_number(&self) -> Option<TaskId> {
        let (root, team) = (self.team.office().root_key(), self.team.name().clone());
        match self.ask_bridge(&Ask::Number { root, team }) {
            Answer::Number { id } => Some(id),
            _ => None,
        }
    }

    pub(super) fn ask_bridge(&self, ask: &Ask) -> Answer {
        let office = self.team.office();
        if !Serving::is_taken(&office.state) {
            return Answer::Away { why: "no bridge runs here".to_owned() };
        }
        let why = "the bridge does not answer".to_owned();
        match socket::connect(&office.machines().tasks_socket()) {
            Err(_) => Answer::Away { why },
            Ok(stream) => call(stream, ask).unwrap_or(Answer::Unsure { why }),
        }
    }
}

fn call(mut stream: UnixStream, ask: &Ask) -> std::io::Result<Answer> {
    stream.set_read_timeout(Some(BRIDGE_PATIENCE))?;
    stream.set_write_timeout(Some(BRIDGE_PATIENCE))?;
    stream.write_all((serde_json::to_string(ask)? + "\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(Read::take(stream, LONGEST_LINE)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_answered_comes_back_as_it_was() {
        let (root, team, id) = ("/r".to_owned(), "alpha".parse::<TeamName>().unwrap(), "7".parse().unwrap());
        let who = "ann".parse().unwrap();
        let seen = Hold { owner: Some("ann".to_owned()), status: "in_progress".to_owned() };
        let edits = vec![
            Edit::Owner(None),
            Edit::Status("completed".to_owned()),
            Edit::Set("hours".to_owned(), "1E2".to_owned()),
            Edit::Forget("claimed_at".to_owned()),
        ];
        let asks = [
            Ask::Claim { root: root.clone(), team: team.clone(), id, who, seconds: 300.0, renews: false },
            Ask::Number { root: root.clone(), team: team.clone() },
            Ask::Change {
                root: root.clone(),
                team: team.clone(),
                id,
                seen: seen.clone(),
                edits: Some(edits),
            },
            Ask::Change { root, team, id, seen, edits: None },
        ];
        for ask in asks {
            let line = serde_json::to_string(&ask).unwrap();
            assert_eq!(serde_json::from_str::<Ask>(&line).unwrap(), ask, "{line}");
        }
        let until = Stamp::from_millis(1_800_000_000_000);
        let answers = [
            Answer::Granted,
            Answer::Done,
            Answer::Stale,
            Answer::Number { id },
            Answer::Held { owner: "bob".to_owned(), until: Some(until) },
            Answer::Held { owner: "bob".to_owned(), until: None },
            Answer::NotHeld,
            Answer::Completed,
            Answer::NoTask,
            Answer::NotYet { until },
            Answer::Away { why: "x".to_owned() },
            Answer::Unsure { why: "x".to_owned() },
        ];
        for answer in answers {
            let line = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Answer>(&line).unwrap(), answer, "{line}");
        }
    }
}
