//! Members that come back to queued mail, take it, and do nothing with it: it is offered to them again twice, and then their
//! lead is told, once each, whoever runs the chores.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::{Scene, inbox};
use crate::faults::world::{LEAD, TEAM};

/// The mail itself, and two offers.
pub(super) const OFFERS: usize = 3;
/// For how long one actor drains before it begins with another member; the end goes on with those that are not done.
const PATIENCE: Duration = Duration::from_secs(8);
const DRAIN_EVERY: Duration = Duration::from_millis(70);

/// Mail for one of them.
pub(super) struct Reminder {
    pub(super) member: String,
    pub(super) id: String,
    pub(super) text: String,
    /// How often it was in the inbox when that was drained.
    pub(super) seen: usize,
}

pub(super) fn run(scene: &Scene, number: u64) -> Result<()> {
    let mut turn = 0;
    while !scene.storm.is_over() {
        let member = format!("r{number}x{turn}");
        begin(scene, &member)?;
        let begun = Instant::now();
        while !scene.storm.is_over() && begun.elapsed() < PATIENCE && !drain(scene, Some(&member))? {
            scene.storm.pause(DRAIN_EVERY);
        }
        turn += 1;
    }
    Ok(())
}

fn begin(scene: &Scene, member: &str) -> Result<()> {
    let run = |args: &[&str]| scene.world.must(LEAD, &[&["-t", TEAM], args].concat());
    run(&["member", "add", member])?;
    run(&["member", "set", member, "--active", "false"])?;
    for number in 0..2 {
        let text = format!("{} remind {member} {number}.", scene.word());
        let sent: Value = serde_json::from_str(&run(&["--json", "send", member, &text])?.stdout)?;
        let id = sent["id"].as_str().unwrap_or_default().to_owned();
        scene.account.remind(Reminder { member: member.to_owned(), id, text, seen: 0 });
    }
    run(&["member", "set", member, "--active", "true"]).map(drop)
}

/// Goes on with all of them; whether they are done: their lead is told last. An offer whose runner died over it may be missing,
/// so it is not waited for.
pub(super) fn go_on(scene: &Scene) -> Result<bool> {
    drain(scene, None)?;
    scene.account.reminders(|all| {
        let told = inbox::read(&scene.world.inbox(LEAD))?;
        Ok(all.iter().all(|one| inbox::count(&told, &one.id) > 0))
    })
}

/// Takes what is there for one of them, or for all; whether everything was offered often enough.
fn drain(scene: &Scene, member: Option<&str>) -> Result<bool> {
    scene.account.reminders(|all| {
        let mut concerned: Vec<&mut Reminder> =
            all.iter_mut().filter(|one| member.is_none_or(|member| one.member == member)).collect();
        let mut members: Vec<String> = concerned.iter().map(|one| one.member.clone()).collect();
        members.dedup();
        for member in members {
            let file = scene.world.inbox(&member);
            if inbox::read(&file).is_ok_and(|entries| entries.is_empty()) {
                continue;
            }
            let taken = inbox::change(&file, |_| Vec::new())?;
            for one in concerned.iter_mut().filter(|one| one.member == member) {
                one.seen += inbox::count(&taken, &one.text);
            }
        }
        Ok(concerned.iter().all(|one| one.seen >= OFFERS))
    })
}
