//! A question that was sent: waiting for its answer, and showing it.

use std::time::Duration;

use atm_office::Team;
use atm_office::mail::send::Sent;
use atm_wire::MemberName;

use super::duration::span_of;
use super::send::tell_in;
use crate::failure::Failure;
use crate::output::Out;
use crate::output::message::{self, Extent, Flags};
use crate::stop;

/// A question that was sent.
#[derive(Debug)]
pub(super) struct Asked {
    /// Who asks.
    pub(super) from: MemberName,
    /// Who is asked.
    pub(super) of: MemberName,
    /// The id that the answer will carry.
    pub(super) request: String,
    /// What became of the letter.
    pub(super) sent: Sent,
}

impl Asked {
    /// Waits so long for the answer and shows it; without a time, says what was asked.
    pub(super) fn settle(
        self,
        out: &mut Out,
        team: &Team<'_>,
        timeout: Option<Duration>,
    ) -> Result<(), Failure> {
        let Self { from, of, request, sent } = self;
        for warning in &sent.warnings {
            out.warn(warning)?;
        }
        let Some(timeout) = timeout else {
            if out.json {
                out.document(&serde_json::json!({ "request": request, "sent": sent }))?;
            } else {
                out.line(&request)?;
            }
            return Ok(());
        };
        let waiting = out.waiting(&format!("waiting for {of} to answer, at most {}", span_of(timeout)));
        let answer = team.wait_for_answer(&from, &of, &request, timeout);
        drop(waiting);
        let answer = match answer {
            // Nobody waits any more, but it was asked.
            Err(_) if stop::has_cut_short() => {
                out.note(format!("asked {of} (request {request})"))?;
                return tell_in(out, &sent);
            }
            answer => answer?,
        };
        if out.json {
            out.document(&answer)?;
        } else {
            message::show(out, &[answer], Flags::Hidden, Extent::Whole)?;
        }
        Ok(())
    }
}
