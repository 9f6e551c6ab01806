//! Readers take no locks: whenever they look, they see a whole inbox.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use atm_support::{drafts, wait_until};
use serde_json::Value;

use crate::scene::{array_team, log_team, take};

#[test]
fn a_reader_of_the_file_sees_it_whole_while_we_write() {
    // Old clients let readers see an empty file, and a null in it stops them for good.
    let team = array_team();
    team.mailbox("bob").create().unwrap();
    let done = AtomicBool::new(false);
    let looks = AtomicUsize::new(0);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let inbox = team.inbox("bob");
            let mut most = 0;
            loop {
                let last = done.load(Ordering::Relaxed);
                let bytes = fs::read(&inbox).unwrap();
                let entries: Vec<Value> = serde_json::from_slice(&bytes)
                    .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)));
                assert!(entries.iter().all(Value::is_object));
                assert!(entries.len() >= most, "a message was there and is gone");
                most = entries.len();
                looks.fetch_add(1, Ordering::Relaxed);
                if last {
                    return most;
                }
            }
        });
        let writers: Vec<_> = (0..2)
            .map(|number| {
                let bob = team.mailbox("bob");
                scope.spawn(move || {
                    for draft in drafts(&format!("{number} "), 40) {
                        bob.append(&[draft], false).unwrap();
                        take(&bob, 1);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        wait_until("the reader has looked often", || {
            looks.load(Ordering::Relaxed) > 20 || reader.is_finished()
        });
        done.store(true, Ordering::Relaxed);
        assert_eq!(reader.join().unwrap(), 80);
    });
}

#[test]
fn a_reader_of_the_lines_sees_whole_lines_and_a_whole_cursor_while_we_write() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.create().unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for draft in drafts("m", 60) {
                bob.append(&[draft], false).unwrap();
                take(&bob, 1);
            }
        });
        let (inbox, state) = (team.inbox("bob"), team.inbox("bob").with_file_name("state.json"));
        loop {
            let last = writer.is_finished();
            let text = fs::read_to_string(&inbox).unwrap();
            for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
                serde_json::from_str::<Value>(line).unwrap();
            }
            serde_json::from_slice::<Value>(&fs::read(&state).unwrap()).unwrap();
            if last {
                break;
            }
        }
        writer.join().unwrap();
    });
    assert_eq!(team.texts("bob").len(), 60);
}
