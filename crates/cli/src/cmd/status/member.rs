//! `atm status NAME`: whether one member is there.

use atm_office::people::presence::Weight;
use atm_wire::MemberName;

use crate::cmd::members::state;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{safe, table};

/// Shows a member's state; with `why`, every piece of evidence and how much it counts.
pub(super) fn show(context: &mut Context, name: &MemberName, why: bool) -> Result<(), Failure> {
    let team = context.team()?;
    let view = context.office.presence(&team, name)?;
    let out = &mut context.out;
    if out.json {
        out.document(&view)?;
        return Ok(());
    }
    let judged = &view.judgement;
    let line = format!("{} ({})", state(out.paint, judged.state), judged.why());
    out.line(format!("{name}: {}", safe::line(&line)))?;
    if !why {
        return Ok(());
    }
    let rows = judged.evidence.iter().map(|trace| {
        let weight = match trace.weight {
            Weight::Decides => "decides",
            Weight::Beside => "-",
            Weight::Overruled => "not believed",
        };
        vec![weight.to_owned(), safe::line(&trace.what).into_owned()]
    });
    out.line(table::columns(&["COUNTS", "EVIDENCE"], rows))?;
    Ok(())
}
