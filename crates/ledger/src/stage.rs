//! How far a message came, and how we know.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A stage of a message. A later one of the main line implies the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// We have it, durably, and will write it.
    #[default]
    Accepted,
    /// It is in the recipient's inbox file.
    Written,
    /// It is there, and its recipient was off.
    Queued,
    /// Somebody without a lock undid it, and it was put back.
    Restored,
    /// Somebody else was told that it waits.
    Escalated,
    /// The client consumed it: it is marked as read, or gone from the file.
    Taken,
    /// Somebody undid it again and again: it is not put back any more, and a person has to see to it.
    Held,
    /// It is in the recipient's conversation, or was handed to the recipient by us.
    Seen,
    /// The recipient acknowledged it.
    Acked,
    /// It was answered, or the task that it is about was completed.
    Done,
    /// It will not be read: its team is gone.
    Failed,
    /// Nobody acted on it in time.
    Expired,
    /// Its sender took it back before anybody read it.
    Recalled,
}

impl Stage {
    /// All of them, in their order.
    pub const ALL: [Self; 13] = [
        Self::Accepted,
        Self::Written,
        Self::Queued,
        Self::Restored,
        Self::Escalated,
        Self::Taken,
        Self::Held,
        Self::Seen,
        Self::Acked,
        Self::Done,
        Self::Failed,
        Self::Expired,
        Self::Recalled,
    ];

    /// Whether a message that is here came as far as `wanted`. What is held, failed, expired or recalled did not come any
    /// further than into its inbox.
    pub fn includes(self, wanted: Self) -> bool {
        match self {
            Self::Held => wanted == self || wanted < Self::Taken,
            Self::Failed | Self::Expired | Self::Recalled => wanted == self,
            _ => wanted <= self,
        }
    }

    /// Whether it comes no further by itself.
    pub fn is_stuck(self) -> bool {
        matches!(self, Self::Held | Self::Failed | Self::Expired | Self::Recalled)
    }

    /// The spelling in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Written => "written",
            Self::Queued => "queued",
            Self::Restored => "restored",
            Self::Escalated => "escalated",
            Self::Taken => "taken",
            Self::Held => "held",
            Self::Seen => "seen",
            Self::Acked => "acked",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Recalled => "recalled",
        }
    }

    /// Its rank: a message is where the highest rank of all that is known of it is, in whatever order that came. `seen`
    /// is proof, so it outranks `failed`, `expired` and `recalled`.
    pub(crate) fn rank(self) -> i64 {
        match self {
            Self::Accepted => 10,
            Self::Written => 20,
            Self::Queued => 22,
            Self::Restored => 24,
            Self::Escalated => 26,
            Self::Taken => 30,
            // Above `taken`: that the inbox is drained later does not mean that this was in it.
            Self::Held => 35,
            Self::Failed => 36,
            Self::Expired => 37,
            Self::Recalled => 38,
            Self::Seen => 40,
            Self::Acked => 50,
            Self::Done => 60,
        }
    }

    pub(crate) fn from_rank(rank: i64) -> Self {
        if rank == WITHDRAWN {
            return Self::Failed;
        }
        Self::ALL.into_iter().find(|stage| stage.rank() == rank).unwrap_or(Self::Accepted)
    }
}

/// The rank of a message that failed because it was taken back: below `written`, since one that is in its inbox all the
/// same was not taken back.
pub(crate) const WITHDRAWN: i64 = 12;

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|stage| stage.as_str() == text);
        known.ok_or_else(|| format!("{text:?} is not a stage"))
    }
}

/// How sure we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sure {
    /// We did it, or read it.
    Certain,
    /// It follows from what we saw.
    Likely,
}

impl Sure {
    /// The spelling in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
        }
    }
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// In words.
    pub what: String,
    /// In which file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// By whom it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// On which machine it was observed, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// How it was at the last look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How it was at this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// It is gone, and nothing shows by whom it was taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproved: bool,
    /// It was moved into the archive. That is no stage: it is how we know why the message is not in the inbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The stage's time is only a bound: it happened then or earlier, before anybody looked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_later_than: bool,
    /// How sure we are.
    pub sure: Sure,
}

impl Evidence {
    /// What the evidence begins with of a stage that a message had when it was found: it was reached before, at a time
    /// that nobody knows.
    pub const FOUND: &str = "found";

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_json(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self::likely(text))
    }

    /// Something that we did or read ourselves.
    pub fn certain(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            file: None,
            by: None,
            machine: None,
            before: None,
            after: None,
            unproved: false,
            archived: false,
            no_later_than: false,
            sure: Sure::Certain,
        }
    }

    /// Something that follows from what we saw.
    pub fn likely(what: impl Into<String>) -> Self {
        Self { sure: Sure::Likely, ..Self::certain(what) }
    }

    /// Something of which it is not sure either that it happened.
    pub fn unproved(what: impl Into<String>) -> Self {
        Self { unproved: true, ..Self::likely(what) }
    }

    /// A message was moved into the archive.
    pub fn archived(how: impl fmt::Display) -> Self {
        Self { archived: true, ..Self::certain(format!("archived: {how}")) }
    }

    /// In which file.
    #[must_use]
    pub fn in_file(mut self, file: impl AsRef<std::path::Path>) -> Self {
        self.file = Some(file.as_ref().display().to_string());
        self
    }

    /// What was there, and what is there now.
    #[must_use]
    pub fn changed(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.before = Some(before.into());
        self.after = Some(after.into());
        self
    }

    /// The stage's time is only a bound.
    #[must_use]
    pub fn no_later_than(mut self) -> Self {
        self.no_later_than = true;
        self
    }

    /// On which other machine.
    #[must_use]
    pub fn on_machine(mut self, machine: impl Into<String>) -> Self {
        self.machine = Some(machine.into());
        self
    }

    /// By whom.
    #[must_use]
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.by = Some(who.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_order_and_names_read_back() {
        let way: Vec<_> = Stage::ALL.into_iter().filter(|s| *s < Stage::Failed).collect();
        assert!(way.windows(2).all(|pair| pair[0] < pair[1] && pair[0].rank() < pair[1].rank()));
        assert!(Stage::Held.rank() < Stage::Failed.rank() && Stage::Recalled.rank() < Stage::Seen.rank());
        for stage in Stage::ALL {
            assert_eq!(Stage::from_rank(stage.rank()), stage);
            assert_eq!(stage.as_str().parse(), Ok(stage));
        }
    }

    #[test]
    fn what_is_held_was_written_and_not_taken() {
        assert!(Stage::Held.includes(Stage::Written) && Stage::Held.includes(Stage::Held));
        assert!(!Stage::Held.includes(Stage::Taken) && !Stage::Failed.includes(Stage::Written));
        assert!(
            Stage::Seen.includes(Stage::Taken) && Stage::Seen > Stage::Held && Stage::Held > Stage::Taken
        );
    }
}
