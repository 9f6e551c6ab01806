//! What goes wrong, and what was seen of it.

use atm_bridge::protocol::tasks::SharedTask;
use atm_wire::task::Task;

use super::bucket::{RIVAL, Rival};
use super::movers::is_mover;
use super::world::{Grant, RIVALS, World};

impl World {
    pub(super) fn trouble(&mut self, place: usize) {
        let now = self.millis();
        if self.happens(6) {
            let node = &self.nodes[place];
            node.luck.is_cut.set(!node.luck.is_cut.get());
        }
        if self.happens(4) {
            let luck = &self.nodes[place].luck;
            luck.is_full.set(!luck.is_full.get());
        }
        if self.happens(3) {
            let jump = i64::try_from(self.below(1_200_000)).unwrap() - 600_000;
            self.nodes[place].luck.jump.set(jump);
        }
        if self.happens(3) {
            let off = i64::try_from(self.below(60_000)).unwrap();
            self.nodes[place].off_until = now + off;
            self.nodes[place].bridge = None;
        }
    }

    /// What a fourth machine was granted is a grant like any other.
    pub(super) fn hear_of_rivals(&mut self) {
        let rivals = std::mem::take(&mut self.server.borrow_mut().rivals);
        for Rival { task, from, until } in rivals {
            let is_other = |grant: &&Grant| grant.task == task && grant.who != RIVAL && grant.until > from;
            let other = self.grants.iter().find(is_other);
            assert!(other.is_none(), "{task} is granted to {RIVAL} at {from}, and {other:?}");
            self.grants.push(Grant { task, who: RIVAL.to_owned(), until });
            self.rivals += 1;
        }
    }

    /// The server's disk becomes what it was at an earlier time. Machines that are there notice that; what was granted to
    /// members of the others, only these know.
    pub(super) fn set_back(&mut self) {
        if self.sets_back && self.happens(3) {
            let Some(earlier) = self.backup.take() else {
                self.backup = Some(self.server.borrow().clone());
                return;
            };
            self.hear_of_rivals();
            self.server.borrow_mut().set_back(&earlier);
            self.has_wiped = true;
            self.trace_wanted("the server is set back");
            let now = self.millis();
            let mut there = Vec::new();
            for place in 0..self.nodes.len() {
                // Who knows nothing of what was granted, and asks before its machine has noticed, gets it.
                let has_noticed = (0..9).any(|_| {
                    self.bridge(place);
                    self.nodes[place].luck.rivals.set(0);
                    self.bridge(place).is_some_and(|bridge| bridge.sync().is_ok() && bridge.sync().is_ok())
                });
                if has_noticed {
                    there.push(format!("_{}", self.nodes[place].name));
                }
            }
            self.nodes.iter().for_each(|node| node.luck.rivals.set(RIVALS));
            for grant in &mut self.grants {
                // Who has moved is known to its new home, or to the old one.
                let is_known = is_mover(&grant.who) && there.len() == 3;
                if !is_known && !there.iter().any(|machine| grant.who.ends_with(machine)) {
                    grant.until = grant.until.min(now);
                }
            }
            self.hear_of_rivals();
            self.set_backs += 1;
        }
    }

    fn any_entry(&self) -> Option<atm_wire::task::TaskId> {
        let ids: Vec<_> = self.server.borrow().entries.keys().copied().collect();
        let nth = usize::try_from(self.below(u64::try_from(ids.len()).unwrap().max(1))).unwrap();
        ids.get(nth).copied()
    }

    /// Something that nobody can read takes the place of a task.
    pub(super) fn spoil(&mut self) {
        if self.happens(3)
            && let Some(id) = self.any_entry()
        {
            let seconds = if self.happens(50) { 0 } else { 60 };
            self.server.borrow_mut().spoil(id, seconds);
            self.trace_wanted("something unreadable is put there");
        }
    }

    /// Shows what is said of the task that `ATM_SIM_TASK` names, after something happened.
    pub(super) fn trace_wanted(&self, what: &str) {
        if let Ok(wanted) = std::env::var("ATM_SIM_TASK") {
            self.trace(&wanted, what);
        }
    }

    pub(super) fn trace(&self, task: &str, what: &str) {
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
}
