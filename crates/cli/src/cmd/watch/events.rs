//! `atm watch --since CURSOR`

use std::time::Instant;

use atm_office::watch::{EventView, Happening, Since};
use atm_wire::TeamName;

use super::Watch;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::Paint;
use crate::output::{Out, closing, ids, safe};

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
        let mut names = Vec::new();
        for (name, teams) in self.named(context, teams)? {
            context.office.teams_that_know(&teams, &name)?;
            names.push(name);
        }
        let mut stream = context.office.follow(teams, &names, since, &stop)?;
        let mut left = self.count.unwrap_or(usize::MAX);
        while left > 0 {
            let waiting = context.out.waiting("watching; Ctrl-C ends it");
            let Some(mut events) = stream.next(deadline)? else { break };
            drop(waiting);
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
    let id = |id: &str| out.paint.dim(&ids::short(id));
    let team = if is_of_many { format!("@{}", event.team) } else { String::new() };
    let name = |name: &str| safe::line(&format!("{name}{team}")).into_owned();
    let (before, words) = match &event.what {
        Happening::Message { id: message, from, to, text, summary, stage, r#type, .. } => {
            let stage = out.paint.styled(Paint::of_stage(*stage), stage.as_str());
            let words = atm_office::view::gist(summary.as_deref(), r#type, text);
            (format!("{} → {}  {}  {stage}  ", safe::line(from), name(to), id(message)), words.to_owned())
        }
        Happening::Stage { id: message, to, stage } => {
            let stage = out.paint.styled(Paint::of_stage(*stage), stage.as_str());
            (format!("{}  {}  {stage}", name(to), id(message)), String::new())
        }
        Happening::Note { id: message, to, note } => {
            (format!("{}  {}  {note}", name(to), id(message)), String::new())
        }
        Happening::Presence { member, state, was } => {
            let was = was.as_deref().map(|was| format!(" (was {was})")).unwrap_or_default();
            (String::new(), format!("{} is {state}{was}", name(member)))
        }
        Happening::Task { task, change, changed, now, was } => {
            let state = now.as_ref().or(was.as_ref());
            let subject = state.map(|state| state.subject.as_str()).unwrap_or_default();
            let status = now.as_ref().map(|state| format!("  {}", state.status)).unwrap_or_default();
            let owner = now.as_ref().and_then(|state| state.owner.as_deref());
            let owner = owner.map(|owner| format!("  {owner}")).unwrap_or_default();
            let fields =
                if changed.is_empty() { String::new() } else { format!(" ({})", changed.join(", ")) };
            let task = name(&format!("task {task}"));
            (String::new(), format!("{task} {change}{fields}{status}{owner}  {subject}"))
        }
        Happening::Team { created } => {
            let created = out.times.date(*created);
            let words = format!(
                "another team is called {} since {created}: what came before is of one that was deleted",
                event.team
            );
            (String::new(), words)
        }
        Happening::Reset => {
            let words =
                "the log is another one, or lost its end: look at everything anew; events go on from here";
            (String::new(), words.to_owned())
        }
    };
    let at = event.at.map(|at| out.times.in_order(at)).unwrap_or_default();
    out.cut(&format!("{at}  {before}"), &words)
}
