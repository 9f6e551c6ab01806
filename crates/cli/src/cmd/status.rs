//! `atm status`

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use atm_office::people::members::MemberView;
use atm_office::protocol::signed;
use atm_office::trail::pending::Waiting;
use atm_wire::TeamName;
use clap::Args;
use serde::Serialize;

use super::duration::duration;
use super::{members, pending};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

/// Puts the cursor home and clears what is below.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Show it again whenever something changes (with --json, JSON Lines)
    #[arg(long)]
    watch: bool,
    /// With --watch, stop after this long: 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "watch")]
    r#for: Option<Duration>,
    /// With --watch, stop after N times
    #[arg(long, value_name = "N", requires = "watch")]
    count: Option<usize>,
}

#[derive(Serialize)]
struct Picture {
    team: TeamName,
    members: Vec<MemberView>,
    pending: Vec<Waiting>,
    lead_signs: bool,
    warnings: Vec<String>,
}

impl Picture {
    fn take(context: &Context, team: &TeamName) -> Result<Self, Failure> {
        let pending = context.office.pending(team)?;
        let members = context.office.members(team)?;
        let (lead_signs, warnings) =
            (context.office.lead_signs(team)?, atm_upkeep::access::warnings(&context.office, team));
        Ok(Self { team: team.clone(), members, pending, lead_signs, warnings })
    }

    /// What makes two pictures different: all but how long something waits.
    fn essence(&self) -> String {
        let waiting: Vec<_> = self.pending.iter().map(|w| (&w.message, w.why)).collect();
        serde_json::to_string(&(&self.members, waiting, self.lead_signs, &self.warnings)).unwrap_or_default()
    }

    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        let now = context.office.now();
        let out = &mut context.out;
        out.line(format!("team {}", safe::line(self.team.as_str())))?;
        if self.lead_signs {
            out.line(signed::WARNING)?;
        }
        for warning in &self.warnings {
            out.line(safe::line(&format!("warning: {warning}")))?;
        }
        members::show(out, &self.members, now)?;
        out.line("")?;
        if self.pending.is_empty() {
            out.line("nothing waits")?;
        } else {
            pending::show(out, &self.pending)?;
        }
        Ok(())
    }
}

impl Status {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        if self.watch {
            return self.watch(context, &team);
        }
        let picture = Picture::take(context, &team)?;
        if context.out.json {
            context.out.document(&picture)?;
        } else {
            picture.show(context)?;
        }
        Ok(0)
    }

    fn watch(self, context: &mut Context, team: &TeamName) -> Result<i32, Failure> {
        let deadline = self.r#for.map(|time| Instant::now() + time);
        // The watch begins before the first look, so that nothing falls between them.
        let mut watch = context.office.team_watch(team)?;
        let redraws = std::io::stdout().is_terminal();
        let mut left = self.count.unwrap_or(usize::MAX);
        let mut last = None;
        while left > 0 {
            let picture = Picture::take(context, team)?;
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
                    picture.show(context)?;
                    context.out.finish()?;
                }
                last = Some(essence);
                left -= 1;
            }
            if left > 0 && !watch.wait(deadline) {
                break;
            }
        }
        Ok(0)
    }
}
