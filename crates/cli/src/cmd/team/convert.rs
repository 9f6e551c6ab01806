//! `atm team convert`

use atm_upkeep::convert::{self, ConvertPlan, ConvertedInbox, ConvertedTeam};
use atm_wire::counted;
use clap::Args;

use super::LayoutArg;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "\
Every message goes along with all its keys, read or unread as it was; `atm track` finds it as
before. Mail that is sent meanwhile, by whomever, is in one of the two, and shown. Agent clients
read arrays only, so while the team's lead runs, its mail is not made a log. The old files are kept
in the state folder's quarantine. If it is cut short, the team works as it is, and the same command
finishes it.")]
pub(crate) struct Convert {
    /// Which [default: the one that commands would use here]
    team: Option<String>,
    /// How mail is to be kept
    #[arg(long, value_enum)]
    to: LayoutArg,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Even if a client runs that will not see the mail
    #[arg(long)]
    force: bool,
}

impl Convert {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = super::meant(context, self.team.as_deref())?;
        let plan = ConvertPlan { to: self.to.into(), dry_run: self.dry_run, force: self.force };
        let mut progress = context.out.progress(&format!("converting {team}"));
        let done = convert::convert(&context.office, &team, plan, &mut |done, of| progress.at(done, of));
        drop(progress);
        let done = done?;
        let code = done.failed.map_or(0, |kind| ExitCode::from(kind).into());
        for inbox in &done.inboxes {
            let of = |what: &str| format!("{}@{}: {what}", inbox.name, done.team);
            for warning in &inbox.warnings {
                context.out.warn(&of(warning))?;
            }
            if let Some(error) = inbox.error.as_ref().filter(|_| !context.out.json) {
                context.out.warn(&format!("{}; it stays as it is", of(error)))?;
            }
        }
        for warning in &done.warnings {
            context.out.warn(warning)?;
        }
        if context.out.json {
            context.out.document(&done)?;
        } else {
            tell(context, &done)?;
        }
        Ok(code)
    }
}

fn tell(context: &mut Context, done: &ConvertedTeam) -> Result<(), Failure> {
    let changed: Vec<&ConvertedInbox> = done.inboxes.iter().filter(|inbox| inbox.converted).collect();
    for inbox in &changed {
        let whose = safe::line(&inbox.name);
        let mail = counted(inbox.messages, "message");
        context.out.line(format!("{whose}: {mail}, {} of them unread", inbox.unread))?;
    }
    let (team, to) = (safe::line(&done.team), done.to);
    let (inboxes, are) = if changed.len() == 1 { ("inbox", "is") } else { ("inboxes", "are") };
    context.out.note(match changed.len() {
        0 if done.inboxes.iter().any(|inbox| inbox.error.is_some()) => "nothing was converted".to_owned(),
        0 => format!("the mail of team {team} is in the {to} layout"),
        count if done.dry_run => {
            format!("{count} {inboxes} of team {team} would be brought into the {to} layout")
        }
        count => format!("{count} {inboxes} of team {team} {are} in the {to} layout now"),
    })?;
    Ok(())
}
