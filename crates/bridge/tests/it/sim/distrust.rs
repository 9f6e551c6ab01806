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
    /// How long after it the first letter is confirmed, in seconds.
    pub(crate) answered_within: u64,
}

impl World {
    /// Whether a machine refuses what another one signs.
    pub(super) fn refuses(&self, place: usize, from: &Machine) -> bool {
        self.distrust.as_ref().is_some_and(|(who, machine)| *who == place && machine == from)
    }

    /// The machines that a machine trusts.
    pub(super) fn trusted_by(&self, place: usize) -> Vec<Machine> {
        let names = self.nodes.iter().map(|node| node.name.clone());
        names.filter(|name| !self.refuses(place, name)).collect()
    }

    /// Its people end the trust in another machine, or all trust each other again.
    pub(super) fn change_trust(&mut self) {
        let count = self.nodes.len() as u64;
        if self.random.happens(self.troubles.distrust) {
            let who = usize::try_from(self.random.below(count)).unwrap();
            let other = (who + 1 + usize::try_from(self.random.below(count - 1)).unwrap()) % self.nodes.len();
            self.set_distrust(Some((who, self.nodes[other].name.clone())));
        } else if self.distrust.is_some() && self.random.happens(10) {
            self.set_distrust(None);
        }
    }

    /// All bridges are told.
    pub(super) fn set_distrust(&mut self, distrust: Option<(usize, Machine)>) {
        self.distrust = distrust;
        for place in 0..self.nodes.len() {
            let names = self.trusted_by(place);
            if let Some(engine) = &mut self.nodes[place].engine {
                engine.set_trusted(names);
            }
        }
    }

    /// The first machine writes to the second one, which does not trust it for a while.
    pub(crate) fn send_to_one_that_distrusts(&mut self) -> Costs {
        self.troubles = Troubles::NONE;
        self.never_together = false;
        // One that drops answers before they are read costs more.
        self.stream.most = None;
        while !self.is_done() {
            self.round();
        }
        self.set_distrust(Some((1, self.nodes[0].name.clone())));
        let before = (self.published(), self.millis);
        for number in 0..90 {
            self.send(0, 1, ["bob", "eve", "refused"][number % 3]);
        }
        (0..CALM).for_each(|_| self.round());
        let meanwhile = (self.published(), self.millis);
        self.set_distrust(None);
        let mut answered = None;
        for _ in 0..CALM {
            if self.is_done() {
                break;
            }
            self.round();
            if answered.is_none() && self.nodes[0].engine.as_ref().unwrap().outbox().len() < 90 {
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

    fn published(&self) -> u64 {
        self.nodes[0].engine.as_ref().unwrap().tally().published
    }
}
