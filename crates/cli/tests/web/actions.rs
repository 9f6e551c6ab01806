//! Each action does what its command does.

use serde_json::{Value, json};

use crate::server::Server;

fn done(server: &Server, path: &str, body: &Value, status: u16) -> Value {
    let said = server.post(path, body);
    assert_eq!(said.status, status, "{path} {body}: {said:?}");
    said.json()
}

#[test]
fn mail_is_sent_answered_acknowledged_and_taken_back() {
    let server = Server::new();
    let sent = done(
        &server,
        "/api/v1/messages",
        &json!({ "to": "alice", "text": "hello", "priority": "high", "ack_by": "1h" }),
        201,
    );
    let inbox = server.json(&["inbox", "alice"]);
    assert_eq!(
        (&inbox[0]["id"], &inbox[0]["from"], &inbox[0]["text"]),
        (&sent["id"], &json!("user"), &json!("hello"))
    );

    let acked = done(&server, "/api/v1/acks", &json!({ "as": "alice", "id": sent["id"] }), 201);
    assert_eq!(acked["to"], "user");
    assert_eq!(server.json(&["track", sent["id"].as_str().unwrap()])["stage"], "acked");

    server.run(&["--as", "alice", "send", "user", "question"]);
    let question = server.json(&["inbox", "user"]).as_array().unwrap().last().unwrap().clone();
    done(&server, "/api/v1/replies", &json!({ "id": question["id"], "text": "answer" }), 201);
    assert_eq!(server.json(&["track", question["id"].as_str().unwrap()])["stage"], "done");

    let wrong = done(&server, "/api/v1/messages", &json!({ "to": "bob", "text": "oops" }), 201);
    assert_eq!(wrong["stage"], "queued");
    let recalled = done(&server, "/api/v1/recalls", &json!({ "id": wrong["id"] }), 201);
    assert_eq!(recalled["stage"], "recalled");
    assert_eq!(server.json(&["inbox", "bob"]), json!([]));

    done(&server, "/api/v1/messages", &json!({ "to": "alcie", "text": "x" }), 404);
    done(&server, "/api/v1/messages", &json!({ "to": "alice", "text": " " }), 400);
    done(&server, "/api/v1/messages", &json!({ "to": "alice", "text": "x", "colour": "red" }), 400);
    done(&server, "/api/v1/messages", &json!({ "as": "nobody", "to": "alice", "text": "x" }), 404);
    done(&server, "/api/v1/recalls", &json!({ "id": sent["id"] }), 409);

    // A session by its alias, as with the command.
    server.run(&["sessions", "alias", "shop", "."]);
    let sent = done(&server, "/api/v1/messages", &json!({ "to": "shop", "text": "hello" }), 201);
    assert_eq!((&sent["team"], &sent["from"]), (&json!("sessions"), &json!("user")), "{sent}");
    let wrong = done(&server, "/api/v1/messages", &json!({ "to": "shopp", "text": "hello" }), 404);
    assert!(wrong["hint"].as_str().unwrap().contains("shop"), "{wrong}");
    done(&server, "/api/v1/messages", &json!({ "team": "dev", "to": "shop", "text": "hello" }), 404);
}

#[test]
fn tasks_are_made_assigned_claimed_given_back_and_completed() {
    let server = Server::new();
    let made = done(&server, "/api/v1/tasks", &json!({ "subject": "Mend it", "owner": "alice" }), 201);
    assert_eq!(
        (&made["task"]["id"], &made["sent"]["to"]),
        (&json!("1"), &json!("alice")),
        "its owner is told"
    );
    done(&server, "/api/v1/tasks", &json!({ "subject": "Ship it", "blocked_by": ["1"] }), 201);
    done(&server, "/api/v1/tasks", &json!({ "subject": "No", "blocked_by": ["x"] }), 400);
    let claimed =
        done(&server, "/api/v1/claims", &json!({ "as": "alice", "task": "1", "lease": "10m" }), 201);
    assert_eq!(claimed["task"]["status"], "in_progress");
    let held = done(&server, "/api/v1/claims", &json!({ "as": "bob", "task": "1" }), 409);
    assert!(held["detail"].as_str().unwrap().contains("alice"), "{held}");
    let released = done(&server, "/api/v1/tasks/1", &json!({ "owner": "" }), 200);
    assert_eq!((&released["task"]["owner"], &released["task"]["status"]), (&Value::Null, &json!("pending")));
    let assigned = done(&server, "/api/v1/tasks/1", &json!({ "owner": "bob" }), 200);
    assert_eq!(assigned["task"]["owner"], "bob");
    let completed = done(&server, "/api/v1/tasks/1", &json!({ "status": "completed" }), 200);
    assert_eq!(completed["unblocked"], json!(["2"]));
    assert_eq!(server.json(&["task", "show", "1"])["status"], "completed");
}

/// A person who came by the token decides where the table asks for the lead, and it is recorded who did.
#[test]
fn a_person_decides_for_the_lead_and_it_is_on_record() {
    let server = Server::new();
    let request = server.run(&["--as", "alice", "plan", "submit", "first this"]).trim().to_owned();
    let path = format!("/api/v1/plans/{request}");
    done(&server, &path, &json!({ "approved": false }), 400);
    let sent = done(&server, &path, &json!({ "approved": false, "feedback": "then that" }), 201);
    assert_eq!(sent["from"], "team-lead");
    let track = server.json(&["track", sent["id"].as_str().unwrap()]);
    let by: Vec<&Value> =
        track["stages"].as_array().unwrap().iter().map(|stage| &stage["evidence"]["by"]).collect();
    assert!(by.contains(&&json!("user via web")), "{track}");
    let entry = &server.json(&["inbox", "alice"])[0];
    assert_eq!(entry["extra"]["metadata"]["atm"]["acted_by"], "user via web", "{entry}");
    assert_eq!(server.json(&["plan", "list"])[0]["state"], "rejected");
    done(&server, &path, &json!({ "approved": true }), 403);

    let asked = done(&server, "/api/v1/shutdowns", &json!({ "name": "alice", "reason": "all is done" }), 201);
    let path = format!("/api/v1/shutdowns/{}", asked["request"].as_str().unwrap());
    done(&server, &path, &json!({ "as": "alice", "approved": false }), 400);
    done(&server, &path, &json!({ "as": "bob", "approved": true }), 403);
    let answer = done(&server, &path, &json!({ "as": "alice", "approved": false, "reason": "not yet" }), 201);
    assert_eq!((&answer["from"], &answer["to"]), (&json!("alice"), &json!("team-lead")));
}

#[test]
fn members_are_woken_and_read_mail_is_archived() {
    let server = Server::new();
    server.run(&["member", "set", "alice", "--wake", "poll"]);
    let woken = done(&server, "/api/v1/wakes", &json!({ "name": "alice" }), 200);
    assert_eq!(woken["woken"], false);
    assert!(woken["why"].is_string(), "{woken}");
    server.run(&["send", "alice", "read this"]);
    server.run(&["--as", "alice", "read"]);
    server.run(&["send", "alice", "and this"]);
    let tended = done(&server, "/api/v1/archives", &json!({ "name": "alice" }), 200);
    assert_eq!((&tended["archived"], &tended["left"]), (&json!(1), &json!(1)));
    assert_eq!(server.json(&["inbox", "alice", "--archived"]).as_array().unwrap().len(), 1);
    done(&server, "/api/v1/archives", &json!({ "name": "nobody" }), 404);
}

/// What was shown is marked, and nothing that came meanwhile.
#[test]
fn mail_that_was_shown_is_marked_as_read_and_no_other() {
    let server = Server::new();
    let first = server.json(&["--as", "alice", "send", "user", "the first"])["id"].clone();
    server.run(&["--as", "alice", "send", "user", "meanwhile"]);
    let said = done(&server, "/api/v1/reads", &json!({ "ids": [first, "00000000"] }), 200);
    assert_eq!(said["marked"], 1, "{said}");
    let inbox = server.json(&["inbox", "user"]);
    let read: Vec<_> = inbox.as_array().unwrap().iter().map(|message| message["read"].clone()).collect();
    assert_eq!(read, [json!(true), json!(false)], "{inbox}");
    let track = server.json(&["track", first.as_str().unwrap()]);
    assert_eq!(track["stage"], "seen", "{track}");
    done(&server, "/api/v1/reads", &json!({ "as": "nobody", "ids": [] }), 404);
}
