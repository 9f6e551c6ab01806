//! Which task waits for which.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use atm_store::tasks::TaskListing;
use atm_wire::task::{Status, TaskId};

/// The links between the tasks of a team. A link counts if either end tells of it.
#[derive(Debug, Default)]
pub struct Graph {
    waits: BTreeMap<TaskId, BTreeSet<TaskId>>,
    open: BTreeSet<TaskId>,
}

impl Graph {
    /// The links that a listing tells of.
    pub fn new(listing: &TaskListing) -> Self {
        let mut graph = Self::default();
        let ids = |texts: &[String]| -> Vec<TaskId> {
            texts.iter().filter_map(|text| TaskId::parse(text).ok()).collect()
        };
        for (id, task) in &listing.tasks {
            for before in ids(&task.blocked_by) {
                graph.link(*id, before);
            }
            for after in ids(&task.blocks) {
                graph.link(after, *id);
            }
            if task.status != Status::Completed {
                graph.open.insert(*id);
            }
        }
        // What cannot be read may not be done.
        graph.open.extend(listing.skipped.iter().map(|skipped| skipped.id));
        graph
    }

    /// Says that `after` waits for `before`.
    pub fn link(&mut self, after: TaskId, before: TaskId) {
        self.waits.entry(after).or_default().insert(before);
    }

    /// All that a task waits for, done or not.
    pub fn before(&self, id: TaskId) -> Vec<TaskId> {
        self.waits.get(&id).into_iter().flatten().copied().collect()
    }

    /// All that wait for a task.
    pub fn after(&self, id: TaskId) -> Vec<TaskId> {
        self.waits.iter().filter(|(_, before)| before.contains(&id)).map(|(after, _)| *after).collect()
    }

    /// What a task waits for that is not done. One that is gone counts as done.
    pub fn blockers(&self, id: TaskId) -> Vec<TaskId> {
        self.before(id).into_iter().filter(|before| self.open.contains(before)).collect()
    }

    /// What can begin once `id` is done.
    pub fn freed_by(&self, id: TaskId) -> Vec<TaskId> {
        self.after(id)
            .into_iter()
            .filter(|after| self.open.contains(after))
            .filter(|after| self.blockers(*after).iter().all(|before| *before == id))
            .collect()
    }

    /// A way from `from` to `to` along what waits for what, both ends included.
    pub fn path(&self, from: TaskId, to: TaskId) -> Option<Vec<TaskId>> {
        let mut came_from: BTreeMap<TaskId, Option<TaskId>> = BTreeMap::from([(from, None)]);
        let mut next = VecDeque::from([from]);
        while let Some(here) = next.pop_front() {
            if here == to {
                let mut path = vec![to];
                while let Some(Some(before)) = path.last().and_then(|last| came_from.get(last)) {
                    path.push(*before);
                }
                path.reverse();
                return Some(path);
            }
            for there in self.before(here) {
                came_from.entry(there).or_insert_with(|| {
                    next.push_back(there);
                    Some(here)
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use atm_wire::task::Task;

    use super::*;

    fn id(number: u8) -> TaskId {
        TaskId::parse(&number.to_string()).unwrap()
    }

    fn graph(tasks: &[&str]) -> Graph {
        let tasks = tasks.iter().map(|text| Task::parse(text).unwrap());
        let tasks = tasks.map(|task| (TaskId::parse(&task.id).unwrap(), task)).collect();
        Graph::new(&TaskListing { tasks, skipped: Vec::new() })
    }

    #[test]
    fn a_link_that_one_end_tells_of_counts() {
        let graph = graph(&[
            r#"{"id":"1","blocks":["2"]}"#,
            r#"{"id":"2"}"#,
            r#"{"id":"3","blockedBy":["2","1","9"],"status":"pending"}"#,
        ]);
        assert_eq!(graph.blockers(id(2)), [id(1)]);
        assert_eq!(graph.blockers(id(3)), [id(1), id(2)], "9 is gone");
        assert_eq!(graph.freed_by(id(1)), [id(2)]);
        assert_eq!(graph.path(id(3), id(1)), Some(vec![id(3), id(1)]));
        assert_eq!(graph.path(id(1), id(3)), None);
    }

    #[test]
    fn what_is_done_blocks_nobody_and_a_circle_ends_no_search() {
        let graph = graph(&[
            r#"{"id":"1","status":"completed","blockedBy":["2"]}"#,
            r#"{"id":"2","blockedBy":["1"]}"#,
        ]);
        assert_eq!(graph.blockers(id(2)), []);
        assert_eq!(graph.path(id(1), id(7)), None);
        assert_eq!(graph.path(id(1), id(2)), Some(vec![id(1), id(2)]));
    }
}
