//! A team's `config.json`: several programs edit it, and nobody's edit is undone.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use atm_store::{Layout, State, StoreError, TeamFolder};
use atm_support::{TestEnv, TestTeam, client_fixtures, wait_until};
use atm_wire::{MemberName, TeamName};
use serde_json::{Value, json};

use crate::scene::{HASTY, array_team};

/// Keys in an order of their own, and numbers that a parser and printer would change.
const FOREIGN: &str = r#"{
  "zeta": 1E2,
  "name": "demo",
  "counter": 0,
  "members": [
    {"name": "bob", "big": 12345678901234567890.10, "isActive": true, "color": "\u00e9"},
    {
      "x": {},
      "name": "carol"
    }
  ],
  "alpha": [ 1.0 ]
}
"#;

fn team_with(config: &str) -> TestTeam {
    let team = array_team();
    fs::write(team.config_file(), config).unwrap();
    team
}

#[test]
fn no_folder_of_a_new_team_is_made_behind_a_link_of_somebody_else() {
    for name in ["teams", "teams/new", "teams/new/inboxes"] {
        let team = array_team();
        let (link, outside) = (team.env().root().join(name), team.env().home().join("outside"));
        if name == "teams" {
            fs::remove_dir_all(&link).unwrap();
        }
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, &link).unwrap();
        if lchown(&link, Some(12_345), None).is_err() {
            return eprintln!("skipped: only root can give a link away");
        }
        let new = {
            let env = team.env();
            let name = TeamName::parse("new").unwrap();
            TeamFolder::new(&env.store_root(), &name, &env.store_state(), HASTY)
        };
        let error = new.create(&json!({"name": "new"}), Layout::Array, None).unwrap_err();
        assert!(matches!(error, StoreError::LinkedAway { .. }), "{name}: {error}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{name}");
        assert!(!new.config_file().exists(), "{name}");
    }
}

fn text(team: &TestTeam) -> String {
    fs::read_to_string(team.config_file()).unwrap()
}

fn names(team: &TestTeam) -> Vec<String> {
    team.store().load().unwrap().members.into_iter().map(|member| member.name).collect()
}

fn lock_of(team: &TestTeam) -> PathBuf {
    team.config_file().with_file_name("config.json.lock")
}

fn is_queued(team: &TestTeam) -> bool {
    fn held(folder: &Path) -> bool {
        fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.any(|entry| {
                let path = entry.unwrap().path();
                let is_lock = path.ends_with("config.json") && path.is_file();
                let taken = || fs::File::open(&path).is_ok_and(|file| file.try_lock().is_err());
                (is_lock && taken()) || held(&path)
            })
        })
    }
    held(&team.env().state().join("queue"))
}

#[test]
fn an_edit_changes_what_it_names_and_no_other_byte() {
    let team = team_with(FOREIGN);
    team.store().set_member("bob", &[("isActive", json!(false))]).unwrap();
    let expected = FOREIGN.replace("\"isActive\": true", "\"isActive\": false");
    assert_eq!(text(&team), expected);

    team.store().add_member("dave", &json!({"name": "dave"})).unwrap();
    let expected = expected.replace(
        "\"name\": \"carol\"\n    }\n",
        "\"name\": \"carol\"\n    },\n    {\n      \"name\": \"dave\"\n    }\n",
    );
    assert_eq!(text(&team), expected);

    let carol = MemberName::parse("carol").unwrap();
    let carols = "    {\n      \"x\": {},\n      \"name\": \"carol\"\n    },\n";
    team.store().remove_member(&carol, &team.env().store_state()).unwrap();
    let expected = expected.replace(carols, "");
    assert_eq!(text(&team), expected);

    assert!(team.store().restore_member(&carol, &team.env().store_state()).unwrap());
    assert_eq!(names(&team).last().unwrap(), "carol");
    assert!(text(&team).contains("\"x\": {},\n      \"name\": \"carol\""), "as it was: {}", text(&team));
    assert!(!team.store().restore_member(&carol, &team.env().store_state()).unwrap(), "once");
}

#[test]
fn files_of_real_clients_lose_nothing_by_an_edit_and_its_undoing() {
    for team_path in ["claude-code-2.1.77/teams/demo", "claude-code-2.1.325/teams/session-ed8ca403"] {
        let before = fs::read_to_string(client_fixtures().join(team_path).join("config.json")).unwrap();
        let team = team_with(&before);
        team.store().add_member("dave", &json!({"name": "dave", "isActive": false})).unwrap();
        team.store().set_member("dave", &[("isActive", json!(true))]).unwrap();
        assert_eq!(names(&team).last().unwrap(), "dave");
        team.store().remove_member(&MemberName::parse("dave").unwrap(), &team.env().store_state()).unwrap();
        assert_eq!(text(&team), before);
    }
}

#[test]
fn the_same_name_twice_is_refused_and_an_unknown_one_is_said() {
    let team = team_with(FOREIGN);
    let store = team.store();
    assert!(matches!(store.add_member("bob", &json!({"name": "bob"})), Err(StoreError::Exists { .. })));
    assert!(matches!(store.set_member("eve", &[("x", json!(1))]), Err(StoreError::NoMember { .. })));
    assert!(matches!(
        store.remove_member(&MemberName::parse("eve").unwrap(), &team.env().store_state()),
        Err(StoreError::NoMember { .. })
    ));
    assert_eq!(text(&team), FOREIGN);
}

#[test]
fn a_broken_file_is_refused_and_not_one_byte_changes() {
    // Members in a form of somebody's own are somebody's data too.
    for broken in ["", "{\"members\": [", "[]", "null", "{\"members\": {\"bob\": {\"x\": 1}}}"] {
        let team = team_with(broken);
        let store = team.store();
        let member = json!({"name": "dave"});
        assert!(matches!(store.add_member("dave", &member), Err(StoreError::BadContent { .. })), "{broken}");
        assert!(
            matches!(store.set_member("dave", &[("x", json!(1))]), Err(StoreError::BadContent { .. })),
            "{broken}"
        );
        assert_eq!(text(&team), broken);
    }
}

#[test]
fn a_team_without_members_gets_its_first() {
    for (before, after) in [
        ("{\"name\":\"demo\"}", "{\"name\":\"demo\",\"members\":[{\"name\":\"dave\"}]}"),
        ("{\"members\":null,\"n\":1E2}", "{\"members\":[{\"name\":\"dave\"}],\"n\":1E2}"),
    ] {
        let team = team_with(before);
        team.store().add_member("dave", &json!({"name": "dave"})).unwrap();
        assert_eq!(text(&team), after);
    }
}

#[test]
fn a_held_lock_is_busy_and_nothing_is_written() {
    let team = team_with(FOREIGN);
    fs::create_dir(lock_of(&team)).unwrap();
    let edit = team.store_with(HASTY).set_member("bob", &[("isActive", json!(false))]);
    assert!(matches!(edit, Err(StoreError::Busy { lock, .. }) if lock == lock_of(&team)));
    assert_eq!(text(&team), FOREIGN);
    let mut there: Vec<_> =
        fs::read_dir(team.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    there.sort();
    assert_eq!(there, ["config.json", "config.json.lock", "inboxes"]);
}

#[test]
fn a_file_that_is_half_written_under_the_lock_is_waited_for() {
    type Edit = fn(&TeamFolder, &State) -> Result<(), StoreError>;
    let add: Edit = |store, _| store.add_member("dave", &json!({"name": "dave"}));
    let set: Edit = |store, _| store.set_member("bob", &[("isActive", json!(false))]);
    let remove: Edit = |store, state| store.remove_member(&MemberName::parse("bob").unwrap(), state);
    for edit in [add, set, remove] {
        for torn in [0, FOREIGN.len() / 2] {
            let team = team_with(FOREIGN);
            fs::create_dir(lock_of(&team)).unwrap();
            fs::write(team.config_file(), &FOREIGN[..torn]).unwrap();
            thread::scope(|scope| {
                let edited = scope.spawn(|| edit(&team.store(), &team.env().store_state()));
                wait_until("the edit waits", || is_queued(&team) || edited.is_finished());
                fs::write(team.config_file(), FOREIGN.replace("\"counter\": 0", "\"counter\": 1")).unwrap();
                fs::remove_dir(lock_of(&team)).unwrap();
                edited.join().unwrap().unwrap();
            });
            assert!(text(&team).contains("\"counter\": 1"));
        }
    }
}

/// A client that counts up in the file, in place and under its lock.
fn count_up(team: &TestTeam, times: usize) {
    for number in 0..times {
        wait_until("the lock is free", || fs::create_dir(lock_of(team)).is_ok());
        let counted =
            text(team).replace(&format!("\"counter\": {number},"), &format!("\"counter\": {},", number + 1));
        fs::write(team.config_file(), counted).unwrap();
        fs::remove_dir(lock_of(team)).unwrap();
    }
}

#[test]
fn edits_of_many_at_once_are_all_kept() {
    let team = team_with(FOREIGN);
    thread::scope(|scope| {
        scope.spawn(|| count_up(&team, 30));
        for thread in 0..3 {
            let team = &team;
            scope.spawn(move || {
                let store = team.store();
                for number in 0..10 {
                    let name = format!("new-{thread}-{number}");
                    store.add_member(&name, &json!({"name": name})).unwrap();
                    store.set_member("bob", &[(format!("seen{thread}").as_str(), json!(number))]).unwrap();
                    store.set_member(&name, &[("isActive", json!(true))]).unwrap();
                }
            });
        }
    });

    let after = text(&team);
    let value: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(value["counter"], 30, "the client's edits");
    let members = value["members"].as_array().unwrap();
    assert_eq!(members.len(), 2 + 30);
    assert!(members[2..].iter().all(|member| member["isActive"] == true));
    for thread in 0..3 {
        assert_eq!(members[0][format!("seen{thread}")], 9);
    }
    for kept in [
        "{\n  \"zeta\": 1E2,\n  \"name\": \"demo\",\n  \"counter\": 30,\n  \"members\": [\n    {\"name\": \"bob\", ",
        "\"big\": 12345678901234567890.10, \"isActive\": true, \"color\": \"\\u00e9\"",
        "{\n      \"x\": {},\n      \"name\": \"carol\"\n    },",
        "  ],\n  \"alpha\": [ 1.0 ]\n}\n",
    ] {
        assert!(after.contains(kept), "{kept}\nis not in\n{after}");
    }
}

#[test]
fn what_is_set_deep_inside_leaves_its_neighbours_alone() {
    let team = TestEnv::new().team("dev", Layout::Array, &["team-lead", "bob", "eve"]);
    let text = fs::read_to_string(team.config_file()).unwrap();
    let odd = text.replace(
        "\"name\": \"bob\",",
        "\"name\": \"bob\",\n      \"metadata\": {\"z\": 1E2, \"atm\": {\"keep\": [1,  2]}},",
    );
    fs::write(team.config_file(), odd.replace("\"name\": \"eve\",", "\"name\": \"eve\", \"metadata\": 7,"))
        .unwrap();
    let path = vec!["metadata", "atm", "spawn"];
    for name in ["bob", "eve"] {
        team.store().set_member_below(name, &[(path.clone(), json!({ "token": "t" }))]).unwrap();
    }
    let text = fs::read_to_string(team.config_file()).unwrap();
    assert!(text.contains(r#"{"z": 1E2, "atm": {"keep": [1,  2], "spawn": {"token": "t"}}}"#), "{text}");
    let config: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(config["members"][2]["metadata"], json!({ "atm": { "spawn": { "token": "t" } } }));
    assert!(team.store().set_member_below("nobody", &[(path, json!(1))]).is_err());
}
