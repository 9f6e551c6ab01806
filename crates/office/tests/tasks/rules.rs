//! Who may do what with a task, who is told, and what is listed.

use std::fs;

use atm_office::tasks::{Completion, TaskChange, TaskFilter, TaskPlan};
use atm_office::{ErrorKind, OfficeError};
use atm_wire::task::{DEFAULT_LEASE, Status};
use serde_json::Value;

use crate::world::{World, at, id, ids, plan, refused, who};

#[test]
fn who_gets_a_task_is_told_what_it_is() {
    let world = World::new();
    let plan = TaskPlan { owner: Some(who("bob")), ..plan("Build") };
    let made = world.tasks().create(&who("alice"), &plan).unwrap();
    assert!(made.sent.is_some());
    let expected = serde_json::json!({"type": "task_assignment", "taskId": "1", "subject": "Build",
        "description": "All of Build", "assignedBy": "alice", "timestamp": at(0).to_string()});
    assert_eq!(world.payloads("bob"), [expected]);

    let given = world.tasks().assign(&who("bob"), id(1), &who("alice")).unwrap();
    assert_eq!(given.task.owner.as_deref(), Some("alice"));
    assert_eq!(world.payloads("alice")[0]["assignedBy"], "bob");
    world.tasks().assign(&who("bob"), id(1), &who("alice")).unwrap_err();
    let again = world.tasks().assign(&who("alice"), id(1), &who("alice")).unwrap();
    assert!(again.sent.is_none(), "it has it already");
}

#[test]
fn nobody_of_an_unknown_name_gets_a_task() {
    let world = World::new();
    let owner = Some(who("bobb"));
    let error = world.tasks().create(&who("user"), &TaskPlan { owner, ..plan("Build") }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(ids(&world.tasks(), &TaskFilter::default()).is_empty(), "nothing was made");
    world.make("Build");
    let error = world.tasks().claim(&who("bobb"), id(1), DEFAULT_LEASE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn only_its_owner_the_lead_or_a_person_decides_about_a_task() {
    let world = World::new();
    let tasks = world.tasks();
    let message =
        |number: u8| format!("alice may not: task {number} is bob's; only bob or the lead may do that");
    for number in 1..=3 {
        world.make("x");
        tasks.claim(&who("bob"), id(number), DEFAULT_LEASE).unwrap();
        let alice = who("alice");
        let change = TaskChange { status: Some(Status::Pending), ..TaskChange::default() };
        let message = message(number);
        refused(tasks.complete(&alice, id(number), &Completion::default()), ErrorKind::Refused, &message);
        refused(tasks.release(&alice, id(number)), ErrorKind::Refused, &message);
        refused(tasks.change(&alice, id(number), &change), ErrorKind::Refused, &message);
        refused(tasks.assign(&alice, id(number), &alice), ErrorKind::Refused, &message);
        refused(tasks.delete(&alice, id(number)), ErrorKind::Refused, &message);
    }
    let described = TaskChange { description: Some("more".into()), ..TaskChange::default() };
    tasks.change(&who("alice"), id(1), &described).unwrap();
    for (number, name) in [(1, "bob"), (2, "team-lead"), (3, "user")] {
        tasks.release(&who(name), id(number)).unwrap();
    }
}

#[test]
fn a_completed_task_keeps_hours_and_notes_and_the_lead_is_told() {
    let world = World::new();
    world.make("Build");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let how = Completion { hours: Some(1.5), notes: Some("all green".into()), tell: true };
    let done = tasks.complete(&who("bob"), id(1), &how).unwrap();
    let metadata: Value = serde_json::from_str(done.task.metadata.unwrap().get()).unwrap();
    let expected =
        serde_json::json!({"completed_at": at(0).to_string(), "actual_hours": 1.5, "notes": "all green"});
    assert_eq!(metadata, expected);
    let told = serde_json::json!({"type": "task_completion", "taskId": "1", "actualHours": 1.5, "notes": "all green"});
    assert_eq!(world.payloads("team-lead"), [told]);
    refused(tasks.complete(&who("bob"), id(1), &how), ErrorKind::Refused, "task 1 is completed already");
    assert_eq!(world.payloads("team-lead").len(), 1);
}

/// The command told the lead of a completion, and a change of the status to the same did not.
#[test]
fn a_task_that_is_changed_to_completed_is_completed_as_any_other() {
    let world = World::new();
    for subject in ["Build", "Test"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(2), &[id(1)], None).unwrap();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let completed = TaskChange { status: Some(Status::Completed), ..TaskChange::default() };
    let done = tasks.change(&who("bob"), id(1), &completed).unwrap();
    assert_eq!(done.unblocked, [id(2)]);
    let told = serde_json::json!({"type": "task_completion", "taskId": "1"});
    assert_eq!(world.payloads("team-lead"), [told]);
    tasks.change(&who("bob"), id(1), &completed).unwrap();
    assert_eq!(world.payloads("team-lead").len(), 1, "it was completed before");
    tasks.change(&who("team-lead"), id(2), &completed).unwrap();
    assert_eq!(world.payloads("team-lead").len(), 1, "the lead knows what it does");
}

#[test]
fn what_is_wanted_is_listed() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(2), &[id(1)], None).unwrap();
    tasks.claim(&who("bob"), id(3), DEFAULT_LEASE).unwrap();
    let all = TaskFilter::default;
    assert_eq!(ids(&tasks, &TaskFilter { ready: true, ..all() }), [id(1)]);
    assert_eq!(ids(&tasks, &TaskFilter { blocked: Some(true), ..all() }), [id(2)]);
    assert_eq!(ids(&tasks, &TaskFilter { blocked: Some(false), ..all() }), [id(1), id(3)]);
    assert_eq!(ids(&tasks, &TaskFilter { status: Some(Status::InProgress), ..all() }), [id(3)]);
    assert_eq!(ids(&tasks, &TaskFilter { owner: Some("bob".into()), ..all() }), [id(3)]);

    fs::write(world.team.task_folder().join("1.json"), "{").unwrap();
    let listed = tasks.list(&all()).unwrap();
    assert_eq!((listed.tasks.len(), listed.warnings.len()), (2, 1));
    refused_code(tasks.get(id(1)), ErrorKind::BadData);
    refused_code(tasks.claim(&who("bob"), id(1), DEFAULT_LEASE), ErrorKind::BadData);
    refused(tasks.claim(&who("bob"), id(2), DEFAULT_LEASE), ErrorKind::Refused, "task 2 waits for task 1");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = World::new();
    world.make("a");
    let tasks = world.tasks();
    refused(tasks.create(&who("user"), &plan(" \n")), ErrorKind::Invalid, "a task needs a subject");
    let nameless = TaskChange { subject: Some(String::new()), ..TaskChange::default() };
    refused(tasks.change(&who("user"), id(1), &nameless), ErrorKind::Invalid, "a task needs a subject");
    let forged = TaskChange { metadata: vec![("claimed_at".into(), None)], ..TaskChange::default() };
    refused(
        tasks.change(&who("user"), id(1), &forged),
        ErrorKind::Invalid,
        "the metadata key \"claimed_at\" belongs to claims",
    );
}

#[track_caller]
fn refused_code<T: std::fmt::Debug>(result: Result<T, OfficeError>, kind: ErrorKind) {
    assert_eq!(result.unwrap_err().kind(), kind);
}
