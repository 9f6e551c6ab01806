//! `atm team convert` through the real binary: all mail is there, once, whatever happens meanwhile.

mod beside_others;
mod commands;
mod crashes;
mod there_and_back;

use atm_wire::json::compact;
use serde::Deserialize;
use serde_json::Value;

use crate::scene::World;

/// The other layout.
fn other(layout: &str) -> &'static str {
    if layout == "array" { "log" } else { "array" }
}

/// What one sees of a message.
#[derive(Deserialize)]
struct Seen {
    id: String,
    text: String,
    read: bool,
}

/// What one sees of an inbox, whichever layout it is in: id, text, and whether it was read; sorted.
fn mail(world: &World, name: &str) -> Vec<(String, String, bool)> {
    let listed = world.ok(&["inbox", name, "--json"]);
    let listed: Vec<Seen> = serde_json::from_str(&listed).unwrap_or_else(|error| panic!("{error}: {listed}"));
    // A payload is an object in a log: there are no spaces to be kept.
    let plain = |text: String| if text.starts_with('{') { compact(&text) } else { text };
    let mut mail: Vec<_> = listed.into_iter().map(|seen| (seen.id, plain(seen.text), seen.read)).collect();
    mail.sort();
    mail
}

/// The stages of a message, with what is known of each.
fn stages(world: &World, id: &str) -> Value {
    world.json(&["track", id])["stages"].clone()
}

/// A team whose bob has read two of four messages; gives it and the ids.
fn team_with_mail(layout: &str) -> (World, Vec<String>) {
    let world = World::new();
    world.ok(&["team", "create", "dev", "--layout", layout]);
    for name in ["alice", "bob"] {
        world.ok(&["member", "add", name]);
    }
    let send = |text: &str, priority: &str| {
        let sent = world.json(&["--as", "alice", "send", "bob", text, "--priority", priority]);
        sent["id"].as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = ["one", "two", "three"].iter().map(|text| send(text, "normal")).collect();
    world.ok(&["--as", "bob", "read", "--limit", "2"]);
    ids.push(send("urgent", "high"));
    (world, ids)
}
