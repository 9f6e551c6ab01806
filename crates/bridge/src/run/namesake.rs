//! Whether another bridge speaks under this machine's name: two machines of one name take each other's mail.
//!
//! A machine announces itself under its name in two buckets, and hears its own words there. A word that this process did not say, and
//! that came after one that it did, is another bridge's: of a machine with a key of its own, or of a copy of this one. As long as
//! such words come, nothing is carried. Both go on to announce themselves, so that both know.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use atm_wire::Stamp;

use crate::nats::setup::PRESENCE_AGE;

/// Words of this process that are remembered, of each bucket: of the one in which a word stays, the last one may be days old.
const MOST_SAID: usize = 1_024;

/// What is known of another bridge that has this machine's name.
#[derive(Debug, Default)]
pub(crate) struct Namesakes {
    said: [VecDeque<u64>; 2],
    /// When this process spoke first, by the time in its word.
    first: Option<Stamp>,
    /// In which buckets a word of this process was heard: what stands there before is of the process before it.
    is_heard: [bool; 2],
    heard_at: Option<Instant>,
}

impl Namesakes {
    /// This process is about to say a word, at this time, in one of the buckets.
    pub(crate) fn say(&mut self, word: &[u8], at: Stamp, stays: bool) {
        self.first.get_or_insert(at);
        let said = &mut self.said[usize::from(stays)];
        said.push_back(digest(word));
        if said.len() > MOST_SAID {
            said.pop_front();
        }
    }

    /// A word under this machine's name was heard, in one of the buckets. Says whether it is another bridge's. The time in it, if this
    /// machine's key has signed it, is asked for only if this process did not say it.
    pub(crate) fn hear(
        &mut self,
        word: &[u8],
        said_at: impl FnOnce() -> Option<Stamp>,
        stays: bool,
        now: Instant,
    ) -> bool {
        let is_heard = &mut self.is_heard[usize::from(stays)];
        if self.said[usize::from(stays)].contains(&digest(word)) {
            *is_heard = true;
            return false;
        }
        // One of the process before this one may have been under way.
        let is_former = said_at().zip(self.first).is_some_and(|(said, first)| said < first);
        let is_another = *is_heard && !is_former;
        if is_another {
            self.heard_at = Some(now);
        }
        is_another
    }

    /// Whether another bridge was heard a short time ago.
    pub(crate) fn is_there(&self, now: Instant) -> bool {
        self.heard_at.is_some_and(|heard| now.duration_since(heard) < SILENCE)
    }
}

/// After so long without a word, the other bridge is gone.
pub(crate) const SILENCE: Duration = PRESENCE_AGE;

fn digest(word: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Stamp {
        Stamp::from_millis(1_800_000_000_000 + seconds * 1_000)
    }

    #[test]
    fn what_stood_there_before_and_what_this_process_says_is_nobody_elses() {
        let (mut names, now) = (Namesakes::default(), Instant::now());
        assert!(!names.hear(b"of another key, long ago", || None, true, now));
        names.say(b"one", at(10), true);
        assert!(!names.hear(b"of the process before", || Some(at(9)), true, now));
        assert!(!names.hear(b"one", || Some(at(10)), true, now));
        assert!(!names.hear(b"of the process before, late", || Some(at(9)), true, now));
        assert!(!names.hear(b"of another key, in the other bucket", || None, false, now));
        assert!(!names.is_there(now));
    }

    /// Heartbeats of some hours pushed it out, and the bridge took itself for another one at the next connection.
    #[test]
    fn a_word_that_stays_is_known_however_many_heartbeats_came_since() {
        let (mut names, now) = (Namesakes::default(), Instant::now());
        names.say(b"here I am", at(10), true);
        assert!(!names.hear(b"here I am", || Some(at(10)), true, now));
        for beat in 0..10_000_u32 {
            names.say(&beat.to_be_bytes(), at(11), false);
        }
        assert!(!names.hear(b"here I am", || Some(at(10)), true, now));
    }

    #[test]
    fn a_word_of_another_key_or_of_a_copy_is_another_bridges_until_it_is_silent() {
        for said_at in [None, Some(at(11))] {
            let (mut names, now) = (Namesakes::default(), Instant::now());
            names.say(b"one", at(10), false);
            names.hear(b"one", || Some(at(10)), false, now);
            assert!(names.hear(b"two", || said_at, false, now));
            assert!(names.is_there(now) && names.is_there(now + SILENCE / 2));
            assert!(!names.is_there(now + SILENCE));
        }
    }
}
