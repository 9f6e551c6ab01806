//! `atm mute`

use std::time::Duration;

use atm_office::view::mute::{Mute as Quiet, Muted};
use atm_wire::Stamp;
use clap::Args;

use super::duration::{duration, time_left};
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::table::{cut, whole};
use crate::output::{Out, ids, safe};

#[derive(Debug, Args)]
#[command(after_help = "\
What is muted needs nobody's attention: `atm status`, `atm ui` and `atm web` leave it out, and say how much is muted;
notifications wait until it ends. Mail still comes, waits and is written; `atm pending` lists it. A mute ends by itself, so that
nothing is hidden for good.")]
pub(crate) struct Mute {
    /// A member's name, a task's number, or a message: its id, or at least six characters of its start or end [default: list
    /// what is muted]
    #[arg(value_name = "NAME|TASK|ID")]
    what: Vec<String>,
    /// For how long: 30m, 2h, 7d
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "1d")]
    lasts: Duration,
    /// Hear of it again
    #[arg(long, requires = "what", conflicts_with = "lasts")]
    undo: bool,
}

impl Mute {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.office.team(&context.team()?)?;
        for what in &self.what {
            if !self.undo {
                team.mute(what, self.lasts)?;
            } else if team.unmute(what)?.is_none() {
                let why = format!("{} is not muted", safe::line(what));
                return Err(
                    Failure::new(ExitCode::NotFound, "not_muted", why).hint("`atm mute` lists what is")
                );
            }
        }
        let (mutes, now) = (team.mutes()?, context.office.now());
        let out = &mut context.out;
        if out.json {
            out.document(&mutes)?;
        } else if mutes.is_empty() {
            out.note("nothing is muted")?;
        } else {
            out.page();
            show(out, &mutes, now)?;
        }
        Ok(0)
    }
}

fn show(out: &mut Out, mutes: &[Quiet], now: Stamp) -> Result<(), Failure> {
    let row = |mute: &Quiet| {
        let (kind, what) = match mute.kind {
            Muted::Member => ("member", mute.what.clone()),
            Muted::Task => ("task", mute.what.clone()),
            Muted::Message => ("message", ids::short(&mute.what)),
        };
        vec![what.as_str().into(), kind.into(), time_left(mute.until, now).into()]
    };
    out.table(&[cut("MUTED", 10), whole("KIND"), whole("LEFT")], mutes.iter().map(row))?;
    Ok(())
}
