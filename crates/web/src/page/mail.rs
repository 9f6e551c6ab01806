//! `/teams/{team}/inboxes/{name}`: a member's mail. Looking marks nothing as read.

use atm_office::mail::inbox::Filter;
use atm_office::view::{Kind, MessageView};
use atm_wire::{MemberName, Stamp, TeamName};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::needs::mark_read;
use super::parts::{action, age, command, empty, encoded, glimpse, inbox_href, line, short, word};
use super::{View, render};
use crate::api::Asked;
use crate::app::App;

/// So many messages are on a page.
const ON_PAGE: usize = 50;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    #[serde(default)]
    unread: Option<String>,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    page: Option<usize>,
}

pub(super) async fn show(
    State(app): State<App>,
    Path((team, name)): Path<(String, String)>,
    Asked(which): Asked<Which>,
) -> Response<Body> {
    render(&app, move |view| {
        let team = view.settings.team(Some(&team))?;
        let who = MemberName::parse(&name)?;
        let unread = which.unread.as_deref().is_some_and(|value| !value.is_empty());
        let from = which.from.clone().filter(|from| !from.is_empty());
        let filter = Filter { unread, from: from.clone(), ..Filter::default() };
        // The person at the keyboard has an inbox once somebody has written to them.
        let look = match view.office().inbox(&team, &who, &filter) {
            Err(error) if who == view.user && error.code() == "no_such_member" => Ok(atm_office::mail::inbox::Look::default()),
            look => look,
        };
        let look = look?;
        let page = which.page.unwrap_or(1).max(1);
        let count = look.messages.len();
        let shown: Vec<&MessageView> = look.messages.iter().rev().skip((page - 1) * ON_PAGE).take(ON_PAGE).collect();
        let base = inbox_href(team.as_str(), who.as_str());
        let is_own = who == view.user;
        let muted = view.office().team(&team)?.mutes()?;
        let is_muted = |message: &MessageView| muted.iter().any(|mute| mute.what == message.id);
        let new: Vec<&str> = shown.iter().filter(|message| !message.read).map(|message| message.id.as_str()).collect();
        let main = html! {
            p.note { "Newest first; " (count) " in the inbox" @if unread { ", unread only" } ". " (command(&format!("atm -t {} inbox {}", word(team.as_str()), word(who.as_str())))) }
            form.filters action=(base) {
                label { input type="checkbox" name="unread" value="1" checked[unread]; " Unread only" }
                label { "From " input name="from" value=[from.as_deref()] size="12"; }
                button { "Filter" }
            }
            @for warning in &look.warnings { p.warning { (line(warning)) } }
            @if shown.is_empty() { (empty(&format!("No mail here. The inbox of {who} was read just now."))) }
            form #bulk data-team=(team) {
                (bulk(&team, &who, is_own))
                @if is_own && !new.is_empty() { (mark_read(&team, who.as_str(), &new)) }
                ul.rows { @for message in &shown { (row(view, &team, message, (is_own, is_muted(message)))) } }
            }
            (turn(&base, page, count))
        };
        Ok(view.page(&format!("/inboxes/{who}"), &format!("Mail of {who}"), Some(&team), &main))
    })
    .await
}

/// What can be done with all that is selected.
fn bulk(team: &TeamName, who: &MemberName, is_own: bool) -> Markup {
    html! {
        div.bulk.act hidden role="group" aria-label="With what is selected" {
            label { input type="checkbox" data-all; " All" }
            @if is_own {
                button type="button" data-bulk="/api/v1/acks" data-body=(json!({"team": team})) { "Acknowledge" }
                (command(&format!("atm -t {} ack ID", word(team.as_str()))))
            }
            button type="button" data-bulk="/api/v1/mutes" data-as="what" data-body=(json!({"team": team})) { "Mute for a day" }
            (command(&format!("atm -t {} mute ID", word(team.as_str()))))
            (action("Archive what was read", "/api/v1/archives", &json!({"team": team, "name": who}),
                &format!("atm -t {} archive {} --keep 0", word(team.as_str()), word(who.as_str()))))
        }
    }
}

fn row(view: &View<'_>, team: &TeamName, message: &MessageView, (is_own, is_muted): (bool, bool)) -> Markup {
    let sent = Stamp::parse(&message.timestamp).ok();
    let title = message.summary.as_deref().map_or_else(|| glimpse(&message.text), glimpse);
    let href = format!("/messages/{}?team={}", encoded(&message.id), encoded(team.as_str()));
    html! {
        li.row id={ "m-" (message.id) } data-row class=[(!message.read).then_some("unread")] {
            label.pick.act hidden { input type="checkbox" name="pick" value=(message.id) aria-label={ "Select " (short(&message.id)) }; }
            @if !message.read { span.badge { "unread" } " " }
            @if is_muted { span.badge { "muted" } " " }
            a href=(href) data-main { (title) }
            span.meta {
                "from " (line(&message.from)) " · "
                @if let Some(sent) = sent { (age(sent, view.now)) } @else { (line(&message.timestamp)) }
                @if message.kind == Kind::Protocol { " · " span.badge { (line(&message.r#type)) } }
                @if message.pending { " · queued" }
                @if let Some(by) = message.ack_by.as_deref().and_then(|by| Stamp::parse(by).ok()) { " · wants to be acknowledged; due " (age(by, view.now)) }
            }
            @if is_own && message.wants_ack() {
                (action("Acknowledge", "/api/v1/acks", &json!({"team": team, "id": message.id}),
                    &format!("atm -t {} ack {}", word(team.as_str()), word(&short(&message.id)))))
            }
        }
    }
}

fn turn(base: &str, page: usize, count: usize) -> Markup {
    html! {
        nav.turn aria-label="More mail" {
            @if page > 1 { a href={ (base) "?page=" (page - 1) } rel="prev" { "Newer" } " " }
            @if page * ON_PAGE < count { a href={ (base) "?page=" (page + 1) } rel="next" { "Older" } }
        }
    }
}
