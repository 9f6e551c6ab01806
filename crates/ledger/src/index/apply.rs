//! What an event changes in the index. The result depends on the events alone: applied again from the first one, they
//! give the same tables.

mod handover;

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Row, params};

use crate::log::event::{Body, Incarnation, Kind, Past, PastStage, RootId};
use crate::row::NewMessage;
use crate::seam::Connection;
use crate::stage::{Evidence, Stage, Sure, WITHDRAWN};
use crate::tasks::TaskChange;

/// Kinds of mail that a sweep sends in the lead's name, whichever process runs it: they say nothing about the lead.
const OF_SWEEPS: [&str; 2] = ["health_check", "stall_alert"];
const HEARTBEAT: &str = "heartbeat";

/// An event as it stands in the log.
pub(crate) struct Stored {
    seq: i64,
    at: i64,
    kind: Kind,
    root: Option<RootId>,
    team: Option<String>,
    member: Option<String>,
    message: Option<String>,
    evidence: Option<String>,
    body: Option<String>,
    incarnation: Incarnation,
}

impl Stored {
    pub(crate) fn from_row(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            at: row.get(2)?,
            kind: Kind::from_code(row.get(3)?),
            root: row.get(4)?,
            team: row.get(5)?,
            member: row.get(6)?,
            message: row.get(7)?,
            evidence: row.get(8)?,
            body: row.get(9)?,
            incarnation: Incarnation::from_text(row.get_ref(10)?.as_str_or_null()?),
        })
    }

    fn evidence(&self) -> Evidence {
        Evidence::from_json(self.evidence.as_deref().unwrap_or_default())
    }

    /// The stages that an older ledger had of the message.
    fn past_stages(&self) -> Vec<PastStage> {
        serde_json::from_str(self.evidence.as_deref().unwrap_or("[]")).unwrap_or_default()
    }

    /// What it brings. A body that we cannot read must not keep all other events from being applied.
    fn bring(&self, id: &str) -> Body {
        let text = self.body.as_deref().unwrap_or_default();
        Body::from_json(text).unwrap_or_else(|| Body {
            message: NewMessage {
                id: id.to_owned(),
                sender: self.evidence().by.unwrap_or_default(),
                text: text.to_owned(),
                kind: "message".to_owned(),
                sent_at: self.at,
                ..NewMessage::default()
            },
            ..Body::default()
        })
    }
}

/// Applies events to an index.
pub(crate) struct Applier<'a> {
    index: &'a Connection,
    /// Team and inbox, by what they are called.
    inboxes: HashMap<(RootId, String, Incarnation, String), Inbox>,
}

/// A team by what it is called, and which of those it is.
type TeamKey<'k> = (RootId, &'k str, Incarnation);

#[derive(Clone, Copy)]
struct Inbox {
    team: i64,
    number: i64,
}

/// A stage that a message reached.
struct Reached {
    message: i64,
    inbox: i64,
    rank: i64,
    at: i64,
    event: i64,
    part: Option<i64>,
    is_bound: bool,
    /// It is about a frame that the message is in.
    is_frame: bool,
}

impl Reached {
    fn new(event: &Stored, inbox: Inbox, message: i64, rank: i64) -> Self {
        let is_bound = event.evidence.is_some() && event.evidence().no_later_than;
        Self {
            message,
            inbox: inbox.number,
            rank,
            at: event.at,
            event: event.seq,
            part: None,
            is_bound,
            is_frame: false,
        }
    }
}

impl<'a> Applier<'a> {
    pub(crate) fn new(index: &'a Connection) -> Self {
        Self { index, inboxes: HashMap::new() }
    }

    pub(crate) fn apply(&mut self, event: &Stored) -> rusqlite::Result<()> {
        let (Some(root), Some(team), Some(member), Some(id)) =
            (event.root, event.team.as_deref(), event.member.as_deref(), event.message.as_deref())
        else {
            return match event.kind {
                Kind::Task => self.apply_task(event),
                Kind::Presence => self.apply_state(event),
                Kind::HandedOver => self.apply_handover(event),
                Kind::Pushed => self.apply_push(event),
                _ => Ok(()),
            };
        };
        let team = (root, team, event.incarnation);
        let inbox = self.inbox(team, member)?;
        if matches!(event.kind, Kind::Accepted | Kind::Noticed | Kind::History) {
            return self.bring(event, inbox, id);
        }
        let Some(message) = self.number_of(inbox.number, id)? else { return Ok(()) };
        match event.kind {
            Kind::Moved => {
                let to = self.inbox(team, event.body.as_deref().unwrap_or_default())?;
                self.index
                    .prepare_cached("UPDATE OR IGNORE messages SET inbox = ?2, team = ?3 WHERE seq = ?1")?
                    .execute(params![message, to.number, to.team])
                    .map(drop)
            }
            Kind::Removing => self.note_removal(message, Some(event.at), false),
            Kind::Recalling => self.note_removal(message, Some(event.at), true),
            Kind::Kept => self.note_removal(message, None, false),
            // What was done about a message is shown beside its stages, and is none.
            Kind::Woken => self.put(&Reached::new(event, inbox, message, Stage::Written.rank())),
            Kind::Archived => self.archive(event, inbox, message),
            Kind::Recalled => {
                self.note_removal(message, Some(event.at), true)?;
                self.reach(event, inbox, message, Stage::Recalled.rank())
            }
            Kind::Withdrawn => self.reach(event, inbox, message, WITHDRAWN),
            kind => match kind.stage() {
                Some(stage) => {
                    self.reach(event, inbox, message, stage.rank())?;
                    self.set_witnesses(event, message)
                }
                None => Ok(()),
            },
        }
    }

    /// A message, perhaps one that is known: it failed before, or was found in its inbox.
    fn bring(&mut self, event: &Stored, inbox: Inbox, id: &str) -> rusqlite::Result<()> {
        let body = event.bring(id);
        let past = (event.kind == Kind::History).then(|| body.past.clone().unwrap_or_default());
        let is_accepted = event.kind == Kind::Accepted;
        let is_new = self.insert(event, inbox, id, &body, past.as_ref())?;
        let message = if is_new { Some(event.seq) } else { self.number_of(inbox.number, id)? };
        let Some(message) = message else { return Ok(()) };
        if is_accepted && !is_new {
            // What came from another machine is sent on by that one: here stays what was known of it.
            let is_ours = body.message.machine.is_none();
            self.begin_anew(message, body.message.home.is_some() && is_ours)?;
            self.index
                .prepare_cached("UPDATE messages SET ours = 1, draft = ?2, elsewhere = ?3 WHERE seq = ?1")?
                .execute(params![message, event.seq, body.message.home.is_some()])?;
            self.revive(message)?;
        }
        if past.is_some() {
            return if is_new { self.bring_past(event, inbox.number, message) } else { Ok(()) };
        }
        if is_accepted || is_new {
            let rank = if is_accepted { Stage::Accepted } else { Stage::Written }.rank();
            self.put(&Reached::new(event, inbox, message, rank))?;
        }
        Ok(())
    }

    /// A message is accepted for another file than before: what was told of that one says nothing about this. Its recipient has come
    /// here, or goes to another machine.
    fn begin_anew(&self, message: i64, goes_away: bool) -> rusqlite::Result<()> {
        self.index
            .prepare_cached(
                "UPDATE messages SET rank = ?2, witnesses = NULL, removing_since = NULL, recalling = 0, queued = 0
                 WHERE seq = ?1 AND (elsewhere OR ?4) AND rank < ?3",
            )?
            .execute(params![message, Stage::Accepted.rank(), Stage::Taken.rank(), goes_away])
            .map(drop)
    }

    fn bring_past(&self, event: &Stored, inbox: i64, message: i64) -> rusqlite::Result<()> {
        for (part, (stage, at, evidence)) in (0..).zip(&event.past_stages()) {
            let (rank, at, event, is_bound) = (stage.rank(), *at, event.seq, evidence.no_later_than);
            let reached =
                Reached { message, inbox, rank, at, event, part: Some(part), is_bound, is_frame: false };
            self.put(&reached)?;
            self.note_taking(&reached, evidence)?;
            if evidence.archived {
                self.note_archive(message)?;
            }
        }
        Ok(())
    }

    /// Puts a message in, unless that inbox has this id; says whether it did.
    fn insert(
        &self,
        event: &Stored,
        inbox: Inbox,
        id: &str,
        body: &Body,
        past: Option<&Past>,
    ) -> rusqlite::Result<bool> {
        let new = &body.message;
        let rank = match (past, event.kind) {
            (Some(past), _) => past.rank(|| event.past_stages()),
            (None, Kind::Accepted) => Stage::Accepted.rank(),
            (None, _) => Stage::Written.rank(),
        };
        let is_ours = past.map_or(event.kind == Kind::Accepted, |past| past.ours);
        let mut insert = self.index.prepare_cached(
            "INSERT INTO messages (seq, inbox, team, id, sender, kind, sent_at, noticed_at, ours, rank, reply_to, thread,
                 request_id, ack_id, ack_by, task, origin, draft, unproved, witnesses, removing_since, elsewhere)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
             ON CONFLICT (id, inbox) DO NOTHING",
        )?;
        let added = insert.execute(params![
            event.seq,
            inbox.number,
            inbox.team,
            id,
            new.sender,
            new.kind,
            new.sent_at,
            body.noticed_at.unwrap_or(event.at),
            is_ours,
            rank,
            new.reply_to,
            new.thread,
            new.request_id,
            new.ack_id,
            new.ack_by,
            new.task,
            new.origin,
            (!body.draft.is_empty()).then_some(event.seq),
            past.is_some_and(|past| past.unproved),
            past.and_then(|past| past.witnesses.as_deref()),
            past.and_then(|past| past.removing_since),
            new.home.is_some(),
        ])?;
        if added > 0 {
            self.note_speaker(inbox.team, new, event.seq)?;
        }
        Ok(added > 0)
    }

    fn note_speaker(&self, team: i64, new: &NewMessage, seq: i64) -> rusqlite::Result<()> {
        let says = !OF_SWEEPS.contains(&new.kind.as_str());
        let said = says.then_some((new.sent_at, seq));
        self.index
            .prepare_cached(
                "INSERT INTO speakers (team, name, last_at, last, said_at, said, heartbeat)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (team, name) DO UPDATE SET
                     last = iif(excluded.last_at >= last_at, excluded.last, last),
                     last_at = max(last_at, excluded.last_at),
                     said = iif(excluded.said_at >= coalesce(said_at, excluded.said_at), excluded.said, said),
                     said_at = coalesce(max(said_at, excluded.said_at), said_at, excluded.said_at),
                     heartbeat = coalesce(max(heartbeat, excluded.heartbeat), heartbeat, excluded.heartbeat)",
            )?
            .execute(params![
                team,
                new.sender,
                new.sent_at,
                seq,
                said.map(|(at, _)| at),
                said.map(|(_, seq)| seq),
                (new.kind == HEARTBEAT).then_some(new.sent_at)
            ])
            .map(drop)
    }

    /// Takes a message that is accepted again out of the stages in which it failed.
    fn revive(&self, message: i64) -> rusqlite::Result<()> {
        self.index
            .prepare_cached(
                "UPDATE messages SET removing_since = NULL, recalling = 0, rank = (SELECT coalesce(max(s.rank), ?2) FROM stages s
                     WHERE s.message = ?1 AND s.rank NOT IN (12, 36, 37, 38))
                 WHERE seq = ?1 AND rank IN (12, 36, 37, 38)",
            )?
            .execute(params![message, Stage::Accepted.rank()])
            .map(drop)
    }

    /// Puts a stage down, and moves the message there if it was not further already.
    fn reach(&self, event: &Stored, inbox: Inbox, message: i64, rank: i64) -> rusqlite::Result<()> {
        let evidence = event.evidence();
        let reached = Reached::new(event, inbox, message, rank);
        self.put(&reached)?;
        self.note_taking(&reached, &evidence)?;
        self.index
            .prepare_cached(
                "UPDATE messages SET rank = max(rank, ?2), unproved = unproved OR ?3 WHERE seq = ?1",
            )?
            .execute(params![message, rank, evidence.unproved])
            .map(drop)
    }

    fn archive(&self, event: &Stored, inbox: Inbox, message: i64) -> rusqlite::Result<()> {
        let stage: Stage = event.body.as_deref().and_then(|name| name.parse().ok()).unwrap_or(Stage::Written);
        let rank = stage.rank();
        self.put(&Reached::new(event, inbox, message, rank))?;
        self.note_archive(message)?;
        self.index
            .prepare_cached("UPDATE messages SET rank = max(rank, ?2) WHERE seq = ?1")?
            .execute([message, rank])
            .map(drop)
    }

    fn note_archive(&self, message: i64) -> rusqlite::Result<()> {
        self.index
            .prepare_cached("UPDATE messages SET archived = 1 WHERE seq = ?1")?
            .execute([message])
            .map(drop)
    }

    /// One stage at one time has one evidence; frames are told beside it. What was so before the message was accepted again, and is
    /// told once more, is so since then, too.
    fn put(&self, reached: &Reached) -> rusqlite::Result<()> {
        let Reached { message, rank, at, event, part, is_bound, is_frame, .. } = reached;
        let frame = if *is_frame { *event } else { 0 };
        self.index
            .prepare_cached(
                "INSERT INTO stages (message, rank, at, event, part, bound, frame) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT DO UPDATE SET event = excluded.event
                     WHERE event < (SELECT coalesce(draft, 0) FROM messages WHERE seq = ?1)",
            )?
            .execute(params![message, rank, at, event, part, is_bound, frame])?;
        if *rank == Stage::Queued.rank() {
            self.index.prepare_cached("UPDATE messages SET queued = 1 WHERE seq = ?1")?.execute([message])?;
        }
        Ok(())
    }

    /// Archiving is done by others, so it says nothing about the owner of the inbox; nor does what was so before anybody
    /// looked.
    fn note_taking(&self, reached: &Reached, evidence: &Evidence) -> rusqlite::Result<()> {
        let is_taking = reached.rank == Stage::Taken.rank();
        let is_old = evidence.no_later_than || evidence.what.starts_with(Evidence::FOUND);
        if evidence.archived || is_old || !(is_taking || reached.rank == Stage::Seen.rank()) {
            return Ok(());
        }
        let surely = (is_taking && evidence.sure == Sure::Certain).then_some(reached.at);
        self.index
            .prepare_cached(
                "UPDATE inboxes SET took = max(coalesce(took, ?2), ?2),
                     took_surely = coalesce(max(took_surely, ?3), took_surely, ?3) WHERE id = ?1",
            )?
            .execute(params![reached.inbox, reached.at, surely])
            .map(drop)
    }

    fn set_witnesses(&self, event: &Stored, message: i64) -> rusqlite::Result<()> {
        if let (Kind::Written | Kind::Restored, Some(witnesses)) = (event.kind, &event.body) {
            self.index
                .prepare_cached("UPDATE messages SET witnesses = ?2 WHERE seq = ?1")?
                .execute(params![message, witnesses])?;
        }
        Ok(())
    }

    fn note_removal(&self, message: i64, since: Option<i64>, recalling: bool) -> rusqlite::Result<()> {
        self.index
            .prepare_cached("UPDATE messages SET removing_since = ?2, recalling = ?3 WHERE seq = ?1")?
            .execute(params![message, since, recalling])
            .map(drop)
    }

    fn number_of(&self, inbox: i64, id: &str) -> rusqlite::Result<Option<i64>> {
        number_of(self.index, inbox, id)
    }

    fn inbox(&mut self, team: TeamKey<'_>, member: &str) -> rusqlite::Result<Inbox> {
        let (root, name, incarnation) = team;
        let key = (root, name.to_owned(), incarnation, member.to_owned());
        if let Some(known) = self.inboxes.get(&key) {
            return Ok(*known);
        }
        let team = self.team(team)?;
        let number = self.find_or_make("inboxes", &["team", "name"], params![team, member])?;
        let inbox = Inbox { team, number };
        self.inboxes.insert(key, inbox);
        Ok(inbox)
    }

    fn team(&self, (root, team, incarnation): TeamKey<'_>) -> rusqlite::Result<i64> {
        let columns = ["root", "team", "incarnation"];
        self.find_or_make("teams", &columns, params![root, team, incarnation.0])
    }

    fn find_or_make(
        &self,
        table: &str,
        columns: &[&str],
        values: &[&dyn rusqlite::ToSql],
    ) -> rusqlite::Result<i64> {
        let matches = (1..).zip(columns).map(|(number, column)| format!("{column} = ?{number}"));
        let matches = matches.collect::<Vec<_>>().join(" AND ");
        let found = self
            .index
            .prepare_cached(&format!("SELECT id FROM {table} WHERE {matches}"))?
            .query_row(values, |row| row.get(0))
            .optional()?;
        let marks = (1..=columns.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        let columns = columns.join(", ");
        match found {
            Some(id) => Ok(id),
            None => self
                .index
                .prepare_cached(&format!("INSERT INTO {table} ({columns}) VALUES ({marks})"))?
                .insert(values),
        }
    }

    fn apply_state(&self, event: &Stored) -> rusqlite::Result<()> {
        let (Some(root), Some(team), Some(member)) = (event.root, &event.team, &event.member) else {
            return Ok(());
        };
        let team = self.team((root, team, event.incarnation))?;
        self.index
            .prepare_cached("INSERT OR IGNORE INTO states (team, member, event) VALUES (?1, ?2, ?3)")?
            .execute(params![team, member, event.seq])
            .map(drop)
    }

    fn apply_task(&self, event: &Stored) -> rusqlite::Result<()> {
        let (Some(root), Some(name)) = (event.root, event.team.as_deref()) else { return Ok(()) };
        let Some(change) = event.body.as_deref().and_then(TaskChange::from_json) else { return Ok(()) };
        let team = self.team((root, name, event.incarnation))?;
        match change.now {
            Some(state) => self
                .index
                .prepare_cached("INSERT OR REPLACE INTO tasks (team, task, state) VALUES (?1, ?2, ?3)")?
                .execute(params![team, change.task, state]),
            None => self
                .index
                .prepare_cached("DELETE FROM tasks WHERE team = ?1 AND task = ?2")?
                .execute(params![team, change.task]),
        }
        .map(drop)
    }
}

/// The number of a message.
pub(crate) fn number_of(index: &Connection, inbox: i64, id: &str) -> rusqlite::Result<Option<i64>> {
    index
        .prepare_cached("SELECT seq FROM messages WHERE id = ?2 AND inbox = ?1")?
        .query_row(params![inbox, id], |row| row.get(0))
        .optional()
}
