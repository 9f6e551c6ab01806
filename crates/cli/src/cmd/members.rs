//! `atm members`

use atm_office::people::members::{MemberView, Presence};
use atm_wire::Stamp;
use clap::Args;

use super::duration::span;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::Paint;
use crate::output::{Out, safe, table};

#[derive(Debug, Args)]
pub(crate) struct Members {}

impl Members {
    #[expect(clippy::unused_self, reason = "every command is run the same way")]
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let members = context.office.members(&team)?;
        if context.out.json {
            context.out.document(&members)?;
        } else if members.is_empty() {
            context.out.note(format!("team {} has no members", safe::line(team.as_str())))?;
        } else {
            show(&mut context.out, &members, context.office.now())?;
        }
        Ok(0)
    }
}

pub(super) fn show(out: &mut Out, members: &[MemberView], now: Stamp) -> Result<(), Failure> {
    for warning in members.iter().flat_map(|member| &member.warnings) {
        out.warn(warning)?;
    }
    let paint = out.paint;
    let rows = members.iter().map(|member| {
        let lead = if member.lead { " (lead)" } else { "" };
        vec![
            format!("{}{lead}", paint.name(&member.name, member.color.as_deref())),
            doing(state(paint, member.state), member),
            member.unread.to_string(),
            member.pending.to_string(),
            ago(now, member.oldest_pending),
            ago(now, member.last_seen),
            safe::line(member.model.as_deref().unwrap_or("-")).into_owned(),
            safe::line(&member.why).into_owned(),
        ]
    });
    out.line(table::columns(
        &["NAME", "STATE", "UNREAD", "PENDING", "OLDEST", "SEEN", "MODEL", "WHY"],
        rows,
    ))?;
    Ok(())
}

/// The state, and what it does where that says more.
fn doing(state: String, member: &MemberView) -> String {
    match &member.activity {
        Some(activity) if activity.starts_with("waiting") => format!("{state} ({})", safe::line(activity)),
        _ => state,
    }
}

pub(super) fn ago(now: Stamp, at: Option<Stamp>) -> String {
    match at.map(|at| now.as_millis() - at.as_millis()) {
        None => "-".to_owned(),
        Some(milliseconds) if milliseconds < 60_000 => "just now".to_owned(),
        Some(milliseconds) => format!("{} ago", span(milliseconds)),
    }
}

pub(super) fn state(paint: Paint, state: Presence) -> String {
    match state {
        Presence::Online => paint.good("Online"),
        Presence::Idle => paint.good("Idle"),
        Presence::Stalled => paint.attention("Stalled"),
        Presence::Offline => paint.attention("Offline"),
        Presence::Unknown => paint.dim("Unknown"),
    }
}
