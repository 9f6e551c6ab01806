//! `atm hook pre-tool-use`: an edit of what somebody else has reserved is refused; everything else goes on, and so does an edit
//! of which we cannot tell.

use std::os::unix::process::parent_id;
use std::path::PathBuf;

use atm_clients::hook::{HookEvent, HookFormat, HookInput};
use atm_office::mail::hook::Whose;
use atm_office::reservations::{EditConflict, Holder};
use atm_wire::Stamp;

use super::whose;
use crate::cmd::duration::time_left;
use crate::context::Context;
use crate::output::safe;

/// A tool is about to be called.
pub(super) fn before_tool(
    context: &mut Context,
    input: &HookInput,
    format: &HookFormat,
) -> Result<i32, String> {
    let paths = input.edited_paths().map_err(|error| error.to_string())?;
    if paths.is_empty() {
        return Ok(0);
    }
    let cwd = input.cwd.as_ref().map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cwd = cwd.unwrap_or_else(|| context.cwd.clone());
    let covered = context.office.covering(&paths, &cwd).map_err(|error| error.to_string())?;
    // Who asks is found out where it matters.
    if covered.is_empty() {
        return Ok(0);
    }
    let who = caller(context, input)?;
    let Some(conflict) = context.office.edit_conflict(covered, &who) else { return Ok(0) };
    let answer = (format.answer)(HookEvent::BeforeTool, &words(&conflict, context.office.now()));
    if let Some(document) = answer.stdout {
        context.out.json_line(&document).map_err(|error| format!("an edit was not refused: {error}"))?;
    }
    Ok(answer.code)
}

/// A session is over: what it had reserved is free.
pub(super) fn session_ended(context: &mut Context, input: &HookInput) -> Result<(), String> {
    if !context.office.has_reservations() {
        return Ok(());
    }
    let who = caller(context, input)?;
    context.office.release_at_exit(&who).map(|_| ()).map_err(|error| error.to_string())
}

/// Who the session is.
fn caller(context: &mut Context, input: &HookInput) -> Result<Holder, String> {
    let office = context.office.clone();
    let named = |whose: Whose<'_>| (whose.team.name().clone(), whose.who);
    let member = whose(context, &office, input, named)?;
    let client = office.probe().client_above(u64::from(parent_id()));
    if member.is_none() && client.is_none() && input.session().is_empty() {
        // Nobody, and above all not the person at the keyboard.
        return Ok(Holder::default());
    }
    let member = member.as_ref().map(|(team, name)| (team, name));
    Ok(office.holder(member, Some(input.session()), client.as_ref()))
}

/// What the model is told: who, why, until when, and how to ask.
fn words(conflict: &EditConflict, now: Stamp) -> String {
    let EditConflict { path, by } = conflict;
    let path = safe::line(path);
    let holder = safe::line(&by.address()).into_owned();
    let reason = by.reason.as_ref().map(|reason| format!("; their reason: {:?}", safe::line(reason)));
    let ask = match by.mail_address() {
        Some(address) => format!(
            "To ask for it, write to {holder}: `atm send {} \"may I edit {path}?\"`, or the tool send_message.",
            safe::line(&address)
        ),
        None => "Your user can release it.".to_owned(),
    };
    format!(
        "Not edited: {path} is reserved by {holder} until {} ({} from now){}. {ask} Until then work on something else, and \
         do not change the file in another way.",
        by.until,
        time_left(by.until, now),
        reason.unwrap_or_default()
    )
}
