//! The files of one machine, which outlive its bridge.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use atm_bridge::name::Machine;
use atm_bridge::protocol::homes::{Residence, Resident};
use atm_bridge::protocol::tasks::Owner;
use atm_bridge::tasks::files::{FileError, TaskFiles, Texts};
use atm_bridge::tasks::memory::{Delta, Memory};
use atm_wire::Stamp;
use atm_wire::task::TaskId;

use super::bucket::{Luck, Server};
use super::movers;
use crate::sim::random::Random;

pub(crate) const TEAM: &str = "alpha";

/// A disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    pub(crate) files: BTreeMap<TaskId, String>,
    pub(crate) memory: Memory,
    pub(crate) highest: Option<TaskId>,
    pub(crate) told: Vec<String>,
    /// How often what is remembered was saved, how many bytes that were, and how many files were read.
    pub(crate) saves: usize,
    pub(crate) saved_bytes: usize,
    pub(crate) reads: usize,
    /// The team is not here.
    pub(crate) is_gone: bool,
    /// Where members are at home, as far as this machine has heard.
    pub(crate) homes: BTreeMap<String, Residence>,
    /// Those who move and are on the list here.
    pub(crate) list: BTreeMap<String, Resident>,
}

impl Disk {
    /// The number that a client takes by itself.
    pub(crate) fn take_number(&mut self) -> TaskId {
        let last = self.files.keys().next_back().copied().max(self.highest).unwrap_or(TaskId::NONE);
        let next = last.next().unwrap();
        self.highest = Some(next);
        next
    }
}

/// The files, for a bridge.
pub(crate) struct Files {
    pub(crate) me: Machine,
    pub(crate) disk: Rc<RefCell<Disk>>,
    pub(crate) server: Rc<RefCell<Server>>,
    pub(crate) random: Rc<RefCell<Random>>,
    pub(crate) luck: Rc<Luck>,
    /// By how much this machine's clock is ahead of the server's.
    pub(crate) skew: i64,
}

impl Files {
    fn act<T>(&mut self, act: impl FnOnce(&mut Disk) -> T) -> Result<T, FileError> {
        if self.luck.is_dead.get() {
            return Err(FileError("dead".into()));
        }
        let answer = act(&mut self.disk.borrow_mut());
        if self.random.borrow_mut().happens(self.luck.crash.get()) {
            self.luck.is_dead.set(true);
            return Err(FileError("dies".into()));
        }
        Ok(answer)
    }
}

impl TaskFiles for Files {
    fn teams(&mut self) -> Vec<String> {
        if self.disk.borrow().is_gone { Vec::new() } else { vec![TEAM.to_owned()] }
    }

    fn texts(&mut self, _: &str) -> Result<Option<Texts>, FileError> {
        self.act(|disk| {
            disk.reads += disk.files.len();
            Some(disk.files.iter().map(|(id, text)| (*id, Some(text.clone()))).collect())
        })
    }

    fn text(&mut self, _: &str, id: TaskId) -> Result<Option<String>, FileError> {
        self.act(|disk| {
            disk.reads += 1;
            disk.files.get(&id).cloned()
        })
    }

    fn replace(
        &mut self,
        _: &str,
        id: TaskId,
        seen: Option<&str>,
        with: Option<&str>,
    ) -> Result<bool, FileError> {
        let is_done = self.act(|disk| {
            if disk.files.get(&id).map(String::as_str) != seen {
                return false;
            }
            disk.highest = disk.highest.max(Some(id));
            match with {
                Some(text) => drop(disk.files.insert(id, text.to_owned())),
                None => drop(disk.files.remove(&id)),
            }
            true
        });
        if self.luck.dies_after_write.take() {
            self.luck.is_dead.set(true);
            return Err(FileError("dies".into()));
        }
        is_done
    }

    fn reserve(&mut self, _: &str, id: TaskId) -> Result<(), FileError> {
        self.act(|disk| disk.highest = disk.highest.max(Some(id)))
    }

    /// Everybody who never moves has one name on all machines, which ends with the machine's.
    fn owner_of(&self, _: &str, called: &str) -> Owner {
        if let Some(owner) = movers::owner_of(&self.disk.borrow(), &self.me, called) {
            return owner;
        }
        let machine = called.rsplit('_').next().and_then(|name| name.parse().ok());
        Owner { name: called.to_owned(), machine: machine.unwrap_or_else(|| self.me.clone()), stay: None }
    }

    fn residence(&self, _: &str, name: &str) -> Option<Residence> {
        self.disk.borrow().homes.get(name).cloned()
    }

    fn called(&self, _: &str, owner: &Owner) -> String {
        movers::called(&self.disk.borrow(), &self.me, owner)
    }

    fn tell(&mut self, _: &str, _: Option<&str>, text: &str) {
        self.disk.borrow_mut().told.push(text.to_owned());
    }

    fn save(&mut self, memory: &Memory, delta: &Delta) -> Result<(), FileError> {
        if self.luck.is_full.get() {
            return Err(FileError("full".into()));
        }
        self.act(|disk| {
            disk.saves += 1;
            disk.saved_bytes += serde_json::to_string(delta).unwrap().len();
            disk.memory.apply(delta.clone());
            assert_eq!(disk.memory, *memory, "what changed is not all that did");
        })
    }

    fn fresh_id(&mut self) -> String {
        format!("id-{}", self.random.borrow_mut().next())
    }

    fn now(&self) -> Stamp {
        Stamp::from_millis(self.server.borrow().now().as_millis() + self.skew + self.luck.jump.get())
    }
}
