//! A ledger of one simulated machine: what it holds survives every crash, and what it has synced every power cut.

mod movers;
mod power;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use atm_bridge::envelope::{Failure, SharedTeam};
use atm_bridge::local::{Confirmed, Letter, Local, LocalError, Outgoing, Receipt, TakenIn};
use atm_bridge::name::Machine;
use atm_bridge::protocol::homes::{Entries, Homes, MemberKey};
use power::Log;

/// Names of members that move from machine to machine; all others are on each machine.
pub(crate) const MOVERS: [&str; 2] = ["mover-0", "mover-1"];

pub(crate) fn member(name: &str) -> MemberKey {
    MemberKey { team: "alpha".into(), name: name.into() }
}

/// A letter that this machine's members sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) letter: Outgoing,
    /// Its first number.
    pub(crate) first: u64,
    /// The machines that it was addressed to.
    homes: BTreeSet<Machine>,
    /// Those that it was published to, each with the epoch of its recipient's home.
    pub(crate) addressed: BTreeSet<(Machine, u64)>,
    /// The stages that came home.
    pub(crate) stages: BTreeSet<String>,
    pub(crate) recalled: bool,
}

impl Sent {
    pub(crate) fn is_over(&self) -> bool {
        self.recalled || self.stages.contains("failed") || self.stages.contains("seen")
    }
}

/// One event about a letter that came from elsewhere.
#[derive(Debug, Clone)]
struct Event {
    /// Tells it from another one that has its place in the log after a power cut.
    mark: u64,
    origin: Machine,
    receipt: Receipt,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) epoch: String,
    pub(crate) me: Machine,
    pub(crate) sent: BTreeMap<u64, Sent>,
    next: u64,
    /// The inbox file of each member: ids in the order in which they were written.
    pub(crate) inboxes: BTreeMap<String, Vec<String>>,
    pub(crate) known: BTreeMap<String, (Machine, Receipt)>,
    /// What was taken in for members that move, and under which epoch of their homes.
    pub(crate) taken: Vec<(String, u64)>,
    /// Of these, what left with its recipient, unread.
    pub(crate) left: BTreeSet<String>,
    /// What was read, as conversations show.
    pub(crate) seen: BTreeSet<String>,
    /// Of this, what the log does not have any more: the next look records it.
    unrecorded: BTreeSet<String>,
    /// Letters that could not be read.
    poison: BTreeSet<String>,
    events: Vec<Event>,
    marks: u64,
    /// What a power cut leaves of the log.
    durable: Log,
    /// The disk is full: nothing can be taken in or confirmed.
    pub(crate) full: bool,
    /// One call fails, after so many of those by which the engine finds what to publish.
    pub(crate) fails_after: Option<usize>,
    /// Recipients whose mail the rules refuse.
    pub(crate) refusing: BTreeSet<String>,
    /// The members that move, and are on the list here.
    pub(crate) here: Entries,
    /// Of these, those that are being taken here, and until when that may last: mail from here waits for what comes with them.
    pub(crate) arriving: BTreeMap<String, u64>,
    /// Whom other machines have, as they said last.
    pub(crate) announced: BTreeMap<Machine, Vec<SharedTeam>>,
    /// That list, as the bridge read it last.
    pub(crate) listed: Entries,
    joined: i64,
    pub(crate) homes: Homes,
    /// The teams that are shared now.
    pub(crate) teams: BTreeSet<String>,
}

impl Ledger {
    pub(crate) fn new(me: Machine) -> Self {
        Self {
            epoch: format!("e-{me}"),
            me,
            sent: BTreeMap::new(),
            next: 0,
            inboxes: BTreeMap::new(),
            known: BTreeMap::new(),
            taken: Vec::new(),
            left: BTreeSet::new(),
            seen: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
            poison: BTreeSet::new(),
            events: Vec::new(),
            marks: 0,
            durable: Log::default(),
            full: false,
            fails_after: None,
            refusing: BTreeSet::from(["refused".to_owned()]),
            here: Entries::new(),
            arriving: BTreeMap::new(),
            announced: BTreeMap::new(),
            listed: Entries::new(),
            joined: 0,
            homes: Homes::default(),
            teams: BTreeSet::from(["alpha".to_owned()]),
        }
    }

    /// A member sends a letter: its number. Numbers have gaps, as those of a log with other events have.
    pub(crate) fn send(&mut self, id: String, to: &str, machine: &Machine, gap: u64) -> u64 {
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
            accepted_at: atm_wire::Stamp::from_millis(0),
            letter: "{}".into(),
        };
        let (n, homes) = (self.next, BTreeSet::from([machine.clone()]));
        let (stages, addressed) = (BTreeSet::new(), BTreeSet::new());
        let sent = Sent { letter, first: self.next, homes, addressed, stages, recalled: false };
        self.sent.insert(self.next, sent);
        if *machine == self.me {
            self.write_own();
        }
        n
    }

    /// Something happened to a letter that came from a machine.
    pub(crate) fn tell(&mut self, origin: &Machine, id: &str) {
        let receipt = Receipt { id: id.to_owned(), team: "alpha".into(), record: "seen".into() };
        self.note(origin.clone(), receipt);
    }

    fn note(&mut self, origin: Machine, receipt: Receipt) {
        self.marks += 1;
        self.events.push(Event { mark: self.marks, origin, receipt });
    }

    /// What is in inboxes and was not read yet.
    pub(crate) fn unseen(&self) -> Vec<String> {
        self.inboxes.values().flatten().filter(|id| !self.seen.contains(*id)).cloned().collect()
    }

    /// What a member that is here may read next.
    pub(crate) fn readable(&self) -> Option<String> {
        let is_here = |name: &str| !MOVERS.contains(&name) || self.here.contains_key(&member(name));
        let open = self.inboxes.iter().filter(|(name, _)| is_here(name)).flat_map(|(_, inbox)| inbox);
        open.into_iter().find(|id| !self.seen.contains(*id)).cloned()
    }

    /// A member has read a letter in its inbox.
    pub(crate) fn see(&mut self, id: &str) {
        self.seen.insert(id.to_owned());
        self.record_seen(id);
    }

    /// Records what was read, and a power cut has taken from the log.
    pub(crate) fn look(&mut self) {
        for id in std::mem::take(&mut self.unrecorded) {
            self.record_seen(&id);
        }
    }

    fn record_seen(&mut self, id: &str) {
        let (origin, receipt) = self.known[id].clone();
        if origin == self.me {
            let sent = self.sent.values_mut().find(|sent| sent.letter.id == id);
            sent.unwrap().stages.insert("seen".into());
            return;
        }
        self.note(origin, Receipt { record: "seen".into(), ..receipt });
    }

    fn check_disk(&self) -> Result<(), LocalError> {
        if self.full { Err(LocalError::Transient("no space left".into())) } else { Ok(()) }
    }

    fn check_call(&mut self) -> Result<(), LocalError> {
        match self.fails_after.take() {
            Some(0) => Err(LocalError::Transient("the lock is taken".into())),
            left => {
                self.fails_after = left.map(|left| left - 1);
                Ok(())
            }
        }
    }

    fn take(&mut self, from: &Machine, letter: &Letter) -> Result<TakenIn, LocalError> {
        self.check_disk()?;
        if letter.to == "poisoned" {
            self.poison.insert(letter.id.clone());
            return Err(LocalError::Poison("it cannot be read".into()));
        }
        let (is_mover, key) = (MOVERS.contains(&letter.to.as_str()), member(&letter.to));
        if is_mover && !(self.homes.admits(&key, &self.me, letter.home) && self.here.contains_key(&key)) {
            return Ok(TakenIn::NotHome);
        }
        if let Some((origin, receipt)) =
            self.known.get(&letter.id).filter(|_| !self.left.contains(&letter.id))
        {
            assert_eq!(origin, from);
            return Ok(TakenIn::Recorded(vec![receipt.clone()]));
        }
        if letter.to == "unheard" {
            // Refused before the ledger could record it, as mail for a team that is not there.
            let receipt =
                Receipt { id: letter.id.clone(), team: letter.team.clone(), record: "failed".into() };
            return Ok(TakenIn::Refused(receipt));
        }
        self.left.remove(&letter.id);
        if is_mover {
            self.taken.push((letter.id.clone(), self.homes.epoch_at(&key, &self.me).unwrap_or(1)));
        }
        let is_refused = self.refusing.contains(&letter.to);
        let record = match self.homes.epoch_at(&key, &self.me).filter(|_| is_mover) {
            _ if is_refused => "failed".to_owned(),
            Some(epoch) => format!("written {epoch}"),
            None => "written".to_owned(),
        };
        let receipt = Receipt { id: letter.id.clone(), team: letter.team.clone(), record };
        self.known.insert(letter.id.clone(), (from.clone(), receipt.clone()));
        if is_refused {
            return Ok(TakenIn::Refused(receipt));
        }
        self.inboxes.entry(letter.to.clone()).or_default().push(letter.id.clone());
        Ok(TakenIn::Recorded(vec![receipt]))
    }

    /// Whether a receipt counts: of a member that moves, what stood in its file counts during the same stay alone.
    fn counts(&self, from: &Machine, sent: &Sent, record: &str) -> bool {
        assert!(sent.homes.contains(from), "a receipt is from a machine that had the letter");
        let is_mover = MOVERS.contains(&sent.letter.to.as_str());
        let Some(epoch) = record.strip_prefix("written").filter(|_| is_mover) else { return true };
        let told = epoch.trim().parse().unwrap_or(1);
        let stay = self.homes.epoch_at(&member(&sent.letter.to), from);
        sent.letter.machine == *from && stay.unwrap_or(1) <= told
    }
}

/// The ledger, as its machine's bridge has it open.
#[derive(Debug, Clone)]
pub(crate) struct Shared(pub(crate) Rc<RefCell<Ledger>>);

impl Local for Shared {
    fn epoch(&mut self) -> Result<String, LocalError> {
        Ok(self.0.borrow().epoch.clone())
    }

    fn teams(&mut self) -> BTreeSet<String> {
        self.0.borrow().teams.clone()
    }

    fn outgoing(&mut self, after: u64, most: usize) -> Result<Vec<Outgoing>, LocalError> {
        let mut ledger = self.0.borrow_mut();
        ledger.check_call()?;
        ledger.follow_moves();
        let Ledger { sent, homes, me, .. } = &mut *ledger;
        let open = sent.range_mut(after + 1..).map(|(_, sent)| sent).filter(|sent| {
            let key = member(&sent.letter.to);
            // One whose recipient is here waits to be brought back.
            let is_carried = homes.is_settled(&key) && homes.epoch_at(&key, me).is_none();
            sent.stages.is_empty() && !sent.recalled && sent.letter.machine != *me && is_carried
        });
        let outgoing = |sent: &mut Sent| {
            let home = homes.address(&member(&sent.letter.to), &sent.letter.machine);
            sent.addressed.insert((sent.letter.machine.clone(), home.unwrap_or(1)));
            Outgoing { home, ..sent.letter.clone() }
        };
        let given: Vec<Outgoing> = open.take(most).map(outgoing).collect();
        if given.last().is_some_and(|last| !ledger.is_durable(last.n)) {
            ledger.sync();
        }
        Ok(given)
    }

    fn whereabouts(&mut self, machine: &Machine, _team: &str, to: &str) -> u64 {
        let ledger = self.0.borrow();
        let members = ledger.announced.get(machine).into_iter().flatten().flat_map(|team| &team.members);
        let listed = members.filter(|member| member.name == to).map(|member| member.epoch).next();
        ledger.homes.whereabouts(&member(to), listed)
    }

    fn take_in(&mut self, from: &Machine, letters: &[Letter]) -> Vec<Result<TakenIn, LocalError>> {
        let mut ledger = self.0.borrow_mut();
        let taken = letters.iter().map(|letter| ledger.take(from, letter)).collect();
        ledger.sync();
        taken
    }

    fn is_known(&mut self, letter: &Letter) -> Result<bool, LocalError> {
        let ledger = self.0.borrow();
        let is_mover = MOVERS.contains(&letter.to.as_str());
        let is_away = is_mover && !ledger.homes.admits(&member(&letter.to), &ledger.me, letter.home);
        Ok(is_away || ledger.known.contains_key(&letter.id) || ledger.poison.contains(&letter.id))
    }

    fn confirm(&mut self, from: &Machine, receipts: &[Receipt]) -> Result<Vec<Confirmed>, LocalError> {
        let mut ledger = self.0.borrow_mut();
        ledger.check_disk()?;
        let mut counts = Vec::new();
        for receipt in receipts {
            let n = ledger.sent.iter().find(|(_, sent)| sent.letter.id == receipt.id).map(|(n, _)| *n);
            let n = n.expect("a receipt is about a letter that was sent");
            let to = ledger.sent[&n].letter.to.clone();
            if receipt.record == "accepted" {
                counts.push(Confirmed::Accepted { to });
                continue;
            }
            let is_about = ledger.counts(from, &ledger.sent[&n], &receipt.record);
            if is_about {
                ledger.sent.get_mut(&n).unwrap().stages.insert(receipt.record.clone());
            }
            counts.push(if is_about { Confirmed::Written { to } } else { Confirmed::Nothing });
        }
        ledger.sync();
        Ok(counts)
    }

    fn fail(&mut self, from: &Machine, failure: &Failure) -> Result<(), LocalError> {
        let mut ledger = self.0.borrow_mut();
        ledger.check_disk()?;
        let sent = ledger.sent.get_mut(&failure.n);
        let Some(sent) = sent.filter(|sent| sent.letter.machine == *from) else {
            // It was sent on since.
            assert!(ledger.sent.values().any(|sent| sent.letter.id == failure.id && sent.homes.len() > 1));
            return Ok(());
        };
        assert!(failure.id.is_empty() || sent.letter.id == failure.id);
        sent.stages.insert("failed".into());
        ledger.sync();
        Ok(())
    }

    fn give_up(&mut self, n: u64, _why: &str) -> Result<(), LocalError> {
        let mut ledger = self.0.borrow_mut();
        ledger.check_disk()?;
        ledger.sent.get_mut(&n).unwrap().stages.insert("failed".into());
        ledger.sync();
        Ok(())
    }

    fn receipts_since(
        &mut self,
        cursor: Option<&str>,
        most: usize,
    ) -> Result<(Vec<(Machine, Receipt)>, String), LocalError> {
        self.0.borrow_mut().check_call()?;
        let ledger = self.0.borrow();
        let start = cursor.map_or(0, |cursor| ledger.place_of(cursor));
        let end = ledger.events.len().min(start + most);
        let is_shared = |event: &&Event| ledger.teams.contains(&event.receipt.team);
        let events = ledger.events[start..end].iter().filter(is_shared);
        let events = events.map(|event| (event.origin.clone(), event.receipt.clone())).collect();
        Ok((events, ledger.cursor(end)))
    }
}
