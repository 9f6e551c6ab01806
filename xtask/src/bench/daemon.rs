//! The daemon beside 1,000 teams of ten: how soon it is there, what it costs at rest, how soon it knows of a change, and
//! whether it keeps up.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use atm_ledger::{Cursor, Feed, Ledger};
use serde_json::Value;

use super::Bench;
use super::measure::{self, median, percentile};
use super::report::{Row, grouped, ms};
use super::world::{self, World};

const TEAMS: usize = 1_000;
const MEMBERS: usize = 10;
/// How long it is watched while it rests.
const REST: Duration = Duration::from_secs(30);
/// The most of a core that it may use meanwhile, in percent.
const REST_PERCENT: f64 = 0.1;
/// The most memory, in kilobytes.
const MEMORY: u32 = 60 << 10;
const CHANGES: u32 = 100;
/// Into so many inboxes, of a tenth as many teams, messages are written for so many seconds.
const INBOXES: usize = 100;
const SECONDS: u32 = 10;
/// In each inbox.
const A_SECOND: u32 = 10;
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("daemon")?;
    make_teams(&world)?;
    let daemon = Daemon::start(&world)?;
    let ready = daemon.ready;
    daemon.wait_until_it_rests()?;
    let all = daemon.begun.elapsed();
    // What the first looks leave to do.
    thread::sleep(Duration::from_secs(5));
    daemon.wait_until_it_rests()?;
    let before = measure::cpu_of(daemon.pid)?;
    thread::sleep(REST);
    let percent =
        measure::cpu_of(daemon.pid)?.saturating_sub(before).as_secs_f64() / REST.as_secs_f64() * 100.0;
    let memory = measure::kernel_says(daemon.pid, "VmRSS")?;
    let size = format!("{} teams with {} members", grouped(TEAMS as u64), grouped((TEAMS * MEMBERS) as u64));
    let mut rows = vec![
        Row::new(format!("`atm daemon start` beside {size}"), ready)
            .aim_ms(2_000, ready)
            .note(&format!("all looked at after {}", ms(all))),
        Row::of_words(format!("the daemon at rest beside {size}: CPU"), format!("{percent:.3} % of a core"))
            .aim(format!("≤ {REST_PERCENT} %"), percent <= REST_PERCENT),
        Row::of_words(
            format!("the daemon at rest beside {size}: memory"),
            format!("{:.1} MB", f64::from(memory) / 1024.0),
        )
        .aim(format!("≤ {} MB", MEMORY >> 10), memory <= MEMORY),
    ];
    rows.push(latency(&world)?);
    rows.push(throughput(&world, &daemon)?);
    Ok(rows)
}

/// From a foreign writer's rename to the event in the log.
fn latency(world: &World) -> Result<Row> {
    let mut heard = Heard::from_now(world)?;
    let mut times = Vec::new();
    for number in 0..CHANGES {
        let inbox = inbox_of(world, number as usize * 7 % TEAMS, 3);
        let temp = inbox.with_extension("tmp");
        fs::write(&temp, world::inbox(number..number + 1, false))?;
        let start = Instant::now();
        fs::rename(&temp, &inbox)?;
        while !heard.texts.contains(&world::text(number)) {
            ensure!(start.elapsed() < PATIENCE, "message {number} never came into the log");
            heard.listen()?;
        }
        times.push(start.elapsed());
        // Apart, so that each change is one of a daemon that rests.
        thread::sleep(Duration::from_millis(50));
    }
    let (middle, longest) = (median(&times), percentile(&times, 99));
    let what = "from a foreign write to its event, by the daemon";
    Ok(Row::new(what, middle)
        .note(&format!("99 of 100 within {}", ms(longest)))
        .aim_ms(10, middle)
        .aim("99 of 100 ≤ 50 ms", longest <= Duration::from_millis(50)))
}

/// Foreign writers beside it.
fn throughput(world: &World, daemon: &Daemon) -> Result<Row> {
    let mut heard = Heard::from_now(world)?;
    let before = measure::cpu_of(daemon.pid)?;
    let rounds = SECONDS * A_SECOND;
    let pause = Duration::from_secs(1) / A_SECOND;
    // Numbers that no other message has.
    let first = |inbox: usize| 1_000_000 + u32::try_from(inbox).unwrap_or(0) * 1_000;
    let begun = Instant::now();
    let write_all = |inboxes: Range<usize>| -> Result<()> {
        for round in 0..rounds {
            for inbox in inboxes.clone() {
                let path = inbox_of(world, 500 + inbox % (INBOXES / MEMBERS), inbox / (INBOXES / MEMBERS));
                let temp = path.with_extension("tmp");
                fs::write(&temp, world::inbox(first(inbox)..first(inbox) + round + 1, false))?;
                fs::rename(&temp, &path)?;
            }
            thread::sleep((begun + pause * (round + 1)).saturating_duration_since(Instant::now()));
        }
        Ok(())
    };
    let total = u32::try_from(INBOXES)? * rounds;
    let written = thread::scope(|scope| -> Result<Duration> {
        let writers = [0..INBOXES / 2, INBOXES / 2..INBOXES].map(|part| scope.spawn(|| write_all(part)));
        for writer in writers {
            writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        Ok(begun.elapsed())
    })?;
    while heard.texts.len() < total as usize {
        ensure!(begun.elapsed() < written + PATIENCE, "{} of {total} came into the log", heard.texts.len());
        heard.listen()?;
    }
    let (behind, cpu) =
        (begun.elapsed().saturating_sub(written), measure::cpu_of(daemon.pid)?.saturating_sub(before));
    let a_second = f64::from(total) / written.as_secs_f64();
    let what = format!("the daemon beside foreign writers into {INBOXES} inboxes: behind after {SECONDS} s");
    Ok(Row::new(what, behind)
        .note(&format!("{a_second:.0} messages a second, CPU {}", ms(cpu)))
        .aim("≥ 950 a second", a_second >= 950.0)
        .aim("behind ≤ 1 s", behind <= Duration::from_secs(1)))
}

fn make_teams(world: &World) -> Result<()> {
    for team in 0..TEAMS {
        let folder = folder_of(world, team);
        fs::create_dir_all(folder.join("inboxes"))?;
        let members: Vec<Value> = (0..MEMBERS)
            .map(|member| {
                serde_json::json!({
                    "agentId": format!("m{member}@t{team}"), "name": format!("m{member}"),
                    "agentType": if member == 0 { "team-lead" } else { "general-purpose" },
                    "joinedAt": 1_794_768_087_988_u64, "tmuxPaneId": "", "cwd": "/", "subscriptions": [],
                })
            })
            .collect();
        let config = serde_json::json!({
            "name": format!("t{team}"), "createdAt": 1_794_768_087_988_u64, "leadAgentId": format!("m0@t{team}"),
            "members": members,
        });
        fs::write(folder.join("config.json"), config.to_string())?;
        for member in 0..MEMBERS {
            fs::write(inbox_of(world, team, member), "[]")?;
        }
    }
    Ok(())
}

fn folder_of(world: &World, team: usize) -> PathBuf {
    world.root().join("teams").join(format!("t{team}"))
}

fn inbox_of(world: &World, team: usize, member: usize) -> PathBuf {
    folder_of(world, team).join("inboxes").join(format!("m{member}.json"))
}

/// Reads the log as it grows, without a look of its own.
struct Heard {
    ledger: Ledger,
    cursor: Cursor,
    texts: HashSet<String>,
}

impl Heard {
    fn from_now(world: &World) -> Result<Self> {
        let ledger = Ledger::open(&world.ledger())?;
        let cursor = ledger.cursor()?;
        Ok(Self { ledger, cursor, texts: HashSet::new() })
    }

    fn listen(&mut self) -> Result<()> {
        match self.ledger.events_since(&self.cursor, 10_000)? {
            Feed::Events { events, cursor } => {
                if events.is_empty() {
                    thread::sleep(Duration::from_micros(500));
                }
                self.texts.extend(events.into_iter().filter_map(|event| event.new.map(|new| new.text)));
                self.cursor = cursor;
                Ok(())
            }
            Feed::Reset { .. } => bail!("the log began anew"),
        }
    }
}

/// One that is stopped at the end.
struct Daemon<'a> {
    world: &'a World,
    begun: Instant,
    ready: Duration,
    pid: u32,
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.world.command().args(["daemon", "stop"]).output();
    }
}

impl<'a> Daemon<'a> {
    fn start(world: &'a World) -> Result<Self> {
        let begun = Instant::now();
        measure::run(world.command().args(["daemon", "start"]))?;
        let ready = begun.elapsed();
        let mut daemon = Self { world, begun, ready, pid: 0 };
        let pid = daemon.status()?["pid"].as_u64().context("the daemon does not say its process")?;
        daemon.pid = u32::try_from(pid)?;
        Ok(daemon)
    }

    fn status(&self) -> Result<Value> {
        let output = self.world.command().args(["daemon", "status", "--json"]).output()?;
        serde_json::from_slice(&output.stdout).context("`atm daemon status` gave no document")
    }

    fn wait_until_it_rests(&self) -> Result<()> {
        loop {
            let status = self.status()?;
            let is_quiet = status["lag_ms"] == 0 && status["busy"].is_null();
            if is_quiet
                && status["teams"].as_u64() > Some(TEAMS as u64)
                && status["looks"].as_u64() > Some(TEAMS as u64)
            {
                return Ok(());
            }
            ensure!(self.begun.elapsed() < PATIENCE, "it does not come to rest: {status}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
