//! `atm track`

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, safe};

#[derive(Debug, Args)]
pub(crate) struct Track {
    /// The message: its id, at least six characters of its start or end, words of its text, or `last` for the last that
    /// you sent
    #[arg(value_name = "ID|TEXT|last")]
    what: String,
}

impl Track {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.remembered_team()?;
        let id = context.office.message_meant(team.as_ref(), &context.sender()?, &self.what)?;
        let track = context.office.track(team.as_ref(), &id)?;
        if context.out.json {
            context.out.document(&track)?;
        } else {
            show(&mut context.out, &track)?;
        }
        Ok(0)
    }
}

/// The message's way, a line for each stage.
pub(super) fn show(out: &mut Out, track: &atm_office::trail::track::Track) -> Result<(), Failure> {
    let summary = track.summary.as_deref().map(|summary| format!(": {summary}")).unwrap_or_default();
    let head = format!("{} → {}@{}{summary}", track.from, track.to, track.team);
    out.line(format!("{}  {}", out.paint.bold(&safe::line(&head)), out.paint.dim(&safe::line(&track.id))))?;
    let word = |yes: bool| if yes { "yes" } else { "no" };
    out.line(format!("  arrived {}, processed {}", word(track.arrived), word(track.processed)))?;
    out.line(format!("  {}  sent", track.timestamp))?;
    for stage in &track.stages {
        let mut why = stage.evidence.what.clone();
        if stage.evidence.no_later_than {
            why = format!("{why}, then or earlier");
        }
        if let Some(by) = &stage.evidence.by {
            why = format!("{why}, by {by}");
        }
        if let (Some(before), Some(after)) = (&stage.evidence.before, &stage.evidence.after) {
            why = format!("{why}; before: {before}; after: {after}");
        }
        if let Some(file) = &stage.evidence.file {
            why = format!("{why} ({file})");
        }
        out.line(format!("  {}  {:<9}  {}", stage.at, stage.stage.as_str(), safe::line(&why)))?;
    }
    Ok(())
}
