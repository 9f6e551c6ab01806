//! Heartbeats, health checks, stall alerts, idle notices.

use std::time::Duration;

use atm_office::protocol::report::{Alive, Idle, IdleReason};
use atm_store::Layout;
use serde_json::json;

use super::{World, who};

#[test]
fn their_entries_carry_the_type_and_a_summary_outside_too() {
    let world = World::new(Layout::Array);
    let (team, office) = (world.team.name(), &world.office);
    office.team(team).unwrap().ask_health(&who("team-lead"), &who("bob")).unwrap();
    let alive = Alive { task: Some("5".into()), progress: Some(60.0), request: None };
    office.team(team).unwrap().heartbeat(&who("bob"), &alive).unwrap();
    office
        .team(team)
        .unwrap()
        .stall_alert(&who("team-lead"), &who("bob"), &["5".into(), "6".into()])
        .unwrap();

    let outside = |to: &str, at: usize| {
        let entry = world.team.entries(to)[at].clone();
        let inside: serde_json::Value = serde_json::from_str(entry["text"].as_str().unwrap()).unwrap();
        assert_eq!(entry["type"], inside["type"], "{entry}");
        (entry["type"].as_str().unwrap().to_owned(), entry["summary"].as_str().unwrap().to_owned())
    };
    assert_eq!(outside("bob", 0), ("health_check".into(), "health check request".into()));
    assert_eq!(outside("team-lead", 0), ("heartbeat".into(), "heartbeat: T5 60%".into()));
    assert_eq!(outside("eve", 0), ("stall_alert".into(), "bob stalled, tasks 5,6 released".into()));
}

#[test]
fn a_heartbeat_of_whole_seconds_answers_a_check_of_the_same_second() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        let (team, office) = (world.team.name(), &world.office);
        let (request, sent) = office.team(team).unwrap().ask_health(&who("team-lead"), &who("bob")).unwrap();
        // Half a second before the check, as far as the spelling goes.
        let beat = match layout {
            Layout::Array => json!({"from": "bob", "type": "heartbeat", "text": "{\"task_id\":\"5\"}",
                                    "timestamp": "2026-11-15T18:40:00Z", "read": false}),
            Layout::Log => json!({"type": "heartbeat", "from": "bob", "to": "team-lead",
                                  "timestamp": "2026-11-15T18:40:00Z", "content": {"task_id": "5"}}),
        };
        world.others_write("team-lead", &[beat]);
        let wait = Duration::from_millis(10);
        let checked = office
            .team(team)
            .unwrap()
            .wait_for_heartbeat(&who("bob"), &request, sent.timestamp, wait)
            .unwrap();
        assert_eq!((checked.after_ms, checked.task.as_deref()), (0, Some("5")));
    }
}

#[test]
fn every_reason_to_be_idle_can_be_given() {
    let world = World::new(Layout::Log);
    let (team, office) = (world.team.name(), &world.office);
    let all = [
        (IdleReason::Available, "available"),
        (IdleReason::Interrupted, "interrupted"),
        (IdleReason::WaitingResponse, "waiting_response"),
        (IdleReason::TaskComplete, "task_complete"),
        (IdleReason::NoAssignedTasks, "no_assigned_tasks"),
    ];
    for (at, (reason, word)) in all.into_iter().enumerate() {
        let idle = Idle { reason, task: Some("7".into()), summary: None };
        office.team(team).unwrap().idle(&who("bob"), &idle).unwrap();
        let line = &world.team.entries("team-lead")[at];
        assert_eq!((&line["type"], &line["content"]["reason"]), (&json!("idle_notification"), &json!(word)));
        let names_task = matches!(reason, IdleReason::TaskComplete | IdleReason::NoAssignedTasks);
        assert_eq!(line["content"].get("lastTaskCompleted").is_some(), names_task, "{line}");
    }
}
