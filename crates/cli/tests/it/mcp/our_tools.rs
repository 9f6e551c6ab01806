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
        "message_id: no message \"nosuchid\" was ever sent or seen here. read_inbox and search_mail show the ids"
    );
}

#[test]
fn mail_that_nobody_has_read_is_taken_back() {
    let world = World::with_team();
    let (mut lead, mut bob) =
        (Client::new(&world, &["-t", "dev"]), Client::new(&world, &["--as", "bob@dev"]));
    let mut send = |text: &str| {
        let letter = json!({ "type": "message", "recipient": "bob", "content": text });
        lead.call("send_message", letter)["id"].as_str().unwrap().to_owned()
    };
    let (read, unread) = (send("read"), "send the release");
    bob.call("read_inbox", json!({}));
    let unread = send(unread);
    let refused = bob.refused("recall", json!({ "message_id": unread }));
    assert!(refused.contains("team-lead"), "only who sent it may: {refused}");
    let recalled = lead.call("recall", json!({ "message_id": "last" }));
    assert_eq!((&recalled["id"], &recalled["message"]), (&json!(unread), &json!("recalled from bob")));
    let refused = lead.refused("recall", json!({ "message_id": read }));
    assert!(refused.contains("its reader has seen it"), "{refused}");
    assert_eq!(world.json(&["inbox", "bob"]).as_array().unwrap().len(), 1);
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
fn long_mail_is_sent_with_what_to_do_instead() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &["-t", "dev"]);
    for letter in [json!({ "type": "message", "recipient": "bob" }), json!({ "type": "broadcast" })] {
        let mut letter = letter;
        letter["content"] = "x".repeat(40 * 1024).into();
        let id = lead.ask_tool("send_message", letter);
        let notes = lead.answer(id)["result"]["content"][1]["text"].to_string();
        assert_eq!(
            notes.matches("40 KB: write it to a file, and send the file's path").count(),
            1,
            "{notes}"
        );
    }
}

#[test]
fn mail_that_wants_an_acknowledgment_says_so_and_how() {
    let world = World::with_team();
    let (mut lead, mut bob) =
        (Client::new(&world, &["-t", "dev"]), Client::new(&world, &["--as", "bob@dev"]));
    let letter = |text: &str| json!({ "type": "message", "recipient": "bob", "content": text });
    let mut urgent = letter("stop the release");
    urgent["ack_by"] = "10m".into();
    urgent["priority"] = "high".into();
    lead.call("send_message", letter("no hurry"));
    let sent = lead.call("send_message", urgent.clone());
    let id = sent["id"].as_str().unwrap().to_owned();
    let call = format!("ack {{\"message_id\": \"{id}\"}}");
    let notes = bob.notes("read_inbox", json!({ "mark_as_read": false }));
    assert_eq!(notes, [format!("Waits for your acknowledgment: {call}")]);
    let mail = bob.call("read_inbox", json!({}))["result"].clone();
    let entry = mail.as_array().unwrap().iter().find(|entry| entry["id"] == *id).unwrap();
    assert!(entry["ack_by"].is_string(), "{mail}");
    // Read is not acknowledged: who looks again is told again, and nobody who has done it is.
    let all = || json!({ "unread_only": false });
    assert_eq!(bob.notes("read_inbox", all()), [format!("Waits for your acknowledgment: {call}")]);
    assert!(world.ok(&["inbox", "bob"]).contains("wants an acknowledgment by "));
    assert_eq!(bob.call("ack", json!({ "message_id": id }))["success"], true);
    assert_eq!(bob.notes("read_inbox", all()), [""; 0]);
    assert!(!world.ok(&["inbox", "bob"]).contains("wants an acknowledgment"));
    assert_eq!(world.json(&["track", &id])["stage"], "acked");
    for wrong in ["10", "soon", ""] {
        urgent["ack_by"] = wrong.into();
        let id = lead.ask_tool("send_message", urgent.clone());
        let answer = lead.answer(id);
        let words = answer["result"]["content"][0]["text"].as_str().unwrap();
        let named =
            words.starts_with("ack_by") && words.contains("Write 10m or 1h. For example send_message {");
        assert!(named || wrong.is_empty(), "{words}");
    }
}

/// What was so of everybody was repeated for each: 220 bytes a member.
#[test]
fn a_crowd_is_listed_in_few_words() {
    let world = World::with_team();
    for number in 1..=28 {
        world.ok(&["member", "add", &format!("worker-{number}")]);
    }
    world.ok(&["member", "add", "critic", "--type", "reviewer"]);
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.sent("bob", "later");
    let mut lead = Client::new(&world, &["-t", "dev"]);
    let members = lead.call("members", json!({}))["result"].clone();
    assert_eq!(members.as_array().unwrap().len(), 32);
    assert!(members.to_string().len() < 32 * 110, "{} bytes: {members}", members.to_string().len());
    let named = |name: &str| {
        let all = members.as_array().unwrap();
        all.iter().find(|member| member["name"] == name).unwrap().clone()
    };
    assert_eq!(
        named("worker-7"),
        json!({ "name": "worker-7", "state": "online", "unread": 0, "evidence": ["isActive is true in config.json"] })
    );
    assert_eq!(
        (&named("critic")["agentType"], &named("team-lead")["lead"]),
        (&json!("reviewer"), &json!(true))
    );
    assert_eq!((&named("bob")["state"], &named("bob")["pending"]), (&json!("offline"), &json!(1)));
}

#[test]
fn a_request_that_is_not_open_is_named_with_its_argument_and_the_one_that_is() {
    let world = World::with_team();
    let (mut lead, mut bob) =
        (Client::new(&world, &["-t", "dev"]), Client::new(&world, &["--as", "bob@dev"]));
    let asked = lead.call("send_message", json!({ "type": "shutdown_request", "recipient": "bob" }));
    let open = asked["request_id"].as_str().unwrap();
    let wrong = json!({ "type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": false });
    assert_eq!(
        bob.refused("send_message", wrong),
        format!("request_id: bob may not: there is no shutdown_request \"shutdown-1@bob\". One of: {open}")
    );
    let wrong = bob.refused("respond", json!({ "request_id": "req-1" }));
    assert_eq!(wrong, "request_id: bob may not: there is no request \"req-1\"");
    let wrong = bob.refused("heartbeat", json!({ "request_id": "hc-1" }));
    assert!(wrong.starts_with("request_id: bob may not: there is no open health check \"hc-1\""), "{wrong}");
}

#[test]
fn an_answer_goes_to_the_sender_of_its_message_in_its_thread() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &["--as", "bob@dev"]);
    let asked = world.json(&["--as", "alice", "send", "bob", "where is the parser?"]);
    let answer = json!({ "type": "message", "reply_to": asked["id"], "content": "in src" });
    let sent = bob.call("send_message", answer);
    assert_eq!(sent["message"], "delivered for alice");
    let thread = world.json(&["thread", asked["id"].as_str().unwrap()]);
    assert_eq!(thread.as_array().unwrap().len(), 2, "{thread}");
    let words =
        bob.refused("send_message", json!({ "type": "message", "reply_to": "nosuchid", "content": "x" }));
    assert!(words.starts_with("reply_to: bob has no message \"nosuchid\""), "{words}");
}

#[test]
fn a_completed_task_is_told_to_the_lead_as_by_the_command() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &["--as", "bob@dev"]);
    bob.call("task_create", json!({ "subject": "one", "description": "d" }));
    bob.call("task_create", json!({ "subject": "two", "description": "d" }));
    bob.call("task_update", json!({ "task_id": "2", "add_blocked_by": ["1"] }));
    let claimed = bob.call("claim_task", json!({ "task_id": "1" }));
    assert_eq!(claimed["metadata"]["claim_expiry_seconds"], 300, "the command's lease");
    let notes = bob.notes("task_update", json!({ "task_id": "1", "status": "completed" }));
    assert_eq!(notes, ["team-lead is told.", "Can begin now: 2."]);
    let mail = world.json(&["inbox", "team-lead"]);
    assert_eq!(mail.as_array().unwrap().last().unwrap()["type"], "task_completion");
}

#[test]
fn a_lead_adds_a_member_without_a_pane() {
    let world = World::with_team();
    let (mut lead, mut bob) =
        (Client::new(&world, &["-t", "dev"]), Client::new(&world, &["--as", "bob@dev"]));
    assert!(bob.refused("add_member", json!({ "name": "carol" })).starts_with("bob may not: adding members"));
    lead.call("add_member", json!({ "name": "carol" }));
    bob.call("send_message", json!({ "type": "message", "recipient": "carol", "content": "welcome" }));
    let mut carol = Client::new(&world, &["--as", "carol@dev"]);
    assert_eq!(carol.call("read_inbox", json!({}))["result"][0]["text"], "welcome");
    assert!(lead.refused("add_member", json!({ "name": "carol" })).contains("carol"));
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
        "minutes must be 1 to 10080. For example claim_task {\"task_id\": \"3\", \"minutes\": 30}"
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
    assert!(
        bob.refused("heartbeat", json!({ "progress": 101 }))
            .starts_with("progress must be 0 to 100. For example ")
    );
    let beats = lead.call("read_inbox", json!({ "agent_name": "team-lead" }));
    assert_eq!(beats["result"].as_array().unwrap().last().unwrap()["type"], "heartbeat");
}

/// Each word of an answer is paid for, each call too.
#[test]
fn what_is_meant_need_not_be_said_and_a_crowd_is_not_listed() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &["--as", "team-lead"]);
    let sent = lead.call("send_message", json!({ "recipient": "bob", "content": "hello" }));
    assert_eq!(lead.call("track", json!({ "message_id": "last" }))["id"], sent["id"]);
    let few = lead.call("send_message", json!({ "type": "broadcast", "content": "all hands" }));
    assert_eq!(few["message"], "sent to alice, bob");
    for number in 0..30 {
        world.ok(&["member", "add", &format!("worker-{number}")]);
    }
    let many = lead.call("send_message", json!({ "type": "broadcast", "content": "all hands" }));
    assert_eq!(many, json!({ "success": true, "message": "sent to 32" }));
}

#[test]
fn a_name_that_cannot_be_one_is_said_of_its_argument_with_a_correct_call() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &["--as", "team-lead"]);
    for (tool, argument, arguments) in [
        ("add_member", "name", json!({ "name": "N W" })),
        ("team_create", "team_name", json!({ "team_name": "x y" })),
        ("check_teammate", "agent_name", json!({ "agent_name": "a/b" })),
    ] {
        let said = lead.refused(tool, arguments);
        assert!(said.starts_with(&format!("{argument}: ")), "{said}");
        assert!(said.contains(&format!("For example {tool} {{")), "{said}");
    }
}
