//! Spans and points of time on the command line.

use std::time::Duration;

use atm_wire::Stamp;
use jiff::tz::TimeZone;

use crate::failure::Failure;
use crate::when::{self, Edge};

pub(super) use crate::output::times::span;

/// A span for people.
pub(super) fn span_of(span_of: Duration) -> String {
    span(i64::try_from(span_of.as_millis()).unwrap_or(i64::MAX))
}

/// How long it is until a moment: to the minute where hours would be too coarse, and never less than there is.
pub(in crate::cmd) fn time_left(until: Stamp, now: Stamp) -> String {
    const MINUTE: i64 = 60_000;
    let left = (until.as_millis() - now.as_millis()).max(0);
    match (left + MINUTE - 1) / MINUTE {
        0 | 1 => span((left + 999) / 1_000 * 1_000),
        minutes if minutes < 180 => format!("{minutes} min"),
        minutes => span((minutes + 30) * MINUTE),
    }
}

/// Longer than anybody waits, and short enough to be added to any time.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// `30s`, `10m`, `2 hours`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let span = atm_wire::stamp::parse_duration(text).map_err(|error| error.to_string())?;
    Ok(span.min(LONGEST))
}

/// A time as people write it, where they are. Flags that name an end mean the last moment of a day.
pub(super) fn time(flag: &str, text: Option<&str>, now: Stamp) -> Result<Option<Stamp>, Failure> {
    let edge = if flag == "--until" { Edge::End } else { Edge::Start };
    let moment = |text: &str| when::parse(text, now, &TimeZone::system(), edge);
    text.map(moment).transpose().map_err(|error| {
        Failure::usage(format!("{flag} {error}")).hint(format!("write it {}", when::EXAMPLES))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_never_said_to_be_less() {
        let left = |ms: i64| time_left(Stamp::from_millis(1_000_000 + ms), Stamp::from_millis(1_000_000));
        for (ms, words) in [
            (-5, "0 ms"),
            (0, "0 ms"),
            (2_990, "3 s"),
            (3_000, "3 s"),
            (59_001, "1 min"),
            (1_799_900, "30 min"),
            (3 * 3_600_000 - 100, "3 h"),
        ] {
            assert_eq!(left(ms), words, "{ms} ms");
        }
    }
}
