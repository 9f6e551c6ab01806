//! `atm status`

mod member;
pub(crate) mod show;

use std::io::IsTerminal;
use std::time::Duration;

use atm_office::sessions::{Recipient, WaitingSession};
use atm_office::view::TeamPicture;
use atm_office::watch::{TeamsWatch, Wake};
use atm_wire::{Stamp, TeamName};
use clap::Args;

use super::duration::duration;
use super::several::Several;
use crate::context::Context;
use crate::failure::Failure;
use show::Repeat;

/// Presence changes without a change of files.
const SLOW_LOOK: Duration = Duration::from_secs(3);

#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Status {
    /// Only this member or session: whether it is there [default: the whole team]
    name: Option<Recipient>,
    /// With NAME, every piece of evidence, and how much it counts
    #[arg(long, requires = "name")]
    why: bool,
    /// With NAME, when it came and went, the newest first, as far as anybody looked
    #[arg(long, requires = "name")]
    history: bool,
    /// One line for a prompt or a status bar: `✉3 !1`, unread mail for you and what needs a look; of all teams together where
    /// nothing says which is meant
    #[arg(long, conflicts_with = "name")]
    line: bool,
    #[command(flatten)]
    several: Several,
    /// Show it again whenever something changes (with --json, JSON Lines)
    #[arg(long, conflicts_with = "name")]
    watch: bool,
    /// With --watch, stop after this long: 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "watch")]
    r#for: Option<Duration>,
    /// With --watch, stop after N times
    #[arg(long, value_name = "N", requires = "watch")]
    count: Option<usize>,
    /// No command was given.
    #[arg(skip)]
    is_bare: bool,
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
        Self { is_bare: true, ..Self::default() }
    }

    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if let Some(name) = self.name {
            member::show(context, name, (self.why, self.history))?;
            return Ok(0);
        }
        let teams = match self.several.teams(context) {
            Err(Failure::Told(told)) if self.is_bare && !context.out.json && told.code == "no_teams" => {
                let waiting = context.office.sessions_beside(&[])?;
                show::sessions(&mut context.out, &waiting.iter().collect::<Vec<_>>())?;
                return show::how_to_begin(context).map(|()| 0);
            }
            Err(Failure::Told(told)) if self.is_bare && told.code == "which_team" => context.teams(true)?,
            // A status bar is in no team's folder, and has one line.
            Err(Failure::Told(told)) if self.line && told.code == "which_team" && !self.watch => {
                let teams = context.teams(true)?;
                let pictures = take(context, &teams)?;
                if context.out.json {
                    context.out.document(&pictures)?;
                } else {
                    context.out.line(show::marks(&pictures, waiting(&pictures).len()))?;
                }
                return Ok(0);
            }
            teams => teams?,
        };
        if self.watch {
            return self.watch(context, &teams);
        }
        context.out.page();
        let pictures = take(context, &teams)?;
        match pictures.as_slice() {
            [picture] if context.out.json && !self.several.all_teams => context.out.document(picture)?,
            pictures if context.out.json => context.out.document(pictures)?,
            pictures => self.show(pictures, context)?,
        }
        Ok(0)
    }

    fn show(&self, pictures: &[TeamPicture], context: &mut Context) -> Result<(), Failure> {
        let waiting = waiting(pictures);
        if self.line {
            if let [picture] = pictures {
                let marks = show::marks(std::slice::from_ref(picture), waiting.len());
                return Ok(context.out.line(marks)?);
            }
            let lines = show::lines(pictures, waiting.len());
            return lines.into_iter().try_for_each(|line| Ok(context.out.line(line)?));
        }
        let repeat = Repeat {
            team: pictures.len() > 1 || !context.global.team.is_empty(),
            who: context.global.who.is_some(),
        };
        for (at, picture) in pictures.iter().enumerate() {
            if at > 0 {
                context.out.line("")?;
            }
            show::picture(&mut context.out, picture, repeat)?;
        }
        if !waiting.is_empty() {
            context.out.line("")?;
        }
        show::sessions(&mut context.out, &waiting)
    }

    fn watch(self, context: &mut Context, teams: &[TeamName]) -> Result<i32, Failure> {
        let until = self.r#for.map(|time| context.office.now().saturating_add(time));
        // The watch begins before the first look, so that nothing falls between them.
        let mut watch = context.office.watch_teams(teams);
        let redraws = std::io::stdout().is_terminal() && !self.line;
        let mut left = self.count.unwrap_or(usize::MAX);
        let mut last = None;
        while left > 0 {
            let pictures = take(context, teams)?;
            let essence: Vec<String> = pictures.iter().map(TeamPicture::essence).collect();
            if last.as_ref() != Some(&essence) {
                if context.out.json {
                    for picture in &pictures {
                        context.out.json_line(picture)?;
                    }
                } else {
                    if redraws {
                        context.out.begin_frame()?;
                    } else if last.is_some() && !self.line {
                        context.out.line("")?;
                    }
                    self.show(&pictures, context)?;
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

/// The sessions that wait for their user, beside these pictures.
fn waiting(pictures: &[TeamPicture]) -> Vec<&WaitingSession> {
    pictures.iter().flat_map(|picture| &picture.sessions_waiting).collect()
}

/// What each team looks like now, to the one who asks, with the sessions beside them.
fn take(context: &Context, teams: &[TeamName]) -> Result<Vec<TeamPicture>, Failure> {
    let who = context.sender()?;
    let pictures: Result<Vec<_>, Failure> =
        teams.iter().map(|team| Ok(context.office.picture(team, &who)?)).collect();
    let mut pictures = pictures?;
    // Who names a team asks about that one alone.
    if context.global.team.is_empty() {
        context.office.put_sessions_beside(&mut pictures);
    }
    Ok(pictures)
}
