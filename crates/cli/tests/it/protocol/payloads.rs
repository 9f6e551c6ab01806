//! Every payload that has a command: the shapes that other programs read.

use atm_store::Layout;
use serde_json::{Value, json};

use crate::scene::{World, foreign_team};

/// Keys in the order of the file.
fn keys(payload: &str) -> Vec<String> {
    let whole: Vec<String> = payload
        .trim_matches(['{', '}'])
        .split(",\"")
        .filter_map(|member| member.split_once("\":").map(|(key, _)| key.trim_matches('"').to_owned()))
        .collect();
    assert!(serde_json::from_str::<Value>(payload).unwrap().as_object().unwrap().len() == whole.len());
    whole
}

#[test]
fn an_idle_member_says_so_in_the_words_of_clients_and_of_logs() {
    let world = World::with_team();
    world.ok(&["--as", "alice", "idle"]);
    world.ok(&[
        "--as",
        "alice",
        "idle",
        "--reason",
        "task_complete",
        "--task",
        "5",
        "--summary",
        "all green",
    ]);
    let told = world.payloads("team-lead");
    let at = |n: usize| told[n]["timestamp"].clone();
    assert_eq!(
        told[0],
        json!({"type": "idle_notification", "from": "alice", "timestamp": at(0), "idleReason": "available"})
    );
    assert_eq!(
        told[1],
        json!({"type": "idle_notification", "from": "alice", "timestamp": at(1), "idleReason": "task_complete",
               "summary": "all green", "completedTaskId": "5"})
    );
    assert_eq!(keys(&world.texts_for("team-lead")[0])[..4], ["type", "from", "timestamp", "idleReason"]);
}

#[test]
fn a_log_line_has_the_type_and_the_request_beside_its_content() {
    let (world, team) = foreign_team(Layout::Log);
    world.ok(&["--as", "alice", "idle", "--reason", "waiting_response"]);
    let line = &team.entries("team-lead")[0];
    assert_eq!((&line["type"], &line["from"]), (&json!("idle_notification"), &json!("alice")));
    assert_eq!(line["content"]["reason"], "waiting_response");
    let request = world.ok(&["--as", "team-lead", "shutdown", "request", "bob"]);
    let line = &team.entries("bob")[0];
    assert_eq!((&line["type"], &line["requestId"]), (&json!("shutdown_request"), &json!(request.trim())));
    world.ok(&["--as", "bob", "shutdown", "approve"]);
    assert_eq!(team.entries("team-lead")[1]["type"], "shutdown_approved");
}

#[test]
fn a_heartbeat_goes_to_the_lead() {
    let world = World::with_team();
    let sent = world.json(&["--as", "alice", "heartbeat", "--task", "5", "--progress", "60"]);
    assert_eq!((sent.as_array().unwrap().len(), &sent[0]["to"]), (1, &json!("team-lead")));
    assert_eq!(
        world.payloads("team-lead"),
        [json!({"type": "heartbeat", "task_id": "5", "progress_percent": 60})]
    );
    assert_eq!(world.atm(&["--as", "alice", "heartbeat", "--progress", "101"]).code, Some(2));
    assert_eq!(world.atm(&["--as", "carol", "heartbeat"]).code, Some(3), "no such member");
    assert_eq!(world.atm(&["heartbeat"]).code, Some(2), "whose?");
    let bogus = world.atm(&["--as", "alice", "heartbeat", "--request", "hc-1"]);
    assert_eq!(bogus.code, Some(4), "{bogus:?}");
}

#[test]
fn a_shutdown_request_is_spelled_as_clients_spell_it() {
    let world = World::with_team();
    let asked =
        world.json(&["--as", "team-lead", "shutdown", "request", "bob", "--reason", "enough for today"]);
    let request = asked["request"].as_str().unwrap();
    let number = request.strip_prefix("shutdown-").unwrap().strip_suffix("@bob").unwrap();
    assert!(number.len() == 13 && number.bytes().all(|b| b.is_ascii_digit()), "{request}");
    let text = &world.texts_for("bob")[0];
    assert_eq!(keys(text), ["type", "requestId", "from", "reason", "timestamp"], "as in a client's inbox");
    assert_eq!(world.payloads("bob")[0]["reason"], "enough for today");

    world.ok(&["--as", "bob", "shutdown", "approve", request]);
    let text = &world.texts_for("team-lead")[0];
    assert_eq!(keys(text), ["type", "requestId", "from", "timestamp", "paneId", "backendType"]);
    assert_eq!(world.payloads("team-lead")[0]["backendType"], "in-process");
    let bob = &world.json(&["members"])[2];
    assert_eq!((&bob["name"], &bob["state"]), (&json!("bob"), &json!("offline")), "it said that it ends");
}

#[test]
fn two_requests_in_one_millisecond_have_two_ids() {
    let world = World::with_team();
    let office = world
        .office()
        .with_clock(atm_office::clock::FixedClock(atm_wire::Stamp::from_millis(1_794_768_102_564)));
    let ask = || {
        let (lead, bob) = (super::name("team-lead"), super::name("bob"));
        office.team(&super::dev()).unwrap().request_shutdown(&lead, &bob, None, None).unwrap().request
    };
    assert_eq!([ask(), ask()], ["shutdown-1794768102564@bob", "shutdown-1794768102565@bob"]);
}

#[test]
fn a_plan_and_its_answer_have_both_spellings() {
    let world = World::with_team();
    let plan = world.home().join("plan.md");
    std::fs::write(&plan, "1. this\n2. that\n").unwrap();
    let asked = world.json(&["--as", "alice", "plan", "submit", "--file", "plan.md", "--summary", "both"]);
    let request = asked["request"].as_str().unwrap();
    let said = &world.payloads("team-lead")[0];
    assert_eq!(
        (&said["plan"], &said["planContent"]),
        (&json!("1. this\n2. that"), &json!("1. this\n2. that"))
    );
    assert_eq!((&said["summary"], &said["from"]), (&json!("both"), &json!("alice")));
    assert_eq!(said["planFilePath"], plan.to_str().unwrap());

    let listed = world.json(&["plan", "list", "--open"]);
    assert_eq!((&listed[0]["request"], &listed[0]["state"]), (&json!(request), &json!("open")));
    world.ok(&[
        "--as",
        "team-lead",
        "plan",
        "approve",
        request,
        "--feedback",
        "mind the gap",
        "--permission-mode",
        "acceptEdits",
    ]);
    let answer = &world.payloads("alice")[0];
    assert_eq!((&answer["approve"], &answer["approved"]), (&json!(true), &json!(true)));
    assert_eq!(
        (&answer["feedback"], &answer["permissionMode"]),
        (&json!("mind the gap"), &json!("acceptEdits"))
    );
    assert_eq!(world.json(&["plan", "list", "--open"]), json!([]));
    let listed = &world.json(&["plan", "list"])[0];
    assert_eq!(
        (&listed["state"], &listed["decision"]["feedback"]),
        (&json!("approved"), &json!("mind the gap"))
    );

    let request = world.planned("bob");
    world.ok(&["--as", "team-lead", "plan", "reject", &request, "--feedback", "smaller"]);
    assert_eq!(world.payloads("bob")[0]["approve"], false);
    assert_eq!(world.json(&["plan", "list"])[1]["state"], "rejected");
    assert_eq!(
        world.atm(&["--as", "team-lead", "plan", "submit", "mine"]).code,
        Some(4),
        "it decides itself"
    );
    assert_eq!(world.atm(&["--as", "alice", "plan", "submit", " "]).code, Some(2));
}

#[test]
fn a_health_check_is_answered_by_the_next_heartbeat() {
    let world = World::with_team();
    let mut asking = world.start(&["health", "alice", "--json"]);
    asking.wait_until_it_watches();
    atm_support::wait_until("alice is asked", || {
        world.inbox_file("alice").exists() && !world.texts_for("alice").is_empty()
    });
    let check = world.payloads("alice")[0].clone();
    assert_eq!(check["type"], "health_check");
    let sent = world.json(&["--as", "alice", "heartbeat", "--task", "7", "--progress", "30"]);
    let told: Vec<_> = sent.as_array().unwrap().iter().map(|sent| sent["to"].as_str().unwrap()).collect();
    assert_eq!(told, ["team-lead", "user"], "the lead, and who asked");
    let answer = asking.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((&answer["name"], &answer["request"]), (&json!("alice"), &check["request_id"]));
    assert_eq!((&answer["task"], &answer["progress"]), (&json!("7"), &json!(30.0)));

    let nobody = world.atm(&["health", "bob", "--timeout", "50ms", "--json"]);
    assert_eq!((nobody.code, &nobody.error()["code"]), (Some(8), &json!("no_answer")));
    assert_eq!(world.atm(&["health", "bbo"]).code, Some(3));
}

#[test]
fn a_heartbeat_of_another_program_answers_too() {
    let (world, team) = foreign_team(Layout::Array);
    let mut asking = world.start(&["--as", "team-lead", "health", "bob", "--json"]);
    asking.wait_until_it_watches();
    atm_support::wait_until("bob is asked", || team.entries("bob").len() == 1);
    // The type beside the text, as Python tools write it, and no word of the check.
    let now = world.office().now();
    let entry = json!([{"from": "bob", "type": "heartbeat", "text": r#"{"task_id": "5", "progress_percent": 60}"#,
        "timestamp": now.to_string(), "read": false, "summary": "heartbeat: T5 60%"}]);
    team.write_inbox("team-lead", entry.to_string());
    let answer = asking.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(serde_json::from_str::<Value>(&answer.stdout).unwrap()["progress"], 60.0);
}

#[test]
fn everybody_is_told_of_a_stall() {
    let world = World::with_team();
    let sent = world.json(&["--as", "team-lead", "health", "bob", "--stalled", "--tasks", "5,6"]);
    assert_eq!(sent.as_array().unwrap().len(), 2);
    let alert = json!({"type": "stall_alert", "stalled_agent": "bob", "released_tasks": ["5", "6"]});
    assert_eq!((world.payloads("alice"), world.payloads("bob")), (vec![alert.clone()], vec![alert]));
}
