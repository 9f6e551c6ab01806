//! `atm status`

mod member;

use std::io::IsTerminal;
use std::slice;
use std::time::Duration;

use atm_office::protocol::signed;
use atm_office::view::TeamPicture;
use atm_office::watch::{TeamsWatch, Wake};
use atm_wire::{MemberName, Stamp, TeamName};
use clap::Args;

use super::duration::duration;
use super::{members, pending};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

/// Presence changes without a change of files.
const SLOW_LOOK: Duration = Duration::from_secs(3);

/// Puts the cursor home and clears what is below.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

#[derive(Debug, Default, Args)]
pub(crate) struct Status {
    /// Only this member: whether it is there [default: the whole team]
    name: Option<MemberName>,
    /// With NAME, every piece of evidence, and how much it counts
    #[arg(long, requires = "name")]
    why: bool,
    /// Show it again whenever something changes (with --json, JSON Lines)
    #[arg(long, conflicts_with = "name")]
    watch: bool,
    /// With --watch, stop after this long: 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "watch")]
    r#for: Option<Duration>,
    /// With --watch, stop after N times
    #[arg(long, value_name = "N", requires = "watch")]
    count: Option<usize>,
}

fn take(context: &Context, team: &TeamName) -> Result<TeamPicture, Failure> {
    let mut picture = context.office.picture(team)?;
    picture.warnings.extend(atm_upkeep::access::warnings(&context.office, team));
    Ok(picture)
}

fn show(picture: &TeamPicture, context: &mut Context) -> Result<(), Failure> {
    let out = &mut context.out;
    out.line(format!("team {}", safe::line(picture.team.as_str())))?;
    if picture.lead_signs {
        out.line(signed::WARNING)?;
    }
    for warning in &picture.warnings {
        out.line(safe::line(&format!("warning: {warning}")))?;
    }
    members::show(out, &picture.members, false)?;
    out.line("")?;
    if picture.pending.is_empty() {
        out.line(picture.looked.nothing())?;
    } else {
        pending::show(out, &picture.pending, false)?;
    }
    // What is no mail: the table above has no place for it.
    for attention in picture.attention.iter().filter(|attention| attention.message.is_none()) {
        out.line(safe::line(&format!("attention: {}", attention.what)))?;
    }
    Ok(())
}

/// Waits until something changes, or it is time for a look that no file event tells of; says whether to go on.
fn wait(context: &Context, watch: &mut TeamsWatch, until: Option<Stamp>) -> bool {
    let look = context.office.now().saturating_add(SLOW_LOOK);
    let soonest = until.map_or(look, |until| until.min(look));
    match watch.sleep_until(Some(soonest)) {
        Wake::Changed(_) => true,
        Wake::Due => until.is_none_or(|until| context.office.now() < until),
        Wake::Over => false,
    }
}

impl Status {
    /// As it is where no command is given.
    pub(crate) fn bare() -> Self {
        Self::default()
    }

    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if let Some(name) = &self.name {
            member::show(context, name, self.why)?;
            return Ok(0);
        }
        let team = context.team()?;
        if self.watch {
            return self.watch(context, &team);
        }
        let picture = take(context, &team)?;
        if context.out.json {
            context.out.document(&picture)?;
        } else {
            show(&picture, context)?;
        }
        Ok(0)
    }

    fn watch(self, context: &mut Context, team: &TeamName) -> Result<i32, Failure> {
        let until = self.r#for.map(|time| context.office.now().saturating_add(time));
        // The watch begins before the first look, so that nothing falls between them.
        let mut watch = context.office.watch_teams(slice::from_ref(team));
        let redraws = std::io::stdout().is_terminal();
        let mut left = self.count.unwrap_or(usize::MAX);
        let mut last = None;
        while left > 0 {
            let picture = take(context, team)?;
            let essence = picture.essence();
            if last.as_ref() != Some(&essence) {
                if context.out.json {
                    context.out.json_line(&picture)?;
                } else {
                    if redraws {
                        context.out.raw(CLEAR)?;
                    } else if last.is_some() {
                        context.out.line("")?;
                    }
                    show(&picture, context)?;
                    context.out.finish()?;
                }
                last = Some(essence);
                left -= 1;
            }
            if left > 0 && !wait(context, &mut watch, until) {
                break;
            }
        }
        Ok(0)
    }
}
