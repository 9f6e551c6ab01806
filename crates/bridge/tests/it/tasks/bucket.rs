//! A bucket that is replaced by compare-and-set, behind a line that loses calls and answers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use atm_bridge::name::Machine;
use atm_bridge::nats::places::{self, Places};
use atm_bridge::nats::{NatsError, Set, Standing};
use atm_bridge::protocol::homes::Residence;
use atm_bridge::protocol::tasks::claim::{Claim, Verdict, claim};
use atm_bridge::protocol::tasks::{Owner, Seen, SharedTask};
use atm_bridge::tasks::entries::{Away, Entries, Entry, LastNumber};
use atm_wire::Stamp;
use atm_wire::task::TaskId;
use futures_util::FutureExt;

use crate::sim::random::Random;

/// The server, with its disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    pub(crate) millis: i64,
    made: u64,
    revision: u64,
    pub(crate) entries: BTreeMap<TaskId, Entry>,
    last: Option<(TaskId, u64, Machine)>,
    /// What somebody on a fourth machine was granted while another one was between its look and its word.
    pub(crate) rivals: Vec<Rival>,
    /// Where members are at home. Every machine remembers that, and gives it back to a bucket that lost it.
    pub(crate) homes: BTreeMap<String, Residence>,
}

/// A claim of a fourth machine.
#[derive(Debug, Clone)]
pub(crate) struct Rival {
    pub(crate) task: String,
    pub(crate) from: i64,
    pub(crate) until: i64,
}

pub(crate) const RIVAL: &str = "eve_m9";

impl Server {
    /// Its disk is lost.
    pub(crate) fn wipe(&mut self) {
        let homes = std::mem::take(&mut self.homes);
        *self = Self { millis: self.millis, made: self.made + 1, homes, ..Self::default() };
    }

    /// It is what it was at an earlier time, as by a backup.
    pub(crate) fn set_back(&mut self, earlier: &Self) {
        let homes = std::mem::take(&mut self.homes);
        *self = Self { millis: self.millis, homes, ..earlier.clone() };
    }

    /// Somebody on a fourth machine claims a task, if it can be had.
    fn claim_for_rival(&mut self, id: TaskId, seconds: u64) {
        let me: Machine = "m9".parse().unwrap();
        let Some(entry) = self.entries.get(&id) else { return };
        let Some(value) = entry.value.clone() else { return };
        let (at, lease) = (self.now(), Duration::from_secs(seconds));
        let who = Owner { name: RIVAL.to_owned(), machine: me.clone(), stay: None };
        let wanted = Claim { who: &who, lease, renews: false, at };
        let seen = Seen { me: &me, as_lead: &[], now: at, longest: lease };
        let Verdict::Grant(granted) = claim(&value, value.text.as_deref(), &wanted, &seen) else { return };
        let task = granted.task().unwrap().subject;
        self.plant(id, Entry::of(0, me, granted.renewed()));
        let until = self.millis + i64::try_from(seconds).unwrap() * 1000;
        self.rivals.push(Rival { task, from: self.millis, until });
    }

    /// Somebody puts this there, in the place of what is there.
    pub(crate) fn plant(&mut self, id: TaskId, entry: Entry) {
        self.revision += 1;
        self.entries.insert(id, Entry { revision: self.revision, ..entry });
    }

    /// Somebody says that numbers up to this one are given.
    pub(crate) fn give_up_to(&mut self, last: TaskId) {
        self.revision += 1;
        self.last = Some((last, self.revision, "m9".parse().unwrap()));
    }

    /// Somebody puts something there that nobody can read, from which it is taken after so many seconds.
    pub(crate) fn spoil(&mut self, id: TaskId, seconds: u64) {
        let vacant_from = self.now().saturating_add(Duration::from_secs(seconds));
        self.plant(id, Entry::unread(0, "m9".parse().unwrap(), vacant_from));
    }

    pub(crate) fn now(&self) -> Stamp {
        Stamp::from_millis(1_800_000_000_000 + self.millis)
    }
}

/// What goes wrong on one machine.
#[derive(Debug, Default)]
pub(crate) struct Luck {
    pub(crate) is_cut: Cell<bool>,
    pub(crate) is_dead: Cell<bool>,
    /// Nothing new is heard of the bucket.
    pub(crate) is_deaf: Cell<bool>,
    pub(crate) dies_after_write: Cell<bool>,
    /// What is remembered cannot be saved.
    pub(crate) is_full: Cell<bool>,
    /// By how many milliseconds its clock was set since it began.
    pub(crate) jump: Cell<i64>,
    /// The next entry is put without an answer.
    pub(crate) is_unheard: Cell<bool>,
    /// And nothing is heard after that, either.
    pub(crate) is_silent: Cell<bool>,
    /// Something that nobody can read takes its place right after that.
    pub(crate) is_spoiled: Cell<bool>,
    /// The next number is given without an answer.
    pub(crate) is_number_unheard: Cell<bool>,
    /// In a hundred puts, those that the server acknowledges and does not keep.
    pub(crate) unkept: Cell<u64>,
    /// No number can be had.
    pub(crate) is_numberless: Cell<bool>,
    /// Somebody is always faster, and changes nothing.
    pub(crate) is_busy: Cell<bool>,
    /// In a hundred calls.
    pub(crate) lost: Cell<u64>,
    pub(crate) crash: Cell<u64>,
    pub(crate) rivals: Cell<u64>,
}

/// The line of one machine to the server.
pub(crate) struct Line {
    pub(crate) me: Machine,
    pub(crate) server: Rc<RefCell<Server>>,
    pub(crate) random: Rc<RefCell<Random>>,
    pub(crate) luck: Rc<Luck>,
    heard: (String, BTreeMap<TaskId, Entry>),
}

impl Line {
    pub(crate) fn new(
        me: Machine,
        server: Rc<RefCell<Server>>,
        random: Rc<RefCell<Random>>,
        luck: Rc<Luck>,
    ) -> Self {
        Self { me, server, random, luck, heard: (String::new(), BTreeMap::new()) }
    }

    fn call<T>(&self, act: impl FnOnce(&mut Server, &Machine) -> T) -> Result<T, Away> {
        let is_lost = |random: &RefCell<Random>, percent| random.borrow_mut().happens(percent);
        let lost = self.luck.lost.get();
        if self.luck.is_cut.get() || self.luck.is_dead.get() || is_lost(&self.random, lost) {
            return Err(Away("cut".into()));
        }
        let answer = act(&mut self.server.borrow_mut(), &self.me);
        if is_lost(&self.random, self.luck.crash.get()) {
            self.luck.is_dead.set(true);
        }
        if self.luck.is_dead.get() || is_lost(&self.random, lost) {
            return Err(Away("no answer".into()));
        }
        Ok(answer)
    }

    fn hear(&mut self) {
        let server = self.server.borrow();
        self.heard = (format!("bucket {}", server.made), server.entries.clone());
    }
}

impl Entries for Line {
    fn identity(&mut self) -> Result<String, Away> {
        self.call(|_, _| ())?;
        // What was heard may be old.
        if self.luck.is_deaf.get() {
            return Ok(self.heard.0.clone());
        }
        if self.heard.0.is_empty() || self.random.borrow_mut().happens(70) || self.luck.lost.get() == 0 {
            self.hear();
        }
        Ok(self.heard.0.clone())
    }

    fn now(&mut self) -> Result<Stamp, Away> {
        let behind = i64::try_from(self.random.borrow_mut().below(900)).unwrap();
        self.call(|server, _| Stamp::from_millis(server.now().as_millis() - behind))
    }

    fn list(&mut self, _: &str) -> Result<Vec<(TaskId, Entry)>, Away> {
        Ok(self.heard.1.clone().into_iter().collect())
    }

    fn get(&mut self, _: &str, id: TaskId) -> Result<Option<Entry>, Away> {
        self.call(|server, _| server.entries.get(&id).cloned())
    }

    fn set(&mut self, value: &SharedTask, revision: u64) -> Result<Set, Away> {
        now(places::set(&TaskPlace(self, value), "", serde_json::to_vec(value).unwrap(), revision))
    }

    fn last_number(&mut self, _: &str) -> Result<LastNumber, Away> {
        self.call(|server, me| match &server.last {
            Some((last, revision, from)) => {
                LastNumber { last: *last, revision: *revision, is_own: from == me }
            }
            None => LastNumber { last: TaskId::NONE, revision: 0, is_own: false },
        })
    }

    fn set_last_number(&mut self, _: &str, known: LastNumber, last: TaskId) -> Result<Set, Away> {
        now(places::set(&NumberPlace(self), "", last.to_string().into(), known.revision))
    }
}

/// The line waits for nothing.
fn now(set: impl Future<Output = Result<Set, NatsError>>) -> Result<Set, Away> {
    set.now_or_never().unwrap().map_err(|error| Away(error.to_string()))
}

fn lost(away: &Away) -> NatsError {
    NatsError::Request { doing: "reach the bucket", why: away.to_string() }
}

/// The place of a task that is put.
struct TaskPlace<'a>(&'a Line, &'a SharedTask);

impl Places for TaskPlace<'_> {
    async fn replace(&self, _: &str, _: Vec<u8>, revision: u64) -> Result<Set, NatsError> {
        let Self(line, value) = self;
        let luck = &line.luck;
        let (rival, seconds, is_unkept) = {
            let mut random = line.random.borrow_mut();
            let rival = random.happens(luck.rivals.get());
            (rival, 5 + random.below(15), random.happens(luck.unkept.get()))
        };
        let (is_unheard, is_busy) = (luck.is_unheard.take(), luck.is_busy.get());
        let answer = line.call(|server, me| {
            if let Some(entry) = server.entries.get(&value.id).cloned().filter(|_| is_busy && !is_unheard) {
                server.plant(value.id, entry);
            }
            if rival {
                server.claim_for_rival(value.id, seconds);
            }
            if server.entries.get(&value.id).map_or(0, |entry| entry.revision) != revision {
                return Set::Lost;
            }
            server.revision += 1;
            let entry = Entry::of(server.revision, me.clone(), (*value).clone());
            if !is_unkept {
                server.entries.insert(value.id, entry);
            }
            Set::Done(server.revision)
        });
        if is_unheard && luck.is_spoiled.get() {
            line.server.borrow_mut().spoil(value.id, 60);
        }
        if is_unheard {
            luck.is_cut.set(luck.is_silent.take());
            return Err(lost(&Away("no answer".into())));
        }
        answer.map_err(|away| lost(&away))
    }

    async fn standing(&self, _: &str) -> Result<Option<Standing>, NatsError> {
        let found = self.0.call(|server, _| server.entries.get(&self.1.id).cloned());
        let standing = |entry: Entry| Standing {
            value: entry.value.map(|value| serde_json::to_vec(&value).unwrap()),
            revision: entry.revision,
            created: Stamp::from_millis(0),
        };
        found.map(|found| found.map(standing)).map_err(|away| lost(&away))
    }

    fn has_replicas(&self) -> bool {
        false
    }
}

/// The place of the last number.
struct NumberPlace<'a>(&'a Line);

impl Places for NumberPlace<'_> {
    async fn replace(&self, _: &str, value: Vec<u8>, revision: u64) -> Result<Set, NatsError> {
        let Self(line) = self;
        if line.luck.is_numberless.get() {
            return Err(lost(&Away("no number can be had".into())));
        }
        let last = String::from_utf8(value).unwrap().parse().unwrap();
        let is_unkept = line.random.borrow_mut().happens(line.luck.unkept.get());
        let answer = line.call(|server, me| {
            if server.last.as_ref().map_or(0, |(_, revision, _)| *revision) != revision {
                return Set::Lost;
            }
            server.revision += 1;
            if !is_unkept {
                server.last = Some((last, server.revision, me.clone()));
            }
            Set::Done(server.revision)
        });
        if line.luck.is_number_unheard.take() {
            return Err(lost(&Away("no answer".into())));
        }
        answer.map_err(|away| lost(&away))
    }

    async fn standing(&self, _: &str) -> Result<Option<Standing>, NatsError> {
        let found = self.0.call(|server, _| server.last.clone());
        let created = Stamp::from_millis(0);
        let standing = |(last, revision, _): (TaskId, u64, Machine)| Standing {
            value: Some(last.to_string().into()),
            revision,
            created,
        };
        found.map(|found| found.map(standing)).map_err(|away| lost(&away))
    }

    fn has_replicas(&self) -> bool {
        false
    }
}
