//! The time, as an argument.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use atm_wire::Stamp;

/// Tells the time.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Stamp;

    /// The instant at which this clock will show `time`: now if it is over, none if it is too far away.
    fn instant_of(&self, time: Stamp) -> Option<Instant> {
        Instant::now().checked_add(time.since(self.now()))
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Stamp {
        of_system(SystemTime::now())
    }
}

/// A moment of the machine's clock, which may show a time before 1970.
fn of_system(now: SystemTime) -> Stamp {
    let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Stamp::from_millis(match now.duration_since(UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(before) => -millis(before.duration()),
    })
}

/// A clock that stands still.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Stamp);

impl Clock for FixedClock {
    fn now(&self) -> Stamp {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_before_1970_is_told_as_it_is() {
        let before = UNIX_EPOCH.checked_sub(Duration::from_millis(1_500)).unwrap();
        assert_eq!(of_system(before).to_string(), "1969-12-31T23:59:58.500Z");
        assert_eq!(of_system(UNIX_EPOCH + Duration::from_secs(1)).as_millis(), 1_000);
    }
}
