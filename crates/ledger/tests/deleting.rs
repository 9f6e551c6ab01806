//! `index.db` may be deleted at any time, with or without what belongs to it, while other processes are at work.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use atm_ledger::{Acceptance, Evidence, InboxKey, Ledger, NewMessage, Stage};

const WRITERS: usize = 3;
const EACH: usize = 60;

/// One who writes, asks what it wrote, and opens the ledger anew now and then, as other processes do.
fn work(path: &Path, who: usize) {
    let bob = InboxKey { root: "/shared".into(), team: "demo".into(), name: format!("bob-{who}") };
    let mut ledger = Ledger::open(path).unwrap();
    for number in 0..EACH {
        if number % 7 == 0 {
            drop(std::mem::replace(&mut ledger, Ledger::open(path).unwrap()));
        }
        let id = format!("m-{who}-{number}");
        let message = NewMessage { id: id.clone(), kind: "message".into(), ..NewMessage::default() };
        let accepted = Acceptance { inbox: bob.clone(), message, is_new: number % 2 == 0, draft: "d".into() };
        ledger.accept(&[accepted], 1, "test").unwrap();
        let evidence = Evidence::certain("renamed");
        ledger.written(&bob, &[(id.clone(), Stage::Written)], 2, &evidence, None).unwrap();
        assert!(ledger.has_reached(&bob, &id, Stage::Written).unwrap(), "{id}");
        let open = ledger.known(&bob, Stage::Accepted, Stage::Seen).unwrap();
        assert_eq!(open.len(), number + 1, "{id}");
    }
}

#[test]
fn while_others_write_and_ask() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    drop(Ledger::open(&path).unwrap());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WRITERS)
            .map(|who| {
                let path = path.clone();
                scope.spawn(move || work(&path, who))
            })
            .collect();
        scope.spawn(|| {
            let sets: [&[&str]; 3] =
                [&["index.db"], &["index.db", "index.db-wal", "index.db-shm"], &["index.db-wal", "index.db"]];
            for set in sets.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                for name in *set {
                    let _ = fs::remove_file(folder.path().join(name));
                }
                thread::sleep(Duration::from_millis(3));
            }
        });
        let ended: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    });
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.count().unwrap(), (WRITERS * EACH) as u64);
    assert_eq!(ledger.check().unwrap(), None);
}
