//! Dying between any two steps of a send: each accepted message ends in the inbox exactly once.

use std::fs;

use crate::scene::World;

fn dies_at(world: &World, point: &str) {
    let mut command = world.command(&["send", "bob", &format!("dies at {point}")]);
    let ended = command.env("ATM_TEST_DIE_AT", point).output().unwrap().status;
    assert!(!ended.success(), "the process got past {point}");
}

#[test]
fn a_message_is_finished_once_wherever_its_sender_died() {
    for point in atm_store::points::ALL {
        let world = World::with_team();
        dies_at(&world, point);
        // Any command that looks at history finishes it; the second finds nothing left to do.
        world.ok(&["log"]);
        world.ok(&["log"]);
        assert_eq!(world.texts_for("bob"), [format!("dies at {point}")], "{point}");
        let left: Vec<_> = fs::read_dir(world.root().join("teams/dev/inboxes"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains(".atm-") || name.ends_with(".json.lock"))
            .collect();
        assert!(left.is_empty(), "{point} left {left:?}");
    }
}

#[test]
fn the_next_sender_finishes_it_too() {
    let world = World::with_team();
    dies_at(&world, "accepted");
    world.ok(&["send", "bob", "after it"]);
    assert_eq!(world.texts_for("bob"), ["dies at accepted", "after it"]);
}

#[test]
fn the_recipient_who_reads_gets_it() {
    let world = World::with_team();
    dies_at(&world, "accepted");
    let read = world.json(&["--as", "bob", "read"]);
    assert_eq!(read[0]["text"], "dies at accepted");
}

#[test]
fn what_a_client_drained_before_the_sender_could_note_it_is_not_written_again() {
    for point in ["renamed", "released"] {
        let world = World::with_team();
        dies_at(&world, point);
        fs::write(world.inbox_file("bob"), "[]").unwrap();
        world.ok(&["log"]);
        world.ok(&["send", "bob", "next"]);
        assert_eq!(world.texts_for("bob"), ["next"], "{point}");
    }
}

#[test]
fn its_stages_are_those_of_a_sender_that_lived() {
    for point in atm_store::points::ALL {
        let world = World::with_team();
        let mut command = world.command(&["send", "zoe", "for somebody who is not there", "--create"]);
        assert!(!command.env("ATM_TEST_DIE_AT", point).output().unwrap().status.success());
        world.ok(&["log"]);
        let log = world.json(&["log"]);
        let track = world.json(&["track", log[0]["id"].as_str().unwrap()]);
        let stages: Vec<_> =
            track["stages"].as_array().unwrap().iter().map(|stage| &stage["stage"]).collect();
        assert_eq!(stages, ["accepted", "written", "queued"], "{point}");
    }
}

#[test]
fn what_a_dead_senders_reply_answers_is_done() {
    for point in ["accepted", "renamed", "recorded"] {
        let world = World::with_team();
        let id = world.sent("bob", "please");
        let mut command = world.command(&["--as", "bob", "reply", &id, "done"]);
        assert!(!command.env("ATM_TEST_DIE_AT", point).output().unwrap().status.success());
        world.ok(&["log"]);
        assert_eq!(world.stage(&id), "done", "{point}");
    }
}

#[test]
fn what_a_dead_sender_had_put_in_place_is_known_even_after_somebody_else_had_the_turn() {
    let world = World::with_team();
    dies_at(&world, "renamed");
    world.ok(&["--as", "bob", "read"]);
    fs::write(world.inbox_file("bob"), "[]").unwrap();
    world.ok(&["log"]);
    assert!(world.texts_for("bob").is_empty(), "it is not written again");
}
