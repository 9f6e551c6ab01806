//! Three machines whose members make, claim, renew, release, complete, edit and delete tasks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use atm_bridge::name::Machine;
use atm_bridge::tasks::memory::Memory;
use atm_bridge::tasks::mirror::Mirror;
use atm_office::tasks::claimed;
use atm_office::tasks::shared::Answer;
use atm_wire::task::{Change, MADE_ON, Status, Task, TaskId, edit};
use atm_wire::{MemberName, Stamp};

use super::bucket::{Line, Luck, Server};
use super::disk::{Disk, Files, TEAM};
use crate::sim::random::Random;

const ROUNDS: usize = 50;
const CALM: usize = 200;
const LONGEST: Duration = Duration::from_secs(60);
/// In how many of a hundred puts another machine is faster.
pub(super) const RIVALS: u64 = 30;
/// How far the machines' clocks are from the server's, in milliseconds.
const SKEW: [i64; 3] = [0, 290_000, -170_000];

pub(super) struct Node {
    pub(super) name: Machine,
    pub(super) disk: Rc<RefCell<Disk>>,
    pub(super) luck: Rc<Luck>,
    pub(super) bridge: Option<Mirror<Line, Files>>,
    pub(super) off_until: i64,
}

/// What somebody was told to have.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) task: String,
    pub(super) who: String,
    pub(super) until: i64,
}

pub(crate) struct World {
    pub(super) random: Rc<RefCell<Random>>,
    pub(super) server: Rc<RefCell<Server>>,
    pub(super) nodes: Vec<Node>,
    pub(super) grants: Vec<Grant>,
    made: u64,
    /// The numbers that were given to who asked for one.
    given: BTreeMap<String, TaskId>,
    pub(super) deleted: BTreeSet<String>,
    wipes: bool,
    pub(super) has_wiped: bool,
    /// The server's disk as it was once, if it is to be set back to that.
    pub(super) backup: Option<Server>,
    pub(super) sets_back: bool,
    crash: u64,
    /// In a hundred puts, those that the server acknowledges and does not keep.
    unkept: u64,
    /// 0 once nothing goes wrong any more.
    pub(super) lost: u64,
    pub(crate) granted: usize,
    /// Changes that were answered as done, and as refused.
    pub(crate) changed: usize,
    pub(crate) refused: usize,
    /// Claims of a fourth machine, and how often the server was set back.
    pub(crate) rivals: usize,
    pub(crate) set_backs: usize,
    /// How often somebody moved, and tasks that such a one had at the end.
    pub(crate) moves: usize,
    pub(crate) kept: usize,
    /// Counts entries of lists.
    pub(super) joined: i64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (wipes, crash, lost) = (random.happens(40), random.below(4), 1 + random.below(10));
        let sets_back = !wipes && random.happens(40);
        let unkept = random.below(4);
        let (random, server) = (Rc::new(RefCell::new(random)), Rc::<RefCell<Server>>::default());
        let nodes = (0..3).map(|number| Node {
            name: format!("m{number}").parse().unwrap(),
            disk: Rc::default(),
            luck: Rc::default(),
            bridge: None,
            off_until: 0,
        });
        Self {
            nodes: nodes.collect(),
            random,
            server,
            grants: Vec::new(),
            made: 0,
            given: BTreeMap::new(),
            deleted: BTreeSet::new(),
            wipes,
            has_wiped: false,
            backup: None,
            sets_back,
            crash,
            unkept,
            lost,
            granted: 0,
            changed: 0,
            refused: 0,
            rivals: 0,
            set_backs: 0,
            moves: 0,
            kept: 0,
            joined: 0,
        }
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
        self.random.borrow_mut().below(bound)
    }

    pub(super) fn happens(&self, percent: u64) -> bool {
        self.random.borrow_mut().happens(percent)
    }

    pub(super) fn millis(&self) -> i64 {
        self.server.borrow().millis
    }

    fn now(&self) -> Stamp {
        self.server.borrow().now()
    }

    fn pass(&self, most: u64) {
        self.server.borrow_mut().millis += i64::try_from(100 + self.below(most)).unwrap();
    }

    pub(crate) fn run(&mut self) {
        self.settle_in();
        for _ in 0..ROUNDS {
            self.pass(4_000);
            // A machine that never was there knows nothing of what was lost.
            let all_know = self.nodes.iter().all(|node| node.disk.borrow().memory != Memory::default());
            if self.wipes && all_know && self.happens(2) {
                self.server.borrow_mut().wipe();
                self.trace_wanted("the server's disk is lost");
                self.has_wiped = true;
            }
            self.set_back();
            self.spoil();
            for place in 0..self.nodes.len() {
                self.trouble(place);
                if self.happens(50) {
                    self.hear_of_homes(place);
                }
                if self.happens(3) {
                    self.move_or_join(place);
                }
                for _ in 0..self.below(3) {
                    self.act(place);
                }
                if self.happens(60) {
                    self.sync(place);
                }
                self.hear_of_rivals();
                self.trace_wanted(self.nodes[place].name.as_str());
            }
        }
        for node in &mut self.nodes {
            node.luck.is_cut.set(false);
            node.luck.is_full.set(false);
            node.luck.lost.set(0);
            node.luck.crash.set(0);
            node.luck.unkept.set(0);
            node.luck.rivals.set(0);
            node.off_until = 0;
        }
        (self.crash, self.unkept, self.lost) = (0, 0, 0);
        for _ in 0..CALM {
            self.pass(2_000);
            for place in 0..self.nodes.len() {
                self.hear_of_homes(place);
                self.sync(place);
                self.trace_wanted(self.nodes[place].name.as_str());
            }
            if self.is_same() {
                break;
            }
        }
    }

    /// The bridge of a machine, started if it can be.
    pub(super) fn bridge(&mut self, place: usize) -> Option<&mut Mirror<Line, Files>> {
        let (now, crash, lost, unkept) = (self.millis(), self.crash, self.lost, self.unkept);
        let (random, server) = (Rc::clone(&self.random), Rc::clone(&self.server));
        let node = &mut self.nodes[place];
        if now < node.off_until {
            return None;
        }
        if node.luck.is_dead.get() {
            node.luck.is_dead.set(false);
            node.bridge = None;
        }
        if node.bridge.is_none() {
            node.luck.crash.set(crash);
            node.luck.lost.set(lost);
            node.luck.unkept.set(unkept);
            node.luck.rivals.set(if crash + lost > 0 { RIVALS } else { 0 });
            let (me, luck, disk) = (node.name.clone(), Rc::clone(&node.luck), Rc::clone(&node.disk));
            let line = Line::new(me.clone(), Rc::clone(&server), Rc::clone(&random), Rc::clone(&luck));
            let memory = disk.borrow().memory.clone();
            let files = Files { me: me.clone(), disk, server, random, luck, skew: SKEW[place] };
            node.bridge = Some(Mirror::new(me, line, files, memory, LONGEST));
        }
        node.bridge.as_mut()
    }

    fn sync(&mut self, place: usize) {
        if let Some(bridge) = self.bridge(place) {
            // What went wrong is tried again.
            let _ = bridge.sync();
        }
    }

    fn member(&self, place: usize) -> String {
        let list: Vec<String> = self.nodes[place].disk.borrow().list.keys().cloned().collect();
        if !list.is_empty() && self.happens(40) {
            return list[usize::try_from(self.below(u64::try_from(list.len()).unwrap())).unwrap()].clone();
        }
        format!("{}_{}", ["ann", "bob"][usize::try_from(self.below(2)).unwrap()], self.nodes[place].name)
    }

    pub(super) fn any_task(&self, place: usize) -> Option<(TaskId, String)> {
        let disk = self.nodes[place].disk.borrow();
        let count = u64::try_from(disk.files.len()).unwrap();
        let nth = usize::try_from(self.random.borrow_mut().below(count)).unwrap();
        disk.files.iter().nth(nth).map(|(id, text)| (*id, text.clone()))
    }

    fn act(&mut self, place: usize) {
        match self.below(100) {
            0..12 => self.create(place),
            12..17 => self.create_natively(place),
            17..57 => self.claim(place),
            57..67 => self.renew(place),
            67..72 => self.release_or_complete_natively(place),
            72..82 => self.ask_for_a_change(place),
            82..95 => self.edit_natively(place),
            95..98 => self.delete(place),
            _ => {}
        }
    }

    fn new_task(&mut self, id: TaskId, marks: &[Change]) -> (String, String) {
        self.made += 1;
        let name = format!("task {}", self.made);
        let text = Task::new(id.to_string(), &name, "").render().unwrap();
        (name, edit(&text, marks).unwrap())
    }

    fn create(&mut self, place: usize) {
        let number = self.bridge(place).map(|bridge| bridge.number(TEAM));
        let disk = Rc::clone(&self.nodes[place].disk);
        if let Some(Ok(Answer::Number { id })) = number {
            let (name, text) = self.new_task(id, &[]);
            if disk.borrow().files.contains_key(&id) {
                return;
            }
            disk.borrow_mut().files.insert(id, text);
            assert!(!self.given.values().any(|given| *given == id) || self.has_wiped, "{id} is given twice");
            self.given.insert(name, id);
            return;
        }
        let id = disk.borrow_mut().take_number();
        let mark = Change::note(MADE_ON, self.nodes[place].name.as_str());
        let (_, text) = self.new_task(id, &[mark]);
        disk.borrow_mut().files.insert(id, text);
    }

    fn create_natively(&mut self, place: usize) {
        let id = self.nodes[place].disk.borrow_mut().take_number();
        let (_, text) = self.new_task(id, &[]);
        self.nodes[place].disk.borrow_mut().files.insert(id, text);
    }

    fn claim(&mut self, place: usize) {
        let Some((id, text)) = self.any_task(place) else { return };
        let who = self.member(place);
        let lease = Duration::from_secs(5 + self.below(40));
        let task = Task::parse(&text).unwrap();
        if task.made_on().is_some() {
            // Nobody else has it: the file decides.
            let now = self.now();
            let is_held = task
                .owner
                .as_ref()
                .is_some_and(|owner| *owner != who && task.lease().is_none_or(|lease| lease.is_live(now)));
            if task.status != Status::Completed && !is_held {
                let text = edit(&text, &claimed(&who, now, lease)).unwrap();
                self.nodes[place].disk.borrow_mut().files.insert(id, text);
                self.grant(place, &task.subject, &who, lease);
            }
            return;
        }
        self.ask(place, id, &who, lease, false);
    }

    fn ask(&mut self, place: usize, id: TaskId, who: &str, lease: Duration, renews: bool) {
        let name: MemberName = who.parse().unwrap();
        let begun = self.millis();
        let Some(bridge) = self.bridge(place) else { return };
        let Ok(Answer::Granted) = bridge.claim(TEAM, id, &name, lease, renews) else { return };
        let text = self.nodes[place].disk.borrow().files.get(&id).cloned();
        let task = Task::parse(&text.expect("a granted task has a file")).unwrap();
        assert_eq!(task.owner.as_deref(), Some(who), "the file shows what is granted");
        assert_eq!(begun, self.millis());
        self.grant(place, &task.subject, who, lease);
    }

    fn grant(&mut self, place: usize, task: &str, called: &str, lease: Duration) {
        let who = self.who(place, called).expect("it is on the list");
        self.hear_of_rivals();
        let who = who.as_str();
        let from = self.millis();
        let until = from + i64::try_from(lease.as_millis()).unwrap();
        self.trace(task, &format!("grant {who} until {until}"));
        let other =
            self.grants.iter().find(|grant| grant.task == task && grant.who != who && grant.until > from);
        assert!(other.is_none(), "{task} is granted to {who} at {from}, and {other:?}");
        // What it was told before is replaced by this.
        for grant in self.grants.iter_mut().filter(|grant| grant.task == task && grant.who == who) {
            grant.until = grant.until.min(from);
        }
        self.grants.push(Grant { task: task.to_owned(), who: who.to_owned(), until });
        self.granted += 1;
    }

    /// Who had it by the word of this machine has it no longer.
    pub(super) fn end(&mut self, place: usize, task: &str) {
        let now = self.millis();
        let own: Vec<bool> = self.grants.iter().map(|grant| self.is_at(place, &grant.who)).collect();
        let grants = self.grants.iter_mut().zip(own).filter(|(grant, is_own)| grant.task == task && *is_own);
        grants.for_each(|(grant, _)| grant.until = grant.until.min(now));
    }

    pub(super) fn own(&self, place: usize) -> Option<(TaskId, String, Task, String)> {
        let (id, text) = self.any_task(place)?;
        let task = Task::parse(&text).unwrap();
        let node = &self.nodes[place];
        let is_own = |who: &String| {
            let suffix = format!("_{}", node.name);
            node.disk.borrow().list.contains_key(who) || who.ends_with(&suffix)
        };
        let who = task.owner.clone().filter(is_own)?;
        (task.status != Status::Completed).then_some((id, text, task, who))
    }

    fn renew(&mut self, place: usize) {
        let Some((id, _, task, who)) = self.own(place) else { return };
        if task.made_on().is_none() {
            let lease = Duration::from_secs(5 + self.below(40));
            self.ask(place, id, &who, lease, true);
        }
    }

    fn edit_natively(&mut self, place: usize) {
        let Some((id, text)) = self.any_task(place) else { return };
        let task = Task::parse(&text).unwrap();
        self.trace(&task.subject, "native");
        let change = match self.below(3) {
            0 => vec![Change::Description(format!("edit {}", self.below(1_000)))],
            1 => vec![Change::note(&format!("key{}", self.below(3)), &self.below(1_000).to_string())],
            _ => {
                self.end(place, &task.subject);
                if task.made_on().is_some() {
                    // No other machine has it: the file is all there is, also of who has moved away since.
                    let now = self.millis();
                    let grants = self.grants.iter_mut().filter(|grant| grant.task == task.subject);
                    grants.for_each(|grant| grant.until = grant.until.min(now));
                }
                let owner = self.member(place);
                vec![Change::Owner(Some(owner)), Change::Status(Status::InProgress)]
            }
        };
        let text = edit(&text, &change).unwrap();
        self.nodes[place].disk.borrow_mut().files.insert(id, text);
    }

    fn delete(&mut self, place: usize) {
        let Some((id, text)) = self.any_task(place) else { return };
        let task = Task::parse(&text).unwrap();
        self.nodes[place].disk.borrow_mut().files.remove(&id);
        self.end(place, &task.subject);
        self.deleted.insert(task.subject);
    }

    fn shared(&self) -> BTreeMap<TaskId, String> {
        let server = self.server.borrow();
        let values = server.entries.iter().filter_map(|(id, entry)| Some((*id, entry.value.clone()?)));
        let texts = values.filter_map(|(id, value)| Some((id, value.text?, value.owner)));
        texts.map(|(id, text, owner)| (id, self.normal(None, &text, owner.as_ref()))).collect()
    }

    fn files(&self, place: usize) -> BTreeMap<TaskId, String> {
        let files = self.nodes[place].disk.borrow().files.clone();
        files.into_iter().map(|(id, text)| (id, self.normal(Some(place), &text, None))).collect()
    }

    fn is_same(&self) -> bool {
        let shared = self.shared();
        let is_read = self.server.borrow().entries.values().all(|entry| entry.value.is_some());
        is_read && (0..self.nodes.len()).all(|place| self.files(place) == shared)
    }

    pub(crate) fn check(&self) {
        let shared = self.shared();
        for (place, node) in self.nodes.iter().enumerate() {
            let (files, disk) = (self.files(place), node.disk.borrow());
            for id in files.keys().chain(shared.keys()) {
                assert_eq!(files.get(id), shared.get(id), "task {id} of {}: {:?}", node.name, disk.memory);
            }
        }
        let mut numbers: BTreeMap<String, TaskId> = BTreeMap::new();
        for (id, text) in &shared {
            let task = Task::parse(text).unwrap();
            assert_eq!(task.id, id.to_string());
            assert_eq!(task.made_on(), None, "{text}");
            assert_eq!(numbers.insert(task.subject.clone(), *id), None, "{} is there twice", task.subject);
        }
        for number in 1..=self.made {
            let name = format!("task {number}");
            let place = numbers.get(&name);
            assert!(place.is_some() || self.deleted.contains(&name), "{name} is lost");
            if let (Some(place), Some(given), false) = (place, self.given.get(&name), self.has_wiped) {
                assert_eq!(place, given, "{name} has another number than was told");
            }
        }
    }
}
