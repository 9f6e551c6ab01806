//! `atm track`

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Track {
    /// The message: its id, or at least six characters of its start or end
    #[arg(value_name = "ID")]
    id: String,
}

impl Track {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.named_team()?;
        let track = context.office.track(team.as_ref(), &self.id)?;
        let out = &mut context.out;
        if out.json {
            out.document(&track)?;
            return Ok(0);
        }
        let summary = track.summary.as_deref().map(|summary| format!(": {summary}")).unwrap_or_default();
        let head = format!("{} → {}@{}{summary}", track.from, track.to, track.team);
        out.line(format!(
            "{}  {}",
            out.paint.bold(&safe::line(&head)),
            out.paint.dim(&safe::line(&track.id))
        ))?;
        for stage in &track.stages {
            let mut why = stage.evidence.what.clone();
            if let Some(by) = &stage.evidence.by {
                why = format!("{why}, by {by}");
            }
            if let Some(file) = &stage.evidence.file {
                why = format!("{why} ({file})");
            }
            out.line(format!("  {}  {:<9}  {}", stage.at, stage.stage.as_str(), safe::line(&why)))?;
        }
        Ok(0)
    }
}
