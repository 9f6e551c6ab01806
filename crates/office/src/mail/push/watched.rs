//! Since when a session does nothing: by its client's word, and only as far as somebody looked at it all the while.
//!
//! A machine that slept, or a process that was stopped, knows by its clock alone that time went on: its client had no time to
//! show anything either.

use super::fate::Doing;

/// Who has not looked for so long does not know what the session did meanwhile.
const GAP_MS: i64 = 10_000;

/// What is remembered of a session between two looks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watched {
    looked_at: Option<i64>,
    rests_since: i64,
}

impl Watched {
    /// Looks at a session, and gives since when it does nothing. `said` is since when its client says so.
    pub(crate) fn look(&mut self, now: i64, doing: Doing, said: Option<i64>) -> i64 {
        let is_gap = self.looked_at.replace(now).is_none_or(|before| now.saturating_sub(before) > GAP_MS);
        if is_gap || doing == Doing::Turn {
            self.rests_since = now;
        }
        // The client's clock may be wrong, and must not keep a frame open for ever.
        said.map_or(self.rests_since, |said| said.min(now).max(self.rests_since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_rests_since_its_client_says_so_and_somebody_has_looked() {
        let mut watched = Watched::default();
        for (now, doing, said, expected) in [
            (100_000, Doing::Nothing, Some(5_000), 100_000),
            (101_000, Doing::Nothing, Some(5_000), 100_000),
            (111_000, Doing::Nothing, None, 100_000),
            // A turn that began and ended between two looks.
            (112_000, Doing::Nothing, Some(111_700), 111_700),
            (113_000, Doing::Turn, Some(112_500), 113_000),
            (114_000, Doing::Nothing, Some(113_200), 113_200),
            (115_000, Doing::Nothing, Some(999_000), 115_000),
            (116_000, Doing::Nothing, Some(113_200), 113_200),
            // The machine slept.
            (900_000, Doing::Nothing, Some(113_200), 900_000),
            (901_000, Doing::Nothing, Some(113_200), 900_000),
        ] {
            assert_eq!(watched.look(now, doing, said), expected, "{now}");
        }
    }
}
