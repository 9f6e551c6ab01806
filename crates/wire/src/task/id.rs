//! The number of a task.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::excerpt;

/// The greatest id that clients count right: they have numbers with 53 bits.
const GREATEST: u64 = (1 << 53) - 1;

/// The number of a task, as it stands in the name of its file: digits alone, so that it is safe as a part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(u64);

/// A text that is no task's number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a task's number; write it in digits, like 7")]
pub struct TaskIdError(String);

impl TaskId {
    /// Reads a number in its one spelling: no sign, no leading zero.
    pub fn parse(text: &str) -> Result<Self, TaskIdError> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        text.parse()
            .ok()
            .filter(|number| plain && *number <= GREATEST)
            .map(Self)
            .ok_or_else(|| TaskIdError(excerpt(text)))
    }

    /// The number that a file's name begins with, also where it is no task's: clients count these too when they look
    /// for the next one.
    pub fn counted(file_name: &str) -> Option<Self> {
        let stem = file_name.strip_suffix(".json")?;
        let digits = stem.len() - stem.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        stem[..digits].parse().ok().filter(|number| *number <= GREATEST).map(Self)
    }

    /// The one after it, if there is one that clients can count.
    pub fn next(self) -> Option<Self> {
        (self.0 < GREATEST).then(|| Self(self.0 + 1))
    }

    /// How many numbers it is after another one; 0 if it is not after it.
    pub fn ahead_of(self, other: Self) -> u64 {
        self.0.saturating_sub(other.0)
    }

    /// The number before every task's.
    pub const NONE: TaskId = TaskId(0);
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for TaskId {
    type Err = TaskIdError;

    fn from_str(text: &str) -> Result<Self, TaskIdError> {
        Self::parse(text)
    }
}

impl Serialize for TaskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_digits_are_an_id() {
        assert_eq!(TaskId::parse("17").unwrap().to_string(), "17");
        for wrong in [
            "",
            "01",
            "+1",
            "-1",
            "1.json",
            "../1",
            "1 ",
            "٣",
            "a",
            "9007199254740992",
            "99999999999999999999",
        ] {
            assert!(TaskId::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(TaskId::parse("9007199254740991").unwrap().next(), None);
        let [two, nine] = ["2", "9"].map(|text| TaskId::parse(text).unwrap());
        assert_eq!((nine.ahead_of(two), two.ahead_of(nine)), (7, 0));
    }

    #[test]
    fn odd_file_names_are_counted_as_clients_do() {
        let counted = |name| TaskId::counted(name).map(|id| id.to_string());
        assert_eq!(counted("012.json").as_deref(), Some("12"));
        assert_eq!(counted("7-old.json").as_deref(), Some("7"));
        assert_eq!((counted("notes.json"), counted("7"), counted(".json")), (None, None, None));
    }
}
