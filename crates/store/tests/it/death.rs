//! Processes that die or are told to stop: what they accepted is there, and what they left is cleared away.

use std::fs;

use atm_support::{draft, drafts, wait_until};

use crate::child::Process;
use crate::scene::{array_team, log_team, sorted};

#[test]
fn what_a_killed_process_was_preparing_is_removed_by_the_next_append() {
    let team = array_team();
    team.mailbox("bob").create().unwrap();
    fs::create_dir(team.client_lock("bob")).unwrap();
    let mut process = Process::start("append_until_killed", &team, "victim");
    // Its temp file beside the lock: it is prepared and waits.
    wait_until("the process has prepared its message", || team.litter("bob").len() == 2);
    process.kill();
    fs::remove_dir(team.client_lock("bob")).unwrap();
    assert_eq!(team.litter("bob").len(), 1, "the dead process left its temp file");

    team.mailbox("bob").append(&[draft("next")], false).unwrap();
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
    assert_eq!(team.texts("bob"), ["next"]);
    assert!(process.accepted().is_empty());
}

#[test]
fn a_temp_file_of_a_living_process_is_not_touched() {
    let team = array_team();
    team.mailbox("bob").create().unwrap();
    let mut process = Process::start("append_until_killed", &team, "other");
    wait_until("it has appended", || process.accepted().len() > 3);
    team.mailbox("bob").append(&drafts("ours", 1), false).unwrap();
    let before = process.accepted().len();
    wait_until("it goes on", || process.accepted().len() > before + 3);
    process.kill();
}

/// Kills processes at whatever instruction they are, again and again.
fn assert_killed_processes_lose_nothing(team: &atm_support::TestTeam) {
    let bob = team.mailbox("bob");
    let mut accepted = Vec::new();
    for round in 0..6 {
        let mut processes: Vec<_> = (0..2)
            .map(|number| Process::start("append_until_killed", team, &format!("p{round}{number}")))
            .collect();
        for process in &mut processes {
            wait_until("a few are accepted", || process.accepted().len() > 4);
            process.kill();
        }
        accepted.extend(processes.iter().flat_map(Process::accepted));
    }
    bob.append(&[draft("last")], false).unwrap();

    let there = sorted(team.texts("bob"));
    let mut once = there.clone();
    once.dedup();
    assert_eq!(there, once, "none is there twice");
    // A process may have died between its append and its saying so; the other way round must not be.
    let lost: Vec<_> = accepted.iter().filter(|text| there.binary_search(text).is_err()).collect();
    assert!(lost.is_empty(), "accepted and not there: {lost:?}");
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
}

#[test]
fn processes_that_are_killed_anywhere_lose_nothing_that_they_accepted() {
    assert_killed_processes_lose_nothing(&array_team());
}

#[test]
fn processes_that_are_killed_anywhere_lose_no_line_that_they_accepted() {
    assert_killed_processes_lose_nothing(&log_team());
}

#[test]
fn a_process_that_is_told_to_stop_ends_and_leaves_nothing_behind() {
    // Also in the middle of a commit that prepares its file while it holds the locks.
    let team = array_team();
    team.mailbox("bob").append(&drafts(&"long ".repeat(200), 150), false).unwrap();
    for _ in 0..5 {
        let mut process = Process::start("abandon_in_the_middle", &team, "stopped");
        assert!(process.ended_well());
        assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
        assert!(team.entries("bob").len() >= 150);
    }
}
