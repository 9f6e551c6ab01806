//! A server that is somebody's speaks for nobody else.

use serde_json::json;

use super::client::Client;
use crate::scene::World;

#[test]
fn a_bound_server_refuses_to_send_as_or_take_the_mail_of_somebody_else() {
    let world = World::with_team();
    world.ok(&["send", "alice", "for alice"]);
    let mut bob = Client::silent(&world, &["--as", "bob", "--team", "dev"]);
    let greeting = bob.greet();
    let instructions = greeting["instructions"].as_str().unwrap();
    assert!(instructions.contains("This server is bob's in team dev"), "{instructions}");
    let letter = json!({ "type": "message", "recipient": "team-lead", "content": "hi", "sender": "alice" });
    assert_eq!(
        bob.refused("send_message", letter),
        "this server is bob's: it speaks for nobody else. Leave the name out"
    );
    for tool in ["read_inbox", "poll_inbox"] {
        assert_eq!(
            bob.refused(tool, json!({ "agent_name": "alice" })),
            "this server is bob's: it takes the mail of nobody else. Leave the name out"
        );
    }
    assert_eq!(world.json(&["inbox", "alice", "--unread"]).as_array().unwrap().len(), 1);
    for (tool, arguments) in [
        ("force_kill_teammate", json!({ "agent_name": "alice" })),
        ("process_shutdown_approved", json!({ "agent_name": "alice" })),
        ("spawn_teammate", json!({ "name": "eve", "prompt": "x" })),
        ("team_delete", json!({})),
    ] {
        let words = bob.refused(tool, arguments);
        assert!(words.starts_with("bob may not: ") && words.contains("lead of team dev"), "{words}");
    }
    let shutdown = json!({ "type": "shutdown_request", "recipient": "alice" });
    assert!(bob.refused("send_message", shutdown).contains("is for the lead of team dev"));

    let sent =
        bob.call("send_message", json!({ "type": "message", "recipient": "team-lead", "content": "hi" }));
    assert_eq!(sent["success"], true);
    assert_eq!(world.json(&["inbox", "team-lead"])[0]["from"], "bob");
    world.ok(&["team", "create", "other"]);
    let words = bob.refused("task_list", json!({ "team_name": "other" }));
    assert_eq!(words, "this server is bob's in team dev, not in other. Leave team_name out, or say dev");
    let tools = bob.tools();
    let read = tools.iter().find(|tool| tool["name"] == "read_inbox").unwrap();
    assert!(read["inputSchema"].get("required").is_none(), "{read}");
}

/// It had the mail of its name in every team.
#[test]
fn a_bound_server_is_in_one_team_even_if_none_was_named() {
    let world = World::with_team();
    let mut early = Client::silent(&world, &["--as", "team-lead"]);
    let greeting = early.greet();
    assert!(greeting["instructions"].as_str().unwrap().contains("team-lead's in team dev"), "{greeting}");
    world.ok(&["team", "create", "ops"]);
    let words = early.refused("read_inbox", json!({ "team_name": "ops" }));
    assert_eq!(words, "this server is team-lead's in team dev, not in ops. Leave team_name out, or say dev");
    assert!(early.call("read_inbox", json!({}))["result"].is_array());
    // A team of its own has no mail that it could not have had.
    early.call("team_create", json!({ "team_name": "mine" }));
    assert!(early.call("read_inbox", json!({ "team_name": "mine" }))["result"].is_array());
    assert!(early.refused("read_inbox", json!({ "team_name": "dev" })).contains("in team mine, not in dev"));

    // Where several could be meant, the first call settles it.
    let elsewhere = world.home().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let mut late = Client::of(world.command(&["mcp", "--as", "team-lead"]).current_dir(&elsewhere));
    late.greet();
    assert!(late.refused("read_inbox", json!({ "team_name": "nowhere" })).contains("nowhere"));
    assert!(late.call("read_inbox", json!({ "team_name": "ops" }))["result"].is_array());
    let words = late.refused("read_inbox", json!({ "team_name": "dev" }));
    assert_eq!(words, "this server is team-lead's in team ops, not in dev. Leave team_name out, or say ops");
}

#[test]
fn without_a_name_it_is_the_leads_and_says_so() {
    let world = World::with_team();
    let mut lead = Client::silent(&world, &[]);
    let greeting = lead.greet();
    assert_eq!(greeting["serverInfo"]["name"], "atm");
    assert!(greeting["instructions"].as_str().unwrap().contains("This server is the lead's"));
    let letter = json!({ "team_name": "dev", "type": "message", "recipient": "team-lead", "content": "hi", "sender": "bob" });
    lead.call("send_message", letter);
    assert_eq!(world.json(&["inbox", "team-lead"])[0]["from"], "bob");
    let phantom = json!({ "team_name": "dev", "type": "message", "recipient": "bob", "content": "hi", "sender": "nobody" });
    assert!(lead.refused("send_message", phantom).starts_with("sender: team dev has no member \"nobody\""));
}

#[test]
fn the_environment_binds_as_well() {
    let world = World::with_team();
    let answer = world.command(&["mcp"]).env("ATM_AS", "bob@nowhere").output().unwrap();
    assert_eq!(answer.status.code(), Some(3), "a team that is not there is said at once");
    assert!(String::from_utf8_lossy(&answer.stderr).contains("there is no team \"nowhere\""));
}

#[test]
fn the_short_list_is_short() {
    let world = World::with_team();
    let names = |args: &[&str]| -> Vec<String> {
        let tools = Client::new(&world, args).tools();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let (core, all) = (names(&["--tools", "core"]), names(&[]));
    assert_eq!(
        core,
        [
            "send_message",
            "read_inbox",
            "poll_inbox",
            "task_create",
            "task_update",
            "task_list",
            "task_get",
            "ack",
            "members",
            "heartbeat",
            "claim_task",
            "reservations",
            "respond"
        ]
    );
    assert_eq!(all.len(), 26);
    let short = Client::new(&world, &["--tools", "core"]).tools();
    assert!(serde_json::to_string(&short).unwrap().len() <= 5_000);
    for tool in &short {
        assert!(tool["description"].as_str().unwrap().len() < 600, "{tool}");
    }
}
