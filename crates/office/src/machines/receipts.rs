//! What becomes of mail on its recipient's machine, told to its sender's.

use std::collections::HashMap;

use atm_ledger::{
    Cursor, Event, Evidence, Feed, InboxKey, Kind, Ledger, LedgerError, Received, Recorded, Stage, Stay,
};
use atm_store::Bell;
use atm_wire::{MachineName, Stamp, TeamName};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::outsiders::carried_name;
use super::{Machines, Outgoing, Table};
use crate::error::OfficeError;
use crate::mail::outbox::{as_message, parse_draft};
use crate::trail::effects;

/// What became of a message that came from another machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The message.
    pub id: String,
    /// The team, as it is called where the receipt is made.
    pub team: TeamName,
    /// The recipient, as it is called there.
    pub to: String,
    /// The sender's machine: whom the receipt is for.
    pub for_machine: MachineName,
    /// How far the message came.
    pub stage: Stage,
    /// It failed without ever being written there: if it is rescued later, it has not failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unwritten: bool,
    /// The epoch of the recipient's home under which it is told, as the bridge knows it. What stood in a file under an earlier one
    /// says nothing about the file now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// When.
    pub at: Stamp,
    /// How that is known.
    pub evidence: Evidence,
    /// The log that has the event, 32 hexadecimal digits.
    pub origin: String,
}

/// Whose word a receipt is.
#[derive(Debug, Clone, Copy)]
enum Teller {
    /// The machine's that the message is for.
    TheirMachine,
    /// This one's: the message never got there.
    ThisMachine,
}

impl Machines<'_> {
    /// What became, after a cursor, of mail that came from other machines, at most so many events further, and where the
    /// next ones begin. Without a cursor, or with one of a log that is gone, from the start. Only events of this machine
    /// are told.
    pub fn receipts_since(
        &self,
        cursor: Option<&str>,
        most: usize,
    ) -> Result<(Vec<Receipt>, String), OfficeError> {
        let root = self.office.root_key();
        let told = self.office.books.with(|ledger| {
            let (_, origin) = ledger.identity()?;
            let origin = origin.simple().to_string();
            let from = match cursor.and_then(|cursor| cursor.parse().ok()) {
                Some(cursor) => cursor,
                None => ledger.start()?,
            };
            let (events, next) = events_since(ledger, &from, most)?;
            let mut known_letters: HashMap<(InboxKey, String), Option<(Way, Stay)>> = HashMap::new();
            let mut receipts = Vec::new();
            let is_told = |event: &Event| {
                // What was withdrawn is brought again, and has not failed.
                event.origin == origin && event.new.is_none() && event.kind != Kind::Withdrawn
            };
            for event in events.into_iter().filter(is_told) {
                let (Some(stage), Some(inbox), Some(id)) = (event.kind.stage(), event.inbox, event.message)
                else {
                    continue;
                };
                if inbox.root != root {
                    continue;
                }
                let cursor = &event.cursor;
                let known = (inbox, id);
                let letter = match known_letters.get(&known) {
                    Some(letter) => letter.clone(),
                    None => match ledger.message_in(&known.0, &known.1)? {
                        Some(message) => Way::of(&message).zip(Some(ledger.stay_of(&message)?)),
                        None => None,
                    },
                };
                known_letters.insert(known.clone(), letter.clone());
                let Some((way, stay)) = letter else { continue };
                // A file that the recipient has left, or had before it was away, is not what its sender asks about.
                let is_present = stay.is_here && stay.has(cursor);
                if !is_present && !is_end(stage) {
                    continue;
                }
                let evidence = event.evidence.unwrap_or_else(|| Evidence::certain(stage.as_str()));
                receipts.extend(way.receipt(known, (stage, event.at, evidence), &origin));
            }
            Ok((receipts, next.to_string()))
        })?;
        Ok(told)
    }

    /// All that this machine knows of a message that came from another one.
    pub(super) fn receipts_of(&self, message: &Recorded) -> Result<Vec<Receipt>, OfficeError> {
        let Some(way) = Way::of(message) else { return Ok(Vec::new()) };
        let told = self.office.books.with(|ledger| {
            let origin = ledger.identity()?.1.simple().to_string();
            let stages = ledger.stages_since_accepted(message)?;
            let told = stages.into_iter().filter(|record| record.stage > Stage::Accepted);
            // What was withdrawn once, and written later, has not failed.
            let told = told.filter(|record| record.stage != Stage::Failed || message.stage == Stage::Failed);
            let key = || (message.inbox.clone(), message.id.clone());
            let receipts = told
                .filter_map(|record| way.receipt(key(), (record.stage, record.at, record.evidence), &origin));
            Ok(receipts.collect())
        })?;
        Ok(told)
    }

    /// Records what another machine tells of mail that is for its members; says how much of it was news. Being told
    /// twice, or in another order, changes nothing. What is about other mail is passed over. What is recorded is durable: the other
    /// machine does not tell it again.
    pub fn confirm(&self, from: &MachineName, receipts: &[Receipt]) -> Result<usize, OfficeError> {
        self.record(from, receipts, Teller::TheirMachine)
    }

    /// Records that a letter can never be carried to its machine: it has failed, and this machine says so.
    pub fn give_up(&self, letter: &Outgoing, why: &str) -> Result<(), OfficeError> {
        let receipt = self.receipt_of_failure(letter, why)?;
        self.record(&letter.machine, &[receipt], Teller::ThisMachine).map(drop)
    }

    fn record(&self, from: &MachineName, receipts: &[Receipt], teller: Teller) -> Result<usize, OfficeError> {
        let (office, root) = (self.office, self.office.root_key());
        let now = office.now().as_millis();
        let mut tables: HashMap<&TeamName, Table> = HashMap::new();
        for receipt in receipts {
            tables.entry(&receipt.team).or_insert_with(|| office.table(&receipt.team));
        }
        let (news, is_told) = office.books.with(|ledger| {
            let mut received = Vec::new();
            for receipt in receipts.iter().filter(|receipt| receipt.stage != Stage::Accepted) {
                for message in ledger.find(&root, &receipt.id, false)? {
                    if is_about(ledger, receipt, from, &message, &tables[&receipt.team])? {
                        received.push(receipt.received(from, message, teller));
                    }
                }
            }
            let news = ledger.receive(&received)?;
            let mut count = 0;
            for (told, news) in received.iter().zip(news) {
                count += usize::from(news.is_news);
                // What it answers is answered, now that it is where its recipient reads.
                let is_rescued = news.is_news && told.message.stage == Stage::Failed;
                if (news.has_waited || is_rescued)
                    && told.stage != Stage::Failed
                    && let Some(draft) = ledger.draft_of(&told.message)?.as_deref().and_then(parse_draft)
                {
                    effects::record(ledger, &told.message.inbox, &as_message(&draft), now)?;
                }
            }
            Ok((count, !received.is_empty()))
        })?;
        if news > 0 {
            // Who does not hear it looks again after a while.
            let _ = Bell::of(&office.state).ring();
        }
        if is_told {
            // Also if it is no news: the sync may have failed when it was.
            office.books.with(|ledger| ledger.make_durable())?;
        }
        Ok(news)
    }

    /// The receipt of a letter that cannot be carried, or that the other machine refused: it has failed.
    pub fn receipt_of_failure(&self, letter: &Outgoing, why: &str) -> Result<Receipt, OfficeError> {
        self.failure((&letter.id, &letter.team, &letter.to, &letter.machine), why)
    }

    /// That something has failed here: its id, team, recipient, and the machine to tell.
    pub(super) fn failure(
        &self,
        (id, team, to, machine): (&str, &TeamName, &str, &MachineName),
        why: &str,
    ) -> Result<Receipt, OfficeError> {
        Ok(Receipt {
            id: id.to_owned(),
            team: team.clone(),
            to: to.to_owned(),
            for_machine: machine.clone(),
            stage: Stage::Failed,
            is_unwritten: true,
            epoch: None,
            at: self.office.now(),
            evidence: Evidence::certain(why),
            origin: self.identity()?.origin,
        })
    }
}

impl Receipt {
    /// Whether it stands for good, whichever home tells it: that the message was taken, or taken back. All else is about a file.
    pub fn is_end(&self) -> bool {
        is_end(self.stage)
    }

    fn received(&self, from: &MachineName, message: Recorded, teller: Teller) -> Received {
        let origin = Uuid::parse_str(&self.origin)
            .unwrap_or_else(|_| Uuid::new_v5(&Uuid::NAMESPACE_URL, from.as_str().as_bytes()));
        // The same file, under another epoch, is news to who sent the letter there again.
        let epoch =
            self.epoch.filter(|epoch| *epoch > 1).map(|epoch| format!(" {epoch}")).unwrap_or_default();
        let event = format!("{} {} {} {}{epoch}", self.id, self.to, self.stage, self.at.as_millis());
        Received {
            message,
            stage: self.stage,
            is_unwritten: self.is_unwritten,
            at: self.at.as_millis(),
            // Which machine says so is what its signature says, and nothing in the receipt.
            evidence: match teller {
                Teller::TheirMachine => self.evidence.clone().on_machine(from.as_str()),
                Teller::ThisMachine => self.evidence.clone(),
            },
            origin: (origin, Uuid::new_v5(&origin, event.as_bytes())),
        }
    }
}

/// Whether a receipt is about a message, and from the machine that the message is for. The former home of a member that moved
/// tells what was taken there; all that it tells of its file says nothing about the new one.
fn is_about(
    ledger: &Ledger,
    receipt: &Receipt,
    from: &MachineName,
    message: &Recorded,
    table: &Table,
) -> Result<bool, LedgerError> {
    let InboxKey { team, name, .. } = &message.inbox;
    if *team != receipt.team.as_str() || (*name != receipt.to && *name != from.qualify(&receipt.to)) {
        return Ok(false);
    }
    let homes = ledger.homes_of(message)?;
    let is_from = |home: &Option<String>| home.as_deref() == Some(from.as_str());
    let Some(current) = homes.last() else { return Ok(false) };
    // One that was sent a moment before the move was known here is carried to the new home all the same.
    let is_current = is_from(current) || (current.is_some() && table.machine_of(name) == Some(from));
    Ok(is_current || (receipt.is_end() && homes.iter().any(is_from)))
}

fn is_end(stage: Stage) -> bool {
    matches!(stage, Stage::Taken | Stage::Seen | Stage::Acked | Stage::Done | Stage::Recalled)
}

/// The way that a message came here from another machine.
#[derive(Debug, Clone)]
struct Way {
    machine: MachineName,
    /// The team that carried it, if its recipient is of another one.
    team: Option<String>,
}

impl Way {
    fn of(message: &Recorded) -> Option<Self> {
        let machine = MachineName::parse(message.machine.as_deref()?).ok()?;
        Some(Self { machine, team: message.origin.clone() })
    }

    /// What became of the message, in the names that it was carried under.
    fn receipt(
        &self,
        (inbox, id): (InboxKey, String),
        (stage, at, evidence): (Stage, i64, Evidence),
        origin: &str,
    ) -> Option<Receipt> {
        let (team, to) = match &self.team {
            Some(team) => (team.as_str(), carried_name(&inbox.name, &inbox.team)),
            None => (inbox.team.as_str(), inbox.name),
        };
        let (team, at) = (TeamName::parse(team).ok()?, Stamp::from_millis(at));
        let (for_machine, origin) = (self.machine.clone(), origin.to_owned());
        Some(Receipt {
            id,
            team,
            to,
            for_machine,
            stage,
            is_unwritten: false,
            epoch: None,
            at,
            evidence,
            origin,
        })
    }
}

fn events_since(ledger: &Ledger, from: &Cursor, most: usize) -> Result<(Vec<Event>, Cursor), LedgerError> {
    Ok(match ledger.events_since(from, most)? {
        Feed::Events { events, cursor } => (events, cursor),
        Feed::Reset { .. } => match ledger.events_since(&ledger.start()?, most)? {
            Feed::Events { events, cursor } => (events, cursor),
            Feed::Reset { cursor } => (Vec::new(), cursor),
        },
    })
}
