//! What people want to be told, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use atm_wire::Stamp;

use crate::event::Kind;

/// A day has so many minutes.
const DAY: u16 = 24 * 60;

/// What people want to be told, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Of what.
    pub on: BTreeSet<Kind>,
    /// When not.
    pub quiet: Option<Quiet>,
    /// How little room makes a disk nearly full, in bytes; without it, a share of the disk decides.
    pub disk_below: Option<u64>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { on: Kind::ALL.into_iter().collect(), quiet: None, disk_below: None }
    }
}

/// A part of every day, in local time, in which nobody is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    from: u16,
    until: u16,
}

/// A text that names no part of a day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no part of a day; write it like 22:00-07:00")]
pub struct QuietError(String);

impl Quiet {
    /// Understands `22:00-07:00`.
    pub fn parse(text: &str) -> Result<Self, QuietError> {
        let wrong = || QuietError(text.to_owned());
        let (from, until) = text.split_once('-').ok_or_else(wrong)?;
        let (from, until) = (minute(from).ok_or_else(wrong)?, minute(until).ok_or_else(wrong)?);
        if from == until { Err(wrong()) } else { Ok(Self { from, until }) }
    }

    /// How many minutes it goes on, if it is quiet at this minute of the day.
    fn left(self, minute: u16) -> Option<u16> {
        let after = |start: u16, end: u16| (end + DAY - start) % DAY;
        let is_quiet = after(self.from, minute) < after(self.from, self.until);
        is_quiet.then(|| after(minute, self.until))
    }

    /// When it ends, if it is quiet now. `minute_of` gives the minute of the local day of a moment.
    pub fn ends(self, now: Stamp, minute_of: impl Fn(Stamp) -> u16) -> Option<Stamp> {
        let left = self.left(minute_of(now) % DAY)?;
        let into_minute = now.as_millis().rem_euclid(60_000);
        let until = now.saturating_add(Duration::from_secs(u64::from(left) * 60));
        Some(until.saturating_sub(Duration::from_millis(into_minute.unsigned_abs())))
    }
}

impl std::fmt::Display for Quiet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from, until } = self;
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, until / 60, until % 60)
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |text: &str, most: u16| {
        let is_plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|number| is_plain && *number <= most)
    };
    Some(number(hours, 23)? * 60 + number(minutes, 59)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_may_go_over_midnight() {
        let rows = [
            ("22:00-07:00", "21:59", None),
            ("22:00-07:00", "22:00", Some(9 * 60)),
            ("22:00-07:00", "00:00", Some(7 * 60)),
            ("22:00-07:00", "06:59", Some(1)),
            ("22:00-07:00", "07:00", None),
            ("9:00 - 17:30", "09:00", Some(8 * 60 + 30)),
            ("9:00 - 17:30", "17:30", None),
            ("9:00 - 17:30", "08:59", None),
            ("00:01-00:00", "00:00", None),
            ("00:01-00:00", "00:01", Some(DAY - 1)),
        ];
        for (quiet, at, expected) in rows {
            let left = Quiet::parse(quiet).unwrap().left(minute(at).unwrap());
            assert_eq!(left, expected, "{quiet} at {at}");
        }
        for wrong in
            ["", "22:00", "22-7", "22:00-24:00", "22:60-07:00", "07:00-07:00", "+2:00-07:00", "a:b-c:d"]
        {
            assert!(Quiet::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Quiet::parse("9:05-17:30").unwrap().to_string(), "09:05-17:30");
    }

    #[test]
    fn they_end_with_a_whole_minute() {
        let quiet = Quiet::parse("22:00-07:00").unwrap();
        let utc = |at: Stamp| u16::try_from(at.as_millis().rem_euclid(86_400_000) / 60_000).unwrap();
        let at = |text: &str| Stamp::parse(text).unwrap();
        let ends = quiet.ends(at("2026-11-17T23:30:45.500Z"), utc);
        assert_eq!(ends, Some(at("2026-11-18T07:00:00.000Z")));
        assert_eq!(quiet.ends(at("2026-11-18T07:00:00.000Z"), utc), None);
    }
}
