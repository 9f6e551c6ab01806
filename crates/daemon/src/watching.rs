//! Which folders are watched, and what a change in each means.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atm_office::Office;
use atm_store::watch::{Identity, ManyWatch, Waker, Woken, has_events, identity};
use atm_wire::TeamName;

/// Folders whose changes nobody tells of are looked at so often.
pub(crate) const POLL_EVERY: Duration = Duration::from_secs(2);

/// What a change in a folder means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meaning {
    /// Folders that hold all else may have come or gone.
    Root,
    /// Teams may have come or gone.
    Teams,
    /// Mail, tasks or the configuration of a team. In some of its folders, others may have come or gone, too.
    Team { name: TeamName, holds_others: bool },
    /// A folder that may become a team: clients make it first, and what makes it a team later.
    NoTeam(TeamName),
    /// Sessions of clients.
    Sessions,
    /// Conversations.
    Conversations,
    /// Folders of conversations may have come or gone.
    Projects,
    /// The program's file.
    Program,
    /// The settings.
    Settings,
    /// Our own files.
    State,
    /// The log of the ledger.
    Log,
}

/// What a wait ended with.
#[derive(Debug)]
pub(crate) enum Heard {
    Changes(BTreeSet<Meaning>),
    /// Anything may have changed.
    Everything,
    Due,
    Over,
}

/// All folders that are watched.
#[derive(Debug)]
pub(crate) struct Watching {
    watch: ManyWatch,
    /// A folder may mean several things.
    meanings: BTreeMap<PathBuf, BTreeSet<Meaning>>,
    /// Folders without events, with what they looked like.
    polled: BTreeMap<PathBuf, u64>,
    has_events: bool,
    next_poll: Option<Instant>,
    /// The folders that hold all else, and what stands there.
    holders: Vec<(PathBuf, Option<Identity>)>,
    /// The folders of each team.
    by_team: BTreeMap<TeamName, Vec<Stands>>,
    /// The folders beside them that are no teams.
    no_teams: BTreeSet<TeamName>,
}

/// A folder that is there, and whether it holds others that are watched.
type Stands = (PathBuf, bool, Identity);

impl Watching {
    pub(crate) fn new(office: &Office) -> Self {
        Self {
            watch: office.hub().many(),
            meanings: BTreeMap::new(),
            polled: BTreeMap::new(),
            has_events: has_events(office.root().path()),
            next_poll: None,
            holders: Vec::new(),
            by_team: BTreeMap::new(),
            no_teams: BTreeSet::new(),
        }
    }

    pub(crate) fn waker(&self) -> Waker {
        self.watch.waker()
    }

    /// Watches these teams, and what is not of any team. Gives the teams of which other folders are watched than before:
    /// something may have happened there already. Says whether all is as it was found: if not, something came or went before
    /// it was watched, and it has to be looked for once more.
    pub(crate) fn set(
        &mut self,
        office: &Office,
        teams: &BTreeSet<TeamName>,
        others: &[(PathBuf, Meaning)],
    ) -> (Vec<TeamName>, bool) {
        let root = office.root();
        let mut meanings: BTreeMap<PathBuf, BTreeSet<Meaning>> = BTreeMap::new();
        let mut add = |folder: PathBuf, meaning: Meaning| {
            meanings.entry(folder).or_default().insert(meaning);
        };
        others.iter().cloned().for_each(|(folder, meaning)| add(folder, meaning));
        self.holders = holders(office);
        // One that is not there is seen to come by the folder above it.
        add(above(root.path()), Meaning::Root);
        add(root.path().to_owned(), Meaning::Root);
        add(root.path().join("tasks"), Meaning::Teams);
        add(root.teams(), Meaning::Teams);
        add(root.path().join("sessions"), Meaning::Sessions);
        let projects = root.path().join("projects");
        for folder in folders_in(&projects) {
            add(folder, Meaning::Conversations);
        }
        add(projects, Meaning::Projects);
        meanings.retain(|folder, _| folder.is_dir());
        let mut by_team = BTreeMap::new();
        let mut new = Vec::new();
        for team in teams {
            let folders = folders_of(office, team);
            for (folder, holds_others, _) in &folders {
                let meaning = Meaning::Team { name: team.clone(), holds_others: *holds_others };
                meanings.entry(folder.clone()).or_default().insert(meaning);
            }
            if self.by_team.get(team) != Some(&folders) {
                new.push(team.clone());
            }
            by_team.insert(team.clone(), folders);
        }
        self.by_team = by_team;
        self.no_teams = no_teams(office, teams);
        for name in &self.no_teams {
            meanings.entry(root.team(name)).or_default().insert(Meaning::NoTeam(name.clone()));
        }
        self.watch.set(meanings.keys().cloned());
        self.meanings = meanings;
        self.set_polled();
        let is_settled = !self.has_other_holders(office)
            && self.no_teams == no_teams(office, teams)
            && !new.iter().any(|team| self.has_other_folders(office, team));
        (new, is_settled)
    }

    /// Whether others stand in the places of the folders that hold all else.
    pub(crate) fn has_other_holders(&self, office: &Office) -> bool {
        self.holders != holders(office)
    }

    /// Whether the folders of a team are others than those that are watched.
    pub(crate) fn has_other_folders(&self, office: &Office, team: &TeamName) -> bool {
        self.by_team.get(team) != Some(&folders_of(office, team))
    }

    fn set_polled(&mut self) {
        let without: BTreeSet<PathBuf> = if self.has_events {
            self.watch.unwatched().map(Path::to_owned).collect()
        } else {
            self.meanings.keys().cloned().collect()
        };
        self.polled.retain(|folder, _| without.contains(folder));
        for folder in without {
            let look = appearance(&folder);
            self.polled.entry(folder).or_insert(look);
        }
        if self.polled.is_empty() {
            self.next_poll = None;
        } else if self.next_poll.is_none() {
            self.next_poll = Some(Instant::now() + POLL_EVERY);
        }
    }

    /// How many folders the system watches, and how many are looked at instead.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.watch.watched(), self.polled.len())
    }

    /// Waits until something changes or the time is over.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> Heard {
        let deadline = [deadline, self.next_poll].into_iter().flatten().min();
        let woken = self.watch.wait(deadline);
        let mut changed = match woken {
            Woken::By(folders) => folders,
            Woken::Due => BTreeSet::new(),
            Woken::EventsLost => return Heard::Everything,
            Woken::Over => return Heard::Over,
        };
        changed.extend(self.poll());
        if changed.is_empty() {
            return Heard::Due;
        }
        Heard::Changes(
            changed.iter().filter_map(|folder| self.meanings.get(folder)).flatten().cloned().collect(),
        )
    }

    /// The folders without events that look different now.
    fn poll(&mut self) -> Vec<PathBuf> {
        if self.next_poll.is_none_or(|at| Instant::now() < at) {
            return Vec::new();
        }
        self.next_poll = Some(Instant::now() + POLL_EVERY);
        let mut changed = Vec::new();
        for (folder, known) in &mut self.polled {
            let look = appearance(folder);
            if look != *known {
                *known = look;
                changed.push(folder.clone());
            }
        }
        changed
    }
}

fn folders_of(office: &Office, team: &TeamName) -> Vec<Stands> {
    let folders = office.folders_of(team).into_iter();
    folders
        .filter_map(|(folder, holds_others)| {
            identity(&folder).map(|identity| (folder, holds_others, identity))
        })
        .collect()
}

/// The folders beside the teams that are none.
fn no_teams(office: &Office, teams: &BTreeSet<TeamName>) -> BTreeSet<TeamName> {
    let folders = folders_in(&office.root().teams());
    let names = folders.iter().filter_map(|folder| TeamName::parse(folder.file_name()?.to_str()?).ok());
    names.filter(|name| !teams.contains(name)).collect()
}

fn holders(office: &Office) -> Vec<(PathBuf, Option<Identity>)> {
    let root = office.root().path();
    let below = ["teams", "tasks", "sessions", "projects"].map(|name| root.join(name));
    let all = [root.to_owned(), above(root)].into_iter().chain(below);
    all.map(|folder| (identity(&folder), folder)).map(|(identity, folder)| (folder, identity)).collect()
}

/// The nearest folder above that is there.
pub(crate) fn above(path: &Path) -> PathBuf {
    path.ancestors().skip(1).find(|at| at.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// What a folder and the files in it look like from outside.
fn appearance(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let found = fs::metadata(&path).ok();
        let look = found.map(|found| (found.ino(), found.len(), found.mtime(), found.mtime_nsec()));
        (path, look).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_looks_different_after_every_change() {
        let folder = tempfile::tempdir().unwrap();
        let mut looks = BTreeSet::from([appearance(folder.path())]);
        let path = folder.path().join("bob.json");
        fs::write(&path, "[]").unwrap();
        assert!(looks.insert(appearance(folder.path())));
        fs::write(&path, "[1]").unwrap();
        assert!(looks.insert(appearance(folder.path())));
        fs::rename(&path, folder.path().join("carol.json")).unwrap();
        assert!(looks.insert(appearance(folder.path())));
        assert!(!looks.insert(appearance(folder.path())), "and the same without one");
    }
}
