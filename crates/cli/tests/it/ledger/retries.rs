//! Queued mail that nobody acts on.

use std::fs;

use atm_support::Foreign;
use serde_json::json;

use crate::scene::World;

#[test]
fn what_was_taken_without_a_sign_of_work_is_offered_again_and_then_escalated() {
    let world = World::with_team();
    let config = world.home().join(".config/atm");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[delivery]\nretry_after = [\"0s\"]\nescalate_to = [\"lead\"]\n")
        .unwrap();
    world.ok(&["member", "set", "bob", "--active", "false"]);
    let id = world.sent("bob", "review this");
    assert_eq!(world.stage(&id), "queued");
    assert_eq!(world.json(&["retry"]), json!([]), "never while the recipient is off");

    world.ok(&["member", "set", "bob", "--active", "true"]);
    assert_eq!(world.json(&["retry"]), json!([]), "it lies unread: that is an offer");
    Foreign::client(&world.inbox_file("bob")).with("--verb", "drain").run();
    let due = json!([{"id": id, "to": "bob", "step": "offer", "number": 2}]);
    assert_eq!(world.json(&["retry", "--dry-run"]), due);
    let short = &id[id.len() - 8..];
    assert_eq!(world.ok(&["retry", "--dry-run"]), format!("{short} for bob: offered again, number 2\n"));
    assert!(world.texts_for("bob").is_empty(), "a dry run does nothing");
    assert_eq!(world.json(&["retry"]), due);
    assert!(world.texts_for("bob")[0].starts_with("[PENDING ACTION - offered again, number 2"));
    assert_eq!(world.json(&["inbox", "bob"])[0]["id"], id, "the same id");

    Foreign::client(&world.inbox_file("bob")).with("--verb", "drain").run();
    let escalated = json!([{"id": id, "to": "bob", "step": "escalate", "told": "lead"}]);
    assert_eq!(world.json(&["retry"]), escalated);
    assert!(world.texts_for("team-lead")[0].contains(&id));
    assert_eq!(world.json(&["retry"]), json!([]), "never more than the policy's steps");
}

#[test]
fn a_bad_policy_names_file_and_key() {
    let world = World::with_team();
    let config = world.home().join(".config/atm");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[delivery]\nretry_after = [\"soon\"]\n").unwrap();
    let answer = world.atm(&["retry"]);
    assert_eq!(answer.code, Some(6), "{answer:?}");
    assert!(answer.stderr.contains("config.toml") && answer.stderr.contains("delivery"), "{answer:?}");
}
