//! The rules of a health sweep, without the world.

use std::time::Duration;

use atm_ledger::HealthRow;
use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::chores::MemberNow;
use crate::people::presence::{CHECK_PATIENCE, Presence};
use crate::tasks::LeaseView;

/// A step that is due, or was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// It is asked whether it is alive.
    Check,
    /// Its tasks are released, and everybody is told.
    Stall,
    /// The same, for the second time.
    Unresponsive,
    /// It was heard of again.
    Recover,
}

impl Step {
    /// What the member is after this step, for the ledger.
    pub(super) fn leads_to(self) -> &'static str {
        match self {
            Self::Check => CHECKED,
            Self::Stall => STALLED,
            Self::Unresponsive => UNRESPONSIVE,
            Self::Recover => WELL,
        }
    }

    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Stall => "stall",
            Self::Unresponsive => "unresponsive",
            Self::Recover => "recover",
        }
    }
}

pub(super) const WELL: &str = "well";
pub(super) const CHECKED: &str = "checked";
pub(super) const STALLED: &str = "stalled";
pub(super) const UNRESPONSIVE: &str = "unresponsive";

/// What the rules look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// A claim of it is older than it is good for, and nothing was heard since.
    overdue: bool,
    /// It does not run.
    offline: bool,
    /// When it last said something.
    said: Option<Stamp>,
    /// When it was started.
    started: Option<Stamp>,
}

/// The step that is due for a member.
pub(super) fn due(row: Option<&HealthRow>, seen: &Seen, now: Stamp) -> Option<Step> {
    let stall = |row: Option<&HealthRow>| {
        if row.is_some_and(|row| row.stalls > 0) { Step::Unresponsive } else { Step::Stall }
    };
    let row = current(row, seen);
    let ask = || if seen.offline { stall(row) } else { Step::Check };
    let Some(row) = row else { return seen.overdue.then(ask) };
    let at = Stamp::from_millis(row.at);
    let heard_since = seen.said.is_some_and(|said| said.may_be_since(at));
    match row.step.as_str() {
        CHECKED | STALLED | UNRESPONSIVE if heard_since => Some(Step::Recover),
        CHECKED => (now.since(at) > CHECK_PATIENCE).then(|| stall(Some(row))),
        _ => seen.overdue.then(ask),
    }
}

/// What is known of a member since it was started: another start is another member.
pub(super) fn current<'a>(row: Option<&'a HealthRow>, seen: &Seen) -> Option<&'a HealthRow> {
    row.filter(|row| seen.started.is_none_or(|started| started.as_millis() <= row.at))
}

impl Seen {
    pub(super) fn of(member: &MemberNow, now: Stamp) -> Self {
        Self {
            overdue: member.leases.iter().any(|lease| is_overdue(lease, member.said, now)),
            offline: member.presence == Presence::Offline,
            said: member.said,
            started: member.started,
        }
    }
}

/// Whether a claim has outlived what was last heard of its owner.
fn is_overdue(lease: &LeaseView, said: Option<Stamp>, now: Stamp) -> bool {
    let (quiet_since, good_for) = quiet(lease, said);
    now.since(quiet_since) > good_for
}

/// Since when nothing was heard of a claim's owner, and for how long that is allowed.
pub(super) fn quiet(lease: &LeaseView, said: Option<Stamp>) -> (Stamp, Duration) {
    let quiet_since = said.map_or(lease.claimed_at, |said| said.max(lease.claimed_at));
    (quiet_since, lease.expires_at.since(lease.claimed_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_794_768_000_000;

    fn minute(minute: i64) -> Stamp {
        Stamp::from_millis(START + minute * 60_000)
    }

    /// Sweeps every ten seconds, day after day, over somebody who has a claim of five minutes and speaks when told.
    fn story(days: i64, speaks: impl Fn(i64) -> bool, offline: bool) -> Vec<(i64, Step)> {
        let (mut row, mut told): (Option<HealthRow>, Vec<(i64, Step)>) = (None, Vec::new());
        let (mut said, mut claimed) = (None, Some(minute(0)));
        for tick in 0..days * 24 * 60 * 6 {
            let now = Stamp::from_millis(START + tick * 10_000);
            if speaks(tick * 10) {
                said = Some(now);
                claimed.get_or_insert(now);
            }
            let lease = claimed.map(|claimed_at: Stamp| LeaseView {
                claimed_at,
                expires_at: claimed_at.saturating_add(Duration::from_secs(300)),
                expired: false,
            });
            let overdue = lease.is_some_and(|lease| is_overdue(&lease, said, now));
            let seen = Seen { overdue, offline, said, started: Some(minute(0)) };
            if let Some(step) = due(row.as_ref(), &seen, now) {
                let is_stall = matches!(step, Step::Stall | Step::Unresponsive);
                let stalls = row.as_ref().map_or(0, |row| row.stalls) + u32::from(is_stall);
                if is_stall {
                    claimed = None;
                }
                row = Some(HealthRow {
                    step: step.leads_to().to_owned(),
                    at: now.as_millis(),
                    request: None,
                    tasks: "[]".to_owned(),
                    finished: true,
                    stalls,
                });
                told.push((tick * 10, step));
            }
        }
        told
    }

    #[test]
    fn who_gives_heartbeats_is_left_alone_for_days() {
        assert_eq!(story(7, |second| second % 60 == 0, false), []);
        assert_eq!(story(7, |second| second % 300 == 0, false), [], "as long as the claim is good for");
    }

    #[test]
    fn who_falls_silent_is_asked_and_then_stalled_once() {
        assert_eq!(story(7, |_| false, false), [(310, Step::Check), (350, Step::Stall)]);
        assert_eq!(story(7, |_| false, true), [(310, Step::Stall)], "who is off is not asked");
    }

    #[test]
    fn who_answers_is_well_and_the_second_stall_is_worse() {
        // Says something after six minutes, and after an hour; has a task again each time.
        assert_eq!(
            story(2, |second| second == 360 || second == 3600, false),
            [
                (310, Step::Check),
                (350, Step::Stall),
                (360, Step::Recover),
                (670, Step::Check),
                (710, Step::Unresponsive),
                (3600, Step::Recover),
                (3910, Step::Check),
                (3950, Step::Unresponsive),
            ]
        );
        // Answers the check itself, at the last moment.
        let told = story(1, |second| second == 340, false);
        assert_eq!(told[..2], [(310, Step::Check), (340, Step::Recover)]);
        assert_eq!(told[2..], [(650, Step::Check), (690, Step::Stall)], "and falls silent for good");
    }

    #[test]
    fn another_start_is_another_member() {
        let row = HealthRow {
            step: UNRESPONSIVE.to_owned(),
            at: minute(0).as_millis(),
            request: None,
            tasks: "[]".to_owned(),
            finished: true,
            stalls: 2,
        };
        let seen = Seen { overdue: true, offline: true, said: None, started: Some(minute(1)) };
        assert_eq!(due(Some(&row), &seen, minute(9)), Some(Step::Stall));
        let seen = Seen { started: Some(minute(0)), ..seen };
        assert_eq!(due(Some(&row), &seen, minute(9)), Some(Step::Unresponsive));
    }
}
