//! A daemon tells as it happens, and no receiver holds it up.

use std::fs;

use atm_support::wait_until;
use serde_json::json;

use super::{heard, kinds, program, settings};
use crate::daemon::Watched;
use crate::scene::World;

#[test]
fn a_member_that_is_killed_over_its_work_is_told_once() {
    let world = World::with_team();
    settings(&world, "[notify]\ncommand = [\"TELL\"]\n");
    world.ok(&["task", "create", "Fix the build", "--owner", "bob"]);
    let watched = Watched::new(world);
    let mut member = watched.start_bob();
    watched.wait_until_it_rests();
    member.kill().unwrap();
    member.wait().unwrap();
    wait_until("it is told", || !heard(&watched.world).is_empty());
    let all = heard(&watched.world);
    assert_eq!((&all[0]["kind"], &all[0]["member"]), (&json!("death"), &json!("bob")), "{all:?}");
    let text = all[0]["text"].as_str().unwrap();
    assert!(text.starts_with("bob died with 1 open task"), "{text}");
    // Neither another runner nor another daemon tells it again.
    watched.world.ok(&["tend"]);
    watched.world.ok(&["daemon", "stop"]);
    watched.start();
    watched.wait_until_it_rests();
    watched.world.ok(&["tend"]);
    assert_eq!(kinds(&watched.world), ["death"]);
}

#[test]
fn a_receiver_that_hangs_holds_up_neither_the_daemon_nor_its_end() {
    let world = World::with_team();
    let begun = world.home().join("begun");
    let hang = program(&world, "hang", &format!("echo >> {}; exec sleep 60", begun.display()));
    settings(
        &world,
        &format!(
            "[delivery]\nexpire_after = \"1ms\"\n[notify]\ncommand = [{hang:?}]\ndisk_below = \"9000000GB\"\n"
        ),
    );
    let watched = Watched::new(world);
    wait_until("it is told by a program that hangs", || begun.exists());
    let world = &watched.world;
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.ok(&["send", "bob", "later"]);
    world.ok(&["member", "set", "bob", "--active", "true"]);
    watched.has_event("what is due is done", |event| event.kind.stage() == Some(atm_ledger::Stage::Expired));
    assert_eq!(fs::read_to_string(&begun).unwrap().lines().count(), 1, "it still hangs");
    world.ok(&["daemon", "stop"]);
}
