//! Killed in the middle: every file is whole, the next command clears away the rest, and no number comes twice.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::with_tasks;
use crate::scene::Dice;

#[test]
fn wherever_a_claim_dies_the_task_is_whole_and_the_next_command_goes_on() {
    for point in atm_store::points::ALL.iter().filter(|point| **point != "accepted") {
        let world = with_tasks(&["a"]);
        let mut claim = world.command(&["--as", "bob", "task", "claim", "1"]);
        let ended = claim.env("ATM_TEST_DIE_AT", point).output().unwrap().status;
        assert!(!ended.success(), "the process got past {point}");
        let is_claimed = world.task("1")["owner"] == "bob";
        assert_eq!(is_claimed, ["renamed", "released", "recorded"].contains(point), "{point}");
        world.ok(&["--as", "bob", "task", "claim", "1"]);
        let left: Vec<_> = world.task_litter().into_iter().filter(|name| name != "bob").collect();
        assert!(left.is_empty(), "{point} left {left:?}");
    }
}

#[test]
fn wherever_the_making_of_a_task_dies_no_number_comes_twice() {
    for point in atm_store::points::ALL.iter().filter(|point| **point != "accepted") {
        let world = with_tasks(&["a"]);
        let mut create = world.command(&["task", "create", "dies"]);
        assert!(!create.env("ATM_TEST_DIE_AT", point).output().unwrap().status.success());
        let made = world.json(&["task", "create", "next"])["task"]["id"].as_str().unwrap().to_owned();
        let taken = ["renamed", "released", "recorded"].contains(point);
        assert_eq!(made, if taken { "3" } else { "2" }, "{point}");
        assert!(world.task_litter().is_empty(), "{point} left {:?}", world.task_litter());
    }
}

#[test]
fn tasks_that_are_made_and_killed_at_any_moment_leave_no_half_file() {
    const ROUNDS: usize = 60;
    let world = with_tasks(&["a"]);
    let start = Instant::now();
    world.ok(&["task", "create", "warming up", "--blocked-by", "1"]);
    let most = u64::try_from(start.elapsed().as_micros()).unwrap();
    let mut dice = Dice::new(7);
    let mut made = BTreeSet::new();
    let mut killed = 0;
    for round in 0..ROUNDS {
        let mut create =
            world.start(&["task", "create", &format!("round {round}"), "--blocked-by", "1", "--json"]);
        thread::sleep(Duration::from_micros(dice.below(most)));
        create.signal(Signal::KILL);
        let answer = create.finish();
        if answer.code == Some(0) {
            let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
            assert!(made.insert(answer["task"]["id"].as_str().unwrap().to_owned()), "given twice");
        } else {
            killed += 1;
        }
    }
    assert!(killed > 0, "not one was killed in time");
    world.ok(&["task", "create", "the last one", "--blocked-by", "1"]);
    let list = world.atm(&["task", "list", "--json"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""), "all files are whole");
    let listed: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    let ids: BTreeSet<_> =
        listed.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    assert!(made.is_subset(&ids));
    assert!(world.task_litter().is_empty(), "{:?}", world.task_litter());
}
