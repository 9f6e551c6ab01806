//! Moments and spans of time, in every spelling that is found in the files.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use jiff::tz::Offset;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::excerpt;

/// Numbers below this are seconds, not milliseconds: as milliseconds they would all lie before March 1973.
const LEAST_MILLIS: i64 = 100_000_000_000;

/// A moment: milliseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stamp(i64);

/// A text that says no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// Not a moment in any known spelling.
    #[error("\"{0}\" is not a time; write it like 2026-11-15T18:42:29.139Z")]
    NotATime(String),
    /// A moment outside the years that can be written.
    #[error("\"{0}\" is outside the years -9999 to 9999")]
    OutOfRange(String),
    /// Not a span of time.
    #[error("\"{0}\" is not a duration; write it like 30s, 10m or 1h30m")]
    NotADuration(String),
    /// A number without a unit.
    #[error("{0}: of what? write {0}s, {0}m or {0}h")]
    NoUnit(String),
}

impl Stamp {
    /// The moment `millis` milliseconds after 1970, or the nearest one that can be written.
    pub fn from_millis(millis: i64) -> Self {
        // Whole seconds, since jiff takes no milliseconds after the last of them.
        Self(millis.clamp(jiff::Timestamp::MIN.as_second() * 1000, jiff::Timestamp::MAX.as_second() * 1000))
    }

    /// Milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This long after it.
    #[must_use]
    pub fn saturating_add(self, span: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(millis_of(span)))
    }

    /// This long before it.
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        Self::from_millis(self.0.saturating_sub(millis_of(span)))
    }

    /// How long after `earlier` this is; nothing when it is not after it.
    pub fn since(self, earlier: Stamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whether this can be at `moment` or later. Some programs know whole seconds only: what they did in the same
    /// second counts.
    pub fn may_be_since(self, moment: Stamp) -> bool {
        let is_whole = self.0.rem_euclid(1000) == 0;
        self >= moment || (is_whole && self.0.div_euclid(1000) == moment.0.div_euclid(1000))
    }

    /// Reads a moment as any of the programs around us writes it: RFC 3339 with all its liberties, without an
    /// offset (then it is UTC), a date alone, or the digits of an epoch time.
    pub fn parse(text: &str) -> Result<Self, StampError> {
        let trimmed = text.trim();
        if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
            return trimmed
                .parse()
                .ok()
                .and_then(of_number)
                .ok_or_else(|| StampError::OutOfRange(excerpt(text)));
        }
        let cut = cut_fraction(trimmed);
        cut.parse::<jiff::Timestamp>()
            .ok()
            .or_else(|| without_offset(&cut))
            .map(|moment| Self::from_millis(floor_millis(moment)))
            .ok_or_else(|| StampError::NotATime(excerpt(text)))
    }

    /// Reads a moment from a JSON value: a string as in [`Stamp::parse`], or a number of milliseconds or seconds.
    pub fn from_json(raw: &str) -> Result<Self, StampError> {
        let raw = raw.trim();
        if raw.starts_with('"') {
            let text: String = serde_json::from_str(raw).map_err(|_| StampError::NotATime(excerpt(raw)))?;
            return Self::parse(&text);
        }
        let number: serde_json::Number =
            serde_json::from_str(raw).map_err(|_| StampError::NotATime(excerpt(raw)))?;
        let moment = match number.as_i64() {
            Some(whole) => of_number(whole),
            None => number.as_f64().and_then(of_float),
        };
        moment.ok_or_else(|| StampError::OutOfRange(excerpt(raw)))
    }

    /// The moment as part of a file name: `20261115-184229-139`.
    pub fn file_name(&self) -> String {
        self.moment().strftime("%Y%m%d-%H%M%S-%3f").to_string()
    }

    /// The moment as mail has it in its headers: `Sun, 15 Nov 2026 18:42:29 +0000`.
    pub fn mail_date(&self) -> String {
        self.moment().strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
    }

    /// The moment as it stands in the line that begins a message of an mbox: `Sun Nov 15 18:42:29 2026`.
    pub fn mbox_date(&self) -> String {
        self.moment().strftime("%a %b %e %H:%M:%S %Y").to_string()
    }

    fn moment(self) -> jiff::Timestamp {
        // Every constructor keeps the number within jiff's range, so the default is never taken.
        jiff::Timestamp::from_millisecond(self.0).unwrap_or_default()
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.moment())
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get()).map_err(serde::de::Error::custom)
    }
}

/// Reads a span of time: `30s`, `10m`, `1h30m`, `500ms`, `7d`, `1w`, `2 hours`. A number alone says nothing, but for 0.
pub fn parse_duration(text: &str) -> Result<Duration, StampError> {
    let trimmed = text.trim();
    if let Some(span) = spans(trimmed) {
        return Ok(span);
    }
    let is_number = !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit());
    match trimmed {
        "0" => Ok(Duration::ZERO),
        number if is_number && number.len() < 20 => Err(StampError::NoUnit(number.to_owned())),
        _ => Err(StampError::NotADuration(excerpt(text))),
    }
}

/// The sum of one or more numbers, each with its unit.
fn spans(mut text: &str) -> Option<Duration> {
    let mut sum: Option<Duration> = None;
    while !text.is_empty() {
        let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
        let (unit, rest) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let number: u64 = digits.parse().ok()?;
        let span = match unit.trim() {
            "ms" => Duration::from_millis(number),
            "s" | "sec" | "secs" | "second" | "seconds" => Duration::from_secs(number),
            "m" | "min" | "mins" | "minute" | "minutes" => Duration::from_secs(number.checked_mul(60)?),
            "h" | "hour" | "hours" => Duration::from_secs(number.checked_mul(3600)?),
            "d" | "day" | "days" => Duration::from_secs(number.checked_mul(86_400)?),
            "w" | "week" | "weeks" => Duration::from_secs(number.checked_mul(604_800)?),
            _ => return None,
        };
        sum = Some(sum.unwrap_or_default().checked_add(span)?);
        text = rest;
    }
    sum
}

fn millis_of(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// Whole milliseconds, always rounded towards the past, so that cutting digits never moves a moment forward.
fn floor_millis(moment: jiff::Timestamp) -> i64 {
    let floor = moment.as_nanosecond().div_euclid(1_000_000);
    i64::try_from(floor).unwrap_or(if floor < 0 { i64::MIN } else { i64::MAX })
}

/// A moment from an epoch number, when it lies in the range that can be written.
fn of_number(number: i64) -> Option<Stamp> {
    let millis =
        if number.unsigned_abs() < LEAST_MILLIS.unsigned_abs() { number.checked_mul(1000)? } else { number };
    let stamp = Stamp::from_millis(millis);
    (stamp.0 == millis).then_some(stamp)
}

fn of_float(number: f64) -> Option<Stamp> {
    #[expect(clippy::cast_precision_loss, reason = "the threshold is a power of ten far below 2^53")]
    let least = LEAST_MILLIS as f64;
    let millis = (if number.abs() < least { number * 1000.0 } else { number }).floor();
    // Beyond 2^53 a float is no longer exact, and long before that no year is left.
    if millis.abs() > 9e15 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
    let whole = millis as i64;
    let stamp = Stamp::from_millis(whole);
    (stamp.0 == whole).then_some(stamp)
}

/// Cuts a fraction of a second to nine digits: all that can be stored, and more than we keep.
fn cut_fraction(text: &str) -> Cow<'_, str> {
    let Some(point) = text.find(['.', ',']) else { return Cow::Borrowed(text) };
    let (head, fraction) = text.split_at(point + 1);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if digits <= 9 {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{head}{}{}", &fraction[..9], &fraction[digits..]))
}

fn without_offset(text: &str) -> Option<jiff::Timestamp> {
    Offset::UTC.to_timestamp(text.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const NOON: &str = "2026-11-15T12:00:00.000Z";

    #[rstest]
    #[case("2026-11-15T18:42:29.139Z", "2026-11-15T18:42:29.139Z")]
    #[case("2026-11-15T18:42:29Z", "2026-11-15T18:42:29.000Z")]
    #[case("2026-11-15t18:42:29.5z", "2026-11-15T18:42:29.500Z")]
    #[case("2026-11-15 18:42:29.1399999999999999Z", "2026-11-15T18:42:29.139Z")]
    #[case("2026-11-15T18:42:29.139+02:00", "2026-11-15T16:42:29.139Z")]
    #[case("2026-11-15T18:42:29+0000", "2026-11-15T18:42:29.000Z")]
    #[case("2026-11-15T18:42:29-0530", "2026-11-16T00:12:29.000Z")]
    #[case("2026-11-15T18:42:29.123456", "2026-11-15T18:42:29.123Z")]
    #[case("2026-11-15 18:42:29", "2026-11-15T18:42:29.000Z")]
    #[case("2026-11-15T18:42", "2026-11-15T18:42:00.000Z")]
    #[case("2026-11-15", "2026-11-15T00:00:00.000Z")]
    #[case("1794768087987", "2026-11-15T18:41:27.987Z")]
    #[case("1794768087", "2026-11-15T18:41:27.000Z")]
    #[case("0", "1970-01-01T00:00:00.000Z")]
    #[case(" 2026-11-15 ", "2026-11-15T00:00:00.000Z")]
    #[case("1969-12-31T23:59:59.99999Z", "1969-12-31T23:59:59.999Z")]
    fn spellings(#[case] text: &str, #[case] iso: &str) {
        assert_eq!(Stamp::parse(text).unwrap().to_string(), iso);
        assert_eq!(Stamp::from_json(&serde_json::to_string(text).unwrap()).unwrap().to_string(), iso);
    }

    #[rstest]
    #[case("")]
    #[case("yesterday")]
    #[case("2026-13-01T00:00:00Z")]
    #[case("2026-02-30")]
    #[case("99999-01-01T00:00:00Z")]
    #[case("99999999999999999999999999")]
    #[case("9223372036854775807")]
    #[case("2026-11-15T18:42:29.")]
    #[case("2026-11-15T18:42:29.é")]
    fn refused(#[case] text: &str) {
        assert!(Stamp::parse(text).is_err(), "{text}");
    }

    #[rstest]
    #[case("1794768087987", 1_794_768_087_987)]
    #[case("1794768087", 1_794_768_087_000)]
    #[case("1794768087.9876", 1_794_768_087_987)]
    #[case("1.794768087987e12", 1_794_768_087_987)]
    #[case("-1", -1000)]
    #[case("\"1794768087987\"", 1_794_768_087_987)]
    fn json_numbers(#[case] raw: &str, #[case] millis: i64) {
        assert_eq!(Stamp::from_json(raw).unwrap().as_millis(), millis);
    }

    #[rstest]
    #[case("null")]
    #[case("true")]
    #[case("{}")]
    #[case("1e300")]
    #[case("-1e300")]
    #[case("-9223372036854775808")]
    #[case("18446744073709551615")]
    #[case("\"")]
    #[case("")]
    fn json_refused(#[case] raw: &str) {
        assert!(Stamp::from_json(raw).is_err(), "{raw}");
    }

    #[test]
    fn extremes_are_clamped_and_can_be_shown() {
        for millis in [i64::MIN, i64::MAX] {
            let stamp = Stamp::from_millis(millis);
            assert_eq!(Stamp::parse(&stamp.to_string()).unwrap(), stamp);
            assert!(!stamp.file_name().is_empty());
            assert_eq!(stamp.saturating_add(Duration::MAX), Stamp::from_millis(i64::MAX));
            assert_eq!(stamp.saturating_sub(Duration::MAX), Stamp::from_millis(i64::MIN));
        }
    }

    #[test]
    fn file_names() {
        let stamp = Stamp::parse("2026-11-15T18:42:29.139Z").unwrap();
        assert_eq!(stamp.file_name(), "20261115-184229-139");
        assert_eq!(Stamp::parse(NOON).unwrap().file_name(), "20261115-120000-000");
    }

    #[rstest]
    #[case("30s", 30_000)]
    #[case("30 seconds", 30_000)]
    #[case("1 hour 5 min", 3_900_000)]
    #[case("1h30m", 5_400_000)]
    #[case("500ms", 500)]
    #[case("1s500ms", 1_500)]
    #[case("0", 0)]
    fn durations(#[case] text: &str, #[case] millis: u64) {
        assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(millis));
    }

    #[rstest]
    #[case("")]
    #[case("m")]
    #[case("10y")]
    #[case("1h30")]
    #[case("-5s")]
    #[case("18446744073709551615w")]
    fn durations_refused(#[case] text: &str) {
        assert!(parse_duration(text).is_err(), "{text}");
    }

    #[test]
    fn a_number_alone_is_refused_with_its_units() {
        let error = parse_duration("30").unwrap_err();
        assert_eq!(error.to_string(), "30: of what? write 30s, 30m or 30h");
    }

    #[test]
    fn since_never_goes_below_nothing() {
        let (early, late) = (Stamp::from_millis(1_000), Stamp::from_millis(4_000));
        assert_eq!(late.since(early), Duration::from_secs(3));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in ".*|[0-9T:. +Zz-]*|[0-9]{4}-[0-9]{2}-[0-9]{2}.[0-9:.,]*", millis in any::<i64>()) {
            let _ = Stamp::from_millis(millis);
            let _ = Stamp::parse(&text);
            let _ = Stamp::from_json(&text);
            let _ = parse_duration(&text);
        }

        #[test]
        fn every_number_is_a_moment_or_an_error(number in any::<f64>(), whole in any::<i64>()) {
            let _ = Stamp::from_json(&number.to_string());
            let _ = Stamp::from_json(&whole.to_string());
        }

        #[test]
        fn written_stamps_read_back(millis in any::<i64>()) {
            let stamp = Stamp::from_millis(millis);
            prop_assert_eq!(Stamp::parse(&stamp.to_string()).unwrap(), stamp);
        }

        #[test]
        fn order_of_text_is_order_of_time(a in 0..4_000_000_000_000i64, b in 0..4_000_000_000_000i64) {
            let (a, b) = (Stamp::from_millis(a), Stamp::from_millis(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }
}
