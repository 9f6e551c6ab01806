//! Who writes and who reads in the storm. Each member's mail has numbers that grow, whoever it is for.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::Scene;
use super::account::Sent;
use super::moves::MOVER;
use crate::faults::world::{self, Answer, LEAD, TEAM};

/// Letters in a batch, at most.
const BATCH: u64 = 60;

/// Who writes: a member of one machine.
pub(super) struct Writer<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) machine: usize,
    pub(super) name: &'static str,
}

impl Writer<'_> {
    /// Sends so many letters within a time, or later.
    pub(super) fn run(&self, number: u64, letters: u32, within: Duration) -> Result<()> {
        let mut random = self.scene.random(100 + number);
        let recipients: Vec<String> = self.scene.names_at(self.machine, self.name);
        let (begun, mut sent, mut n) = (Instant::now(), 0_u32, 0);
        while sent < letters && !self.scene.storm.is_over() {
            let due = within * sent / letters;
            self.scene.storm.pause(due.saturating_sub(begun.elapsed()));
            let accepted = match random.below(10) {
                0 => self.broadcast(&mut n)?,
                1 => self.send(&mut n, random.pick::<String>(&recipients))?,
                _ => {
                    let count = (20 + random.below(BATCH - 20)).min(u64::from(letters - sent));
                    let to: Vec<&str> = (0..count).map(|_| random.pick(&recipients).as_str()).collect();
                    self.batch(&mut n, &to)?
                }
            };
            sent = sent.saturating_add(u32::try_from(accepted)?);
        }
        Ok(())
    }

    fn text(&self, n: &mut u64) -> String {
        *n += 1;
        format!("{} {} {n}", self.scene.word(), self.name)
    }

    fn send(&self, n: &mut u64, to: &str) -> Result<usize> {
        let text = self.text(n);
        self.answered("send", &self.atm(&["--json", "send", to, &text], None)?, |_| *n)
    }

    fn broadcast(&self, n: &mut u64) -> Result<usize> {
        let text = self.text(n);
        self.answered("broadcast", &self.atm(&["--json", "broadcast", &text], None)?, |_| *n)
    }

    fn batch(&self, n: &mut u64, to: &[&str]) -> Result<usize> {
        let first = *n + 1;
        let lines: Vec<String> =
            to.iter().map(|to| json!({ "to": to, "text": self.text(n) }).to_string()).collect();
        let answer = self.atm(&["--json", "send", "--batch"], Some(&lines.join("\n")))?;
        self.answered("batch", &answer, |place| first + place)
    }

    fn atm(&self, args: &[&str], input: Option<&str>) -> Result<Answer> {
        let world = &self.scene.machines[self.machine].world;
        world::finish(world.command(&[], self.name, &[&["-t", TEAM], args].concat()), input, |_| ())
    }

    /// Notes what was accepted; says how many letters that are. `n` gives the number of a letter by its place in the answer.
    fn answered(&self, kind: &'static str, answer: &Answer, n: impl Fn(u64) -> u64) -> Result<usize> {
        let account = &self.scene.account;
        let code = answer.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        account.answer(kind, &code);
        if answer.hangs || !matches!(answer.code, Some(0 | 9)) {
            account.wrong(format!("{kind} of {} ended with {code}: {}", self.name, answer.stderr.trim()));
            return Ok(0);
        }
        let told: Value = serde_json::from_str(&answer.stdout)?;
        let letters = match &told {
            Value::Array(letters) => letters.as_slice(),
            letter => std::slice::from_ref(letter),
        };
        for (place, letter) in letters.iter().enumerate() {
            let text = |key: &str| letter[key].as_str().unwrap_or_default().to_owned();
            let (machine, to) = self.scene.home_of(self.machine, &text("to"));
            account.sent(Sent { id: text("id"), by: self.machine, machine, to, n: n(place as u64) });
        }
        Ok(letters.len())
    }
}

/// A member that reads its mail again and again.
pub(super) fn read(scene: &Scene, machine: usize) -> Result<()> {
    let it = &scene.machines[machine];
    let mut random = scene.random(200 + machine as u64);
    while !scene.storm.is_over() {
        scene.storm.pause(Duration::from_millis(500 + random.below(2_000)));
        let answer = it.world.atm(it.members[0], &["-t", TEAM, "--json", "read"])?;
        if answer.code != Some(0) {
            scene.account.wrong(format!("read ended with {:?}: {}", answer.code, answer.stderr.trim()));
            continue;
        }
        let shown: Vec<Value> = serde_json::from_str(&answer.stdout)?;
        scene.account.read(shown.iter().filter_map(|message| message["id"].as_str()));
    }
    Ok(())
}

/// Everybody, as a machine and the name there; the one who moves, where it is in the end.
pub(super) fn everybody(scene: &Scene) -> Vec<(usize, String)> {
    let names = |(place, machine): (usize, &super::Machine)| {
        let members = machine.members.into_iter().chain([LEAD]);
        members.map(|name| (place, name.to_owned())).collect::<Vec<_>>()
    };
    let all = scene.machines.iter().enumerate().flat_map(names);
    all.chain(scene.storm.moves.then(|| (0, MOVER.to_owned()))).collect()
}
