//! Times as people write them: `yesterday`, `10am`, `monday 9:30`, `2 hours ago`, `2h`, or ISO 8601.
//!
//! Pure: the moment that is now and the place where it is read are given. What has no offset is local time.

use atm_wire::Stamp;
use atm_wire::stamp::{StampError, parse_duration};
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Which end of a day is meant by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// `--since yesterday`: from its first moment on.
    Start,
    /// `--until yesterday`: up to its last one.
    End,
}

/// What a text is not, in words that help.
pub(crate) type Trouble = String;

/// How to write a time, for hints.
pub(crate) const EXAMPLES: &str =
    "like yesterday, monday, 10am, `1 day ago`, 2h (that long ago), 2026-11-15 or 2026-11-15T18:00:00Z";

/// The moment that a text means.
pub(crate) fn parse(text: &str, now: Stamp, zone: &TimeZone, edge: Edge) -> Result<Stamp, Trouble> {
    let clean = text.trim().to_lowercase();
    if let Some(trouble) = without_unit(&clean) {
        return Err(trouble);
    }
    let here = Here { now, zone };
    let words: Vec<&str> =
        clean.split([' ', ',']).filter(|word| !matches!(*word, "" | "at" | "on")).collect();
    here.ago(&words)
        .or_else(|| here.day_and_time(&words, edge))
        .or_else(|| here.iso(text.trim()))
        .ok_or_else(|| format!("{text:?} is not a time"))
}

/// A number alone says no time. One that is long is an epoch.
fn without_unit(text: &str) -> Option<Trouble> {
    let is_number = !text.is_empty() && text.len() < 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| StampError::NoUnit(text.to_owned()).to_string())
}

/// Where and when a text is read.
struct Here<'a> {
    now: Stamp,
    zone: &'a TimeZone,
}

impl Here<'_> {
    fn today(&self) -> Date {
        let now = Timestamp::from_millisecond(self.now.as_millis()).unwrap_or_default();
        self.zone.to_datetime(now).date()
    }

    fn at(&self, moment: DateTime) -> Option<Stamp> {
        // Where clocks are put forward, the moment after the gap counts; where back, the first of the two.
        let moment = self.zone.to_ambiguous_timestamp(moment).compatible().ok()?;
        Some(Stamp::from_millis(moment.as_millisecond()))
    }

    /// `2 hours ago`, `an hour ago`, `2h`, `1h30m ago`.
    fn ago(&self, words: &[&str]) -> Option<Stamp> {
        if words == ["now"] {
            return Some(self.now);
        }
        let words = match words {
            [rest @ .., "ago"] => rest,
            all => all,
        };
        let words = match words {
            ["a" | "an" | "one", unit] => vec!["1", unit],
            all => all.to_vec(),
        };
        let months = match words[..] {
            [count, "month" | "months"] => Some((count, 1)),
            [count, "year" | "years"] => Some((count, 12)),
            _ => None,
        };
        let Some((count, months)) = months else {
            return Some(self.now.saturating_sub(parse_duration(&words.concat()).ok()?));
        };
        let before: Span = Span::new().try_months(count.parse::<i32>().ok()?.checked_mul(months)?).ok()?;
        let now = Timestamp::from_millisecond(self.now.as_millis()).ok()?;
        self.at(self.zone.to_datetime(now).checked_sub(before).ok()?)
    }

    /// A day, a time of day, or both.
    fn day_and_time(&self, words: &[&str], edge: Edge) -> Option<Stamp> {
        let joined = words.concat();
        if let Some(time) = time_of_day(&joined) {
            // The last time that it was so late.
            let today = self.at(self.today().to_datetime(time))?;
            if today <= self.now {
                return Some(today);
            }
            return self.at(self.today().yesterday().ok()?.to_datetime(time));
        }
        let (day, rest) = match words {
            ["last", day, rest @ ..] => (self.weekday(day, false)?, rest),
            [day, rest @ ..] => (self.day(day)?, rest),
            [] => return None,
        };
        match rest {
            [] if edge == Edge::End => {
                let end = self.at(day.tomorrow().ok()?.to_datetime(Time::midnight()))?;
                Some(Stamp::from_millis(end.as_millis() - 1))
            }
            [] => self.at(day.to_datetime(Time::midnight())),
            rest => self.at(day.to_datetime(time_of_day(&rest.concat())?)),
        }
    }

    fn day(&self, word: &str) -> Option<Date> {
        match word {
            "today" => Some(self.today()),
            "yesterday" => self.today().yesterday().ok(),
            word => self.weekday(word, true).or_else(|| word.parse().ok().filter(|_| word.len() == 10)),
        }
    }

    /// The last day of that name.
    fn weekday(&self, word: &str, with_today: bool) -> Option<Date> {
        const DAYS: [(&str, Weekday); 7] = [
            ("monday", Weekday::Monday),
            ("tuesday", Weekday::Tuesday),
            ("wednesday", Weekday::Wednesday),
            ("thursday", Weekday::Thursday),
            ("friday", Weekday::Friday),
            ("saturday", Weekday::Saturday),
            ("sunday", Weekday::Sunday),
        ];
        let is_it = |name: &str| word.len() >= 3 && name.starts_with(word);
        let (_, wanted) = DAYS.iter().find(|(name, _)| is_it(name))?;
        let today = self.today();
        if with_today && today.weekday() == *wanted {
            return Some(today);
        }
        today.nth_weekday(-1, *wanted).ok()
    }

    /// ISO 8601: with an offset as it stands, without one in local time.
    fn iso(&self, text: &str) -> Option<Stamp> {
        let is_local = text.parse::<Timestamp>().is_err();
        match text.parse::<DateTime>() {
            Ok(moment) if is_local && text.len() > 10 => self.at(moment),
            _ => Stamp::parse(text).ok(),
        }
    }
}

/// `10am`, `10:30`, `10:30:15pm`, `noon`, `midnight`.
fn time_of_day(text: &str) -> Option<Time> {
    match text {
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Some(Time::midnight()),
        _ => {}
    }
    let (digits, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        _ => (text, None),
    };
    let mut parts =
        digits.split(':').map(|part| (1..=2).contains(&part.len()).then(|| part.parse::<i8>().ok())?);
    let hour = parts.next()??;
    let minutes: Vec<i8> = parts.collect::<Option<_>>()?;
    let hour = match half {
        // An hour alone needs `am` or `pm`: it could be anything.
        None if minutes.is_empty() => return None,
        None => hour,
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
    };
    match minutes.as_slice() {
        [] => Time::new(hour, 0, 0, 0).ok(),
        [minute] => Time::new(hour, *minute, 0, 0).ok(),
        [minute, second] => Time::new(hour, *minute, *second, 0).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Tuesday, half past two in the afternoon, two hours east of Greenwich.
    fn read(text: &str, edge: Edge) -> Result<String, Trouble> {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = Stamp::parse("2026-11-17T12:30:00Z").unwrap();
        parse(text, now, &zone, edge).map(|moment| moment.to_string())
    }

    #[test]
    fn times_that_people_write() {
        for (text, expected) in [
            ("now", "2026-11-17T12:30:00.000Z"),
            ("today", "2026-11-16T22:00:00.000Z"),
            ("Yesterday", "2026-11-15T22:00:00.000Z"),
            ("monday", "2026-11-15T22:00:00.000Z"),
            ("tue", "2026-11-16T22:00:00.000Z"),
            ("last tuesday", "2026-11-09T22:00:00.000Z"),
            ("wednesday", "2026-11-10T22:00:00.000Z"),
            ("10am", "2026-11-17T08:00:00.000Z"),
            ("10 am", "2026-11-17T08:00:00.000Z"),
            ("12am", "2026-11-16T22:00:00.000Z"),
            ("12pm", "2026-11-17T10:00:00.000Z"),
            ("noon", "2026-11-17T10:00:00.000Z"),
            ("14:30", "2026-11-17T12:30:00.000Z"),
            ("11pm", "2026-11-16T21:00:00.000Z"),
            ("yesterday 10:30pm", "2026-11-16T20:30:00.000Z"),
            ("yesterday at 10am", "2026-11-16T08:00:00.000Z"),
            ("monday 9:15", "2026-11-16T07:15:00.000Z"),
            ("2026-11-01 9am", "2026-11-01T07:00:00.000Z"),
            ("2h", "2026-11-17T10:30:00.000Z"),
            ("1h30m", "2026-11-17T11:00:00.000Z"),
            ("1 day ago", "2026-11-16T12:30:00.000Z"),
            ("an hour ago", "2026-11-17T11:30:00.000Z"),
            ("30 minutes", "2026-11-17T12:00:00.000Z"),
            ("2 weeks ago", "2026-11-03T12:30:00.000Z"),
            ("1 month ago", "2026-10-17T12:30:00.000Z"),
            ("2026-11-15", "2026-11-14T22:00:00.000Z"),
            ("2026-11-15T18:00", "2026-11-15T16:00:00.000Z"),
            ("2026-11-15 18:00:00", "2026-11-15T16:00:00.000Z"),
            ("2026-11-15T18:00:00Z", "2026-11-15T18:00:00.000Z"),
            ("2026-11-15T18:00:00.5+01:00", "2026-11-15T17:00:00.500Z"),
            ("1794768087987", "2026-11-15T18:41:27.987Z"),
        ] {
            assert_eq!(read(text, Edge::Start).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_day_ends_with_its_last_moment() {
        for (text, expected) in [
            ("yesterday", "2026-11-16T21:59:59.999Z"),
            ("today", "2026-11-17T21:59:59.999Z"),
            ("2026-11-15", "2026-11-15T21:59:59.999Z"),
            ("yesterday 10am", "2026-11-16T08:00:00.000Z"),
            ("10am", "2026-11-17T08:00:00.000Z"),
        ] {
            assert_eq!(read(text, Edge::End).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_number_alone_is_refused_with_the_unit() {
        assert_eq!(read("30", Edge::Start).unwrap_err(), "30: of what? write 30s, 30m or 30h");
        for text in
            ["", "soon", "13pm", "25:00", "10", "ago", "day", "monday 10", "2026-13-01", "-2h", "5 ago"]
        {
            assert!(read(text, Edge::Start).is_err(), "{text:?}: {:?}", read(text, Edge::Start));
        }
    }

    /// Two in the morning was twice, and once not at all.
    #[test]
    fn clocks_that_are_put_forward_or_back_make_no_error() {
        let Ok(zone) = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3") else { panic!("a zone") };
        let now = Stamp::parse("2026-11-17T12:30:00Z").unwrap();
        for (text, expected) in [
            ("2026-10-25 02:30", "2026-10-25T00:30:00.000Z"),
            ("2026-03-29 02:30", "2026-03-29T01:30:00.000Z"),
        ] {
            assert_eq!(parse(text, now, &zone, Edge::Start).unwrap().to_string(), expected);
        }
    }
}
