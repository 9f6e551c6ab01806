//! What was accepted, what was read, and what became of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::moves::MOVER;
use super::tasks::{self, Faults};
use super::{Scene, mail};
use crate::faults::world::{LEAD, TEAM};

/// Examples that are shown of each kind.
const EXAMPLES: usize = 5;

/// A letter that was accepted.
pub(super) struct Sent {
    pub(super) id: String,
    /// The machine that it was sent from.
    pub(super) by: usize,
    /// The machine that it is for.
    pub(super) machine: usize,
    /// Its recipient, as it is called there.
    pub(super) to: String,
    /// Its number among those of its sender.
    pub(super) n: u64,
}

/// Everything that was done and seen.
#[derive(Default)]
pub(super) struct Account(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    sent: Vec<Sent>,
    read: HashSet<String>,
    /// What clients wrote, by the machine and the name there that it is for.
    by_clients: HashMap<(usize, String), HashSet<String>>,
    answers: BTreeMap<(&'static str, String), usize>,
    faults: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Account {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sent(&self, sent: Sent) {
        self.notes().sent.push(sent);
    }

    /// A client wrote this text by its own means, for a name on a machine.
    pub(super) fn by_client(&self, to: (usize, String), text: &str) {
        self.notes().by_clients.entry(to).or_default().insert(text.to_owned());
    }

    pub(super) fn read<'a>(&self, ids: impl Iterator<Item = &'a str>) {
        self.notes().read.extend(ids.map(str::to_owned));
    }

    pub(super) fn answer(&self, kind: &'static str, code: &str) {
        *self.notes().answers.entry((kind, code.to_owned())).or_default() += 1;
    }

    pub(super) fn count(&self, fault: &'static str) {
        *self.notes().faults.entry(fault).or_default() += 1;
    }

    pub(super) fn wrong(&self, what: String) {
        self.notes().wrong.push(what);
    }

    /// Notes what is missing for a storm: letters, or faults that never struck. Without them, that nothing is wrong says nothing.
    pub(super) fn expect(&self, letters: usize, faults: &[&'static str]) {
        let mut notes = self.notes();
        let accepted = notes.sent.len();
        if accepted < letters {
            notes.wrong.push(format!("only {accepted} of {letters} letters were accepted"));
        }
        if notes.by_clients.is_empty() {
            notes.wrong.push("no client wrote".to_owned());
        }
        for fault in faults {
            if !notes.faults.contains_key(fault) {
                notes.wrong.push(format!("no fault of this kind: {fault}"));
            }
        }
    }

    pub(super) fn progress(&self) -> String {
        let notes = self.notes();
        let faults: usize = notes.faults.values().sum();
        let by_clients: usize = notes.by_clients.values().map(HashSet::len).sum();
        format!(
            "{} letters accepted, {by_clients} of clients, {} read, {faults} faults",
            notes.sent.len(),
            notes.read.len()
        )
    }

    /// How many letters' last stage has not come home, or which have yet to follow the one who moves: while that is so, they are
    /// what they were at its former home.
    pub(super) fn open(&self, scene: &Scene) -> Result<usize> {
        let stages = Stages::of(scene)?;
        let entries = if scene.storm.moves { scene.machines[0].world.entries(MOVER)? } else { Vec::new() };
        let followed: HashSet<&str> =
            entries.iter().filter_map(|entry| entry["messageId"].as_str()).collect();
        let notes = self.notes();
        let is_open = |sent: &&Sent| {
            !stages.is_home(sent, &notes.read) || sent.to == MOVER && !followed.contains(sent.id.as_str())
        };
        let open = notes.sent.iter().filter(is_open).count();
        if open > 0 {
            return Ok(open);
        }
        let mut missing = 0;
        for ((machine, name), texts) in &notes.by_clients {
            let there = there(scene, *machine, name)?;
            let there: HashSet<&str> = there.iter().map(|(_, text)| text.as_str()).collect();
            missing += texts.iter().filter(|text| !there.contains(text.as_str())).count();
        }
        Ok(missing)
    }
}

/// The mail of a name on a machine, in its order: ids and texts.
fn there(scene: &Scene, machine: usize, name: &str) -> Result<Vec<(String, String)>> {
    let world = &scene.machines[machine].world;
    let archived = world.must(name, &["-t", TEAM, "--json", "inbox", name, "--archived"])?;
    let archived: Vec<Value> = serde_json::from_str(&archived.stdout)?;
    let file = world.entries(name)?;
    let of =
        |entry: &Value, id: &str| Some((entry[id].as_str()?.to_owned(), entry["text"].as_str()?.to_owned()));
    let file: Vec<_> = file.iter().filter_map(|entry| of(entry, "messageId")).collect();
    let in_file: HashSet<&str> = file.iter().map(|(id, _)| id.as_str()).collect();
    // What is in the archive and in the file counts as in the file.
    let mut there: Vec<_> = archived.iter().filter_map(|message| of(message, "id")).collect();
    there.retain(|(id, _)| !in_file.contains(id.as_str()));
    there.extend(file);
    Ok(there)
}

/// What each machine's ledger says of the letters that were sent from it.
struct Stages(Vec<HashMap<String, String>>);

impl Stages {
    fn of(scene: &Scene) -> Result<Self> {
        let mut all = Vec::new();
        for machine in &scene.machines {
            let log = machine.world.must(LEAD, &["-t", TEAM, "--json", "log", "--last", "10000000"])?;
            let log: Vec<Value> = serde_json::from_str(&log.stdout)?;
            let text = |message: &Value, key: &str| message[key].as_str().unwrap_or_default().to_owned();
            all.push(log.iter().map(|message| (text(message, "id"), text(message, "stage"))).collect());
        }
        Ok(Self(all))
    }

    fn stage(&self, sent: &Sent) -> &str {
        self.0[sent.by].get(&sent.id).map_or("none", String::as_str)
    }

    /// Whether its sender's machine knows what happened to it on its recipient's.
    fn is_home(&self, sent: &Sent, read: &HashSet<String>) -> bool {
        let stage = self.stage(sent);
        if read.contains(&sent.id) { matches!(stage, "seen" | "taken") } else { stage == "written" }
    }
}

/// What is wrong, by kind.
#[derive(Default)]
pub(super) struct Table {
    lost: Vec<String>,
    twice: Vec<String>,
    unknown: Vec<String>,
    order: Vec<String>,
    stage: Vec<String>,
    tasks: Faults,
}

impl Table {
    /// Compares files and ledgers with what was accepted.
    pub(super) fn compare(&mut self, scene: &Scene) -> Result<()> {
        let stages = Stages::of(scene)?;
        let notes = scene.account.notes();
        let mut expected: HashMap<(usize, &str), HashMap<&str, &Sent>> = HashMap::new();
        for sent in &notes.sent {
            expected.entry((sent.machine, &sent.to)).or_default().insert(&sent.id, sent);
            if !stages.is_home(sent, &notes.read) {
                let read = if notes.read.contains(&sent.id) { ", and was read" } else { "" };
                self.stage.push(format!("{} is {} at home{read}", shown(scene, sent), stages.stage(sent)));
            }
        }
        let (none, no_texts) = (HashMap::new(), HashSet::new());
        for (machine, name) in mail::everybody(scene) {
            let expected = expected.get(&(machine, name.as_str())).unwrap_or(&none);
            let texts = notes.by_clients.get(&(machine, name.clone())).unwrap_or(&no_texts);
            self.compare_inbox(scene, (machine, &name), expected, texts)?;
        }
        // Where it was for a while, nothing is left of its mail.
        for machine in (1..scene.machines.len()).filter(|_| scene.storm.moves) {
            self.compare_inbox(scene, (machine, MOVER), &none, &no_texts)?;
        }
        self.tasks = tasks::compare(scene)?;
        Ok(())
    }

    fn compare_inbox(
        &mut self,
        scene: &Scene,
        (machine, name): (usize, &str),
        expected: &HashMap<&str, &Sent>,
        by_clients: &HashSet<String>,
    ) -> Result<()> {
        let there = there(scene, machine, name)?;
        let place = format!("{name} on {}", scene.machines[machine].name);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut last: HashMap<&str, u64> = HashMap::new();
        for (id, text) in &there {
            let Some((from, n)) = numbered(text, &scene.word()) else { continue };
            // What a client wrote is known by its text.
            let is_clients = by_clients.contains(text);
            *counts.entry(if is_clients { text } else { id }).or_default() += 1;
            if !is_clients && !expected.contains_key(id.as_str()) {
                self.unknown.push(format!("{text} ({id}) is in the inbox of {place}"));
            }
            let before = last.insert(from, n).unwrap_or_default();
            if before >= n {
                self.order
                    .push(format!("{from}'s number {n} stands behind {before} in the inbox of {place}"));
            }
        }
        let letters = expected.iter().map(|(id, sent)| (*id, shown(scene, sent)));
        let of_clients = by_clients.iter().map(|text| (text.as_str(), format!("{text} for {place}")));
        for (key, what) in letters.chain(of_clients) {
            match counts.get(key).copied().unwrap_or_default() {
                0 => self.lost.push(what),
                1 => {}
                count => self.twice.push(format!("{what}: {count} times")),
            }
        }
        Ok(())
    }

    /// Prints it; gives the number of what is wrong.
    pub(super) fn print(&self, scene: &Scene, stormed: Duration, settled: Duration) -> usize {
        let notes = scene.account.notes();
        let abroad = notes.sent.iter().filter(|sent| sent.by != sent.machine).count();
        println!(
            "soak: {} letters accepted in {:.0} s of storm, {abroad} of them for another machine, {} read; settled {:.0} s after it",
            notes.sent.len(),
            stormed.as_secs_f64(),
            notes.read.len(),
            settled.as_secs_f64()
        );
        let by_clients: usize = notes.by_clients.values().map(HashSet::len).sum();
        println!("soak: {by_clients} letters of clients for members of other machines");
        println!("soak: {}", scene.book.progress());
        for ((kind, code), count) in &notes.answers {
            println!("  {kind:<10} exit {code:<7} {count:>7}");
        }
        for (fault, count) in &notes.faults {
            println!("  {fault:<34} {count:>7}");
        }
        for machine in &scene.machines {
            let tally = &machine.status()["tally"];
            println!("  last bridge of {:<19} {tally}", machine.name);
        }
        let rows = [
            ("lost", &self.lost),
            ("twice", &self.twice),
            ("there, and never accepted", &self.unknown),
            ("out of order", &self.order),
            ("receipts that are not home", &self.stage),
            ("claims granted twice", &self.tasks.claims),
            ("numbers given twice", &self.tasks.numbers),
            ("tasks lost or different", &self.tasks.tasks),
            ("other", &notes.wrong),
        ];
        for (name, found) in rows {
            println!("  {name:<34} {:>7}", found.len());
            found.iter().take(EXAMPLES).for_each(|example| println!("      {example}"));
        }
        rows.iter().map(|(_, found)| found.len()).sum()
    }
}

fn shown(scene: &Scene, sent: &Sent) -> String {
    let name = |machine: usize| scene.machines[machine].name;
    format!("{} of {} for {} on {} (number {})", sent.id, name(sent.by), sent.to, name(sent.machine), sent.n)
}

/// Sender and number in a text of this storm.
fn numbered<'a>(text: &'a str, word: &str) -> Option<(&'a str, u64)> {
    let (_, rest) = text.split_once(word)?;
    let mut words = rest.split_whitespace();
    Some((words.next()?, words.next()?.parse().ok()?))
}
