//! What changes about tasks, as events of the log: by us at once, by others when a look finds their files changed.

use std::collections::{HashMap, HashSet};

use atm_ledger::{Evidence, KnownTasks, Recording, TaskChange, TaskLook};
use atm_store::TaskFolder;
use atm_store::tasks::TaskListing;
use atm_wire::task::{Task, TaskId};
use atm_wire::{MemberName, TeamName};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Tasks;
use crate::error::OfficeError;
use crate::office::Office;

/// How often a look is made again that others were quicker than. What is left is for the next look.
const ATTEMPTS: usize = 4;

/// What the log keeps of a task: all that others ask about. Its names are part of the format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskState {
    /// The title.
    pub subject: String,
    /// How far it is.
    pub status: String,
    /// Who does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The tasks that wait for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<String>,
    /// The tasks that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    /// Stands for what is to be done: another one means that the text was changed.
    pub text: String,
}

impl TaskState {
    fn of(task: &Task) -> Self {
        let text = format!("{}\n{}", task.active_form.as_deref().unwrap_or_default(), task.description);
        let text = Uuid::new_v5(&Uuid::NAMESPACE_URL, text.as_bytes()).simple().to_string();
        Self {
            subject: task.subject.clone(),
            status: task.status.to_string(),
            owner: task.owner.clone(),
            blocks: task.blocks.clone(),
            blocked_by: task.blocked_by.clone(),
            text: text.chars().take(12).collect(),
        }
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_json(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The names of what is different.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let rows = [
            ("subject", self.subject != other.subject),
            ("status", self.status != other.status),
            ("owner", self.owner != other.owner),
            ("blocks", self.blocks != other.blocks),
            ("blockedBy", self.blocked_by != other.blocked_by),
            ("text", self.text != other.text),
        ];
        rows.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

/// What is different between what is on record and what is in the files, by task; a pure function.
fn compare(known: &KnownTasks, listing: &TaskListing) -> Vec<TaskChange> {
    let mut there: HashMap<String, String> =
        listing.tasks.iter().map(|(id, task)| (id.to_string(), TaskState::of(task).to_json())).collect();
    // What cannot be read now is not gone.
    let unreadable: HashSet<String> = listing.skipped.iter().map(|skipped| skipped.id.to_string()).collect();
    let mut changes = Vec::new();
    for (task, was) in &known.states {
        let now = there.remove(task);
        if now.as_ref() != Some(was) && !unreadable.contains(task) {
            changes.push(TaskChange { task: task.clone(), was: Some(was.clone()), now });
        }
    }
    changes.extend(there.into_iter().map(|(task, now)| TaskChange { task, was: None, now: Some(now) }));
    changes.sort_by_key(|change| (change.task.len(), change.task.clone()));
    changes
}

impl Office {
    /// Records what changed about a team's tasks since the last look.
    pub(crate) fn look_at_tasks(&self, team: &TeamName) -> Result<(), OfficeError> {
        let folder = TaskFolder::new(&self.root, team, &self.state, self.times);
        let root = self.root_key();
        for _ in 0..ATTEMPTS {
            let signature = folder.signature()?;
            let known = self.books.with(|ledger| ledger.tasks_signature(&root, team.as_str()))?;
            let now = signature.as_ref().map_or("", |signature| signature.text.as_str());
            if known.as_deref().unwrap_or_default() == now {
                return Ok(());
            }
            let known = self.books.with(|ledger| ledger.known_tasks(&root, team.as_str()))?;
            let changes = compare(&known, &folder.list()?);
            let changes: Vec<_> = changes.into_iter().map(|change| self.found(&folder, change)).collect();
            // A file that was written while it was read is read again.
            let is_settled = signature.as_ref().is_none_or(|signature| signature.is_settled)
                && folder.signature()? == signature;
            if changes.is_empty() && !is_settled {
                return Ok(());
            }
            let look = TaskLook {
                known: known.signature.as_deref(),
                changes: &changes,
                signature: is_settled.then_some(now),
            };
            if self.books.with(|ledger| ledger.record_tasks(&root, team.as_str(), &look))? == Recording::Done
            {
                break;
            }
        }
        Ok(())
    }

    /// When a change happened, as far as a task's file shows it.
    fn found(&self, folder: &TaskFolder, change: TaskChange) -> (TaskChange, i64, Evidence) {
        let now = self.now().as_millis();
        let id = TaskId::parse(&change.task).ok();
        let file = folder.path().join(format!("{}.json", change.task));
        let written = id.and_then(|id| folder.changed_at(id)).map(|at| at.min(now));
        let (at, evidence) = match (&change.was, written) {
            (Some(_), Some(at)) => (at, Evidence::certain("the task's file was written")),
            (None, Some(at)) => (at, Evidence::certain("found in the task's file").no_later_than()),
            (_, None) => (now, Evidence::certain("the task's file is gone").no_later_than()),
        };
        (change, at, evidence.in_file(&file))
    }
}

impl Tasks<'_> {
    /// Records what we did to a task. Where that cannot be done now, or there is no ledger yet, the next look finds it.
    pub(super) fn record(&self, who: Option<&MemberName>, id: TaskId) {
        if self.team.office().books.exist() {
            let _ = self.try_record(who, id);
        }
    }

    fn try_record(&self, who: Option<&MemberName>, id: TaskId) -> Result<(), OfficeError> {
        let (root, team) = (self.team.office().root_key(), self.team.name().as_str());
        let evidence = Evidence::certain("changed by atm");
        let evidence = who.map_or(evidence.clone(), |who| evidence.by(who.as_str()));
        for _ in 0..ATTEMPTS {
            let known = self.team.office().books.with(|ledger| ledger.known_tasks(&root, team))?;
            let now = self.folder.load(id)?.map(|task| TaskState::of(&task).to_json());
            let was = known.states.get(&id.to_string()).cloned();
            if was == now {
                break;
            }
            let change = TaskChange { task: id.to_string(), was, now };
            let changes = [(change, self.now().as_millis(), evidence.clone())];
            let look = TaskLook { known: known.signature.as_deref(), changes: &changes, signature: None };
            let recording =
                self.team.office().books.with(|ledger| ledger.record_tasks(&root, team, &look))?;
            if recording == Recording::Done {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_a_change_and_what_cannot_be_read_is_not_gone() {
        let id = |number: &str| TaskId::parse(number).unwrap();
        let state = |subject: &str| TaskState::of(&Task::new("1", subject, "")).to_json();
        let known = KnownTasks {
            signature: None,
            states: [("1", "same"), ("2", "old"), ("3", "gone"), ("4", "broken")]
                .map(|(task, subject)| (task.to_owned(), state(subject)))
                .into(),
        };
        let task = |number: &str, subject: &str| (id(number), Task::new(number, subject, ""));
        let error = atm_store::StoreError::BadContent { path: "4.json".into(), why: "is torn".into() };
        let listing = TaskListing {
            tasks: vec![task("1", "same"), task("2", "new"), task("10", "made")],
            skipped: vec![atm_store::tasks::Skipped { id: id("4"), error }],
        };
        let changes = compare(&known, &listing);
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.task.as_str(), change.was.is_some(), change.now.is_some()))
            .collect();
        assert_eq!(told, [("2", true, true), ("3", true, false), ("10", false, true)]);
    }
}
