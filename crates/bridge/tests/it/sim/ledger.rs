//! A ledger of one simulated machine: what it holds survives every crash.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use atm_bridge::envelope::Failure;
use atm_bridge::local::{Letter, Local, LocalError, Outgoing, Receipt, TakenIn};
use atm_bridge::name::Machine;

/// A letter that this machine's members sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) letter: Outgoing,
    /// The stages that came home.
    pub(crate) stages: BTreeSet<String>,
    pub(crate) recalled: bool,
}

/// One event about a letter that came from elsewhere.
#[derive(Debug, Clone)]
struct Event {
    origin: Machine,
    receipt: Receipt,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) sent: BTreeMap<u64, Sent>,
    next: u64,
    /// The inbox file of each member: ids in the order in which they were written.
    pub(crate) inboxes: BTreeMap<String, Vec<String>>,
    known: BTreeMap<String, (Machine, Receipt)>,
    pub(crate) seen: BTreeSet<String>,
    /// Letters that could not be read.
    poison: BTreeSet<String>,
    events: Vec<Event>,
    /// The disk is full: nothing can be taken in or confirmed.
    pub(crate) full: bool,
    /// Recipients whose mail the rules refuse.
    pub(crate) refusing: BTreeSet<String>,
}

impl Ledger {
    /// A member sends a letter; numbers have gaps, as those of a log with other events have.
    pub(crate) fn send(&mut self, id: String, to: &str, machine: &Machine, gap: u64) {
        self.next += 1 + gap;
        let letter = Outgoing {
            n: self.next,
            id,
            team: "alpha".into(),
            to: to.into(),
            machine: machine.clone(),
            from: "ann".into(),
            from_lead: false,
            home: None,
            letter: "{}".into(),
        };
        self.sent.insert(self.next, Sent { letter, stages: BTreeSet::new(), recalled: false });
    }

    /// What is in inboxes and was not read yet.
    pub(crate) fn unseen(&self) -> Vec<String> {
        self.inboxes.values().flatten().filter(|id| !self.seen.contains(*id)).cloned().collect()
    }

    /// A member has read a letter in its inbox.
    pub(crate) fn see(&mut self, id: &str) {
        let (origin, receipt) = self.known[id].clone();
        self.seen.insert(id.to_owned());
        self.events.push(Event { origin, receipt: Receipt { record: "seen".into(), ..receipt } });
    }

    fn check_disk(&self) -> Result<(), LocalError> {
        if self.full { Err(LocalError::Transient("no space left".into())) } else { Ok(()) }
    }

    fn take(&mut self, from: &Machine, letter: &Letter) -> Result<TakenIn, LocalError> {
        self.check_disk()?;
        if letter.to == "poisoned" {
            self.poison.insert(letter.id.clone());
            return Err(LocalError::Poison("it cannot be read".into()));
        }
        if let Some((origin, receipt)) = self.known.get(&letter.id) {
            assert_eq!(origin, from);
            return Ok(TakenIn::Recorded(vec![receipt.clone()]));
        }
        let is_refused = self.refusing.contains(&letter.to);
        let record = if is_refused { "failed" } else { "written" };
        let receipt = Receipt { id: letter.id.clone(), team: letter.team.clone(), record: record.into() };
        self.known.insert(letter.id.clone(), (from.clone(), receipt.clone()));
        if is_refused {
            return Ok(TakenIn::Refused(receipt));
        }
        self.inboxes.entry(letter.to.clone()).or_default().push(letter.id.clone());
        Ok(TakenIn::Recorded(vec![receipt]))
    }
}

/// The ledger, as its machine's bridge has it open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(pub(crate) Rc<RefCell<Ledger>>);

impl Local for Shared {
    fn outgoing(&mut self, after: u64, most: usize) -> Result<Vec<Outgoing>, LocalError> {
        let ledger = self.0.borrow();
        let open =
            ledger.sent.range(after + 1..).filter(|(_, sent)| sent.stages.is_empty() && !sent.recalled);
        Ok(open.take(most).map(|(_, sent)| sent.letter.clone()).collect())
    }

    fn take_in(&mut self, from: &Machine, letters: &[Letter]) -> Vec<Result<TakenIn, LocalError>> {
        let mut ledger = self.0.borrow_mut();
        letters.iter().map(|letter| ledger.take(from, letter)).collect()
    }

    fn is_known(&mut self, letter: &Letter) -> Result<bool, LocalError> {
        let ledger = self.0.borrow();
        Ok(ledger.known.contains_key(&letter.id) || ledger.poison.contains(&letter.id))
    }

    fn confirm(&mut self, from: &Machine, receipts: &[Receipt]) -> Result<(), LocalError> {
        let mut ledger = self.0.borrow_mut();
        ledger.check_disk()?;
        for receipt in receipts {
            let sent = ledger.sent.values_mut().find(|sent| sent.letter.id == receipt.id);
            let sent = sent.expect("a receipt is about a letter that was sent");
            assert_eq!(&sent.letter.machine, from);
            sent.stages.insert(receipt.record.clone());
        }
        Ok(())
    }

    fn fail(&mut self, from: &Machine, failure: &Failure) -> Result<(), LocalError> {
        let mut ledger = self.0.borrow_mut();
        ledger.check_disk()?;
        let sent = ledger.sent.get_mut(&failure.n).expect("a failure is about a letter that was sent");
        assert_eq!((&sent.letter.id, &sent.letter.machine), (&failure.id, from));
        sent.stages.insert("failed".into());
        Ok(())
    }

    fn receipts_since(
        &mut self,
        cursor: Option<&str>,
        most: usize,
    ) -> Result<(Vec<(Machine, Receipt)>, String), LocalError> {
        let ledger = self.0.borrow();
        let start: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let end = ledger.events.len().min(start + most);
        let events = ledger.events[start..end].iter();
        Ok((events.map(|event| (event.origin.clone(), event.receipt.clone())).collect(), end.to_string()))
    }
}
