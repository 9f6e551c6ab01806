//! Drop-in use for the Python server `claude-teams`: the same names, arguments and shapes.

use serde_json::{Value, json};

use super::client::Client;
use crate::scene::World;

#[test]
fn every_tool_of_the_python_server_is_there_with_its_arguments() {
    let wanted = [
        ("team_create", "team_name* description"),
        ("team_delete", "team_name*"),
        ("spawn_teammate", "team_name* name* prompt* model subagent_type plan_mode_required backend_type"),
        ("send_message", "team_name* type recipient content summary request_id approve sender"),
        ("read_inbox", "team_name* agent_name* unread_only mark_as_read"),
        ("poll_inbox", "team_name* agent_name* timeout_ms"),
        (
            "check_teammate",
            "team_name* agent_name* include_output output_lines include_messages max_messages",
        ),
        ("read_config", "team_name*"),
        ("task_create", "team_name* subject* description* active_form metadata"),
        (
            "task_update",
            "team_name* task_id* status owner subject description active_form add_blocks add_blocked_by metadata",
        ),
        ("task_list", "team_name*"),
        ("task_get", "team_name* task_id*"),
        ("force_kill_teammate", "team_name* agent_name*"),
        ("process_shutdown_approved", "team_name* agent_name*"),
    ];
    let world = World::new();
    let tools = Client::new(&world, &[]).tools();
    for (name, arguments) in wanted {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        let schema = &tool["inputSchema"];
        let mut required: Vec<&str> = Vec::new();
        for argument in arguments.split(' ') {
            let bare = argument.trim_end_matches('*');
            assert!(schema["properties"][bare].is_object(), "{name} has no {bare}: {schema}");
            if argument != bare {
                required.push(bare);
            }
        }
        assert_eq!(schema["required"], json!(required), "{name}");
    }
    let defaults = |tool: &str, argument: &str| {
        let tool = tools.iter().find(|found| found["name"] == tool).unwrap();
        tool["inputSchema"]["properties"][argument]["default"].clone()
    };
    assert_eq!(defaults("read_inbox", "unread_only"), true);
    assert_eq!(defaults("read_inbox", "mark_as_read"), true);
    assert_eq!(defaults("poll_inbox", "timeout_ms"), 30_000);
    assert_eq!(defaults("spawn_teammate", "model"), "sonnet");
    assert_eq!(defaults("spawn_teammate", "subagent_type"), "general-purpose");
    assert_eq!(defaults("spawn_teammate", "backend_type"), "claude");
    assert_eq!(defaults("check_teammate", "output_lines"), 20);
}

#[test]
fn a_team_and_its_tasks() {
    let world = World::new();
    let mut lead = Client::new(&world, &[]);
    let made = lead.call("team_create", json!({ "team_name": "dev", "description": "Ships it" }));
    let file = world.root().join("teams/dev/config.json");
    assert_eq!(made, json!({ "team_name": "dev", "team_file_path": file, "lead_agent_id": "team-lead@dev" }));
    let config = lead.call("read_config", json!({ "team_name": "dev" }));
    assert_eq!((&config["name"], &config["description"]), (&json!("dev"), &json!("Ships it")));
    assert_eq!(config["members"][0]["name"], "team-lead");
    assert!(config["members"][0].get("prompt").is_none());

    world.ok(&["member", "add", "bob"]);
    let team = |mut more: Value| {
        more["team_name"] = "dev".into();
        more
    };
    for subject in ["one", "two", "three"] {
        let task = team(json!({ "subject": subject, "description": "d", "metadata": { "k": subject } }));
        let made = lead.call("task_create", task);
        assert_eq!(made["status"], "pending");
    }
    let update =
        team(json!({ "task_id": "2", "add_blocked_by": ["1"], "add_blocks": ["3"], "owner": "bob" }));
    assert_eq!(lead.call("task_update", update), json!({ "id": "2", "status": "pending" }));
    let two = lead.call("task_get", team(json!({ "task_id": "2" })));
    assert_eq!((&two["blockedBy"], &two["blocks"]), (&json!(["1"]), &json!(["3"])));
    assert_eq!((&two["owner"], &two["activeForm"]), (&json!("bob"), &json!("")));
    assert_eq!(two["metadata"], json!({ "k": "two" }));
    let told = lead.call("read_inbox", team(json!({ "agent_name": "bob" })));
    assert_eq!(told["result"][0]["type"], "task_assignment");

    let words = lead.refused("task_update", team(json!({ "task_id": "2", "status": "in_progress" })));
    assert_eq!(words, "task 2 waits for task 1. Complete those first");
    lead.call("task_update", team(json!({ "task_id": 1, "status": "completed" })));
    lead.call(
        "task_update",
        team(json!({ "task_id": "2", "status": "in_progress", "metadata": { "k": null } })),
    );
    let gone = lead.call("task_update", team(json!({ "task_id": "3", "status": "deleted" })));
    assert_eq!(gone, json!({ "id": "3", "status": "deleted" }));
    let tasks = lead.call("task_list", team(json!({})));
    let states: Vec<_> =
        tasks["result"].as_array().unwrap().iter().map(|task| task["status"].clone()).collect();
    assert_eq!(states, ["completed", "in_progress"]);
    assert!(tasks["result"][1].get("metadata").is_none_or(|metadata| *metadata == json!({})), "{tasks}");

    let words = lead.refused("team_delete", team(json!({})));
    assert!(words.starts_with("team dev has active teammates: bob."), "{words}");
    lead.call("force_kill_teammate", team(json!({ "agent_name": "bob" })));
    let two = lead.call("task_get", team(json!({ "task_id": "2" })));
    assert_eq!((two.get("owner"), &two["status"]), (None, &json!("pending")), "its tasks are free again");
    let deleted = lead.call("team_delete", team(json!({})));
    assert_eq!((&deleted["success"], &deleted["team_name"]), (&json!(true), &json!("dev")));
    assert!(!file.exists());
    assert_eq!(lead.close(), Some(0));
}

#[test]
fn mail_goes_out_and_is_read_once() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &[]);
    let letter = json!({
        "team_name": "dev", "type": "message", "recipient": "bob", "content": "look at the build", "summary": "build",
    });
    let sent = lead.call("send_message", letter);
    let id = sent["id"].as_str().unwrap();
    assert_eq!(sent, json!({ "success": true, "message": "delivered for bob", "id": id }), "one short line");

    let bob = |more: Value| {
        let mut arguments = json!({ "team_name": "dev", "agent_name": "bob" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let peeked = lead.call("read_inbox", bob(json!({ "mark_as_read": false })));
    assert_eq!(peeked["result"][0]["read"], false);
    assert_eq!(world.json(&["track", id])["stage"], "written", "looking marks nothing");

    let read = lead.call("read_inbox", bob(json!({})));
    let message = &read["result"][0];
    assert_eq!((&message["from"], &message["text"]), (&json!("team-lead"), &json!("look at the build")));
    assert_eq!((&message["read"], &message["summary"]), (&json!(true), &json!("build")));
    let track = lead.call("track", json!({ "team_name": "dev", "message_id": id }));
    assert_eq!(track["stage"], "seen", "the same client's next call finds it marked");
    assert_eq!(lead.call("read_inbox", bob(json!({})))["result"], json!([]));
    assert_eq!(world.json(&["track", id])["stage"], "seen");
    let seen = track["stages"].as_array().unwrap().last().unwrap();
    assert_eq!(seen["evidence"]["what"], "handed over by atm mcp", "{seen}");
    let all = lead.call("read_inbox", bob(json!({ "unread_only": false })));
    assert_eq!(all["result"].as_array().unwrap().len(), 1);

    let sent = lead.call(
        "send_message",
        json!({ "team_name": "dev", "type": "broadcast", "content": "all hands", "summary": "s" }),
    );
    assert_eq!(sent["ids"].as_array().unwrap().len(), 2);
    let all = lead.call("read_inbox", bob(json!({ "unread_only": false, "mark_as_read": true })));
    assert_eq!(all["result"].as_array().unwrap().len(), 2);
    assert_eq!(lead.call("read_inbox", bob(json!({})))["result"], json!([]));
}

#[test]
fn a_plan_and_a_shutdown_from_end_to_end() {
    let world = World::with_team();
    let (mut lead, mut bob) = (Client::new(&world, &[]), Client::new(&world, &["--as", "bob@dev"]));
    let asked =
        bob.call("send_message", json!({ "type": "plan_approval_request", "content": "1. read 2. write" }));
    let plan = asked["request_id"].as_str().unwrap();
    let mail =
        lead.call("poll_inbox", json!({ "team_name": "dev", "agent_name": "team-lead", "timeout_ms": 5000 }));
    assert_eq!(mail["result"][0]["type"], "plan_approval_request");
    let decision = json!({
        "team_name": "dev", "type": "plan_approval_response", "recipient": "bob", "request_id": plan,
        "approve": true, "content": "mind the tests",
    });
    lead.call("send_message", decision.clone());
    assert!(lead.refused("send_message", decision).contains("has its answer already"));
    let mail = bob.call("poll_inbox", json!({}));
    let answer: Value = serde_json::from_str(mail["result"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&answer["type"], &answer["requestId"]), (&json!("plan_approval_response"), &json!(plan)));

    let words = lead.refused("process_shutdown_approved", json!({ "team_name": "dev", "agent_name": "bob" }));
    assert!(words.contains("has not approved its shutdown"), "{words}");
    let asked = lead.call(
        "send_message",
        json!({ "team_name": "dev", "type": "shutdown_request", "recipient": "bob", "content": "done" }),
    );
    assert_eq!(asked["target"], "bob");
    let request = asked["request_id"].as_str().unwrap();
    assert!(request.starts_with("shutdown-") && request.ends_with("@bob"), "{request}");
    assert_eq!(bob.call("read_inbox", json!({}))["result"][0]["type"], "shutdown_request");
    bob.call("send_message", json!({ "type": "shutdown_response", "request_id": request, "approve": true }));
    let status = lead.call("check_teammate", json!({ "team_name": "dev", "agent_name": "bob" }));
    assert_eq!((&status["name"], &status["alive"]), (&json!("bob"), &json!(false)));
    assert_eq!(status["pending_from"][0]["type"], "shutdown_approved");
    for key in ["error", "notification_scheduled", "push_available", "their_unread_count"] {
        assert!(status.get(key).is_some(), "no {key}: {status}");
    }
    let gone = lead.call("process_shutdown_approved", json!({ "team_name": "dev", "agent_name": "bob" }));
    assert_eq!(gone["success"], true);
    assert_eq!(world.json(&["members"]).as_array().unwrap().len(), 2);
}

#[test]
fn errors_are_results_with_words_that_help() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &[]);
    let message = |recipient: &str| json!({ "team_name": "dev", "type": "message", "recipient": recipient, "content": "x", "summary": "x" });
    assert_eq!(
        lead.refused("send_message", message("bbo")),
        "recipient: team dev has no member \"bbo\". Did you mean bob?"
    );
    assert_eq!(
        lead.refused("send_message", message("")),
        "recipient is missing. read_config shows the members. For example send_message {\"type\": \"message\", \
         \"recipient\": \"bob\", \"content\": \"The build is green\", \"summary\": \"Build green\"}"
    );
    assert_eq!(
        lead.refused("send_message", message("team-lead")),
        "recipient: a message to yourself is not sent"
    );
    assert_eq!(
        lead.refused("read_config", json!({ "team_name": "dve" })),
        "team_name: there is no team \"dve\". Did you mean dev?"
    );
    assert_eq!(
        lead.refused("read_inbox", json!({ "team_name": "dev" })),
        "agent_name is missing. For example read_inbox {\"agent_name\": \"bob\"}"
    );
    assert_eq!(
        lead.refused("task_get", json!({ "team_name": "dev", "task_id": "9" })),
        "task_id: team dev has no task 9. task_list shows the tasks"
    );
    let words = lead.refused("send_message", json!({ "team_name": "dev", "type": "letter" }));
    let kinds = "type must be one of: message, broadcast, shutdown_request, shutdown_response, \
                 plan_approval_response, plan_approval_request. For example send_message {";
    assert!(words.starts_with(kinds), "{words}");
    // What the Python server knows and we cannot do is no reason to fail.
    let ignored = json!({ "team_name": "dev", "agent_name": "bob", "notify_after_minutes": 1 });
    assert_eq!(lead.call("check_teammate", ignored)["notification_scheduled"], false);
    assert!(
        lead.refused("force_kill_teammate", json!({ "team_name": "dev", "agent_name": "team-lead" }))
            .contains("lead")
    );
    let unknown = lead.request("tools/call", json!({ "name": "no_such_tool", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
}
