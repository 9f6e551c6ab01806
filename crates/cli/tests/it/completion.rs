//! Mail that was accepted by a sender that was killed is written by whatever looks at mail next.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::scene::World;

const LOST: &str = "its sender was killed";

/// A sender accepts a message for bob and dies.
fn accept_and_die(world: &World) {
    let mut command = world.command(&["--as", "team-lead", "send", "bob", LOST]);
    assert!(!command.env("ATM_TEST_DIE_AT", "accepted").output().unwrap().status.success());
}

fn is_there(world: &World) -> bool {
    world.inbox_file("bob").exists() && world.texts_for("bob").iter().any(|text| text == LOST)
}

fn input(event: &str) -> Value {
    json!({ "session_id": "s", "cwd": "/", "hook_event_name": event })
}

fn hook(world: &World, event: &str) {
    let input = input(event);
    let args = ["hook", event, "--client", "claude", "--as", "bob", "-t", "dev"];
    let answer = world.pipe(&args, input.to_string());
    assert!(matches!(answer.code, Some(0 | 2)), "{answer:?}");
}

#[test]
fn every_command_that_looks_at_mail_completes_it() {
    let mut missing = Vec::new();
    for command in [
        "inbox bob",
        "inbox bob --unread",
        "members",
        "status",
        "--as bob read",
        "--as bob read --peek",
        "--as bob read --wait 1s",
        "watch --for 100ms",
        "watch bob --all --count 1 --for 30s",
        "--as bob wake wait --for 30s",
        "wake bob --dry-run",
        "wake --all --dry-run",
        "wake --all --watch --for 100ms",
        "pending",
        "retry",
        "retry --dry-run",
        "log",
        "stats",
        "health --sweep",
        "doctor",
        "doctor --fix",
        "team show",
        "team delete dev",
        "--as bob reply 000000 never",
        "--as bob ack 000000",
        "--as bob respond 000000",
        "--as bob request alice question --timeout 100ms",
        "plan list",
    ] {
        let world = World::with_team();
        accept_and_die(&world);
        let answer = world.atm(&command.split(' ').collect::<Vec<_>>());
        if !is_there(&world) {
            missing.push((command, answer));
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_moment_of_a_hook_completes_it() {
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "TeammateIdle"] {
        let world = World::with_team();
        // There is mail, and it was presented and marked: the hook has nothing more to say, and remembers that.
        world.sent("bob", "before");
        for before in ["SessionStart", "Stop", "Stop", "UserPromptSubmit", "UserPromptSubmit"] {
            hook(&world, before);
        }
        accept_and_die(&world);
        hook(&world, event);
        assert!(is_there(&world), "{event}");
    }
}

#[test]
fn a_hook_with_nothing_to_do_does_not_open_the_ledger() {
    let world = World::with_team();
    world.sent("bob", "before");
    for event in ["SessionStart", "Stop", "Stop", "UserPromptSubmit", "UserPromptSubmit"] {
        hook(&world, event);
    }
    // Files that are too young may change without showing it.
    thread::sleep(Duration::from_millis(50));
    hook(&world, "UserPromptSubmit");
    let opened = traced(&world, "UserPromptSubmit");
    let Some(opened) = opened else { return };
    assert!(!opened.contains("log.db"), "{opened}");
}

/// The files that a hook opens, if this machine can tell.
fn traced(world: &World, event: &str) -> Option<String> {
    let trace = world.home().join("trace");
    let mut strace = world.program("strace");
    strace.args(["-f", "-e", "trace=openat,open", "-o"]).arg(&trace);
    strace.args([crate::scene::ATM, "hook", event, "--client", "claude", "--as", "bob", "-t", "dev"]);
    let said = world.home().join("input");
    std::fs::write(&said, input(event).to_string()).unwrap();
    strace.stdin(std::fs::File::open(said).unwrap());
    let done = strace.output().ok().filter(|output| output.status.success());
    done.and_then(|_| std::fs::read_to_string(trace).ok())
}

#[test]
fn every_tool_that_looks_at_mail_completes_it() {
    let tools: [(&str, Value); 7] = [
        ("read_inbox", json!({})),
        ("read_inbox", json!({ "mark_as_read": false })),
        ("read_inbox", json!({ "unread_only": false })),
        ("poll_inbox", json!({ "timeout_ms": 1000 })),
        ("members", json!({})),
        ("pending", json!({})),
        ("search_mail", json!({ "query": "killed" })),
    ];
    for (tool, arguments) in tools {
        let world = World::with_team();
        let mut client = Client::new(&world, &["--as", "bob", "-t", "dev"]);
        accept_and_die(&world);
        client.call(tool, arguments.clone());
        assert!(is_there(&world), "{tool} {arguments}");
    }
    let world = World::with_team();
    let mut client = Client::new(&world, &["--as", "bob", "-t", "dev"]);
    accept_and_die(&world);
    client.request("resources/read", json!({ "uri": "atm://dev/inbox/bob" }));
    assert!(is_there(&world), "resources/read");
}

#[test]
fn what_is_accepted_by_a_sender_that_dies_while_we_wait_is_completed() {
    for waiting in
        ["--as bob read --wait 60s", "watch bob --count 1 --for 60s", "--as bob wake wait --for 60s"]
    {
        let world = World::with_team();
        world.sent("bob", "before");
        world.ok(&["--as", "bob", "read"]);
        let waiter = world.start(&waiting.split(' ').collect::<Vec<_>>());
        // Whether it waits already or not: it must find it.
        accept_and_die(&world);
        let answer = waiter.finish();
        assert!(matches!(answer.code, Some(0 | 2)), "{waiting}: {answer:?}");
        assert!(is_there(&world), "{waiting}");
        assert!(answer.stdout.contains(LOST) || answer.stderr.contains("1 unread"), "{waiting}: {answer:?}");
    }
    let world = World::with_team();
    let mut client = Client::new(&world, &["--as", "bob", "-t", "dev"]);
    let call = client.ask_tool("poll_inbox", json!({ "timeout_ms": 30000 }));
    accept_and_die(&world);
    let got = client.called(call);
    assert_eq!(got["result"][0]["text"], LOST, "{got}");
}
