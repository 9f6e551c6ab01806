//! What was sent and what became of it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use serde_json::Value;

use super::room::Room;
use crate::faults::oracle::{Said, said};
use crate::faults::world::{Answer, LEAD, TEAM, World};

/// Examples that are shown of each kind.
const EXAMPLES: usize = 5;

/// Everything that was done and seen, by actor.
#[derive(Default)]
pub(super) struct Journal(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    ours: Vec<Sent>,
    foreign: Vec<(&'static str, String)>,
    /// How often each text was taken out of a file.
    taken: HashMap<(&'static str, String), usize>,
    marked: BTreeSet<(&'static str, String)>,
    /// All that our readers and hooks printed, room by room.
    shown: HashMap<&'static str, String>,
    answers: BTreeMap<(&'static str, String), usize>,
    broken_locks: usize,
    hangs: Vec<String>,
}

struct Sent {
    room: &'static str,
    text: String,
    said: Said,
    /// The ledger could not be used: nobody follows this one.
    is_untracked: bool,
}

impl Journal {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sent(&self, kind: &'static str, texts: &[(&'static str, String)], answer: &Answer) {
        let is_untracked =
            answer.stderr.contains("the mail goes without it") || answer.stdout.contains("untracked");
        let said = said(answer, texts.len());
        let mut notes = self.notes();
        let code = answer.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        *notes.answers.entry((kind, code)).or_default() += 1;
        for ((room, text), said) in texts.iter().zip(said) {
            notes.ours.push(Sent { room, text: text.clone(), said, is_untracked });
        }
    }

    pub(super) fn foreign(&self, room: &'static str, text: Option<String>) {
        self.notes().foreign.extend(text.map(|text| (room, text)));
    }

    pub(super) fn take(&self, room: &'static str, text: Option<String>) {
        if let Some(text) = text {
            *self.notes().taken.entry((room, text)).or_default() += 1;
        }
    }

    pub(super) fn mark(&self, room: &'static str, text: Option<String>) {
        self.notes().marked.extend(text.map(|text| (room, text)));
    }

    pub(super) fn show(&self, room: &'static str, output: &str) {
        self.notes().shown.entry(room).or_default().push_str(output);
    }

    pub(super) fn break_lock(&self) {
        self.notes().broken_locks += 1;
    }

    pub(super) fn hang(&self, command: &str) {
        self.notes().hangs.push(command.to_owned());
    }

    pub(super) fn progress(&self) -> String {
        let notes = self.notes();
        let taken: usize = notes.taken.values().sum();
        let (ours, foreign, marked) = (notes.ours.len(), notes.foreign.len(), notes.marked.len());
        format!("{ours} of ours sent, {foreign} by others, {taken} drained, {marked} marked")
    }
}

/// What is wrong, by kind.
#[derive(Default)]
pub(super) struct Table {
    lost: Vec<String>,
    twice: Vec<String>,
    /// Answered as not there, and there.
    after_all: Vec<String>,
    torn: Vec<String>,
    stage: Vec<String>,
    foreign_lost: Vec<String>,
    /// Documented as unavoidable.
    held: usize,
    untracked_undone: usize,
    foreign_undone: usize,
}

/// One inbox at the end.
struct Final {
    /// How often a text is in the file, and whether it is read there.
    there: HashMap<String, (usize, bool)>,
    archived: HashMap<String, usize>,
    stages: HashMap<String, String>,
    /// Listed as pending since nothing shows whether it was taken: that says neither.
    unproved: HashSet<String>,
}

impl Table {
    /// Compares a world with the journal, after the looks that complete what was left.
    pub(super) fn settle(&mut self, world: &World, rooms: &[Room], journal: &Journal) -> Result<()> {
        for _ in 0..2 {
            let look = world.atm(LEAD, &["-t", TEAM, "pending"])?;
            if look.code != Some(0) {
                self.torn.push(format!("atm pending fails at the end: {}", look.stderr.trim()));
            }
        }
        let notes = journal.notes();
        for entry in fs::read_dir(world.state().join("quarantine")).into_iter().flatten().flatten() {
            self.torn.push(format!("set aside: {}", entry.file_name().display()));
        }
        let log = list(world, &["log", "--last", "10000000"])?;
        let pending = list(world, &["pending"])?;
        for room in rooms {
            match Final::of(world, room, &log, &pending) {
                Ok(last) => self.settle_room(room, &notes, &last),
                Err(error) => self.torn.push(format!("{}: {error:#}", room.name)),
            }
        }
        Ok(())
    }

    fn settle_room(&mut self, room: &Room, notes: &Notes, last: &Final) {
        let key = |text: &str| (room.name, text.to_owned());
        let taken = |text: &str| notes.taken.get(&key(text)).copied().unwrap_or_default();
        let shown = notes.shown.get(room.name).map_or("", String::as_str);
        for sent in notes.ours.iter().filter(|sent| sent.room == room.name) {
            let text = sent.text.as_str();
            let (there, is_read) = last.there.get(text).copied().unwrap_or_default();
            // What is in the archive and in the file counts as in the file.
            let archived = last.archived.get(text).copied().unwrap_or_default();
            let count = taken(text) + if there > 0 { there } else { archived };
            let stage = last.stages.get(text).map_or("none", String::as_str);
            let what = || {
                let (drained, said) = (taken(text), sent.said);
                format!(
                    "{text} answered {said:?}: {there} in the file, {archived} archived, {drained} drained, {stage}"
                )
            };
            match sent.said {
                _ if count > 1 => self.twice.push(what()),
                Said::There | Said::Later if count == 0 && stage == "held" => self.held += 1,
                Said::There | Said::Later if count == 0 && sent.is_untracked && !room.is_safe => {
                    self.untracked_undone += 1;
                }
                Said::There | Said::Later if count == 0 => self.lost.push(what()),
                Said::Never if count > 0 => self.after_all.push(what()),
                _ => {}
            }
            let is_consumed = taken(text) > 0 || notes.marked.contains(&key(text)) || shown.contains(text);
            let is_told_as_consumed = stage == "seen" || stage == "taken" && !last.unproved.contains(text);
            if is_told_as_consumed && !is_consumed
                || taken(text) > 0 && matches!(stage, "accepted" | "written")
            {
                self.stage.push(what());
            } else if is_read && !is_consumed {
                self.stage.push(format!("{}; marked as read, and nobody was shown it", what()));
            }
        }
        for (_, text) in notes.foreign.iter().filter(|(name, _)| *name == room.name) {
            let there = last.there.get(text).map_or(0, |(count, _)| *count);
            let archived = last.archived.get(text).copied().unwrap_or_default();
            let count = taken(text) + if there > 0 { there } else { archived };
            match count {
                0 if room.is_safe => self.foreign_lost.push(format!("{text} of another program")),
                0 => self.foreign_undone += 1,
                1 => {}
                _ => self.twice.push(format!("{text} of another program: {count}")),
            }
        }
    }

    /// Prints it; gives the number of what is wrong.
    pub(super) fn print(&self, journal: &Journal) -> usize {
        let notes = journal.notes();
        println!("soak: {} messages of ours, {} of other programs", notes.ours.len(), notes.foreign.len());
        for ((kind, code), count) in &notes.answers {
            println!("  {kind:<10} exit {code:<7} {count:>7}");
        }
        let rows = [
            ("lost", &self.lost),
            ("twice", &self.twice),
            ("answered as not there, and there", &self.after_all),
            ("torn", &self.torn),
            ("wrong stage", &self.stage),
            ("foreign, lost", &self.foreign_lost),
            ("hanging", &notes.hangs),
        ];
        for (name, found) in rows {
            println!("  {name:<34} {:>7}", found.len());
            found.iter().take(EXAMPLES).for_each(|example| println!("      {example}"));
        }
        println!("  {:<34} {:>7}", "locks of clients broken", notes.broken_locks);
        println!(
            "  not counted as wrong: {} held, {} untracked and undone, {} foreign undone by a writer without a lock",
            self.held, self.untracked_undone, self.foreign_undone
        );
        rows.iter().map(|(_, found)| found.len()).sum::<usize>() + notes.broken_locks
    }
}

impl Final {
    fn of(world: &World, room: &Room, log: &[Value], pending: &[Value]) -> Result<Self> {
        let mut there: HashMap<String, (usize, bool)> = HashMap::new();
        for entry in world.entries(room.name)? {
            let text = entry["text"].as_str().unwrap_or_default().to_owned();
            let found = there.entry(text).or_default();
            *found = (found.0 + 1, entry["read"] == true);
        }
        let mut archived: HashMap<String, usize> = HashMap::new();
        for message in list(world, &["inbox", room.name, "--archived"])? {
            *archived.entry(message["text"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        let mut stages = HashMap::new();
        for message in log {
            if message["to"].as_str() == Some(room.name) {
                let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
                stages.insert(text("text"), text("stage"));
            }
        }
        let is_unproved = |message: &&Value| {
            message["to"].as_str() == Some(room.name) && message["why"] == "taken_unproved"
        };
        let text = |message: &Value| message["text"].as_str().unwrap_or_default().to_owned();
        let unproved = pending.iter().filter(is_unproved).map(text).collect();
        Ok(Self { there, archived, stages, unproved })
    }
}

fn list(world: &World, args: &[&str]) -> Result<Vec<Value>> {
    Ok(serde_json::from_str(&world.must(LEAD, &[&["-t", TEAM, "--json"], args].concat())?.stdout)?)
}
