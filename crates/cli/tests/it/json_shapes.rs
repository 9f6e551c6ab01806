//! The documents that programs build on: exactly these keys, of these kinds.

use atm_store::Layout;
use serde_json::{Value, json};

use crate::scene::{World, foreign_team};

/// Keys in their order, which `Value` would lose.
fn keys(document: &str, indent: usize) -> Vec<&str> {
    let start = format!("{}\"", " ".repeat(indent));
    let lines = document.lines().filter_map(|line| line.strip_prefix(&start));
    lines.filter_map(|line| line.split_once('"').map(|(key, _)| key)).collect()
}

const SENT: [&str; 8] = ["id", "team", "from", "to", "status", "stage", "timestamp", "warnings"];
const MESSAGE: [&str; 14] = [
    "id",
    "from",
    "to",
    "team",
    "timestamp",
    "read",
    "kind",
    "type",
    "text",
    "summary",
    "color",
    "payload",
    "delivery_status",
    "pending",
];

fn is_time(value: &Value) -> bool {
    let text = value.as_str().unwrap();
    text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T' && text.as_bytes()[19] == b'.'
}

#[test]
fn what_became_of_a_message() {
    let world = World::with_team();
    let text = world.ok(&["--as", "alice", "send", "bob", "hello", "--json"]);
    assert_eq!(keys(&text, 2), SENT);
    let sent: Value = serde_json::from_str(&text).unwrap();
    assert!(is_time(&sent["timestamp"]), "{sent}");
    let told = json!({
        "id": sent["id"], "team": "dev", "from": "alice", "to": "bob", "status": "delivered",
        "stage": "written", "timestamp": sent["timestamp"], "warnings": []
    });
    assert_eq!(sent, told);
    assert_eq!(sent["id"], world.json(&["inbox", "bob"])[0]["id"], "the id is the one in the inbox");

    world.ok(&["member", "set", "bob", "--active", "false"]);
    let sent = world.json(&["send", "bob", "hello"]);
    assert_eq!(sent["status"], "queued");
    assert_eq!(sent["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn what_became_of_an_answer_and_of_many() {
    let world = World::with_team();
    let id = world.json(&["--as", "bob", "send", "alice", "hello"])["id"].as_str().unwrap().to_owned();
    assert_eq!(keys(&world.ok(&["--as", "alice", "reply", &id, "yes", "--json"]), 2), SENT);

    let many = world.ok(&["--as", "alice", "broadcast", "hello", "--json"]);
    assert_eq!(keys(&many, 4), [SENT, SENT].concat());
    assert!(many.starts_with("[\n"), "{many}");
    let batch = world.pipe(&["send", "--batch", "--json"], "{\"to\":\"bob\",\"text\":\"x\"}");
    assert_eq!(keys(&batch.stdout, 4), SENT);
}

#[test]
fn one_failure_among_many_stands_in_its_place() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("alice", "{");
    let answer = world.atm(&["--as", "team-lead", "broadcast", "hello", "--strict", "--json"]);
    assert_eq!(answer.code, Some(6));
    let answers: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answers[0]["error"]["code"], "bad_data");
    assert_eq!(answers[1]["to"], "bob");
}

#[test]
fn a_message_that_is_text() {
    let (world, team) = foreign_team(Layout::Array);
    let mail = r#"[{"from":"alice","text":"hi","timestamp":"2026-11-15T06:00:00Z","read":false,"unknown":1E2,"metadata":{"x":1}}]"#;
    team.write_inbox("bob", mail);
    let text = world.ok(&["inbox", "bob", "--json"]);
    assert_eq!(keys(&text, 4), [&MESSAGE[..], &["extra"]].concat());
    assert!(text.contains("\"unknown\": 1E2"), "a number stays as it was spelled: {text}");
    let found: Value = serde_json::from_str(&text).unwrap();
    let expected = json!([{
        "id": found[0]["id"], "from": "alice", "to": "bob", "team": "dev", "timestamp": "2026-11-15T06:00:00.000Z",
        "read": false, "kind": "text", "type": "message", "text": "hi", "summary": null, "color": null, "payload": null,
        "delivery_status": null, "pending": false, "extra": { "unknown": 100.0, "metadata": { "x": 1 } }
    }]);
    assert_eq!(found, expected);
    assert_eq!(world.json(&["--as", "bob", "read"]), expected, "reading answers in the same shape");
}

#[test]
fn a_message_that_is_protocol() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, _team) = foreign_team(layout);
        let payload = r#"{"type":"task_assignment","taskId":"7","subject":"s","n":12345678901234567890}"#;
        world.ok(&["--as", "alice", "send", "bob", payload]);
        let text = world.ok(&["--as", "bob", "read", "--json"]);
        assert_eq!(keys(&text, 4)[..14], MESSAGE, "{layout:?}");
        assert!(text.contains("12345678901234567890"), "{text}");
        let message = &serde_json::from_str::<Value>(&text).unwrap()[0];
        assert_eq!((&message["kind"], &message["type"]), (&json!("protocol"), &json!("task_assignment")));
        assert_eq!(message["payload"]["taskId"], "7");
        assert_eq!(message["summary"], Value::Null);
        assert_eq!(
            serde_json::from_str::<Value>(message["text"].as_str().unwrap()).unwrap(),
            message["payload"]
        );
    }
}

#[test]
fn mail_that_waits_for_somebody_who_is_off() {
    let world = World::with_team();
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.ok(&["send", "bob", "hello"]);
    let message = &world.json(&["inbox", "bob"])[0];
    assert_eq!((&message["delivery_status"], &message["pending"]), (&json!("queued"), &json!(true)));
    world.ok(&["--as", "bob", "read"]);
    assert_eq!(world.json(&["inbox", "bob"])[0]["pending"], false);
}

#[test]
fn no_mail_is_an_empty_array() {
    let world = World::with_team();
    assert_eq!(world.ok(&["inbox", "bob", "--json"]), "[]\n");
    assert_eq!(world.ok(&["--as", "bob", "read", "--json"]), "[]\n");
    assert_eq!(world.ok(&["--as", "bob", "read", "--format", "json", "--quiet"]), "[]\n");
}

#[test]
fn a_member() {
    let world = World::with_team();
    let text = world.ok(&["members", "--json"]);
    let promised = ["name", "agentId", "state", "evidence", "unread", "pending"];
    let more =
        ["oldestPending", "lastSeen", "agentType", "model", "color", "lead", "machine", "activity", "since"];
    let one = [&promised[..], &more].concat();
    assert_eq!(keys(&text, 4), [&one[..], &one, &one].concat());
    let members: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(members[2]["agentId"], "bob@dev");
    assert_eq!(members[2]["state"], "online");
}

#[test]
fn what_goes_on_beside_the_answer_is_on_stderr() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("bob", "[null]");
    let answer = world.atm(&["inbox", "bob", "--json"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "[]\n"));
    assert!(answer.stderr.contains("entry 1"), "{answer:?}");
}

#[test]
fn what_a_check_found() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("bob", "[null]");
    let answer = world.atm(&["validate", "dev", "--level", "error", "--json"]);
    assert_eq!(keys(&answer.stdout, 2), ["files", "counts", "findings", "omitted"]);
    assert_eq!(
        keys(&answer.stdout, 6),
        ["ruleId", "level", "file", "line", "column", "entry", "path", "message", "advice"]
    );
    let found: Value = serde_json::from_str(&answer.stdout).unwrap();
    let finding = &found["findings"][0];
    assert_eq!((&finding["ruleId"], &finding["level"]), (&"ATM-M001".into(), &"error".into()));
    assert_eq!((&finding["line"], &finding["column"], &finding["entry"]), (&1.into(), &2.into(), &1.into()));
    assert_eq!(finding["path"], ".[0]");
    assert_eq!((&found["files"], &found["counts"]["error"]), (&2.into(), &1.into()));
}

#[test]
fn what_the_doctor_found_and_did() {
    let (world, team) = foreign_team(Layout::Array);
    std::fs::set_permissions(world.root(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    team.write_inbox("bob", "[null]");
    let text = world.ok(&["doctor", "--fix", "--json"]);
    assert_eq!(keys(&text, 2), ["findings", "counts", "ledger", "noted"]);
    let finding = [
        "code",
        "level",
        "team",
        "file",
        "message",
        "evidence",
        "fix",
        "automatic",
        "safe",
        "state",
        "journal",
        "error",
    ];
    assert_eq!(keys(&text, 6)[..finding.len()], finding);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["findings"][0]["state"], "fixed");
    assert_eq!(document["counts"], json!({ "error": 0, "warning": 0, "note": 0, "fixed": 1 }));
    assert_eq!(document["ledger"]["sound"], true);

    let journal = world.json(&["doctor", "--journal"]);
    assert_eq!(journal[0]["id"], document["findings"][0]["journal"]);
    assert!(is_time(&journal[0]["at"]) && journal[0]["done"] == true);
    let undone = world.json(&["doctor", "--undo"]);
    assert_eq!((&undone["undone"], undone["files"].as_array().unwrap().len()), (&journal[0]["id"], 1));
}
