//! What `pending` and the picture of a team tell.

use atm_store::Layout;
use serde_json::{Value, json};

use super::settings;
use crate::scene::{World, foreign_team};

/// Mail that lay unread for hours with a member that works was nowhere: "nothing waits".
#[test]
fn mail_that_lies_unread_with_somebody_who_is_there_is_pending() {
    let world = World::with_team();
    let nothing = "team dev: nothing waits: no mail is queued, unacknowledged, lost, unanswered, or unread for 10 min by \
                   somebody who is not off (3 inboxes and the ledger)\n";
    world.ok(&["--as", "bob", "heartbeat"]);
    let id = world.sent("bob", "look at this");
    assert_eq!(world.ok(&["pending"]), nothing, "it is too early to worry");
    settings(&world, "[pending]\nunread_after = \"1ms\"\n");
    let waiting = world.json(&["pending"]);
    let found: Vec<(&Value, &Value)> =
        waiting.as_array().unwrap().iter().map(|one| (&one["id"], &one["why"])).collect();
    assert_eq!(found, [(&json!(id), &json!("unread_long"))], "the lead's heartbeat does not count");
    let status = world.json(&["status"]);
    let attention = &status["attention"];
    assert_eq!((&attention[0]["reason"], &attention[0]["message"]), (&json!("unread_long"), &json!(id)));
    assert_eq!(attention[0]["who"], "bob");
    assert_eq!(status["looked"]["inboxes"], 3);
    assert_eq!(world.json(&["retry"]), json!([]), "it is on offer");

    world.ok(&["--as", "bob", "read"]);
    assert_eq!(world.json(&["pending"]), json!([]));
    assert_eq!(world.json(&["status"])["attention"], json!([]));
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.sent("bob", "later");
    assert_eq!(world.json(&["pending"])[0]["why"], "queued", "who is off is not expected to read");
    assert_eq!(world.json(&["status"])["attention"], json!([]), "that waits as it should");
}

/// Nothing says whether such a member is there, and its mail lay for days beside "nothing waits".
#[test]
fn mail_that_lies_unread_with_somebody_of_whom_nothing_is_known_is_pending() {
    let (world, team) = foreign_team(Layout::Array);
    let entry = json!([{ "from": "alice", "text": "look at this", "timestamp": "2026-11-15T06:00:00.000Z", "read": false }]);
    team.write_inbox("bob", entry.to_string());
    let members = world.json(&["members"]);
    let bob = members.as_array().unwrap().iter().find(|member| member["name"] == "bob").unwrap();
    assert_eq!(bob["state"], "unknown", "{bob}");
    let waiting = world.json(&["pending"]);
    assert_eq!((&waiting[0]["to"], &waiting[0]["why"]), (&json!("bob"), &json!("unread_long")), "{waiting}");
    assert_eq!(world.json(&["status"])["attention"][0]["who"], "bob");
}

#[test]
fn an_inbox_that_cannot_be_read_is_no_empty_one() {
    let world = World::with_team();
    std::fs::remove_file(world.inbox_file("bob")).unwrap();
    std::fs::create_dir(world.inbox_file("bob")).unwrap();
    let answer = world.atm(&["pending"]);
    assert!(!answer.stdout.contains("nothing waits:"), "{answer:?}");
}

#[test]
fn a_bad_threshold_names_its_table() {
    let world = World::with_team();
    settings(&world, "[pending]\nunread_after = \"soon\"\n");
    let answer = world.atm(&["pending"]);
    assert_eq!(answer.code, Some(6), "{answer:?}");
    assert!(answer.stderr.contains("[pending]"), "{answer:?}");
}

/// `atm validate` said nothing of the settings, and could not be run at all where they were bad.
#[test]
fn settings_are_validated_with_the_rest() {
    let world = World::with_team();
    settings(&world, "[archive]\nolder_than = \"7d\"\n");
    let good = world.json(&["validate"]);
    assert_eq!(good["counts"]["error"], 0, "{good}");
    for (text, what) in [
        ("[archive]\nolder_than = \"soon\"\n", "[archive]: \"soon\" is not a duration"),
        ("[archive]\nrotate_over = \"big\"\n", "[archive]: "),
        ("[archive]\nkeep = -1\n", "invalid value"),
        ("[archive]\nkept = 1\n", "unknown field `kept`"),
        ("[pending]\nunread_after = \"soon\"\n", "[pending]: "),
    ] {
        settings(&world, text);
        let answer = world.atm(&["validate", "--level", "error", "--json"]);
        assert_eq!(answer.code, Some(6), "{answer:?}");
        let found: Value = serde_json::from_str(&answer.stdout).unwrap();
        let finding = &found["findings"][0];
        assert_eq!(finding["ruleId"], "ATM-X001", "{found}");
        assert!(finding["message"].as_str().unwrap().starts_with(what), "{found}");
        assert!(finding["file"].as_str().unwrap().ends_with("config.toml"), "{found}");
    }
}
