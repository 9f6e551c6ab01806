//! `atm members`

use anstyle::Style;
use atm_office::people::members::{MemberView, Presence};
use clap::Args;

use super::several::{self, Several};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::Paint;
use crate::output::table::{Cell, Column, cut, spare, whole};
use crate::output::{Out, safe};

#[derive(Debug, Args)]
pub(crate) struct Members {
    /// All of them, however many there are
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    several: Several,
}

impl Members {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let teams = self.several.teams(context)?;
        context.out.page();
        let mut everybody = Vec::new();
        for team in &teams {
            let members = context.office.members(team)?;
            if context.out.json {
                everybody.extend(members);
                continue;
            }
            several::head(context, &teams, team)?;
            if members.is_empty() {
                context.out.note(format!("team {} has no members", safe::line(team.as_str())))?;
            } else {
                show(&mut context.out, &members, self.all)?;
            }
        }
        if context.out.json {
            context.out.document(&everybody)?;
        }
        Ok(0)
    }
}

/// So many members are shown, unless all are asked for.
const MOST: usize = 50;

pub(crate) fn show(out: &mut Out, members: &[MemberView], all: bool) -> Result<(), Failure> {
    for warning in members.iter().flat_map(|member| &member.warnings) {
        out.warn(warning)?;
    }
    let most = if all { usize::MAX } else { MOST };
    let is_shared = members.iter().any(|member| member.machine.is_some());
    let rows: Vec<Vec<Cell>> = members.iter().take(most).map(|member| row(out, member, is_shared)).collect();
    let machine = is_shared.then(|| whole("MACHINE"));
    let columns: Vec<Column> = [cut("NAME", 16)]
        .into_iter()
        .chain(machine)
        .chain([
            whole("STATE"),
            whole("UNREAD"),
            spare("PENDING", 3),
            spare("OLDEST", 4),
            spare("SEEN", 2),
            spare("MODEL", 5),
            cut("WHY", 20),
        ])
        .collect();
    out.table(&columns, rows)?;
    out.more(members.len().saturating_sub(most), "--all")?;
    Ok(())
}

/// A member's line; with its machine, where the team has members of others.
fn row(out: &Out, member: &MemberView, is_shared: bool) -> Vec<Cell> {
    let lead = if member.lead { " (lead)" } else { "" };
    let (word, style) = state(member.state);
    let name = Cell::styled(&format!("{}{lead}", member.name), Paint::of_member(member.color.as_deref()));
    let machine = is_shared.then(|| member.machine.as_deref().unwrap_or("-").into());
    let rest = vec![
        Cell::styled(&format!("{}{}", doing(word, member), out.times.for_a_while(member.since)), style),
        Cell::styled(
            &member.unread.to_string(),
            if member.unread > 0 { Paint::ATTENTION } else { Style::new() },
        ),
        member.pending.to_string().into(),
        out.times.ago_or_never(member.oldest_pending).into(),
        out.times.ago_or_never(member.last_seen).into(),
        member.model.as_deref().unwrap_or("-").into(),
        out.times.in_words(&member.why).into(),
    ];
    [name].into_iter().chain(machine).chain(rest).collect()
}

/// The state, and what it does where that says more.
fn doing(state: &str, member: &MemberView) -> String {
    match &member.activity {
        Some(activity) if activity.starts_with("waiting") => format!("{state} ({activity})"),
        _ => state.to_owned(),
    }
}

/// A state's word, and how it is shown.
pub(super) fn state(state: Presence) -> (&'static str, Style) {
    let style = match state {
        Presence::Online | Presence::Idle => Paint::GOOD,
        Presence::Stalled => Paint::BAD,
        Presence::Offline => Paint::ATTENTION,
        Presence::Unknown => Paint::DIM,
    };
    (state.as_str(), style)
}
