//! Runners that die over a step.

use atm_store::points;
use serde_json::{Value, json};

use super::{Codex, drain, drained, settings};
use crate::scene::World;

#[test]
fn a_step_that_only_writes_mail_is_finished_by_the_next() {
    for point in points::STEP {
        let world = World::with_team();
        settings(&world, "[delivery]\nretry_after = [\"0s\"]\nescalate_to = [\"lead\"]\n");
        let id = drained(&world, "review this");
        assert_eq!(world.json(&["retry"])[0]["step"], "offer");
        drain(&world, "bob");
        let died = world.command(&["retry"]).env("ATM_TEST_DIE_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "it was killed at {point}");
        let passes = world.json(&["tend"]);
        let steps = passes[0]["steps"].as_array().unwrap();
        let told: Vec<&Value> = steps.iter().filter(|step| step["chore"] == "escalate").collect();
        assert_eq!(told.len(), 1, "{point}: {passes}");
        assert_eq!(told[0]["outcome"], "done", "{point}: {passes}");
        let about = world.texts_for("team-lead").iter().filter(|text| text.contains(&id)).count();
        assert_eq!(about, 1, "{point}");
        assert_eq!(records(&world, &id, "escalated"), 1, "{point}");
        assert_eq!(world.json(&["tend"])[0]["steps"], json!([]), "{point}");
    }
}

#[test]
fn an_offer_whose_maker_died_counts_once() {
    for point in points::STEP {
        let world = World::with_team();
        settings(&world, "[delivery]\nretry_after = [\"0s\", \"1h\"]\n");
        let id = drained(&world, "review this");
        let before = records(&world, &id, "queued");
        let died = world.command(&["retry"]).env("ATM_TEST_DIE_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "it was killed at {point}");
        world.json(&["tend"]);
        assert_eq!(records(&world, &id, "queued"), before + 1, "{point}");
    }
}

/// How often a stage of a message is on record.
fn records(world: &World, id: &str, stage: &str) -> usize {
    let track = world.json(&["track", id]);
    track["stages"].as_array().unwrap().iter().filter(|record| record["stage"] == stage).count()
}

#[test]
fn a_step_with_an_effect_outside_is_left_as_unknown() {
    for (point, calls) in points::STEP.into_iter().zip([0, 1]) {
        let codex = Codex::new();
        let died = codex.command(&["wake", "bob"]).env("ATM_TEST_DIE_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "it was killed at {point}");
        assert_eq!(codex.calls(), calls, "{point}");
        let steps = codex.tend();
        assert_eq!((steps.len(), &steps[0]["outcome"]), (1, &json!("unknown")), "{point}: {steps:?}");
        assert_eq!(codex.tend(), [] as [Value; 0], "{point}");
        let again = codex.command(&["wake", "bob", "--json"]).output().unwrap();
        let again: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!(again["woken"], false, "{point}: {again}");
        assert_eq!(codex.calls(), calls, "never again: {point}");
        let status = codex.world.json(&["status"]);
        let attention = status["attention"].as_array().unwrap();
        let unknown = attention.iter().filter(|one| one["reason"] == "outcome_unknown").count();
        assert_eq!(unknown, 1, "{point}: {status}");
        assert!(codex.world.ok(&["pending"]).contains("outcome unknown"), "{point}");
    }
}
