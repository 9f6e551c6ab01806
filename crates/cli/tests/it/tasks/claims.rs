//! Many real processes want the same task.

use std::collections::BTreeSet;
use std::fs;

use atm_support::Foreign;

use super::with_tasks;
use crate::scene::{Answer, Started, World};

const MANY: usize = 12;

fn with_many_members(subjects: &[&str]) -> World {
    let world = with_tasks(subjects);
    for number in 0..MANY {
        world.ok(&["member", "add", &format!("agent-{number}")]);
    }
    world
}

/// Starts a claim for each of many members, then waits for all.
fn claim_at_once(world: &World, what: &str) -> Vec<Answer> {
    let names: Vec<_> = (0..MANY).map(|number| format!("agent-{number}")).collect();
    let started: Vec<_> =
        names.iter().map(|name| world.start(&["--as", name, "task", "claim", what, "--json"])).collect();
    started.into_iter().map(Started::finish).collect()
}

#[test]
fn of_twelve_processes_that_claim_one_task_one_gets_it() {
    let world = with_many_members(&["the only one"]);
    let answers = claim_at_once(&world, "1");
    let winners: Vec<_> = answers.iter().filter(|answer| answer.code == Some(0)).collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    let got: serde_json::Value = serde_json::from_str(&winners[0].stdout).unwrap();
    let owner = got["task"]["owner"].as_str().unwrap();
    assert_eq!(world.task("1")["owner"], owner);
    for lost in answers.iter().filter(|answer| answer.code != Some(0)) {
        assert_eq!(lost.code, Some(4), "{lost:?}");
        assert_eq!(lost.error()["code"], "task_held");
        assert!(lost.error()["message"].as_str().unwrap().contains(owner), "it says who has it");
    }
}

#[test]
fn each_task_goes_to_one_of_those_who_want_the_next() {
    let world = with_many_members(&["a", "b", "c", "d", "e"]);
    let answers = claim_at_once(&world, "--next");
    let got: Vec<String> = answers
        .iter()
        .filter(|answer| answer.code == Some(0))
        .map(|answer| serde_json::from_str::<serde_json::Value>(&answer.stdout).unwrap())
        .map(|answer| answer["task"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(got.len(), 5, "{answers:?}");
    assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), 5, "{got:?}");
    for none in answers.iter().filter(|answer| answer.code != Some(0)) {
        assert_eq!((none.code, &none.error()["code"]), (Some(3), &"no_task_ready".into()));
    }
}

#[test]
fn claims_beside_a_client_that_changes_the_same_task_lose_nothing() {
    let world = with_many_members(&["the only one"]);
    let client = Foreign::task_client(&world.tasks()).with("--verb", "count").sending("doing ", 20);
    let mut client = client.start();
    client.wait_for_lines(1);
    let answers = claim_at_once(&world, "1");
    client.finish();
    assert_eq!(answers.iter().filter(|answer| answer.code == Some(0)).count(), 1, "{answers:?}");
    let task = world.task("1");
    assert_eq!((&task["status"], &task["metadata"]["counter"]), (&"in_progress".into(), &20.into()));
    assert!(task["metadata"]["claimed_at"].is_string(), "clients keep what is in metadata: {task}");
}

#[test]
fn a_lease_that_is_over_may_be_taken() {
    let world = with_tasks(&["a"]);
    world.ok(&["--as", "bob", "task", "claim", "1", "--lease", "1h"]);
    assert_eq!(world.atm(&["--as", "alice", "task", "claim", "1"]).code, Some(4));
    let path = world.tasks().join("1.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"claim_expiry_seconds\": 3600"), "{text}");
    fs::write(&path, text.replace("3600", "0")).unwrap();
    assert_eq!(world.json(&["task", "list"])[0]["lease"]["expired"], true);
    assert_eq!(world.json(&["--as", "alice", "task", "claim", "1"])["task"]["owner"], "alice");
}
