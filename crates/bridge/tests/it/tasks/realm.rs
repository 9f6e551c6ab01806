//! Machines with nothing that goes wrong by chance: for tests of one sequence each.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use atm_bridge::tasks::mirror::Mirror;
use atm_office::tasks::shared::Answer;
use atm_wire::task::{Change, Task, TaskId, edit};

use super::bucket::{Line, Luck, Server};
use super::disk::{Disk, Files, TEAM};
use crate::sim::random::Random;

pub(super) const LONGEST: Duration = Duration::from_secs(1800);

pub(super) fn id(number: u32) -> TaskId {
    number.to_string().parse().unwrap()
}

/// One machine.
pub(super) struct Site {
    pub(super) name: String,
    pub(super) disk: Rc<RefCell<Disk>>,
    pub(super) luck: Rc<Luck>,
    pub(super) bridge: Mirror<Line, Files>,
}

/// Machines `m0`, `m1`, … and their server.
pub(super) struct Realm {
    pub(super) server: Rc<RefCell<Server>>,
    random: Rc<RefCell<Random>>,
    pub(super) sites: Vec<Site>,
}

impl Realm {
    pub(super) fn new(machines: usize) -> Self {
        let random = Rc::new(RefCell::new(Random::new(7)));
        let mut realm = Self { server: Rc::default(), random, sites: Vec::new() };
        realm.server.borrow_mut().millis = 1_000_000;
        for number in 0..machines {
            let (disk, luck) = (Rc::default(), Rc::default());
            let bridge = realm.start(&format!("m{number}"), &disk, &luck);
            realm.sites.push(Site { name: format!("m{number}"), disk, luck, bridge });
        }
        realm
    }

    fn start(&self, name: &str, disk: &Rc<RefCell<Disk>>, luck: &Rc<Luck>) -> Mirror<Line, Files> {
        let (me, luck): (atm_bridge::name::Machine, _) = (name.parse().unwrap(), Rc::clone(luck));
        let line = Line::new(me.clone(), Rc::clone(&self.server), Rc::clone(&self.random), Rc::clone(&luck));
        let memory = disk.borrow().memory.clone();
        let (server, random) = (Rc::clone(&self.server), Rc::clone(&self.random));
        let files = Files { me: me.clone(), disk: Rc::clone(disk), server, random, luck, skew: 0 };
        Mirror::new(me, line, files, memory, LONGEST)
    }

    /// A bridge ends without a word, and another one begins with what was saved.
    pub(super) fn restart(&mut self, place: usize) {
        let (name, disk, luck) = (
            self.sites[place].name.clone(),
            Rc::clone(&self.sites[place].disk),
            Rc::clone(&self.sites[place].luck),
        );
        luck.is_dead.set(false);
        self.sites[place].bridge = self.start(&name, &disk, &luck);
    }

    pub(super) fn pass(&self, seconds: i64) {
        self.server.borrow_mut().millis += seconds * 1000;
    }

    /// Until nothing is left to do on any machine that can be reached.
    pub(super) fn sync(&mut self) {
        for _ in 0..6 {
            for site in &mut self.sites {
                if !site.luck.is_cut.get() {
                    site.bridge.sync().unwrap();
                }
            }
            self.pass(3);
        }
    }

    pub(super) fn cut(&self, place: usize, is_cut: bool) {
        self.sites[place].luck.is_cut.set(is_cut);
    }

    /// Makes a task by the bridge's number, which all machines have then.
    pub(super) fn make(&mut self, place: usize, title: &str) -> TaskId {
        let Ok(Answer::Number { id }) = self.sites[place].bridge.number(TEAM) else { panic!("no number") };
        self.write(place, id, &Task::new(id.to_string(), title, "").render().unwrap());
        self.sync();
        id
    }

    pub(super) fn claim(&mut self, place: usize, id: TaskId, who: &str) -> Answer {
        let who = format!("{who}_{}", self.sites[place].name).parse().unwrap();
        let lease = Duration::from_secs(300);
        self.sites[place]
            .bridge
            .claim(TEAM, id, &who, lease, false)
            .unwrap_or_else(|error| Answer::Away { why: error.to_string() })
    }

    pub(super) fn write(&self, place: usize, id: TaskId, text: &str) {
        self.sites[place].disk.borrow_mut().files.insert(id, text.to_owned());
    }

    pub(super) fn text(&self, place: usize, id: TaskId) -> Option<String> {
        self.sites[place].disk.borrow().files.get(&id).cloned()
    }

    pub(super) fn task(&self, place: usize, id: TaskId) -> Option<Task> {
        self.text(place, id).map(|text| Task::parse(&text).unwrap())
    }

    pub(super) fn edit(&self, place: usize, id: TaskId, changes: &[Change]) {
        let text = edit(&self.text(place, id).unwrap(), changes).unwrap();
        self.write(place, id, &text);
    }

    pub(super) fn remove(&self, place: usize, id: TaskId) {
        self.sites[place].disk.borrow_mut().files.remove(&id).unwrap();
    }

    pub(super) fn told(&self, place: usize) -> Vec<String> {
        self.sites[place].disk.borrow().told.clone()
    }

    /// The titles by number, the same on all machines.
    pub(super) fn titles(&self) -> Vec<(String, String)> {
        let titles = |place: usize| -> Vec<(String, String)> {
            let disk = self.sites[place].disk.borrow();
            let title = |(id, text): (&TaskId, &String)| (id.to_string(), Task::parse(text).unwrap().subject);
            disk.files.iter().map(title).collect()
        };
        let first = titles(0);
        (1..self.sites.len()).for_each(|place| assert_eq!(titles(place), first, "m{place} has other tasks"));
        first
    }
}
