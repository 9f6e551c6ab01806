//! Where the index cannot be brought up to date, nobody gets an answer that was true before.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use atm_ledger::{Acceptance, Fate, InboxKey, Ledger, NewMessage};

fn inbox() -> InboxKey {
    InboxKey { root: "/shared".into(), team: "demo".into(), name: "bob".into() }
}

fn acceptance(id: &str, is_new: bool) -> Acceptance {
    let message = NewMessage { id: id.into(), kind: "message".into(), ..NewMessage::default() };
    Acceptance { inbox: inbox(), message, is_new, draft: "draft".into() }
}

/// A ledger whose index lacks the last message.
fn lagging(folder: &Path) -> PathBuf {
    let path = folder.join("log.db");
    let mut ledger = Ledger::open(&path).unwrap();
    ledger.accept(&[acceptance("first", true)], 1, "alice").unwrap();
    assert_eq!(ledger.count().unwrap(), 1);
    ledger.accept(&[acceptance("second", true)], 2, "alice").unwrap();
    path
}

#[test]
fn an_index_that_another_process_keeps_is_an_error_and_no_old_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = lagging(folder.path());
    let other = rusqlite::Connection::open(folder.path().join("index.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut ledger = Ledger::open(&path).unwrap();
    assert!(ledger.count().unwrap_err().is_busy());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ledger.count().unwrap(), 2);
    assert_eq!(ledger.accept(&[acceptance("second", false)], 3, "alice").unwrap(), ["second"]);
}

#[test]
fn an_index_that_may_not_be_written_is_no_source_of_old_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = lagging(folder.path());
    let index = folder.path().join("index.db");
    fs::set_permissions(&index, fs::Permissions::from_mode(0o400)).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.count().unwrap(), 2);
    assert_eq!(ledger.fate(&inbox(), "second").unwrap(), Fate::Waiting);
}
