//! Who reserves and releases paths from the command line.

use std::os::unix::process::parent_id;

use atm_office::mail::hook::Caller;
use atm_office::reservations::Holder;

use super::recipient::session_here;
use crate::context::Context;
use crate::failure::Failure;

/// Whom `--as` names, else the member whose session we run in, else that session, else the person at the keyboard.
pub(super) fn holder(context: &Context) -> Result<Holder, Failure> {
    let office = &context.office;
    let session = session_here(context).unwrap_or_default();
    let parent = u64::from(parent_id());
    let client = office.probe().named_client_above(parent);
    let member = if context.identity()?.is_some() {
        let team = office.team(&context.team()?)?;
        let who = context.sender_in(&team)?;
        Some((team.name().clone(), who))
    } else {
        let caller = Caller { session: &session, parent, ..Caller::default() };
        let found = office.whose(&caller).ok().flatten();
        found.map(|found| (found.team.name().clone(), found.who))
    };
    let member = member.as_ref().map(|(team, name)| (team, name));
    Ok(office.holder(member, Some(session.as_str()), client.as_ref()))
}
