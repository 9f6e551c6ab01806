//! Whether a client still waits for its user's permission: it tells when it asks, and mostly not when it was answered.
//!
//! | what happened since it asked | it waits |
//! |---|---|
//! | its next hook was called, or its process ended (decided by who calls this) | no |
//! | its conversation went on, later than what it asked about is written | no |
//! | nothing, for a day | nobody can tell: not said |
//! | nothing | yes |

use std::time::Duration;

use atm_clients::AgentClient;
use atm_clients::claude::sessions::Activity;
use atm_wire::Stamp;

use crate::trail::transcript::Transcript;

/// The call that it asks about may be written into the conversation a moment after the question.
const SETTLES: Duration = Duration::from_secs(5);
/// So long is a question believed to be open that nothing confirms.
const GOOD_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// What a conversation does by a question of its client's, if that is still open.
pub(crate) fn asking(asked: Option<Stamp>, went_on: Option<Stamp>, now: Stamp) -> Option<Activity> {
    let asked = asked?;
    let went_on = went_on.is_some_and(|at| at > asked.saturating_add(SETTLES));
    let is_open = !went_on && now.since(asked) <= GOOD_FOR;
    is_open.then(Activity::waits_for_permission)
}

/// When a conversation last went on, if it has a file of its own: a database is written for others, too.
pub(crate) fn went_on(transcript: Option<&Transcript>) -> Option<Stamp> {
    transcript.filter(|found| found.is_file()).map(|found| Stamp::from_millis(found.changed_at))
}

/// The same for the conversation of a session that is kept at a path, by its client's word.
pub(crate) fn went_on_at(
    client: AgentClient,
    path: Option<&std::path::Path>,
    session: &str,
) -> Option<Stamp> {
    went_on(Transcript::of(client, path?, session).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_open_until_the_conversation_goes_on_or_a_day_is_over() {
        let at = |seconds: i64| Stamp::from_millis(1_794_800_000_000 + seconds * 1_000);
        let day = 24 * 60 * 60;
        for (case, asked, went_on, now, waits) in [
            ("nothing was asked", None, None, 0, false),
            ("just now", Some(0), None, 0, true),
            ("nothing since", Some(0), None, 3_600, true),
            ("what came before it", Some(0), Some(-60), 3_600, true),
            ("the call itself, a moment later", Some(0), Some(4), 3_600, true),
            ("it was answered", Some(0), Some(30), 31, false),
            ("asked anew", Some(60), Some(30), 61, true),
            ("a day is over", Some(0), None, day + 1, false),
            ("the clock went back", Some(0), None, -60, true),
        ] {
            let activity = asking(asked.map(at), went_on.map(at), at(now));
            assert_eq!(activity.is_some(), waits, "{case}");
        }
    }
}
