//! `/messages/{id}`: a message, its stages as a timeline with evidence, its conversation.

use atm_ledger::Stage;
use atm_office::trail::history::Remembered;
use atm_wire::Stamp;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::parts::{
    action, age, command, evidence, inbox_href, line, lines, message_href, short, stage, word,
};
use super::{View, render};
use crate::api::{Asked, MessageDetails, message_details};
use crate::app::App;

/// So much of a text is on the page, in characters: the whole page stays small.
const LONGEST: usize = 16_000;
/// So much of the other texts of a conversation, and of so many of them.
const LONGEST_BESIDE: usize = 1_200;
const MOST_BESIDE: usize = 30;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    team: Option<String>,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(id): Path<String>,
    Asked(which): Asked<Which>,
) -> Response<Body> {
    let team = which.team;
    render(&app, move |view| {
        let details = message_details(view.settings, team.as_deref(), &id)?;
        let home = view.settings.team(Some(&details.message.team)).ok();
        let main = html! {
            (heading(view, &details.message))
            (body(&details.message.text, LONGEST))
            (files(&details.message))
            (actions(view, &details.message))
            (timeline(view, &details))
            (thread(view, &details))
        };
        let title =
            details.message.summary.as_deref().map_or_else(|| format!("Message {}", short(&id)), line);
        Ok(view.page("/messages", &title, home.as_ref(), &main))
    })
    .await
}

fn heading(view: &View<'_>, message: &Remembered) -> Markup {
    html! {
        p.meta {
            (stage(message.stage, message.unproved)) " from " (line(&message.from)) " to "
            a href=(inbox_href(&message.team, &message.to)) { (line(&message.to)) "@" (line(&message.team)) }
            " · sent " (age(message.timestamp, view.now)) " · " span.badge { (line(&message.r#type)) }
            " · " code { (line(&message.id)) }
        }
    }
}

/// A text as it is, with nothing hidden in it.
fn body(text: &str, most: usize) -> Markup {
    let mut cut: String = text.chars().take(most).collect();
    let is_cut = cut.len() < text.len();
    if is_cut {
        cut.push('…');
    }
    html! {
        pre.text { (lines(&cut)) }
        @if is_cut { p.note { "Cut here; the whole text: " (command("atm thread ID --json")) } }
    }
}

fn files(message: &Remembered) -> Markup {
    html! { @if !message.files.is_empty() {
        h2 { "Files it names" }
        ul { @for file in &message.files { li { code { (line(&file.words())) } } } }
    } }
}

fn actions(view: &View<'_>, message: &Remembered) -> Markup {
    let (team, id) = (&message.team, &message.id);
    let on = |rest: String| format!("atm -t {} {rest}", word(team));
    let part = word(&short(id));
    let (is_for_user, is_from_user) = (message.to == view.user.as_str(), message.from == view.user.as_str());
    let is_stuck = matches!(message.stage, Stage::Failed | Stage::Expired | Stage::Held) || message.unproved;
    let is_unread =
        matches!(message.stage, Stage::Accepted | Stage::Written | Stage::Queued | Stage::Restored);
    html! {
        section.act hidden aria-labelledby="do-title" {
            h2 #do-title { "Actions" }
            @if is_for_user {
                form.write #reply data-post="/api/v1/replies" data-body=(json!({"team": team, "id": id})) {
                    label { "Answer " textarea name="text" rows="3" required {} }
                    button { "Send the answer" } " " (command(&on(format!("reply {part} TEXT"))))
                }
                (action("Acknowledge", "/api/v1/acks", &json!({"team": team, "id": id}), &on(format!("ack {part}"))))
            } @else {
                form.write #reply data-post="/api/v1/messages" data-body=(json!({"team": team, "to": message.to})) {
                    label { "Write to " (line(&message.to)) " " textarea name="text" rows="3" required {} }
                    button { "Send" } " " (command(&on(format!("send {} TEXT", word(&message.to)))))
                }
            }
            @if is_from_user && is_unread {
                (action("Take it back", "/api/v1/recalls", &json!({"team": team, "id": id}), &on(format!("recall {part}"))))
            }
            @if is_stuck { (resend(message)) }
            @if is_unread && !is_for_user {
                (action("Wake the recipient", "/api/v1/wakes", &json!({"team": team, "name": message.to}),
                    &on(format!("wake {}", word(&message.to)))))
            }
        }
    }
}

/// Sends the same text again, in its sender's name.
pub(super) fn resend(message: &Remembered) -> Markup {
    let again = json!({"team": message.origin.as_ref().unwrap_or(&message.team), "as": message.from,
        "to": format!("{}@{}", message.to, message.team), "text": message.text, "summary": message.summary});
    let as_command =
        format!("atm --as {} send {}@{} TEXT", word(&message.from), word(&message.to), word(&message.team));
    action("Send it again", "/api/v1/messages", &again, &as_command)
}

fn timeline(view: &View<'_>, details: &MessageDetails) -> Markup {
    html! {
        section aria-labelledby="stages-title" {
            h2 #stages-title { "What became of it" }
            p.note { (said(details.track.arrived, details.track.processed)) " " (command(&format!("atm -t {} track {}", word(&details.message.team), word(&short(&details.message.id))))) }
            ol.timeline {
                @for reached in &details.track.stages {
                    li { (stage(reached.stage, reached.evidence.unproved)) " " (age(reached.at, view.now)) " " span.evidence { (evidence(&reached.evidence)) } }
                }
            }
        }
    }
}

fn said(arrived: bool, processed: bool) -> &'static str {
    match (arrived, processed) {
        (_, true) => "It is known that its recipient's client took it.",
        (true, false) => "It is where its recipient's client looks; nothing shows that it was taken.",
        (false, false) => "It is not in its recipient's inbox yet.",
    }
}

fn thread(view: &View<'_>, details: &MessageDetails) -> Markup {
    let skipped = details.thread.len().saturating_sub(MOST_BESIDE);
    html! {
        section aria-labelledby="thread-title" {
            h2 #thread-title { "Conversation" }
            @if skipped > 0 { p.note { (skipped) " earlier: " (command("atm thread ID")) } }
            ol.thread {
                @for message in details.thread.iter().skip(skipped) { (said_by(message, details, view.now)) }
            }
        }
    }
}

fn said_by(message: &Remembered, details: &MessageDetails, now: Stamp) -> Markup {
    let is_it = message.id == details.message.id;
    html! {
        li id={ "t-" (message.id) "-" (message.to) } data-row aria-current=[is_it.then_some("true")] class=[(message.from != details.thread[0].from).then_some("answer")] {
            p.meta { strong { (line(&message.from)) } " → " (line(&message.to)) " · " (age(message.timestamp, now)) " · " (stage(message.stage, message.unproved))
                " " a href=(message_href(message)) data-main { (short(&message.id)) } }
            (body(&message.text, LONGEST_BESIDE))
        }
    }
}
