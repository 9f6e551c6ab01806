//! Realms of several sizes on one server: what their machines would make, publish and announce there, played by one program.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Bench;
use super::measure;
use super::report::{Row, grouped};
use crate::hub::Hub;
use crate::repo;

/// Machines, of which each has ten members, and letters.
const SIZES: [(u32, u32); 3] = [(3, 3_000), (100, 100_000), (1_000, 300_000)];

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    crate::setup::run()?;
    let mut rows = Vec::new();
    for (machines, letters) in SIZES {
        let folder = bench.scratch().join(format!("realm-{machines}"));
        fs::create_dir_all(&folder)?;
        let hub = Hub::start_in(&folder)?;
        let before = measure::kernel_says(hub.pid()?, "VmRSS")?;
        let url = format!("nats://127.0.0.1:{}", hub.port());
        let mut command = repo::cargo([
            "run",
            "--quiet",
            "--release",
            "--locked",
            "--package",
            "atm-bridge",
            "--example",
            "realm",
        ])?;
        command.args(["--", &url, &machines.to_string(), &letters.to_string()]);
        let output = command.output().context("cannot run cargo")?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told: Value = serde_json::from_slice(&output.stdout)?;
        let after = measure::kernel_says(hub.pid()?, "VmRSS")?;
        rows.extend(shown(machines, &told, (before, after)));
        drop(hub);
        fs::remove_dir_all(&folder)?;
    }
    Ok(rows)
}

fn shown(machines: u32, told: &Value, (before, after): (u32, u32)) -> [Row; 3] {
    let number = |key: &str| told[key].as_u64().unwrap_or_default();
    let each_second = |count: &str, time: &str| number(count) * 1_000 / number(time).max(1);
    let what = format!("a realm of {} machines", grouped(u64::from(machines)));
    [
        Row::of_words(
            format!("{what}: the server"),
            format!(
                "{} letters, {} subjects, {} consumers, {} MB in the stream, {} MB of memory (empty: {} MB)",
                grouped(number("published")),
                grouped(number("subjects")),
                grouped(number("consumers")),
                number("bytes") / 1_000_000,
                after / 1024,
                before / 1024
            ),
        ),
        Row::of_words(
            format!("{what}: one heartbeat of each"),
            format!(
                "heard {} times, {} MB, in {} ms",
                grouped(number("beats_heard")),
                number("beats_bytes") / 1_000_000,
                number("beats_ms")
            ),
        ),
        Row::of_words(
            format!("{what}: its machines"),
            format!(
                "consumers made in {} ms, {} letters a second published, all announced in {} ms and heard by one in {} ms, {} letters of one taken in {} ms",
                number("made_ms"),
                grouped(each_second("published", "published_ms")),
                number("announced_ms"),
                number("heard_ms"),
                grouped(number("taken")),
                number("taken_ms")
            ),
        ),
    ]
}
