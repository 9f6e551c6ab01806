//! Times for people: how long ago, or the local date and time; with `--utc`, in UTC.

use std::cell::OnceCell;

use atm_office::clock::{Clock, SystemClock};
use atm_wire::Stamp;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const JUST_NOW: &str = "just now";
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// How times are shown.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    utc: bool,
    now: Option<Stamp>,
    /// Where the person is: looked up when the first time is shown.
    zone: OnceCell<TimeZone>,
}

impl Times {
    pub(crate) fn new(utc: bool) -> Self {
        Self { utc, now: None, zone: OnceCell::new() }
    }

    /// As of a given moment and place.
    #[cfg(test)]
    pub(crate) fn at(now: Stamp, zone: TimeZone) -> Self {
        Self { utc: false, now: Some(now), zone: OnceCell::from(zone) }
    }

    /// How long ago that was, or the day if it was long ago.
    pub(crate) fn ago(&self, at: Stamp) -> String {
        match self.elapsed(at) {
            _ if self.utc => self.exact(at),
            elapsed if (-MINUTE..MINUTE).contains(&elapsed) => JUST_NOW.to_owned(),
            elapsed if (0..2 * DAY).contains(&elapsed) => format!("{} ago", span(elapsed)),
            _ => self.format(at, "%Y-%m-%d"),
        }
    }

    /// For how long something has been so, in brackets; nothing if that is not long.
    pub(crate) fn for_a_while(&self, since: Option<Stamp>) -> String {
        let elapsed = since.map_or(0, |since| self.elapsed(since));
        if elapsed < MINUTE { String::new() } else { format!(", {}", span(elapsed)) }
    }

    /// The same, of something that may never have been.
    pub(crate) fn ago_or_never(&self, at: Option<Stamp>) -> String {
        at.map_or_else(|| "-".to_owned(), |at| self.ago(at))
    }

    /// The time of day and how long ago that was; of earlier days, the date and the time.
    pub(crate) fn moment(&self, at: Stamp) -> String {
        match self.elapsed(at) {
            _ if self.utc => self.exact(at),
            elapsed if (-MINUTE..MINUTE).contains(&elapsed) => JUST_NOW.to_owned(),
            elapsed if (0..DAY).contains(&elapsed) => {
                format!("{} ({} ago)", self.format(at, "%H:%M"), span(elapsed))
            }
            _ => self.format(at, "%Y-%m-%d %H:%M"),
        }
    }

    /// Of a time as a file spells it: what is no time is shown as it stands.
    pub(crate) fn moment_of(&self, spelled: &str) -> String {
        Stamp::parse(spelled).map_or_else(|_| spelled.to_owned(), |at| self.moment(at))
    }

    /// A sentence in which stamps stand, with the times as people see them.
    pub(crate) fn in_words(&self, text: &str) -> String {
        let mut said = String::with_capacity(text.len());
        for word in text.split_inclusive(char::is_whitespace) {
            let core = word.trim_end_matches(|c: char| c.is_whitespace() || ".,;:)".contains(c));
            // A number alone would be taken for a time, too.
            let Some(at) = Stamp::parse(core).ok().filter(|_| core.contains('T')) else {
                said.push_str(word);
                continue;
            };
            let moment = self.moment(at);
            if moment == JUST_NOW && said.ends_with(" at ") {
                said.truncate(said.len() - "at ".len());
            }
            said.push_str(&moment);
            said.push_str(&word[core.len()..]);
        }
        said
    }

    /// For a column of times in order: the time of day, with the date where it is another day.
    pub(crate) fn in_order(&self, at: Stamp) -> String {
        let today = self.format(SystemClock.now(), "%Y-%m-%d");
        match self.now.map_or(today, |now| self.format(now, "%Y-%m-%d")) {
            _ if self.utc => self.exact(at),
            today if self.format(at, "%Y-%m-%d") == today => self.format(at, "%H:%M:%S"),
            _ => self.format(at, "%Y-%m-%d %H:%M"),
        }
    }

    /// The date and the time, of what is not read as a sequence.
    pub(crate) fn date(&self, at: Stamp) -> String {
        if self.utc { self.exact(at) } else { self.format(at, "%Y-%m-%d %H:%M") }
    }

    /// The date and the time, to the second.
    pub(crate) fn exact(&self, at: Stamp) -> String {
        if self.utc {
            let at = Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
            return at.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
        }
        self.format(at, "%Y-%m-%d %H:%M:%S")
    }

    fn elapsed(&self, at: Stamp) -> i64 {
        self.now.unwrap_or_else(|| SystemClock.now()).as_millis() - at.as_millis()
    }

    fn format(&self, at: Stamp, format: &str) -> String {
        let zone = self.zone.get_or_init(|| TimeZone::try_system().unwrap_or(TimeZone::UTC));
        let at = Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
        at.to_zoned(zone.clone()).strftime(format).to_string()
    }
}

/// A span for people: `3 s`, `12 min`, `5 h`.
pub(crate) fn span(milliseconds: i64) -> String {
    match milliseconds {
        ms if ms < 1_000 => format!("{ms} ms"),
        ms if ms < MINUTE => format!("{} s", ms / 1_000),
        ms if ms < 60 * MINUTE => format!("{} min", ms / MINUTE),
        ms if ms < 2 * DAY => format!("{} h", ms / (60 * MINUTE)),
        ms => format!("{} d", ms / DAY),
    }
}

/// For how long something has been so: what began this minute needs no number.
pub(crate) fn age(milliseconds: i64) -> String {
    if milliseconds < MINUTE { "less than a minute".to_owned() } else { span(milliseconds) }
}

/// The same in the few letters of a column.
pub(crate) fn brief_age(milliseconds: i64) -> String {
    if milliseconds < 1_000 { "< 1 s".to_owned() } else { span(milliseconds) }
}

#[cfg(test)]
mod tests {
    use jiff::tz::offset;

    use super::*;

    fn stamp(text: &str) -> Stamp {
        Stamp::parse(text).unwrap()
    }

    #[test]
    fn what_has_just_begun_is_not_counted_in_milliseconds() {
        for (milliseconds, in_words, in_column) in [
            (-5, "less than a minute", "< 1 s"),
            (340, "less than a minute", "< 1 s"),
            (59_999, "less than a minute", "59 s"),
            (2 * 60 * MINUTE, "2 h", "2 h"),
        ] {
            assert_eq!(
                (age(milliseconds), brief_age(milliseconds)),
                (in_words.to_owned(), in_column.to_owned())
            );
        }
    }

    #[test]
    fn people_see_their_own_time_and_how_long_ago_it_was() {
        let times = Times::at(stamp("2026-11-15T12:00:00Z"), TimeZone::fixed(offset(2)));
        for (at, ago, moment, in_order) in [
            ("2026-11-15T11:59:30Z", "just now", "just now", "13:59:30"),
            ("2026-11-15T11:48:00Z", "12 min ago", "13:48 (12 min ago)", "13:48:00"),
            ("2026-11-14T13:00:00Z", "23 h ago", "15:00 (23 h ago)", "2026-11-14 15:00"),
            ("2026-11-14T11:00:00Z", "25 h ago", "2026-11-14 13:00", "2026-11-14 13:00"),
            ("2025-01-02T23:30:00Z", "2025-01-03", "2025-01-03 01:30", "2025-01-03 01:30"),
            // Somebody's clock is wrong.
            ("2026-11-16T12:00:00Z", "2026-11-16", "2026-11-16 14:00", "2026-11-16 14:00"),
        ] {
            let at = stamp(at);
            assert_eq!(
                (times.ago(at), times.moment(at), times.in_order(at)),
                (ago.into(), moment.into(), in_order.into())
            );
        }
        assert_eq!(times.moment_of("half past ten"), "half past ten");
        let said = "sent mail at 2026-11-15T11:48:00.000Z; T is no time, 1794908576282 neither";
        assert_eq!(
            times.in_words(said),
            "sent mail at 13:48 (12 min ago); T is no time, 1794908576282 neither"
        );
        let said = "took mail at 2026-11-15T11:59:30.000Z; shutdownAt is 2026-11-15T11:59:30.000Z";
        assert_eq!(times.in_words(said), "took mail just now; shutdownAt is just now");
        let utc = Times::new(true);
        let at = stamp("2026-11-15T11:48:00Z");
        for shown in [utc.ago(at), utc.moment(at), utc.in_order(at), utc.exact(at)] {
            assert_eq!(shown, "2026-11-15 11:48:00Z");
        }
    }
}
