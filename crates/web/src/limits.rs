//! How many requests there may be: a bucket that fills with time. Pure, with the time as an argument.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A rate with room for bursts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    pub(crate) burst: f64,
}

/// Requests of who has the token: more than a page with many streams makes.
pub(crate) const READS: Rate = Rate { per_second: 2_000.0, burst: 4_000.0 };
/// Of these, what changes something.
pub(crate) const WRITES: Rate = Rate { per_second: 100.0, burst: 500.0 };
/// Requests that are refused for want of the token: enough for a mistake, too few to guess.
pub(crate) const STRANGERS: Rate = Rate { per_second: 10.0, burst: 50.0 };

#[derive(Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    level: Mutex<(f64, Option<Instant>)>,
}

impl Bucket {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, level: Mutex::new((rate.burst, None)) }
    }

    /// Whether there is room for one more.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, last) = *level;
        let passed = last.map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64());
        let filled = (left + passed * self.rate.per_second).min(self.rate.burst);
        let has_room = filled >= 1.0;
        *level = (if has_room { filled - 1.0 } else { filled }, Some(now));
        has_room
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let bucket = Bucket::new(Rate { per_second: 2.0, burst: 3.0 });
        let start = Instant::now();
        let taken = |after: u64| bucket.take(start + Duration::from_millis(after));
        assert_eq!([taken(0), taken(0), taken(0), taken(0)], [true, true, true, false]);
        assert!(!taken(400));
        assert!(taken(600));
        assert!(!taken(700));
        // It does not fill for ever.
        assert_eq!([taken(90_000), taken(90_000), taken(90_000), taken(90_000)], [true, true, true, false]);
    }
}
