//! Members that move from one machine to another, and others of their names.

use std::collections::BTreeMap;

use atm_bridge::name::Machine;
use atm_bridge::protocol::homes::{Former, Residence, Resident};
use atm_bridge::protocol::tasks::Owner;
use atm_bridge::protocol::tasks::change::Wanted;
use atm_bridge::tasks::mirror::MirrorError;
use atm_office::tasks::shared::Answer;
use atm_wire::Stamp;
use atm_wire::task::{Change, Status, Task, TaskId, edit};

use super::disk::{Disk, TEAM};
use super::world::World;

/// All who move.
pub(crate) const MOVERS: [&str; 2] = ["zoe", "kim"];

pub(crate) fn is_mover(name: &str) -> bool {
    MOVERS.contains(&name)
}

/// Whom a name means on a machine, if it is one of theirs.
pub(crate) fn owner_of(disk: &Disk, me: &Machine, called: &str) -> Option<Owner> {
    let (name, machine) = called.split_once('.').map_or((called, None), |(name, at)| (name, Some(at)));
    if !is_mover(name) {
        return None;
    }
    let home = disk.homes.get(name);
    if let Some(machine) = machine {
        return Some(Owner::at(name, &machine.parse().unwrap(), home));
    }
    Some(match (disk.list.get(name), home) {
        (Some(entry), Some(home)) if !home.has_left(me, *entry) => Owner::at(name, me, Some(home)),
        (_, Some(home)) => Owner::at(name, &home.machine, Some(home)),
        (_, None) => Owner::at(name, me, None),
    })
}

/// What an owner is called on a machine.
pub(crate) fn called(disk: &Disk, me: &Machine, owner: &Owner) -> String {
    let is_home = disk.homes.get(&owner.name).is_some_and(|home| home.machine == owner.machine);
    let is_free = !disk.list.contains_key(&owner.name);
    if !is_mover(&owner.name) || owner.machine == *me || is_home && is_free {
        return owner.name.clone();
    }
    format!("{}.{}", owner.name, owner.machine)
}

impl World {
    /// Everybody has a home.
    pub(super) fn settle_in(&mut self) {
        for (place, name) in MOVERS.into_iter().enumerate() {
            let (machine, resident) = (self.nodes[place].name.clone(), self.new_entry());
            let (at, former) = (Stamp::from_millis(0), Vec::new());
            let home = Residence { machine, epoch: 1, at, resident, former };
            self.server.borrow_mut().homes.insert(name.to_owned(), home);
            self.nodes[place].disk.borrow_mut().list.insert(name.to_owned(), resident);
        }
    }

    fn new_entry(&mut self) -> Resident {
        self.joined += 1;
        Resident::Joined(self.joined)
    }

    /// Who somebody on the list of a machine is: who moves, or another one of the name.
    pub(super) fn who(&self, place: usize, name: &str) -> Option<String> {
        if !is_mover(name) {
            return Some(name.to_owned());
        }
        let (node, server) = (&self.nodes[place], self.server.borrow());
        let entry = *node.disk.borrow().list.get(name)?;
        let home = &server.homes[name];
        let is_it = home.machine == node.name || home.has_left(&node.name, entry);
        Some(if is_it { name.to_owned() } else { format!("{name}_other_{}", node.name) })
    }

    /// Whether somebody is a member of a machine.
    pub(super) fn is_at(&self, place: usize, who: &str) -> bool {
        let own = format!("_{}", self.nodes[place].name);
        who.ends_with(&own) || is_mover(who) && self.who(place, who).as_deref() == Some(who)
    }

    /// A machine hears where members are at home, and gives up those that have left.
    pub(super) fn hear_of_homes(&mut self, place: usize) {
        let node = &self.nodes[place];
        if node.luck.is_cut.get() {
            return;
        }
        let (server, mut disk) = (self.server.borrow(), node.disk.borrow_mut());
        let Disk { homes, list, .. } = &mut *disk;
        homes.clone_from(&server.homes);
        if self.lost == 0 || self.random.borrow_mut().happens(60) {
            list.retain(|name, entry| !homes[name].has_left(&node.name, *entry));
        }
    }

    /// Somebody moves here; or another one of a name that is held elsewhere comes.
    pub(super) fn move_or_join(&mut self, place: usize) {
        let name = MOVERS[usize::try_from(self.below(2)).unwrap()].to_owned();
        let me = self.nodes[place].name.clone();
        if self.nodes[place].luck.is_cut.get() {
            return;
        }
        let disk = std::rc::Rc::clone(&self.nodes[place].disk);
        let known = disk.borrow().list.get(&name).copied();
        let old = self.server.borrow().homes[&name].clone();
        if self.happens(30) {
            // It knows that the one it had has left.
            let is_elsewhere = disk.borrow().homes.get(&name).is_some_and(|home| home.machine != me);
            // Of a task that no other machine has yet, the file alone says whose it is, by name.
            let has_own = disk.borrow().files.values().any(|text| {
                let task = Task::parse(text).unwrap();
                task.made_on().is_some() && task.owner.as_ref() == Some(&name)
            });
            if known.is_none() && is_elsewhere && old.machine != me && !has_own {
                let entry = self.new_entry();
                disk.borrow_mut().list.insert(name, entry);
            }
            return;
        }
        if old.machine == me {
            return;
        }
        let (other, who) = (format!("{name}_other_{me}"), self.who(place, &name));
        let resident = known.unwrap_or_else(|| self.new_entry());
        let is_other = |former: &&Former| former.machine != me && former.machine != old.machine;
        let mut former: Vec<Former> = old.former.iter().filter(is_other).cloned().collect();
        former.push(Former { machine: old.machine.clone(), resident: old.resident });
        let home =
            Residence { machine: me, epoch: old.epoch + 1, at: Stamp::from_millis(0), resident, former };
        self.server.borrow_mut().homes.insert(name.clone(), home.clone());
        disk.borrow_mut().list.insert(name.clone(), resident);
        disk.borrow_mut().homes.insert(name.clone(), home);
        if who.as_deref() == Some(other.as_str()) {
            // The one that was here is the one that has the name now.
            for grant in self.grants.iter_mut().filter(|grant| grant.who == other) {
                grant.who.clone_from(&name);
            }
        }
        self.moves += 1;
        self.trace_wanted(&format!("{name} moves"));
    }

    /// The same text on all machines, whatever they call its owner.
    pub(super) fn normal(&self, place: Option<usize>, text: &str, owner: Option<&Owner>) -> String {
        let task = Task::parse(text).unwrap();
        let owner = match (place, owner) {
            (Some(place), _) => {
                let node = &self.nodes[place];
                task.owner.as_deref().and_then(|called| owner_of(&node.disk.borrow(), &node.name, called))
            }
            (None, owner) => owner
                .filter(|owner| is_mover(&owner.name))
                .map(|owner| owner.at_home(self.server.borrow().homes.get(&owner.name))),
        };
        match owner {
            Some(owner) => {
                edit(text, &[Change::Owner(Some(format!("{}@{}", owner.name, owner.machine)))]).unwrap()
            }
            None => text.to_owned(),
        }
    }

    /// What somebody has that moved, its home can complete, and the bucket says whose it is.
    pub(crate) fn check_movers(&mut self) {
        let open: Vec<(TaskId, Owner)> = {
            let server = self.server.borrow();
            let values = server.entries.iter().filter_map(|(id, entry)| Some((id, entry.value.as_ref()?)));
            let open = values.filter(|(_, value)| value.text.is_some() && !value.is_completed());
            let owned = open.filter_map(|(id, value)| Some((*id, value.owner.clone()?)));
            owned.filter(|(_, owner)| is_mover(&owner.name)).collect()
        };
        let homes: BTreeMap<String, Residence> = self.server.borrow().homes.clone();
        for (id, owner) in open {
            let home = &homes[&owner.name];
            assert_eq!(
                owner.at_home(Some(home)).machine,
                owner.machine,
                "task {id} was left behind: {owner:?}, {home:?}"
            );
            let place = self.nodes.iter().position(|node| node.name == owner.machine).unwrap();
            let (until, leads) = {
                let server = self.server.borrow();
                let value = server.entries[&id].value.as_ref().unwrap();
                (value.until, value.leads.clone())
            };
            // Of a claim that is over anybody may make something.
            if until.is_some_and(|until| until < self.server.borrow().now()) {
                continue;
            }
            // Who gave it to somebody may take it back.
            let may = |other: usize| other == place || leads.contains(&self.nodes[other].name);
            let others: Vec<usize> = (0..self.nodes.len()).filter(|other| !may(*other)).collect();
            for other in others {
                let answer = self.complete(other, id);
                assert!(
                    matches!(answer, Ok(Answer::Held { .. })),
                    "m{other} completes {id} of {owner:?}: {answer:?}"
                );
            }
            assert_eq!(self.complete(place, id), Ok(Answer::Done), "task {id} of {owner:?}");
            self.kept += 1;
        }
    }

    fn complete(&mut self, place: usize, id: TaskId) -> Result<Answer, MirrorError> {
        let task = Task::parse(&self.nodes[place].disk.borrow().files[&id]).unwrap();
        let changes = Some(vec![Change::Status(Status::Completed)]);
        let wanted = Wanted { owner: task.owner.as_deref(), status: task.status, changes };
        self.bridge(place).unwrap().change(TEAM, id, &wanted)
    }
}
