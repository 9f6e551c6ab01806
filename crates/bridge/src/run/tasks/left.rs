//! When the files of tasks are looked at though no event told of them.

use std::time::Duration;

use crate::tasks::mirror::GONE_FOR;

/// How often the files are looked at, if no event told of them: where the system tells of changes; and where it does not.
const LOOK_EVERY: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(5));
/// The same while something that was found could not be done: a file that cannot be written, say.
const AGAIN: Duration = Duration::from_secs(5);

/// What the last look left to do, of which no event will tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// All is done, or has to wait for the server, which tells when it is there.
    Nothing,
    /// Files are missing: soon it is known whether somebody means it.
    Missing,
    /// Something went wrong.
    Failed,
}

impl Left {
    /// How soon is looked again, if no event tells of anything.
    pub(super) fn look_every(self, has_watches: bool) -> Duration {
        let every = if has_watches { LOOK_EVERY.0 } else { LOOK_EVERY.1 };
        every.min(match self {
            Self::Nothing => Duration::MAX,
            Self::Missing => GONE_FOR,
            Self::Failed => AGAIN,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// What was left was looked at after fifteen seconds, as if nothing had been.
    #[rstest]
    #[case::nothing(Left::Nothing, true, 15)]
    #[case::nothing_where_no_event_tells(Left::Nothing, false, 5)]
    #[case::missing_files(Left::Missing, true, 2)]
    #[case::missing_files_where_no_event_tells(Left::Missing, false, 2)]
    #[case::an_error(Left::Failed, true, 5)]
    #[case::an_error_where_no_event_tells(Left::Failed, false, 5)]
    fn how_soon_is_looked_again_follows_what_was_left(
        #[case] left: Left,
        #[case] has_watches: bool,
        #[case] seconds: u64,
    ) {
        assert_eq!(left.look_every(has_watches).as_secs(), seconds);
    }
}
