//! How fast frames may follow each other: within the limits that a client sets to one sender.

/// A client's limits for one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// So many at once.
    pub burst: i64,
    /// Then one in each such time, in milliseconds.
    pub every: i64,
    /// So many that the model has not seen.
    pub unread: usize,
}

impl Limits {
    /// Those that were measured of Claude Code: 30 at once, then one each 2.05 s, at most 50 unread.
    pub const CLAUDE: Self = Self { burst: 30, every: 2_050, unread: 50 };
}

/// When the next frame may be sent.
#[derive(Debug, Clone)]
pub struct Pace {
    limits: Limits,
    /// When as many may be sent at once as ever.
    rested_at: i64,
    /// How often in a row the client could not be given one.
    failures: u32,
    /// It is not tried before.
    shut_until: i64,
}

/// The pause after a failure is doubled so often: to nine minutes, by the limits of Claude Code.
const MOST_DOUBLED: u32 = 8;

impl Pace {
    /// Nothing was sent yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, rested_at: i64::MIN, failures: 0, shut_until: i64::MIN }
    }

    /// The earliest time at which another frame may be sent.
    pub fn next(&self) -> i64 {
        self.rested_at.saturating_sub((self.limits.burst - 1) * self.limits.every).max(self.shut_until)
    }

    /// Whether another may be sent now, with so many that the model has not seen.
    pub fn may_send(&self, now: i64, unread: usize) -> bool {
        unread < self.limits.unread && now >= self.next()
    }

    /// One is sent now.
    pub fn send(&mut self, now: i64) {
        self.rested_at = self.rested_at.max(now) + self.limits.every;
    }

    /// One could not be given to the client: nobody listens, or a stranger. Each time in a row the pause is twice as long.
    pub fn fail(&mut self, now: i64) {
        self.shut_until = now + (self.limits.every << self.failures.min(MOST_DOUBLED));
        self.failures += 1;
    }

    /// One was given.
    pub fn succeed(&mut self) {
        self.failures = 0;
    }

    /// The client dropped one: it counts otherwise than we do. As if all had been sent at once now.
    pub fn back_off(&mut self, now: i64) {
        self.rested_at = self.rested_at.max(now + self.limits.burst * self.limits.every);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each of `count` frames is sent by somebody who sends whenever it may.
    fn times(pace: &mut Pace, count: usize, mut now: i64) -> Vec<i64> {
        let mut times = Vec::new();
        while times.len() < count {
            now = now.max(pace.next());
            assert!(pace.may_send(now, 0));
            pace.send(now);
            times.push(now);
        }
        times
    }

    #[test]
    fn thirty_at_once_then_one_each_two_seconds() {
        let mut pace = Pace::new(Limits::CLAUDE);
        let sent = times(&mut pace, 200, 1_000);
        assert!(sent[..30].iter().all(|at| *at == 1_000));
        assert_eq!(sent[30], 3_050);
        assert!(sent[30..].windows(2).all(|two| two[1] - two[0] == 2_050), "{sent:?}");
        // A pause earns as many as it is long, and never more than at first.
        let later = sent[199] + 5 * 2_050;
        assert_eq!(times(&mut pace, 6, later).iter().filter(|at| **at == later).count(), 5);
        let much_later = later + 1_000_000;
        assert_eq!(times(&mut pace, 40, much_later).iter().filter(|at| **at == much_later).count(), 30);
    }

    #[test]
    fn no_more_than_the_client_keeps_unread() {
        let pace = Pace::new(Limits::CLAUDE);
        assert!(pace.may_send(0, 49) && !pace.may_send(0, 50) && !pace.may_send(0, 51));
    }

    #[test]
    fn who_finds_nobody_tries_less_and_less_often() {
        let mut pace = Pace::new(Limits::CLAUDE);
        let mut pauses = Vec::new();
        let mut now = 1_000;
        for _ in 0..11 {
            assert!(pace.may_send(now, 0) && !pace.may_send(now - 1, 0) || pauses.is_empty());
            pace.fail(now);
            pauses.push(pace.next() - now);
            now = pace.next();
        }
        assert_eq!(pauses[..3], [2_050, 4_100, 8_200]);
        assert_eq!(pauses[8..], [524_800; 3]);
        pace.succeed();
        pace.fail(now);
        assert_eq!(pace.next() - now, 2_050);
    }

    #[test]
    fn who_was_dropped_begins_anew_slowly() {
        let mut pace = Pace::new(Limits::CLAUDE);
        pace.back_off(1_000);
        assert!(!pace.may_send(1_000, 0));
        assert_eq!(times(&mut pace, 2, 1_000), [3_050, 5_100]);
    }
}
