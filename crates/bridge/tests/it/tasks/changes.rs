//! Members that give back, complete, give away and delete tasks: by writing files, and by asking the bridge.

use std::rc::Rc;

use atm_bridge::protocol::tasks::change::Wanted;
use atm_office::tasks::shared::Answer;
use atm_wire::task::{CLAIM_EXPIRY, CLAIMED_AT, Change, Status, Task, TaskId, edit};

use super::disk::TEAM;
use super::movers::called;
use super::world::World;

impl World {
    pub(super) fn release_or_complete_natively(&mut self, place: usize) {
        let Some((id, text, task, _)) = self.own(place) else { return };
        let text = edit(&text, &self.any_change(&task)).unwrap();
        self.nodes[place].disk.borrow_mut().files.insert(id, text);
        self.trace(&task.subject, "release or complete");
        self.end(place, &task.subject);
    }

    fn any_change(&self, task: &Task) -> Vec<Change> {
        let mut changes = vec![Change::forget(CLAIMED_AT), Change::forget(CLAIM_EXPIRY)];
        changes.extend(match self.below(5) {
            0 | 1 => vec![Change::Status(Status::Completed)],
            2 | 3 => vec![Change::Owner(None), Change::Status(Status::Pending)],
            _ => vec![Change::Owner(task.owner.clone()), Change::Status(Status::Pending)],
        });
        changes
    }

    /// Somebody asks for a change of any task, its own or not. What is answered as done is so at that moment, in the bucket
    /// and in the file, and took nothing from a member of another machine that holds it.
    pub(super) fn ask_for_a_change(&mut self, place: usize) {
        let Some((id, text)) = self.any_task(place) else { return };
        let task = Task::parse(&text).unwrap();
        if task.made_on().is_some() {
            return;
        }
        let changes = if self.happens(8) { None } else { Some(self.any_change(&task)) };
        let wanted = Wanted { owner: task.owner.as_deref(), status: task.status.clone(), changes };
        self.trace(&task.subject, &format!("{} asks for {wanted:?}", self.nodes[place].name));
        let Some(bridge) = self.bridge(place) else { return };
        let answer = bridge.change(TEAM, id, &wanted);
        match answer {
            Ok(Answer::Done) => {}
            Ok(Answer::Held { .. }) => return self.refused += 1,
            Ok(Answer::Unsure { .. }) => {
                // It may be so or not: who holds it by the word of this machine may not any more.
                self.end(place, &task.subject);
                if wanted.changes.is_none() {
                    self.deleted.insert(task.subject);
                }
                return;
            }
            _ => return,
        }
        self.hear_of_rivals();
        self.changed += 1;
        self.check_done(place, id, &wanted);
        let now = self.millis();
        let other = self
            .grants
            .iter()
            .find(|grant| grant.task == task.subject && grant.until > now && !self.is_at(place, &grant.who));
        let is_hold = wanted.changes.is_none()
            || self.shown(place, id).is_some_and(|after| {
                (after.owner.as_deref(), &after.status) != (task.owner.as_deref(), &task.status)
            });
        assert!(other.is_none() || !is_hold, "{wanted:?} of {} took it from {other:?}", task.subject);
        self.end(place, &task.subject);
        if wanted.changes.is_none() {
            self.deleted.insert(task.subject);
        }
    }

    fn shown(&self, place: usize, id: TaskId) -> Option<Task> {
        let disk = Rc::clone(&self.nodes[place].disk);
        let text = disk.borrow().files.get(&id).cloned();
        text.map(|text| Task::parse(&text).unwrap())
    }

    fn check_done(&self, place: usize, id: TaskId, wanted: &Wanted<'_>) {
        let server = self.server.borrow();
        let node = &self.nodes[place];
        let there = server.entries.get(&id).and_then(|entry| {
            let value = entry.value.as_ref()?;
            let owner = value.owner.as_ref().map(|owner| {
                let disk = node.disk.borrow();
                called(&disk, &node.name, &owner.at_home(disk.homes.get(&owner.name)))
            });
            let mut task = value.task()?;
            task.owner = owner;
            Some(task)
        });
        for (what, task) in [("the bucket", there), ("the file", self.shown(place, id))] {
            let Some(changes) = &wanted.changes else {
                assert!(task.is_none(), "{what} has task {id}, which was deleted");
                continue;
            };
            let task = task.unwrap_or_else(|| panic!("{what} has no task {id}"));
            for change in changes {
                match change {
                    Change::Owner(owner) => assert_eq!(task.owner, *owner, "{what}"),
                    Change::Status(status) => assert_eq!(task.status, *status, "{what}"),
                    _ => {}
                }
            }
        }
    }
}
