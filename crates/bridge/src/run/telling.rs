//! When others are told of this machine: that it is there, now and then; and what is new of it, soon.

use std::time::Duration;

use tokio::time::Instant;

/// How often this machine says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How soon others are told how far this machine has processed the stream, and how soon it is tried again.
const SOON: Duration = Duration::from_secs(1);

/// The times at which others are told next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Telling {
    beat: Instant,
    /// Set while something may be new.
    news: Option<Instant>,
}

impl Telling {
    /// All is to be told at once.
    pub(super) fn at_once(now: Instant) -> Self {
        Self { beat: now, news: Some(now) }
    }

    /// Something may be new. What changes until it is told is told together.
    pub(super) fn note_news(&mut self, now: Instant) {
        self.news.get_or_insert(now + SOON);
    }

    /// Something could not be told, or nothing could be. It is tried again soon, with a heartbeat.
    pub(super) fn note_failure(&mut self, now: Instant) {
        *self = Self { beat: now + SOON, news: Some(now + SOON) };
    }

    /// When there is something to tell. At rest that is the next heartbeat.
    pub(super) fn due(&self) -> Instant {
        self.news.map_or(self.beat, |news| news.min(self.beat))
    }

    /// It is told now, what is new as well. Says whether a heartbeat is due.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        self.news = None;
        let is_due = now >= self.beat;
        if is_due {
            self.beat = now + HEARTBEAT;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It woke every second, whether there was anything to tell or not.
    #[test]
    fn at_rest_there_is_nothing_to_do_between_two_heartbeats() {
        let start = Instant::now();
        let (mut telling, mut now, mut times) = (Telling::at_once(start), start, 0);
        while now < start + Duration::from_secs(60) {
            assert!(telling.begin(now), "a heartbeat");
            now = telling.due();
            times += 1;
        }
        assert_eq!(times, 12);
    }

    #[test]
    fn what_is_new_is_told_within_a_second_and_what_comes_meanwhile_with_it() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut telling = Telling::at_once(start);
        assert!(telling.begin(start));
        telling.note_news(at(1_000));
        telling.note_news(at(1_900));
        assert_eq!(telling.due(), at(2_000));
        assert!(!telling.begin(at(2_000)));
        assert_eq!(telling.due(), at(5_000));
        telling.note_news(at(4_500));
        assert_eq!(telling.due(), at(5_000), "with the heartbeat");
        assert!(telling.begin(at(5_000)));
        assert_eq!(telling.due(), at(10_000));
    }

    #[test]
    fn what_could_not_be_told_is_tried_again_soon() {
        let start = Instant::now();
        let mut telling = Telling::at_once(start);
        assert!(telling.begin(start));
        telling.note_failure(start);
        assert_eq!(telling.due(), start + SOON);
        assert!(telling.begin(start + SOON));
        assert_eq!(telling.due(), start + SOON + HEARTBEAT);
    }
}
