//! Mail for other machines: accepted here, and carried by a bridge.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use atm_ledger::{Fate, InboxKey, Recorded, Stage, Undelivered};
use atm_store::{Bell, interrupt};
use atm_wire::{Draft, MachineName, Stamp, TeamName};

use super::outsiders::carried_name;
use super::{Home, Machines, Table};
use crate::error::OfficeError;
use crate::mail::outbox::{parse_draft, render_draft};
use crate::office::Office;

/// How often a sender that waits for another machine asks: at first, and at most.
const ASK_EVERY: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// Bytes of letters that are read together: the page ends soon behind them.
const MOST_BYTES: usize = 4 << 20;

/// A letter that is accepted for another machine, and that this one does not know to be written.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Its number: it grows from letter to letter within one epoch of the log, with gaps.
    pub n: i64,
    /// Its id.
    pub id: String,
    /// The team, as it is called here.
    pub team: TeamName,
    /// The recipient, as it is called on its machine.
    pub to: String,
    /// What the recipient is called here.
    pub called: String,
    /// The recipient's home.
    pub machine: MachineName,
    /// It was accepted for a member here, which is at home there now: it has to be sent on before those behind it.
    pub is_left_here: bool,
    /// Whether that machine is known to have such a member, or that it is for another one than the member that is registered.
    pub is_listed: bool,
    /// The sender, as it is called here: in the team, or with its own team's name.
    pub from: String,
    /// All that it takes to write it there.
    pub letter: String,
    /// When it was accepted.
    pub accepted_at: Stamp,
}

impl Machines<'_> {
    /// What waits for other machines, after a number, in the order in which it was accepted, at most so many, and fewer where they
    /// are large. None: there is no more. All of it survives a power cut: its sender may be about to see to that, and a number that
    /// was published and is given to another letter afterwards would make that one a replay for its recipient.
    pub fn outgoing(&self, after: i64, most: usize) -> Result<Vec<Outgoing>, OfficeError> {
        let office = self.office;
        if !office.books.exist() {
            return Ok(Vec::new());
        }
        let root = office.root_key();
        let mut tables: HashMap<String, Table> = HashMap::new();
        let mut homes: HashMap<InboxKey, Option<MachineName>> = HashMap::new();
        let (mut found, mut last): (Vec<Outgoing>, i64) = (Vec::new(), after);
        let mut bytes = 0;
        // What waits for members of this machine stands between, for a moment.
        while found.len() < most && bytes < MOST_BYTES {
            let part = office.books.with(|ledger| ledger.undelivered(&root, last, most))?;
            let Some(end) = part.last().map(|row| row.number) else { break };
            last = end;
            for row in part {
                let Ok(team) = TeamName::parse(&row.inbox.team) else { continue };
                let table = tables.entry(row.inbox.team.clone()).or_insert_with(|| office.table(&team));
                let Some(draft) = parse_draft(&row.draft) else { continue };
                let home = match &draft.home {
                    Some(home) => Some(home.clone()),
                    None => homes
                        .entry(row.inbox.clone())
                        .or_insert_with(|| self.left_for(&team, table, &row.inbox.name))
                        .clone(),
                };
                let Some(home) = home else { continue };
                bytes += row.draft.len();
                found.push(outgoing(row, (draft, home), team, table));
            }
        }
        found.truncate(most);
        if let Some(last) = found.last() {
            office.books.with(|ledger| ledger.make_durable_upto(last.n))?;
        }
        Ok(found)
    }

    /// What a letter waits for that another machine has not confirmed; nothing if it is none.
    pub(crate) fn waits_for(&self, message: &Recorded) -> Result<Option<String>, OfficeError> {
        let office = self.office;
        let InboxKey { team, name, .. } = &message.inbox;
        let Ok(team) = TeamName::parse(team) else { return Ok(None) };
        let is_waiting = || office.books.with(|ledger| ledger.is_waiting(&message.inbox, &message.id));
        if office.went_to(message)?.is_none() || !is_waiting()? {
            return Ok(None);
        }
        Ok(Some(match office.table(&team).machine_of(name) {
            _ if !self.is_served() => "a bridge: none runs here".to_owned(),
            Some(machine) => format!("machine {machine} to confirm it"),
            None => format!("a machine that has {name}: none that was heard from lists it"),
        }))
    }

    /// The home of somebody who was a member here, if mail that was accepted for it has to go there.
    fn left_for(&self, team: &TeamName, table: &Table, name: &str) -> Option<MachineName> {
        match (!table.is_empty()).then(|| self.home_by(team, name, || table)) {
            Some(Ok(Home::Machine(machine))) => Some(machine),
            _ => None,
        }
    }

    /// Which of these numbers are of letters that still wait for another machine.
    pub fn still_outgoing(&self, numbers: &[i64]) -> Result<HashSet<i64>, OfficeError> {
        Ok(self.office.books.with(|ledger| ledger.still_undelivered(numbers))?)
    }
}

/// What waits, as a letter for another machine. A member that moved since is found at its new home.
fn outgoing(
    row: Undelivered,
    (draft, home): (Draft, MachineName),
    team: TeamName,
    table: &Table,
) -> Outgoing {
    let to = home.unqualify(&row.inbox.name).to_owned();
    let machine = table.machine_of(&row.inbox.name).cloned().unwrap_or(home);
    Outgoing {
        n: row.number,
        id: row.id,
        team,
        is_left_here: draft.home.is_none(),
        is_listed: table.lists(&to, &machine) || table.has_another(&to, &machine),
        to,
        called: row.inbox.name,
        machine,
        from: sender(&draft),
        letter: render_draft(&Draft { home: None, ..draft }),
        accepted_at: Stamp::from_millis(row.at),
    }
}

/// Who a letter is from, within the team that carries it.
fn sender(draft: &Draft) -> String {
    match &draft.ours.origin {
        Some(team) => carried_name(&draft.from, team),
        None => draft.from.clone(),
    }
}

impl Office {
    /// Waits, as long as a bridge runs and a little time allows, until other machines have told what became of letters.
    pub(crate) fn await_machines(&self, letters: &[(InboxKey, String)]) {
        if letters.is_empty() || !self.machines().is_served() {
            return;
        }
        // A bridge that does not hear it looks again after a while.
        let _ = Bell::of(&self.state).ring();
        let deadline = Instant::now() + self.machine_patience;
        let mut pause = ASK_EVERY.0;
        let waits = |(inbox, id): &(InboxKey, String)| {
            let fate = self.books.with(|ledger| ledger.fate(inbox, id));
            fate.is_ok_and(|fate| fate == Fate::Waiting)
        };
        while letters.iter().any(waits) && Instant::now() < deadline && !interrupt::is_requested() {
            thread::sleep(pause);
            pause = (pause * 2).min(ASK_EVERY.1);
        }
    }

    /// How far a letter for another machine came, and what that machine said where it refused it.
    pub(crate) fn told_of(&self, inbox: &InboxKey, id: &str) -> Result<(Stage, Option<String>), OfficeError> {
        Ok(self.books.with(|ledger| {
            let Some(message) = ledger.message_in(inbox, id)? else { return Ok((Stage::Accepted, None)) };
            if message.stage != Stage::Failed {
                return Ok((message.stage, None));
            }
            let stages = ledger.stages(&message)?;
            let why = stages.into_iter().rev().find(|record| record.stage == Stage::Failed);
            Ok((Stage::Failed, why.map(|record| record.evidence.what)))
        })?)
    }
}
