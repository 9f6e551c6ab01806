//! A command loads the configuration of its team once, however many parts of the office ask for it.

use std::fs;

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
    Some(opened.lines().filter(|line| line.contains("/config.json\"") && !line.contains("ENOENT")).count())
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
    ] {
        let Some(count) = opens(&world, "", args) else { return };
        if count != 1 {
            wrong.push(format!("{count}: atm {}", args.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_hook_loads_the_configuration_once_whoever_it_is_for() {
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
