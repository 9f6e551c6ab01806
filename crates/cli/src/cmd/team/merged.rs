//! What was added to a team, for `atm team restore --merge` and `atm team import`.

use atm_upkeep::merge::{Count, Merged};
use atm_wire::counted;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

pub(super) fn tell(context: &mut Context, done: &Merged) -> Result<(), Failure> {
    let out = &mut context.out;
    for warning in &done.warnings {
        out.warn(warning)?;
    }
    if out.json {
        out.document(done)?;
        return Ok(());
    }
    let verb = if done.dry_run { "would add" } else { "added" };
    let whole = if done.created { " (a new team)" } else { "" };
    out.note(format!("{verb} to team {}{whole}:", safe::line(&done.team)))?;
    let names =
        if done.members.is_empty() { String::new() } else { format!(": {}", done.members.join(", ")) };
    out.note(format!("  {}{}", counted(done.members.len(), "member"), safe::line(&names)))?;
    let mut line = |what: &str, count: Count| {
        let known = if count.known > 0 { format!("; {} already there", count.known) } else { String::new() };
        out.note(format!("  {}{known}", counted(count.added, what)))
    };
    line("message", done.messages)?;
    line("archived message", done.archived)?;
    line("task", done.tasks)?;
    line("other file", done.files)?;
    Ok(())
}
