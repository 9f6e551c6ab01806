//! What became of a frame that the conversation does not show: still on its way, lost, or refused.
//!
//! A client takes a frame without a word and shows it between two tool calls, or in a turn of its own; it may also drop it
//! without a word, and a client that dies loses what it had. So only what the model was not given when it was asked later is lost,
//! and nothing is offered again within the time in which a client takes equal words for one message.

use atm_clients::claude::socket::Status;

/// A client takes equal words within this time for the same message; and as long a frame may be on its way.
pub(crate) const PATIENCE_MS: i64 = 30_000;
/// A client's user has five minutes to decide on a frame. If nobody has heard of it for longer, the client's word went to a process
/// that has ended.
const DECISION_MS: i64 = 330_000;
/// Clocks of one machine, and of its files, differ by less.
const CLOCKS_MS: i64 = 1_000;

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It waits for its user's words: whatever came is shown at once.
    Nothing,
    /// It is in a turn, or waits for an answer in one; or its process is stopped. What came is shown later.
    Turn,
}

/// A session at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: i64,
    pub(crate) doing: Doing,
    /// Since when it does nothing, as far as that is known: the earliest time that is possible, if it is not.
    pub(crate) since: i64,
    /// When its model was last asked, as far as its conversation says so: by a prompt, or with what a tool gave back.
    pub(crate) asked_at: Option<i64>,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It may be shown yet.
    Open,
    /// It is not shown, and will not be.
    Lost,
    /// The client that had it has ended.
    Free,
    /// The client's user has to decide on it, and may take five minutes.
    Held,
    /// The client's user let nothing in: that is for the user to change.
    Denied,
    /// Nobody decided on it, or the session takes no frames: another channel may.
    Refused,
}

/// What became of a frame that was given at `sent_at` and is not in the conversation. `lives`: the client that it was given to runs.
pub(crate) fn fate(sent_at: i64, receipt: Option<&Status>, lives: bool, moment: &Moment) -> Fate {
    match receipt {
        Some(Status::Denied) => return Fate::Denied,
        _ if !lives => return Fate::Free,
        Some(Status::Held) if moment.now.saturating_sub(sent_at) < DECISION_MS => return Fate::Held,
        Some(Status::Expired) => return Fate::Refused,
        Some(Status::Dropped(_)) => return Fate::Lost,
        Some(Status::Held | Status::Delivered) | None => {}
    }
    let is_due = |since: i64| moment.now.saturating_sub(since) >= PATIENCE_MS;
    let asked_later = moment.asked_at.filter(|asked| *asked > sent_at.saturating_add(CLOCKS_MS));
    match (moment.doing, asked_later) {
        // What came in a turn is shown when that has ended.
        (Doing::Nothing, _) if is_due(sent_at.max(moment.since)) => Fate::Lost,
        (Doing::Turn, Some(asked)) if is_due(asked) => Fate::Lost,
        _ => Fate::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_model_that_was_asked_later_was_not_given_is_lost() {
        let sent = 100_000;
        let dropped = Status::Dropped("rate-limited".into());
        let rests = |since: i64| (Doing::Nothing, sent + since);
        let idle = rests(-1_000);
        let turn = (Doing::Turn, i64::MIN);
        for (receipt, after, (doing, since), asked_at, expected) in [
            (None, 29_999, idle, None, Fate::Open),
            (None, 30_000, idle, None, Fate::Lost),
            // The turn that it came in was one long answer, and has ended just now.
            (None, 600_000, rests(599_000), None, Fate::Open),
            (None, 628_999, rests(599_000), None, Fate::Open),
            (None, 629_000, rests(599_000), None, Fate::Lost),
            // It comes between two tool calls, and a tool may take long; so may its user.
            (None, 600_000, turn, None, Fate::Open),
            (None, 600_000, turn, Some(sent - 5_000), Fate::Open),
            (None, 600_000, turn, Some(sent + 500), Fate::Open),
            // A model that was asked later would have been given it.
            (None, 60_000, turn, Some(sent + 31_000), Fate::Open),
            (None, 61_000, turn, Some(sent + 31_000), Fate::Lost),
            (Some(&Status::Held), 329_999, idle, None, Fate::Held),
            // Its user's word went to a process that has ended.
            (Some(&Status::Held), 330_000, idle, None, Fate::Lost),
            (Some(&Status::Held), 330_000, turn, None, Fate::Open),
            (Some(&Status::Delivered), 1_000, idle, None, Fate::Open),
            (Some(&Status::Denied), 0, idle, None, Fate::Denied),
            (Some(&Status::Expired), 0, turn, None, Fate::Refused),
            (Some(&dropped), 0, turn, None, Fate::Lost),
        ] {
            let moment = Moment { now: sent + after, doing, since, asked_at };
            let case = format!("{receipt:?} {after} {doing:?} {since} {asked_at:?}");
            assert_eq!(fate(sent, receipt, true, &moment), expected, "{case}");
            // A client that has ended shows nothing any more; what its user said holds.
            let after_its_end = if expected == Fate::Denied { Fate::Denied } else { Fate::Free };
            assert_eq!(fate(sent, receipt, false, &moment), after_its_end, "{case}");
        }
    }
}
