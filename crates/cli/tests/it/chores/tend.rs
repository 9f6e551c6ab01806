//! `atm tend`

use std::fs::{self, File};

use atm_support::wait_until;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Codex, TOGETHER, drain, drained, settings};
use crate::scene::{Started, World};

/// The chores whose steps these are, each with what became of it.
fn chores(steps: &Value) -> Vec<String> {
    let word = |step: &Value, key: &str| step[key].as_str().unwrap().to_owned();
    let words = |step: &Value| format!("{} {}", word(step, "chore"), word(step, "outcome"));
    steps.as_array().unwrap().iter().map(words).collect()
}

#[test]
fn one_pass_does_all_that_is_due() {
    let world = World::with_team();
    settings(&world, "[delivery]\nretry_after = [\"0s\"]\nescalate_to = []\n[archive]\nkeep = 0\n");
    assert_eq!(world.ok(&["tend"]), "nothing is due\n");
    world.ok(&["--as", "alice", "task", "create", "dig"]);
    world.ok(&["member", "add", "carol"]);
    world.ok(&["--as", "carol", "task", "claim", "1", "--lease", "1ms"]);
    world.ok(&["member", "remove", "carol"]);
    world.sent("alice", "to be archived");
    world.ok(&["--as", "alice", "read"]);
    let id = drained(&world, "review this");
    let due = ["lease due", "offer due", "archive due"];
    assert_eq!(chores(&world.json(&["tend", "--dry-run"])[0]["steps"]), due);
    assert!(world.texts_for("bob").is_empty(), "a dry run does nothing");
    let said = world.ok(&["tend"]);
    assert!(said.contains(&format!("done: offer message {id} to bob again, number 2\n")), "{said}");
    assert!(said.contains("done: free task 1 of carol, who is no member any more\n"), "{said}");
    assert_eq!(world.texts_for("bob").len(), 1);
    assert_eq!(world.json(&["task", "show", "1"])["owner"], Value::Null);
    assert!(world.texts_for("alice").is_empty(), "it is in the archive");
    assert_eq!(world.ok(&["tend"]), "nothing is due\n");
}

#[test]
fn eight_at_once_take_each_step_once() {
    let codex = Codex::new();
    settings(&codex.world, "[delivery]\nretry_after = [\"0s\"]\nescalate_to = []\n");
    codex.world.ok(&["member", "add", "dave"]);
    codex.world.ok(&["member", "set", "dave", "--active", "false"]);
    codex.world.sent("dave", "review this");
    codex.world.ok(&["member", "set", "dave", "--active", "true"]);
    drain(&codex.world, "dave");
    let started: Vec<_> =
        (0..TOGETHER).map(|_| codex.command(&["tend", "--json"]).spawn().unwrap()).collect();
    let mut taken = Vec::new();
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let passes: Value = serde_json::from_slice(&output.stdout).unwrap();
        taken.extend(chores(&passes[0]["steps"]));
    }
    taken.sort();
    assert_eq!(taken, ["offer done", "wake done"]);
    assert_eq!(codex.calls(), 1);
    assert_eq!(codex.world.texts_for("dave").len(), 1);
}

#[test]
fn it_goes_on_until_it_is_stopped_and_leaves_nothing_behind() {
    let codex = Codex::new();
    codex.world.ok(&["--as", "bob", "read"]);
    let said = codex.world.home().join("said");
    let mut command = codex.command(&["tend", "--watch", "--json"]);
    command.stdout(File::create(&said).unwrap());
    let mut watching = Started::of(command.spawn().unwrap(), &codex.world);
    watching.wait_until_it_watches();
    codex.world.ok(&["--as", "bob", "idle"]);
    codex.world.ok(&["--as", "alice", "send", "bob", "second"]);
    wait_until("it is woken", || codex.calls() == 1);
    wait_until("that is said", || fs::read_to_string(&said).unwrap().contains("\"chore\":\"wake\""));
    watching.signal(Signal::INT);
    let ended = watching.finish();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let ledger = atm_ledger::Ledger::open(&codex.world.state().join("log.db")).unwrap();
    let root = atm_ledger::InboxKey::new(&codex.world.root(), "", "").root;
    assert_eq!(ledger.open_steps(&root, "dev").unwrap(), []);
    let timed = codex.world.atm(&["tend", "--watch", "--for", "50ms"]);
    assert_eq!(timed.code, Some(0), "{timed:?}");
}

#[test]
fn all_teams_are_tended_also_beside_one_that_cannot_be() {
    let world = World::with_team();
    world.ok(&["team", "create", "other"]);
    settings(&world, "[delivery]\nretry_after = [\"0s\"]\n");
    drained_in_dev(&world);
    assert_eq!(world.atm(&["tend", "--all-teams", "--team", "dev"]).code, Some(2));
    let all = world.json(&["tend", "--all-teams"]);
    let teams: Vec<&str> =
        all.as_array().unwrap().iter().map(|pass| pass["team"].as_str().unwrap()).collect();
    assert_eq!(teams, ["dev", "other"]);
    assert_eq!(chores(&all[0]["steps"]), ["offer done"]);
    assert_eq!(
        world.json(&["tend", "--team", "other"]),
        json!([{"team": "other", "steps": [], "next": null}])
    );
    assert_eq!(
        world.atm(&["--as", "alice", "--team", "dev", "tend"]).code,
        Some(4),
        "it acts in the lead's name"
    );
}

fn drained_in_dev(world: &World) {
    let dev = ["--team", "dev"];
    world.ok(&[&dev[..], &["member", "set", "bob", "--active", "false"]].concat());
    world.ok(&[&dev[..], &["send", "bob", "review this"]].concat());
    world.ok(&[&dev[..], &["member", "set", "bob", "--active", "true"]].concat());
    drain(world, "bob");
}
