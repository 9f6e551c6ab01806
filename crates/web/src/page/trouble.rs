//! `/trouble`: mail that failed, expired, was lost or set aside, with the reason and a way to send it again.

use std::path::Path;

use atm_ledger::Stage;
use atm_office::trail::history::{Remembered, Trace};
use atm_office::trail::pending::Why;
use atm_wire::counted;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use maud::{Markup, html};

use super::message::resend;
use super::parts::{age, command, empty, glimpse, line, message_href, short, stage, word};
use super::{View, render};
use crate::app::{App, Fault};

/// Among so many of the newest messages of each team it is looked for.
const LOOKED_AT: usize = 1_000;
/// So many are shown.
const MOST: usize = 60;

struct Case {
    message: Remembered,
    reason: String,
}

pub(super) async fn show(State(app): State<App>) -> Response<Body> {
    render(&app, |view| {
        let mut cases: Vec<Case> = Vec::new();
        for team in &view.teams {
            cases.extend(ended(view, team)?);
            cases.extend(lost(view, team));
        }
        cases.sort_by_key(|case| std::cmp::Reverse(case.message.timestamp));
        let set_aside = view.office().set_aside()?;
        let main = html! {
            section aria-labelledby="failed-title" {
                h2 #failed-title { "Failed, expired, held, lost" }
                @if cases.is_empty() {
                    (empty(&format!("None among the newest {LOOKED_AT} messages of each of {}, nor among what waits; looked just now.", counted(view.teams.len(), "team"))))
                }
                ul.rows { @for case in cases.iter().take(MOST) { (row(view, case)) } }
                @if cases.len() > MOST { p.note { (cases.len() - MOST) " more: " (command("atm pending --all")) } }
            }
            section aria-labelledby="aside-title" {
                h2 #aside-title { "Set aside (quarantine)" }
                @if set_aside.is_empty() { (empty("Nothing was set aside: every file that was read could be parsed.")) }
                ul { @for file in set_aside.iter().take(MOST) { li { code { (line(&name_of(&file.path))) } " · " (file.bytes) " bytes · " (age(file.at, view.now)) } } }
                @if !set_aside.is_empty() { p.note { "Bytes that did not parse are kept there as they were. " (command("atm doctor")) } }
            }
        };
        Ok(view.page("/trouble", "Failed mail", None, &main))
    })
    .await
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What ended badly, with the evidence of that.
fn ended(view: &View<'_>, team: &atm_wire::TeamName) -> Result<Vec<Case>, Fault> {
    let found =
        view.office().trace(&Trace { teams: vec![team.clone()], limit: LOOKED_AT, ..Trace::default() })?;
    let is_bad = |message: &Remembered| matches!(message.stage, Stage::Failed | Stage::Expired | Stage::Held);
    let bad = found.into_iter().rev().filter(is_bad).take(MOST);
    let case = |message: Remembered| {
        let track = view.office().track(Some(team), &message.id).ok();
        let last =
            track.and_then(|track| track.stages.into_iter().rev().find(|one| one.stage == message.stage));
        let reason = last.map_or_else(|| "no reason is on record".to_owned(), |one| one.evidence.what);
        Case { message, reason }
    };
    Ok(bad.map(case).collect())
}

/// What waits because a client lost it, or because it cannot be written.
fn lost(view: &View<'_>, team: &atm_wire::TeamName) -> Vec<Case> {
    let waiting = view.office().look_for_pending(team).map(|look| look.waiting).unwrap_or_default();
    let is_lost = |why: Why| matches!(why, Why::LostByClient | Why::TakenUnproved | Why::NotWritten);
    let lost = waiting.into_iter().filter(|waiting| is_lost(waiting.why));
    lost.map(|waiting| Case { reason: waiting.why.words(None), message: waiting.message }).collect()
}

fn row(view: &View<'_>, Case { message, reason }: &Case) -> Markup {
    html! {
        li.row id={ "f-" (message.id) "-" (message.to) } data-row {
            (stage(message.stage, message.unproved)) " "
            a href=(message_href(message)) data-main { (message.summary.as_deref().map_or_else(|| glimpse(&message.text), glimpse)) }
            span.meta { (line(&message.from)) " → " (line(&message.to)) "@" (line(&message.team)) " · " (age(message.timestamp, view.now)) " · " (line(reason)) }
            (resend(message))
            span.act hidden { (command(&format!("atm -t {} track {}", word(&message.team), word(&short(&message.id))))) }
        }
    }
}
