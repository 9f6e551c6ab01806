//! Changes of who has a task, how far it is, or until when. Of a task that other machines have, too, the bridge makes them
//! in what all machines have in common, so that the answer is true; where it cannot, own work is completed or given back as a
//! request, and the answer says so.

use atm_wire::task::{Change, Field, Status, Task, TaskId, edit};

use super::edit::Edit;
use super::shared::{Answer, Ask, Hold};
use super::view::holder;
use super::{Outcome, TaskError, Tasks};
use crate::error::OfficeError;

/// How often a change is decided anew because the task had changed meanwhile.
const ATTEMPTS: usize = 4;

/// A task after a change.
#[derive(Debug)]
pub(super) struct Changed {
    /// The task as the file here has it.
    pub(super) task: Task,
    /// Why the change is a request so far; none if all machines have it.
    pub(super) waits: Option<String>,
}

/// What the bridge made of a change.
enum Asked {
    Done,
    /// The file shows something else now.
    Stale,
    /// It was not made, and why.
    Away(TaskError, String),
}

impl Tasks<'_> {
    /// Looks at a task and changes it in one step, for all machines that have it, unless `decide` refuses. `decide` may be
    /// asked several times; the last time is the one that counts.
    pub(super) fn change_hold(
        &self,
        id: TaskId,
        mut decide: impl FnMut(&Task) -> Result<Vec<Change>, OfficeError>,
    ) -> Result<Changed, OfficeError> {
        for _ in 0..ATTEMPTS {
            let task = self.folder.load(id)?.ok_or_else(|| self.no_task(id))?;
            if self.sharing(Some(&task))?.is_none() {
                match self.update_own(id, &mut decide)? {
                    Some(task) => return Ok(Changed { task, waits: None }),
                    None => continue,
                }
            }
            let decided = decide(&task);
            let changes = decided.as_ref().map_or(&[][..], Vec::as_slice);
            let is_hold = changes.iter().any(|change| change.field() == Field::Hold);
            if decided.is_ok() && !is_hold {
                return Ok(Changed { task: self.update(id, decide)?, waits: None });
            }
            // What is refused by what the file says is asked, too: the file may be behind.
            let edits = changes.iter().filter_map(Edit::of).collect();
            let asked = self.ask_change(id, &task, Some(edits))?;
            let changes = match (decided, &asked) {
                (_, Asked::Stale) => continue,
                (Err(refused), _) => return Err(self.name_holder(id, &task, refused)),
                (Ok(changes), _) => changes,
            };
            let Asked::Away(error, why) = asked else {
                let task = self.folder.load(id)?.ok_or_else(|| self.no_task(id))?;
                return Ok(Changed { task, waits: None });
            };
            if !self.may_wait(&task, &changes) {
                return Err(error.into());
            }
            let task = self.update(id, |task| {
                let changes = decide(task)?;
                if self.may_wait(task, &changes) { Ok(changes) } else { Err(error.clone().into()) }
            })?;
            return Ok(Changed { task, waits: Some(why) });
        }
        Err(self.contended().into())
    }

    /// Deletes a task, for all machines that have it, unless `judge` refuses.
    pub(super) fn delete_everywhere(
        &self,
        id: TaskId,
        judge: impl Fn(&Task) -> Result<(), OfficeError>,
    ) -> Result<(), OfficeError> {
        for _ in 0..ATTEMPTS {
            let task = self.folder.load(id)?.ok_or_else(|| self.no_task(id))?;
            if self.sharing(Some(&task))?.is_none() {
                let deleted = self.folder.delete(id, |task| {
                    let is_own = self.sharing(Some(task)).map_err(Some)?.is_none();
                    if is_own { judge(task).map_err(Some) } else { Err(None) }
                })?;
                match deleted.ok_or_else(|| self.no_task(id))? {
                    Ok(_) => return Ok(()),
                    Err(Some(refused)) => return Err(refused),
                    Err(None) => continue,
                }
            }
            let judged = judge(&task);
            let edits = judged.is_err().then(Vec::new);
            match (judged, self.ask_change(id, &task, edits)?) {
                (_, Asked::Stale) => {}
                (Err(refused), _) => return Err(self.name_holder(id, &task, refused)),
                (Ok(()), Asked::Done) => return Ok(()),
                (Ok(()), Asked::Away(error, _)) => return Err(error.into()),
            }
        }
        Err(self.contended().into())
    }

    /// Says of a change that it is a request so far.
    pub(super) fn note_request(&self, changed: &Changed, outcome: &mut Outcome) {
        let Some(why) = &changed.waits else { return };
        outcome.requested = true;
        outcome.warnings.push(format!(
            "this is a request: {why}, so the other machines of {} do not know of it. It is settled when they can be reached; \
             if another one has the task then, it is set back here, and its owner gets a message",
            self.team.name()
        ));
    }

    /// Says of a new owner at home on another machine that this one decides.
    pub(super) fn note_home(&self, owner: &str, outcome: &mut Outcome) {
        if let Some(machine) = self.team.config().machine_of(owner) {
            outcome.warnings.push(format!(
                "{owner} is at home on {machine}: the task is set back unless {machine} trusts this machine as lead"
            ));
        }
    }

    /// Changes a task that only this machine has; `None` if the others have it by now.
    fn update_own(
        &self,
        id: TaskId,
        mut decide: impl FnMut(&Task) -> Result<Vec<Change>, OfficeError>,
    ) -> Result<Option<Task>, OfficeError> {
        let mut is_own = true;
        let task = self.update(id, |task| {
            // Asked under the file's lock: the team may be shared since.
            is_own = self.sharing(Some(task))?.is_none();
            if is_own { decide(task) } else { Ok(Vec::new()) }
        })?;
        Ok(is_own.then_some(task))
    }

    fn ask_change(&self, id: TaskId, task: &Task, edits: Option<Vec<Edit>>) -> Result<Asked, OfficeError> {
        let (root, team) = (self.team.office().root_key(), self.team.name().clone());
        let ask = Ask::Change { root, team: team.clone(), id, seen: Hold::of(task), edits };
        Err(match self.ask_bridge(&ask) {
            Answer::Done => return Ok(Asked::Done),
            Answer::Stale => return Ok(Asked::Stale),
            Answer::Away { why } => {
                return Ok(Asked::Away(TaskError::Away { team, why: why.clone() }, why));
            }
            Answer::Unsure { why } => {
                return Ok(Asked::Away(TaskError::Unsure { team, why: why.clone() }, why));
            }
            Answer::Held { owner, until } => TaskError::Held { id, owner, until },
            Answer::NotYet { until } => TaskError::NotYet { id, until },
            Answer::NoTask => TaskError::NoTask { team, id },
            Answer::Completed => TaskError::Completed { id },
            Answer::Granted | Answer::NotHeld | Answer::Number { .. } => {
                TaskError::Unsure { team, why: "the bridge answered something else".into() }
            }
        }
        .into())
    }

    /// Whether a change may wait in the file while nobody can be asked: who is at home here completes its own work, or gives it
    /// back. That takes the task from nobody.
    fn may_wait(&self, task: &Task, changes: &[Change]) -> bool {
        let Some(after) = edit(task.raw(), changes).ok().and_then(|text| Task::parse(&text).ok()) else {
            return false;
        };
        let is_here = |owner: &str| self.team.config().machine_of(owner).is_none();
        let is_done = after.status == Status::Completed;
        let completes = is_done && task.owner.is_some() && after.owner == task.owner;
        let gives_back = !is_done && task.status != Status::Completed && after.owner.is_none();
        (completes || gives_back) && task.owner.as_deref().is_none_or(is_here)
    }

    /// A refusal with who has the task, and until when.
    fn name_holder(&self, id: TaskId, task: &Task, refused: OfficeError) -> OfficeError {
        match (&refused, holder(task, self.now())) {
            (OfficeError::NotYours { .. }, Some((owner, until))) if task.status != Status::Completed => {
                TaskError::Held { id, owner: owner.to_owned(), until }.into()
            }
            _ => refused,
        }
    }

    fn contended(&self) -> TaskError {
        let why = "others change the same task at the same time".to_owned();
        TaskError::Away { team: self.team.name().clone(), why }
    }
}
