//! The bridges of two machines with a server between them, all on this one: what they cost at rest, how soon one letter is there,
//! how fast many are published, and how fast they are written with their receipts.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use atm_office::Office;
use serde_json::{Value, json};

use super::Bench;
use super::measure::{self, median, percentile};
use super::report::{Row, grouped, ms};
use super::world::{TEAM, World};
use crate::hub::Hub;
use crate::repo;

pub(super) const PROGRAM: &str = "atm-bridge";
/// How long they are watched while they rest.
const REST: Duration = Duration::from_secs(30);
/// The most of a core that a bridge may use meanwhile, in percent.
const REST_PERCENT: f64 = 0.1;
/// The most memory, in kilobytes.
const MEMORY: u32 = 25 << 10;
/// Letters that are timed one by one.
const ONE_BY_ONE: u32 = 100;
/// Letters that are carried end to end, and letters that are only published.
const CARRIED: u32 = 5_000;
const PUBLISHED: u32 = 40_000;
/// Letters whose bytes in the stream are counted, and the characters of each: what docs/SCALE.md computes with.
const COUNTED: u32 = 1_000;
const CHARACTERS: usize = 250;
/// In one command.
const BATCH: u32 = 1_000;
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    // The server is installed with the tools of the tests.
    crate::setup::run()?;
    let folder = bench.scratch().join("bridge");
    fs::create_dir_all(&folder)?;
    let hub = Hub::start_in(&folder.join("server"))?;
    let mut laptop = Machine::new(bench, &folder, "laptop", "ann", &hub)?;
    let mut desk = Machine::new(bench, &folder, "desk", "bob", &hub)?;
    laptop.trust(&desk)?;
    desk.trust(&laptop)?;
    laptop.start()?;
    desk.start()?;
    wait("the machines know each other", || Ok(laptop.knows("bob") && desk.knows("ann")))?;
    let mut rows = rest(&laptop)?;
    rows.push(one_by_one(&laptop, &desk)?);
    rows.push(end_to_end(&mut laptop, &desk)?);
    rows.push(stored(&mut laptop, &hub)?);
    rows.push(publish(&mut laptop, &mut desk, &hub)?);
    Ok(rows)
}

fn rest(laptop: &Machine) -> Result<Vec<Row>> {
    // What the start leaves to do.
    thread::sleep(Duration::from_secs(5));
    let pid = laptop.pid()?;
    let before = measure::cpu_of(pid)?;
    thread::sleep(REST);
    let percent = measure::cpu_of(pid)?.saturating_sub(before).as_secs_f64() / REST.as_secs_f64() * 100.0;
    let memory = measure::kernel_says(pid, "VmRSS")?;
    let what = "a bridge at rest, two machines";
    Ok(vec![
        Row::of_words(format!("{what}: CPU"), format!("{percent:.3} % of a core"))
            .aim(format!("≤ {REST_PERCENT} %"), percent <= REST_PERCENT),
        Row::of_words(format!("{what}: memory"), format!("{:.1} MB", f64::from(memory) / 1024.0))
            .aim(format!("≤ {} MB", MEMORY >> 10), memory <= MEMORY),
    ])
}

/// From the start of `atm send` to the file of the other machine.
fn one_by_one(laptop: &Machine, desk: &Machine) -> Result<Row> {
    let (mut times, mut answers) = (Vec::new(), Vec::new());
    let inbox = desk.world.inbox();
    for number in 0..ONE_BY_ONE {
        let text = format!("one letter, number {number}.");
        let start = Instant::now();
        let mut send = laptop.world.atm("ann");
        send.args(["send", "bob", &text]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut send = send.spawn()?;
        while !fs::read_to_string(&inbox).is_ok_and(|file| file.contains(&text)) {
            ensure!(start.elapsed() < PATIENCE, "letter {number} is not there");
            thread::sleep(Duration::from_micros(200));
        }
        times.push(start.elapsed());
        ensure!(send.wait()?.success(), "`atm send` was not told that letter {number} is written");
        answers.push(start.elapsed());
        // Apart, so that each is one of bridges that rest.
        thread::sleep(Duration::from_millis(50));
    }
    let (middle, longest) = (median(&times), percentile(&times, 99));
    let answered = ms(median(&answers));
    let fsyncs = measure::two_fsyncs(&laptop.world.root())?;
    Ok(Row::new("from `atm send` to the file on another machine", middle)
        .note(&format!("99 of 100 within {}, answered as written after {answered}", ms(longest)))
        .against("two fsyncs", fsyncs, middle)
        .aim_ms(10, middle))
}

/// Letters that waited, from the start of their bridge until the sender's ledger knows that all are written.
fn end_to_end(laptop: &mut Machine, desk: &Machine) -> Result<Row> {
    laptop.stop()?;
    let texts = laptop.accept("carried", CARRIED)?;
    let start = Instant::now();
    laptop.start()?;
    wait("all letters are confirmed", || laptop.has_sent_all())?;
    let took = start.elapsed();
    desk.world.must_have(&texts)?;
    let rate = f64::from(CARRIED) / took.as_secs_f64();
    let cpu = measure::cpu_of(laptop.pid()?)?;
    Ok(Row::new(format!("{} letters end to end, into a file, with receipts", grouped(CARRIED.into())), took)
        .note(&format!("{rate:.0} a second, the sender's bridge CPU {}", ms(cpu)))
        .aim("≥ 1,000 a second", rate >= 1_000.0))
}

/// What a letter with its receipts takes in the stream.
fn stored(laptop: &mut Machine, hub: &Hub) -> Result<Row> {
    laptop.stop()?;
    let filler = "x".repeat(CHARACTERS);
    laptop.accept_all((0..COUNTED).map(|number| format!("{number:04} {filler}")).collect())?;
    let before = hub.held()?;
    laptop.start()?;
    wait("all letters are confirmed", || laptop.has_sent_all())?;
    let after = hub.held()?;
    let messages = after.messages.saturating_sub(before.messages);
    let bytes = after.bytes.saturating_sub(before.bytes) / u64::from(COUNTED);
    let what = format!(
        "{} letters of {CHARACTERS} characters in the stream, with receipts",
        grouped(COUNTED.into())
    );
    Ok(Row::of_words(what, format!("{} messages, {bytes} bytes a letter", grouped(messages))))
}

/// Letters for a machine that is off, from the first that the server has to the last.
fn publish(laptop: &mut Machine, desk: &mut Machine, hub: &Hub) -> Result<Row> {
    laptop.stop()?;
    desk.stop()?;
    laptop.accept("published", PUBLISHED)?;
    let before = hub.messages()?;
    laptop.start()?;
    wait("the first is published", || Ok(hub.messages()? > before + 256))?;
    let (start, first) = (Instant::now(), hub.messages()?);
    let all = before + u64::from(PUBLISHED);
    wait("all are published", || Ok(hub.messages()? >= all))?;
    let took = start.elapsed();
    let rate = f64::from(u32::try_from(all.saturating_sub(first))?) / took.as_secs_f64();
    let cpu = measure::cpu_of(laptop.pid()?)?;
    Ok(Row::new(format!("{} letters published through one server", grouped(PUBLISHED.into())), took)
        .note(&format!("{rate:.0} a second, the bridge CPU {}", ms(cpu)))
        .aim("≥ 20,000 a second", rate >= 20_000.0))
}

fn wait(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !is_so()? {
        ensure!(begun.elapsed() < PATIENCE, "it does not come to this: {what}");
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// One of the machines, and its bridge if one runs.
struct Machine {
    name: &'static str,
    world: World,
    office: Office,
    url: String,
    bridge: Option<Child>,
}

impl Machine {
    fn new(bench: &Bench, folder: &Path, name: &'static str, member: &str, hub: &Hub) -> Result<Self> {
        let world = World::with(&bench.atm, folder, name, member)?;
        let (office, url) = (world.office(), format!("nats://127.0.0.1:{}", hub.port()));
        Ok(Self { name, world, office, url, bridge: None })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.command();
        command.arg("bridge").args(words);
        command
    }

    fn trust(&self, other: &Self) -> Result<()> {
        let key = other.command(&["key", "--machine", other.name]).output()?;
        let line = String::from_utf8(key.stdout)?;
        let mut trust = self.command(&["trust"]);
        measure::run(trust.args(line.split_whitespace())).map(drop)
    }

    fn start(&mut self) -> Result<()> {
        let mut run = self.command(&["run", "--machine", self.name, "--nats", &self.url, "--team", TEAM]);
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // `atm bridge` becomes the bridge.
        self.bridge = Some(run.spawn().with_context(|| format!("cannot start: {}", repo::shown(&run)))?);
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        if let Some(mut bridge) = self.bridge.take() {
            bridge.kill()?;
            bridge.wait()?;
        }
        Ok(())
    }

    fn pid(&self) -> Result<u32> {
        Ok(self.bridge.as_ref().context("no bridge runs")?.id())
    }

    fn knows(&self, member: &str) -> bool {
        let config = fs::read(self.world.root().join("teams").join(TEAM).join("config.json"));
        let config: Value =
            config.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let members = config["members"].as_array();
        members.is_some_and(|members| members.iter().any(|entry| entry["name"] == member))
    }

    /// Has so many letters for bob accepted, while no bridge runs; gives their texts.
    fn accept(&self, what: &str, count: u32) -> Result<Vec<String>> {
        self.accept_all((0..count).map(|number| format!("{what}, number {number}.")).collect())
    }

    fn accept_all(&self, texts: Vec<String>) -> Result<Vec<String>> {
        let file = self.world.root().join("batch");
        for part in texts.chunks(BATCH as usize) {
            let lines: Vec<String> =
                part.iter().map(|text| json!({ "to": "bob", "text": text }).to_string()).collect();
            fs::write(&file, lines.join("\n"))?;
            let mut send = self.world.atm("ann");
            send.args(["send", "--batch"]).stdin(fs::File::open(&file)?);
            // 9: accepted, and not written yet.
            let status = send.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            ensure!(status.code() == Some(9), "a batch for another machine ended with {status}");
        }
        Ok(texts)
    }

    /// Whether nothing waits any more for another machine.
    fn has_sent_all(&self) -> Result<bool> {
        Ok(self.office.machines().outgoing(0, 1)?.is_empty())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
