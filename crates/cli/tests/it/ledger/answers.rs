//! Acknowledging, answering, asking.

use serde_json::json;

use crate::scene::World;

#[test]
fn a_reply_an_acknowledgment_and_a_completion_are_told_apart() {
    let world = World::with_team();
    let id = world.json(&["--as", "team-lead", "send", "bob", "please", "--ack-by", "10m"])["id"].clone();
    let id = id.as_str().unwrap();
    assert_eq!(world.json(&["pending"])[0]["why"], "ack_awaited");
    let entry = &world.json(&["inbox", "bob"])[0];
    assert_eq!(entry["extra"]["ackId"], id);

    world.ok(&["--as", "bob", "ack", id, "on it"]);
    assert_eq!(world.stage(id), "acked");
    assert_eq!(world.json(&["pending"]), json!([]));
    world.ok(&["--as", "bob", "reply", id, "done"]);
    assert_eq!(world.stage(id), "done");
    let thread = world.json(&["thread", id]);
    let texts: Vec<_> = thread.as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["please", "done"]);
}

#[test]
fn foreign_acknowledgments_and_completions_count() {
    let world = World::with_team();
    let asked = world.sent("bob", "please");
    let task = r#"{"type":"task_assignment","taskId":"5","subject":"s"}"#;
    let assigned = world.sent("bob", task);
    let from_bob = |text: String| {
        let entry =
            json!([{"from": "bob", "text": text, "timestamp": "2026-11-15T18:42:29.192Z", "read": false}]);
        std::fs::write(world.inbox_file("team-lead"), entry.to_string()).unwrap();
    };
    from_bob(json!({"type": "acknowledgment", "ackId": asked}).to_string());
    assert_eq!(world.stage(&asked), "acked");
    from_bob(json!({"type": "task_completion", "taskId": "5"}).to_string());
    assert_eq!(world.stage(&assigned), "done");
}

#[test]
fn only_its_recipient_may_acknowledge() {
    let world = World::with_team();
    let id = world.sent("bob", "please");
    let answer = world.atm(&["--as", "alice", "ack", &id]);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    let unknown = world.atm(&["--as", "alice", "ack", "no-such-message"]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    // And nobody else's acknowledgment in the file does it either.
    let entry = json!([{"from": "alice", "text": json!({"type": "acknowledgment", "ackId": id}).to_string(),
        "timestamp": "2026-11-15T18:42:29.192Z", "read": false}]);
    std::fs::write(world.inbox_file("team-lead"), entry.to_string()).unwrap();
    assert_eq!(world.stage(&id), "written");
}

#[test]
fn a_request_waits_for_its_answer_and_takes_one_only_from_the_asked() {
    let world = World::with_team();
    let asking = world.start(&[
        "--as",
        "team-lead",
        "request",
        "bob",
        "task_status_request",
        "--data",
        r#"{"taskId":"5"}"#,
        "--json",
    ]);
    let mut request = String::new();
    atm_support::wait_until("bob is asked", || {
        let inbox = world.json(&["inbox", "bob"]);
        request = inbox[0]["payload"]["requestId"].as_str().unwrap_or_default().to_owned();
        !request.is_empty()
    });
    assert_eq!(world.atm(&["--as", "alice", "respond", &request]).code, Some(4), "alice was not asked");
    assert_eq!(world.atm(&["--as", "bob", "respond", "bogus"]).code, Some(4));
    world.ok(&["--as", "bob", "respond", &request, "--data", r#"{"status":"in_progress","progress":60}"#]);
    assert_eq!(world.atm(&["--as", "bob", "respond", &request]).code, Some(4), "it has its answer");
    let answer = asking.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(
        (&answer["type"], &answer["payload"]["progress"]),
        (&json!("task_status_response"), &json!(60))
    );
}

#[test]
fn waiting_for_a_stage_ends_when_it_comes_or_says_that_it_did_not() {
    let world = World::with_team();
    let waiting = world.start(&["send", "bob", "hello", "--wait", "seen", "--timeout", "60s", "--json"]);
    atm_support::wait_until("it is written", || !world.texts_for("bob").is_empty());
    world.ok(&["--as", "bob", "read"]);
    let answer = waiting.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer["stage"], "seen");

    let late = world.atm(&["send", "bob", "again", "--wait", "taken", "--timeout", "100ms"]);
    assert_eq!(late.code, Some(8), "{late:?}");
    assert_eq!(world.texts_for("bob").len(), 2, "written all the same");
}

#[test]
fn somebody_of_another_team_can_be_acknowledged() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops"]);
    let sent = world.json(&["-t", "ops", "--as", "team-lead", "send", "bob@dev", "please", "--ack-by", "1h"]);
    let id = sent["id"].as_str().unwrap();
    world.ok(&["-t", "dev", "--as", "bob", "ack", id]);
    assert_eq!(world.json(&["-t", "ops", "inbox", "team-lead"])[0]["type"], "acknowledgment");
    assert_eq!(world.json(&["-t", "dev", "track", id])["stage"], "acked");
}
