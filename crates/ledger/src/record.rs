//! Recording how far a message came.

use rusqlite::{OptionalExtension, params};

use crate::arrivals::draft_in;
use crate::error::LedgerError;
use crate::index::View;
use crate::index::apply::number_of;
use crate::log::append::{Appender, append, incarnation, root_id};
use crate::log::event::{Key, Kind, NewEvent};
use crate::lookup::Recorded;
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

impl Ledger {
    /// All that it takes to write a message again, if we wrote it.
    pub fn draft(&self, inbox: &InboxKey, id: &str) -> Result<Option<String>, LedgerError> {
        self.read(|view| match find_message(view, inbox, id)? {
            Some(message) => draft_of(view, message),
            None => Ok(None),
        })
    }

    /// Messages that are in another inbox of the same team now, with their history; one that the other inbox has already
    /// stays.
    pub fn redirect(
        &mut self,
        from: &InboxKey,
        to: &InboxKey,
        ids: &[String],
        now: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        let movable = self.read(|view| {
            let mut movable = Vec::new();
            for id in ids {
                let is_there = find_message(view, to, id)?.is_some();
                if let Some(message) = find_message(view, from, id)?
                    && !is_there
                    && rank_of(view.index, message)? > Stage::Accepted.rank()
                {
                    movable.push(id.as_str());
                }
            }
            Ok(movable)
        })?;
        let evidence = evidence.to_json();
        self.append(|log| {
            let Some(key) = from.key(log)? else { return Ok(()) };
            let there = Key { member: &to.name, ..key };
            for id in &movable {
                append(
                    log,
                    &NewEvent::of(Kind::Moved, now, key, id).evidence(&evidence).body(Some(&to.name)),
                )?;
                append(log, &NewEvent::of(Kind::Kept, now, there, id))?;
                append(log, &NewEvent::of(Kind::Written, now, there, id).evidence(&evidence))?;
            }
            Ok(())
        })
    }

    /// How far a message came, if there is such a message.
    pub fn stage_of(&self, inbox: &InboxKey, id: &str) -> Result<Option<Stage>, LedgerError> {
        self.read(|view| match find_message(view, inbox, id)? {
            Some(message) => rank_of(view.index, message).map(|rank| Some(Stage::from_rank(rank))),
            None => Ok(None),
        })
    }

    /// Records a stage of a message, if there is such a message.
    pub fn advance(
        &mut self,
        inbox: &InboxKey,
        id: &str,
        stage: Stage,
        at: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        self.note(inbox, id, Kind::from(stage), at, evidence)
    }

    /// Records how far messages came, all of them or none, and does not ask the index. What was found in an earlier team of the
    /// same name, or in a ledger that was replaced since, is passed over.
    pub fn advance_all(
        &mut self,
        reached: &[(Recorded, Stage, Evidence)],
        at: i64,
    ) -> Result<(), LedgerError> {
        if reached.is_empty() {
            return Ok(());
        }
        self.append(|log| {
            for (message, stage, evidence) in reached {
                let (kind, evidence) = (Kind::from(*stage), evidence.to_json());
                if let Some(key) = message.inbox.key(log)?
                    && is_of(log, message, key)?
                {
                    append(log, &NewEvent::of(kind, at, key, &message.id).evidence(&evidence))?;
                }
            }
            Ok(())
        })
    }

    /// Records something that happened to a message, if there is such a message.
    pub fn note(
        &mut self,
        inbox: &InboxKey,
        id: &str,
        kind: Kind,
        at: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        if self.read(|view| find_message(view, inbox, id))?.is_none() {
            return Ok(());
        }
        let evidence = evidence.to_json();
        self.append(|log| {
            let Some(key) = inbox.key(log)? else { return Ok(()) };
            append(log, &NewEvent::of(kind, at, key, id).evidence(&evidence)).map(drop)
        })
    }
}

/// Whether the log has a message that was found, as one of the team that has its name now.
fn is_of(log: &Connection, message: &Recorded, key: Key<'_>) -> rusqlite::Result<bool> {
    log.prepare_cached("SELECT 1 FROM events WHERE seq = ?1 AND message = ?2 AND incarnation IS ?3")?
        .exists(params![message.seq, message.id, key.incarnation.text()])
}

/// Appends that a message reached a stage.
pub(crate) fn append_stage(
    log: &mut Appender<'_>,
    key: Key<'_>,
    id: &str,
    (stage, evidence): (Stage, &Evidence),
    at: i64,
) -> rusqlite::Result<()> {
    let kind = if evidence.archived { Kind::Archived } else { Kind::from(stage) };
    let body = evidence.archived.then_some(stage.as_str());
    log.append_with(&NewEvent::of(kind, at, key, id).body(body), evidence).map(drop)
}

/// The number of an inbox in the index.
pub(crate) fn find_inbox(view: &View<'_>, inbox: &InboxKey) -> rusqlite::Result<Option<i64>> {
    let Some(root) = root_id(view.log, &inbox.root)? else { return Ok(None) };
    view.index
        .prepare_cached(
            "SELECT i.id FROM inboxes i JOIN teams t ON t.id = i.team
             WHERE t.root = ?1 AND t.team = ?2 AND t.incarnation = ?3 AND i.name = ?4",
        )?
        .query_row(
            params![root, inbox.team, incarnation(view.log, root, &inbox.team)?.0, inbox.name],
            |row| row.get(0),
        )
        .optional()
}

/// The number in the index of the team that has a name now, or had it last.
pub(crate) fn find_team(view: &View<'_>, root: &str, team: &str) -> rusqlite::Result<Option<i64>> {
    let Some(root) = root_id(view.log, root)? else { return Ok(None) };
    view.index
        .prepare_cached("SELECT id FROM teams WHERE root = ?1 AND team = ?2 AND incarnation = ?3")?
        .query_row(params![root, team, incarnation(view.log, root, team)?.0], |row| row.get(0))
        .optional()
}

/// The number of a message in the index.
pub(crate) fn find_message(view: &View<'_>, inbox: &InboxKey, id: &str) -> rusqlite::Result<Option<i64>> {
    match find_inbox(view, inbox)? {
        Some(inbox) => number_of(view.index, inbox, id),
        None => Ok(None),
    }
}

/// Whether a message ever reached a stage.
pub(crate) fn has_reached(index: &Connection, message: i64, stage: Stage) -> rusqlite::Result<bool> {
    has_rank(index, message, stage.rank())
}

/// Whether a message ever had a rank: there are two of `failed`.
pub(crate) fn has_rank(index: &Connection, message: i64, rank: i64) -> rusqlite::Result<bool> {
    index
        .prepare_cached("SELECT 1 FROM stages WHERE message = ?1 AND rank = ?2")?
        .exists(params![message, rank])
}

fn rank_of(index: &Connection, message: i64) -> rusqlite::Result<i64> {
    index.prepare_cached("SELECT rank FROM messages WHERE seq = ?1")?.query_row([message], |row| row.get(0))
}

/// The draft of a message of ours.
pub(crate) fn draft_of(view: &View<'_>, message: i64) -> rusqlite::Result<Option<String>> {
    let event: Option<i64> = view
        .index
        .prepare_cached("SELECT draft FROM messages WHERE seq = ?1")?
        .query_row([message], |row| row.get(0))?;
    match event {
        Some(event) => body_of(view.log, event).map(draft_in),
        None => Ok(None),
    }
}

/// The body of an event.
pub(crate) fn body_of(log: &Connection, event: i64) -> rusqlite::Result<Option<String>> {
    let body: Option<Option<String>> = log
        .prepare_cached("SELECT body FROM events WHERE seq = ?1")?
        .query_row([event], |row| row.get(0))
        .optional()?;
    Ok(body.flatten())
}
