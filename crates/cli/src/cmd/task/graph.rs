//! `atm task graph`

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use atm_office::tasks::{TaskFilter, TaskView};
use atm_wire::TeamName;
use atm_wire::task::TaskId;
use clap::Args;

use super::picture;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::private;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// Write it as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Graph {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let listed = context.office.tasks(team)?.list(&TaskFilter::default())?;
        let tasks: BTreeMap<TaskId, &TaskView> = listed.tasks.iter().map(|task| (task.id, task)).collect();
        if let Some(path) = &self.svg {
            let picture = picture::draw(&tasks).ok_or_else(|| {
                let message =
                    format!("{} tasks with so many links between them cannot be drawn", tasks.len());
                Failure::new(ExitCode::Refused, "too_large", message)
            })?;
            private::write(path, &picture)?;
            context.out.note(format!("wrote {}", path.display()))?;
        }
        let out = &mut context.out;
        for warning in &listed.warnings {
            out.warn(warning)?;
        }
        if out.json {
            out.document(&document(&tasks))?;
        } else if tasks.is_empty() {
            out.note("no tasks")?;
        } else {
            for line in tree(&tasks) {
                out.line(line)?;
            }
        }
        Ok(())
    }
}

/// The links whose both ends are there: first what has to be done before, then what waits for it.
pub(super) fn links(tasks: &BTreeMap<TaskId, &TaskView>) -> Vec<(TaskId, TaskId)> {
    let after = |task: &&TaskView| task.blocks.clone();
    let all = tasks.iter().flat_map(|(id, task)| after(task).into_iter().map(|after| (*id, after)));
    all.filter(|(_, after)| tasks.contains_key(after)).collect()
}

fn document(tasks: &BTreeMap<TaskId, &TaskView>) -> serde_json::Value {
    let node = |task: &&TaskView| serde_json::json!({ "id": task.id, "subject": task.subject, "status": task.status, "owner": task.owner });
    let link = |(before, after)| serde_json::json!({ "before": before, "after": after });
    serde_json::json!({
        "tasks": tasks.values().map(node).collect::<Vec<_>>(),
        "links": links(tasks).into_iter().map(link).collect::<Vec<_>>(),
    })
}

/// A line for each task below what it waits for. One that waits for several stands below the first of them in full,
/// and below the others by its number.
fn tree(tasks: &BTreeMap<TaskId, &TaskView>) -> Vec<String> {
    let links = links(tasks);
    let waiting: BTreeSet<TaskId> = links.iter().map(|(_, after)| *after).collect();
    let mut tree = Tree { tasks, links: &links, shown: BTreeSet::new(), lines: Vec::new() };
    for id in tasks.keys().filter(|id| !waiting.contains(id)) {
        tree.add(*id, "", "");
    }
    // What nothing leads to waits for itself.
    for id in tasks.keys() {
        if !tree.shown.contains(id) {
            tree.add(*id, "", "");
        }
    }
    tree.lines
}

struct Tree<'a> {
    tasks: &'a BTreeMap<TaskId, &'a TaskView>,
    links: &'a [(TaskId, TaskId)],
    shown: BTreeSet<TaskId>,
    lines: Vec<String>,
}

impl Tree<'_> {
    /// Adds a task and all below it; not by calls of itself, since a chain can be as long as the list.
    fn add(&mut self, id: TaskId, branch: &str, indent: &str) {
        let mut next = vec![(id, branch.to_owned(), indent.to_owned())];
        while let Some((id, branch, indent)) = next.pop() {
            let Some(task) = self.tasks.get(&id) else { continue };
            let title = safe::line(&task.subject);
            if !self.shown.insert(id) {
                self.lines.push(format!("{branch}{id} {title} (see above)"));
                continue;
            }
            let owner = task.owner.as_deref().map(|owner| format!(", {owner}")).unwrap_or_default();
            let state = format!("{}{owner}", task.status);
            self.lines.push(format!("{branch}{id} {title} [{}]", safe::line(&state)));
            let below: Vec<TaskId> =
                self.links.iter().filter(|(before, _)| *before == id).map(|(_, after)| *after).collect();
            for (index, after) in below.iter().enumerate().rev() {
                let is_last = index + 1 == below.len();
                let (fork, bar) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
                next.push((*after, format!("{indent}{fork}"), format!("{indent}{bar}")));
            }
        }
    }
}
