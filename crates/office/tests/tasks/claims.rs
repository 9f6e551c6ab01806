//! Who gets a task, for how long, and when it is free again.

use std::fs;
use std::thread;
use std::time::Duration;

use atm_office::ErrorKind;
use atm_office::tasks::{Completion, TaskChange, TaskFilter};
use atm_wire::task::{DEFAULT_LEASE, Status};
use serde_json::Value;

use crate::world::{World, at, id, ids, refused, who};

#[test]
fn a_claim_is_written_where_clients_keep_it() {
    let world = World::new();
    world.make("Build");
    world.tasks().claim(&who("bob"), id(1), Duration::from_secs(90)).unwrap();
    assert_eq!(
        world.text(id(1)),
        format!(
            "{{\n  \"id\": \"1\",\n  \"subject\": \"Build\",\n  \"description\": \"All of Build\",\n  \"status\": \"in_progress\",\n  \
             \"blocks\": [],\n  \"blockedBy\": [],\n  \"owner\": \"bob\",\n  \"metadata\": {{\n    \"claimed_at\": \"{}\",\n    \
             \"claim_expiry_seconds\": 90\n  }}\n}}",
            at(0)
        )
    );
}

#[test]
fn a_live_lease_holds_and_an_expired_one_does_not() {
    let world = World::new();
    world.make("Build");
    world.tasks().claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let message = format!("task 1 is held by bob until {}", at(300));
    refused(
        world.later(299).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE),
        ErrorKind::Refused,
        &message,
    );
    assert!(world.tasks().expired(at(299)).unwrap().is_empty());
    assert_eq!(world.tasks().expired(at(300)).unwrap()[0].owner.as_deref(), Some("bob"));

    world.tasks().renew(&who("bob"), id(1), at(200)).unwrap();
    world.later(300).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap_err();
    let taken = world.later(500).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap();
    assert_eq!(taken.task.owner.as_deref(), Some("alice"));
    refused(world.tasks().renew(&who("bob"), id(1), at(501)), ErrorKind::Refused, "task 1 is not bob's");
    world.later(502).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap();
}

#[test]
fn an_owner_that_a_client_set_keeps_its_task() {
    let world = World::new();
    world.make("Build");
    let path = world.team.task_folder().join("1.json");
    fs::write(&path, r#"{"id":"1","subject":"x","status":"in_progress","owner":"bob"}"#).unwrap();
    let error = world.later(1_000_000).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE);
    refused(error, ErrorKind::Refused, "task 1 is held by bob");
}

#[test]
fn one_of_many_gets_it() {
    let world = World::new();
    world.make("Build");
    let got: Vec<String> = thread::scope(|scope| {
        let names = ["team-lead", "alice", "bob", "user"];
        let world = &world;
        let tries: Vec<_> = names
            .map(|name| {
                scope.spawn(move || world.tasks().claim(&who(name), id(1), DEFAULT_LEASE).map(|_| name))
            })
            .into_iter()
            .collect();
        tries.into_iter().filter_map(|one| one.join().unwrap().ok()).map(ToOwned::to_owned).collect()
    });
    assert_eq!(got.len(), 1, "{got:?}");
    assert_eq!(world.tasks().get(id(1)).unwrap().owner.as_deref(), Some(got[0].as_str()));
}

#[test]
fn the_next_task_is_ones_own_then_a_free_one_and_never_a_blocked_one() {
    let world = World::new();
    for subject in ["a", "b", "c", "d"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(1), &[id(4)], None).unwrap();
    tasks.assign(&who("user"), id(3), &who("bob")).unwrap();
    let next = |world: &World, name: &str| world.tasks().claim_next(&who(name), DEFAULT_LEASE);
    assert_eq!(next(&world, "bob").unwrap().task.id, id(3));
    assert_eq!(next(&world, "bob").unwrap().task.id, id(2));
    assert_eq!(next(&world, "alice").unwrap().task.id, id(4));
    refused(next(&world, "alice"), ErrorKind::NotFound, "team demo has no task that can be claimed now");
    assert_eq!(next(&world.later(300), "alice").unwrap().task.id, id(4), "its own, whose lease is over");
    assert_eq!(next(&world.later(300), "alice").unwrap().task.id, id(2), "bob's lease is over");
}

#[test]
fn a_blocked_or_completed_task_is_not_claimed() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(3), &[id(1), id(2)], None).unwrap();
    let claim = || tasks.claim(&who("bob"), id(3), DEFAULT_LEASE);
    refused(claim(), ErrorKind::Refused, "task 3 waits for tasks 1 and 2");
    let done = tasks.complete(&who("user"), id(1), &Completion::default()).unwrap();
    assert!(done.unblocked.is_empty());
    refused(claim(), ErrorKind::Refused, "task 3 waits for task 2");
    let done = tasks.complete(&who("user"), id(2), &Completion::default()).unwrap();
    assert_eq!(done.unblocked, [id(3)]);
    claim().unwrap();
    refused(
        tasks.claim(&who("bob"), id(1), DEFAULT_LEASE),
        ErrorKind::Refused,
        "task 1 is completed already",
    );
    refused(tasks.claim(&who("bob"), id(9), DEFAULT_LEASE), ErrorKind::NotFound, "team demo has no task 9");
}

#[test]
fn a_released_task_is_free_and_tells_whose_it_was() {
    let world = World::new();
    world.make("Build");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let task = tasks.release(&who("bob"), id(1)).unwrap().task;
    assert_eq!((task.status, task.owner, task.ready), (Status::Pending, None, true));
    let metadata: Value = serde_json::from_str(task.metadata.unwrap().get()).unwrap();
    assert_eq!(metadata, serde_json::json!({"released_at": at(0).to_string(), "released_from": "bob"}));
    tasks.complete(&who("bob"), id(1), &Completion::default()).unwrap();
    refused(tasks.release(&who("bob"), id(1)), ErrorKind::Refused, "task 1 is completed already");
}

#[test]
fn all_that_a_stalled_member_had_is_released_but_what_is_done() {
    let world = World::new();
    let tasks = world.tasks();
    for number in 1..=4 {
        world.make("x");
        let owner = if number == 4 { "alice" } else { "bob" };
        tasks.claim(&who(owner), id(number), DEFAULT_LEASE).unwrap();
    }
    tasks.complete(&who("bob"), id(2), &Completion::default()).unwrap();
    assert_eq!(tasks.release_all(&who("bob"), at(60)).unwrap(), [id(1), id(3)]);
    assert_eq!(tasks.release_all(&who("bob"), at(60)).unwrap(), []);
    assert_eq!(ids(&tasks, &TaskFilter { owner: Some("alice".into()), ..TaskFilter::default() }), [id(4)]);
}

#[test]
fn a_change_of_owner_or_status_ends_the_lease() {
    let world = World::new();
    world.make("a");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let given = tasks.assign(&who("team-lead"), id(1), &who("alice")).unwrap().task;
    assert_eq!((given.status, given.lease.is_none()), (Status::Pending, true));
    tasks.claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap();
    let set = |status| {
        let change = TaskChange { status: Some(status), ..TaskChange::default() };
        tasks.change(&who("alice"), id(1), &change).unwrap();
    };
    set(Status::Completed);
    assert!(world.text(id(1)).contains("completed_at") && !world.text(id(1)).contains("claimed_at"));
    set(Status::Pending);
    assert!(!world.text(id(1)).contains("completed_at"));
    let nobody = TaskChange { owner: Some(None), ..TaskChange::default() };
    assert!(tasks.change(&who("alice"), id(1), &nobody).unwrap().task.ready);
}
