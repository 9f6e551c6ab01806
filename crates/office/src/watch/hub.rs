//! Where everything waits that one office, with its clones, waits for: one watcher of files, one clock, one end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atm_store::Idle;
use atm_store::watch::{FolderWatch, ManyWatch, Stop, Watcher};
use atm_wire::{Stamp, TeamName};

use crate::books::Books;
use crate::clock::Clock;
use crate::office::Office;

/// The words of so many messages are indexed at a time while somebody waits: that takes about a millisecond.
const SLICE: usize = 128;
/// Nobody has to be woken in between.
const LONG: Duration = Duration::from_secs(60 * 60);

/// All waits of an office.
#[derive(Debug, Clone, Default)]
pub struct Hub {
    watcher: Watcher,
    stop: Stop,
    /// What is done while nothing happens.
    idle: Option<Idle>,
}

impl Hub {
    /// One whose waits take words of the ledger into its index while nothing happens.
    pub(crate) fn of(books: &Books) -> Self {
        let books = books.clone();
        let idle = Idle::new(move || books.index_words_if_open(SLICE));
        Self { idle: Some(idle), ..Self::default() }
    }

    /// Ends every wait of the office, those that are under way and those to come.
    pub fn shut_down(&self) {
        self.stop.stop();
    }

    /// Waits until the office's waits are ended.
    pub fn wait_for_end(&self) {
        while !self.stop.wait(LONG) {}
    }

    /// Waits for changes in folders.
    pub(crate) fn folders(&self, folders: impl IntoIterator<Item = PathBuf>) -> FolderWatch {
        FolderWatch::on(&self.watcher, folders, &self.stop.child()).with_idle(self.idle.clone())
    }

    /// The same, until the office or somebody else says stop.
    pub(crate) fn folders_until(
        &self,
        folders: impl IntoIterator<Item = PathBuf>,
        stop: &Stop,
    ) -> FolderWatch {
        let either = self.stop.child();
        stop.also_stops(&either);
        FolderWatch::on(&self.watcher, folders, &either).with_idle(self.idle.clone())
    }
}

impl Hub {
    /// Waits for changes in folders that come and go.
    pub fn many(&self) -> ManyWatch {
        ManyWatch::on(&self.watcher, &self.stop.child(), self.idle.clone())
    }
}

/// What changed in a team.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Its configuration, or which inboxes there are.
    Team(TeamName),
    /// Mail.
    Mail(TeamName),
    /// Tasks, or what members left for others.
    Tasks(TeamName),
}

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// Something changed.
    Changed(BTreeSet<Change>),
    /// The time has come.
    Due,
    /// Somebody said stop.
    Over,
}

/// Waits for changes in teams, or for a time.
#[derive(Debug)]
pub struct TeamsWatch {
    folders: FolderWatch,
    meaning: BTreeMap<PathBuf, Change>,
    clock: Arc<dyn Clock>,
}

impl Office {
    /// Watches teams: their mail, tasks and configurations.
    pub fn watch_teams(&self, teams: &[TeamName]) -> TeamsWatch {
        let mut meaning = BTreeMap::new();
        for team in teams {
            meaning.insert(self.root.tasks(team), Change::Tasks(team.clone()));
            for folder in self.mail_folders(team) {
                meaning.insert(folder, Change::Mail(team.clone()));
            }
            meaning.insert(self.root.team(team), Change::Team(team.clone()));
        }
        // A folder that is not there is looked for again and again, and most teams have no tasks.
        meaning.retain(|folder, _| folder.is_dir());
        let folders = self.hub.folders(meaning.keys().cloned());
        TeamsWatch { folders, meaning, clock: Arc::clone(&self.clock) }
    }
}

impl Office {
    /// The folders in which a team's mail, tasks and configuration change, and whether others of them may come in each.
    pub fn folders_of(&self, team: &TeamName) -> Vec<(PathBuf, bool)> {
        let own = self.root.team(team);
        let members = own.join("members");
        let all = self.mail_folders(team).into_iter().chain([self.root.tasks(team), own.clone()]);
        all.filter(|folder| folder.is_dir())
            .map(|folder| {
                let holds_others = folder == own || folder == members;
                (folder, holds_others)
            })
            .collect()
    }

    /// The folders that mail of a team comes into.
    pub(crate) fn mail_folders(&self, team: &TeamName) -> Vec<PathBuf> {
        let team = self.root.team(team);
        let members = team.join("members");
        let mut folders = vec![team.join("inboxes")];
        let own = fs::read_dir(&members).into_iter().flatten().filter_map(Result::ok);
        folders.extend(own.map(|entry| entry.path()));
        folders.push(members);
        folders.retain(|folder| folder.is_dir());
        folders
    }

    /// Whether the team's folder is there.
    pub fn has_team(&self, team: &TeamName) -> bool {
        self.folder_of(team).exists()
    }

    /// Lets the ledger bring what was written into its own files, if that is much.
    pub fn tidy_ledger(&self) {
        self.books.tidy();
    }

    /// Whether there is a ledger already.
    pub fn has_ledger(&self) -> bool {
        self.books.exist()
    }
}

impl TeamsWatch {
    /// Sleeps until something changes, or the office's clock shows a time.
    pub fn sleep_until(&mut self, time: Option<Stamp>) -> Wake {
        let until = time.and_then(|time| self.clock.instant_of(time));
        if self.folders.wait_for_change(until) {
            let changed = self.folders.take_changed();
            return Wake::Changed(
                changed.iter().filter_map(|folder| self.meaning.get(folder)).cloned().collect(),
            );
        }
        if self.folders.is_over() { Wake::Over } else { Wake::Due }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use atm_store::{Root, State};

    use super::*;
    use crate::clock::FixedClock;
    use crate::mail::send::{Letter, SendOptions};
    use crate::people::members::MemberPlan;
    use crate::people::teams::TeamPlan;

    const NOON: i64 = 1_794_768_000_000;

    fn office() -> (tempfile::TempDir, Office, TeamName) {
        let folder = tempfile::tempdir().unwrap();
        let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")))
            .with_clock(FixedClock(Stamp::from_millis(NOON)));
        let team = office.create_team(&TeamPlan::new("dev", "watched")).unwrap();
        office.add_member(&team, &MemberPlan::new("bob")).unwrap();
        (folder, office, team)
    }

    /// Who answers questions beside those who work must not wait for them.
    #[test]
    fn who_is_apart_asks_the_ledger_while_others_are_at_it() {
        let (_folder, office, team) = office();
        let letter = Letter::new("bob".parse().unwrap(), "hello");
        office.send(&team, &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
        let apart = office.apart();
        let asked = office.books.with(|_| {
            let (send, asked) = std::sync::mpsc::channel();
            thread::spawn(move || send.send(apart.check_ledger().is_ok()));
            Ok(asked.recv_timeout(Duration::from_secs(30)))
        });
        assert_eq!(asked.unwrap(), Ok(true));
    }

    #[test]
    fn it_says_what_changed_and_where() {
        let (_folder, office, team) = office();
        let mut watch = office.watch_teams(std::slice::from_ref(&team));
        let letter = Letter::new("bob".parse().unwrap(), "hello");
        office.send(&team, &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
        let later = Some(Stamp::from_millis(NOON + 30_000));
        let Wake::Changed(changes) = watch.sleep_until(later) else { panic!("nothing changed") };
        assert!(changes.contains(&Change::Mail(team)), "{changes:?}");
    }

    #[test]
    fn a_time_that_has_come_ends_it_at_once_and_so_does_the_end_of_the_office() {
        let (_folder, office, team) = office();
        let mut watch = office.watch_teams(std::slice::from_ref(&team));
        let at = |millis: i64| Some(Stamp::from_millis(millis));
        assert_eq!(watch.sleep_until(at(NOON)), Wake::Due);
        assert_eq!(watch.sleep_until(at(NOON + 5)), Wake::Due);
        let start = Instant::now();
        let waiting = thread::spawn(move || watch.sleep_until(at(i64::MAX)));
        office.clone().hub().shut_down();
        assert_eq!(waiting.join().unwrap(), Wake::Over);
        assert!(start.elapsed() < Duration::from_secs(20));
        assert_eq!(office.watch_teams(&[team]).sleep_until(None), Wake::Over);
        let (_other_folder, other, team) = self::office();
        assert_eq!(other.watch_teams(&[team]).sleep_until(at(NOON)), Wake::Due, "another office goes on");
    }
}
