//! Who works on tasks in the storm: members of all machines make tasks, claim the first one that is free, keep it, and finish
//! it, give it back or abandon it. A task is known by its subject: its number may change if it was made without the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use atm_office::clock::{Clock as _, SystemClock};
use atm_wire::Stamp;
use serde_json::Value;

use super::Scene;
use crate::faults::random::Random;
use crate::faults::world::{Answer, LEAD, TEAM};

/// How long it may take after the storm until all machines show the same tasks.
const AGREE_WITHIN: Duration = Duration::from_secs(60);
/// The longest lease, in seconds: short, so that many end in the storm.
const LONGEST_LEASE: u64 = 6;

/// A claim as the claimer knows it: from the answer on, until the end that the answer names or the call that gives it up.
struct Hold {
    who: &'static str,
    from: Stamp,
    until: Stamp,
}

/// What was answered about tasks.
#[derive(Default)]
pub(super) struct Book(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    /// Subjects of the tasks that were made, with the number if no other machine can have given it.
    made: BTreeMap<String, Option<String>>,
    holds: BTreeMap<String, Vec<Hold>>,
    completed: BTreeSet<String>,
}

impl Book {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn progress(&self) -> String {
        let notes = self.notes();
        let claims: usize = notes.holds.values().map(Vec::len).sum();
        format!(
            "{} tasks made, {claims} claims granted, {} completed",
            notes.made.len(),
            notes.completed.len()
        )
    }
}

/// A member that works on tasks.
pub(super) struct Worker<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) machine: usize,
    pub(super) name: &'static str,
}

impl Worker<'_> {
    pub(super) fn run(&self, number: u64) -> Result<()> {
        let mut random = self.scene.random(300 + number);
        let mut made = 0;
        while !self.scene.storm.is_over() {
            if random.below(4) == 0 {
                made += 1;
                self.make(made)?;
            } else {
                self.work(&mut random)?;
            }
            self.scene.storm.pause(Duration::from_millis(100 + random.below(900)));
        }
        Ok(())
    }

    fn make(&self, number: u64) -> Result<()> {
        let subject = format!("job {number} of {}", self.name);
        let answer = self.atm("create", &["create", &subject])?;
        if let Some(task) = self.granted("create", &answer, &[])? {
            // What was made without the server has the machine's mark, and gets its number later.
            let id = task["madeOn"].is_null().then(|| text(&task, "id"));
            self.scene.book.notes().made.insert(subject, id);
        }
        Ok(())
    }

    /// Claims a task, and does one thing or the other with it.
    fn work(&self, random: &mut Random) -> Result<()> {
        let lease = 1 + random.below(LONGEST_LEASE);
        let Some((subject, id)) = self.claim("claim", "--next", lease)? else { return Ok(()) };
        let pause = |random: &mut Random| {
            self.scene.storm.pause(Duration::from_millis(random.below(1_500 * lease)));
        };
        pause(random);
        if random.below(3) == 0 {
            if self.claim("renew", &id, lease)?.is_none() {
                return Ok(());
            }
            pause(random);
        }
        match random.below(10) {
            0..5 => self.give_up(&subject, "complete", &["complete", &id, "--no-message"]),
            5..8 => self.give_up(&subject, "release", &["release", &id]),
            // It is abandoned: its lease ends.
            _ => Ok(()),
        }
    }

    /// Claims a task; gives its subject and its number.
    fn claim(&self, kind: &'static str, which: &str, lease: u64) -> Result<Option<(String, String)>> {
        let answer = self.atm(kind, &["claim", which, "--lease", &format!("{lease}s")])?;
        let from = SystemClock.now();
        let Some(task) = self.granted(kind, &answer, &[3, 4, 5])? else { return Ok(None) };
        let until = Stamp::parse(task["lease"]["expiresAt"].as_str().context("a claim has an end")?)?;
        let subject = text(&task, "subject");
        let hold = Hold { who: self.name, from, until };
        self.scene.book.notes().holds.entry(subject.clone()).or_default().push(hold);
        Ok(Some((subject, text(&task, "id"))))
    }

    /// Completes or releases a task: from the call on, it is not this member's any more.
    fn give_up(&self, subject: &str, kind: &'static str, args: &[&str]) -> Result<()> {
        let now = SystemClock.now();
        let mut notes = self.scene.book.notes();
        let held = notes.holds.get_mut(subject).into_iter().flatten().filter(|hold| hold.who == self.name);
        held.for_each(|hold| hold.until = hold.until.min(now));
        drop(notes);
        let answer = self.atm(kind, args)?;
        let Some(task) = self.granted(kind, &answer, &[3, 4, 5])? else { return Ok(()) };
        // One that answers with a warning is a request, which may be refused later.
        let is_plain = answer.stderr.trim().is_empty();
        if kind == "complete" && is_plain && text(&task, "subject") == subject {
            self.scene.book.notes().completed.insert(subject.to_owned());
        }
        Ok(())
    }

    fn atm(&self, kind: &'static str, args: &[&str]) -> Result<Answer> {
        let world = &self.scene.machines[self.machine].world;
        let answer = world.atm(self.name, &[&["-t", TEAM, "--json", "task"], args].concat())?;
        let code = answer.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        self.scene.account.answer(kind, &code);
        Ok(answer)
    }

    /// The task in an answer of success; what is neither that nor one of these refusals is wrong.
    fn granted(&self, kind: &str, answer: &Answer, refusals: &[i32]) -> Result<Option<Value>> {
        match answer.code {
            Some(0) if !answer.hangs => {
                let mut outcome: Value = serde_json::from_str(&answer.stdout)?;
                Ok(Some(outcome["task"].take()))
            }
            Some(code) if !answer.hangs && refusals.contains(&code) => Ok(None),
            code => {
                let why = answer.stderr.trim();
                self.scene.account.wrong(format!("{kind} of {} ended with {code:?}: {why}", self.name));
                Ok(None)
            }
        }
    }
}

fn text(task: &Value, key: &str) -> String {
    task[key].as_str().unwrap_or_default().to_owned()
}

/// A task as a machine's files have it, without its subject.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    id: String,
    status: String,
    owner: Option<String>,
}

/// The tasks of a machine by their subjects; of each subject, all.
type Listing = BTreeMap<String, Vec<Shown>>;

fn listing(scene: &Scene, machine: usize) -> Result<Listing> {
    let answer = scene.machines[machine].world.must(LEAD, &["-t", TEAM, "--json", "task", "list"])?;
    let tasks: Vec<Value> = serde_json::from_str(&answer.stdout)?;
    let mut listing = Listing::new();
    for task in &tasks {
        let owner = task["owner"].as_str().map(str::to_owned);
        let shown = Shown { id: text(task, "id"), status: text(task, "status"), owner };
        listing.entry(text(task, "subject")).or_default().push(shown);
    }
    Ok(listing)
}

/// What is wrong with tasks, by kind.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) claims: Vec<String>,
    pub(super) numbers: Vec<String>,
    pub(super) tasks: Vec<String>,
}

/// Waits until all machines show the same tasks, and compares them with what was answered.
pub(super) fn compare(scene: &Scene) -> Result<Faults> {
    let begun = Instant::now();
    let mut tasks = loop {
        let found = different(scene)?;
        if found.is_empty() || begun.elapsed() > AGREE_WITHIN {
            break found;
        }
        std::thread::sleep(Duration::from_millis(500));
    };
    let notes = scene.book.notes();
    let here = listing(scene, 0)?;
    for subject in &notes.completed {
        let shown = here.get(subject).and_then(|shown| shown.first());
        if shown.is_none_or(|shown| shown.status != "completed") {
            tasks.push(format!("{subject} was completed, and is {shown:?}"));
        }
    }
    let mut numbers = given_twice(&notes.made);
    numbers.extend(shown_twice(&here));
    Ok(Faults { claims: granted_twice(&notes.holds), numbers, tasks })
}

/// Numbers that two tasks have in the end, also those that were made without the server.
fn shown_twice(listing: &Listing) -> Vec<String> {
    let mut subjects: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (subject, shown) in listing {
        for one in shown {
            subjects.entry(&one.id).or_default().push(subject);
        }
    }
    let twice = subjects.into_iter().filter(|(_, subjects)| subjects.len() > 1);
    twice.map(|(id, subjects)| format!("{id} is shown for {subjects:?}")).collect()
}

/// Tasks that are not once on every machine, or not the same everywhere.
fn different(scene: &Scene) -> Result<Vec<String>> {
    let listings = (0..scene.machines.len()).map(|place| listing(scene, place));
    let listings: Vec<Listing> = listings.collect::<Result<_>>()?;
    let mut found = Vec::new();
    for subject in scene.book.notes().made.keys() {
        for (machine, listing) in scene.machines.iter().zip(&listings) {
            let shown = listing.get(subject).map(Vec::as_slice).unwrap_or_default();
            if shown.len() != 1 || Some(shown) != listings[0].get(subject).map(Vec::as_slice) {
                let first = listings[0].get(subject);
                found.push(format!("{subject} is {shown:?} on {}, {first:?} on the first", machine.name));
            }
        }
    }
    Ok(found)
}

/// Claims of two members that each of them could believe in at one moment.
fn granted_twice(holds: &BTreeMap<String, Vec<Hold>>) -> Vec<String> {
    let mut found = Vec::new();
    for (subject, holds) in holds {
        for (place, one) in holds.iter().enumerate() {
            let others = holds[place + 1..].iter().filter(|other| other.who != one.who);
            for other in others.filter(|other| one.from.max(other.from) < one.until.min(other.until)) {
                found.push(format!(
                    "{subject}: {} from {} to {}, {} from {} to {}",
                    one.who, one.from, one.until, other.who, other.from, other.until
                ));
            }
        }
    }
    found
}

/// Numbers that two tasks got.
fn given_twice(made: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let mut subjects: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    for (subject, id) in made {
        if let Some(id) = id {
            subjects.entry(id).or_default().push(subject);
        }
    }
    let twice = subjects.into_iter().filter(|(_, subjects)| subjects.len() > 1);
    twice.map(|(id, subjects)| format!("{id}: {subjects:?}")).collect()
}
