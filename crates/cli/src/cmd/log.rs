//! `atm log`

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{safe, table};

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The last so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    last: usize,
}

impl Log {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.remembered_team()?;
        let log = context.office.log(team.as_ref(), self.last)?;
        let out = &mut context.out;
        if out.json {
            out.document(&log)?;
            return Ok(0);
        }
        let line = |text: &str| safe::line(text).into_owned();
        let rows = log.iter().map(|message| {
            vec![
                message.timestamp.to_string(),
                line(&message.from),
                line(&format!("{}@{}", message.to, message.team)),
                message.stage_words(),
                line(message.summary.as_deref().unwrap_or(&message.r#type)),
                line(&message.id),
            ]
        });
        if log.is_empty() {
            out.note("nothing was sent or seen yet")?;
        } else {
            out.line(table::columns(&["SENT", "FROM", "TO", "STAGE", "WHAT", "ID"], rows))?;
        }
        Ok(0)
    }
}
