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

impl Ladder {
    /// Once for each message, at once.
    pub(super) fn once() -> Self {
        Self(vec![Duration::ZERO])
    }

    /// For how long a wake-up covers later mail: the member that was called has not had its turn yet.
    fn quiet(&self) -> Duration {
        self.0.get(1).copied().unwrap_or_default()
    }
}

/// Sent every minute by working members: it is read with the rest, and nobody is woken for it.
const ROUTINE: &str = "heartbeat";

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
            let (last, number, key) = (words.next()?, words.next(), words.next());
            Some(match (key, number.and_then(|number| number.parse().ok()), last.parse().ok()) {
                (Some(key), Some(number), Some(last)) => (key.to_owned(), Wakes { number, last }),
                _ => (line.to_owned(), Wakes { number: 1, last: 0 }),
            })
        });
        Self(lines.collect())
    }

    /// What is written down.
    pub(crate) fn render(&self) -> String {
        let lines = self.0.iter().map(|(key, wakes)| format!("{key}\t{}\t{}", wakes.number, wakes.last));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn wakes(&self, message: &Message) -> Option<Wakes> {
        self.0.get(&key(message)).copied()
    }

    /// Whether what is unread is worth a wake now.
    pub(crate) fn calls(&self, unread: &[Message], ladder: &Ladder, now: Stamp) -> bool {
        let lately = |wakes: Wakes| !is_over(wakes.last, ladder.quiet(), now);
        !unread.iter().any(|message| self.wakes(message).is_some_and(lately))
            && unread.iter().any(|message| self.is_due(message, ladder, now))
    }

    /// The message that is worth a wake now, with the number of that wake.
    pub(crate) fn next_wake<'m>(
        &self,
        unread: &'m [Message],
        ladder: &Ladder,
        now: Stamp,
    ) -> Option<(&'m Message, usize)> {
        let message = unread.iter().find(|message| self.is_due(message, ladder, now))?;
        let number = self.wakes(message).map_or(0, |wakes| wakes.number) + 1;
        self.calls(unread, ladder, now).then_some((message, number))
    }

    /// The times at which a step of the ladder is due for what is unread.
    pub(crate) fn times(&self, unread: &[Message], ladder: &Ladder) -> Vec<Stamp> {
        let time = |message: &Message| {
            let wakes = self.wakes(message);
            let wait = ladder.0.get(wakes.map_or(0, |wakes| wakes.number))?;
            let since = wakes.map_or(message.sent_at?, |wakes| Stamp::from_millis(wakes.last));
            Some(since.saturating_add(*wait))
        };
        unread.iter().filter(|message| message.kind() != ROUTINE).filter_map(time).collect()
    }

    /// Whether a step of the ladder is due for a message.
    fn is_due(&self, message: &Message, ladder: &Ladder, now: Stamp) -> bool {
        let wakes = self.wakes(message);
        let Some(wait) = ladder.0.get(wakes.map_or(0, |wakes| wakes.number)) else { return false };
        let since = match wakes {
            Some(wakes) => wakes.last,
            // A message without a time has waited long enough.
            None => message.sent_at.map_or(0, Stamp::as_millis),
        };
        is_over(since, *wait, now) && message.kind() != ROUTINE
    }

    /// Remembers that a message was woken for so often, if less is known of it.
    pub(crate) fn learn(&mut self, id: &str, number: usize, now: Stamp) {
        let wakes = self.0.entry(key_of(id)).or_insert(Wakes { number: 0, last: now.as_millis() });
        if wakes.number < number {
            *wakes = Wakes { number, last: now.as_millis() };
        }
    }

    /// Remembers a wake for what is unread, and forgets what is not unread any more. What was woken for already and is
    /// not due again stays as it is.
    pub(crate) fn woke(&mut self, unread: &[Message], ladder: &Ladder, now: Stamp) {
        self.woke_for(unread, unread, ladder, now);
    }

    /// The same where only a part of what is unread was told of: what is remembered of the rest stays.
    pub(crate) fn woke_for(&mut self, told: &[Message], unread: &[Message], ladder: &Ladder, now: Stamp) {
        let is_told = |message: &Message| told.iter().any(|one| one.id == message.id);
        let mut after: BTreeMap<String, Wakes> = unread
            .iter()
            .filter(|message| !is_told(message))
            .filter_map(|message| Some((key(message), self.wakes(message)?)))
            .collect();
        for message in told {
            let wakes = match self.wakes(message) {
                Some(wakes) if !self.is_due(message, ladder, now) => wakes,
                before => Wakes { number: before.map_or(0, |wakes| wakes.number) + 1, last: now.as_millis() },
            };
            after.insert(key(message), wakes);
        }
        self.0 = after;
    }
}

fn key(message: &Message) -> String {
    key_of(&message.id)
}

/// A message's id, in one line whatever is in it.
fn key_of(id: &str) -> String {
    id.escape_default().to_string()
}

/// Whether a wait is over. A clock that was ahead, the sender's or our own, holds nothing back.
fn is_over(since: i64, wait: Duration, now: Stamp) -> bool {
    let waited = now.as_millis().saturating_sub(since);
    u128::try_from(waited).map_or(true, |waited| waited >= wait.as_millis())
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const MINUTE: i64 = 60_000;

    fn message(id: &str, sent: i64) -> Message {
        let entry = format!(
            r#"{{"from":"a","text":"b","timestamp":"{}","read":false,"messageId":"{id}"}}"#,
            Stamp::from_millis(sent)
        );
        Message::from_entry(&serde_json::value::RawValue::from_string(entry).unwrap()).unwrap()
    }

    fn minute(number: i64) -> Stamp {
        Stamp::from_millis(number * MINUTE)
    }

    #[test]
    fn each_rung_is_taken_once_and_the_last_is_the_last() {
        let ladder = Ladder::default();
        let mail = [message("m", 0)];
        let mut memory = Memory::default();
        let mut woken = Vec::new();
        for number in 0..60 {
            if memory.calls(&mail, &ladder, minute(number)) {
                woken.push(number);
                memory.woke(&mail, &ladder, minute(number));
                memory = Memory::parse(Some(&memory.render()));
            }
        }
        assert_eq!(woken, [0, 2, 12]);
    }

    /// A wake that is on record, and not in the memory, used to be due for ever, and kept all later mail from a wake.
    #[test]
    fn a_wake_that_is_learned_of_gives_way_to_the_next_one() {
        let ladder = Ladder::default();
        let mail = [message("m", 0), message("n", MINUTE)];
        let mut memory = Memory::default();
        assert_eq!(
            memory.next_wake(&mail, &ladder, minute(5)).map(|(m, number)| (m.id.as_str(), number)),
            Some(("m", 1))
        );
        memory.learn("m", 1, minute(5));
        let next = memory.next_wake(&mail, &ladder, minute(8));
        assert_eq!(next.map(|(m, number)| (m.id.as_str(), number)), Some(("m", 2)));
        memory.learn("m", 3, minute(8));
        let next = memory.next_wake(&mail, &ladder, minute(60));
        assert_eq!(next.map(|(m, number)| (m.id.as_str(), number)), Some(("n", 1)));
        // Less than is known changes nothing.
        memory.learn("m", 1, minute(60));
        assert_eq!(memory.next_wake(&mail, &ladder, minute(60)).map(|(m, _)| m.id.as_str()), Some("n"));
    }

    #[test]
    fn old_mail_that_is_found_late_does_not_run_up_the_ladder() {
        let ladder = Ladder::default();
        let mail = [message("m", 0)];
        let mut memory = Memory::default();
        assert!(memory.calls(&mail, &ladder, minute(24 * 60)));
        memory.woke(&mail, &ladder, minute(24 * 60));
        assert!(!memory.calls(&mail, &ladder, minute(24 * 60)));
    }

    #[test]
    fn a_first_wait_is_kept_and_a_wake_counts_for_all_that_is_unread() {
        let ladder = Ladder(vec![Duration::from_secs(60)]);
        let (old, new) = (message("old", 0), message("new", MINUTE));
        let mut memory = Memory::default();
        assert!(memory.calls(slice::from_ref(&old), &ladder, minute(1)));
        assert!(!memory.calls(slice::from_ref(&new), &ladder, minute(1)));
        memory.woke(&[old, new.clone()], &ladder, minute(1));
        assert!(!memory.calls(&[new], &ladder, minute(60)), "it was told of both");
    }

    #[test]
    fn a_wake_that_was_not_heard_yet_speaks_for_what_comes_after_it() {
        let ladder = Ladder::default();
        let (old, new) = (message("old", 0), message("new", MINUTE));
        let mut memory = Memory::default();
        memory.woke(slice::from_ref(&old), &ladder, minute(0));
        let both = [old, new.clone()];
        assert!(!memory.calls(&both, &ladder, minute(1)), "its turn has not come yet");
        assert!(memory.calls(&[new], &ladder, minute(1)), "it has read the first, and so has heard");
        assert!(memory.calls(&both, &ladder, minute(2)));
        assert!(memory.calls(&both, &Ladder::once(), minute(0)), "one step each knows no waits");
    }

    #[test]
    fn what_is_read_is_forgotten_and_ids_alone_count_as_woken() {
        let mut memory = Memory::parse(Some("one\ntwo"));
        for known in ["one", "two"] {
            assert!(!memory.calls(&[message(known, 0)], &Ladder::once(), minute(9)), "{known}");
        }
        memory.woke(&[message("two", 0)], &Ladder::once(), minute(9));
        assert_eq!(memory.render(), "two\t1\t0");
        assert!(Memory::parse(None).render().is_empty());
    }

    /// Ids are other programs' texts: one with a line break was a new one at every look.
    #[test]
    fn an_id_may_be_any_text() {
        for id in ["two\\nlines", "a\\tb\\t7", "\\r", "ä\\u2028", "\\\\n"] {
            let mail = [message(id, 0)];
            let mut memory = Memory::default();
            memory.woke(&mail, &Ladder::once(), minute(0));
            let memory = Memory::parse(Some(&memory.render()));
            assert!(!memory.calls(&mail, &Ladder::once(), minute(5)), "{id:?}");
        }
    }

    #[test]
    fn a_clock_that_is_ahead_holds_no_mail_back() {
        for ladder in [Ladder::default(), Ladder(vec![Duration::from_secs(60)])] {
            assert!(Memory::default().calls(&[message("m", MINUTE)], &ladder, minute(0)));
        }
        let far = Memory::parse(Some(&format!("m\t1\t{}", i64::MAX)));
        assert!(far.calls(&[message("m", 0)], &Ladder::default(), minute(0)));
        let long_ago = Memory::parse(Some(&format!("m\t1\t{}", i64::MIN)));
        assert!(long_ago.calls(&[message("m", 0)], &Ladder::default(), minute(0)));
    }

    #[test]
    fn a_heartbeat_wakes_nobody() {
        let entry = r#"{"from":"a","text":"{\"type\":\"heartbeat\"}","timestamp":"2026-11-15T06:00:00Z","read":false}"#;
        let entry = serde_json::value::RawValue::from_string(entry.to_owned()).unwrap();
        let beat = Message::from_entry(&entry).unwrap();
        let now = Stamp::from_millis(i64::from(u32::MAX) * 1_000);
        assert!(!Memory::default().calls(slice::from_ref(&beat), &Ladder::default(), now));
        assert!(Memory::default().calls(&[beat, message("m", 0)], &Ladder::default(), now));
    }
}
