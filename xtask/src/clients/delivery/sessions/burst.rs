//! 1,000 messages in bursts of 100 to one session.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::patience::comes_true;
use super::super::request::Speaker;
use super::report::Outcome;
use super::scene::{Manner, Scene, Start};
use crate::clients::home;

const BURSTS: usize = 10;
const EACH: usize = 100;
/// As long as something new arrives within this time, it is waited for.
const PROGRESS: Duration = Duration::from_secs(120);

pub(super) fn run(start: &Start<'_>) -> Result<Outcome> {
    let scene = Scene::start(start, Manner::default())?;
    if !scene.pushes() {
        return Ok(Outcome {
            note: "no socket: by hooks, with as many turns as its user begins",
            ..Outcome::default()
        });
    }
    let begun = Instant::now();
    let count = BURSTS * EACH;
    for burst in 0..BURSTS {
        let lines: Vec<String> = (0..EACH)
            .map(|number| json!({ "to": "work", "text": text(burst * EACH + number) }).to_string())
            .collect();
        let file = scene.home.file("batch.jsonl");
        std::fs::write(&file, lines.join("\n"))?;
        let mut send = scene.home.command("sh");
        home::run(send.args(["-c", "atm send --batch --team sessions --quiet < ../batch.jsonl"]))?;
    }
    let mut outcome = Outcome {
        sent: count,
        note: "times are of all of them, from the first send on",
        ..Outcome::default()
    };
    let mut arrived = 0;
    while arrived < count {
        let before = arrived;
        comes_true(PROGRESS, || {
            arrived = (0..count).filter(|number| scene.shown(&text(*number)) > 0).count();
            Ok(arrived > before)
        })?;
        ensure!(scene.terminal.is_running(), "the client ended: {}", scene.terminal.screen());
        if arrived == before {
            break;
        }
    }
    outcome.arrived = arrived;
    outcome.times.push(begun.elapsed());
    outcome.doubled = (0..count).filter(|number| scene.shown(&text(*number)) > 1).count();
    let heard = scene.model.longest(Speaker::Main);
    let places: Vec<Option<usize>> = (0..count).map(|number| heard.find(&text(number))).collect();
    outcome.out_of_order = places.windows(2).filter(|two| two[0] > two[1]).count();
    // The last ones may be proved a moment later.
    comes_true(PROGRESS, || Ok(scene.home.atm_plain(&["sessions"])?[0]["unread"] == 0))?;
    let log = scene.home.atm_in("sessions", &["log", "--all"])?;
    let seen = log.as_array().into_iter().flatten().filter(|message| message["stage"] == "seen");
    outcome.proved = seen.count();
    Ok(outcome)
}

fn text(number: usize) -> String {
    format!("burst letter {number:04} of many")
}
