//! What a daemon sees and does without anybody asking.

use std::fs;
use std::thread;

use atm_ledger::{Change, Stage};
use atm_store::Layout;
use atm_support::wait_until;
use rstest::rstest;
use serde_json::json;

use super::Watched;
use crate::scene::{World, foreign_team};

#[rstest]
fn what_a_client_writes_outlives_its_team(#[values(Layout::Array, Layout::Log)] layout: Layout) {
    let (world, team) = foreign_team(layout);
    let watched = Watched::new(world);
    watched.wait_until_it_rests();
    let line = json!({ "from": "alice", "text": "the build is green", "timestamp": "2026-11-17T06:00:00.000Z", "read": false });
    match layout {
        Layout::Array => team.write_inbox("bob", format!("[{line}]")),
        Layout::Log => team.write_inbox("bob", format!("{line}\n")),
    }
    watched.has_event("the message is in the log", |event| {
        event.new.as_ref().is_some_and(|new| new.text == "the build is green")
    });
    fs::remove_dir_all(team.folder()).unwrap();
    watched.has_event("its end is recorded", |event| event.kind.stage() == Some(Stage::Failed));
    let found = watched.world.json(&["search", "green"]);
    assert_eq!(found[0]["text"], "the build is green", "{found}");
}

#[test]
fn teams_that_come_are_watched_and_a_broken_one_holds_nobody_up() {
    let watched = Watched::new(World::with_team());
    let broken = watched.world.root().join("teams/broken");
    fs::create_dir_all(broken.join("inboxes")).unwrap();
    fs::write(broken.join("config.json"), "{").unwrap();
    wait_until("it tells of the broken one", || {
        watched.status()["troubles"].as_array().unwrap().iter().any(|trouble| trouble["team"] == "broken")
    });
    watched.world.ok(&["team", "create", "later"]);
    watched.world.ok(&["-t", "later", "member", "add", "carol"]);
    let inbox = watched.world.root().join("teams/later/inboxes/carol.json");
    let entry =
        json!([{ "from": "x", "text": "for carol", "timestamp": "2026-11-17T06:00:00.000Z", "read": false }]);
    fs::write(&inbox, entry.to_string()).unwrap();
    watched.has_event("the message is in the log", |event| {
        event.new.as_ref().is_some_and(|new| new.text == "for carol")
    });
    fs::write(broken.join("config.json"), "{\"name\":\"broken\",\"members\":[]}").unwrap();
    wait_until("the trouble is over", || watched.status()["troubles"] == json!([]));
    fs::write(broken.join("config.json"), "{").unwrap();
    wait_until("it tells of it again", || watched.status()["troubles"] != json!([]));
    fs::remove_dir_all(&broken).unwrap();
    wait_until("one that is gone is no trouble", || watched.status()["troubles"] == json!([]));
}

#[test]
fn teams_that_come_while_it_begins_are_not_missed() {
    let world = World::with_team();
    let teams = world.root().join("teams");
    let watched = Watched { world };
    let maker = thread::spawn(move || {
        for number in 0..200 {
            let team = teams.join(format!("t{number}"));
            fs::create_dir_all(team.join("inboxes")).unwrap();
            fs::write(team.join("config.json"), "{\"members\":[]}").unwrap();
        }
    });
    watched.start();
    maker.join().unwrap();
    wait_until("all are known", || watched.status()["teams"] == 201);
}

#[test]
fn folders_that_come_later_are_watched() {
    let world = World::with_team();
    let (root, aside) = (world.root(), world.home().join("aside/far"));
    fs::create_dir_all(aside.parent().unwrap()).unwrap();
    fs::rename(&root, &aside).unwrap();
    fs::create_dir_all(root.parent().unwrap()).unwrap();
    let watched = Watched::new(world);
    wait_until("it serves", || watched.status()["watches"].as_u64() > Some(0));
    assert_eq!(watched.status()["teams"], 0);
    fs::rename(&aside, &root).unwrap();
    wait_until("the team is known", || watched.status()["teams"] == 1);
    watched.wait_until_it_rests();
    let before = watched.status()["watches"].as_u64();
    fs::create_dir_all(root.join("projects/one")).unwrap();
    wait_until("conversations are watched", || watched.status()["watches"].as_u64() == before.map(|n| n + 2));
    fs::create_dir(root.join("projects/two")).unwrap();
    wait_until("later ones, too", || watched.status()["watches"].as_u64() == before.map(|n| n + 3));
}

/// A client makes a folder first and its configuration a moment later.
#[test]
fn a_folder_that_becomes_a_team_later_is_watched() {
    let watched = Watched::new(World::with_team());
    watched.wait_until_it_rests();
    let before = watched.status()["watches"].as_u64();
    let later = watched.world.root().join("teams/later");
    fs::create_dir(&later).unwrap();
    wait_until("the folder is watched", || watched.status()["watches"].as_u64() == before.map(|n| n + 1));
    assert_eq!(watched.status()["teams"], 1);
    fs::write(later.join("config.json"), "{\"members\":[]}").unwrap();
    wait_until("the team is known", || watched.status()["teams"] == 2);
}

#[test]
fn members_that_come_with_folders_of_their_own_are_watched() {
    let (world, team) = foreign_team(Layout::Log);
    let watched = Watched::new(world);
    watched.wait_until_it_rests();
    let before = watched.status()["watches"].as_u64();
    let folder = team.folder().join("members/carol");
    fs::create_dir(&folder).unwrap();
    wait_until("the folder is watched", || watched.status()["watches"].as_u64() == before.map(|n| n + 1));
    let line = json!({ "from": "alice", "text": "for carol", "timestamp": "2026-11-17T06:00:00.000Z" });
    fs::write(folder.join("inbox"), format!("{line}\n")).unwrap();
    watched.has_event("the message is in the log", |event| {
        event.new.as_ref().is_some_and(|new| new.text == "for carol")
    });
}

#[test]
fn a_member_that_is_killed_is_offline_soon() {
    let watched = Watched::new(World::with_team());
    let mut member = watched.start_bob();
    member.kill().unwrap();
    member.wait().unwrap();
    watched.has_event("bob is offline", |event| {
        let is_bob = event.inbox.as_ref().is_some_and(|inbox| inbox.name == "bob");
        is_bob && matches!(&event.change, Some(Change::Presence { state, .. }) if state == "offline")
    });
}

#[test]
fn what_is_due_is_done_and_new_settings_count_at_once() {
    let watched = Watched::new(World::with_team());
    let world = &watched.world;
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.ok(&["send", "bob", "later"]);
    world.ok(&["member", "set", "bob", "--active", "true"]);
    watched.wait_until_it_rests();
    let is_expired = |event: &atm_ledger::Event| event.kind.stage() == Some(Stage::Expired);
    assert!(!super::events(&watched.ledger()).iter().any(is_expired));
    let settings = world.home().join(".config/atm");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("config.toml"), "[delivery]\nexpire_after = \"1ms\"\n").unwrap();
    watched.has_event("it is expired", is_expired);
}
