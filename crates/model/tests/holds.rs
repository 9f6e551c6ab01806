//! What is built, explored to the last state: every promise holds in all of them.

use std::time::Instant;

use atm_model::others::Kind;
use atm_model::properties::{COMPLETED, HELD, OFFERED_AGAIN, PUT_BACK, RECALL, TAKEN_BACK};
use atm_model::{Commit, Rules, Setup};
use stateright::{Checker, Expectation, Model};

/// Explores one world to its end. `happens` is what must be reachable in it.
fn explore(name: &str, happens: &[&'static str], setup: Setup) {
    let start = Instant::now();
    let checker = Commit { rules: Rules::BUILT, setup }.checker().threads(2).spawn_bfs().join();
    println!("{name}: {} states in {:.1} s", checker.unique_state_count(), start.elapsed().as_secs_f64());
    for property in checker.model().properties() {
        let path = checker.discovery(property.name);
        match (property.expectation, path) {
            (Expectation::Always, Some(path)) => {
                for (state, action) in path.into_vec() {
                    println!("{state}\n    {action:?}");
                }
                panic!("{name}: not true: {}", property.name);
            }
            (Expectation::Sometimes, None) if happens.contains(&property.name) => {
                panic!("{name}: never happens: {}", property.name);
            }
            _ => {}
        }
    }
    assert!(checker.is_done(), "{name} was not explored to the end");
}

#[test]
fn two_senders_a_client_and_a_kill() {
    explore(
        "locks",
        &[COMPLETED],
        Setup { sends: 2, looks: 1, others: vec![(Kind::Client, 1)], crashes: 1, ..Setup::default() },
    );
}

#[test]
fn two_senders_a_python_tool_and_a_kill() {
    explore(
        "flock",
        &[COMPLETED],
        Setup { sends: 2, looks: 1, others: vec![(Kind::Flocker, 1)], crashes: 1, ..Setup::default() },
    );
}

#[test]
fn a_sender_beside_all_writers() {
    let others = vec![(Kind::Client, 1), (Kind::Flocker, 1), (Kind::Lockless, 1)];
    explore("writers", &[], Setup { sends: 1, looks: 1, others, old: Some(false), ..Setup::default() });
}

#[test]
fn a_writer_without_a_lock_and_two_kills() {
    for old in [None, Some(true), Some(false)] {
        let others = vec![(Kind::Lockless, 2)];
        explore(
            "lockless",
            &[COMPLETED],
            Setup { sends: 1, looks: 3, others, old, crashes: 2, ..Setup::default() },
        );
    }
}

#[test]
fn a_writer_that_undoes_again_and_again() {
    let others = vec![(Kind::Lockless, 4)];
    explore("undoing", &[HELD], Setup { sends: 1, looks: 5, others, old: Some(true), ..Setup::default() });
}

#[test]
fn a_draining_client_and_a_kill() {
    for transcript in [false, true] {
        let others = vec![(Kind::Drainer, 2)];
        let setup =
            Setup { sends: 2, looks: 2, others, transcript, turns: 2, crashes: 1, ..Setup::default() };
        explore("draining", &[COMPLETED], setup);
    }
}

#[test]
fn a_draining_client_that_dies_with_mail_in_memory() {
    for old in [None, Some(false)] {
        let others = vec![(Kind::Drainer, 2)];
        let setup = Setup {
            sends: 1,
            looks: 4,
            others,
            old,
            transcript: true,
            turns: 4,
            deaths: 1,
            ..Setup::default()
        };
        explore("dying", &[OFFERED_AGAIN], setup);
    }
}

#[test]
fn a_draining_client_beside_a_writer_without_a_lock() {
    for transcript in [false, true] {
        let others = vec![(Kind::Drainer, 1), (Kind::Lockless, 1)];
        let setup =
            Setup { sends: 1, looks: 3, others, old: Some(false), transcript, turns: 3, ..Setup::default() };
        explore("draining and undoing", if transcript { &[] } else { &[PUT_BACK] }, setup);
    }
}

#[test]
fn a_draining_client_and_a_python_tool() {
    let others = vec![(Kind::Drainer, 1), (Kind::Flocker, 1)];
    let setup =
        Setup { sends: 1, looks: 2, others, old: Some(false), turns: 1, crashes: 1, ..Setup::default() };
    explore("draining beside a tool", &[], setup);
}

#[test]
fn a_marking_client() {
    let others = vec![(Kind::Marker, 2), (Kind::Lockless, 1)];
    explore(
        "marking",
        &[],
        Setup { sends: 1, looks: 2, others, old: Some(true), crashes: 1, ..Setup::default() },
    );
}

#[test]
fn a_member_that_takes_one_by_one() {
    let others = vec![(Kind::InProcess, 2), (Kind::Lockless, 1)];
    let setup = Setup { sends: 1, looks: 2, others, old: Some(false), turns: 1, ..Setup::default() };
    explore("one by one", &[], setup);
}

#[test]
fn a_member_that_takes_one_by_one_and_dies() {
    let others = vec![(Kind::InProcess, 2)];
    let setup = Setup {
        sends: 1,
        looks: 3,
        others,
        old: Some(false),
        transcript: true,
        turns: 4,
        deaths: 1,
        ..Setup::default()
    };
    explore("one by one, dying", &[OFFERED_AGAIN], setup);
}

#[test]
fn our_own_reader() {
    let others = vec![(Kind::Client, 1)];
    explore("reading", &[], Setup { sends: 1, looks: 1, reads: 2, others, crashes: 1, ..Setup::default() });
}

#[test]
fn failing_transactions_and_writes() {
    for others in [vec![], vec![(Kind::Drainer, 1)], vec![(Kind::Lockless, 1)]] {
        let old = Some(true);
        explore(
            "failing",
            &[TAKEN_BACK],
            Setup { sends: 2, looks: 1, others, old, turns: 1, faults: 2, ..Setup::default() },
        );
    }
}

#[test]
fn senders_that_are_stopped_beside_a_kill_and_a_failure() {
    explore(
        "stopped",
        &[TAKEN_BACK, COMPLETED],
        Setup { sends: 2, looks: 1, stops: 2, faults: 1, crashes: 1, ..Setup::default() },
    );
}

#[test]
fn a_recall_beside_readers_writers_and_a_kill() {
    for others in [vec![], vec![(Kind::Drainer, 1)], vec![(Kind::Client, 1)], vec![(Kind::Lockless, 1)]] {
        let setup = Setup {
            sends: 1,
            looks: 2,
            recalls: 2,
            others,
            old: Some(false),
            turns: 1,
            crashes: 1,
            ..Setup::default()
        };
        explore("recalling", &[RECALL], setup);
    }
    let setup = Setup { sends: 1, looks: 1, reads: 1, recalls: 1, crashes: 1, faults: 1, ..Setup::default() };
    explore("recalling and reading", &[RECALL], setup);
}
