//! At most once: what many processes try at the same time, and what is tried again after a crash, happens once.

use std::collections::HashSet;
use std::fs;
use std::process::Child;

use serde_json::{Value, json};

use crate::scene::World;

const TOGETHER: usize = 8;
const ROUNDS: usize = 20;

/// Runs the same command in eight processes at once; gives exit code and document of each.
fn together(world: &World, args: &[&str]) -> Vec<(Option<i32>, Value)> {
    let args = [args, &["--json"]].concat();
    let started: Vec<Child> = (0..TOGETHER).map(|_| world.command(&args).spawn().unwrap()).collect();
    let ended = started.into_iter().map(|child| child.wait_with_output().unwrap());
    ended
        .map(|output| (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default()))
        .collect()
}

fn payloads(world: &World, name: &str, kind: &str) -> Vec<Value> {
    let texts = world.texts_for(name).into_iter();
    let payloads = texts.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
    payloads.filter(|payload| payload["type"] == kind).collect()
}

fn policy(world: &World, text: &str) {
    let config = world.home().join(".config/atm");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), format!("[delivery]\n{text}\n")).unwrap();
}

/// Mail that was queued for bob, who came back and drained it.
fn drained(world: &World, text: &str) -> String {
    world.ok(&["member", "set", "bob", "--active", "false"]);
    let id = world.sent("bob", text);
    world.ok(&["member", "set", "bob", "--active", "true"]);
    drain(world);
    id
}

fn drain(world: &World) {
    fs::write(world.inbox_file("bob"), "[]").unwrap();
}

#[test]
fn of_many_answers_to_one_request_one_is_sent() {
    let world = World::with_team();
    for round in 1..=ROUNDS {
        let asked = world.json(&["--as", "team-lead", "request", "bob", "status_request", "--no-wait"]);
        let request = asked["request"].as_str().unwrap();
        let mut codes: Vec<_> =
            together(&world, &["--as", "bob", "respond", request]).iter().map(|(code, _)| *code).collect();
        codes.sort_unstable();
        let mut expected = vec![Some(4); TOGETHER];
        expected[0] = Some(0);
        assert_eq!(codes, expected, "round {round}");
        assert_eq!(payloads(&world, "team-lead", "status_response").len(), round);
    }
}

#[test]
fn an_answer_that_was_accepted_is_the_answer() {
    for point in ["accepted", "renamed", "recorded"] {
        let world = World::with_team();
        let asked = world.json(&["--as", "team-lead", "request", "bob", "status_request", "--no-wait"]);
        let request = asked["request"].as_str().unwrap();
        let mut dies = world.command(&["--as", "bob", "respond", request]);
        assert!(!dies.env("ATM_TEST_DIE_AT", point).output().unwrap().status.success());
        let again = world.atm(&["--as", "bob", "respond", request]);
        assert_eq!(again.code, Some(4), "{point}: {again:?}");
        assert!(again.stderr.contains("has its answer already"), "{again:?}");
        assert_eq!(payloads(&world, "team-lead", "status_response").len(), 1, "{point}");
    }
}

#[test]
fn of_many_acknowledgments_one_is_sent_and_all_name_it() {
    let world = World::with_team();
    for round in 1..=ROUNDS {
        let id = world.sent("bob", "please");
        let answers = together(&world, &["--as", "bob", "ack", &id]);
        assert!(answers.iter().all(|(code, _)| *code == Some(0)), "{answers:?}");
        let ids: HashSet<_> = answers.iter().map(|(_, sent)| sent["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 1, "{answers:?}");
        let silent = answers.iter().filter(|(_, sent)| sent["warnings"] == json!([])).count();
        assert_eq!(silent, 1, "the others say that it was acknowledged already: {answers:?}");
        assert_eq!(payloads(&world, "team-lead", "acknowledgment").len(), round);
        assert_eq!(world.stage(&id), "acked");
    }
}

#[test]
fn an_acknowledgment_whose_sender_died_is_not_sent_again() {
    for point in atm_store::points::ALL {
        let world = World::with_team();
        let id = world.sent("bob", "please");
        let mut dies = world.command(&["--as", "bob", "ack", &id]);
        assert!(!dies.env("ATM_TEST_DIE_AT", point).output().unwrap().status.success());
        let again = world.json(&["--as", "bob", "ack", &id]);
        let last = world.json(&["--as", "bob", "ack", &id, "and one more thing"]);
        assert_eq!(again["id"], last["id"], "{point}");
        assert!(last["warnings"][1].as_str().unwrap().contains("not sent"), "{last}");
        assert_eq!(payloads(&world, "team-lead", "acknowledgment").len(), 1, "{point}");
    }
}

#[test]
fn of_many_retries_each_step_is_taken_once() {
    let world = World::with_team();
    policy(&world, "retry_after = [\"0s\"]\nescalate_to = [\"lead\", \"user\"]\nexpire_after = \"7d\"");
    for round in 1..=ROUNDS {
        let id = drained(&world, &format!("review this, {round}"));
        let mut steps: Vec<Value> = Vec::new();
        for _ in 0..2 {
            for (code, document) in together(&world, &["retry"]) {
                assert_eq!(code, Some(0), "{document}");
                steps.extend(document.as_array().unwrap().iter().cloned());
            }
            drain(&world);
        }
        let of_this: Vec<&Value> = steps.iter().filter(|step| step["id"] == id.as_str()).collect();
        let unique: HashSet<String> = of_this.iter().map(ToString::to_string).collect();
        assert_eq!(unique.len(), of_this.len(), "each once: {of_this:?}");
        let told = world.texts_for("team-lead").iter().filter(|text| text.contains(&id)).count();
        assert!(told <= 1, "the lead was told {told} times of {id}");
    }
}

/// `expire_after = "0s"`: one `expired` on record, however many retried.
#[test]
fn of_many_retries_one_lets_it_expire() {
    let world = World::with_team();
    policy(&world, "expire_after = \"0s\"");
    for round in 1..=ROUNDS {
        let id = drained(&world, &format!("old, {round}"));
        let answers = together(&world, &["retry"]);
        let steps: usize = answers.iter().map(|(_, document)| document.as_array().unwrap().len()).sum();
        assert_eq!(steps, 1, "{answers:?}");
        assert_eq!(world.stages(&id).iter().filter(|stage| *stage == "expired").count(), 1);
    }
}

#[test]
fn an_escalation_whose_sender_died_reaches_nobody_twice() {
    for point in atm_store::points::ALL {
        let world = World::with_team();
        policy(&world, "retry_after = [\"0s\"]\nescalate_to = [\"lead\"]");
        let id = drained(&world, "review this");
        assert_eq!(world.json(&["retry"])[0]["step"], "offer");
        drain(&world);
        let mut dies = world.command(&["retry"]);
        assert!(!dies.env("ATM_TEST_DIE_AT", point).output().unwrap().status.success(), "{point}");
        // The lead's client takes what is there, so that only the ledger knows of it.
        fs::write(world.inbox_file("team-lead"), "[]").unwrap();
        world.ok(&["retry"]);
        world.ok(&["retry"]);
        let log = world.json(&["log"]);
        let about =
            |entry: &&Value| entry["to"] == "team-lead" && entry["text"].as_str().unwrap().contains(&id);
        assert_eq!(log.as_array().unwrap().iter().filter(about).count(), 1, "{point}: {log}");
        let left = world.texts_for("team-lead").len();
        assert!(
            left <= usize::from(["accepted", "queued", "staged", "locked", "noted"].contains(&point)),
            "{point}"
        );
    }
}

#[test]
fn an_offer_whose_maker_died_is_not_made_again() {
    let world = World::with_team();
    policy(&world, "retry_after = [\"0s\", \"7d\"]\nescalate_to = []");
    let id = drained(&world, "review this");
    let mut dies = world.command(&["retry"]);
    assert!(!dies.env("ATM_TEST_DIE_AT", "renamed").output().unwrap().status.success());
    assert_eq!(world.texts_for("bob").len(), 1, "it was offered");
    drain(&world);
    world.ok(&["retry"]);
    assert_eq!(world.json(&["retry"]), json!([]), "the step is taken");
    assert!(world.texts_for("bob").is_empty(), "{id} came twice");
}
