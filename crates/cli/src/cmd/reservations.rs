//! `atm reservations`

use atm_office::reservations::ReservationView;
use atm_wire::Stamp;
use clap::Args;

use super::duration::time_left;
use crate::context::Context;
use crate::failure::Failure;
use crate::hint;
use crate::output::Out;
use crate::output::table::{cut, spare, whole};

#[derive(Debug, Args)]
pub(crate) struct Reservations {
    /// Those of all working trees
    #[arg(long)]
    all: bool,
}

impl Reservations {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let held = if self.all {
            let found = context.office.all_reservations()?;
            for error in &found.unreadable {
                let way_out = error.hint().map(|hint| format!("; {}", hint::words(&hint)));
                context.out.warn(&format!("not listed: {error}{}", way_out.unwrap_or_default()))?;
            }
            found.reservations
        } else {
            context.office.reservations(&context.cwd)?
        };
        let now = context.office.now();
        let out = &mut context.out;
        if out.json {
            out.document(&held)?;
        } else if held.is_empty() {
            out.note(if self.all {
                "nothing is reserved"
            } else {
                "nothing is reserved in this working tree"
            })?;
        } else {
            out.page();
            show(out, &held, now, self.all)?;
        }
        Ok(0)
    }
}

fn show(out: &mut Out, held: &[ReservationView], now: Stamp, all: bool) -> Result<(), Failure> {
    let rows = held.iter().map(|one| {
        let mut row = vec![
            one.path.as_str().into(),
            one.address().as_str().into(),
            time_left(one.until, now).into(),
            one.reason.as_deref().unwrap_or("-").into(),
        ];
        if all {
            row.push(one.tree.display().to_string().into());
        }
        row
    });
    let mut columns = vec![cut("PATH", 16), whole("HOLDER"), whole("LEFT"), spare("REASON", 1)];
    if all {
        columns.push(cut("TREE", 8));
    }
    out.table(&columns, rows)?;
    Ok(())
}
