//! `atm status NAME`: whether one member is there.

use atm_office::people::presence::Weight;
use atm_wire::MemberName;

use crate::cmd::members::state;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::output::table::{cut, whole};

/// Shows a member's state; with `why`, every piece of evidence and how much it counts.
pub(super) fn show(context: &mut Context, name: &MemberName, why: bool) -> Result<(), Failure> {
    let team = context.team()?;
    let view = context.office.presence(&team, name)?;
    let out = &mut context.out;
    out.page();
    if out.json {
        out.document(&view)?;
        return Ok(());
    }
    let judged = &view.judgement;
    let (word, style) = state(judged.state);
    let state = out.paint.styled(style, word);
    out.line(format!("{name}: {state} ({})", safe::line(&judged.why())))?;
    if !why {
        return Ok(());
    }
    let rows = judged.evidence.iter().map(|trace| {
        let weight = match trace.weight {
            Weight::Decides => "decides",
            Weight::Beside => "-",
            Weight::Overruled => "not believed",
        };
        vec![weight.into(), (&trace.what).into()]
    });
    out.table(&[whole("COUNTS"), cut("EVIDENCE", 30)], rows)?;
    Ok(())
}
