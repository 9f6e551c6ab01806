//! Answers to one of two sessions that share a folder's mailbox, by the commands and tools that agents answer with.

use std::fs;

use atm_support::{SessionDouble, wait_until};
use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::scene::World;
use crate::session::Session;

const FIRST: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const SECOND: &str = "5c1d2e3f-0000-4a9e-9d0f-1f2e3d4c5b6a";
const ASKED: &str = "6d2e3f4a-0000-4a9e-9d0f-1f2e3d4c5b6a";

/// The session of the two that took the next turn got the answer, whoever had asked.
#[test]
fn the_session_that_asked_gets_the_answer_and_not_the_one_beside_it() {
    let world = World::new();
    let mut asks = Session::start(&world, FIRST, "shop");
    let mut beside = Session::start(&world, SECOND, "shop");
    let mut asked = Session::start(&world, ASKED, "web");
    let (_, stdout, stderr) = asks.atm(&["send", "web", "which port?", "--json"]);
    let sent: Value = serde_json::from_str(&stdout).expect(&stderr);
    let id = sent["id"].as_str().unwrap();
    assert_eq!(asked.atm(&["ack", id]).0, 0);
    assert_eq!(asked.atm(&["reply", id, "8080"]).0, 0);
    assert_eq!(beside.hook("UserPromptSubmit"), "");
    assert!(asks.hook("UserPromptSubmit").contains("8080"));
}

#[test]
fn a_question_by_a_tool_is_answered_in_the_session_that_its_server_runs_in() {
    let world = World::new();
    let shop = world.home().join("shop");
    fs::create_dir_all(&shop).unwrap();
    let double = SessionDouble::start(&world.root(), &shop, &world.home().join("socks"), FIRST);
    let mut command = world.command(&["mcp"]);
    double.hand_to(&mut command);
    let mut server = Client::of(&mut command);
    server.greet();
    let is_noted = || fs::read_dir(world.state().join("register")).is_ok_and(|notes| notes.count() > 0);
    wait_until("the session is noted", is_noted);
    let mut asked = Session::start(&world, ASKED, "web");
    let sent = server.call("send_message", json!({ "recipient": "web", "content": "which port?" }));
    let (code, _, stderr) = asked.atm(&["reply", sent["id"].as_str().unwrap(), "8080"]);
    assert_eq!(code, 0, "{stderr}");
    let inbox = world.root().join("teams/sessions/inboxes/shop.json");
    let entries: Value = serde_json::from_slice(&fs::read(inbox).unwrap()).unwrap();
    assert_eq!(entries[0]["metadata"]["atm"]["session"], FIRST, "{entries}");
}
