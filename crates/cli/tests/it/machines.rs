//! Members of other machines through the binary: what a command says of them, and what it leaves alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atm_office::Office;
use atm_office::machines::{Receipt, RemoteMember, Stage};
use atm_store::{Root, State};
use atm_wire::{Stamp, TeamName};

use crate::scene::World;

/// A world whose team `dev` has a lead and Carol on the machine `desk`.
fn shared() -> (World, Office) {
    let world = World::with_team();
    let office = Office::new(Root::new(world.root()), State::new(world.state()));
    let member = |name: &str, is_lead| RemoteMember {
        name: name.to_owned(),
        machine: "desk".parse().unwrap(),
        is_lead,
        holds_name: false,
        state: "idle".to_owned(),
        seen_at: None,
        epoch: None,
    };
    office.machines().set_members(&team(), &[member("team-lead", true), member("carol", false)]).unwrap();
    (world, office)
}

fn team() -> TeamName {
    "dev".parse().unwrap()
}

/// As the desk's bridge would say it.
fn tell(office: &Office, id: &str, stage: Stage, why: &str) {
    let machines = office.machines();
    let letter = machines.outgoing(0, 100).unwrap().into_iter().find(|letter| letter.id == id).unwrap();
    let failure = machines.receipt_of_failure(&letter, why).unwrap();
    let receipt = Receipt { stage, at: Stamp::from_millis(1_794_768_140_463), ..failure };
    assert_eq!(machines.confirm(&letter.machine, &[receipt]).unwrap(), 1);
}

#[test]
fn members_show_their_machine_and_its_word() {
    let (world, office) = shared();
    let _serving = office.machines().serve().unwrap().unwrap();
    let members = world.json(&["members"]);
    crate::schema::hold_answer(&world, "members", &members);
    let seen: Vec<(String, Option<String>, String)> = members
        .as_array()
        .unwrap()
        .iter()
        .map(|member| {
            let text = |key: &str| member[key].as_str().map(ToOwned::to_owned);
            (text("name").unwrap(), text("machine"), text("state").unwrap())
        })
        .collect();
    assert!(seen.contains(&("carol".to_owned(), Some("desk".to_owned()), "idle".to_owned())), "{seen:?}");
    assert!(seen.iter().any(|(name, machine, _)| name == "alice" && machine.is_none()), "{seen:?}");
    let shown = world.ok(&["members"]);
    assert!(shown.contains("MACHINE") && shown.contains("desk"), "{shown}");
    assert!(!World::with_team().ok(&["members"]).contains("MACHINE"), "nobody has to know of machines");
}

#[test]
fn a_send_is_accepted_and_its_way_is_followed() {
    let (world, office) = shared();
    let answer = world.atm(&["--as", "alice", "--json", "send", "carol", "hello"]);
    assert_eq!(answer.code, Some(9), "{answer:?}");
    let sent: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((sent["status"].as_str(), sent["stage"].as_str()), (Some("queued"), Some("accepted")));
    let id = sent["id"].as_str().unwrap();
    assert_eq!(fs::read_to_string(world.root().join("teams/dev/inboxes/carol.json")).unwrap().trim(), "[]");
    let pending = world.json(&["pending"]);
    assert_eq!(pending["waiting"][0]["id"].as_str().or(pending[0]["id"].as_str()), Some(id), "{pending}");
    tell(&office, id, Stage::Seen, "in the recipient's conversation");
    let track = world.json(&["track", id]);
    assert_eq!(track["stage"], "seen");
    let stages = track["stages"].as_array().unwrap();
    let seen = stages.iter().find(|stage| stage["stage"] == "seen").unwrap();
    assert_eq!(seen["evidence"]["machine"], "desk");
    let shown = world.ok(&["track", id]);
    assert!(shown.contains("on machine desk"), "{shown}");
}

#[test]
fn a_wait_ends_with_the_word_of_the_other_machine() {
    let (world, office) = shared();
    let _serving = office.machines().serve().unwrap().unwrap();
    let waiting = world.start(&[
        "--as",
        "alice",
        "--json",
        "send",
        "carol",
        "hello",
        "--wait",
        "seen",
        "--timeout",
        "60s",
    ]);
    let outgoing = || office.machines().outgoing(0, 10).unwrap();
    atm_support::wait_until("the letter waits", || !outgoing().is_empty());
    tell(&office, &outgoing()[0].id, Stage::Seen, "in the recipient's conversation");
    let answer = waiting.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(
        answer.stdout.contains("\"stage\": \"seen\"") || answer.stdout.contains("\"stage\":\"seen\""),
        "{answer:?}"
    );
}

#[test]
fn the_inbox_of_another_machines_member_is_left_alone() {
    let (world, _office) = shared();
    for file in ["carol", "team-lead-desk", "user-desk"] {
        let broken = r#"[{"from":"team-lead","text":"native"},7]"#;
        fs::write(world.root().join(format!("teams/dev/inboxes/{file}.json")), broken).unwrap();
    }
    let doctor = world.atm(&["doctor", "--json"]);
    let validate = world.atm(&["validate", "--json"]);
    let archive = world.atm(&["archive", "--older-than", "0s", "--dry-run", "--json"]);
    for answer in [&doctor, &validate, &archive] {
        for name in ["carol", "team-lead-desk", "user-desk"] {
            let file = format!("inboxes/{name}.json");
            assert!(!answer.stdout.contains(&file), "{file}: {answer:?}");
        }
    }
    assert_eq!(validate.code, Some(0), "{validate:?}");
    for args in [&["read", "--as", "carol"][..], &["archive", "carol"], &["wake", "carol"]] {
        let answer = world.atm(args);
        assert_eq!(answer.code, Some(4), "{args:?}: {answer:?}");
        assert!(answer.stderr.contains("carol is on machine desk"), "{args:?}: {answer:?}");
    }
}

#[test]
fn a_bridge_that_is_not_installed_is_named_with_how_to_get_it() {
    let world = World::new();
    let answer = with_copy(&world, None, &["bridge", "status"]);
    assert_eq!(answer.0, Some(3), "{answer:?}");
    assert!(answer.1.contains("atm-bridge is not installed"), "{answer:?}");
    assert!(answer.1.contains("cargo install --path crates/bridge"), "{answer:?}");
}

#[test]
fn a_bridge_is_found_beside_atm_and_gets_root_state_and_words() {
    let world = World::new();
    let script = "#!/bin/sh\necho \"$@\" >&2\nexit 8\n";
    let answer =
        with_copy(&world, Some(script), &["--json", "bridge", "trust", "desk", "--as-lead", "--json"]);
    assert_eq!(answer.0, Some(8), "{answer:?}");
    let (root, state) = (world.root().display().to_string(), world.state().display().to_string());
    let expected = format!("--root {root} --state {state} --json trust desk --as-lead --json");
    assert_eq!(answer.1.trim(), expected);
}

/// Runs a copy of the binary in a folder of its own, with a bridge beside it or none.
fn with_copy(world: &World, bridge: Option<&str>, args: &[&str]) -> (Option<i32>, String) {
    let bin = world.home().join("own-bin");
    fs::create_dir_all(&bin).unwrap();
    fs::copy(crate::scene::ATM, bin.join("atm")).unwrap();
    if let Some(script) = bridge {
        fs::write(bin.join("atm-bridge"), script).unwrap();
        fs::set_permissions(bin.join("atm-bridge"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = world.program(bin.join("atm").to_str().unwrap());
    let output = command.env("PATH", "/usr/bin:/bin").args(args).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn settings_of_the_bridge_are_known_and_a_projects_do_not_count() {
    let world = World::new();
    world.ok(&["config", "set", "bridge.nats", "nats://hub:4222"]);
    world.ok(&["config", "set", "bridge.teams", "dev,night=shared"]);
    let shown = world.json(&["config"]);
    let value = |key: &str| {
        let all = shown["settings"].as_array().unwrap();
        all.iter().find(|line| line["key"] == key).unwrap()["value"].as_str().map(ToOwned::to_owned)
    };
    assert_eq!(value("bridge.nats").as_deref(), Some("nats://hub:4222"));
    assert_eq!(value("bridge.teams").as_deref(), Some("dev, night=shared"));
    let bad = world.atm(&["config", "set", "bridge.machine", "My Laptop"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    let project = world.home().join("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join(".atm.toml"), "[bridge]\nnats = \"nats://evil:4222\"\n").unwrap();
    let mut command = world.command(&["config", "--json"]);
    let output = command.current_dir(&project).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("evil") && text.contains("\"bridge\""), "{text}");
}

/// What was answered as done and set back later: nobody could be asked whether it may.
#[test]
fn without_a_bridge_own_work_on_a_shared_task_is_completed_as_a_request_and_nothing_is_given_away() {
    let (world, office) = shared();
    for title in ["Build", "Test"] {
        world.ok(&["task", "create", title]);
    }
    world.ok(&["--as", "alice", "task", "claim", "1"]);
    office.machines().set_shared_teams(&"laptop".parse().unwrap(), &[team()]).unwrap();
    for args in
        [["task", "assign", "2", "alice"].as_slice(), &["task", "delete", "1"], &["task", "complete", "2"]]
    {
        let refused = world.atm(args);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        assert!(refused.shown().contains("no bridge runs here: nothing was changed"), "{refused:?}");
    }
    for _ in 0..2 {
        let done = world.json(&["--as", "alice", "task", "complete", "1", "--no-message"]);
        crate::schema::hold_answer(&world, "task-outcome", &done);
        assert_eq!((&done["requested"], &done["task"]["status"]), (&true.into(), &"completed".into()));
        assert!(done["warnings"][0].as_str().unwrap().starts_with("this is a request: "), "{done}");
    }
    let said = world.atm(&["--as", "alice", "task", "complete", "1", "--no-message"]);
    assert_eq!(said.code, Some(0));
    assert!(said.shown().contains("requested: completed task 1: Build"), "{said:?}");
    assert!(said.shown().contains("warning: this is a request: no bridge runs here"), "{said:?}");
}
