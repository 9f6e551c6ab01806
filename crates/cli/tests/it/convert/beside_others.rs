//! Conversions of a team that others write to, each in the way it knows.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use atm_store::Layout;
use atm_support::Foreign;

use crate::scene::{World, foreign_team, texts};

/// Converts there and back again while `work` goes on; at the end everything that it sent is there, once.
fn assert_all_is_there(world: &World, work: impl FnOnce() -> Vec<String> + Send) {
    let done = AtomicBool::new(false);
    let sent = AtomicUsize::new(0);
    let (others, ours) = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut texts = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let text = format!("ours {}", sent.fetch_add(1, Ordering::Relaxed));
                world.ok(&["--as", "alice", "send", "bob", &text]);
                texts.push(text);
            }
            texts
        });
        let converter = scope.spawn(|| {
            for to in ["log", "array"].into_iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let told = world.atm(&["team", "convert", "dev", "--to", to]);
                // Others may write in the old layout for as long as it tries. A client makes the file before it locks, and
                // there is an instant at which nothing is in it.
                let is_being_made = told.code == Some(6) && told.stderr.contains("is empty, not even `[]`");
                assert!(matches!(told.code, Some(0 | 5)) || is_being_made, "{told:?}");
            }
        });
        let others = work();
        done.store(true, Ordering::Relaxed);
        converter.join().unwrap();
        (others, sender.join().unwrap())
    });
    let expected: BTreeSet<String> = others.into_iter().chain(ours).collect();
    let check = || {
        let found = texts(&world.json(&["inbox", "bob"]));
        let once: BTreeSet<String> = found.iter().cloned().collect();
        assert_eq!(once, expected);
        assert_eq!(found.len(), once.len(), "nothing is there twice");
    };
    check();
    world.ok(&["log"]);
    world.ok(&["team", "convert", "dev", "--to", "array"]);
    check();
    let stages = world.ok(&["log", "--json"]);
    assert!(!stages.contains("restored"), "{stages}");
}

#[test]
fn of_our_own_and_clients() {
    let (world, team) = foreign_team(Layout::Array);
    // A client makes the folder before it locks.
    assert_all_is_there(&world, || {
        let mut texts = Vec::new();
        for round in 0..12 {
            std::fs::create_dir_all(team.folder().join("inboxes")).unwrap();
            let client =
                Foreign::client(&team.inbox("bob")).sending(&format!("client {round} "), 1).renaming();
            // The folder may be gone when it gets there: then it says so, and nothing was sent.
            let (code, said) = client.start().end();
            assert_ne!(code, Some(3), "its lock was taken: {}", said.complaints);
            texts.extend(said.texts());
        }
        assert!(!texts.is_empty());
        texts
    });
}

#[test]
fn of_our_own_and_shells() {
    let (world, team) = foreign_team(Layout::Log);
    let log = team.inbox("bob");
    assert_all_is_there(&world, || {
        let one = Foreign::shell(&log).with("--pause-ms", "10").sending("free ", 40).start();
        let two = Foreign::shell(&log).with("--pause-ms", "15").flag("--lock").sending("locked ", 30).start();
        [one.finish().texts(), two.finish().texts()].concat()
    });
}
