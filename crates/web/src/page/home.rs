//! `/`: all teams in one look.

use atm_ledger::Stage;
use atm_office::trail::history::Trace;
use atm_office::view::TeamPicture;
use atm_wire::{TeamName, counted};
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use maud::{Markup, html};

use super::needs::{self, Needs};
use super::parts::{empty, line, number, team_href};
use super::{View, render};
use crate::app::{App, Fault};

/// Of so many messages of each team it is counted how far they came.
pub(super) const COUNTED: usize = 500;
/// The stages of the table, in their order.
pub(super) const STAGES: [Stage; 13] = [
    Stage::Accepted,
    Stage::Written,
    Stage::Queued,
    Stage::Restored,
    Stage::Escalated,
    Stage::Taken,
    Stage::Held,
    Stage::Failed,
    Stage::Expired,
    Stage::Recalled,
    Stage::Seen,
    Stage::Acked,
    Stage::Done,
];

pub(super) async fn show(State(app): State<App>) -> Response<Body> {
    render(&app, |view| {
        let mut pictures: Vec<TeamPicture> = Vec::new();
        let mut troubles: Vec<String> = Vec::new();
        for team in &view.teams {
            match view.office().picture(team, &view.user) {
                Ok(picture) => pictures.push(picture),
                Err(error) => troubles.push(format!("{team}: {error}")),
            }
        }
        let sessions = view.office().sessions_beside(&pictures).unwrap_or_else(|error| {
            troubles.push(error.to_string());
            Vec::new()
        });
        let needs = pictures
            .iter()
            .map(|picture| Needs::of(picture, view.office().plans(&picture.team).unwrap_or_default()));
        let needs: Vec<Needs<'_>> = needs.collect();
        let main = html! {
            (needs::section(&needs, &sessions, view.now))
            @for trouble in &troubles { p.warning { (line(trouble)) } }
            (teams(&pictures))
            (matrix(view, &view.teams)?)
        };
        Ok(view.page("/", "All teams", None, &main))
    })
    .await
}

fn teams(pictures: &[TeamPicture]) -> Markup {
    html! {
        section aria-labelledby="teams-title" {
            h2 #teams-title { "Teams" }
            @if pictures.is_empty() {
                (empty("No team was found below this root. `atm team create NAME` makes one."))
            } @else {
                div.scroll tabindex="0" role="group" aria-labelledby="teams-title" { table {
                    thead { tr {
                        th scope="col" { "Team" } th scope="col" { "There" } th scope="col" { "Members" } th scope="col" { "Unread" }
                        th scope="col" { "Waiting" } th scope="col" { "Needs a look" } th scope="col" { "Tasks open" } th scope="col" { "Tasks done" }
                    } }
                    tbody { @for picture in pictures { (team_row(picture)) } }
                } }
            }
        }
    }
}

fn team_row(picture: &TeamPicture) -> Markup {
    let here = |state: &str| matches!(state, "online" | "idle");
    let count = picture.members.iter().filter(|member| here(member.state.as_str())).count();
    let unread: usize = picture.members.iter().map(|member| member.unread).sum();
    html! {
        tr id={ "team-" (picture.team) } data-row {
            th scope="row" { a href=(team_href(&picture.team, "")) data-main { (picture.team) } }
            (number(count)) (number(picture.members.len())) (number(unread)) (number(picture.pending.len()))
            (number(picture.attention.len())) (number(picture.tasks.pending + picture.tasks.in_progress)) (number(picture.tasks.completed))
        }
    }
}

/// How far the newest messages of each team came.
pub(super) fn matrix(view: &View<'_>, teams: &[TeamName]) -> Result<Markup, Fault> {
    let mut rows: Vec<(&TeamName, Vec<usize>)> = Vec::new();
    for team in teams {
        let found =
            view.office().trace(&Trace { teams: vec![team.clone()], limit: COUNTED, ..Trace::default() })?;
        let count = |stage: &Stage| found.iter().filter(|message| message.stage == *stage).count();
        rows.push((team, STAGES.iter().map(count).collect()));
    }
    // A stage that no message is in would be a column of nothing.
    let is_used = |index: &usize| rows.iter().any(|(_, counts)| counts[*index] > 0);
    let columns: Vec<usize> = (0..STAGES.len()).filter(is_used).collect();
    Ok(html! {
        section aria-labelledby="matrix-title" {
            h2 #matrix-title { "How far mail came" }
            p.note { "The newest " (COUNTED) " messages of each team, by the stage that is proved." }
            @if columns.is_empty() {
                (empty(&format!("No mail is on record; the inboxes of {} were looked at just now.", counted(teams.len(), "team"))))
            } @else {
                div.scroll tabindex="0" role="group" aria-labelledby="matrix-title" { table {
                    thead { tr { th scope="col" { "Team" } @for index in &columns { th scope="col" { (STAGES[*index].as_str()) } } } }
                    tbody { @for (team, counts) in &rows {
                        tr { th scope="row" { a href=(team_href(team, "")) { (team) } } @for index in &columns { (number(counts[*index])) } }
                    } }
                } }
            }
        }
    })
}
