//! One machine trusts another one, which does not trust it.

use atm_bridge::name::Machine;

use super::troubles::Troubles;
use super::world::{CALM, World};

/// What mail costs that its recipient's machine refuses without a word.
#[derive(Debug)]
pub(crate) struct Costs {
    /// How many letters there are.
    pub(crate) letters: u64,
    /// How long they are refused.
    pub(crate) seconds: u64,
    /// How often letters are published until then.
    pub(crate) meanwhile: u64,
    /// How often after it, until all is read.
    pub(crate) then: u64,
    /// How long after it the last letter is confirmed, in seconds.
    pub(crate) answered_within: u64,
}

impl World {
    /// Whether a machine refuses what another one signs.
    pub(super) fn refuses(&self, place: usize, from: &Machine) -> bool {
        self.distrust.as_ref().is_some_and(|(who, machine)| *who == place && machine == from)
    }

    /// The first machine writes to the second one, which does not trust it for a while.
    pub(crate) fn send_to_one_that_distrusts(&mut self) -> Costs {
        self.troubles = Troubles::NONE;
        self.never_together = false;
        while !self.is_done() {
            self.round();
        }
        self.trust_again(Some((1, self.nodes[0].name.clone())));
        let before = (self.published(), self.millis);
        for number in 0..90 {
            self.send(0, 1, ["bob", "eve", "refused"][number % 3]);
        }
        (0..CALM).for_each(|_| self.round());
        let meanwhile = (self.published(), self.millis);
        self.trust_again(None);
        let mut answered = None;
        for _ in 0..CALM {
            if self.is_done() {
                break;
            }
            self.round();
            if answered.is_none() && self.nodes[0].engine.as_ref().unwrap().outbox().is_empty() {
                answered = Some(self.millis);
            }
        }
        Costs {
            letters: 90,
            seconds: (meanwhile.1 - before.1) / 1_000,
            meanwhile: meanwhile.0 - before.0,
            then: self.published() - meanwhile.0,
            answered_within: (answered.unwrap_or(u64::MAX) - meanwhile.1) / 1_000,
        }
    }

    fn trust_again(&mut self, distrust: Option<(usize, Machine)>) {
        self.distrust = distrust;
        // Its bridge is told at once, which a start is as well.
        self.nodes[1].engine = None;
    }

    fn published(&self) -> u64 {
        self.nodes[0].engine.as_ref().unwrap().tally().published
    }
}
