//! A member that is woken by a command: an effect outside of our files, which must not be repeated.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::{Scene, inbox};
use crate::faults::world::{LEAD, TEAM};

const NAME: &str = "walt";
/// So many write to it in turn.
const SENDERS: usize = 12;
/// How long a runner may take.
const PATIENCE: Duration = Duration::from_secs(4);

/// One message after the other, each from somebody else: the line of a wake names members who sent something, and no messages.
pub(super) fn run(scene: &Scene) -> Result<()> {
    let run = |who: &str, args: &[&str]| scene.world.must(who, &[&["-t", TEAM], args].concat()).map(drop);
    run(LEAD, &["member", "add", NAME])?;
    run(LEAD, &["member", "set", NAME, "--wake", "codex", "--session", "s-1"])?;
    for number in 0..SENDERS {
        run(LEAD, &["member", "add", &format!("sender{number}")])?;
    }
    let file = scene.world.inbox(NAME);
    let mut random = scene.random(20);
    let mut turn = 0;
    while !scene.storm.is_over() {
        run(NAME, &["idle"])?;
        let from = format!("sender{}", turn % SENDERS);
        let before = calls(scene, &from);
        let entry = json!({
            "from": from, "text": format!("{} wake {turn}.", scene.word()),
            "timestamp": "2026-11-17T06:00:00.000Z", "read": false,
        });
        inbox::change(&file, |before| before.iter().cloned().chain([entry]).collect())?;
        scene.account.expect_wake(from.clone());
        let begun = Instant::now();
        while !scene.storm.is_over() && begun.elapsed() < PATIENCE && calls(scene, &from) == before {
            scene.storm.pause(Duration::from_millis(20));
        }
        // Others may come late.
        scene.storm.pause(Duration::from_millis(random.below(400)));
        inbox::change(&file, |before| {
            let read = |entry: &serde_json::Value| {
                let mut entry = entry.clone();
                entry["read"] = json!(true);
                entry
            };
            before.iter().map(read).collect()
        })?;
        turn += 1;
    }
    Ok(())
}

/// How often it was woken for a message of this sender.
pub(super) fn calls(scene: &Scene, from: &str) -> usize {
    let calls = fs::read_to_string(scene.calls()).unwrap_or_default();
    calls.lines().filter(|line| line.contains(&format!("from {from}."))).count()
}
