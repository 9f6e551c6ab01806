//! `atm verify`

use atm_ledger::Stage;
use atm_office::OfficeError;
use atm_office::trail::history::Search;
use atm_wire::TeamName;
use clap::Args;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// A message's id, or words of its text
    #[arg(value_name = "ID|TEXT")]
    what: String,
}

impl Verify {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.named_team()?;
        let track = match context.office.track(team.as_ref(), &self.what) {
            Err(OfficeError::NotRecorded { .. } | OfficeError::WhichMessage { .. }) => {
                let id = self.newest_with_words(context, team.as_ref())?;
                context.office.track(team.as_ref(), &id)?
            }
            tracked => tracked?,
        };
        let arrived = track.stage.includes(Stage::Written);
        let processed = track.is_processed();
        let out = &mut context.out;
        if out.json {
            let answer = serde_json::json!({
                "id": track.id, "to": track.to, "stage": track.stage, "arrived": arrived, "processed": processed,
            });
            out.document(&answer)?;
        } else {
            let word = |yes: bool| if yes { "yes" } else { "no" };
            let (arrived, processed, stage) = (word(arrived), word(processed), track.stage);
            let to = safe::line(&track.to).into_owned();
            out.line(format!(
                "{}: for {to}, arrived {arrived}, processed {processed} ({stage})",
                safe::line(&track.id)
            ))?;
        }
        Ok(0)
    }

    fn newest_with_words(&self, context: &Context, team: Option<&TeamName>) -> Result<String, Failure> {
        let search = Search { words: self.what.clone(), team: team.cloned(), limit: 1, ..Search::default() };
        let newest = context.office.search(&search)?.pop();
        newest.map(|message| message.id).ok_or_else(|| {
            let message = format!("no message {:?} was ever sent or seen here", self.what);
            Failure::new(ExitCode::NotFound, "no_such_message", message)
        })
    }
}
