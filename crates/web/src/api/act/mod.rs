//! Acting: each call does what its command does, and says which one that is in its first line.

pub(super) mod care;
pub(super) mod decide;
pub(super) mod mail;
pub(super) mod tasks;

use std::time::Duration;

use atm_office::office::USER;
use atm_wire::MemberName;
use atm_wire::stamp::parse_duration;

use crate::app::Fault;
use crate::problem::Problem;

/// As whom people who came by the token decide for the lead.
const PERSON: &str = "web";
/// Longer than anybody waits.
const LONGEST_SPAN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Who acts: as with `--as`, or the person who came by the token.
fn actor(named: Option<&str>) -> Result<MemberName, Fault> {
    Ok(MemberName::parse(named.filter(|name| !name.is_empty()).unwrap_or(USER))?)
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn span(name: &str, text: Option<&str>) -> Result<Option<Duration>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let span = parse_duration(text).map_err(|error| Problem::bad_request(format!("{name}: {error}")))?;
    Ok(Some(span.min(LONGEST_SPAN)))
}
