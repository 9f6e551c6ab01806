//! What the ledger makes of archiving: neither a client's taking nor somebody's undoing.

use std::fs;

use atm_store::Layout;
use atm_support::Foreign;

use crate::scene::{World, foreign_team, texts};

#[test]
fn archived_mail_is_not_put_back_and_not_taken_for_drained() {
    for layout in ["array", "log"] {
        let world = World::with_mail_read(layout);
        let ids: Vec<String> = world
            .json(&["inbox", "bob"])
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["id"].as_str().unwrap().to_owned())
            .collect();
        world.ok(&["archive", "bob", "--keep", "0", "--force"]);
        world.ok(&["send", "bob", "after it"]);
        for _ in 0..3 {
            world.ok(&["log"]);
        }
        let left: &[&str] = if layout == "array" { &["after it"] } else { &["two", "after it"] };
        assert_eq!(world.inbox_texts(), left, "nothing was put back");
        let stages: Vec<String> = world.evidence(&ids[0]).into_iter().map(|(stage, _)| stage).collect();
        assert_eq!(stages, ["accepted", "written", "taken", "seen", "taken"]);
        assert_eq!(world.evidence(&ids[0])[4].1, "archived: its reader had it");
        // The unread one has no stage that it did not reach.
        let told = world.evidence(&ids[2]);
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[2], ("written".to_owned(), "archived: unread, by force".to_owned()));
    }
}

#[test]
fn what_a_client_had_read_is_on_record_as_that_before_it_goes() {
    let (world, team) = foreign_team(Layout::Array);
    let sent = world.json(&["send", "bob", "for the client"]);
    Foreign::client(&team.inbox("bob")).sending("from a client ", 1).run();
    Foreign::client(&team.inbox("bob")).with("--verb", "mark-read").run();
    world.ok(&["archive", "bob", "--keep", "0"]);
    let told = world.evidence(sent["id"].as_str().unwrap());
    let told: Vec<&str> = told.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(
        told[1..],
        ["written into the inbox", "marked as read, by its reader's client", "archived: its reader had it"]
    );
    let found = world.json(&["search", "client"]);
    assert_eq!(found.as_array().unwrap().len(), 2, "what the client sent is known too");
}

#[test]
fn archiving_is_no_sign_of_life() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox(
        "bob",
        r#"[{"from": "alice", "text": "x", "timestamp": "2026-01-01T00:00:00Z", "read": true}]"#,
    );
    world.ok(&["log"]);
    let seen = |world: &World| {
        let members = world.json(&["members"]);
        let bob = members.as_array().unwrap().iter().find(|member| member["name"] == "bob").cloned();
        bob.unwrap()["lastSeen"].clone()
    };
    let before = seen(&world);
    world.ok(&["archive", "bob", "--keep", "0"]);
    assert_eq!(seen(&world), before);
}

#[test]
fn a_ledger_that_is_made_anew_has_what_is_archived() {
    for damage in ["not a database", ""] {
        let world = World::with_mail_read("array");
        let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
        world.ok(&["--as", "bob", "reply", &id, "here it is"]);
        world.setting("[archive]\nrotate_over = \"0\"\n");
        world.ok(&["archive", "bob", "--keep", "0"]);
        world.setting("");
        world.ok(&["--as", "alice", "read"]);
        world.ok(&["archive", "alice", "--keep", "0"]);
        for name in ["log.db-wal", "log.db-shm", "log.db"] {
            let _ = fs::remove_file(world.state().join(name));
        }
        if !damage.is_empty() {
            fs::write(world.state().join("log.db"), damage).unwrap();
        }
        let checkup = world.json(&["doctor", "--fix"]);
        assert_eq!(
            (&checkup["ledger"]["sound"], &checkup["ledger"]["messages"]),
            (&true.into(), &4.into()),
            "{checkup}"
        );
        assert_eq!(texts(&world.json(&["search", "one"])), ["one"], "from a packed part");
        assert_eq!(texts(&world.json(&["search", "here"])), ["here it is"]);
        let track = world.json(&["track", &id]);
        assert_eq!(track["stage"], "done", "what the archived reply answers");
    }
}

#[test]
fn without_a_ledger_mail_is_archived_with_a_warning() {
    let world = World::with_mail_read("array");
    for name in ["log.db-wal", "log.db-shm"] {
        let _ = fs::remove_file(world.state().join(name));
    }
    fs::write(world.state().join("log.db"), "not a database").unwrap();
    let answer = world.atm(&["archive", "bob", "--keep", "0"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stderr.contains("the mail is archived without it"), "{answer:?}");
    assert_eq!(answer.stderr.lines().count(), 1, "{answer:?}");
    assert_eq!(world.archived_texts(), ["one", "two"]);
}
