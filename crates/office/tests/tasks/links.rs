//! Tasks that wait for others.

use atm_office::tasks::{TaskPlan, Unblock};
use atm_office::{ErrorKind, OfficeError};
use atm_wire::task::DEFAULT_LEASE;

use crate::world::{World, id, plan, refused, who};

#[test]
fn tasks_never_wait_for_each_other() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    let block = |task, by| tasks.block(&who("user"), id(task), &[id(by)], None);
    block(2, 1).unwrap();
    block(3, 2).unwrap();
    let circle = "tasks would wait for each other: 1 waits for 3 waits for 2 waits for 1";
    refused(block(1, 3), ErrorKind::Refused, circle);
    refused(block(1, 1), ErrorKind::Refused, "tasks would wait for each other: 1 waits for 1");
    refused(block(1, 9), ErrorKind::NotFound, "team demo has no task 9");
    refused(block(9, 1), ErrorKind::NotFound, "team demo has no task 9");
    let between = TaskPlan { blocked_by: vec![id(3)], blocks: vec![id(1)], ..plan("between") };
    let circle =
        "tasks would wait for each other: 1 waits for the new one waits for 3 waits for 2 waits for 1";
    refused(tasks.create(&who("user"), &between), ErrorKind::Refused, circle);

    let between = TaskPlan { blocked_by: vec![id(1)], blocks: vec![id(3)], ..plan("between") };
    let made = tasks.create(&who("user"), &between).unwrap().task;
    assert_eq!((made.blocked_by, made.blocks), (vec![id(1)], vec![id(3)]));
    assert!(world.text(id(1)).contains("\"blocks\": [\n    \"2\",\n    \"4\"\n  ]"), "{}", world.text(id(1)));
    assert_eq!(tasks.get(id(3)).unwrap().waits_for, [id(2), id(4)]);
}

#[test]
fn the_lead_is_told_why_an_owner_cannot_go_on() {
    let world = World::new();
    world.make("a");
    world.make("b");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(2), DEFAULT_LEASE).unwrap();
    let silent = tasks.block(&who("alice"), id(2), &[id(1)], Some("says alice")).unwrap();
    assert!(silent.sent.is_none(), "it is not hers");
    tasks.block(&who("bob"), id(2), &[id(1)], Some("no keys")).unwrap();
    let told = serde_json::json!({"type": "blocking_notification", "taskId": "2", "blockedBy": ["1"], "reason": "no keys"});
    assert_eq!(world.payloads("team-lead"), [told]);

    let refused = tasks.unblock(&who("alice"), id(2), &Unblock::All).unwrap_err();
    assert!(matches!(refused, OfficeError::NotYours { .. }), "{refused}");
    assert_eq!(tasks.get(id(2)).unwrap().waits_for, [id(1)]);
    let free = tasks.unblock(&who("team-lead"), id(2), &Unblock::All).unwrap().task;
    assert!(free.blocked_by.is_empty() && !world.text(id(2)).contains("no keys"));
    assert!(tasks.get(id(1)).unwrap().blocks.is_empty());
}

#[test]
fn a_deleted_task_is_gone_from_the_others_too() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(2), &[id(1)], None).unwrap();
    tasks.block(&who("user"), id(3), &[id(2)], None).unwrap();
    tasks.delete(&who("alice"), id(2)).unwrap();
    for number in [1, 3] {
        assert!(!world.text(id(number)).contains("\"2\""), "{}", world.text(id(number)));
    }
    refused(tasks.delete(&who("alice"), id(2)), ErrorKind::NotFound, "team demo has no task 2");
    assert_eq!(world.make("d"), id(4));
}
