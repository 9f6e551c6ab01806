//! `/teams/{team}/plans`: plans to decide, with what is different from the member's plan before.

use atm_office::protocol::plan::{PlanState, PlanView};
use atm_wire::TeamName;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use maud::{Markup, html};
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::parts::{action, age, command, empty, encoded, line, word};
use super::{View, render, team_of};
use crate::app::App;

/// So many plans are shown, and so many lines of each.
const MOST: usize = 10;
const MOST_LINES: usize = 200;

pub(super) async fn show(State(app): State<App>, path: Path<String>) -> Response<Body> {
    render(&app, |view| {
        let team = team_of(view, path)?;
        let plans = view.office().plans(&team)?;
        let (open, decided): (Vec<_>, Vec<_>) =
            plans.iter().enumerate().partition(|(_, plan)| plan.state == PlanState::Open);
        let main = html! {
            p.note { (command(&format!("atm -t {} plan list", word(team.as_str())))) }
            section aria-labelledby="open-title" {
                h2 #open-title { "To decide" }
                @if open.is_empty() { (empty("No plan waits for a decision; all mail of the lead was looked at just now.")) }
                @for (at, plan) in open.iter().rev().take(MOST) { (plan_card(view, &team, plan, before(&plans, *at))) }
            }
            section aria-labelledby="decided-title" {
                h2 #decided-title { "Decided" }
                @if decided.is_empty() { (empty("None is on record; all mail of the lead was looked at just now.")) }
                @for (at, plan) in decided.iter().rev().take(MOST) { (plan_card(view, &team, plan, before(&plans, *at))) }
            }
        };
        Ok(view.page("/plans", &format!("Plans of {team}"), Some(&team), &main))
    })
    .await
}

/// The plan that the same member had handed in before.
fn before(plans: &[PlanView], at: usize) -> Option<&PlanView> {
    plans[..at].iter().rev().find(|earlier| earlier.from == plans[at].from)
}

fn plan_card(view: &View<'_>, team: &TeamName, plan: &PlanView, earlier: Option<&PlanView>) -> Markup {
    html! {
        article.plan id=(encoded(&plan.request)) data-row {
            h3 { a href={ "/messages/" (encoded(&plan.id)) "?team=" (encoded(team.as_str())) } data-main { (line(plan.summary.as_deref().unwrap_or("A plan"))) } }
            p.meta { (line(&plan.from)) " · " (plan.state.as_str()) " · handed in " (age(plan.timestamp, view.now)) }
            @if let Some(decision) = &plan.decision {
                p { (if decision.approved { "Approved" } else { "Rejected" }) " " (age(decision.timestamp, view.now)) @if let Some(feedback) = &decision.feedback { ": " (line(feedback)) } }
            }
            @if earlier.is_some() { p.note { "What is different from the plan before:" } }
            (diff(earlier.and_then(|earlier| earlier.plan.as_deref()), plan.plan.as_deref().unwrap_or_default()))
            @if plan.state == PlanState::Open { (decide(team, plan)) }
        }
    }
}

/// The lines of a plan, marked where they are new or gone.
fn diff(old: Option<&str>, new: &str) -> Markup {
    let diff = TextDiff::from_lines(old.unwrap_or(new), new);
    let changes: Vec<_> = diff.iter_all_changes().collect();
    html! {
        div.diff role="group" aria-label="The plan" {
            @for change in changes.iter().take(MOST_LINES) {
                @let (class, sign, word) = match change.tag() {
                    ChangeTag::Delete => ("gone", "−", "gone: "),
                    ChangeTag::Insert => ("new", "+", "new: "),
                    ChangeTag::Equal => ("same", " ", ""),
                };
                div class=(class) { span.sign aria-hidden="true" { (sign) } span.for-readers { (word) } (line(change.value().trim_end_matches('\n'))) }
            }
            @if changes.len() > MOST_LINES { div.note { (changes.len() - MOST_LINES) " more lines: " (command("atm plan list --json")) } }
        }
    }
}

fn decide(team: &TeamName, plan: &PlanView) -> Markup {
    let path = format!("/api/v1/plans/{}", encoded(&plan.request));
    let on = |rest: String| format!("atm -t {} --as {} plan {rest}", word(team.as_str()), word(&plan.to));
    html! {
        (action("Approve", &path, &json!({"team": team, "approved": true}), &on(format!("approve {}", word(&plan.request)))))
        form.write.act hidden data-post=(path) data-body=(json!({"team": team, "approved": false})) {
            label { "What has to change " textarea name="feedback" rows="2" required {} }
            button { "Reject" } " " (command(&on(format!("reject {} --feedback TEXT", word(&plan.request)))))
        }
        p.note { "You decide for " (line(&plan.to)) "; it is recorded as user via web." }
    }
}
