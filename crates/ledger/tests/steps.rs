//! Steps of chores: taken once, by one of many.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::thread;

use atm_ledger::{Ledger, StepKey, StepOwner, StepState, Taken};

struct Desk {
    _folder: tempfile::TempDir,
    path: PathBuf,
    ledger: Ledger,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let ledger = Ledger::open(&path).unwrap();
        Self { _folder: folder, path, ledger }
    }

    fn take(&mut self, owner: &StepOwner) -> Taken {
        self.ledger.take_step(&key(1), owner, "offer m", 10).unwrap()
    }

    fn states(&self) -> Vec<StepState> {
        self.ledger.open_steps("/r", "dev").unwrap().into_iter().map(|row| row.state).collect()
    }
}

fn key(number: i64) -> StepKey {
    StepKey { root: "/r".into(), team: "dev".into(), chore: "offer".into(), subject: "bob m".into(), number }
}

fn owner(pid: u32) -> StepOwner {
    StepOwner { boot: "b".into(), pid, start: "7".into() }
}

#[test]
fn a_step_is_taken_by_one_and_carried_out_once() {
    let mut desk = Desk::new();
    assert_eq!(desk.take(&owner(1)), Taken::Yes);
    assert_eq!(desk.take(&owner(2)), Taken::HeldBy(owner(1)));
    assert_eq!(desk.states(), [StepState::Taken]);
    assert!(!desk.ledger.finish_step(&key(1), &owner(2), 20).unwrap(), "it is another's");
    assert!(desk.ledger.finish_step(&key(1), &owner(1), 20).unwrap());
    assert_eq!(desk.take(&owner(2)), Taken::AlreadyFinished);
    assert_eq!(desk.states(), []);
    let row = desk.ledger.step(&key(1)).unwrap().unwrap();
    assert_eq!((row.taken_at, row.ended_at, row.what.as_str()), (10, Some(20), "offer m"));
    assert_eq!(desk.ledger.take_step(&key(2), &owner(2), "offer m", 30).unwrap(), Taken::Yes);
}

#[test]
fn of_those_who_find_its_owner_dead_one_takes_it_over() {
    let mut desk = Desk::new();
    desk.take(&owner(1));
    assert!(desk.ledger.take_over_step(&key(1), &owner(1), &owner(2), 20).unwrap());
    assert!(!desk.ledger.take_over_step(&key(1), &owner(1), &owner(3), 20).unwrap());
    assert!(!desk.ledger.leave_step_unknown(&key(1), &owner(1), 20).unwrap());
    assert!(desk.ledger.finish_step(&key(1), &owner(2), 30).unwrap());
}

#[test]
fn one_that_must_not_be_repeated_is_listed_until_it_is_forgotten() {
    let mut desk = Desk::new();
    desk.take(&owner(1));
    assert!(desk.ledger.leave_step_unknown(&key(1), &owner(1), 20).unwrap());
    assert_eq!(desk.take(&owner(2)), Taken::Unknown);
    assert_eq!(desk.states(), [StepState::Unknown]);
    assert_eq!(desk.ledger.open_steps("/r", "other").unwrap(), []);
    assert_eq!(desk.ledger.forget_steps("/r", "dev", 20).unwrap(), 0);
    assert_eq!(desk.ledger.forget_steps("/r", "dev", 21).unwrap(), 1);
    assert_eq!(desk.states(), []);
}

#[test]
fn one_that_was_given_back_is_free() {
    let mut desk = Desk::new();
    desk.take(&owner(1));
    desk.ledger.give_step_back(&key(1), &owner(2)).unwrap();
    assert_eq!(desk.take(&owner(2)), Taken::HeldBy(owner(1)), "only its owner gives it back");
    desk.ledger.give_step_back(&key(1), &owner(1)).unwrap();
    assert_eq!(desk.take(&owner(2)), Taken::Yes);
}

#[test]
fn eight_at_once_take_each_of_many_steps_once() {
    let desk = Desk::new();
    let path: &Path = &desk.path;
    let run = |pid| {
        let mut ledger = Ledger::open(path).unwrap();
        let take = |number| ledger.take_step(&key(number), &owner(pid), "offer m", 10).unwrap() == Taken::Yes;
        (0..50).map(take).filter(|taken| *taken).count()
    };
    let taken: usize = thread::scope(|scope| {
        let runners: Vec<_> = (0..8).map(|pid| scope.spawn(move || run(pid))).collect();
        runners.into_iter().map(|runner| runner.join().unwrap()).sum()
    });
    assert_eq!(taken, 50);
}
