//! For which mail a member was woken, how often, and when it is time again.

use std::collections::BTreeMap;
use std::time::Duration;

use atm_wire::{Message, Stamp};

/// How long mail waits before each wake: the first since it was sent, every other one since the wake before. There are
/// no more wakes for one message than there are waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder(pub Vec<Duration>);

impl Default for Ladder {
    fn default() -> Self {
        Self([0, 2 * 60, 10 * 60].map(Duration::from_secs).to_vec())
    }
}

/// The wakes for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wakes {
    number: usize,
    last: i64,
}

/// What is remembered of an inbox: a line for each unread message that its owner was woken for.
#[derive(Debug, Default)]
pub(crate) struct Memory(BTreeMap<String, Wakes>);

impl Memory {
    /// Reads what was remembered. A line that has only an id is of one wake, at a time that is not known.
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let lines = text.unwrap_or_default().lines().filter_map(|line| {
            let mut words = line.rsplitn(3, '\t');
            let (last, number, id) = (words.next()?, words.next(), words.next());
            Some(match (id, number.and_then(|number| number.parse().ok()), last.parse().ok()) {
                (Some(id), Some(number), Some(last)) => (id.to_owned(), Wakes { number, last }),
                _ => (line.to_owned(), Wakes { number: 1, last: 0 }),
            })
        });
        Self(lines.collect())
    }

    /// What is written down.
    pub(crate) fn render(&self) -> String {
        let lines = self.0.iter().map(|(id, wakes)| format!("{id}\t{}\t{}", wakes.number, wakes.last));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether its owner was woken for a message already.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Whether a message is worth a wake now.
    pub(crate) fn is_due(&self, message: &Message, ladder: &Ladder, now: Stamp) -> bool {
        let wakes = self.0.get(&message.id).copied();
        let Some(wait) = ladder.0.get(wakes.map_or(0, |wakes| wakes.number)) else { return false };
        let since = match wakes {
            Some(wakes) => wakes.last,
            // A message without a time has waited long enough.
            None => message.sent_at.map_or(0, Stamp::as_millis),
        };
        // A sender's clock that is ahead of ours must not hold its mail back.
        wait.is_zero()
            || u128::try_from(now.as_millis() - since).is_ok_and(|waited| waited >= wait.as_millis())
    }

    /// Remembers a wake for what is unread, and forgets what is not unread any more. What was woken for already and is
    /// not due again stays as it is.
    pub(crate) fn woke(&mut self, unread: &[Message], ladder: &Ladder, now: Stamp) {
        let mut after = BTreeMap::new();
        for message in unread {
            let before = self.0.get(&message.id).copied();
            let wakes = match before {
                Some(wakes) if !self.is_due(message, ladder, now) => wakes,
                before => Wakes { number: before.map_or(0, |wakes| wakes.number) + 1, last: now.as_millis() },
            };
            after.insert(message.id.clone(), wakes);
        }
        self.0 = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;

    fn message(id: &str, sent: i64) -> Message {
        let entry = format!(
            r#"{{"from":"a","text":"b","timestamp":"{}","read":false,"messageId":"{id}"}}"#,
            Stamp::from_millis(sent)
        );
        Message::from_entry(&serde_json::value::RawValue::from_string(entry).unwrap()).unwrap()
    }

    #[test]
    fn each_rung_is_taken_once_and_the_last_is_the_last() {
        let ladder = Ladder::default();
        let mail = [message("m", 0)];
        let mut memory = Memory::default();
        let mut woken = Vec::new();
        for minute in 0..60 {
            let now = Stamp::from_millis(minute * MINUTE);
            if memory.is_due(&mail[0], &ladder, now) {
                woken.push(minute);
                memory.woke(&mail, &ladder, now);
                memory = Memory::parse(Some(&memory.render()));
            }
        }
        assert_eq!(woken, [0, 2, 12]);
    }

    #[test]
    fn old_mail_that_is_found_late_does_not_run_up_the_ladder() {
        let ladder = Ladder::default();
        let mail = [message("m", 0)];
        let now = Stamp::from_millis(24 * 60 * MINUTE);
        let mut memory = Memory::default();
        assert!(memory.is_due(&mail[0], &ladder, now));
        memory.woke(&mail, &ladder, now);
        assert!(!memory.is_due(&mail[0], &ladder, now));
    }

    #[test]
    fn a_first_wait_is_kept_and_a_wake_counts_for_all_that_is_unread() {
        let ladder = Ladder(vec![Duration::from_secs(60)]);
        let (old, new) = (message("old", 0), message("new", MINUTE));
        let mut memory = Memory::default();
        let now = Stamp::from_millis(MINUTE);
        assert!(memory.is_due(&old, &ladder, now) && !memory.is_due(&new, &ladder, now));
        memory.woke(&[old, new.clone()], &ladder, now);
        assert!(!memory.is_due(&new, &ladder, Stamp::from_millis(60 * MINUTE)), "it was told of both");
    }

    #[test]
    fn what_is_read_is_forgotten_and_ids_alone_count_as_woken() {
        let mut memory = Memory::parse(Some("one\ntwo"));
        assert!(memory.knows("one") && memory.knows("two"));
        memory.woke(&[message("two", 0)], &Ladder(Vec::new()), Stamp::from_millis(5));
        assert_eq!(memory.render(), "two\t1\t0");
        assert!(Memory::parse(None).render().is_empty());
    }

    #[test]
    fn a_clock_that_is_ahead_holds_no_mail_back() {
        let early = Stamp::from_millis(0);
        assert!(Memory::default().is_due(&message("m", MINUTE), &Ladder::default(), early));
    }
}
