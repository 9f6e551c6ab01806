//! What was written, when it was there, and what the ledger says of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::reminded::{OFFERS, Reminder};
use super::{Scene, inbox, woken};
use crate::faults::world::{LEAD, TEAM};

/// A message that was there for so long while one daemon served has to be known. A daemon that has nothing else to do takes
/// milliseconds; here everything happens at once on a machine of any speed.
const MOMENT: Duration = Duration::from_secs(1);
/// Examples that are shown of each kind.
const EXAMPLES: usize = 8;

/// Everything that was done and seen.
#[derive(Default)]
pub(super) struct Account(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    messages: HashMap<String, Written>,
    reminders: Vec<Reminder>,
    /// The senders for whom somebody has to be woken.
    wakes: Vec<String>,
    /// From when until when a daemon served.
    served: Vec<(Instant, Instant)>,
    kills: usize,
    tends: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

struct Written {
    team: String,
    at: Instant,
    drained: Option<Instant>,
    deleted: Option<Instant>,
}

impl Account {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message is there.
    pub(super) fn written(&self, team: &str, text: &str) {
        let written = Written { team: team.to_owned(), at: Instant::now(), drained: None, deleted: None };
        // A drain may have been heard of sooner.
        let mut notes = self.notes();
        let known = notes.messages.entry(text.to_owned()).or_insert(written);
        if known.team.is_empty() {
            team.clone_into(&mut known.team);
        }
    }

    pub(super) fn drained(&self, text: &str) {
        let now = Instant::now();
        let unheard = Written { team: String::new(), at: now, drained: None, deleted: None };
        self.notes().messages.entry(text.to_owned()).or_insert(unheard).drained.get_or_insert(now);
    }

    /// A team begins to be deleted.
    pub(super) fn delete(&self, team: &str) {
        let now = Instant::now();
        for written in self.notes().messages.values_mut().filter(|written| written.team == team) {
            written.deleted.get_or_insert(now);
        }
    }

    pub(super) fn served(&self, since: Instant, until: Instant) {
        self.notes().served.push((since, until));
    }

    pub(super) fn kill(&self) {
        self.notes().kills += 1;
    }

    pub(super) fn tend(&self, code: Option<i32>, said: &str) {
        if !matches!(code, None | Some(0)) {
            self.wrong(format!("atm tend ended with {code:?}: {}", said.trim()));
        }
        let code = code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        *self.notes().tends.entry(code).or_default() += 1;
    }

    pub(super) fn remind(&self, reminder: Reminder) {
        self.notes().reminders.push(reminder);
    }

    /// Does something with all reminders, which nobody else touches meanwhile.
    pub(super) fn reminders<T>(&self, work: impl FnOnce(&mut Vec<Reminder>) -> Result<T>) -> Result<T> {
        work(&mut self.notes().reminders)
    }

    pub(super) fn expect_wake(&self, from: String) {
        self.notes().wakes.push(from);
    }

    pub(super) fn wrong(&self, what: String) {
        self.notes().wrong.push(what);
    }

    pub(super) fn progress(&self) -> String {
        let notes = self.notes();
        format!(
            "{} messages, {} reminders, {} wakes, {} daemons killed",
            notes.messages.len(),
            notes.reminders.len(),
            notes.wakes.len(),
            notes.kills
        )
    }
}

/// What is wrong, by kind.
#[derive(Default)]
pub(super) struct Table {
    unknown: Vec<String>,
    stage: Vec<String>,
    twice: Vec<String>,
    steps: Vec<String>,
    woken_again: Vec<String>,
    others: Vec<String>,
    known: usize,
    /// Gone before a daemon could see it, by how long it was there beside one.
    too_short: Vec<Duration>,
    not_woken: usize,
    /// Offers whose runner died over them.
    unknown_offers: usize,
}

impl Table {
    pub(super) fn compare(&mut self, scene: &Scene) -> Result<()> {
        let found = scene.world.must("user", &["--json", "search", "--all", &scene.word()])?;
        let found: Vec<Value> = serde_json::from_str(&found.stdout)?;
        let mut stages: HashMap<&str, Vec<&str>> = HashMap::new();
        for message in &found {
            let stage = message["stage"].as_str().unwrap_or("none");
            stages.entry(message["text"].as_str().unwrap_or_default()).or_default().push(stage);
        }
        let told = inbox::read(&scene.world.inbox(LEAD))?;
        let notes = scene.account.notes();
        for (text, written) in &notes.messages {
            match stages.get(text.as_str()).map(Vec::as_slice) {
                None if stood(written, &notes.served) >= MOMENT => {
                    self.unknown.push(shown(text, written, &notes));
                }
                None => self.too_short.push(stood(written, &notes.served)),
                Some([stage]) => {
                    self.known += 1;
                    if let Some(why) = untrue(written, stage, &notes.served) {
                        self.stage.push(format!("{} is {stage}: {why}", shown(text, written, &notes)));
                    }
                }
                Some(stages) => self.twice.push(format!("{text}: {stages:?}")),
            }
        }
        for one in &notes.reminders {
            self.check_steps(scene, one, inbox::count(&told, &one.id))?;
        }
        let mut wakes: BTreeMap<&str, usize> = BTreeMap::new();
        for from in &notes.wakes {
            *wakes.entry(from).or_default() += 1;
        }
        for (from, messages) in wakes {
            let calls = woken::calls(scene, from);
            self.not_woken += messages.saturating_sub(calls);
            if calls > messages {
                self.woken_again.push(format!("{calls} wakes for {messages} messages of {from}"));
            }
        }
        if self.not_woken * 2 > notes.wakes.len() {
            self.woken_again.push(format!(
                "{} of {} were never woken for",
                self.not_woken,
                notes.wakes.len()
            ));
        }
        self.others.clone_from(&notes.wrong);
        Ok(())
    }

    fn check_steps(&mut self, scene: &Scene, one: &Reminder, told: usize) -> Result<()> {
        let track = scene.world.must(LEAD, &["-t", TEAM, "--json", "track", &one.id])?;
        let track: Value = serde_json::from_str(&track.stdout)?;
        let records = track["stages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count = |stage: &str| records.iter().filter(|record| record["stage"] == stage).count();
        let (seen, queued, escalated) = (one.seen, count("queued"), count("escalated"));
        // Nobody knows whether these were made, and so they are not made again.
        let died = |record: &&Value| {
            let what = record["evidence"]["what"].as_str();
            what.is_some_and(|what| what.contains("it may not be written"))
        };
        let unknown = records.iter().filter(died).count();
        self.unknown_offers += unknown;
        let is_seen = (OFFERS.saturating_sub(unknown)..=OFFERS).contains(&seen);
        if !is_seen || [told, queued, escalated] != [1, OFFERS, 1] {
            self.steps.push(format!(
                "{} for {} ({}): {seen} times in its inbox, its lead told {told} times; in the ledger {queued} offers, {escalated} escalations",
                one.text, one.member, one.id
            ));
        }
        Ok(())
    }

    /// Prints it; gives the number of what is wrong.
    pub(super) fn print(&self, scene: &Scene) -> usize {
        let notes = scene.account.notes();
        println!(
            "soak: {} messages of other programs, {} known; {} daemons killed, {} ended",
            notes.messages.len(),
            self.known,
            notes.kills,
            notes.served.len() - notes.kills
        );
        for (code, count) in &notes.tends {
            println!("  tend       exit {code:<7} {count:>7}");
        }
        let rows = [
            ("unknown, though it stood", &self.unknown),
            ("known twice", &self.twice),
            ("wrong stage", &self.stage),
            ("offers and escalations", &self.steps),
            ("woken again", &self.woken_again),
            ("daemons, runners and locks", &self.others),
        ];
        for (name, found) in rows {
            println!("  {name:<34} {:>7}", found.len());
            found.iter().take(EXAMPLES).for_each(|example| println!("      {example}"));
        }
        println!(
            "  not counted as wrong: {} gone before a daemon could see them, which were there beside one for {} ms at most; of {} wakes {} whose runner died over them; {} offers likewise",
            self.too_short.len(),
            self.too_short.iter().max().map_or(0, Duration::as_millis),
            notes.wakes.len(),
            self.not_woken,
            self.unknown_offers
        );
        rows.iter().map(|(_, found)| found.len()).sum()
    }
}

/// For how long a message was there while one daemon served.
fn stood(written: &Written, served: &[(Instant, Instant)]) -> Duration {
    beside_one(written.at, written.drained.into_iter().chain(written.deleted).min(), served)
}

/// For how long one daemon served between two moments.
fn beside_one(from: Instant, to: Option<Instant>, served: &[(Instant, Instant)]) -> Duration {
    let together = |(since, until): &(Instant, Instant)| {
        to.map_or(*until, |to| to.min(*until)).saturating_duration_since(from.max(*since))
    };
    served.iter().map(together).max().unwrap_or_default()
}

/// Why a stage is not true, if it is not.
fn untrue(written: &Written, stage: &str, served: &[(Instant, Instant)]) -> Option<&'static str> {
    match (written.drained, written.deleted) {
        (None, None) if stage != "written" => Some("it is still there"),
        (Some(_), None) if matches!(stage, "accepted" | "written" | "failed") => Some("it was drained"),
        (None, Some(_)) if matches!(stage, "accepted" | "written") => Some("its team is gone"),
        (None, Some(_)) if stage != "failed" => Some("nobody took it"),
        (Some(drained), deleted @ Some(_))
            if stage == "failed" && beside_one(drained, deleted, served) >= MOMENT =>
        {
            Some("it was drained a while before its team was gone")
        }
        _ => None,
    }
}

fn shown(text: &str, written: &Written, notes: &Notes) -> String {
    let after = |at: Option<Instant>| {
        at.map_or_else(
            || "never".to_owned(),
            |at| format!("after {} ms", at.duration_since(written.at).as_millis()),
        )
    };
    format!(
        "{text}: drained {}, deleted {}, {} ms beside one daemon",
        after(written.drained),
        after(written.deleted),
        stood(written, &notes.served).as_millis()
    )
}
