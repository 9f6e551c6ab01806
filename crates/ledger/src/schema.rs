//! The tables, and how older ones become these.

use rusqlite::TransactionBehavior;

use crate::open::turn_log_on;
use crate::seam::Connection;
use crate::steps;

/// Each step makes the next version; a database of version n needs the steps from n on.
const STEPS: &[&str] = &["
CREATE TABLE inboxes (
    id INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    team TEXT NOT NULL,
    name TEXT NOT NULL,
    signature TEXT,
    UNIQUE (root, team, name)
) STRICT;

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    inbox INTEGER NOT NULL REFERENCES inboxes (id),
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    text TEXT NOT NULL,
    summary TEXT,
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
    draft TEXT,
    waiting INTEGER NOT NULL,
    queued INTEGER NOT NULL DEFAULT 0,
    UNIQUE (id, inbox)
) STRICT;

-- What its recipient has not seen: the part that every look at an inbox asks for. A query has to say `rank < 40` in
-- these words to use it.
CREATE INDEX messages_open ON messages (inbox, rank) WHERE rank < 40;
-- What is accepted and not written: the queue.
CREATE INDEX messages_queue ON messages (inbox, seq) WHERE waiting = 1;
CREATE INDEX messages_thread ON messages (thread) WHERE thread IS NOT NULL;
CREATE INDEX messages_reply ON messages (reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX messages_request ON messages (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX messages_ack_by ON messages (ack_by) WHERE ack_by IS NOT NULL;
CREATE INDEX messages_queued ON messages (seq) WHERE queued = 1;
CREATE INDEX messages_ack ON messages (ack_id) WHERE ack_id IS NOT NULL;
CREATE INDEX messages_task ON messages (task) WHERE task IS NOT NULL;
CREATE INDEX messages_sender ON messages (sender, sent_at);
CREATE INDEX messages_time ON messages (sent_at);

CREATE TABLE stages (
    message INTEGER NOT NULL REFERENCES messages (seq),
    rank INTEGER NOT NULL,
    at INTEGER NOT NULL,
    evidence TEXT NOT NULL,
    PRIMARY KEY (message, rank, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE transcripts (
    path TEXT PRIMARY KEY,
    inode INTEGER NOT NULL,
    offset INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The texts stay in `messages`; this holds only the words' places. A search brings it up to date, so that no send
-- pays for it.
CREATE VIRTUAL TABLE words USING fts5 (text, summary, sender, content = 'messages', content_rowid = 'seq');
CREATE TABLE indexed (up_to INTEGER NOT NULL) STRICT;
INSERT INTO indexed (up_to) VALUES (0);
", "
-- Which words there are, for those that are typed in part. The next search fills it, with all words anew.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO words (words) VALUES ('delete-all');
UPDATE indexed SET up_to = 0;
", "
-- Questions that were put to somebody and have no answer.
CREATE INDEX messages_asked ON messages (inbox, kind) WHERE request_id IS NOT NULL AND rank < 60;

-- What was seen to be so of somebody, and when last.
CREATE TABLE presence (
    inbox INTEGER NOT NULL REFERENCES inboxes (id),
    fact TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (inbox, fact)
) STRICT, WITHOUT ROWID;

-- How far a health sweep is with somebody.
CREATE TABLE health (
    inbox INTEGER PRIMARY KEY REFERENCES inboxes (id),
    step TEXT NOT NULL,
    at INTEGER NOT NULL,
    request TEXT,
    tasks TEXT NOT NULL,
    finished INTEGER NOT NULL,
    stalls INTEGER NOT NULL
) STRICT;
", "
-- By the negative of their number, so that the newest come first: the index is walked forward in half the time that it
-- takes backward. It has no texts, as there is no table that has them by that number. The next search fills it.
DROP TABLE words;
CREATE VIRTUAL TABLE words USING fts5 (text, summary, sender, content = '');
UPDATE indexed SET up_to = 0;
", "
-- What came since somebody last looked at messages; `rank` is empty as long as it is not written, and all that is
-- not written is the queue. What is not written and filed is in both tables.
CREATE TABLE arrivals (
    seq INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    team TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    filed INTEGER NOT NULL DEFAULT 0,
    rank INTEGER,
    written_at INTEGER,
    evidence TEXT,
    message TEXT NOT NULL,
    draft TEXT NOT NULL
) STRICT;
INSERT INTO arrivals (root, team, name, id, at, by, filed, message, draft)
    SELECT i.root, i.team, i.name, m.id, m.noticed_at, m.sender, 1, '', m.draft
    FROM messages m JOIN inboxes i ON i.id = m.inbox WHERE m.waiting = 1 AND m.draft IS NOT NULL ORDER BY m.seq;
DROP INDEX messages_queue;
ALTER TABLE messages DROP COLUMN waiting;
", "
-- What stood before a message of ours when it was written, in words of the office; empty if nothing known did. Of old
-- rows, and of what a dead process had written, nobody knows.
ALTER TABLE arrivals ADD COLUMN witnesses TEXT;
ALTER TABLE messages ADD COLUMN witnesses TEXT;
-- It is gone, and nothing shows by whom it was taken.
ALTER TABLE messages ADD COLUMN unproved INTEGER NOT NULL DEFAULT 0;
-- Since when we are about to take it out of its inbox ourselves.
ALTER TABLE messages ADD COLUMN removing_since INTEGER;

-- Equal messages without ids, by the id of the first of them: which numbers stood in the inbox at the last look, and
-- which one is free. Those of which none stands there are kept apart: there are more and more of them.
CREATE TABLE equals (
    inbox INTEGER NOT NULL REFERENCES inboxes (id),
    gone INTEGER NOT NULL,
    id TEXT NOT NULL,
    first INTEGER NOT NULL,
    next INTEGER NOT NULL,
    PRIMARY KEY (inbox, gone, id)
) STRICT, WITHOUT ROWID;
", "
-- Up to where each source of proofs was read, for whose mail, and which occurrences in it have proved a message.
CREATE TABLE sources (
    source TEXT NOT NULL,
    reader TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (source, reader)
) STRICT, WITHOUT ROWID;
INSERT INTO sources (source, reader, position) SELECT inode || ':' || path, '', offset FROM transcripts;
DROP TABLE transcripts;
CREATE TABLE proofs (
    source TEXT NOT NULL,
    position INTEGER NOT NULL,
    entry TEXT,
    message INTEGER NOT NULL REFERENCES messages (seq),
    PRIMARY KEY (source, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX proofs_entry ON proofs (entry) WHERE entry IS NOT NULL;
", steps::TABLE];

/// The version that this code knows.
pub(crate) fn version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the tables up to date; says the version that was found if it is newer than ours.
pub(crate) fn migrate(db: &mut Connection) -> Result<Option<i64>, rusqlite::Error> {
    let found = current(db)?;
    if found >= version() {
        return Ok((found > version()).then_some(found));
    }
    turn_log_on(db)?;
    // Another process may be at it: whoever gets the lock first does it, the others find it done.
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = current(&transaction)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", version())?;
    transaction.commit()?;
    Ok(None)
}

fn current(db: &Connection) -> Result<i64, rusqlite::Error> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}
