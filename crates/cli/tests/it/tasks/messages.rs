//! Who is told what about tasks, and what the ledger makes of it.

use std::fs;

use serde_json::json;

use super::with_tasks;

#[test]
fn an_assignment_is_a_message_that_is_done_when_its_task_is() {
    let world = with_tasks(&["Build"]);
    let given = world.json(&["task", "assign", "1", "bob"]);
    let id = given["sent"]["id"].as_str().unwrap();
    let told = &world.payloads("bob")[0];
    assert_eq!((&told["type"], &told["taskId"]), (&json!("task_assignment"), &json!("1")));
    world.ok(&["--as", "bob", "task", "complete", "1", "--hours", "0.5", "--notes", "done"]);
    let expected = json!({"type": "task_completion", "taskId": "1", "actualHours": 0.5, "notes": "done"});
    assert_eq!(world.payloads("team-lead"), [expected]);
    assert_eq!(world.json(&["track", id])["stage"], "done");
}

#[test]
fn a_question_about_a_task_gets_its_answer() {
    let world = with_tasks(&["Build"]);
    world.ok(&["--as", "bob", "task", "claim", "1"]);
    let request =
        world.ok(&["--as", "team-lead", "task", "status-request", "1", "--no-wait"]).trim().to_owned();
    assert_eq!(world.payloads("bob")[0]["taskId"], "1");
    world.ok(&["--as", "bob", "task", "status", "1", "--progress", "40", "--eta", "tonight"]);
    let answer = &world.payloads("team-lead")[0];
    assert_eq!(answer["type"], "task_status_response");
    let said = (&answer["requestId"], &answer["status"], &answer["progress"], &answer["eta"]);
    assert_eq!(said, (&json!(request), &json!("in_progress"), &json!(40), &json!("tonight")));

    // Nobody asked: then it is for the lead, and answers nothing.
    world.ok(&["--as", "bob", "task", "status", "1", "--progress", "60%"]);
    let unasked = &world.payloads("team-lead")[1];
    assert_eq!((&unasked["progress"], &unasked["requestId"]), (&json!(60), &json!(null)));
}

#[test]
fn who_waits_for_the_answer_gets_it() {
    let world = with_tasks(&["Build"]);
    world.ok(&["--as", "bob", "task", "claim", "1"]);
    let mut asks =
        world.start(&["--as", "team-lead", "task", "status-request", "1", "--timeout", "30s", "--json"]);
    asks.wait_until_it_watches();
    world.ok(&["--as", "bob", "task", "status", "1", "--progress", "5"]);
    let answer = asks.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("task_status_response"), "{answer:?}");

    let none = world.atm(&["--as", "team-lead", "task", "status-request", "1", "--timeout", "1ms"]);
    assert_eq!(none.code, Some(8));
}

#[test]
fn an_owner_who_cannot_go_on_says_why_to_the_lead() {
    let world = with_tasks(&["Keys", "Build"]);
    world.ok(&["--as", "bob", "task", "claim", "2"]);
    world.ok(&["--as", "bob", "task", "block", "2", "--by", "1", "--reason", "no keys"]);
    let expected =
        json!({"type": "blocking_notification", "taskId": "2", "blockedBy": ["1"], "reason": "no keys"});
    assert_eq!(world.payloads("team-lead"), [expected]);
}

#[test]
fn a_name_that_nobody_has_gets_no_report() {
    let world = with_tasks(&["Build"]);
    let refused = world.atm(&["--as", "bobb", "artifacts", "report", "idle", "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (Some(3), &json!("no_such_member")));
    let path = world.tasks().join("1.json");
    fs::write(&path, r#"{"id":"1","subject":"x","status":"in_progress","owner":"ghost"}"#).unwrap();
    let done = world.atm(&["task", "complete", "1"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert!(world.task_litter().is_empty(), "{:?}", world.task_litter());
}

#[test]
fn work_shows_in_the_members_report() {
    let world = with_tasks(&["Build"]);
    let status = || world.json(&["artifacts", "list", "bob"])[0]["status"].clone();
    assert!(status().is_null());
    world.ok(&["--as", "bob", "task", "claim", "1"]);
    assert_eq!((&status()["agentId"], &status()["status"]), (&json!("bob@dev"), &json!("running")));
    world.ok(&["--as", "bob", "task", "complete", "1"]);
    assert_eq!(status()["status"], "complete");
    assert_eq!(status()["metrics"]["tasks_completed"], 1);
    world.ok(&["--as", "bob", "artifacts", "report", "error", "--detail", "no disk", "--tokens", "1200"]);
    assert_eq!(
        (&status()["errorMessage"], &status()["metrics"]["tokens_used"]),
        (&json!("no disk"), &json!(1200))
    );
}
