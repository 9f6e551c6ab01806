//! Receipts for one machine: one batch at a time, sent again until that machine has applied it.
//!
//! Stages are a set, so their order does not matter; that each arrives does. The position up to which a machine has applied
//! everything is a cursor of this machine's log. It was read for the teams that both share: what is shared anew was passed over until
//! then, and is read from the start, which costs traffic alone.
//!
//! A machine that processes a batch several times and answers nothing is asked without any receipts, until it answers: it does not trust
//! this machine, as a rule, and the batch would fill the stream.

use std::collections::BTreeSet;

use atm_wire::Stamp;
use atm_wire::backup::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::delivery::Delivery;
use super::{PeerView, Position, StreamView};
use crate::local::Receipt;

/// Receipts that are sent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Names the batch: the cursor after it, and a digest of its receipts. One that is read again for more teams may end at the same
    /// place, and an answer to the former one does not complete it.
    pub name: String,
    /// The cursor after it.
    upto: String,
    /// The receipts.
    pub receipts: Vec<Receipt>,
}

/// What is remembered across restarts: the cursor up to which the machine has applied everything, and for which teams.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    applied: Option<String>,
    /// The teams of which it was told; none: that is not known, and nothing is told again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    teams: Option<BTreeSet<String>>,
    /// The teams that it does not share, as it answered.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    unshared: BTreeSet<String>,
}

/// The receipts for one machine.
#[derive(Debug, Default)]
pub struct Feed {
    remembered: Remembered,
    under_way: Option<UnderWay>,
}

/// A batch until it is applied.
#[derive(Debug)]
struct UnderWay {
    batch: Batch,
    delivery: Delivery,
    /// The attempt that was begun last has no receipts.
    is_question: bool,
}

/// No batch has an empty name.
const QUESTION: &str = "";

/// What has to be published now.
#[derive(Debug, PartialEq, Eq)]
pub struct Due {
    /// Which batch it is about.
    pub name: String,
    /// Which attempt this is.
    pub attempt: u32,
    /// What is sent: the batch, or a question whether the machine answers at all.
    pub sent: Batch,
}

impl Feed {
    /// One that goes on where it was before a restart.
    pub fn remembering(remembered: Remembered) -> Self {
        Self { remembered, under_way: None }
    }

    /// What to remember across a restart.
    pub fn to_remember(&self) -> Remembered {
        self.remembered.clone()
    }

    /// Whether no batch is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    /// Where to read on, if no batch is under way.
    pub fn read_from(&self) -> Option<Option<&str>> {
        self.under_way.is_none().then_some(self.remembered.applied.as_deref())
    }

    /// The teams that this machine shares now. If there is one that the cursor was not read for, it begins anew.
    pub fn set_teams(&mut self, shared: &BTreeSet<String>) {
        let Remembered { applied, teams, unshared } = &mut self.remembered;
        let told: BTreeSet<String> = shared.difference(unshared).cloned().collect();
        if teams.as_ref().is_some_and(|teams| !told.is_subset(teams)) {
            *applied = None;
            self.under_way = None;
        }
        *teams = Some(told);
    }

    /// The teams that the other machine shares, as it announces. Says whether there is one among them that it did not share before.
    pub fn set_their_teams<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> bool {
        let unshared = &mut self.remembered.unshared;
        let before = unshared.len();
        for name in names {
            unshared.remove(name);
        }
        unshared.len() < before
    }

    /// What was read: receipts for this machine, up to a cursor. Without receipts there is nothing to send.
    pub fn add(&mut self, mut receipts: Vec<Receipt>, upto: String) {
        receipts.retain(|receipt| !self.remembered.unshared.contains(&receipt.team));
        if receipts.is_empty() {
            self.remembered.applied = Some(upto);
        } else {
            let name = format!("{upto}.{}", digest(&receipts));
            let batch = Batch { name, upto, receipts };
            self.under_way = Some(UnderWay { batch, delivery: Delivery::default(), is_question: false });
        }
    }

    /// What has to be published now.
    pub fn due(&mut self, now: Stamp, stream: &StreamView, peer: Option<&PeerView>) -> Option<Due> {
        let UnderWay { batch, delivery, is_question } = self.under_way.as_mut()?;
        if !delivery.is_due(now, stream, peer) {
            return None;
        }
        if !delivery.is_repeated() {
            *is_question = delivery.is_unanswered();
        }
        let attempt = delivery.begin();
        let question =
            || Batch { name: QUESTION.to_owned(), upto: QUESTION.to_owned(), receipts: Vec::new() };
        let sent = if *is_question { question() } else { batch.clone() };
        Some(Due { name: batch.name.clone(), attempt, sent })
    }

    /// The server has answered for an attempt at a batch, or did not.
    pub fn end(&mut self, name: &str, attempt: u32, position: Option<Position>, now: Stamp) {
        if let Some(UnderWay { batch, delivery, .. }) = &mut self.under_way
            && batch.name == name
        {
            delivery.end(attempt, position, now);
        }
    }

    /// The machine has applied a batch, but for what is about teams that it does not share; or it answers a question, and gets the
    /// batch. An older answer says nothing.
    pub fn applied(&mut self, name: &str, unshared: &BTreeSet<String>) {
        let Some(UnderWay { batch, delivery, is_question }) = &mut self.under_way else { return };
        if *is_question && name == QUESTION {
            delivery.again();
        } else if batch.name == name {
            self.remembered.applied = Some(std::mem::take(&mut batch.upto));
            self.under_way = None;
            let ours = self.remembered.teams.iter().flatten().filter(|team| unshared.contains(*team));
            self.remembered.unshared.extend(ours.cloned());
        }
    }
}

/// What tells receipts from others that end at the same place.
fn digest(receipts: &[Receipt]) -> String {
    let mut hash = Sha256::new();
    for Receipt { id, team, record } in receipts {
        for part in [id, team, record] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    hex(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Stamp {
        Stamp::from_millis(1_800_000_000_000)
    }

    fn stream(last: u64) -> StreamView {
        let at = now().saturating_add(std::time::Duration::from_secs(1));
        StreamView { stream: "s".into(), first: 1, last, most_bytes: None, most_age: None, at }
    }

    fn receipt() -> Receipt {
        Receipt { id: "id".into(), team: "alpha".into(), record: "{}".into() }
    }

    #[test]
    fn a_batch_is_sent_until_it_is_applied_and_then_the_next_is_read() {
        let mut feed = Feed::default();
        assert_eq!(feed.read_from(), Some(None));
        feed.add(vec![receipt()], "c1".into());
        assert_eq!(feed.read_from(), None);
        let due = feed.due(now(), &stream(0), None).unwrap();
        assert_eq!((due.attempt, due.sent.receipts.len()), (1, 1));
        let name = due.name;
        feed.end(&name, 1, Some(Position { stream: "s".into(), seq: 3 }), now());
        assert_eq!(feed.due(now(), &stream(3), None), None);
        // The stream lost it.
        assert!(feed.due(now(), &stream(2), None).is_some());
        feed.applied("c0", &BTreeSet::new());
        assert_eq!(feed.read_from(), None);
        feed.applied(&name, &BTreeSet::new());
        assert_eq!(feed.read_from(), Some(Some("c1")));
    }

    /// The name of the batch that is under way.
    fn name(feed: &Feed) -> String {
        feed.under_way.as_ref().unwrap().batch.name.clone()
    }

    /// What was told of a team that is shared anew was passed over for good.
    #[test]
    fn an_answer_to_a_batch_of_fewer_teams_that_ended_at_the_same_place_completes_no_other() {
        let none = BTreeSet::new();
        let mut feed = Feed::default();
        feed.add(vec![receipt()], "c100".into());
        let before = name(&feed);
        // The bridge starts again with another team, and reads from the start.
        let mut feed = Feed::default();
        let other = Receipt { team: "beta".into(), ..receipt() };
        feed.add(vec![receipt(), other], "c100".into());
        feed.applied(&before, &none);
        assert_eq!(feed.read_from(), None);
        let now = name(&feed);
        feed.applied(&now, &none);
        assert_eq!(feed.read_from(), Some(Some("c100")));
        feed.remembered.applied = None;
        feed.add(vec![receipt()], "c100".into());
        assert_eq!(name(&feed), before, "the same batch has the same name after a restart");
    }

    #[test]
    fn nothing_for_this_machine_is_passed_over() {
        let mut feed = Feed::default();
        feed.add(Vec::new(), "c7".into());
        assert_eq!(feed.read_from(), Some(Some("c7")));
        assert_eq!(feed.due(now(), &stream(0), None), None);
    }

    #[test]
    fn what_is_under_way_at_a_restart_is_read_again() {
        let mut feed = Feed::default();
        feed.add(Vec::new(), "c1".into());
        feed.add(vec![receipt()], "c2".into());
        let feed = Feed::remembering(feed.to_remember());
        assert_eq!(feed.read_from(), Some(Some("c1")));
    }

    #[test]
    fn a_team_that_is_shared_anew_is_read_from_the_start_and_one_that_is_not_any_more_changes_nothing() {
        let teams = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let mut feed = Feed::default();
        feed.add(Vec::new(), "c1".into());
        feed.set_teams(&teams(&["alpha", "beta"]));
        assert_eq!(feed.read_from(), Some(Some("c1")), "what an earlier version remembers counts");
        feed.set_teams(&teams(&["beta"]));
        assert_eq!(feed.read_from(), Some(Some("c1")));
        let text = serde_json::to_string(&feed.to_remember()).unwrap();
        let mut feed = Feed::remembering(serde_json::from_str(&text).unwrap());
        feed.set_teams(&teams(&["alpha", "beta"]));
        assert_eq!(feed.read_from(), Some(None));
        // The other side does not share one of them.
        feed.add(vec![receipt()], "c2".into());
        let second = name(&feed);
        feed.applied(&second, &teams(&["alpha", "of nobody"]));
        feed.add(vec![receipt()], "c3".into());
        feed.set_teams(&teams(&["alpha", "beta"]));
        assert_eq!(feed.read_from(), Some(Some("c3")), "nothing is sent to be passed over");
        assert!(!feed.set_their_teams(["beta"].into_iter()));
        assert!(feed.set_their_teams(["alpha"].into_iter()));
        feed.set_teams(&teams(&["alpha", "beta"]));
        assert_eq!(feed.read_from(), Some(None));
    }
}
