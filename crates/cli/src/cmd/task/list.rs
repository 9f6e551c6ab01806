//! `atm task list` and `atm task show`

use atm_office::tasks::{TaskFilter, TaskView};
use atm_wire::json::Object;
use atm_wire::task::Status;
use atm_wire::{MemberName, Stamp, TeamName};
use clap::Args;

use super::ids;
use super::make::StatusArg;
use crate::cmd::duration::span;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::Paint;
use crate::output::table::{Cell, cut, spare, whole};
use crate::output::{Out, safe};

/// How many characters of a title fit on a card of the board.
const CARD: usize = 32;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct List {
    /// Only those that are as far as this
    #[arg(long, value_enum)]
    status: Option<StatusArg>,
    /// Only those of one member
    #[arg(long, value_name = "NAME")]
    owner: Option<MemberName>,
    /// Only yours
    #[arg(long, conflicts_with = "owner")]
    mine: bool,
    /// Only those that anybody could claim now
    #[arg(long)]
    ready: bool,
    /// Only those that wait for others
    #[arg(long, conflicts_with = "ready")]
    blocked: bool,
    /// Show them in three columns
    #[arg(long)]
    board: bool,
}

impl List {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let owner = if self.mine { Some(context.member()?) } else { self.owner };
        let filter = TaskFilter {
            status: self.status.map(Into::into),
            owner: owner.map(|owner| owner.to_string()),
            blocked: self.blocked.then_some(true),
            ready: self.ready,
        };
        let listed = context.office.tasks(team)?.list(&filter)?;
        let now = context.office.now();
        let out = &mut context.out;
        for warning in &listed.warnings {
            out.warn(warning)?;
        }
        if out.json {
            out.document(&listed.tasks)?;
        } else if listed.tasks.is_empty() {
            out.note("no tasks")?;
        } else if self.board {
            out.page();
            board(out, &listed.tasks)?;
        } else {
            out.page();
            show(out, &listed.tasks, now)?;
        }
        Ok(())
    }
}

fn show(out: &mut Out, tasks: &[TaskView], now: Stamp) -> Result<(), Failure> {
    let rows = tasks.iter().map(|task| {
        let status = task.status.as_str();
        let waits = if task.status == Status::Completed { String::new() } else { ids(&task.waits_for) };
        vec![
            number(task).into(),
            if task.ready { Cell::styled(status, Paint::GOOD) } else { status.into() },
            task.owner.as_deref().unwrap_or("-").into(),
            lease(task, now).into(),
            if waits.is_empty() { "-".into() } else { Cell::styled(&waits, Paint::ATTENTION) },
            (&task.subject).into(),
        ]
    });
    let columns = [
        whole("ID"),
        whole("STATUS"),
        cut("OWNER", 8),
        spare("LEASE", 2),
        spare("WAITS FOR", 1),
        cut("SUBJECT", 16),
    ];
    out.table(&columns, rows)?;
    Ok(())
}

/// The number, with the machine that made the task as long as no other machine knows of it: `7 (laptop)`.
fn number(task: &TaskView) -> String {
    match &task.made_on {
        Some(machine) => format!("{} ({})", task.id, safe::line(machine)),
        None => task.id.to_string(),
    }
}

fn lease(task: &TaskView, now: Stamp) -> String {
    match &task.lease {
        None => "-".to_owned(),
        Some(lease) if lease.expired => "over".to_owned(),
        Some(lease) => span(lease.expires_at.as_millis() - now.as_millis()),
    }
}

/// Three columns, a card a task.
fn board(out: &mut Out, tasks: &[TaskView]) -> Result<(), Failure> {
    let column = |fits: &dyn Fn(&Status) -> bool| -> Vec<String> {
        tasks.iter().filter(|task| fits(&task.status)).map(card).collect()
    };
    let columns = [
        // A status that we do not know is at least not done.
        column(&|status| !matches!(status, Status::InProgress | Status::Completed)),
        column(&|status| *status == Status::InProgress),
        column(&|status| *status == Status::Completed),
    ];
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |column: &Vec<String>, row| Cell::from(column.get(row).map_or("", String::as_str));
    let rows = (0..height).map(|row| columns.iter().map(|column| cell(column, row)).collect());
    out.table(&[cut("PENDING", 16), cut("IN PROGRESS", 16), cut("COMPLETED", 16)], rows)?;
    Ok(())
}

fn card(task: &TaskView) -> String {
    let mut title: String = task.subject.chars().take(CARD).collect();
    if title.len() < task.subject.len() {
        title.push('…');
    }
    let mut card = format!("{} {title}", number(task));
    if let Some(owner) = &task.owner {
        card = format!("{card} ({owner})");
    }
    if task.status != Status::Completed && !task.waits_for.is_empty() {
        card = format!("{card} ← {}", ids(&task.waits_for));
    }
    card
}

/// All of one task.
pub(super) fn show_one(out: &mut Out, task: &TaskView) -> Result<(), Failure> {
    let paint = out.paint;
    out.line(format!("{}  {}", paint.bold(&format!("task {}", number(task))), safe::line(&task.subject)))?;
    let until = task.lease.as_ref().map(|lease| out.times.exact(lease.expires_at));
    let mut fact = |name: &str, value: &str| out.hanging(&format!("  {name:<11} "), value);
    fact("status", task.status.as_str())?;
    if let Some(owner) = &task.owner {
        fact("owner", owner)?;
    }
    if let (Some(lease), Some(until)) = (&task.lease, until) {
        let over = if lease.expired { " (over)" } else { "" };
        fact("lease", &format!("until {until}{over}"))?;
    }
    if let Some(form) = &task.active_form {
        fact("doing", form)?;
    }
    let done_too = if task.blocked_by == task.waits_for { &[][..] } else { &task.blocked_by };
    for (name, linked) in
        [("waits for", &task.waits_for[..]), ("blocked by", done_too), ("blocks", &task.blocks)]
    {
        if !linked.is_empty() {
            fact(name, &ids(linked))?;
        }
    }
    let metadata = task.metadata.as_ref().map(|metadata| metadata.get()).unwrap_or_default();
    for (key, value) in Object::parse(metadata).unwrap_or_default().iter() {
        fact(&format!("{}:", safe::line(key)), &safe::json_line(value.get()))?;
    }
    for line in task.description.lines() {
        out.hanging("  | ", line)?;
    }
    Ok(())
}
