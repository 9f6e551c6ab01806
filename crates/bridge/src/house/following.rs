//! Which teams are looked at, and when: those with mail from other machines, whose senders wait to hear what becomes of it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use atm_wire::TeamName;

/// Teams with mail from other machines.
#[derive(Debug, Default)]
pub(super) struct Following(HashMap<TeamName, Followed>);

/// Since when a team has its newest mail from another machine, and when it was last looked at.
#[derive(Debug, Clone, Copy)]
struct Followed {
    since: Instant,
    looked: Instant,
}

impl Following {
    /// Mail from another machine came, or may have come.
    pub(super) fn note(&mut self, team: &TeamName, now: Instant) {
        match self.0.get_mut(team) {
            Some(followed) => followed.since = now,
            None => drop(self.0.insert(team.clone(), Followed { since: now, looked: now })),
        }
    }

    /// When the next team is due, if no mail comes.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().map(Followed::due).min()
    }

    /// The teams to look at now; they count as looked at.
    pub(super) fn due(&mut self, now: Instant) -> Vec<TeamName> {
        let mut due = Vec::new();
        for (team, followed) in &mut self.0 {
            if now >= followed.due() {
                followed.looked = now;
                due.push(team.clone());
            }
        }
        due
    }
}

impl Followed {
    fn due(&self) -> Instant {
        self.looked + look_every(self.looked.saturating_duration_since(self.since))
    }
}

/// How soon a team is looked at again whose newest mail from another machine was so old when it was looked at: at first every
/// two seconds, then ever less, so that mail that nobody reads costs nothing in the end.
fn look_every(age: Duration) -> Duration {
    (age / 20).clamp(Duration::from_secs(2), Duration::from_secs(300))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_that_nobody_reads_is_looked_at_ever_less() {
        let every = |seconds| look_every(Duration::from_secs(seconds)).as_secs();
        assert_eq!([0, 40, 600, 3_600, 86_400].map(every), [2, 2, 30, 180, 300]);
    }

    #[test]
    fn a_team_is_due_when_its_time_has_come_and_new_mail_makes_it_young() {
        let (mut following, team, start) =
            (Following::default(), "demo".parse::<TeamName>().unwrap(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(following.next(), None);
        following.note(&team, start);
        assert!(following.due(at(1)).is_empty());
        assert_eq!(following.next(), Some(at(2)));
        assert_eq!(following.due(at(2)), std::slice::from_ref(&team));
        assert!(following.due(at(3)).is_empty());
        assert_eq!(following.due(at(600)), std::slice::from_ref(&team));
        assert_eq!(following.next(), Some(at(630)));
        assert!(following.due(at(620)).is_empty());
        following.note(&team, at(620));
        assert_eq!(following.due(at(621)), [team]);
    }
}
