//! Going from inbox to inbox, for the commands of upkeep.

use atm_office::OfficeError;
use atm_upkeep::Progress;
use atm_upkeep::archive::{Tended, inboxes_meant};
use atm_wire::{Address, MemberName, TeamName};

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

/// Does `work` for each inbox that is meant, and shows what came of it. One that fails does not keep the others from
/// being done; it decides the exit code.
pub(super) fn each(
    context: &mut Context,
    names: Vec<Address>,
    what: &str,
    words: impl Fn(&Tended) -> Option<String>,
    mut work: impl FnMut(&Context, &TeamName, &MemberName, Progress) -> Result<Tended, OfficeError>,
) -> Result<i32, Failure> {
    let mut code = 0;
    let mut all = Vec::new();
    let meant = meant(context, names)?;
    let is_only_one = meant.len() == 1;
    for (team, name) in meant {
        let mut progress = context.out.progress(&format!("{what} {name}@{team}"));
        let done = work(context, &team, &name, &mut |done, of| progress.at(done, of));
        drop(progress);
        all.push(match done {
            Ok(tended) => tended,
            Err(error) if is_only_one => return Err(error.into()),
            Err(error) => {
                code = i32::from(ExitCode::from(&error));
                let (team, name) = (team.to_string(), name.to_string());
                Tended { team, name, error: Some(error.to_string()), ..Tended::default() }
            }
        });
    }
    let out = &mut context.out;
    for tended in &all {
        let of = |what: &String| format!("{}@{}: {what}", tended.name, tended.team);
        for warning in &tended.warnings {
            out.warn(&of(warning))?;
        }
        if let Some(error) = tended.error.as_ref().filter(|_| !out.json) {
            out.warn(&format!("{}; nothing was taken out of the inbox", of(error)))?;
        }
    }
    if out.json {
        out.document(&all)?;
        return Ok(code);
    }
    let lines: Vec<String> = all.iter().filter(|tended| tended.error.is_none()).filter_map(words).collect();
    if lines.is_empty() && code == 0 {
        out.note("nothing to do")?;
    }
    lines.iter().try_for_each(|line| out.line(line))?;
    Ok(code)
}

/// The inboxes that are meant, all of which must be there before anything is done.
fn meant(context: &Context, names: Vec<Address>) -> Result<Vec<(TeamName, MemberName)>, Failure> {
    let office = &context.office;
    if names.is_empty() {
        let team = context.team()?;
        let names = inboxes_meant(office, &team, &[])?;
        return Ok(names.into_iter().map(|name| (team.clone(), name)).collect());
    }
    let mut found = Vec::new();
    for address in names {
        let Address { name, team } = context.resolve(address)?;
        let team = team.map_or_else(|| context.team(), Ok)?;
        found.extend(inboxes_meant(office, &team, &[name])?.into_iter().map(|name| (team.clone(), name)));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The inbox, for the start of a line.
pub(super) fn whose(tended: &Tended) -> String {
    safe::line(&format!("{}@{}", tended.name, tended.team)).into_owned()
}

/// What is left in the inbox.
pub(super) fn left(tended: &Tended) -> String {
    let stay = if tended.left == 1 { "1 stays".to_owned() } else { format!("{} stay", tended.left) };
    match tended.unread {
        0 => stay,
        unread => format!("{stay}, {unread} of them unread"),
    }
}

/// What was packed, for the end of a line.
pub(super) fn packed(tended: &Tended) -> String {
    if tended.packed > 0 { "; the archive was packed".to_owned() } else { String::new() }
}
