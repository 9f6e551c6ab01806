//! A command loads the configuration of its team once, however many parts of the office ask for it.

use std::fs;

use serde_json::{Value, json};

use crate::scene::{ATM, World};

/// How often a command opens the team's configuration; nothing where it cannot be traced. `input` is what it reads.
fn opens(world: &World, input: &str, args: &[&str]) -> Option<usize> {
    let (trace, said) = (world.home().join("trace"), world.home().join("said"));
    fs::write(&said, input).unwrap();
    let mut strace = world.program("strace");
    strace.args(["-f", "-e", "trace=openat,open", "-o"]).arg(&trace).arg(ATM).args(args);
    strace.stdin(fs::File::open(said).unwrap());
    let output = strace.output().ok()?;
    let opened = fs::read_to_string(&trace).unwrap_or_default();
    // Without a ledger or an answer it did nothing, or could not be traced.
    if opened.is_empty() {
        eprintln!("skipped: no strace here, or it may not trace");
        return None;
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = [Some(0), Some(8)].contains(&output.status.code());
    assert!(expected, "{args:?}: {:?} {words}", output.status);
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!answer.contains(r#""isError":true"#), "{args:?} {input}: {answer}");
    Some(
        opened
            .lines()
            .filter(|line| line.contains("/teams/dev/config.json\"") && !line.contains("ENOENT"))
            .count(),
    )
}

#[test]
fn every_command_loads_the_configuration_once() {
    let world = World::with_team();
    world.ok(&["--as", "bob", "heartbeat"]);
    let (first, second) = (world.sent("bob", "one"), world.sent("bob", "two"));
    let lead = ["--as", "team-lead"];
    let request = |kind: &str| {
        let asked = [&lead[..], &["request", "bob", kind, "--no-wait"]].concat();
        world.ok(&asked).trim().to_owned()
    };
    let (asked, plan) = (request("ping"), world.ok(&["--as", "bob", "plan", "submit", "a house"]));
    world.ok(&[&lead[..], &["shutdown", "request", "bob"]].concat());
    world.ok(&["send", "alice", "zero"]);
    world.ok(&["task", "create", "dig"]);
    world.ok(&["task", "create", "plant"]);
    let mut wrong = Vec::new();
    for args in [
        &["track", "last"][..],
        &["track", &first],
        &["thread", &first],
        &["inbox", "bob"],
        &["send", "bob", "three"],
        &["broadcast", "four"],
        &["--as", "bob", "ack", &first],
        &["--as", "bob", "reply", &second, "yes"],
        &["--as", "bob", "read"],
        &["--as", "bob", "read", "--wait", "1ms"],
        &["--as", "alice", "request", "bob", "ping", "--timeout", "0s"],
        &["--as", "bob", "respond", &asked],
        &["--as", "bob", "plan", "submit", "a garden"],
        &["--as", "team-lead", "plan", "approve", plan.trim()],
        &["--as", "team-lead", "shutdown", "request", "alice"],
        &["--as", "bob", "shutdown", "reject", "--reason", "busy"],
        &["task", "list"],
        &["--as", "bob", "task", "create", "water"],
        &["--as", "bob", "task", "claim", "1"],
        &["--as", "alice", "task", "status-request", "1", "--no-wait"],
        &["--as", "bob", "task", "status", "1"],
        &["--as", "bob", "task", "complete", "1"],
        &["--as", "bob", "heartbeat"],
        &["--as", "bob", "idle"],
        &["--as", "team-lead", "health", "alice", "--timeout", "0s"],
        &["health", "--sweep"],
        &["tend"],
        &["retry"],
        &["pending"],
        &["status"],
        &["members"],
        &["log"],
        &["stats"],
        &["search", "one"],
        &["--as", "team-lead", "tend"],
        &["doctor"],
        &["doctor", "dev"],
        &["send", "alice", "five"],
        &["recall", "last"],
        &["validate", "dev"],
        &["validate"],
    ] {
        let Some(count) = opens(&world, "", args) else { return };
        if count != 1 {
            wrong.push(format!("{count}: atm {}", args.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_hook_loads_the_configuration_once_for_the_lead_and_for_members() {
    let world = World::with_team();
    world.ok(&["--as", "bob", "send", "team-lead", "one"]);
    world.ok(&["send", "bob", "two"]);
    let file = world.root().join("teams/dev/config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    config["leadSessionId"] = "the-leads".into();
    fs::write(&file, config.to_string()).unwrap();
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"] {
        let said = |session: &str| format!(r#"{{"session_id":"{session}","hook_event_name":"{event}"}}"#);
        for (session, args) in
            [("the-leads", &["hook", "--client", "claude"][..]), ("bobs", &["--as", "bob", "hook"])]
        {
            let Some(count) = opens(&world, &said(session), args) else { return };
            assert_eq!(count, 1, "{event} of {session}");
        }
    }
}

/// What a client says to a server of ours, for one call of a tool.
fn calling(tool: &str, arguments: &Value) -> String {
    let says = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }),
    ];
    says.map(|said| said.to_string()).join("\n") + "\n"
}

/// Whose server it is, or that it is nobody's, was found out beside the call.
#[test]
fn a_call_over_mcp_loads_the_configuration_once() {
    let world = World::with_team();
    let (first, second) = (world.sent("bob", "one"), world.sent("bob", "two"));
    let lead = ["--as", "team-lead"];
    world.ok(&[&lead[..], &["task", "create", "dig"]].concat());
    world.ok(&[&lead[..], &["task", "create", "plant"]].concat());
    let asked = world.ok(&[&lead[..], &["request", "bob", "ping", "--no-wait"]].concat());
    let mut wrong = Vec::new();
    let mut count = |server: &[&str], tool: &str, arguments: Value| -> Option<()> {
        let count = opens(&world, &calling(tool, &arguments), &[server, &["mcp"]].concat())?;
        if count != 1 {
            wrong.push(format!("{count}: {tool} {arguments} of {server:?}"));
        }
        Some(())
    };
    let nobodys: &[&str] = &["-t", "dev"];
    let bobs: &[&str] = &["-t", "dev", "--as", "bob"];
    let mut all = || {
        for server in [nobodys, bobs] {
            count(server, "members", json!({}))?;
            count(server, "pending", json!({}))?;
            count(server, "task_list", json!({}))?;
            count(server, "task_create", json!({ "subject": "water", "description": "all of it" }))?;
            count(server, "task_update", json!({ "task_id": "2", "subject": "plant trees" }))?;
            count(server, "heartbeat", json!({}))?;
            count(
                server,
                "send_message",
                json!({ "type": "message", "recipient": "alice", "content": "hello" }),
            )?;
            count(server, "send_message", json!({ "type": "broadcast", "content": "hello" }))?;
            count(server, "check_teammate", json!({ "agent_name": "alice" }))?;
            let who = if server == bobs { "bob" } else { "team-lead" };
            count(server, "read_inbox", json!({ "agent_name": who }))?;
            count(server, "poll_inbox", json!({ "agent_name": who, "timeout_ms": 1 }))?;
        }
        count(bobs, "track", json!({ "message_id": first }))?;
        count(nobodys, "track", json!({ "message_id": "last" }))?;
        count(bobs, "ack", json!({ "message_id": first }))?;
        count(bobs, "send_message", json!({ "type": "message", "reply_to": second, "content": "yes" }))?;
        count(bobs, "respond", json!({ "request_id": asked.trim() }))?;
        count(bobs, "claim_task", json!({ "task_id": "1" }))?;
        world.ok(&[&lead[..], &["send", "alice", "recall me"]].concat());
        count(nobodys, "recall", json!({ "message_id": "last" }))?;
        count(nobodys, "read_config", json!({}))
    };
    all();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
