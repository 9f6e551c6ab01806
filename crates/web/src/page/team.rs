//! `/teams/{team}`: one team in one look.

use std::slice;

use atm_office::people::members::MemberView;
use atm_office::trail::history::Trace;
use atm_office::view::TeamPicture;
use atm_wire::{Stamp, counted};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use maud::{Markup, html};
use serde_json::json;

use super::needs::{self, Needs};
use super::parts::{
    action, age, command, empty, encoded, inbox_href, line, message_href, message_row, presence, span, stage,
    word,
};
use super::{View, render, team_of};
use crate::app::App;

/// So many messages are shown.
const RECENT: usize = 20;

pub(super) async fn show(State(app): State<App>, path: Path<String>) -> Response<Body> {
    render(&app, |view| {
        let team = team_of(view, path)?;
        let mut picture = view.office().picture(&team, &view.user)?;
        view.office().put_sessions_beside(slice::from_mut(&mut picture));
        let needs = [Needs::of(&picture, view.office().plans(&team)?)];
        let recent =
            view.office().trace(&Trace { teams: vec![team.clone()], limit: RECENT, ..Trace::default() })?;
        let main = html! {
            (needs::section(&needs, &picture.sessions_waiting, view.now))
            (members(view, &picture))
            (write_to(&picture))
            (waiting(&picture, view.now))
            section aria-labelledby="recent-title" {
                h2 #recent-title { "Latest mail" }
                @if recent.is_empty() {
                    (empty(&format!("No mail of this team is on record; {} were looked at just now.", counted(picture.looked.inboxes, "inbox"))))
                }
                ul.rows { @for message in recent.iter().rev() { (message_row(message, view.now)) } }
                p { a href={ "/search?team=" (encoded(team.as_str())) } { "All mail of " (team) } }
            }
        };
        Ok(view.page("", team.as_str(), Some(&team), &main))
    })
    .await
}

fn members(view: &View<'_>, picture: &TeamPicture) -> Markup {
    html! {
        section aria-labelledby="members-title" {
            h2 #members-title { "Members" }
            div.scroll tabindex="0" role="group" aria-labelledby="members-title" { table.members {
                thead { tr {
                    th scope="col" { "Name" } th scope="col" { "Presence" } th scope="col" { "Unread" } th scope="col" { "Queued" }
                    th scope="col" { "Last heard of" } th scope="col" { "Model" } th scope="col" { span.act hidden { "Actions" } }
                } }
                tbody { @for member in &picture.members { (member_row(view.now, picture, member)) } }
            } }
        }
    }
}

fn member_row(now: Stamp, picture: &TeamPicture, member: &MemberView) -> Markup {
    let team = &picture.team;
    let lead = picture.members.iter().find(|member| member.lead).map_or("LEAD", |lead| lead.name.as_str());
    html! {
        tr id={ "member-" (member.name) } data-row {
            th scope="row" {
                a href=(inbox_href(team.as_str(), &member.name)) data-main { (line(&member.name)) }
                @if member.lead { " " span.badge { "lead" } }
            }
            td { (presence(member, now)) }
            td { @if member.unread > 0 { strong { (member.unread) } } @else { "0" } }
            td { (member.pending) @if let Some(oldest) = member.oldest_pending { " (oldest " (age(oldest, now)) ")" } }
            td { @if let Some(seen) = member.last_seen { (age(seen, now)) } @else { "never" } }
            td { (line(member.model.as_deref().unwrap_or("–"))) }
            td { @if !member.lead {
                (action("Wake", "/api/v1/wakes", &json!({"team": team, "name": member.name}),
                    &format!("atm -t {} wake {}", word(team.as_str()), word(&member.name))))
                (action("Ask to end", "/api/v1/shutdowns", &json!({"team": team, "name": member.name}),
                    &format!("atm -t {} --as {} shutdown request {}", word(team.as_str()), word(lead), word(&member.name))))
            } }
        }
    }
}

/// A letter to somebody, as the person at the keyboard.
fn write_to(picture: &TeamPicture) -> Markup {
    let team = &picture.team;
    html! {
        section.act hidden aria-labelledby="write-title" {
            h2 #write-title { "Write" }
            form.write data-post="/api/v1/messages" data-body=(json!({"team": team})) {
                label { "To " select name="to" { @for member in &picture.members { option value=(member.name) { (line(&member.name)) } } } }
                label { "Text " textarea name="text" rows="3" required {} }
                label { "Priority " select name="priority" { option { "normal" } option { "high" } option { "low" } } }
                label { "Acknowledge within " input name="ack_by" size="6" placeholder="1h" {} }
                button { "Send" } " "
                (command(&format!("atm -t {} send NAME TEXT", word(team.as_str()))))
            }
        }
    }
}

fn waiting(picture: &TeamPicture, now: Stamp) -> Markup {
    let waiting = &picture.pending;
    html! {
        section #waits aria-labelledby="waits-title" {
            h2 #waits-title { "Waiting" }
            @if waiting.is_empty() { p.empty { (picture.looked.nothing()) "; looked " (age(picture.as_of, now)) } }
            ul.rows {
                @for one in waiting.iter().take(RECENT) {
                    li.row data-row id={ "wait-" (one.message.id) "-" (one.message.to) } {
                        (stage(one.message.stage, one.message.unproved)) " "
                        a href=(message_href(&one.message)) data-main { (line(&one.message.from)) " → " (line(&one.message.to)) }
                        span.meta { (one.why.words(None)) " · for " (span(one.waited_ms)) " · sent " (age(one.message.timestamp, now)) }
                    }
                }
            }
            @if waiting.len() > RECENT {
                @let team = &waiting[0].message.team;
                p { (waiting.len() - RECENT) " more: " (command(&format!("atm -t {} pending --all", word(team)))) }
            }
        }
    }
}
