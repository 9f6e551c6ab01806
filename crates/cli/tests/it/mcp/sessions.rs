//! A server in a session that is nobody's: it writes and answers in its session's name.

use std::fs;

use atm_support::{SessionDouble, wait_until};
use serde_json::json;

use super::client::Client;
use crate::scene::World;

const SESSION: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";

#[test]
fn a_session_writes_to_another_and_answers_what_it_was_sent_by_tools() {
    let world = World::new();
    for name in ["shop", "api"] {
        fs::create_dir_all(world.home().join(name)).unwrap();
    }
    world.ok(&["sessions", "alias", "backend", "api"]);
    let double =
        SessionDouble::start(&world.root(), &world.home().join("shop"), &world.home().join("socks"), SESSION);
    let mut command = world.command(&["mcp"]);
    double.hand_to(&mut command);
    let mut server = Client::of(&mut command);
    server.greet();
    let register = || fs::read_dir(world.state().join("register")).is_ok_and(|notes| notes.count() > 0);
    wait_until("the session is noted", register);
    let sent = server.call("send_message", json!({ "recipient": "backend", "content": "is it deployed?" }));
    assert_eq!(sent["message"], "queued for api", "{sent}");
    let track = world.json(&["track", sent["id"].as_str().unwrap()]);
    assert_eq!((&track["from"], &track["team"]), (&json!("shop"), &json!("sessions")), "{track}");
    let question = world.json(&["send", "shop", "is the build green?"]);
    let id = question["id"].as_str().unwrap();
    wait_until("it is seen", || world.json(&["track", id])["stage"] == "seen");
    let acked = server.call("ack", json!({ "message_id": id }));
    assert_eq!(acked["success"], true, "{acked}");
    let answered = server.call("send_message", json!({ "reply_to": id, "content": "yes" }));
    assert_eq!(answered["success"], true, "{answered}");
    assert_eq!(world.json(&["track", id])["stage"], "done");
    // The same with a team beside it, whose lead's server it would be otherwise.
    world.ok(&["team", "create", "dev"]);
    let sent = server.call("send_message", json!({ "recipient": "backend", "content": "and now?" }));
    let track = world.json(&["track", sent["id"].as_str().unwrap()]);
    assert_eq!((&track["from"], &track["team"]), (&json!("shop"), &json!("sessions")), "{track}");
}
