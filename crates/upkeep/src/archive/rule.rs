//! What stays in an inbox and what goes, and when the archive is packed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use atm_wire::{Message, Stamp};
use serde::Serialize;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings of upkeep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upkeep {
    /// How many messages stay in an inbox, the newest.
    pub keep: usize,
    /// How long they stay, if that is to count.
    pub older_than: Option<Duration>,
    /// How long the archive takes messages in before it is packed.
    pub compress_after: Duration,
    /// An inbox that is larger, in bytes, gives away what was read: clients read all of it each time.
    pub shrink_over: u64,
    /// How large an inbox, and the part of the archive that grows, may get, in bytes.
    pub rotate_over: u64,
    /// How long what was set aside stays in quarantine.
    pub quarantine_for: Duration,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self {
            keep: 1000,
            older_than: None,
            compress_after: 7 * DAY,
            shrink_over: 1 << 20,
            rotate_over: 10 << 20,
            quarantine_for: 90 * DAY,
        }
    }
}

/// How long processed mail stays where `clean` is told nothing else.
pub const CLEAN_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Which messages go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rule {
    /// Not the last so many of a queue.
    pub keep: usize,
    /// Only what was sent longer ago than this. What does not say when it was sent stays.
    pub older_than: Option<Duration>,
    /// Also what was not read.
    pub force: bool,
}

impl Rule {
    /// The places of those that go, of messages in the order of their queue.
    pub(crate) fn chosen(&self, messages: &[Message], now: Stamp) -> BTreeSet<usize> {
        let before = self.older_than.map(|span| now.saturating_sub(span));
        let goes = |message: &Message| {
            (message.read || self.force)
                && before.is_none_or(|before| message.sent_at.is_some_and(|at| at < before))
        };
        let candidates = messages.len().saturating_sub(self.keep);
        let chosen = messages.iter().take(candidates).enumerate().filter(|(_, message)| goes(message));
        chosen.map(|(place, _)| place).collect()
    }
}

/// What was done for one inbox. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tended {
    /// The team.
    pub team: String,
    /// Whose inbox.
    pub name: String,
    /// How many messages went into the archive, or would go.
    pub archived: usize,
    /// How many messages are in the inbox now.
    pub left: usize,
    /// How many of those are unread.
    pub unread: usize,
    /// The new names of logs that were rotated.
    pub rotated: Vec<PathBuf>,
    /// How many parts of the archive were packed.
    pub packed: usize,
    /// How many temp files of dead processes were removed.
    pub swept: usize,
    /// The archive.
    pub archive: PathBuf,
    /// What went on beside it.
    pub warnings: Vec<String>,
    /// Why it was not done, if it was not.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(days_ago: &[(i64, bool)]) -> Vec<Message> {
        let entry = |(days, read): &(i64, bool)| {
            let sent = Stamp::from_millis(1_794_768_140_463 - days * 86_400_000);
            let text = format!(r#"{{"from":"a","text":"t","timestamp":"{sent}","read":{read}}}"#);
            Message::from_entry(&serde_json::value::RawValue::from_string(text).unwrap()).unwrap()
        };
        days_ago.iter().map(entry).collect()
    }

    #[test]
    fn only_what_was_read_and_is_not_kept_goes() {
        let now = Stamp::from_millis(1_794_768_140_463);
        let mail = messages(&[(9, true), (8, false), (7, true), (1, true), (0, true)]);
        let chosen = |rule: Rule| rule.chosen(&mail, now).into_iter().collect::<Vec<_>>();
        assert_eq!(chosen(Rule::default()), [0, 2, 3, 4]);
        assert_eq!(chosen(Rule { keep: 2, ..Rule::default() }), [0, 2]);
        assert_eq!(chosen(Rule { keep: 9, ..Rule::default() }), [] as [usize; 0]);
        assert_eq!(chosen(Rule { force: true, keep: 3, ..Rule::default() }), [0, 1]);
        let week = Some(7 * DAY);
        assert_eq!(
            chosen(Rule { older_than: week, ..Rule::default() }),
            [0],
            "seven days are not more than that"
        );
        assert_eq!(chosen(Rule { older_than: week, force: true, keep: 0 }), [0, 1]);
    }

    #[test]
    fn what_does_not_say_its_time_is_not_old() {
        let entry = r#"{"from":"a","text":"t","timestamp":"half past ten","read":true}"#;
        let raw = serde_json::value::RawValue::from_string(entry.to_owned()).unwrap();
        let mail = [Message::from_entry(&raw).unwrap()];
        let now = Stamp::from_millis(1_794_768_140_463);
        assert!(Rule { older_than: Some(DAY), ..Rule::default() }.chosen(&mail, now).is_empty());
        assert_eq!(Rule::default().chosen(&mail, now).len(), 1);
    }
}
