//! `atm doctor`

use atm_office::ExitCode;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Mend what is wrong: a damaged ledger is set aside and made anew from the files
    #[arg(long)]
    fix: bool,
}

impl Doctor {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let checkup = context.office.check_ledger(self.fix)?;
        let out = &mut context.out;
        for warning in &checkup.warnings {
            out.warn(warning)?;
        }
        if out.json {
            out.document(&checkup)?;
        } else {
            let path = checkup.ledger.display().to_string();
            if let Some(trouble) = &checkup.trouble {
                out.line(format!("the ledger was found bad: {}", safe::line(trouble)))?;
            }
            if let Some(aside) = &checkup.set_aside {
                out.line(format!("it was set aside as {}", safe::line(&aside.display().to_string())))?;
            }
            if checkup.sound {
                out.line(format!(
                    "the ledger {} is sound: {} messages",
                    safe::line(&path),
                    checkup.messages
                ))?;
            } else {
                out.line("`atm doctor --fix` makes a new one from the files")?;
            }
        }
        Ok(if checkup.sound { 0 } else { i32::from(u8::from(ExitCode::BadData)) })
    }
}
