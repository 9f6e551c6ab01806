//! By how much this machine's clock is ahead of the server's: the smallest difference that was seen lately. The rest is the way that a
//! message took. A clock that is corrected is so after the window, and one that nobody has measured meanwhile is not known.

use std::collections::VecDeque;
use std::time::Duration;

use atm_wire::Stamp;

/// How long a measurement counts.
const WINDOW: Duration = Duration::from_secs(600);
/// Measurements are kept by this time: one for each.
const PART: Duration = Duration::from_secs(60);

/// The smallest differences of the last minutes, in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct ClockOffset(VecDeque<(Stamp, i64)>);

impl ClockOffset {
    /// A message came, that much later by this clock than the server stored it by its own. Times are by a clock that is never set.
    pub(crate) fn note(&mut self, offset: i64, now: Stamp) {
        match self.0.back_mut() {
            Some((since, least)) if now.since(*since) < PART => *least = offset.min(*least),
            _ => self.0.push_back((now, offset)),
        }
    }

    /// The offset at most, if it was measured lately.
    pub(crate) fn get(&mut self, now: Stamp) -> Option<i64> {
        while self.0.front().is_some_and(|(since, _)| now.since(*since) >= WINDOW) {
            self.0.pop_front();
        }
        self.0.iter().map(|(_, offset)| *offset).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest difference counted for ever: a clock that was corrected was ten seconds behind until the bridge was restarted.
    #[test]
    fn a_clock_that_was_corrected_is_so_ten_minutes_later() {
        let mut offset = ClockOffset::default();
        let at = |seconds: i64| Stamp::from_millis(1_800_000_000_000 + seconds * 1_000);
        assert_eq!(offset.get(at(0)), None);
        offset.note(-10_000, at(0));
        offset.note(40, at(30));
        assert_eq!(offset.get(at(30)), Some(-10_000));
        for second in (60..=590).step_by(10) {
            offset.note(5 + second % 7, at(second));
        }
        assert_eq!(offset.get(at(599)), Some(-10_000));
        assert_eq!(offset.get(at(600)), Some(5));
        assert!(offset.0.len() <= 11, "{}", offset.0.len());
        assert_eq!(offset.get(at(2_000)), None, "nobody has measured it since");
    }
}
