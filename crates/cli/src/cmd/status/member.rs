//! `atm status NAME`: whether one member is there.

use std::env;

use atm_office::people::presence::{Judgement, PastPresence, PresenceView, Weight};
use atm_office::sessions::Recipient;
use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use crate::cmd::members::state;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::table::{Cell, cut, whole};
use crate::output::times::span;
use crate::output::{Out, safe};

/// So many states are shown of its history.
const MOST: usize = 100;

/// The answer in JSON.
#[derive(Serialize)]
struct View<'a> {
    #[serde(flatten)]
    now: &'a PresenceView,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<PastPresence>>,
}

/// Shows a member's state; with `why`, every piece of evidence and how much it counts; with `past`, the states before.
pub(super) fn show(context: &mut Context, whom: Recipient, (why, past): (bool, bool)) -> Result<(), Failure> {
    let view = presence(context, whom)?;
    let history = past.then(|| history(context, &view)).transpose()?;
    let out = &mut context.out;
    out.page();
    if out.json {
        out.document(&View { now: &view, history })?;
        return Ok(());
    }
    let judged = &view.judgement;
    let (word, style) = state(judged.state);
    let state = out.paint.styled(style, word);
    let name = safe::line(&view.name);
    out.line(format!("{name}: {state} ({})", safe::line(&out.times.in_words(&judged.why()))))?;
    if why {
        show_evidence(out, judged)?;
    }
    if let Some(history) = history {
        show_history(out, &history)?;
    }
    Ok(())
}

/// Of a member of the team that is meant; of a session, where a folder was named, or no team and the team has nobody of that name.
fn presence(context: &Context, whom: Recipient) -> Result<PresenceView, Failure> {
    let whom = whom.within(&context.cwd, env::home_dir().as_deref());
    let names_team = !context.global.team.is_empty();
    Ok(context.office.presence_of(context.chosen_team()?, names_team, whom)?)
}

fn history(context: &Context, view: &PresenceView) -> Result<Vec<PastPresence>, Failure> {
    let (team, name) = (TeamName::parse(&view.team)?, MemberName::parse(&view.name)?);
    Ok(context.office.past_presence(&team, &name, MOST)?)
}

fn show_evidence(out: &mut Out, judged: &Judgement) -> Result<(), Failure> {
    let times = out.times.clone();
    let rows = judged.evidence.iter().map(|trace| {
        let weight = match trace.weight {
            Weight::Decides => "decides",
            Weight::Beside => "-",
            Weight::Overruled => "not believed",
        };
        vec![weight.into(), times.in_words(&trace.what).into()]
    });
    out.table(&[whole("COUNTS"), cut("EVIDENCE", 30)], rows)?;
    Ok(())
}

fn show_history(out: &mut Out, history: &[PastPresence]) -> Result<(), Failure> {
    if history.is_empty() {
        out.note("nobody has looked before")?;
        return Ok(());
    }
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (at, past) in history.iter().enumerate() {
        let until = at.checked_sub(1).and_then(|newer| history.get(newer)).map(|newer| newer.at);
        let long =
            until.map_or_else(|| "-".to_owned(), |until| span(until.as_millis() - past.at.as_millis()));
        let why = past.evidence.as_ref().map(|evidence| evidence.what.as_str()).unwrap_or_default();
        rows.push(vec![
            out.times.in_order(past.at).into(),
            (&past.state).into(),
            long.into(),
            out.times.in_words(why).into(),
        ]);
    }
    out.table(&[whole("SINCE"), whole("STATE"), whole("FOR"), cut("WHY", 20)], rows)?;
    Ok(())
}
