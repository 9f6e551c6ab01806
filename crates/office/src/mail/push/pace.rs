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
}

impl Pace {
    /// Nothing was sent yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, rested_at: i64::MIN }
    }

    /// The earliest time at which another frame may be sent.
    pub fn next(&self) -> i64 {
        self.rested_at.saturating_sub((self.limits.burst - 1) * self.limits.every)
    }

    /// Whether another may be sent now, with so many that the model has not seen.
    pub fn may_send(&self, now: i64, unread: usize) -> bool {
        unread < self.limits.unread && now >= self.next()
    }

    /// One is sent now.
    pub fn send(&mut self, now: i64) {
        self.rested_at = self.rested_at.max(now) + self.limits.every;
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
    fn who_was_dropped_begins_anew_slowly() {
        let mut pace = Pace::new(Limits::CLAUDE);
        pace.back_off(1_000);
        assert!(!pace.may_send(1_000, 0));
        assert_eq!(times(&mut pace, 2, 1_000), [3_050, 5_100]);
    }
}
