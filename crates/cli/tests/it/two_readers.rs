//! Several readers of one name: each message is given out exactly once in all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use atm_store::Layout;
use atm_support::{TestTeam, drafts};

use crate::scene::{World, foreign_team, texts};

const READERS: usize = 6;
const MESSAGES: usize = 90;

/// Reads until nothing is left and nobody writes any more.
fn read_all(world: &World, limit: &str, done: &AtomicBool) -> Vec<String> {
    let mut got = Vec::new();
    loop {
        let finished = done.load(Ordering::SeqCst);
        let some = texts(&world.json(&["--as", "bob", "read", "--limit", limit]));
        if some.is_empty() && finished {
            return got;
        }
        got.extend(some);
    }
}

fn assert_each_once(got: Vec<String>) {
    let mut times = BTreeMap::new();
    for text in got {
        *times.entry(text).or_insert(0) += 1;
    }
    let expected: BTreeMap<_, _> = (0..MESSAGES).map(|number| (format!("m{number}"), 1)).collect();
    assert_eq!(times, expected);
}

fn readers(world: &World, team: &TestTeam, write: impl FnOnce()) -> Vec<String> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let limits = ["1", "2", "5", "7", "1000", "3"];
        let readers: Vec<_> =
            limits[..READERS].iter().map(|limit| scope.spawn(|| read_all(world, limit, &done))).collect();
        write();
        done.store(true, Ordering::SeqCst);
        let got = readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect();
        assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
        got
    })
}

#[test]
fn share_what_is_there() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        team.mailbox("bob").append(&drafts("m", MESSAGES), false).unwrap();
        assert_each_once(readers(&world, &team, || {}));
    }
}

#[test]
fn share_what_comes_while_they_read() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        let bob = team.mailbox("bob");
        assert_each_once(readers(&world, &team, || {
            for draft in drafts("m", MESSAGES) {
                bob.append(&[draft], false).unwrap();
            }
        }));
    }
}

#[test]
fn share_what_they_are_woken_by() {
    let (world, _team) = foreign_team(Layout::Array);
    let mut waiting: Vec<_> =
        (0..4).map(|_| world.start(&["--as", "bob", "read", "--wait", "3s", "--json"])).collect();
    for reader in &mut waiting {
        reader.wait_until_it_watches();
    }
    world.ok(&["send", "bob", "for one of you"]);
    let got: Vec<String> = waiting
        .into_iter()
        .flat_map(|reader| texts(&serde_json::from_str(&reader.finish().stdout).unwrap()))
        .collect();
    assert_eq!(got, ["for one of you"]);
}
