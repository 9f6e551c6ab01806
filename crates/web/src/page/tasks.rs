//! `/teams/{team}/tasks`: the shared list as a board, with what waits for what.

use atm_charts::{Graph, Node, Style, Tone};
use atm_office::tasks::{TaskFilter, TaskView};
use atm_wire::task::{Status, TaskId};
use atm_wire::{Stamp, TeamName, visible};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use maud::{Markup, html};
use serde_json::json;

use super::layout::picture;
use super::parts::{action, age, command, empty, glimpse, line, word};
use super::{View, render, team_of};
use crate::app::App;

/// So many tasks of a column are shown.
const MOST: usize = 40;
/// A graph of more tasks says nothing.
const MOST_DRAWN: usize = 60;

pub(super) async fn show(State(app): State<App>, path: Path<String>) -> Response<Body> {
    render(&app, |view| {
        let name = team_of(view, path)?;
        let mut team = view.office().team(&name)?;
        let listed = team.tasks().list(&TaskFilter::default())?;
        let members: Vec<String> = team.members().into_iter().map(|member| member.name).collect();
        let column = |title: &str, status: &Status| {
            let tasks: Vec<&TaskView> = listed.tasks.iter().filter(|task| task.status == *status).collect();
            board_column(view, &name, title, &tasks, &members)
        };
        let main = html! {
            p.note { (command(&format!("atm -t {} task list", word(name.as_str())))) }
            @for warning in &listed.warnings { p.warning { (line(warning)) } }
            (targets(&members))
            @if listed.tasks.is_empty() { (empty("The team has no tasks. Its task list was read just now.")) }
            div.board {
                (column("To do", &Status::Pending))
                (column("In progress", &Status::InProgress))
                (column("Done", &Status::Completed))
            }
            (new_task(&name, &members))
            (graph(&listed.tasks))
        };
        Ok(view.page("/tasks", &format!("Tasks of {name}"), Some(&name), &main))
    })
    .await
}

/// Where a task can be dropped, to assign it.
fn targets(members: &[String]) -> Markup {
    html! {
        div.act.targets hidden aria-label="Drop a task on a member to assign it; or press o on a task" role="group" {
            span { "Drop on: " }
            @for member in members { span.target data-owner=(member) { (line(member)) } " " }
        }
    }
}

fn board_column(
    view: &View<'_>,
    team: &TeamName,
    title: &str,
    tasks: &[&TaskView],
    members: &[String],
) -> Markup {
    html! {
        section.column aria-label=(title) {
            h2 { (title) " " span.badge { (tasks.len()) } }
            ul { @for task in tasks.iter().take(MOST) { (card(view, team, task, members)) } }
            @if tasks.len() > MOST { p.note { (tasks.len() - MOST) " more: " (command(&format!("atm -t {} task list --all", word(team.as_str())))) } }
        }
    }
}

fn card(view: &View<'_>, team: &TeamName, task: &TaskView, members: &[String]) -> Markup {
    let path = format!("/api/v1/tasks/{}", task.id);
    let on = |rest: String| format!("atm -t {} task {rest}", word(team.as_str()));
    let is_open = task.status != Status::Completed;
    html! {
        li.card id={ "task-" (task.id) } data-row data-task=(task.id) data-team=(team) data-draggable[is_open] {
            p { a href={ "#task-" (task.id) } data-main { "#" (task.id) " " (line(&task.subject)) } }
            @if !task.description.is_empty() { p.note { (glimpse(&task.description)) } }
            p.meta {
                (line(task.owner.as_deref().unwrap_or("nobody's")))
                @if task.ready { " · " span.badge { "ready" } }
                @if !task.waits_for.is_empty() { " · waits for " (ids(&task.waits_for)) }
                @if !task.blocks.is_empty() { " · before " (ids(&task.blocks)) }
                (lease(task, view.now))
            }
            @if is_open {
                span.act hidden {
                    label { "Owner " select data-assign=(path) data-body=(json!({"team": team})) {
                        option value="" selected[task.owner.is_none()] { "nobody" }
                        @for member in members { option value=(member) selected[task.owner.as_ref() == Some(member)] { (line(member)) } }
                    } }
                    (command(&on(format!("assign {} NAME", task.id))))
                }
                (action("Done", &path, &json!({"team": team, "status": "completed"}), &on(format!("complete {}", task.id))))
            }
        }
    }
}

fn ids(ids: &[TaskId]) -> Markup {
    html! { @for (at, id) in ids.iter().enumerate() { @if at > 0 { ", " } a href={ "#task-" (id) } { "#" (id) } } }
}

fn lease(task: &TaskView, now: Stamp) -> Markup {
    html! { @if let Some(lease) = &task.lease {
        " · claimed " (age(lease.claimed_at, now))
        @if lease.expired { ", " strong { "the claim is over" } }
    } }
}

fn new_task(team: &TeamName, members: &[String]) -> Markup {
    html! {
        section.act hidden aria-labelledby="new-title" {
            h2 #new-title { "New task" }
            form.write data-post="/api/v1/tasks" data-body=(json!({"team": team})) {
                label { "Subject " input name="subject" required; }
                label { "What is to be done " textarea name="description" rows="3" {} }
                label { "Owner " select name="owner" { option value="" { "nobody" } @for member in members { option value=(member) { (line(member)) } } } }
                button { "Make it" } " " (command(&format!("atm -t {} task create SUBJECT", word(team.as_str()))))
            }
        }
    }
}

/// What waits for what, as a picture.
fn graph(tasks: &[TaskView]) -> Markup {
    let has_links = tasks.iter().any(|task| !task.blocked_by.is_empty());
    if !has_links || tasks.len() > MOST_DRAWN {
        return html! {};
    }
    let node = |task: &TaskView| Node {
        title: visible::line(&format!("#{} {}", task.id, task.subject)).into_owned(),
        detail: visible::line(task.owner.as_deref().unwrap_or("nobody's")).into_owned(),
        tone: match task.status {
            Status::Completed => Tone::Done,
            Status::InProgress => Tone::Active,
            _ => Tone::Plain,
        },
    };
    let nodes: Vec<Node> = tasks.iter().map(node).collect();
    let place = |id: &TaskId| tasks.iter().position(|task| task.id == *id);
    let links: Vec<(usize, usize)> = tasks
        .iter()
        .enumerate()
        .flat_map(|(to, task)| task.blocked_by.iter().filter_map(move |before| Some((place(before)?, to))))
        .collect();
    let drawn = Graph { title: "What waits for what", nodes: &nodes, links: &links }.draw(Style::OfPage);
    html! { @if let Some(drawn) = drawn {
        section aria-labelledby="graph-title" { h2 #graph-title { "What waits for what" } (picture(drawn)) }
    } }
}
