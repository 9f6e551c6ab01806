//! Handshakes: one decision each, waited for, and never two.

use std::fs;

use serde_json::{Value, json};

use crate::scene::World;

#[test]
fn a_decision_is_waited_for_and_its_word_is_the_exit_code() {
    for (verb, extra, code) in [("approve", None, 0), ("reject", Some(["--reason", "not yet"]), 4)] {
        let world = World::with_team();
        let wait =
            ["--as", "team-lead", "shutdown", "request", "bob", "--wait", "--timeout", "60s", "--json"];
        let mut asking = world.start(&wait);
        asking.wait_until_it_watches();
        atm_support::wait_until("bob is asked", || !world.texts_for("bob").is_empty());
        let decide =
            [&["--as", "bob", "shutdown", verb][..], extra.as_ref().map_or(&[], |e| &e[..])].concat();
        world.ok(&decide);
        let answer = asking.finish();
        assert_eq!(answer.code, Some(code), "{answer:?}");
        let asked: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!(
            (&asked["answer"]["approved"], &asked["answer"]["from"]),
            (&json!(code == 0), &json!("bob"))
        );
        assert_eq!(asked["answer"]["request"], asked["request"]);
    }
    let world = World::with_team();
    let late = world.atm(&["--as", "alice", "plan", "submit", "x", "--wait", "--timeout", "50ms"]);
    assert_eq!(late.code, Some(8), "{late:?}");
    assert_eq!(world.json(&["plan", "list"])[0]["state"], "open", "it stays asked");
}

#[test]
fn a_client_s_own_answer_counts() {
    let world = World::with_team();
    let request = world.asked_to_end("bob");
    let said = json!({"type": "shutdown_response", "requestId": request, "approved": true}).to_string();
    let entry =
        json!([{"from": "bob", "text": said, "timestamp": "2026-11-15T18:41:44.111Z", "read": false}]);
    fs::write(world.inbox_file("team-lead"), entry.to_string()).unwrap();
    let again = world.atm(&["--as", "bob", "shutdown", "approve", &request]);
    assert_eq!(again.code, Some(4), "{again:?}");
}

#[test]
fn a_client_s_own_request_can_be_decided() {
    let world = World::with_team();
    let said = r#"{"type":"shutdown_request","requestId":"shutdown-1794768102564@bob","from":"team-lead","reason":"done for today","timestamp":"2026-11-15T18:41:42.564Z"}"#;
    let entry =
        json!([{"from": "team-lead", "text": said, "timestamp": "2026-11-15T18:41:42.564Z", "read": true}]);
    fs::write(world.inbox_file("bob"), entry.to_string()).unwrap();
    world.ok(&["--as", "bob", "shutdown", "reject", "--reason", "not yet"]);
    let told = &world.payloads("team-lead")[0];
    assert_eq!(
        (&told["type"], &told["requestId"], &told["reason"]),
        (&json!("shutdown_rejected"), &json!("shutdown-1794768102564@bob"), &json!("not yet"))
    );
}

#[test]
fn of_many_who_decide_at_once_one_does() {
    let world = World::with_team();
    let request = world.planned("alice");
    let decide = |verb: &'static str| {
        let mut args = vec!["--as", "team-lead", "plan", verb, request.as_str()];
        args.extend(if verb == "reject" { vec!["--feedback", "no"] } else { vec![] });
        world.start(&args)
    };
    let started: Vec<_> = ["approve", "reject", "approve", "reject"].map(decide).into_iter().collect();
    let codes: Vec<_> = started.into_iter().map(|one| one.finish().code.unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 4).count(), 3, "{codes:?}");
    assert_eq!(world.texts_for("alice").len(), 1);
}

#[test]
fn a_lead_that_signs_is_told_of() {
    let world = World::with_team();
    let plain = world.json(&["--as", "team-lead", "shutdown", "request", "alice"]);
    assert_eq!(plain["sent"]["warnings"], json!([]));
    let entry = json!([{"from": "team-lead", "text": "hi", "timestamp": "2026-11-15T18:41:42.564Z", "read": true,
        "lead_sig": "c2ln"}]);
    fs::write(world.inbox_file("bob"), entry.to_string()).unwrap();
    let asked = world.json(&["--as", "team-lead", "shutdown", "request", "alice"]);
    let warning = asked["sent"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("this lead signs; unsigned mail"), "{warning}");
    assert_eq!(world.json(&["status"])["lead_signs"], true);
    assert!(world.ok(&["status"]).contains("this lead signs"), "and in the status");
}
