//! Three machines whose members make, claim, renew, release, complete, edit and delete tasks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use atm_bridge::name::Machine;
use atm_bridge::protocol::tasks::SharedTask;
use atm_bridge::tasks::mirror::{Memory, Mirror};
use atm_office::tasks::claimed;
use atm_office::tasks::shared::Answer;
use atm_wire::task::{CLAIM_EXPIRY, CLAIMED_AT, Change, MADE_ON, Status, Task, TaskId, edit};
use atm_wire::{MemberName, Stamp};

use super::bucket::{Line, Luck, Server};
use super::disk::{Disk, Files, TEAM};
use crate::sim::random::Random;

const ROUNDS: usize = 80;
const CALM: usize = 200;
const LONGEST: Duration = Duration::from_secs(60);

struct Node {
    name: Machine,
    disk: Rc<RefCell<Disk>>,
    luck: Rc<Luck>,
    bridge: Option<Mirror<Line, Files>>,
    off_until: i64,
}

/// What somebody was told to have.
#[derive(Debug)]
struct Grant {
    task: String,
    who: String,
    until: i64,
}

pub(crate) struct World {
    random: Rc<RefCell<Random>>,
    server: Rc<RefCell<Server>>,
    nodes: Vec<Node>,
    grants: Vec<Grant>,
    made: u64,
    /// The numbers that were given to who asked for one.
    given: BTreeMap<String, TaskId>,
    deleted: BTreeSet<String>,
    wipes: bool,
    has_wiped: bool,
    crash: u64,
    lost: u64,
    pub(crate) granted: usize,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (wipes, crash, lost) = (random.happens(40), random.below(4), 1 + random.below(10));
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
            crash,
            lost,
            granted: 0,
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.random.borrow_mut().below(bound)
    }

    fn happens(&self, percent: u64) -> bool {
        self.random.borrow_mut().happens(percent)
    }

    fn millis(&self) -> i64 {
        self.server.borrow().millis
    }

    fn now(&self) -> Stamp {
        self.server.borrow().now()
    }

    fn pass(&self, most: u64) {
        self.server.borrow_mut().millis += i64::try_from(100 + self.below(most)).unwrap();
    }

    pub(crate) fn run(&mut self) {
        for _ in 0..ROUNDS {
            self.pass(4_000);
            // A machine that never was there knows nothing of what was lost.
            let all_know = self.nodes.iter().all(|node| node.disk.borrow().memory != Memory::default());
            if self.wipes && all_know && self.happens(2) {
                self.server.borrow_mut().wipe();
                self.trace_wanted("the server's disk is lost");
                self.has_wiped = true;
            }
            for place in 0..self.nodes.len() {
                self.trouble(place);
                for _ in 0..self.below(3) {
                    self.act(place);
                }
                if self.happens(60) {
                    self.sync(place);
                }
                self.trace_wanted(self.nodes[place].name.as_str());
            }
        }
        for node in &mut self.nodes {
            node.luck.is_cut.set(false);
            node.luck.lost.set(0);
            node.luck.crash.set(0);
            node.off_until = 0;
        }
        (self.crash, self.lost) = (0, 0);
        for _ in 0..CALM {
            self.pass(2_000);
            (0..self.nodes.len()).for_each(|place| self.sync(place));
            if self.is_same() {
                break;
            }
        }
    }

    fn trouble(&mut self, place: usize) {
        let now = self.millis();
        if self.happens(6) {
            let node = &self.nodes[place];
            node.luck.is_cut.set(!node.luck.is_cut.get());
        }
        if self.happens(3) {
            let off = i64::try_from(self.below(60_000)).unwrap();
            self.nodes[place].off_until = now + off;
            self.nodes[place].bridge = None;
        }
    }

    /// The bridge of a machine, started if it can be.
    fn bridge(&mut self, place: usize) -> Option<&mut Mirror<Line, Files>> {
        let (now, crash, lost) = (self.millis(), self.crash, self.lost);
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
            let (me, luck, disk) = (node.name.clone(), Rc::clone(&node.luck), Rc::clone(&node.disk));
            let line = Line::new(me.clone(), Rc::clone(&server), Rc::clone(&random), Rc::clone(&luck));
            let memory = disk.borrow().memory.clone();
            let files = Files { me: me.clone(), disk, server, random, luck };
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
        format!("{}_{}", ["ann", "bob"][usize::try_from(self.below(2)).unwrap()], self.nodes[place].name)
    }

    fn any_task(&self, place: usize) -> Option<(TaskId, String)> {
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
            67..77 => self.release_or_complete(place),
            77..95 => self.edit_natively(place),
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
                self.grant(&task.subject, &who, lease);
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
        self.grant(&task.subject, who, lease);
    }

    /// Shows what is said of the task that `ATM_SIM_TASK` names, after something happened.
    fn trace_wanted(&self, what: &str) {
        if let Ok(wanted) = std::env::var("ATM_SIM_TASK") {
            self.trace(&wanted, what);
        }
    }

    fn trace(&self, task: &str, what: &str) {
        if std::env::var("ATM_SIM_TASK").as_deref() != Ok(task) {
            return;
        }
        eprintln!("{} {what}", self.millis());
        for node in &self.nodes {
            for (id, text) in &node.disk.borrow().files {
                let found = Task::parse(text).unwrap();
                if found.subject == task {
                    let (lease, mark) = (found.lease(), found.made_on());
                    eprintln!("   {} {id} {} {:?} {lease:?} {mark:?}", node.name, found.status, found.owner);
                }
            }
        }
        for (id, entry) in &self.server.borrow().entries {
            if entry.value.as_ref().and_then(SharedTask::task).is_some_and(|found| found.subject == task) {
                eprintln!("   bucket {id} {entry:?}");
            }
        }
    }

    fn grant(&mut self, task: &str, who: &str, lease: Duration) {
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
    fn end(&mut self, place: usize, task: &str) {
        let (now, suffix) = (self.millis(), format!("_{}", self.nodes[place].name));
        for grant in self.grants.iter_mut().filter(|grant| grant.task == task && grant.who.ends_with(&suffix))
        {
            grant.until = grant.until.min(now);
        }
    }

    fn own(&self, place: usize) -> Option<(TaskId, String, Task, String)> {
        let (id, text) = self.any_task(place)?;
        let task = Task::parse(&text).unwrap();
        let who = task.owner.clone().filter(|who| who.ends_with(self.nodes[place].name.as_str()))?;
        (task.status != Status::Completed).then_some((id, text, task, who))
    }

    fn renew(&mut self, place: usize) {
        let Some((id, _, task, who)) = self.own(place) else { return };
        if task.made_on().is_none() {
            let lease = Duration::from_secs(5 + self.below(40));
            self.ask(place, id, &who, lease, true);
        }
    }

    fn release_or_complete(&mut self, place: usize) {
        let Some((id, text, task, _)) = self.own(place) else { return };
        let mut changes = vec![Change::forget(CLAIMED_AT), Change::forget(CLAIM_EXPIRY)];
        if self.happens(50) {
            changes.push(Change::Status(Status::Completed));
        } else {
            changes.extend([Change::Owner(None), Change::Status(Status::Pending)]);
        }
        let text = edit(&text, &changes).unwrap();
        self.nodes[place].disk.borrow_mut().files.insert(id, text);
        self.trace(&task.subject, "release or complete");
        self.end(place, &task.subject);
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
        let values = server.entries.iter().map(|(id, entry)| (*id, entry.value.clone().unwrap()));
        values.filter_map(|(id, value)| Some((id, value.text?))).collect()
    }

    fn is_same(&self) -> bool {
        let shared = self.shared();
        self.nodes.iter().all(|node| node.disk.borrow().files == shared)
    }

    pub(crate) fn check(&self) {
        let shared = self.shared();
        for node in &self.nodes {
            let disk = node.disk.borrow();
            for id in disk.files.keys().chain(shared.keys()) {
                assert_eq!(
                    disk.files.get(id),
                    shared.get(id),
                    "task {id} of {}: {:?}",
                    node.name,
                    disk.memory
                );
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
