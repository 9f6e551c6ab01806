//! When the engine's thread does what happens by the clock. At rest, as much as possible is done in one go: each wake costs.

use std::time::{Duration, Instant};

/// How often the ledger and clients' files are looked at, if no event told of anything new: where the system tells of
/// changes, since events get lost; and where it does not, since files change on another machine.
const LOOK_EVERY: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(1));
/// Teams with mail from other machines are looked at no sooner again by the clock: conversations change without an event.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);
/// Clients' files are not looked at again within this time: what is written into them comes in many events.
const FOLLOW_APART: Duration = Duration::from_millis(20);
/// How often it is found out who is at home here, and who is placed here: while files change, and at rest. Each time, all processes
/// of this machine are asked who they are.
const MEMBERS_EVERY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));
/// What may be done sooner is done with what is due, if it would be due within this part of the time between two looks.
const TOGETHER: u32 = 5;

/// How often files are looked at that no event told of.
pub fn look_every(has_events: bool) -> Duration {
    if has_events { LOOK_EVERY.0 } else { LOOK_EVERY.1 }
}

/// When each thing is done next.
#[derive(Debug, Clone)]
pub(super) struct Due {
    look_every: Duration,
    look: Instant,
    /// Not at all, if no team has mail from another machine and nothing changed.
    follow: Option<Instant>,
    members: Instant,
    /// A machine may be away from then on.
    away: Instant,
    /// Not before, however many files change.
    follow_from: Instant,
    members_from: Instant,
}

/// What is due now.
#[expect(clippy::struct_excessive_bools, reason = "any of them are due together")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Now {
    /// The ledger is read.
    pub(super) look: bool,
    /// Teams with mail from other machines are looked at.
    pub(super) follow: bool,
    /// Who is at home here is found out.
    pub(super) members: bool,
    /// Machines whose last heartbeat is too old are away.
    pub(super) away: bool,
}

impl Due {
    /// All of it now; then as often as it takes.
    pub(super) fn new(has_events: bool, now: Instant) -> Self {
        Self {
            look_every: look_every(has_events),
            look: now,
            follow: Some(now),
            members: now,
            away: now,
            follow_from: now,
            members_from: now,
        }
    }

    /// When something is due, if nothing happens.
    pub(super) fn next(&self) -> Instant {
        let next = self.look.min(self.members).min(self.away);
        self.follow.map_or(next, |follow| follow.min(next))
    }

    /// Files changed.
    pub(super) fn note_change(&mut self) {
        self.follow = Some(self.follow.map_or(self.follow_from, |follow| follow.min(self.follow_from)));
        self.members = self.members.min(self.members_from);
    }

    /// What is due. It counts as done.
    pub(super) fn take(&mut self, now: Instant) -> Now {
        // To read the ledger or to look who is away a little sooner is never wrong.
        let soon = now + self.look_every / TOGETHER;
        let look = soon >= self.look;
        let due = Now {
            look,
            follow: self.follow.is_some_and(|follow| now >= follow),
            members: now >= self.members,
            away: look || now >= self.away,
        };
        if due.look {
            self.look = now + self.look_every;
        }
        if due.follow {
            self.follow = None;
            self.follow_from = now + FOLLOW_APART;
        }
        if due.members {
            self.members = now + MEMBERS_EVERY.1;
            self.members_from = now + MEMBERS_EVERY.0;
        }
        due
    }

    /// The next team with mail from another machine is due then, if there is one.
    pub(super) fn follow_at(&mut self, at: Option<Instant>, now: Instant) {
        let from = now + FOLLOW_EVERY.min(self.look_every);
        let at = at.map(|at| at.max(from));
        self.follow = at.into_iter().chain(self.follow).min();
    }

    /// Members are asked for again now, or then if that is sooner than the next time, and not too soon after the last one.
    pub(super) fn members_now(&mut self, now: Instant) {
        self.members = now;
    }

    pub(super) fn members_at(&mut self, at: Instant) {
        self.members = self.members.min(at.max(self.members_from));
    }

    /// They are asked for again as if files had changed now.
    pub(super) fn members_soon(&mut self, now: Instant) {
        self.members = now + MEMBERS_EVERY.0;
    }

    /// No machine is away before.
    pub(super) fn away_at(&mut self, at: Instant) {
        self.away = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Now = Now { look: true, follow: true, members: true, away: true };

    /// It woke 23 times a minute, and asked every process of the machine 4 times who it is.
    #[test]
    fn at_rest_it_wakes_four_times_a_minute_and_asks_for_members_twice() {
        let start = Instant::now();
        let (mut due, mut now) = (Due::new(true, start), start);
        assert_eq!(due.take(start), ALL);
        due.away_at(start + Duration::from_secs(20));
        let (mut wakes, mut looks, mut members) = (0, 0, 0);
        loop {
            // A thread is always a little late.
            now = due.next().max(now) + Duration::from_millis(1);
            if now > start + Duration::from_secs(601) {
                break;
            }
            let what = due.take(now);
            assert_ne!(what, Now::default(), "it woke for nothing");
            if what.away {
                // Heartbeats come every five seconds.
                due.away_at(now + Duration::from_secs(16));
            }
            (wakes, looks, members) =
                (wakes + 1, looks + u32::from(what.look), members + u32::from(what.members));
        }
        assert_eq!(members, 20);
        assert!((40..=44).contains(&looks), "{looks}");
        assert!(wakes <= 44, "{wakes}");
    }

    #[test]
    fn what_changed_is_looked_at_at_once_and_members_every_five_seconds() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut due = Due::new(true, start);
        assert_eq!(due.take(start), ALL);
        due.away_at(at(20_000));
        due.note_change();
        assert_eq!(due.take(at(10)), Now::default(), "not within 20 ms");
        assert_eq!(due.next(), at(20));
        assert_eq!(due.take(at(20)), Now { follow: true, ..Now::default() });
        due.note_change();
        assert_eq!(due.take(at(1_000)), Now { follow: true, ..Now::default() });
        assert_eq!(due.next(), at(5_000), "who is at home may have changed, too");
        assert_eq!(due.take(at(5_000)), Now { members: true, ..Now::default() });
        assert_eq!(due.next(), at(15_000));
    }

    #[test]
    fn mail_from_another_machine_is_followed_by_the_clock_every_five_seconds_at_most() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut due = Due::new(true, start);
        assert_eq!(due.take(start), ALL);
        due.away_at(at(20));
        due.follow_at(Some(at(2)), start);
        assert_eq!(due.next(), at(5));
        assert_eq!(due.take(at(5)), Now { follow: true, ..Now::default() });
        due.follow_at(Some(at(9)), at(5));
        due.follow_at(None, at(6));
        assert_eq!(due.next(), at(10));
        let mut due = Due::new(false, start);
        due.take(start);
        due.follow_at(Some(at(0)), start);
        assert_eq!(due.take(at(1)), Now { members: false, ..ALL }, "each second without events");
    }
}
