//! Waiting for mail through the server.

use std::thread;
use std::time::{Duration, Instant};

use atm_store::Layout;
use atm_support::{Foreign, wait_until};
use serde_json::{Value, json};

use super::client::Client;
use crate::scene::{Dice, World, foreign_team};

/// Waits until the server sleeps on file events.
fn asleep(client: &Client) {
    let details = format!("/proc/{}/fdinfo", client.id());
    wait_until("it watches for file events", || {
        let entries = std::fs::read_dir(&details).into_iter().flatten().filter_map(Result::ok);
        let mut texts = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        cfg!(not(target_os = "linux")) || texts.any(|text| text.contains("inotify wd:"))
    });
}

const BOB: [&str; 4] = ["--as", "bob", "--team", "dev"];

#[test]
fn a_poll_wakes_with_a_foreign_write_and_does_not_block_other_calls() {
    let (world, team) = foreign_team(Layout::Array);
    let mut bob = Client::new(&world, &BOB);
    let poll = bob.ask_tool("poll_inbox", json!({ "timeout_ms": 30000 }));
    asleep(&bob);
    let started = Instant::now();
    for _ in 0..5 {
        bob.call("task_list", json!({}));
    }
    Foreign::client(&team.inbox("bob")).sending("m", 1).renaming().flag("--gen3").run();
    let mail = bob.called(poll);
    assert_eq!(mail["result"][0]["text"], "m0");
    assert!(started.elapsed() < Duration::from_secs(25), "it did not wait for its time to be over");
    assert_eq!(bob.call("read_inbox", json!({}))["result"], json!([]), "it is handed over once");
}

#[test]
fn without_mail_a_poll_ends_in_time_with_nothing_and_tells_that_it_waits() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &BOB);
    let started = Instant::now();
    let params = json!({
        "name": "poll_inbox", "arguments": { "timeout_ms": 300 }, "_meta": { "progressToken": "p1" },
    });
    let poll = bob.ask("tools/call", params);
    assert_eq!(bob.called(poll)["result"], json!([]));
    assert!(started.elapsed() >= Duration::from_millis(300));
    let progress = |message: &&Value| message["method"] == "notifications/progress";
    let told = bob.early().iter().find(progress).expect("a sign of progress");
    assert_eq!(told["params"]["progressToken"], "p1");
}

#[test]
fn a_cancelled_poll_takes_no_mail() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &BOB);
    let poll = bob.ask_tool("poll_inbox", json!({}));
    asleep(&bob);
    bob.say(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": poll } }),
    );
    assert_eq!(bob.call("poll_inbox", json!({ "timeout_ms": 50 }))["result"], json!([]));
    world.ok(&["send", "bob", "hello"]);
    assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 1);
    assert_eq!(bob.call("poll_inbox", json!({}))["result"][0]["text"], "hello");
    assert!(bob.early().iter().all(|message| message["id"] != poll), "a cancelled call is not answered");
}

#[test]
fn of_two_who_poll_one_gets_the_message() {
    let world = World::with_team();
    let (mut one, mut two) = (Client::new(&world, &BOB), Client::new(&world, &BOB));
    let (first, second) = (
        one.ask_tool("poll_inbox", json!({ "timeout_ms": 3000 })),
        two.ask_tool("poll_inbox", json!({ "timeout_ms": 3000 })),
    );
    asleep(&one);
    asleep(&two);
    world.ok(&["send", "bob", "hello"]);
    let got = [one.called(first), two.called(second)];
    let all: Vec<&Value> = got.iter().flat_map(|mail| mail["result"].as_array().unwrap()).collect();
    assert_eq!(all.len(), 1, "{got:?}");
}

#[test]
fn too_many_polls_are_refused_and_the_server_ends_with_its_client() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &BOB);
    for _ in 0..8 {
        bob.ask_tool("poll_inbox", json!({}));
    }
    assert_eq!(bob.refused("poll_inbox", json!({})), "8 calls wait already. Wait for one of them first");
    assert_eq!(bob.call("task_list", json!({}))["result"], json!([]), "others are not held up");
    let started = Instant::now();
    assert_eq!(bob.close(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(20), "the waiting call was woken");
}

#[test]
fn mail_that_nobody_received_stays_unread() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &BOB);
    bob.ask_tool("poll_inbox", json!({}));
    asleep(&bob);
    drop(bob);
    world.ok(&["send", "bob", "hello"]);
    assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 1);
}

/// An answer that was cancelled at the wrong moment kept its mail, and every later call waited for it.
#[test]
fn whenever_a_poll_is_cancelled_its_mail_is_there_and_nobody_waits_for_it() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &BOB);
    let mut dice = Dice::new(3);
    let mut got = 0;
    for round in 0..40 {
        let poll = bob.ask_tool("poll_inbox", json!({ "timeout_ms": 20000 }));
        let other = bob.ask_tool("read_inbox", json!({}));
        let mut sending = world.start(&["--as", "alice", "send", "bob", &format!("m{round}")]);
        thread::sleep(Duration::from_millis(dice.below(25)));
        let cancelled = json!({ "requestId": poll });
        bob.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
        got += bob.called(other)["result"].as_array().unwrap().len();
        wait_until("it is sent", || !sending.is_running());
        // Answered in spite of it, or not at all.
        let own = bob.ask_tool("task_list", json!({}));
        bob.answer(own);
    }
    for answer in bob.early() {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        got += serde_json::from_str::<Vec<Value>>(text).map_or(0, |mail| mail.len());
    }
    loop {
        let mail = bob.call("read_inbox", json!({}))["result"].as_array().unwrap().len();
        got += mail;
        if mail == 0 {
            break;
        }
    }
    // Shown twice is right where a cancellation came too late; not shown is not.
    assert!(got >= 40, "{got} of 40");
    assert_eq!(world.json(&["inbox", "bob", "--unread"]), json!([]));
}
