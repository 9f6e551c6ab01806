//! An operation of several steps that fails in a later one says what is done, and never that nothing was changed.

use std::fs;
use std::time::UNIX_EPOCH;

use serde_json::Value;

use crate::mcp::client::Client;
use crate::scene::{Answer, World};

/// Checks what a command says that has changed something.
fn says(answer: &Answer, done: &str) {
    assert!(!matches!(answer.code, Some(0 | 5 | 6)), "{answer:?}");
    assert!(answer.stderr.contains(&format!("done before it failed: {done}")), "{answer:?}");
    assert!(!answer.stderr.contains("nothing was"), "{answer:?}");
}

/// Makes the inboxes' folder a file, so that no inbox can be made.
fn without_inboxes(world: &World) {
    let folder = world.root().join("teams/dev/inboxes");
    fs::rename(&folder, world.home().join("inboxes")).unwrap();
    fs::write(&folder, "").unwrap();
}

#[test]
fn a_member_whose_inbox_cannot_be_made_is_a_member() {
    let world = World::with_team();
    without_inboxes(&world);
    let answer = world.atm(&["member", "add", "zoe"]);
    says(&answer, "zoe was added to the team");
    let config = fs::read_to_string(world.root().join("teams/dev/config.json")).unwrap();
    assert!(config.contains("\"zoe\""), "{config}");
    let answer = world.atm(&["member", "add", "eve", "--json"]);
    let document: Value = serde_json::from_str(&answer.stderr).unwrap();
    assert!(document["error"]["hint"].as_str().unwrap().contains("eve was added"), "{document}");
}

/// A task that cannot be read makes every list of tasks fail that needs all of them.
fn lock_up(world: &World, id: &str) {
    // A folder in the lock's place, with something in it: nobody removes it.
    let lock = world.root().join(format!("tasks/dev/{id}.json.lock"));
    fs::create_dir_all(lock.join("held")).unwrap();
    fs::File::open(&lock).unwrap().set_modified(UNIX_EPOCH).unwrap();
}

#[test]
fn a_task_that_could_not_be_linked_is_there() {
    let world = World::with_team();
    world.ok(&["task", "create", "first"]);
    lock_up(&world, "1");
    let answer = world.atm(&["task", "create", "second", "--blocked-by", "1"]);
    says(&answer, "task 2 was created");
    assert_eq!(world.json(&["task", "show", "2"])["subject"], "second");
    let mut client = Client::new(&world, &["-t", "dev"]);
    let words = client.refused("task_update", serde_json::json!({ "task_id": "2", "add_blocked_by": ["1"] }));
    assert!(words.contains("Done before it failed: task 2 was changed"), "{words}");
    assert!(!words.to_lowercase().contains("nothing was"), "{words}");
}

#[test]
fn an_error_that_changed_nothing_says_so() {
    let world = World::with_team();
    world.ok(&["task", "create", "first"]);
    lock_up(&world, "1");
    let answer = world.atm(&["task", "update", "1", "--subject", "other"]);
    assert_eq!(answer.code, Some(5), "{answer:?}");
    assert!(!answer.stderr.contains("done before"), "{answer:?}");
}

#[test]
fn a_request_that_was_sent_is_sent_whatever_the_wait_comes_to() {
    let world = World::with_team();
    let lead = world.inbox_file("team-lead");
    let _ = fs::remove_file(&lead);
    fs::create_dir(&lead).unwrap();
    let answer = world.atm(&["--as", "team-lead", "request", "bob", "question", "--timeout", "1s"]);
    assert!(answer.stderr.contains("done before it failed: request req-"), "{answer:?}");
    assert!(!answer.stderr.contains("nothing was"), "{answer:?}");
    assert_eq!(world.texts_for("bob").len(), 1);
}
