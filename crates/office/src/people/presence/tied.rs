//! Whether the client runs whose hooks were called for a member: by its own lock where it has one, else by its process.
//!
//! | client | what tells |
//! |---|---|
//! | Claude Code | its registry of sessions, which also says what the session does |
//! | Codex | the lock on its thread; where nobody can tell, the process |
//! | others | the process that called our hook, with its start |

use atm_clients::claude::sessions::Activity;
use atm_clients::conversations::Openness;
use atm_wire::team::Member;
use atm_wire::{MemberName, Stamp, TeamName};

use super::asking::went_on;
use super::gather::Surroundings;
use crate::office::Office;
use crate::trail::transcript::Tie;

/// A conversation of a member, and whether its client runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tied {
    pub(super) is_running: bool,
    /// In words.
    pub(super) what: String,
    pub(super) pid: Option<u64>,
    pub(super) activity: Option<Activity>,
    /// When the conversation last went on.
    pub(super) went_on: Option<Stamp>,
}

impl Tied {
    /// What tells that it runs, and what it does as far as its hooks tell.
    pub(super) fn describe(&self) -> (String, Option<Activity>) {
        (self.what.clone(), self.activity.clone())
    }
}

/// What is known of the process that called our hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    Runs(u64),
    Ended(u64),
    Unknown,
}

/// Whether the client of a conversation runs, its process, and what says so.
pub(super) fn judge(
    title: &str,
    session: &str,
    openness: Openness,
    caller: Caller,
) -> Option<(bool, Option<u64>, String)> {
    let short: String = session.chars().take(8).collect();
    Some(match (openness, caller) {
        (Openness::Open { pid }, _) => (
            true,
            Some(pid),
            format!("its session {short} of {title} is open (process {pid} holds its lock)"),
        ),
        (Openness::Closed, _) => (false, None, format!("no process has its session {short} of {title} open")),
        (Openness::Unknown, Caller::Runs(pid)) => {
            (true, Some(pid), format!("process {pid} of {title} runs, which called its hooks"))
        }
        (Openness::Unknown, Caller::Ended(pid)) => {
            (false, None, format!("process {pid} of {title}, which called its hooks, has ended"))
        }
        (Openness::Unknown, Caller::Unknown) => return None,
    })
}

impl Office {
    /// The conversation that hooks were last called in for a member.
    pub(super) fn tie_of<'a>(
        &self,
        team: &TeamName,
        member: &Member,
        around: &'a Surroundings,
    ) -> Option<&'a Tie> {
        around.ties.get_or_init(|| self.ties(team)).of(&member.name).last()
    }

    /// Whether its client runs.
    pub(super) fn tied(&self, team: &TeamName, member: &Member, around: &Surroundings) -> Option<Tied> {
        let tie = self.tie_of(team, member, around)?;
        let caller = match &tie.process {
            Some((pid, start)) => match self.probe.started(*pid) {
                Some(now) if now.is_empty() || now == *start => Caller::Runs(*pid),
                _ => Caller::Ended(*pid),
            },
            None => Caller::Unknown,
        };
        let openness = Openness::certain(matches!(caller, Caller::Runs(_)), || tie.openness());
        let (is_running, pid, what) = judge(tie.client()?.title(), &tie.session, openness, caller)?;
        let transcript = tie.transcript();
        let does = || {
            let name = MemberName::parse(&member.name).ok()?;
            self.hooked_activity(team, &name, &tie.session, went_on(transcript.as_ref()))
        };
        let activity = if is_running { does() } else { None };
        let went_on = transcript.map(|transcript| Stamp::from_millis(transcript.changed_at));
        Some(Tied { is_running, what, pid, activity, went_on })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_tells_more_than_a_process_and_nothing_is_guessed() {
        let open = Openness::Open { pid: 7 };
        for (openness, caller, expected) in [
            (open, Caller::Unknown, Some((true, Some(7)))),
            // It was resumed in another process.
            (open, Caller::Ended(6), Some((true, Some(7)))),
            (Openness::Closed, Caller::Runs(6), Some((false, None))),
            (Openness::Unknown, Caller::Runs(6), Some((true, Some(6)))),
            (Openness::Unknown, Caller::Ended(6), Some((false, None))),
            (Openness::Unknown, Caller::Unknown, None),
        ] {
            let judged = judge("Codex", "0199a0b1-0000", openness, caller);
            assert_eq!(judged.map(|(runs, pid, _)| (runs, pid)), expected, "{openness:?} {caller:?}");
        }
    }
}
