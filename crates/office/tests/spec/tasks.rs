//! Mail to a task's owner, and the text of a member's report.

use atm_office::mail::send::{Letter, SendOptions};
use atm_office::tasks::{Completion, TaskChange, TaskPlan};
use atm_store::Layout;
use atm_wire::payload::Level;
use atm_wire::task::Effort;
use serde_json::{Value, json};

use super::{World, who};

#[test]
fn an_assignment_says_how_urgent_the_task_is_and_how_long_it_should_take() {
    let world = World::new(Layout::Log);
    let tasks = world.office.tasks(world.team.name()).unwrap();
    let effort = Effort { priority: Some(Level("4".into())), estimated_hours: Some(8.0) };
    let plan = TaskPlan {
        subject: "mend".into(),
        owner: Some(who("bob")),
        effort: effort.clone(),
        ..TaskPlan::default()
    };
    let made = tasks.create(&who("team-lead"), &plan).unwrap();
    let content = world.team.entries("bob")[0]["content"].clone();
    assert_eq!((&content["priority"], &content["estimatedHours"]), (&json!(4), &json!(8)));
    let metadata: Value = serde_json::from_str(made.task.metadata.as_ref().unwrap().get()).unwrap();
    assert_eq!(metadata, json!({"priority": 4, "estimatedHours": 8}));

    let change = TaskChange {
        owner: Some(Some(who("eve"))),
        effort: Effort { priority: Some(Level("high".into())), estimated_hours: None },
        ..TaskChange::default()
    };
    tasks.change(&who("team-lead"), made.task.id, &change).unwrap();
    let content = world.team.entries("eve")[0]["content"].clone();
    assert_eq!((&content["priority"], &content["estimatedHours"]), (&json!("high"), &json!(8)));
}

#[test]
fn a_report_says_how_fast_its_member_answers() {
    let world = World::new(Layout::Array);
    let question = world.send("team-lead", "bob", "which branch?");
    let later = world.at(90_000);
    let reply = Letter { reply_to: Some(question.id), ..Letter::new("team-lead".parse().unwrap(), "main") };
    later.office.send(world.team.name(), &who("bob"), &reply, SendOptions::default()).unwrap();
    let tasks = later.office.tasks(world.team.name()).unwrap();
    let plan = TaskPlan { subject: "mend".into(), owner: Some(who("bob")), ..TaskPlan::default() };
    let made = tasks.create(&who("bob"), &plan).unwrap();
    tasks.complete(&who("bob"), made.task.id, &Completion::default()).unwrap();
    let file = world.team.task_folder().join("bob/task-status.json");
    let report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let expected = json!({"tokens_used": 0, "tasks_completed": 1, "avg_response_time": 90});
    assert_eq!(report["metrics"], expected);
}
