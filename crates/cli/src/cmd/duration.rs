//! Spans and points of time on the command line.

use std::time::Duration;

use atm_wire::Stamp;

use crate::failure::Failure;

pub(super) use crate::output::times::span;

/// Longer than anybody waits, and short enough to be added to any time.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// `30s`, `10m`; a number alone is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let span = atm_wire::stamp::parse_duration(text).map_err(|error| error.to_string())?;
    Ok(span.min(LONGEST))
}

/// A time, or how long ago.
pub(super) fn time(flag: &str, text: Option<&str>, now: Stamp) -> Result<Option<Stamp>, Failure> {
    text.map(|text| Stamp::parse_relative(text, now)).transpose().map_err(|error| {
        Failure::usage(format!("{flag}: {error}"))
            .hint("like 2026-11-15T18:00:00Z, or 10m for ten minutes ago")
    })
}
