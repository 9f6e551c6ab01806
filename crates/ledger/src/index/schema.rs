//! The tables of `index.db`: answers, made from the log. They may be deleted.

use rusqlite::TransactionBehavior;

use crate::database::{Database, turn_wal_on, version};
use crate::seam::Transaction;

/// An index of another version is made anew.
pub(crate) const VERSION: i64 = 8;

const TABLES: &str = "
-- One row: the log that this was made from, the last event applied, and the last message whose words are indexed.
CREATE TABLE applied (epoch BLOB, seq INTEGER NOT NULL, id BLOB, words INTEGER NOT NULL) STRICT;
INSERT INTO applied (seq, words) VALUES (0, 0);

-- Several teams may have had a name, one after the other: each is its own.
CREATE TABLE teams (
    id INTEGER PRIMARY KEY,
    root BLOB NOT NULL,
    team TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    UNIQUE (root, team, incarnation)
) STRICT;

-- `took`: when its owner last took mail or had some in its conversation; `took_surely`: last took, known for certain.
CREATE TABLE inboxes (
    id INTEGER PRIMARY KEY,
    team INTEGER NOT NULL,
    name TEXT NOT NULL,
    took INTEGER,
    took_surely INTEGER,
    UNIQUE (team, name)
) STRICT;

-- The last that somebody said within a team, without what sweeps say in the lead's name in `said`.
CREATE TABLE speakers (
    team INTEGER NOT NULL,
    name TEXT NOT NULL,
    last_at INTEGER NOT NULL,
    last INTEGER NOT NULL,
    said_at INTEGER,
    said INTEGER,
    heartbeat INTEGER,
    PRIMARY KEY (team, name)
) STRICT, WITHOUT ROWID;

-- By the number of the event that brought the message, which has its text; `draft` is the event with its draft.
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    inbox INTEGER NOT NULL,
    team INTEGER NOT NULL,
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    kind TEXT NOT NULL,
    sent_at INTEGER NOT NULL,
    noticed_at INTEGER NOT NULL,
    ours INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    reply_to TEXT,
    thread TEXT,
    request_id TEXT,
    ack_id TEXT,
    ack_by INTEGER,
    task TEXT,
    origin TEXT,
    draft INTEGER,
    queued INTEGER NOT NULL DEFAULT 0,
    unproved INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    witnesses TEXT,
    removing_since INTEGER,
    -- It is its sender who takes it out.
    recalling INTEGER NOT NULL DEFAULT 0,
    -- Its recipient's home is another machine: nothing is judged by files here.
    elsewhere INTEGER NOT NULL DEFAULT 0,
    -- Its recipient, who is here, has not seen it, and may.
    open INTEGER AS (rank < 40 AND rank NOT IN (12, 36, 37) AND NOT elsewhere) VIRTUAL,
    -- It asks something that has no answer.
    asked INTEGER AS (request_id IS NOT NULL AND rank < 60 AND rank NOT IN (12, 36, 37, 38)) VIRTUAL,
    -- It waits whatever the time is: see `Ledger::pending`.
    waits INTEGER AS (rank < 50 AND rank NOT IN (12, 36, 37, 38) AND (
        ack_by IS NOT NULL OR queued OR (rank = 30 AND unproved) OR (rank < 40 AND rank NOT IN (20, 30)))) VIRTUAL,
    UNIQUE (id, inbox)
) STRICT;

CREATE INDEX messages_open ON messages (inbox, rank) WHERE open = 1;
CREATE INDEX messages_waits ON messages (team) WHERE waits = 1;
CREATE INDEX messages_taken ON messages (team, noticed_at) WHERE rank = 30;
CREATE INDEX messages_asked ON messages (inbox, kind) WHERE asked = 1;
CREATE INDEX messages_requests ON messages (team, kind) WHERE request_id IS NOT NULL;
CREATE INDEX messages_request ON messages (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX messages_thread ON messages (thread) WHERE thread IS NOT NULL;
CREATE INDEX messages_reply ON messages (reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX messages_ack ON messages (ack_id) WHERE ack_id IS NOT NULL;
CREATE INDEX messages_task ON messages (task) WHERE task IS NOT NULL;
CREATE INDEX messages_team ON messages (team);
CREATE INDEX messages_sender ON messages (team, sender, sent_at);
CREATE INDEX messages_time ON messages (sent_at);

-- The tasks of a team as they were last recorded, in the office's own words.
CREATE TABLE tasks (
    team INTEGER NOT NULL,
    task TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (team, task)
) STRICT, WITHOUT ROWID;

-- The states that members were recorded in, by the number of the event.
CREATE TABLE states (
    team INTEGER NOT NULL,
    member TEXT NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (team, member, event)
) STRICT, WITHOUT ROWID;

-- The frames that were given to clients, by the event that lists what is in each.
CREATE TABLE frames (frame TEXT PRIMARY KEY, event INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- `event` has the evidence; in history, `part` says which of them it is. `bound`: it was then or earlier. `frame` is the event of a
-- frame, and 0 elsewhere: a frame is told beside what else happened in its millisecond.
CREATE TABLE stages (
    message INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event INTEGER NOT NULL,
    part INTEGER,
    bound INTEGER NOT NULL,
    frame INTEGER NOT NULL,
    PRIMARY KEY (message, rank, at, frame)
) STRICT, WITHOUT ROWID;

-- By the negative of their number, so that the newest come first: the index is walked forward in half the time that it
-- takes backward. It has no texts.
CREATE VIRTUAL TABLE words USING fts5 (text, summary, sender, content = '');
-- Which words there are, for those that are typed in part.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
";

/// Makes the tables where there are none; says whether they are those of this version.
pub(crate) fn make(index: &Database) -> rusqlite::Result<bool> {
    let found = index.version()?;
    if found != 0 {
        return Ok(found == VERSION);
    }
    turn_wal_on(&index.db)?;
    let transaction = Transaction::new_unchecked(&index.db, TransactionBehavior::Immediate)?;
    // Another process may have made them meanwhile.
    if version(&transaction)? == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(index.version()? == VERSION)
}
