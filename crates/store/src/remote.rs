//! Members of other machines in a team's files here: their entries in `config.json`, and inboxes that a bridge reads.

use std::collections::{BTreeSet, HashSet};

use atm_wire::team::{RemoteEntry, TeamConfig};
use atm_wire::{MemberName, json};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::commit::Plan;
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{read_small, replace_own};
use crate::mailbox::{Inbox, Mailbox, Receipt};
use crate::paths::State;
use crate::team::{LARGEST_ENTRY, TeamFolder};

/// What was changed among the entries of other machines' members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrored {
    /// The names that came.
    pub added: Vec<String>,
    /// The names that went.
    pub removed: Vec<String>,
}

impl TeamFolder {
    /// Makes these the entries of other machines' members, in one change; a file that has them is not written. Entries
    /// that are not marked as ours stay as they are, and their names are not given again.
    pub fn mirror(&self, wanted: &[RemoteEntry<'_>]) -> Result<Mirrored, StoreError> {
        self.config().update(|look| {
            let Some(text) = self.config().whole(look)? else { return Ok(Plan::Unsure) };
            let config = TeamConfig::parse(text)
                .map_err(|error| StoreError::bad(self.config_file(), error.to_string()))?;
            let is_wanted = |name: &str, machine: &_| {
                wanted.iter().any(|entry| entry.name.as_str() == name && entry.machine == machine)
            };
            let gone: Vec<(usize, &str)> = config
                .members
                .iter()
                .filter(|member| {
                    member.machine.as_ref().is_some_and(|machine| !is_wanted(&member.name, machine))
                })
                .map(|member| (member.index, member.name.as_str()))
                .collect();
            let stays = |name: &str| {
                config.member(name).is_some_and(|member| gone.iter().all(|(index, _)| *index != member.index))
            };
            let new: Vec<&RemoteEntry<'_>> =
                wanted.iter().filter(|entry| !stays(entry.name.as_str())).collect();
            let mirrored = Mirrored {
                added: new.iter().map(|entry| entry.name.to_string()).collect(),
                removed: gone.iter().map(|(_, name)| (*name).to_owned()).collect(),
            };
            if mirrored == Mirrored::default() {
                return Ok(Plan::Keep(mirrored));
            }
            let left = if gone.is_empty() {
                text.to_owned()
            } else {
                let (members, entries) = self.members(text)?;
                let places: BTreeSet<usize> = gone.iter().map(|(index, _)| *index).collect();
                json::remove(text, members.get(), &entries, &places).apply(text)
            };
            let (members, entries) = self.members(&left)?;
            let rendered: Vec<_> = new.iter().map(|entry| entry.render()).collect();
            let patch =
                json::append(&left, members.get(), &entries, &rendered).map_err(|error| self.bad(&error))?;
            Ok(Plan::Replace(patch.apply(&left), mirrored))
        })
    }
}

impl TeamFolder {
    /// Puts the entry of another machine's member in the place of one of this machine, in one change, and keeps that one in our
    /// state, as if it were removed. Says whether there was one.
    pub fn hand_over(&self, entry: &RemoteEntry<'_>, state: &State) -> Result<bool, StoreError> {
        let keep = |old: &str| replace_own(&state.removed(self.config_file(), entry.name), old);
        self.exchange(entry.name.as_str(), false, &entry.render(), keep)
    }

    /// Puts an entry of this machine in the place of another machine's member: the one that was kept when it was handed over,
    /// else this one. Says whether there was such a member.
    pub fn take_over<T: Serialize>(
        &self,
        name: &MemberName,
        entry: &T,
        state: &State,
    ) -> Result<bool, StoreError> {
        let kept = state.removed(self.config_file(), name);
        let Some(file) = read_small(&kept, LARGEST_ENTRY)? else {
            return self.exchange(name.as_str(), true, entry, |_| Ok(()));
        };
        let old: Box<RawValue> =
            serde_json::from_slice(&file.bytes).map_err(|error| StoreError::bad(&kept, error.to_string()))?;
        let is_done = self.exchange(name.as_str(), true, &json::Laid(old.get()), |_| Ok(()))?;
        if is_done {
            disk::remove_file(&kept).doing("remove", &kept)?;
        }
        Ok(is_done)
    }

    fn exchange<T: Serialize>(
        &self,
        name: &str,
        is_remote: bool,
        entry: &T,
        keep: impl Fn(&str) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        self.config().update(|look| {
            let Some(text) = self.config().whole(look)? else { return Ok(Plan::Unsure) };
            let config = TeamConfig::parse(text)
                .map_err(|error| StoreError::bad(self.config_file(), error.to_string()))?;
            let Some(old) = config.member(name).filter(|old| old.machine.is_some() == is_remote) else {
                return Ok(Plan::Keep(false));
            };
            let (members, entries) = self.members(text)?;
            keep(entries[old.index].get())?;
            let left = json::remove(text, members.get(), &entries, &BTreeSet::from([old.index])).apply(text);
            let (members, entries) = self.members(&left)?;
            let patch =
                json::append(&left, members.get(), &entries, &[entry]).map_err(|error| self.bad(&error))?;
            Ok(Plan::Replace(patch.apply(&left), true))
        })
    }
}

impl Mailbox {
    /// Takes messages out of the mail that their reader, which is not here, was given: as a client does that removes
    /// what it read. Lines of a log are blanked, and not only marked by its cursor: a message that comes back is written again
    /// only if it does not stand there.
    pub fn take_out(&self, receipts: &HashSet<Receipt>) -> Result<(), StoreError> {
        if receipts.is_empty() {
            return Ok(());
        }
        self.change(|inbox, lines| {
            if let Some(lines) = lines {
                lines.remove(receipts)?;
            }
            match inbox {
                Inbox::Array(array) => array.remove(receipts).map(drop),
                Inbox::Log(log) => log.remove(receipts),
            }
        })
    }

    /// Removes the file of an array inbox that has no entry.
    pub fn remove_if_empty(&self) -> Result<(), StoreError> {
        self.change(|inbox, _| match inbox {
            Inbox::Array(array) if array.path().is_file() => array.remove_if_empty(),
            _ => Ok(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use atm_wire::{Color, MachineName, MemberName, Stamp};

    use super::*;
    use crate::lock::LockTimes;
    use crate::paths::State;

    const TEAM: &str = "{\n  \"name\": \"x\",\n  \"odd\": 1E2,\n  \"members\": [\n    {\n      \"name\": \"ann\",\n      \"z\": 1\n    }\n  ]\n}";

    fn entry<'a>(name: &'a MemberName, machine: &'a MachineName) -> RemoteEntry<'a> {
        let agent_id = format!("{name}@x");
        RemoteEntry { name, agent_id, machine, color: Color::Blue, joined_at: Stamp::from_millis(7) }
    }

    #[test]
    fn entries_come_and_go_and_everything_else_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (path, state) = (folder.path().join("x"), State::new(folder.path().join("state")));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("config.json"), TEAM).unwrap();
        let team = TeamFolder::at(path.clone(), &state, LockTimes::default());
        let (ann, bob, eve) = ("ann".parse().unwrap(), "bob".parse().unwrap(), "eve.desk".parse().unwrap());
        let (laptop, desk): (MachineName, MachineName) = ("laptop".parse().unwrap(), "desk".parse().unwrap());
        let names = |added: &[&str], removed: &[&str]| Mirrored {
            added: added.iter().map(ToString::to_string).collect(),
            removed: removed.iter().map(ToString::to_string).collect(),
        };
        let wanted = [entry(&ann, &laptop), entry(&bob, &laptop), entry(&eve, &desk)];
        assert_eq!(team.mirror(&wanted).unwrap(), names(&["bob", "eve.desk"], &[]), "ann is of this machine");
        let written = fs::read_to_string(path.join("config.json")).unwrap();
        assert!(written.contains("\"odd\": 1E2") && written.contains("\"z\": 1"), "{written}");
        assert_eq!(team.mirror(&wanted).unwrap(), Mirrored::default());
        assert_eq!(fs::read_to_string(path.join("config.json")).unwrap(), written, "no change, no write");
        let moved = [entry(&bob, &desk)];
        assert_eq!(team.mirror(&moved).unwrap(), names(&["bob"], &["bob", "eve.desk"]));
        assert_eq!(team.load().unwrap().machine_of("bob"), Some(&desk));
        assert_eq!(team.mirror(&[]).unwrap(), names(&[], &["bob"]));
        assert_eq!(fs::read_to_string(path.join("config.json")).unwrap(), TEAM);
    }
}
