//! How far the letters for each machine came, for people.

use std::collections::BTreeMap;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use super::holds::Why;
use super::{Item, Outbox};
use crate::name::Machine;
use crate::protocol::PeerView;

/// The letters for one machine that it has not confirmed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backlog {
    /// Those that the server has not, as far as is known.
    pub unsent: usize,
    /// Those that the server has, and that machine has not processed.
    pub stored: usize,
    /// Those that it has processed, and not confirmed.
    pub passed: usize,
    /// Those that wait because it has processed letters of this machine again and again, and answers none.
    pub unanswered: usize,
    /// When the oldest one was accepted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_at: Option<Stamp>,
}

impl Outbox {
    /// How far the letters for each machine came, as that machine said last.
    pub fn backlog(&self, peers: &BTreeMap<Machine, PeerView>) -> BTreeMap<Machine, Backlog> {
        let mut backlogs: BTreeMap<Machine, Backlog> = BTreeMap::new();
        for Item { lane, delivery, accepted_at, .. } in self.items.values() {
            if !backlogs.contains_key(&lane.machine) {
                backlogs.insert(lane.machine.clone(), Backlog::default());
            }
            let Some(backlog) = backlogs.get_mut(&lane.machine) else { continue };
            let peer = peers.get(&lane.machine);
            *match delivery.position() {
                None => &mut backlog.unsent,
                Some(_) if delivery.is_passed_by(peer) => &mut backlog.passed,
                Some(_) => &mut backlog.stored,
            } += 1;
            let oldest = backlog.oldest_at.get_or_insert(*accepted_at);
            *oldest = (*oldest).min(*accepted_at);
        }
        for (lane, _) in self.holds.lanes(|why| why == Why::Silent) {
            let is_asked = self.holds.next_question(&lane.machine).is_some();
            if let Some(backlog) = backlogs.get_mut(&lane.machine).filter(|_| is_asked) {
                backlog.unanswered += self.count(lane);
            }
        }
        backlogs
    }
}
