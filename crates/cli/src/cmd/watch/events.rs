//! `atm watch --since CURSOR`

use std::time::Instant;

use atm_office::watch::{EventView, Happening, Since};
use atm_wire::TeamName;

use super::Watch;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, closing, safe};

impl Watch {
    /// Shows every event since a cursor, as it comes.
    pub(super) fn follow(
        self,
        context: &mut Context,
        teams: &[TeamName],
        since: &Since,
    ) -> Result<i32, Failure> {
        let deadline = self.r#for.map(|time| Instant::now() + time);
        let stop = closing::stop_with_reader();
        let mut stream = context.office.follow(teams, &self.names, since, &stop)?;
        let mut left = self.count.unwrap_or(usize::MAX);
        while left > 0 {
            let Some(mut events) = stream.next(deadline)? else { break };
            events.truncate(left);
            left -= events.len();
            for event in &events {
                if context.out.json {
                    context.out.json_line(event)?;
                } else {
                    show(&mut context.out, event, teams.len() > 1)?;
                }
            }
            context.out.finish()?;
        }
        Ok(0)
    }
}

/// One line for a person.
fn show(out: &mut Out, event: &EventView, is_of_many: bool) -> std::io::Result<()> {
    let id = |id: &str| id.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect::<String>();
    let what = match &event.what {
        Happening::Message { id: message, from, to, text, summary, stage, .. } => {
            let words = summary.as_deref().unwrap_or(text);
            format!("{from} -> {to}  {}  {stage}  {words}", id(message))
        }
        Happening::Stage { id: message, to, stage } => format!("{to}  {}  {stage}", id(message)),
        Happening::Note { id: message, to, note } => format!("{to}  {}  ({note})", id(message)),
        Happening::Presence { member, state, was } => {
            let was = was.as_deref().map(|was| format!(" (was {was})")).unwrap_or_default();
            format!("{member} is {state}{was}")
        }
        Happening::Task { task, change, changed, now, was } => {
            let state = now.as_ref().or(was.as_ref());
            let subject = state.map(|state| state.subject.as_str()).unwrap_or_default();
            let status = now.as_ref().map(|state| format!("  {}", state.status)).unwrap_or_default();
            let owner = now.as_ref().and_then(|state| state.owner.as_deref());
            let owner = owner.map(|owner| format!("  {owner}")).unwrap_or_default();
            let fields =
                if changed.is_empty() { String::new() } else { format!(" ({})", changed.join(", ")) };
            format!("task {task} {change}{fields}{status}{owner}  {subject}")
        }
        Happening::Team { created } => {
            format!(
                "another team has this name, created {created}: what came before is of one that was deleted"
            )
        }
        Happening::Reset => {
            "the log is another one, or lost its end: look at everything anew; events go on from here"
                .to_owned()
        }
    };
    let at = event.at.map(|at| at.to_string()).unwrap_or_default();
    let team = if is_of_many { format!("{}: ", event.team) } else { String::new() };
    out.line(format!("{at}  {}", safe::line(&format!("{team}{what}"))))
}
