//! Ledgers of every version that there was, made with the definitions that those versions had.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::take_over_history;
use crate::index::Amount;
use crate::log::feed::Feed;
use crate::log::schema;
use crate::proofs::Source;
use crate::{Acceptance, Evidence, Fate, InboxKey, Ledger, LedgerError, NewMessage, Query, Stage, StepKey};

/// Each makes the next version.
const STEPS: [&str; 8] = [
    include_str!("../../tests/fixtures/ledger/1.sql"),
    include_str!("../../tests/fixtures/ledger/2.sql"),
    include_str!("../../tests/fixtures/ledger/3.sql"),
    include_str!("../../tests/fixtures/ledger/4.sql"),
    include_str!("../../tests/fixtures/ledger/5.sql"),
    include_str!("../../tests/fixtures/ledger/6.sql"),
    include_str!("../../tests/fixtures/ledger/7.sql"),
    include_str!("../../tests/fixtures/ledger/8.sql"),
];

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    /// With a ledger of some version.
    fn with(version: usize, messages: i64) -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        let mut old = Connection::open(desk.old()).unwrap();
        old.pragma_update(None, "journal_mode", "WAL").unwrap();
        for step in &STEPS[..version] {
            old.execute_batch(step).unwrap();
        }
        old.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
        let filling = old.transaction().unwrap();
        fill(&filling, version, messages);
        filling.commit().unwrap();
        desk
    }

    fn old(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log.db")
    }

    fn open(&self) -> Ledger {
        Ledger::open(&self.log()).unwrap()
    }
}

fn bob() -> InboxKey {
    InboxKey { root: "/shared".into(), team: "demo".into(), name: "bob".into() }
}

fn evidence(what: &str) -> String {
    Evidence::certain(what).to_json()
}

/// One message that is done, one that is archived, one that failed; as many that are seen; one that waits.
fn fill(old: &Connection, version: usize, messages: i64) {
    old.execute_batch(
        "INSERT INTO inboxes (id, root, team, name, signature) VALUES (1, '/shared', 'demo', 'bob', 'sig')",
    )
    .unwrap();
    let has_waiting_column = version < 5;
    let waiting = if has_waiting_column { ", waiting" } else { "" };
    let put = |id: &str, rank: i64, draft: Option<&str>, waits: bool| {
        let value = if has_waiting_column { format!(", {}", i64::from(waits)) } else { String::new() };
        let sql = format!(
            "INSERT INTO messages (inbox, id, sender, text, summary, kind, sent_at, noticed_at, ours, rank, thread, draft{waiting})
             VALUES (1, ?1, 'alice', 'the text of ' || ?1, 'short', 'message', 5, 6, ?2, ?3, 'th', ?4{value})"
        );
        old.prepare_cached(&sql).unwrap().insert(params![id, draft.is_some(), rank, draft]).unwrap()
    };
    let stage = |message: i64, rank: i64, at: i64, evidence: String| {
        old.prepare_cached("INSERT INTO stages (message, rank, at, evidence) VALUES (?1, ?2, ?3, ?4)")
            .unwrap()
            .execute(params![message, rank, at, evidence])
            .unwrap();
    };
    let done = put("done", 60, Some("{\"text\":\"the text of done\"}"), false);
    stage(done, 10, 6, evidence("accepted by atm"));
    stage(done, 20, 7, evidence("written into the inbox"));
    stage(done, 60, 9, evidence("answered"));
    let archived = put("archived", 30, None, false);
    stage(archived, 30, 8, evidence("archived: its reader had it"));
    let failed = put("failed", 90, None, false);
    stage(failed, 90, 8, evidence("the team's folder was deleted"));
    for number in 0..messages {
        let message = put(&format!("m{number}"), 40, None, false);
        stage(message, 40, 10 + number, evidence("in the conversation"));
    }
    if has_waiting_column {
        let waits = put("waits", 10, Some("draft of waits"), true);
        stage(waits, 10, 6, evidence("accepted by atm"));
    } else {
        old.execute_batch(
            "INSERT INTO arrivals (root, team, name, id, at, by, message, draft)
                 VALUES ('/shared', 'demo', 'bob', 'waits', 6, 'alice',
                         '{\"id\":\"waits\",\"sender\":\"alice\",\"text\":\"hi\",\"kind\":\"message\"}', 'draft of waits');
             INSERT INTO arrivals (root, team, name, id, at, by, message, draft, rank, written_at, evidence)
                 VALUES ('/shared', 'demo', 'bob', 'unfiled', 6, 'alice',
                         '{\"id\":\"unfiled\",\"sender\":\"alice\",\"text\":\"not filed\",\"kind\":\"message\"}', 'd', 22, 7,
                         '{\"what\":\"written\",\"sure\":\"certain\"}');",
        )
        .unwrap();
    }
    if version >= 3 {
        old.execute_batch(
            "INSERT INTO presence (inbox, fact, at) VALUES (1, 'signs', 3);
             INSERT INTO health (inbox, step, at, request, tasks, finished, stalls) VALUES (1, 'stalled', 4, NULL, '', 1, 2);",
        )
        .unwrap();
    }
    if version >= 6 {
        old.execute_batch(
            "INSERT INTO equals (inbox, gone, id, first, next) VALUES (1, 0, 'x', 1, 3);
             UPDATE messages SET witnesses = 'w1' WHERE id = 'done';",
        )
        .unwrap();
    }
    if version < 7 {
        old.execute_batch("INSERT INTO transcripts (path, inode, offset) VALUES ('/p/s.jsonl', 7, 70)")
            .unwrap();
    } else {
        old.execute_batch(
            "INSERT INTO sources (source, reader, position) VALUES ('7:/p/s.jsonl', 'demo' || char(10) || 'bob' || char(10) || '/shared', 70);
             INSERT INTO proofs (source, position, entry, message) VALUES ('7:/p/s.jsonl', 10, 'e1', 1);",
        )
        .unwrap();
    }
    if version >= 8 {
        old.execute_batch(
            "INSERT INTO steps (root, team, chore, subject, number, state, boot, pid, start, taken_at, what)
                 VALUES ('/shared', 'demo', 'offer', 'm', 1, 'unknown', 'b', 1, 's', 5, 'offer m')",
        )
        .unwrap();
    }
}

fn stages(ledger: &Ledger, id: &str) -> Vec<(Stage, i64)> {
    let found = &ledger.find("/shared", id, false).unwrap()[0];
    ledger.stages(found).unwrap().iter().map(|record| (record.stage, record.at)).collect()
}

#[test]
fn every_version_goes_on_as_before() {
    for version in 1..=STEPS.len() {
        let desk = Desk::with(version, 3);
        let mut ledger = desk.open();
        let cursor = ledger.cursor().unwrap();
        assert_eq!(
            ledger.waiting(&bob()).unwrap(),
            [("waits".to_owned(), "draft of waits".to_owned())],
            "{version}"
        );
        assert_eq!(ledger.positions(&bob(), &[Source::file(Path::new("/p/s.jsonl"), 7)]).unwrap(), [70]);
        assert_eq!(ledger.signature(&bob()).unwrap().as_deref(), Some("sig"));

        let stage = |id: &str| ledger.find("/shared", id, false).unwrap()[0].stage;
        assert_eq!(stage("done"), Stage::Done);
        assert_eq!(stages(&ledger, "done"), [(Stage::Accepted, 6), (Stage::Written, 7), (Stage::Done, 9)]);
        assert_eq!(stage("failed"), Stage::Failed);
        assert_eq!(stage("m2"), Stage::Seen);
        assert_eq!(stage("waits"), Stage::Accepted);
        assert!(
            ledger.is_archived(&bob(), "archived").unwrap() && !ledger.is_archived(&bob(), "m1").unwrap()
        );
        assert_eq!(ledger.draft(&bob(), "done").unwrap().as_deref(), Some("{\"text\":\"the text of done\"}"));
        let done = &ledger.find("/shared", "done", false).unwrap()[0];
        assert_eq!((done.text.as_str(), done.summary.as_deref()), ("the text of done", Some("short")));
        assert_eq!((done.thread.as_deref(), done.noticed_at, done.ours), (Some("th"), 6, true));
        assert_eq!(ledger.traces(&bob()).unwrap().took, Some(12));
        if version >= 3 {
            assert_eq!(ledger.fact(&bob(), "signs").unwrap(), Some(3));
            assert_eq!(ledger.health(&bob()).unwrap().unwrap().stalls, 2);
        }
        if version >= 5 {
            assert_eq!(
                stages(&ledger, "unfiled"),
                [(Stage::Accepted, 6), (Stage::Written, 7), (Stage::Queued, 7)]
            );
        }
        if version >= 6 {
            assert_eq!(ledger.equals(&bob(), &[]).unwrap()["x"], (1, 3));
        }
        if version >= 8 {
            let (root, team, chore) = ("/shared".into(), "demo".into(), "offer".into());
            let key = StepKey { root, team, chore, subject: "m".into(), number: 1 };
            assert_eq!(ledger.step(&key).unwrap().unwrap().what, "offer m");
        }
        let query = Query { words: "text".into(), root: "/shared".into(), limit: 10, ..Query::default() };
        assert_eq!(ledger.search(&query).unwrap().len(), if version < 5 { 7 } else { 6 }, "{version}");

        // None of it is an event of the feed; what happens from now on is.
        let written = [("waits".to_owned(), Stage::Written)];
        ledger.written(&bob(), &written, 20, &Evidence::certain("renamed"), None).unwrap();
        assert_eq!(stages(&ledger, "waits"), [(Stage::Accepted, 6), (Stage::Written, 20)]);
        let Feed::Events { events, .. } = ledger.events_since(&cursor, 10).unwrap() else { panic!("reset") };
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].message.as_deref(), events[0].inbox.clone()), (Some("waits"), Some(bob())));
    }
}

#[test]
fn an_older_process_that_still_runs_fails_loudly() {
    let desk = Desk::with(STEPS.len(), 1);
    let running = Connection::open(desk.old()).unwrap();
    let send = "INSERT INTO arrivals (root, team, name, id, at, by, message, draft) VALUES ('', '', '', 'x', 1, '', '', '')";
    let mut prepared = running.prepare(send).unwrap();
    prepared.execute([]).unwrap();
    drop(desk.open());
    let error = prepared.execute([]).unwrap_err().to_string();
    assert!(error.contains("no such table"), "{error}");
    // Nor does it take a step that somebody else takes, or note what it read.
    for table in ["steps", "sources", "proofs", "equals"] {
        let error = running.execute(&format!("DELETE FROM {table}"), []).unwrap_err().to_string();
        assert!(error.contains("no such table"), "{error}");
    }
    let version: i64 = running.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert!(version > 100, "one that opens it finds a version that it does not know");
}

/// It made a ledger of its own, and what it wrote there was in no history.
#[test]
fn an_older_process_that_comes_after_the_log_fails_loudly() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.db");
    let version = |name: &str| -> i64 {
        let db = Connection::open(folder.path().join(name)).unwrap();
        db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    drop(Ledger::open(&log).unwrap());
    assert_eq!(version("ledger.db"), super::SEALED, "older versions refuse it");
    // There is nothing in it that could be taken over, or be lost.
    for name in ["log.db", "log.db-wal", "log.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(name));
    }
    let ledger = Ledger::open(&log).unwrap();
    assert_eq!((ledger.count().unwrap(), ledger.has_lost_history().unwrap()), (0, false));
    assert!(!ledger.is_written_beside().unwrap());
    // Beside a log that was made without a seal, it is noticed at least.
    std::fs::remove_file(folder.path().join("ledger.db")).unwrap();
    assert!(!ledger.is_written_beside().unwrap());
    let old = Connection::open(folder.path().join("ledger.db")).unwrap();
    old.pragma_update(None, "user_version", 9).unwrap();
    assert!(ledger.is_written_beside().unwrap());
}

#[test]
fn a_takeover_goes_on_where_it_was_killed_while_mail_flows() {
    let desk = Desk::with(STEPS.len(), 5_000);
    let mut count = 0;
    let mut send = || {
        let mut ledger = desk.open();
        let id = format!("new{count}");
        let message = NewMessage { id: id.clone(), kind: "message".into(), ..NewMessage::default() };
        let accepted = Acceptance { inbox: bob(), message, is_new: true, draft: "draft".into() };
        ledger.accept(&[accepted], 100, "test").unwrap();
        assert_eq!(ledger.fate(&bob(), &id).unwrap(), Fate::Waiting);
        ledger.written(&bob(), &[(id, Stage::Written)], 101, &Evidence::certain("renamed"), None).unwrap();
        count += 1;
    };
    send();
    let mut parts = 0;
    loop {
        // A new process each time, of which the last one died after one part.
        let log = schema::open(&desk.log()).unwrap();
        parts += 1;
        if take_over_history(&log, Amount::Slice).unwrap() {
            break;
        }
        send();
        assert!(!desk.folder.path().join("index.db").exists(), "a send needs nothing but the log");
    }
    assert_eq!(parts, 4, "three with messages, and one that finds no more");
    let ledger = desk.open();
    assert_eq!(ledger.count().unwrap(), 5_000 + 3 + 1 + 1 + count);
    assert_eq!(stages(&ledger, "m4999"), [(Stage::Seen, 5_009)]);
    assert_eq!(stages(&ledger, "new0"), [(Stage::Accepted, 100), (Stage::Written, 101)]);
}

#[test]
fn one_that_died_before_the_log_was_made_is_followed_by_another() {
    let desk = Desk::with(STEPS.len(), 1);
    drop(super::seal(&desk.log()).unwrap());
    assert_eq!(desk.open().waiting(&bob()).unwrap().len(), 1);
    // Should the log be lost, nothing of the old queue is written a second time.
    for name in ["log.db", "log.db-wal", "log.db-shm"] {
        let _ = std::fs::remove_file(desk.folder.path().join(name));
    }
    let ledger = desk.open();
    assert!(ledger.waiting(&bob()).unwrap().is_empty());
    assert_eq!(ledger.find("/shared", "done", false).unwrap().len(), 1);
}

#[test]
fn what_was_seen_before_it_expired_or_failed_was_seen() {
    let desk = Desk::with(STEPS.len(), 1);
    let add = "INSERT INTO stages (message, rank, at, evidence)
                   SELECT seq, 40, 7, '' FROM messages WHERE id = 'failed';
               INSERT INTO stages (message, rank, at, evidence)
                   SELECT seq, 90, 3, '' FROM messages WHERE id = 'archived'";
    Connection::open(desk.old()).unwrap().execute_batch(add).unwrap();
    let ledger = desk.open();
    let stage = |id: &str| ledger.find("/shared", id, false).unwrap()[0].stage;
    assert_eq!(stage("failed"), Stage::Seen);
    assert_eq!(stage("archived"), Stage::Taken, "it failed once, and was sent again");
}

#[test]
fn a_seal_that_left_tables_open_is_completed() {
    let desk = Desk::with(STEPS.len(), 1);
    let old = Connection::open(desk.old()).unwrap();
    for table in ["inboxes", "messages", "stages", "arrivals"] {
        old.execute_batch(&format!("ALTER TABLE {table} RENAME TO sealed_{table}")).unwrap();
    }
    old.pragma_update(None, "user_version", 1_000).unwrap();
    let ledger = desk.open();
    assert_eq!(ledger.equals(&bob(), &[]).unwrap()["x"], (1, 3));
    assert_eq!(ledger.count().unwrap(), 6);
    assert!(old.execute("DELETE FROM steps", []).is_err());
}

#[test]
fn a_seal_that_a_power_cut_took_is_put_again() {
    let desk = Desk::with(STEPS.len(), 1);
    let sealed_by_none = std::fs::read(desk.old()).unwrap();
    let wal = desk.folder.path().join("ledger.db-wal");
    let unsealed = std::fs::read(&wal).ok();
    drop(desk.open());
    // Nothing of what the takeover wrote into the old file came to the disk.
    std::fs::write(desk.old(), sealed_by_none).unwrap();
    let _ = std::fs::remove_file(desk.folder.path().join("ledger.db-shm"));
    match unsealed {
        Some(bytes) => std::fs::write(&wal, bytes).unwrap(),
        None => std::fs::remove_file(&wal).unwrap(),
    }
    let ledger = desk.open();
    assert_eq!(stages(&ledger, "m0"), [(Stage::Seen, 10)]);
    assert_eq!(ledger.waiting(&bob()).unwrap().len(), 1);
    let old = Connection::open(desk.old()).unwrap();
    let version: i64 = old.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, super::SEALED);
}

#[test]
fn damage_in_the_old_file_costs_what_was_not_taken_and_nothing_else() {
    for damage in ["", "this is no database, and it is long enough to be looked at", "no tables"] {
        let desk = Desk::with(STEPS.len(), 5_000);
        let log = schema::open(&desk.log()).unwrap();
        assert!(!take_over_history(&log, Amount::Slice).unwrap());
        drop(log);
        if damage == "no tables" {
            Connection::open(desk.old()).unwrap().execute_batch("DROP TABLE sealed_stages").unwrap();
        } else {
            for name in ["ledger.db-wal", "ledger.db-shm"] {
                let _ = std::fs::remove_file(desk.folder.path().join(name));
            }
            std::fs::write(desk.old(), damage).unwrap();
        }
        for _ in 0..2 {
            let ledger = desk.open();
            assert_eq!(ledger.check().unwrap(), None, "{damage}");
            assert_eq!(ledger.find("/shared", "m0", false).unwrap().len(), 1);
            assert!(ledger.find("/shared", "m4999", false).unwrap().is_empty());
            assert_eq!(ledger.waiting(&bob()).unwrap().len(), 1);
            assert_eq!(ledger.has_lost_history().unwrap(), !damage.is_empty(), "{damage}");
        }
    }
}

#[test]
fn a_damaged_ledger_is_an_error_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    std::fs::write(&path, "this is not a database, and it is long enough to be looked at").unwrap();
    let Err(error) = Ledger::open(&folder.path().join("log.db")) else { panic!("opened") };
    assert!(error.is_damage() && error.to_string().contains("ledger.db"), "{error}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("this is not"));
    assert!(matches!(Ledger::open(&folder.path().join("log.db")), Err(LedgerError::Database { .. })));
}
