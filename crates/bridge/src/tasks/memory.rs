//! What the mirror remembers across restarts, and its two files.
//!
//! The whole stands in one file, what changed since in a journal beside it: one line for each save, so that a claim among
//! thousands of tasks writes a line about one of them. A journal that outgrows the whole is folded into it.
//!
//! | a crash | leaves |
//! |---|---|
//! | while a line is appended | a torn last line, which is not read: nobody was told what it says |
//! | between the whole and its empty journal | lines that belong to another whole, which are not read |
//!
//! A process appends only to a journal that it began itself, and to no other after an error. So nothing follows a torn line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use atm_store::files::{append_own, read_small, replace_own};
use atm_wire::task::TaskId;
use serde::{Deserialize, Serialize};

use super::files::FileError;
use crate::protocol::tasks::Base;

/// The largest file that is read.
const LARGEST: u64 = 256 << 20;
/// A journal up to this size is not folded, however small the whole is.
const SMALL: u64 = 64 << 10;

/// What is remembered across restarts. Its loss costs time; files are read as they are then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Which bucket this is about.
    pub(super) bucket: String,
    /// An earlier bucket was lost: numbers that this machine never heard of may have been given there.
    #[serde(default)]
    pub(super) is_renewed: bool,
    pub(super) teams: BTreeMap<String, TeamMemory>,
}

/// The same of one team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TeamMemory {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tasks: BTreeMap<TaskId, Base>,
    /// Numbers that are this machine's, and whose tasks are not in the bucket yet.
    #[serde(default)]
    pub(super) reserved: BTreeSet<TaskId>,
    /// Tasks that get another number, and which.
    #[serde(default)]
    pub(super) moves: BTreeMap<TaskId, TaskId>,
    /// Numbers of tasks that had another one among all machines, and are not in the bucket yet.
    #[serde(default)]
    pub(super) moved: BTreeSet<TaskId>,
    /// Tasks whose hold a member here gave up, without an answer of the bucket so far.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) given_up: BTreeSet<TaskId>,
    /// The highest number that this machine saw given.
    #[serde(default)]
    pub(super) last: Option<TaskId>,
}

impl TeamMemory {
    /// The task of this number is not new: what was claimed of it may still hold. Says whether that is news.
    pub(super) fn was_shared(&mut self, id: TaskId) -> bool {
        let was_reserved = self.reserved.remove(&id);
        self.moved.insert(id) || was_reserved
    }

    /// What is remembered beside the tasks.
    fn without_tasks(&self) -> Self {
        Self {
            tasks: BTreeMap::new(),
            reserved: self.reserved.clone(),
            moves: self.moves.clone(),
            moved: self.moved.clone(),
            given_up: self.given_up.clone(),
            last: self.last,
        }
    }
}

/// What is remembered otherwise than before. Teams and tasks are never forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    bucket: String,
    is_renewed: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    teams: BTreeMap<String, TeamDelta>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TeamDelta {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tasks: BTreeMap<TaskId, Base>,
    /// The team's memory without its tasks, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numbers: Option<TeamMemory>,
}

impl Memory {
    /// What is otherwise than in `before`; `None` if nothing is.
    pub(super) fn since(&self, before: &Self) -> Option<Delta> {
        let none = TeamMemory::default();
        let mut teams = BTreeMap::new();
        for (name, team) in &self.teams {
            let known = before.teams.get(name);
            let old = known.unwrap_or(&none);
            let is_other = |(id, base): &(&TaskId, &Base)| old.tasks.get(id) != Some(base);
            let tasks: BTreeMap<TaskId, Base> =
                team.tasks.iter().filter(is_other).map(|(id, base)| (*id, base.clone())).collect();
            let numbers = Some(team.without_tasks())
                .filter(|numbers| known.is_none_or(|known| known.without_tasks() != *numbers));
            if !tasks.is_empty() || numbers.is_some() {
                teams.insert(name.clone(), TeamDelta { tasks, numbers });
            }
        }
        let is_same = self.bucket == before.bucket && self.is_renewed == before.is_renewed;
        let (bucket, is_renewed) = (self.bucket.clone(), self.is_renewed);
        (!is_same || !teams.is_empty()).then_some(Delta { bucket, is_renewed, teams })
    }

    /// Makes this what the memory was that the delta leads to.
    pub fn apply(&mut self, delta: Delta) {
        (self.bucket, self.is_renewed) = (delta.bucket, delta.is_renewed);
        for (name, TeamDelta { tasks, numbers }) in delta.teams {
            let team = self.teams.entry(name).or_default();
            if let Some(numbers) = numbers {
                *team = TeamMemory { tasks: std::mem::take(&mut team.tasks), ..numbers };
            }
            team.tasks.extend(tasks);
        }
    }
}

/// The two files.
#[derive(Debug)]
pub struct MemoryFiles {
    whole: PathBuf,
    journal: PathBuf,
    /// The journal, if it is known how it ends.
    begun: Option<Journal>,
}

#[derive(Debug)]
struct Journal {
    /// The whole that it belongs to.
    of: String,
    size: u64,
    /// At which size it is folded.
    most: u64,
}

/// The file with the whole: a [`Memory`], and what its journal is known by. Files of earlier versions have no journal.
#[derive(Serialize)]
struct Whole<'a> {
    journal: &'a str,
    bucket: &'a str,
    is_renewed: bool,
    teams: &'a BTreeMap<String, TeamMemory>,
}

#[derive(Default, Deserialize)]
struct Mark {
    #[serde(default)]
    journal: Option<String>,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
struct Line<D> {
    of: String,
    delta: D,
}

impl MemoryFiles {
    /// In these places.
    pub fn new(whole: PathBuf, journal: PathBuf) -> Self {
        Self { whole, journal, begun: None }
    }

    /// What the last process remembered; nothing if it cannot be read.
    pub fn load(&self) -> Memory {
        let read = |path| read_small(path, LARGEST).ok().flatten().map(|file| file.bytes).unwrap_or_default();
        let (whole, journal) = (read(&self.whole), read(&self.journal));
        let Ok(mut memory) = serde_json::from_slice::<Memory>(&whole) else { return Memory::default() };
        let Mark { journal: of } = serde_json::from_slice(&whole).unwrap_or_default();
        let lines = journal.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        for line in lines {
            match serde_json::from_slice::<Line<Delta>>(line) {
                Ok(line) if Some(&line.of) == of.as_ref() => memory.apply(line.delta),
                _ => break,
            }
        }
        memory
    }

    /// Makes `memory` durable, of which `delta` is not yet.
    pub fn save(&mut self, memory: &Memory, delta: &Delta) -> Result<(), FileError> {
        // After an error it is not known how the journal ends, and the next save begins another one.
        if let Some(journal) = self.begun.take() {
            let line = text(&Line { of: journal.of.clone(), delta })? + "\n";
            let size = journal.size + line.len() as u64;
            if size <= journal.most && append_own(&self.journal, journal.size, &line)? {
                self.begun = Some(Journal { size, ..journal });
                return Ok(());
            }
        }
        let of = atm_store::fresh_id().to_string();
        let Memory { bucket, is_renewed, teams } = memory;
        let whole = text(&Whole { journal: &of, bucket, is_renewed: *is_renewed, teams })?;
        replace_own(&self.whole, &whole)?;
        // Without a journal the next save is of the whole, too.
        if replace_own(&self.journal, "").is_ok() {
            self.begun = Some(Journal { of, size: 0, most: SMALL.max(whole.len() as u64) });
        }
        Ok(())
    }
}

fn text(value: &impl Serialize) -> Result<String, FileError> {
    serde_json::to_string(value).map_err(|error| FileError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::protocol::tasks::SharedTask;

    const TEAM: &str = "alpha";

    fn id(number: u64) -> TaskId {
        number.to_string().parse().unwrap()
    }

    fn task(number: u64, revision: u64) -> Base {
        let text = format!("{{\"id\":\"{number}\",\"subject\":\"{}\"}}", "dig ".repeat(100));
        let value = SharedTask {
            team: TEAM.into(),
            id: id(number),
            shared_id: format!("id-{number}"),
            version: revision,
            moved: false,
            text: Some(text.clone()),
            owner: None,
            since: 0,
            until: None,
            leads: Vec::new(),
            grants_from: None,
            again: None,
        };
        Base { revision, value, mirrored: Some(text), before: None, was: None }
    }

    /// A process that remembers.
    struct Process {
        files: MemoryFiles,
        memory: Memory,
        saved: Memory,
    }

    impl Process {
        fn start(folder: &Path) -> Self {
            let files = MemoryFiles::new(folder.join("whole"), folder.join("journal"));
            let memory = files.load();
            Self { files, saved: memory.clone(), memory }
        }

        fn save(&mut self) -> Result<(), FileError> {
            let delta = self.memory.since(&self.saved).expect("something new");
            self.files.save(&self.memory, &delta)?;
            self.saved.apply(delta);
            assert_eq!(self.saved, self.memory);
            Ok(())
        }

        fn put(&mut self, number: u64, revision: u64) -> Result<(), FileError> {
            let team = self.memory.teams.entry(TEAM.into()).or_default();
            team.tasks.insert(id(number), task(number, revision));
            self.save()
        }
    }

    fn size(path: &Path) -> u64 {
        fs::metadata(path).unwrap().len()
    }

    #[test]
    fn one_task_of_many_is_a_line_and_the_lines_never_outgrow_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, journal) = (folder.path().join("whole"), folder.path().join("journal"));
        let mut process = Process::start(folder.path());
        let team = process.memory.teams.entry(TEAM.into()).or_default();
        team.tasks.extend((1..=300).map(|number| (id(number), task(number, 1))));
        process.save().unwrap();
        let at_first = fs::read(&whole).unwrap();
        process.put(700, 2).unwrap();
        assert!(size(&journal) < 2_000, "{} bytes for one of {}", size(&journal), at_first.len());
        assert_eq!(fs::read(&whole).unwrap(), at_first);
        let mut lines = 1;
        while fs::read(&whole).unwrap() == at_first {
            process.put(700, 2 + lines).unwrap();
            lines += 1;
        }
        assert!(lines > 200, "it is folded after {lines}");
        assert_eq!(size(&journal), 0);
        assert_eq!(Process::start(folder.path()).memory, process.memory);
    }

    #[test]
    fn a_journal_that_ends_anywhere_is_read_up_to_its_last_whole_line_and_never_continued() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, journal) = (folder.path().join("whole"), folder.path().join("journal"));
        let mut process = Process::start(folder.path());
        let mut states = Vec::new();
        for revision in 1..=4 {
            process.memory.bucket = format!("bucket {revision}");
            process.memory.teams.entry(TEAM.into()).or_default().reserved.insert(id(revision + 10));
            process.put(revision % 2, revision).unwrap();
            states.push(process.memory.clone());
        }
        let (whole_bytes, lines) = (fs::read(&whole).unwrap(), fs::read_to_string(&journal).unwrap());
        let whole_lines = |end: usize| lines[..end].matches('\n').count();
        let is_edge = |end: usize| lines[..end].ends_with('\n') || lines[end..].starts_with('\n');
        for end in (0..=lines.len()).filter(|end| end % 13 == 0 || is_edge(*end)) {
            fs::write(&journal, &lines[..end]).unwrap();
            assert_eq!(Process::start(folder.path()).memory, states[whole_lines(end)], "{end} bytes");
        }
        for end in [0, 1, lines.len() / 2, lines.len() - 1, lines.len()] {
            fs::write(&whole, &whole_bytes).unwrap();
            fs::write(&journal, &lines[..end]).unwrap();
            let mut next = Process::start(folder.path());
            next.put(9, 9).unwrap();
            next.put(9, 10).unwrap();
            assert_eq!(Process::start(folder.path()).memory, next.memory, "{end} bytes");
        }
    }

    #[test]
    fn the_lines_of_another_whole_are_not_read_and_a_file_without_any_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Process::start(folder.path());
        process.put(1, 1).unwrap();
        process.put(1, 2).unwrap();
        // As earlier versions wrote it; also what is left if a process dies before the journal is emptied.
        let mut old = process.memory.clone();
        old.teams.get_mut(TEAM).unwrap().tasks.insert(id(1), task(1, 7));
        fs::write(folder.path().join("whole"), serde_json::to_string(&old).unwrap()).unwrap();
        assert_eq!(Process::start(folder.path()).memory, old);
        fs::remove_file(folder.path().join("journal")).unwrap();
        assert_eq!(Process::start(folder.path()).memory, old);
        fs::write(folder.path().join("whole"), "{").unwrap();
        assert_eq!(Process::start(folder.path()).memory, Memory::default());
    }

    #[test]
    fn what_could_not_be_appended_is_saved_with_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let mut process = Process::start(folder.path());
        process.put(1, 1).unwrap();
        fs::remove_file(&journal).unwrap();
        process.put(1, 2).unwrap();
        assert_eq!(Process::start(folder.path()).memory, process.memory, "the journal was removed");
        fs::remove_file(&journal).unwrap();
        fs::create_dir(&journal).unwrap();
        process.put(1, 3).unwrap_err();
        process.save().unwrap();
        process.put(1, 4).unwrap();
        assert_eq!(Process::start(folder.path()).memory, process.memory, "there can be no journal");
        fs::remove_dir(&journal).unwrap();
        process.put(1, 5).unwrap();
        process.put(1, 6).unwrap();
        assert!(size(&journal) > 0, "there is one again");
        fs::write(&journal, [fs::read(&journal).unwrap(), b"{\"of\":".to_vec()].concat()).unwrap();
        process.put(1, 7).unwrap();
        assert_eq!(Process::start(folder.path()).memory, process.memory, "it ended in a part of a line");
    }
}
