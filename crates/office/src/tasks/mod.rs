//! Tasks: the shared list, who does what, and what waits for what.

mod ask;
mod block;
mod change;
mod claim;
mod complete;
mod create;
mod edit;
pub mod error;
pub mod graph;
mod hold;
mod record;
pub mod shared;
pub mod view;

use atm_store::TaskFolder;
use atm_store::tasks::{Decision, TaskListing};
use atm_wire::payload::Payload;
use atm_wire::status::{News, State};
use atm_wire::task::{Status, Task, TaskId};
use atm_wire::{MemberName, Stamp, TeamName};

pub use ask::Progress;
pub use block::Unblock;
pub use change::TaskChange;
pub use claim::claimed;
pub use complete::Completion;
pub use create::TaskPlan;
pub use edit::Edit;
pub use error::TaskError;
pub use graph::Graph;
pub use record::TaskState;
pub use view::{LeaseView, Outcome, TaskView};

use crate::error::OfficeError;
use crate::office::{Office, USER};
use crate::team::Team;

/// The tasks of one team.
#[derive(Debug)]
pub struct Tasks<'a> {
    team: Team<'a>,
    folder: TaskFolder,
}

/// Which tasks are wanted.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only those that are as far as this.
    pub status: Option<Status>,
    /// Only those of this owner.
    pub owner: Option<String>,
    /// Only those that wait for others, or only those that do not.
    pub blocked: Option<bool>,
    /// Only those that anybody could claim now.
    pub ready: bool,
}

impl TaskFilter {
    fn fits(&self, task: &TaskView) -> bool {
        self.status.as_ref().is_none_or(|status| task.status == *status)
            && self.owner.as_ref().is_none_or(|owner| task.owner.as_ref() == Some(owner))
            && self.blocked.is_none_or(|blocked| is_blocked(task) == blocked)
            && (!self.ready || task.ready)
    }
}

fn is_blocked(task: &TaskView) -> bool {
    task.status != Status::Completed && !task.waits_for.is_empty()
}

/// Tasks, and what could not be read.
#[derive(Debug)]
pub struct TaskViews {
    /// The tasks, by their number.
    pub tasks: Vec<TaskView>,
    /// The files that could not be read.
    pub warnings: Vec<String>,
}

impl Office {
    /// The tasks of a team.
    pub fn tasks(&self, team: &TeamName) -> Result<Tasks<'_>, OfficeError> {
        Ok(self.team(team)?.tasks())
    }
}

impl<'a> Team<'a> {
    /// Its tasks.
    pub fn tasks(&self) -> Tasks<'a> {
        let office = self.office();
        let folder = TaskFolder::new(&office.root, self.name(), &office.state, office.times);
        Tasks { team: self.again(), folder }
    }
}

impl Tasks<'_> {
    /// The tasks that are wanted.
    pub fn list(&self, filter: &TaskFilter) -> Result<TaskViews, OfficeError> {
        let listing = self.folder.list()?;
        let (graph, now) = (Graph::new(&listing), self.team.office().now());
        let all = listing.tasks.iter().map(|(id, task)| TaskView::new(*id, task, &graph, now));
        Ok(TaskViews {
            tasks: all.filter(|task| filter.fits(task)).collect(),
            warnings: listing.skipped.iter().map(|skipped| skipped.error.to_string()).collect(),
        })
    }

    /// One task.
    pub fn get(&self, id: TaskId) -> Result<TaskView, OfficeError> {
        self.view(id, &self.folder.list()?)
    }

    fn view(&self, id: TaskId, listing: &TaskListing) -> Result<TaskView, OfficeError> {
        let task = self.find(id, listing)?;
        Ok(TaskView::new(id, task, &Graph::new(listing), self.team.office().now()))
    }

    fn find<'l>(&self, id: TaskId, listing: &'l TaskListing) -> Result<&'l Task, OfficeError> {
        if let Some((_, task)) = listing.tasks.iter().find(|(found, _)| *found == id) {
            return Ok(task);
        }
        match listing.skipped.iter().find(|skipped| skipped.id == id) {
            Some(skipped) => Err(skipped.error.clone().into()),
            None => Err(self.no_task(id)),
        }
    }

    fn no_task(&self, id: TaskId) -> OfficeError {
        TaskError::NoTask { team: self.team.name().clone(), id }.into()
    }

    /// Looks at a task and changes it in one step, unless `decide` refuses.
    fn update(
        &self,
        id: TaskId,
        mut decide: impl FnMut(&Task) -> Result<Vec<atm_wire::task::Change>, OfficeError>,
    ) -> Result<Task, OfficeError> {
        let updated = self.folder.update(id, |task| match decide(task) {
            Ok(changes) => Decision::Change(changes, Ok(())),
            Err(refused) => Decision::Keep(Err(refused)),
        })?;
        let (task, answer) = updated.ok_or_else(|| self.no_task(id))?;
        answer.map(|()| task)
    }

    /// Refuses what only a task's owner, the lead, or the person at the keyboard may do.
    fn may_decide(&self, who: &MemberName, id: TaskId, task: &Task) -> Result<(), OfficeError> {
        let decides = who.as_str() == USER || self.team.is_led_by(who);
        match task.owner.as_deref() {
            Some(owner) if owner != who.as_str() && !decides => {
                let why = format!("task {id} is {owner}'s; only {owner} or the lead may do that");
                Err(OfficeError::NotYours { who: who.to_string(), why })
            }
            _ => Ok(()),
        }
    }

    /// The lead, if there is one and it is not `who`.
    fn lead_beside(&self, who: &MemberName) -> Option<MemberName> {
        self.team.lead().ok().filter(|lead| *lead != who).cloned()
    }

    /// Tells somebody about a task. The task is changed already, so what goes wrong here is told, not raised.
    fn tell(
        &self,
        from: &MemberName,
        to: Option<MemberName>,
        about: impl Into<Payload>,
        outcome: &mut Outcome,
    ) {
        let Some(to) = to else { return };
        match self.team.send_payload(from, to.clone(), about) {
            Ok(sent) => outcome.sent = Some(sent),
            Err(error) => {
                outcome.warnings.push(format!("the task is changed, but {to} was not told: {error}"));
            }
        }
    }

    /// Keeps the report of who works on a task current. A person has none.
    fn report(&self, who: &MemberName, state: State, outcome: &mut Outcome) {
        if who.as_str() == USER {
            return;
        }
        let agent_id = format!("{who}@{}", self.team.name());
        let tasks = u64::from(state == State::Complete);
        let news = News {
            agent_id: &agent_id,
            state,
            at: self.now(),
            detail: None,
            tokens: 0,
            tasks,
            response: None,
        };
        match self.team.report(who, &news) {
            // An owner who has left the team reports nothing.
            Ok(_) | Err(OfficeError::NoMember { .. }) => {}
            Err(error) => {
                outcome.warnings.push(format!("the task is changed, but {who}'s report is not: {error}"));
            }
        }
    }

    fn outcome(&self, id: TaskId) -> Result<Outcome, OfficeError> {
        let task = self.get(id)?;
        Ok(Outcome { task, requested: false, sent: None, unblocked: Vec::new(), warnings: Vec::new() })
    }

    fn now(&self) -> Stamp {
        self.team.office().now()
    }
}
