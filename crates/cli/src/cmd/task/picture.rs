//! The tasks as a picture: a box for each task, what waits to the right of what it waits for.

use std::collections::BTreeMap;

use atm_charts::{Graph, Node, Style, Tone};
use atm_office::tasks::TaskView;
use atm_wire::counted;
use atm_wire::task::{Status, TaskId};

use super::graph::links;
use crate::output::safe::line;

/// Nothing, if there are so many links that nobody could read it.
pub(super) fn draw(tasks: &BTreeMap<TaskId, &TaskView>) -> Option<String> {
    let places: BTreeMap<TaskId, usize> = tasks.keys().enumerate().map(|(index, id)| (*id, index)).collect();
    let nodes: Vec<Node> = tasks.iter().map(|(id, task)| node(*id, task)).collect();
    let links: Vec<(usize, usize)> =
        links(tasks).iter().map(|(before, after)| (places[before], places[after])).collect();
    Graph { title: &counted(tasks.len(), "task"), nodes: &nodes, links: &links }.draw(Style::Own)
}

fn node(id: TaskId, task: &TaskView) -> Node {
    let owner = task.owner.as_deref().map(|owner| format!(", {owner}")).unwrap_or_default();
    Node {
        title: format!("{id} {}", line(&task.subject)),
        detail: line(&format!("{}{owner}", task.status)).into_owned(),
        tone: match task.status {
            Status::Completed => Tone::Done,
            Status::InProgress => Tone::Active,
            _ => Tone::Plain,
        },
    }
}
