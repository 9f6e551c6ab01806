//! Letters whose recipient has another home now.
//!
//! A letter that is sent on is accepted again: its new event has the new home, and its number is that of the log's end, so that
//! letters that are sent on together keep their order among each other. What the former home told before stays on record.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::params;

use crate::arrivals::{stop_waiting, wait, waiting_numbers};
use crate::error::LedgerError;
use crate::index::View;
use crate::log::append::append;
use crate::log::event::{Body, Key, Kind, NewEvent};
use crate::log::feed::Cursor;
use crate::lookup::{Recorded, StageRecord, stages_since, text_of};
use crate::open::Ledger;
use crate::record::{find_inbox, find_team};
use crate::row::{InboxKey, NewMessage};
use crate::stage::{Evidence, Stage};

/// A letter that goes to another home.
#[derive(Debug, Clone)]
pub struct SentOn {
    /// The letter, as it was found.
    pub message: Recorded,
    /// What its recipient is called here from now on.
    pub name: String,
    /// Its new home; none: that is here.
    pub home: Option<String>,
    /// All that it takes to write it.
    pub draft: String,
    /// Whether it waits here to be written or carried. What came from another machine is sent on by that one.
    pub waits: bool,
    /// Whether it was found waiting to be written here: if it is not any more, somebody wrote it meanwhile.
    pub was_waiting: bool,
}

/// Since when a message is where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// The event by which it was accepted last.
    accepted: i64,
    /// It was accepted for this machine: it has not left with its recipient.
    pub is_here: bool,
}

impl Stay {
    /// Whether an event, by the cursor behind it, is about it as it is since then. What was so before is of an earlier stay of its recipient.
    pub fn has(&self, event: &Cursor) -> bool {
        event.seq() > self.accepted
    }
}

impl Recorded {
    /// Its place in the log: messages with higher ones came later.
    pub fn number(&self) -> i64 {
        self.seq
    }
}

impl Ledger {
    /// What was accepted for a recipient on another machine, and is not known to be taken there, in the order of the log.
    pub fn untaken_elsewhere(&self, inbox: &InboxKey) -> Result<Vec<Recorded>, LedgerError> {
        let place =
            |view: &View<'_>| Ok(find_team(view, &inbox.root, &inbox.team)?.zip(find_inbox(view, inbox)?));
        let Some((team, number)) = self.read(place)? else { return Ok(Vec::new()) };
        let condition = "m.team = ?2 AND m.inbox = ?3 AND m.elsewhere = 1 AND m.rank >= ?4 AND m.rank < ?5 ORDER BY m.seq";
        let ranks = (Stage::Accepted.rank(), Stage::Taken.rank());
        // What was withdrawn has a rank between.
        let mut found = self.select(&inbox.root, condition, &[&team, &number, &ranks.0, &ranks.1])?;
        found.retain(|message| message.stage != Stage::Failed);
        Ok(found)
    }

    /// The homes that a message was accepted for, the last one behind; none: that was here.
    pub fn homes_of(&self, message: &Recorded) -> Result<Vec<Option<String>>, LedgerError> {
        self.read(|view| {
            let mut ask = view
                .index
                .prepare_cached("SELECT event FROM stages WHERE message = ?1 AND rank = ?2 ORDER BY event")?;
            let events = ask.query_map(params![message.seq, Stage::Accepted.rank()], |row| row.get(0))?;
            let events = events.collect::<rusqlite::Result<Vec<i64>>>()?;
            let mut homes = Vec::new();
            for event in events {
                homes.push(text_of(view.log, event)?.home);
            }
            Ok(homes)
        })
    }

    /// Since when a message is where it is.
    pub fn stay_of(&self, message: &Recorded) -> Result<Stay, LedgerError> {
        self.read(|view| {
            view.index
                .prepare_cached("SELECT coalesce(draft, 0), elsewhere FROM messages WHERE seq = ?1")?
                .query_row([message.seq], |row| {
                    Ok(Stay { accepted: row.get(0)?, is_here: !row.get::<_, bool>(1)? })
                })
        })
    }

    /// How far a message came since it was accepted last, oldest first.
    pub fn stages_since_accepted(&self, message: &Recorded) -> Result<Vec<StageRecord>, LedgerError> {
        let since = self.stay_of(message)?.accepted;
        self.read(|view| stages_since(view, message.seq, since))
    }

    /// The number of the last event.
    pub fn last_number(&self) -> Result<i64, LedgerError> {
        let ask = || -> rusqlite::Result<i64> {
            self.log
                .db
                .prepare_cached("SELECT coalesce(max(seq), 0) FROM events")?
                .query_row([], |row| row.get(0))
        };
        ask().map_err(|source| self.failed(source))
    }

    /// Sends letters on, all of them or none, in their order. One that waited for its former home waits for that no more. Says whether
    /// that is done: it is not if one of these inboxes has got mail since a number, when the letters were looked for, or if one of
    /// them was written since. That mail would have a lower number than those before it, and this one would be written twice.
    pub fn send_on(
        &mut self,
        letters: &[SentOn],
        (inboxes, since): (&[InboxKey], i64),
        now: i64,
        evidence: &Evidence,
    ) -> Result<bool, LedgerError> {
        let evidence = evidence.to_json();
        self.append(|log| {
            for inbox in inboxes {
                if let Some(key) = inbox.key(log)?
                    && waiting_numbers(log, key)?.values().any(|number| *number > since)
                {
                    return Ok(false);
                }
            }
            let mut waiting = HashMap::new();
            for letter in letters {
                let inbox = &letter.message.inbox;
                if let Entry::Vacant(vacant) = waiting.entry(inbox)
                    && let Some(key) = inbox.key(log)?
                {
                    vacant.insert(waiting_numbers(log, key)?);
                }
            }
            let number_of = |letter: &SentOn| {
                waiting.get(&letter.message.inbox)?.get(letter.message.id.as_str()).copied()
            };
            if letters.iter().any(|letter| letter.was_waiting && number_of(letter).is_none()) {
                return Ok(false);
            }
            for letter in letters {
                let (from, id) = (&letter.message.inbox, letter.message.id.as_str());
                let Some(key) = from.key(log)? else { continue };
                if let Some(number) = number_of(letter) {
                    stop_waiting(log, number)?;
                }
                let there = Key { member: &letter.name, ..key };
                if from.name != letter.name {
                    let moved = NewEvent::of(Kind::Moved, now, key, id).evidence(&evidence);
                    append(log, &moved.body(Some(&letter.name)))?;
                }
                let new = NewMessage { home: letter.home.clone(), ..text_of(log, letter.message.seq)? };
                let body = Body::new(&new, Some(&letter.draft)).to_json();
                let event = NewEvent::of(Kind::Accepted, now, there, id).evidence(&evidence);
                let seq = append(log, &event.body(Some(&body)))?;
                if letter.waits {
                    wait(log, seq, there, id)?;
                }
            }
            Ok(true)
        })
    }
}
