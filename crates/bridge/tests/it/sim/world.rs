//! Some machines, a server between them, and a schedule of troubles that follows from one seed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use atm_bridge::engine::{Engine, Identity, Memory, Polled, Room};
use atm_bridge::envelope::SharedTeam;
use atm_bridge::house::Neighbour;
use atm_bridge::name::Machine;
use atm_bridge::protocol::Position;
use atm_bridge::protocol::homes::Homes;
use atm_wire::Stamp;

use super::ledger::{Ledger, MOVERS, Sent, Shared};
use super::moves::{Bucket, announced, neighbour};
use super::network::Flight;
use super::random::Random;
use super::stream::Stream;
use super::troubles::Troubles;

/// All who get mail.
const RECIPIENTS: [&str; 9] =
    ["bob", "eve", "refused", "poisoned", "unheard", MOVERS[0], MOVERS[0], MOVERS[0], MOVERS[1]];
/// Letters that are sent while there are troubles.
const LETTERS: u64 = 40;
/// Rounds with troubles.
const ROUNDS: u64 = 120;
/// Rounds without, in which all has to come to its end.
pub(super) const CALM: u64 = 2_000;

/// One machine.
pub(crate) struct Node {
    pub(crate) name: Machine,
    pub(crate) ledger: Shared,
    /// What was saved last, and is read at a start.
    saved: Memory,
    pub(crate) engine: Option<Engine<Shared>>,
    off_until: u64,
    next_heartbeat: u64,
    heard: BTreeMap<Machine, u64>,
    pub(crate) neighbours: BTreeMap<Machine, Neighbour>,
    /// Which bucket of homes it has looked at, and up to where.
    pub(crate) bucket_seen: Option<(u64, u64)>,
    /// Where its people last saw members that move.
    views: BTreeMap<&'static str, Machine>,
}

/// All of it.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) troubles: Troubles,
    pub(crate) nodes: Vec<Node>,
    pub(super) stream: Stream,
    pub(crate) bucket: Bucket,
    /// The last announcement of each machine: what it has passed, whom it has, and when it said so.
    announced: BTreeMap<Machine, (Option<Position>, Vec<SharedTeam>, u64)>,
    pub(super) flights: Vec<(u64, Flight)>,
    pub(crate) millis: u64,
    sent: u64,
    pub(crate) server_down_until: u64,
    /// Letters in the order in which they were sent: sender, machine, recipient, id.
    pub(crate) expected: Vec<(usize, usize, &'static str, String)>,
    pub(super) never_together: bool,
    /// A machine that does not trust another one, which trusts it.
    pub(super) distrust: Option<(usize, Machine)>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let troubles = Troubles::of(&mut random);
        let never_together = random.happens(20);
        let count = if never_together { 2 } else { 2 + random.below(3) };
        let nodes = (0..count).map(|number| {
            let name: Machine = format!("machine-{number}").parse().unwrap();
            Node {
                ledger: Shared(Rc::new(RefCell::new(Ledger::new(name.clone())))),
                name,
                saved: Memory::default(),
                engine: None,
                off_until: 0,
                next_heartbeat: 0,
                heard: BTreeMap::new(),
                neighbours: BTreeMap::new(),
                bucket_seen: None,
                views: BTreeMap::new(),
            }
        });
        let mut world = Self {
            nodes: nodes.collect(),
            random,
            troubles,
            stream: Stream::default(),
            bucket: Bucket::default(),
            announced: BTreeMap::new(),
            flights: Vec::new(),
            millis: 0,
            sent: 0,
            server_down_until: 0,
            expected: Vec::new(),
            never_together,
            distrust: None,
        };
        if world.random.happens(50) {
            world.stream.most = Some(4 + world.random.below(60));
        }
        world.settle_in();
        world
    }

    /// A member is taken off all lists, and mail is sent to it. Returns how many letters there are, how often letters were
    /// published in a long time, and how often more until the member is back and has its mail.
    pub(crate) fn send_to_nobody(&mut self) -> (u64, u64, u64) {
        self.troubles = Troubles::NONE;
        self.never_together = false;
        // One that drops answers before they are read costs more.
        self.stream.most = None;
        while !self.is_done() {
            self.round();
        }
        self.dismiss(MOVERS[0]);
        for from in 0..self.nodes.len() {
            for _ in 0..5 {
                self.send(from, 0, MOVERS[0]);
            }
        }
        let published = |world: &Self| -> u64 {
            world.nodes.iter().map(|node| node.engine.as_ref().unwrap().tally().published).sum()
        };
        let before = published(self);
        (0..CALM).for_each(|_| self.round());
        let away = published(self) - before;
        self.bring_back();
        for _ in 0..CALM {
            if self.is_done() {
                break;
            }
            self.round();
        }
        (self.sent, away, published(self) - before - away)
    }

    /// Runs the schedule: troubles, then calm until all is done.
    pub(crate) fn run(&mut self) {
        for _ in 0..ROUNDS {
            self.send_some();
            self.trouble();
            self.round();
        }
        self.troubles = Troubles::NONE;
        self.server_down_until = 0;
        self.set_distrust(None);
        self.bring_back();
        for node in &mut self.nodes {
            node.off_until = 0;
            node.ledger.0.borrow_mut().full = false;
        }
        for _ in 0..self.rounds_of_calm() {
            if self.is_done() {
                return;
            }
            self.round();
        }
    }

    /// A machine fills a quarter of the stream for another one, or one letter. If that is one letter, and the two are never on together,
    /// each letter takes a turn of both, of a hundred rounds: the slowest of 12,000 schedules needs 2,750, and 1,650 with more room.
    fn rounds_of_calm(&self) -> u64 {
        let is_one_by_one = self.never_together && self.stream.most.is_some_and(|most| most < 8);
        if is_one_by_one { 2 * CALM } else { CALM }
    }

    pub(crate) fn now(&self) -> Stamp {
        Stamp::from_millis(1_800_000_000_000 + i64::try_from(self.millis).unwrap())
    }

    fn send_some(&mut self) {
        for _ in 0..self.random.below(3) {
            if self.sent >= LETTERS {
                return;
            }
            let count = self.nodes.len() as u64;
            let from = usize::try_from(self.random.below(count)).unwrap();
            let to = (from + 1 + usize::try_from(self.random.below(count - 1)).unwrap()) % self.nodes.len();
            let member = RECIPIENTS[usize::try_from(self.random.below(RECIPIENTS.len() as u64)).unwrap()];
            self.send(from, to, member);
        }
    }

    /// A member of one machine writes to one of another.
    pub(super) fn send(&mut self, from: usize, to: usize, member: &'static str) {
        let address = if MOVERS.contains(&member) {
            self.address_of(from, member).map(|now| self.late_address(from, member, now))
        } else {
            Some(self.nodes[to].name.clone())
        };
        // Nobody there knows such a member yet.
        let Some(machine) = address else { return };
        self.sent += 1;
        let id = format!("id-{}", self.sent);
        let gap = self.random.below(3);
        // Its sender syncs the log soon after; the bridge may be faster.
        let is_synced = self.random.happens(50);
        let mut ledger = self.nodes[from].ledger.0.borrow_mut();
        ledger.send(id.clone(), member, &machine, gap);
        if is_synced {
            ledger.sync();
        }
        drop(ledger);
        if let Some(engine) = &mut self.nodes[from].engine {
            engine.wake();
        }
        self.expected.push((from, to, member, id));
    }

    /// The address of a letter whose sender looked at the team now, or a while ago.
    fn late_address(&mut self, from: usize, member: &'static str, now: Machine) -> Machine {
        let node = &mut self.nodes[from];
        let before = node.views.insert(member, now.clone()).unwrap_or_else(|| now.clone());
        // Where a member came to its sender's own machine, what is accepted for its former home later is written behind.
        if now != node.name && self.random.happens(self.troubles.late) { before } else { now }
    }

    fn trouble(&mut self) {
        let troubles = self.troubles;
        if self.random.happens(troubles.wipe) {
            self.stream.wipe();
            self.bucket.wipe();
            self.announced.clear();
        }
        if self.random.happens(troubles.roll_back) {
            let by = 1 + self.random.below(8);
            self.stream.roll_back(by);
        }
        if self.random.happens(troubles.expire) {
            let count = 1 + self.random.below(8);
            self.stream.expire(count);
        }
        if self.random.happens(troubles.forgotten_ids) {
            self.stream.forget_ids();
        }
        if self.random.happens(troubles.server_down) {
            self.server_down_until = self.millis + self.random.below(20_000);
        }
        if self.random.happens(troubles.moves) {
            self.move_somebody();
        }
        self.change_trust();
        for place in 0..self.nodes.len() {
            if self.random.happens(troubles.crash) {
                self.nodes[place].engine = None;
            }
            if self.random.happens(troubles.power) {
                self.nodes[place].engine = None;
                self.nodes[place].ledger.0.borrow_mut().cut_power();
            }
            if self.random.happens(troubles.off) {
                self.nodes[place].engine = None;
                self.nodes[place].off_until = self.millis + self.random.below(120_000);
            }
            if self.random.happens(troubles.rewind) {
                let by = 1 + self.random.below(10);
                let name = self.nodes[place].name.clone();
                self.stream.rewind(&name, by);
            }
            let full = self.random.happens(troubles.full_disk);
            self.nodes[place].ledger.0.borrow_mut().full = full;
            if self.random.happens(troubles.recall) {
                self.recall(place);
            }
        }
    }

    /// A sender takes back what is not confirmed yet.
    fn recall(&mut self, place: usize) {
        let mut ledger = self.nodes[place].ledger.0.borrow_mut();
        let me = ledger.me.clone();
        let is_open =
            |sent: &&mut Sent| sent.stages.is_empty() && !sent.recalled && sent.letter.machine != me;
        let open = ledger.sent.values_mut().find(is_open);
        if let Some(sent) = open {
            sent.recalled = true;
            ledger.sync();
        }
    }

    pub(super) fn round(&mut self) {
        self.millis += 20 + self.random.below(1_500);
        self.fly();
        for place in 0..self.nodes.len() {
            let is_turn = !self.never_together || (self.millis / 40_000) % 2 == place as u64;
            if !is_turn || self.millis < self.nodes[place].off_until {
                self.nodes[place].engine = None;
                continue;
            }
            self.start(place);
            self.work(place);
        }
    }

    fn start(&mut self, place: usize) {
        if self.nodes[place].engine.is_some() {
            return;
        }
        let loses_memory = self.random.happens(self.troubles.lost_memory);
        let names = self.trusted_by(place);
        let node = &mut self.nodes[place];
        let me = Identity {
            realm: "sim".parse().unwrap(),
            machine: node.name.clone(),
            epoch: node.ledger.0.borrow().epoch.clone(),
        };
        let memory = if loses_memory { Memory::default() } else { node.saved.clone() };
        let mut engine = Engine::new(me, node.ledger.clone(), memory);
        engine.set_trusted(names);
        node.heard.clear();
        node.next_heartbeat = 0;
        let mut ledger = node.ledger.0.borrow_mut();
        ledger.listed = ledger.here.clone();
        // One machine forgets where members are at home, too: what the bucket has lost and nobody else has heard begins anew.
        if loses_memory && place == 0 {
            ledger.homes = Homes::default();
            ledger.announced.clear();
            node.neighbours.clear();
            node.bucket_seen = None;
        }
        drop(ledger);
        node.engine = Some(engine);
    }

    fn work(&mut self, place: usize) {
        let (now, is_down) = (self.now(), self.millis < self.server_down_until);
        let view = (!is_down).then(|| self.stream.view(now));
        self.nodes[place].engine.as_mut().unwrap().set_stream(view);
        if !is_down {
            self.announce(place);
            self.tend_homes(place);
            self.take(place);
        }
        if self.random.happens(40) {
            self.see(place);
        }
        let Some(engine) = self.nodes[place].engine.as_mut() else { return };
        if self.random.happens(50) {
            engine.wake();
        }
        let most = 1 + usize::try_from(self.random.below(20)).unwrap();
        let Polled { posts, trouble } = engine.poll(now, Room { letters: most, bytes: usize::MAX });
        assert_eq!(trouble, None);
        self.depart(place, posts);
        if self.random.happens(30) {
            let node = &mut self.nodes[place];
            node.saved = node.engine.as_ref().unwrap().to_remember();
        }
    }

    /// Heartbeats: what this machine has passed, and what others said.
    fn announce(&mut self, place: usize) {
        let now = self.now();
        let node = &mut self.nodes[place];
        if self.millis >= node.next_heartbeat {
            node.next_heartbeat = self.millis + 5_000;
            let said =
                (Some(self.stream.passed(&node.name)), announced(&node.ledger.0.borrow()), self.millis);
            self.announced.insert(node.name.clone(), said);
        }
        let distrust = self.distrust.as_ref().filter(|(who, _)| *who == place).map(|(_, machine)| machine);
        for (machine, (passed, teams, at)) in &self.announced {
            if machine != &node.name && Some(machine) != distrust && node.heard.get(machine) != Some(at) {
                node.heard.insert(machine.clone(), *at);
                node.engine.as_mut().unwrap().heard_from(machine, passed.clone(), now);
                node.ledger.0.borrow_mut().announced.insert(machine.clone(), teams.clone());
                node.neighbours.insert(machine.clone(), neighbour(teams.clone(), *at));
            }
        }
    }

    fn see(&mut self, place: usize) {
        let mut ledger = self.nodes[place].ledger.0.borrow_mut();
        ledger.look();
        if let Some(id) = ledger.readable() {
            ledger.see(&id);
        }
    }
}
