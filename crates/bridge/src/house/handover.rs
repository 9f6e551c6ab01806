//! How long a machine waits for a member's former home before it sends on its mail: what that one has given to the member is told
//! before it hands it over, and nobody there takes any of it later. So what is sent on is not read twice, if the former home is
//! there. One that is off, or does not do it, keeps nobody waiting.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::protocol::homes::MemberKey;

/// A home that is there hands over as soon as it has heard of the new one, and that one has announced the member.
const PATIENCE: Duration = Duration::from_secs(10);

/// Moves that wait for the former home, by member and epoch, and since when.
#[derive(Debug, Default)]
pub(super) struct Handovers(HashMap<(MemberKey, u64), Instant>);

impl Handovers {
    /// Whether a move has to wait, if its former home is there and has not handed over.
    pub(super) fn waits(&mut self, key: &MemberKey, epoch: u64, is_kept: bool, now: Instant) -> bool {
        let name = (key.clone(), epoch);
        if !is_kept {
            self.0.remove(&name);
            return false;
        }
        now.duration_since(*self.0.entry(name).or_insert(now)) < PATIENCE
    }

    /// Forgets all moves but those of these members.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&MemberKey) -> bool) {
        self.0.retain(|(member, _), _| is_kept(member));
    }

    /// A move is done.
    pub(super) fn end(&mut self, key: &MemberKey) {
        self.0.retain(|(member, _), _| member != key);
    }

    /// When the next move is done in any case.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        self.0.values().map(|since| *since + PATIENCE).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_home_that_is_there_is_waited_for_and_not_for_ever() {
        let (mut moves, start) = (Handovers::default(), Instant::now());
        let bob = MemberKey { team: "demo".into(), name: "bob".into() };
        assert!(!moves.waits(&bob, 2, false, start), "it is off, or has handed over");
        assert!(moves.waits(&bob, 2, true, start));
        assert!(moves.waits(&bob, 2, true, start + PATIENCE / 2));
        assert_eq!(moves.ends_at(), Some(start + PATIENCE));
        assert!(!moves.waits(&bob, 2, true, start + PATIENCE));
        assert!(moves.waits(&bob, 3, true, start + PATIENCE), "another move");
        moves.end(&bob);
        assert_eq!(moves.ends_at(), None);
        assert!(moves.waits(&bob, 4, true, start));
        moves.retain(|_| false);
        assert_eq!(moves.ends_at(), None, "the home that it was about counts no more");
    }
}
