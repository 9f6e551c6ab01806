//! A team with a lead and two members, and its tasks.

use std::fs;

use atm_office::clock::FixedClock;
use atm_office::tasks::{TaskFilter, TaskPlan, Tasks};
use atm_office::{ErrorKind, Office, OfficeError};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::task::TaskId;
use atm_wire::{MemberName, Stamp};
use serde_json::Value;

pub(crate) struct World {
    pub(crate) team: TestTeam,
    pub(crate) office: Office,
}

impl World {
    pub(crate) fn new() -> Self {
        let team = TestEnv::new().team("demo", Layout::Array, &["team-lead", "alice", "bob"]);
        let office = Office::new(team.env().store_root(), team.env().store_state());
        Self { office: office.with_clock(FixedClock(at(0))), team }
    }

    /// The same world some seconds later.
    pub(crate) fn later(&self, seconds: i64) -> Self {
        Self { team: self.team.clone(), office: self.office.clone().with_clock(FixedClock(at(seconds))) }
    }

    pub(crate) fn tasks(&self) -> Tasks<'_> {
        self.office.tasks(self.team.name()).unwrap()
    }

    pub(crate) fn make(&self, subject: &str) -> TaskId {
        self.tasks().create(&who("user"), &plan(subject)).unwrap().task.id
    }

    pub(crate) fn text(&self, id: TaskId) -> String {
        fs::read_to_string(self.team.task_folder().join(format!("{id}.json"))).unwrap()
    }

    /// The payloads in an inbox.
    pub(crate) fn payloads(&self, name: &str) -> Vec<Value> {
        if !self.team.inbox(name).exists() {
            return Vec::new();
        }
        self.team.texts(name).iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

pub(crate) fn at(seconds: i64) -> Stamp {
    Stamp::from_millis(1_794_768_000_000 + seconds * 1_000)
}

pub(crate) fn who(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}

pub(crate) fn id(number: u8) -> TaskId {
    TaskId::parse(&number.to_string()).unwrap()
}

pub(crate) fn plan(subject: &str) -> TaskPlan {
    TaskPlan { subject: subject.to_owned(), description: format!("All of {subject}"), ..TaskPlan::default() }
}

pub(crate) fn ids(tasks: &Tasks, filter: &TaskFilter) -> Vec<TaskId> {
    tasks.list(filter).unwrap().tasks.iter().map(|task| task.id).collect()
}

#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, OfficeError>, kind: ErrorKind, message: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
}
