//! A configuration alone, put back over a team that is there.

use std::fs;

use serde_json::json;

use super::back_up;
use crate::scene::World;

/// A team whose configuration was broken after a backup of all of it, and one of its configuration.
fn broken() -> (World, String, String) {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let whole = back_up(&world, "whole.tar.zst");
    let alone = world.home().join("alone.tar.gz").display().to_string();
    world.ok(&["team", "backup", "--config-only", "--gzip", "--out", &alone]);
    fs::write(world.root().join("teams/dev/config.json"), "{\"name\": \"dev\", ").unwrap();
    (world, whole, alone)
}

#[test]
fn a_broken_configuration_is_replaced_and_the_mail_stays() {
    let (world, whole, alone) = broken();
    let config = world.root().join("teams/dev/config.json");
    let inbox = world.root().join("teams/dev/inboxes/bob.json");
    for backup in [&whole, &alone] {
        let plan = world.json(&["team", "restore", backup, "--config-only", "--dry-run"]);
        assert_eq!((&plan["added"], &plan["journal"]), (&json!(["team-lead", "alice", "bob"]), &json!(null)));
        assert_eq!(world.atm(&["members"]).code, Some(6), "nothing was done");
        let mail = fs::read(&inbox).unwrap();
        let done = world.json(&["team", "restore", backup, "--config-only"]);
        assert_eq!(world.json(&["members"]).as_array().unwrap().len(), 3);
        assert_eq!(fs::read(&inbox).unwrap(), mail);
        let again = world.json(&["team", "restore", backup, "--config-only"]);
        assert_eq!(again["journal"], json!(null), "it is as it was");
        world.ok(&["doctor", "--undo", done["journal"].as_str().unwrap()]);
        assert_eq!(fs::read_to_string(&config).unwrap(), "{\"name\": \"dev\", ");
    }
    fs::remove_file(&config).unwrap();
    world.ok(&["team", "restore", &whole, "--config-only"]);
    assert_eq!(world.json(&["members"]).as_array().unwrap().len(), 3, "one that is gone comes back too");
}

#[test]
fn who_comes_and_who_goes_is_told() {
    let (world, whole, _) = broken();
    world.ok(&["team", "restore", &whole, "--config-only"]);
    world.ok(&["member", "remove", "alice"]);
    world.ok(&["member", "add", "carol"]);
    let told = world.session(
        "atm team restore whole.tar.zst --config-only --dry-run | sed 's/ of .* in / in /'
        atm team restore whole.tar.zst --config-only | sed 's/ of .* in / in /'
        atm team restore whole.tar.zst --config-only --merge 2>&1 | head -1
        atm team restore whole.tar.zst --config-only --as nobody",
    );
    insta::assert_snapshot!(told, @r#"
    $ atm team restore whole.tar.zst --config-only --dry-run | sed 's/ of .* in / in /'
    alice is a member again
    carol is no member any more
    would put back the configuration in [ROOT]/teams/dev/config.json
    $ atm team restore whole.tar.zst --config-only | sed 's/ of .* in / in /'
    alice is a member again
    carol is no member any more
    put back the configuration in [ROOT]/teams/dev/config.json; `atm doctor --undo [TIME]` undoes it
    $ atm team restore whole.tar.zst --config-only --merge 2>&1 | head -1
    error: the argument '--config-only' cannot be used with '--merge'
    $ atm team restore whole.tar.zst --config-only --as nobody
    2> error: there is no team "nobody"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    "#);
    assert!(world.root().join("teams/dev/inboxes/carol.json").exists(), "the mail of who goes stays");
}

#[test]
fn it_is_put_in_place_of_none_that_is_of_a_later_generation() {
    let (world, whole, _) = broken();
    let config = world.root().join("teams/dev/config.json");
    let newer = r#"{"name": "dev", "schemaVersion": "2.0.0", "members": []}"#;
    fs::write(&config, newer).unwrap();
    let answer = world.atm(&["team", "restore", &whole, "--config-only", "--json"]);
    assert_eq!((answer.code, answer.error()["code"].as_str()), (Some(6), Some("newer_format")));
    assert_eq!(fs::read_to_string(&config).unwrap(), newer);

    // Under another team's name, its members get that team's ids.
    world.ok(&["team", "create", "ops"]);
    world.ok(&["team", "restore", &whole, "--config-only", "--as", "ops"]);
    let ops = fs::read_to_string(world.root().join("teams/ops/config.json")).unwrap();
    assert!(ops.contains("bob@ops") && !ops.contains("@dev"), "{ops}");
}
