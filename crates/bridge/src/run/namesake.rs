//! Whether another bridge speaks under this machine's name: two machines of one name take each other's mail.
//!
//! A machine announces itself under its name in two buckets, and hears its own words there. A word that this process did not say, and
//! that came after one that it did, may be another bridge's. One that this machine's key has signed is a copy's of this machine.
//! One that another key has signed, or nobody, can be anybody's: all who may be answered by the server can have it put an answer under
//! any subject. So the other one is asked, in a place that only machines of this name can read, and only its answer counts
//! ([`ask`](super::ask)). As long as a namesake is heard, nothing is carried. Both go on to announce themselves, so that both know.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use atm_wire::Stamp;

use crate::nats::setup::PRESENCE_AGE;

/// Words of this process that are remembered, of each bucket: of the one in which a word stays, the last one may be days old.
const MOST_SAID: usize = 1_024;
/// How long an answer may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(4);
/// Questions that are open at most, and answers that are given in a second.
const MOST_ASKED: usize = 4;

/// What is known of another bridge that has this machine's name.
#[derive(Debug, Default)]
pub(crate) struct Namesakes {
    said: [VecDeque<(u64, Stamp)>; 2],
    /// When this process spoke first, by the time in its word.
    first: Option<Stamp>,
    /// The time in the last word of this process that is not remembered any more.
    forgotten: Option<Stamp>,
    /// In which buckets a word of this process was heard: what stands there before is of the process before it.
    is_heard: [bool; 2],
    heard_at: Option<Instant>,
    /// Questions that nobody has answered, and when they were asked.
    asked: HashMap<String, Instant>,
    /// When the last answers were given.
    answered: VecDeque<Instant>,
    /// Whether somebody else's word, who is not there, may stand in the place of this process's.
    is_overwritten: bool,
}

/// Whose a word under this machine's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// This process's, or an earlier one's of this machine.
    Ours,
    /// A copy's of this machine: it is signed with this machine's key.
    Copy,
    /// It is to be asked who said it.
    Unknown,
}

impl Namesakes {
    /// This process is about to say a word, at this time, in one of the buckets.
    pub(crate) fn say(&mut self, word: &[u8], at: Stamp, stays: bool) {
        self.first.get_or_insert(at);
        let said = &mut self.said[usize::from(stays)];
        said.push_back((digest(word), at));
        if said.len() > MOST_SAID {
            let forgotten = said.pop_front().map(|(_, at)| at);
            self.forgotten = self.forgotten.max(forgotten);
        }
    }

    /// A word under this machine's name was heard, in one of the buckets. The time in it, if this machine's key has signed it, is
    /// asked for only if this process did not say it.
    pub(crate) fn hear(
        &mut self,
        word: &[u8],
        said_at: impl FnOnce() -> Option<Stamp>,
        stays: bool,
        now: Instant,
    ) -> Whose {
        let digest = digest(word);
        if self.said[usize::from(stays)].iter().any(|(said, _)| *said == digest) {
            self.is_heard[usize::from(stays)] = true;
            return Whose::Ours;
        }
        let Some(at) = said_at() else {
            return if self.is_heard[usize::from(stays)] { Whose::Unknown } else { Whose::Ours };
        };
        // Every word of a process has a time of its own. Somebody may have put one of this process into the other bucket, or again.
        let is_said = self.said.iter().flatten().any(|(_, said)| *said == at);
        let is_former = self.first.is_none_or(|first| at < first);
        let is_forgotten = self.forgotten.is_some_and(|forgotten| at <= forgotten);
        if is_said || is_former || is_forgotten || !self.is_heard[usize::from(stays)] {
            return Whose::Ours;
        }
        self.heard_at = Some(now);
        Whose::Copy
    }

    /// Whether a question may be asked now; it is asked then.
    pub(crate) fn ask(&mut self, question: &str, now: Instant) -> bool {
        if self.asked.len() >= MOST_ASKED {
            return false;
        }
        self.asked.insert(question.to_owned(), now);
        true
    }

    /// Whether a question is open.
    pub(crate) fn is_asking(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Questions that nobody has answered in time: what was heard then is nobody's of this name.
    pub(crate) fn give_up(&mut self, now: Instant) -> usize {
        let before = self.asked.len();
        self.asked.retain(|_, asked| now.duration_since(*asked) < ANSWERS_WITHIN);
        let given_up = before - self.asked.len();
        self.is_overwritten |= given_up > 0;
        given_up
    }

    /// Whether what this process said before is to be said again.
    pub(crate) fn take_overwritten(&mut self) -> bool {
        std::mem::take(&mut self.is_overwritten)
    }

    /// A question was heard. Says whether to answer it: it is another bridge's, and there are not too many of them.
    pub(crate) fn is_to_answer(&mut self, question: &str, now: Instant) -> bool {
        self.answered.retain(|answered| now.duration_since(*answered) < Duration::from_secs(1));
        if self.asked.contains_key(question) || self.answered.len() >= MOST_ASKED {
            return false;
        }
        self.answered.push_back(now);
        true
    }

    /// An answer was heard. Says whether it is one to a question of this process: then another bridge of this name is there.
    pub(crate) fn hear_answer(&mut self, question: &str, now: Instant) -> bool {
        let is_another = self.asked.remove(question).is_some();
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
        assert_eq!(names.hear(b"of another key, long ago", || None, true, now), Whose::Ours);
        names.say(b"one", at(10), true);
        assert_eq!(names.hear(b"of the process before", || Some(at(9)), true, now), Whose::Ours);
        assert_eq!(names.hear(b"one", || Some(at(10)), true, now), Whose::Ours);
        assert_eq!(names.hear(b"of the process before, late", || Some(at(9)), true, now), Whose::Ours);
        assert_eq!(names.hear(b"of another key, in the other bucket", || None, false, now), Whose::Ours);
        assert!(!names.is_there(now));
    }

    /// Heartbeats of some hours pushed it out, and the bridge took itself for another one at the next connection.
    #[test]
    fn a_word_that_stays_is_known_however_many_heartbeats_came_since() {
        let (mut names, now) = (Namesakes::default(), Instant::now());
        names.say(b"here I am", at(10), true);
        assert_eq!(names.hear(b"here I am", || Some(at(10)), true, now), Whose::Ours);
        for beat in 0..10_000_u32 {
            names.say(&beat.to_be_bytes(), at(11 + i64::from(beat)), false);
        }
        assert_eq!(names.hear(b"here I am", || Some(at(10)), true, now), Whose::Ours);
    }

    #[test]
    fn a_word_of_a_copy_is_another_bridges_until_it_is_silent() {
        let (mut names, now) = (Namesakes::default(), Instant::now());
        names.say(b"one", at(10), false);
        names.hear(b"one", || Some(at(10)), false, now);
        assert_eq!(names.hear(b"two", || Some(at(11)), false, now), Whose::Copy);
        assert!(names.is_there(now) && names.is_there(now + SILENCE / 2));
        assert!(!names.is_there(now + SILENCE));
    }

    /// The server puts its answers wherever it is asked to: any machine could stop another one by a word that lay anywhere.
    #[test]
    fn what_this_process_said_is_no_copys_when_somebody_puts_it_there_again() {
        let (mut names, now) = (Namesakes::default(), Instant::now());
        names.say(b"here I am", at(0), true);
        names.hear(b"here I am", || Some(at(0)), true, now);
        for beat in 0..2_000_u32 {
            names.say(&beat.to_be_bytes(), at(1 + i64::from(beat)), false);
            names.hear(&beat.to_be_bytes(), || None, false, now);
        }
        assert_eq!(
            names.hear(&1_999_u32.to_be_bytes(), || Some(at(2_000)), true, now),
            Whose::Ours,
            "elsewhere"
        );
        assert_eq!(names.hear(&7_u32.to_be_bytes(), || Some(at(8)), false, now), Whose::Ours, "much later");
        assert!(!names.is_there(now));
    }

    #[test]
    fn a_word_of_another_key_counts_only_if_somebody_of_this_name_answers_for_it() {
        let (mut names, now) = (Namesakes::default(), Instant::now());
        names.say(b"one", at(10), false);
        names.hear(b"one", || Some(at(10)), false, now);
        assert_eq!(names.hear(b"two", || None, false, now), Whose::Unknown);
        assert!(!names.is_there(now));
        assert!(!names.is_asking());
        assert!(names.ask("q", now) && !names.is_to_answer("q", now), "it hears its own question, too");
        assert!(names.is_asking());
        assert!(!names.hear_answer("another", now) && !names.is_there(now));
        assert_eq!(names.give_up(now), 0);
        assert!(names.hear_answer("q", now) && names.is_there(now));
        assert!(names.ask("r", now));
        assert!(!names.take_overwritten());
        assert_eq!(names.give_up(now + ANSWERS_WITHIN), 1);
        assert!(names.take_overwritten() && !names.take_overwritten() && !names.is_asking());
        assert!(!names.hear_answer("r", now), "too late");
    }

    #[test]
    fn nobody_is_made_to_ask_or_to_answer_without_end() {
        let (mut names, now) = (Namesakes::default(), Instant::now());
        let answered = (0..100).filter(|number| names.is_to_answer(&number.to_string(), now)).count();
        let asked = (0..100).filter(|number| names.ask(&number.to_string(), now)).count();
        assert_eq!((answered, asked), (MOST_ASKED, MOST_ASKED));
        assert!(names.is_to_answer("later", now + Duration::from_secs(1)));
    }
}
