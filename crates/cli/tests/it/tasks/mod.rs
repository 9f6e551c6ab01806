//! Tasks and artifacts through the real binary.

mod artifacts;
mod claims;
mod crashes;
mod list;
mod messages;
mod refusals;

use std::fs;
use std::path::PathBuf;

use atm_wire::task::TaskId;
use serde_json::Value;

use crate::scene::World;

impl World {
    /// The task folder of the team `dev`.
    pub(super) fn tasks(&self) -> PathBuf {
        self.root().join("tasks/dev")
    }

    /// A task's file, which must parse.
    pub(super) fn task(&self, id: &str) -> Value {
        let text = fs::read_to_string(self.tasks().join(format!("{id}.json"))).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What lies in the task folder that is neither a task nor what clients keep there.
    pub(super) fn task_litter(&self) -> Vec<String> {
        let names = fs::read_dir(self.tasks()).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        let is_task = |name: &str| TaskId::counted(name).is_some();
        names.filter(|name| ![".lock", ".highwatermark"].contains(&name.as_str()) && !is_task(name)).collect()
    }
}

/// A team with these tasks, made by our own commands.
pub(super) fn with_tasks(subjects: &[&str]) -> World {
    let world = World::with_team();
    for subject in subjects {
        world.ok(&["task", "create", subject]);
    }
    world
}
