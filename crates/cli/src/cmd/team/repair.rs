//! `atm team repair`

use atm_upkeep::repair::{self, Repair as Repaired, Trouble};
use atm_wire::MemberName;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "\
Says what it would do; --apply does it. It finds inboxes of names that are nobody's (their mail goes to the member that
was meant, as it stands; `atm doctor --undo` brings it back), names that stand several times in the list
of members, and leads whose process has ended (entered as off; `atm team join` takes their place). A name that once
sent something is somebody who left, and no phantom.")]
pub(crate) struct Repair {
    /// Which [default: the one that commands would use here]
    name: Option<String>,
    /// Do it
    #[arg(long, alias = "yes")]
    apply: bool,
    /// Whose mail a phantom's really is, where nothing or too much is similar
    #[arg(long = "route", value_name = "PHANTOM=NAME", value_parser = route)]
    routes: Vec<(MemberName, MemberName)>,
}

fn route(text: &str) -> Result<(MemberName, MemberName), String> {
    let (phantom, to) = text.split_once('=').ok_or("it is PHANTOM=NAME")?;
    let name = |name: &str| MemberName::parse(name).map_err(|error| error.to_string());
    Ok((name(phantom)?, name(to)?))
}

impl Repair {
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let team = match &self.name {
            Some(name) => context.office.choose_team(Some(name), &context.cwd)?,
            None => context.team()?,
        };
        let repaired = repair::repair(&context.office, &team, &self.routes, self.apply)?;
        let out = &mut context.out;
        if out.json {
            out.document(&repaired)?;
            return Ok(());
        }
        let Repaired { applied, troubles, .. } = &repaired;
        if troubles.is_empty() {
            out.note(format!("team {} is in order", safe::line(team.as_str())))?;
        }
        for trouble in troubles {
            out.line(safe::line(&words(trouble, *applied)))?;
        }
        if !applied && troubles.iter().any(Trouble::has_remedy) {
            out.note("nothing was changed; --apply does it")?;
        }
        Ok(())
    }
}

fn words(trouble: &Trouble, applied: bool) -> String {
    let kept = |kept: &Option<std::path::PathBuf>| {
        kept.as_ref().map(|kept| format!("; kept in {}", kept.display())).unwrap_or_default()
    };
    match trouble {
        Trouble::PhantomInbox { name, unread, nearest, to, journal } => {
            let undo = journal
                .as_ref()
                .map(|id| format!("; `atm doctor --undo {id}` brings it back"))
                .unwrap_or_default();
            let what = format!("inbox {name} is nobody's, unread {unread}");
            match to {
                Some(to) if applied => format!("{what}: its mail went to {to}{undo}"),
                Some(to) => format!("{what}: its mail goes to {to}"),
                None if *unread == 0 && applied => format!("{what}: taken away{undo}"),
                None if *unread == 0 => format!("{what}: it is taken away"),
                None if nearest.is_empty() => format!("{what}: say whose it is with --route {name}=NAME"),
                None => {
                    format!("{what}: say whose it is, {}, with --route {name}=NAME", nearest.join(" or "))
                }
            }
        }
        Trouble::Orphaned { lead, why } => {
            let entered = if applied { "entered as off" } else { "it is entered as off" };
            format!("lead {lead}: {why}; {entered}; `atm team join` takes its place")
        }
        Trouble::DuplicateName { name, entries, stays, kept: place } => {
            let stay = if applied { "stayed" } else { "stays" };
            format!(
                "member {name} stands {entries} times in the list: number {} {stay}{}",
                stays + 1,
                kept(place)
            )
        }
    }
}
