//! The tools beside those of the Python server.

use serde_json::{Value, json};

use super::client::Client;
use crate::scene::World;

#[test]
fn a_message_is_acknowledged_tracked_and_found_again() {
    let world = World::with_team();
    let (mut lead, mut bob) =
        (Client::new(&world, &["-t", "dev"]), Client::new(&world, &["--as", "bob@dev"]));
    let sent = lead
        .call("send_message", json!({ "type": "message", "recipient": "bob", "content": "mend the parser" }));
    let id = sent["id"].as_str().unwrap();
    bob.call("read_inbox", json!({}));
    assert!(lead.refused("ack", json!({ "message_id": id })).contains("only bob can acknowledge it"));
    bob.call("ack", json!({ "message_id": id, "text": "on it" }));
    let track = lead.call("track", json!({ "message_id": id, "text_offset": 5 }));
    assert_eq!((&track["stage"], &track["text"]), (&json!("acked"), &json!("the parser")));
    let found = lead.call("search_mail", json!({ "query": "parser" }));
    assert_eq!(found["result"][0]["id"], id);
    assert_eq!(lead.call("pending", json!({}))["result"], json!([]));
    assert_eq!(
        lead.refused("track", json!({ "message_id": "nosuchid" })),
        "no message \"nosuchid\" was ever sent or seen here. read_inbox and search_mail show the ids"
    );
}

#[test]
fn mail_for_somebody_who_is_off_is_pending_and_told() {
    let world = World::with_team();
    world.ok(&["member", "set", "bob", "--active", "false"]);
    let mut lead = Client::new(&world, &["-t", "dev"]);
    let letter = json!({ "type": "message", "recipient": "bob", "content": "later" });
    let id = lead.ask_tool("send_message", letter);
    let answer = lead.answer(id);
    let note = answer["result"]["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("bob is offline"), "{note}");
    let pending = lead.call("pending", json!({}));
    assert_eq!(
        (&pending["result"][0]["to"], &pending["result"][0]["why"]),
        (&json!("bob"), &json!("queued"))
    );
    let members = lead.call("members", json!({}));
    let bob = members["result"].as_array().unwrap().iter().find(|member| member["name"] == "bob").unwrap();
    assert_eq!((&bob["state"], &bob["pending"]), (&json!("offline"), &json!(1)));
}

#[test]
fn of_two_who_claim_a_task_one_gets_it() {
    let world = World::with_team();
    let (mut alice, mut bob) =
        (Client::new(&world, &["--as", "alice@dev"]), Client::new(&world, &["--as", "bob@dev"]));
    alice.call("task_create", json!({ "subject": "one", "description": "d" }));
    let claims = [alice.ask_tool("claim_task", json!({})), bob.ask_tool("claim_task", json!({}))];
    let answers = [alice.answer(claims[0]), bob.answer(claims[1])];
    let refused = answers.iter().filter(|answer| answer["result"]["isError"] == true).count();
    assert_eq!(refused, 1, "{answers:?}");
    assert_eq!(
        alice.refused("claim_task", json!({ "task_id": "1", "minutes": 0 })),
        "minutes must be 1 to 10080"
    );
}

#[test]
fn a_request_waits_for_its_answer() {
    let world = World::with_team();
    let (mut lead, mut bob) =
        (Client::new(&world, &["-t", "dev"]), Client::new(&world, &["--as", "bob@dev"]));
    let question = json!({ "recipient": "bob", "type": "task_status_request", "data": { "taskId": "5" } });
    let asked = lead.ask_tool("request", question);
    let mail = bob.call("poll_inbox", json!({}));
    let text: Value = serde_json::from_str(mail["result"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&text["type"], &text["taskId"]), (&json!("task_status_request"), &json!("5")));
    bob.call("respond", json!({ "request_id": text["requestId"], "data": { "progress": 60 } }));
    let answer = lead.called(asked);
    assert_eq!(answer["answer"]["progress"], 60, "{answer}");
    assert!(
        bob.refused("respond", json!({ "request_id": text["requestId"] })).contains("has its answer already")
    );
    let unheard = lead.call("request", json!({ "recipient": "alice", "type": "ping", "timeout_ms": 0 }));
    assert!(unheard.get("answer").is_none() && unheard["request_id"].is_string(), "{unheard}");

    bob.call("heartbeat", json!({ "task_id": 5, "progress": 60.5 }));
    assert_eq!(bob.refused("heartbeat", json!({ "progress": 101 })), "progress must be 0 to 100");
    let beats = lead.call("read_inbox", json!({ "agent_name": "team-lead" }));
    assert_eq!(beats["result"].as_array().unwrap().last().unwrap()["type"], "heartbeat");
}
