//! A gigabyte of archived mail: how fast a range of times is found in it, plain and packed.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Bench;
use super::measure::{self, Cost, median, median_cost, percentile};
use super::report::Row;
use super::world::{TEAM, World, text};

const BYTES: u64 = 1 << 30;
const RANGES: u32 = 31;
const READS: usize = 3;
/// 2026-01-01; one message every ten seconds from then on.
const START: i64 = 1_767_225_600_000;
const APART: i64 = 10_000;
/// How many messages are in a range.
const WANTED: u32 = 100;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("archive")?;
    let archive = world.archive();
    eprintln!("bench: archive: writing a gigabyte");
    let messages = fill(&world, &archive)?;
    let whole = median(&(0..READS).map(|_| read_whole(&archive)).collect::<Result<Vec<_>>>()?);
    let first = measure::run(&mut look(&world, range(0, messages)))?;
    let mut rows = vec![
        Row::of_run("the first `atm inbox --archived` of all: the index of a gigabyte is made", first)
            .against("read the whole file", whole, first.wall),
    ];
    rows.extend(looks(&world, messages, "plain", whole)?);
    eprintln!("bench: archive: packing it");
    let packing = measure::run(world.command().args(["-t", TEAM, "clean", "bob"]))?;
    ensure!(!archive.exists(), "a gigabyte was not packed by `atm clean`");
    rows.push(
        Row::of_run("`atm clean` packs a gigabyte", packing)
            .note(&format!("{} MB after it", packed_size(&archive)? >> 20))
            .against("read the whole file", whole, packing.wall),
    );
    rows.extend(looks(&world, messages, "packed", whole)?);
    Ok(rows)
}

/// Ranges spread over all of the time; each must give its messages and no others.
fn looks(world: &World, messages: u32, how: &str, whole: Duration) -> Result<[Row; 2]> {
    let mut costs = Vec::new();
    for number in 0..RANGES {
        // A prime step, so that the ranges are spread over all of the time.
        let first = u32::try_from(u64::from(number) * 7_368_787 % u64::from(messages - WANTED))?;
        costs.push(measure::run(&mut look(world, range(first, messages)))?);
        if number.is_multiple_of(10) {
            must_find(world, first, messages)?;
        }
    }
    let times: Vec<Duration> = costs.iter().map(|cost: &Cost| cost.wall).collect();
    let (half, most) = (median_cost(&costs), percentile(&times, 95));
    let what =
        format!("`atm inbox bob --archived --since T --until T`, {WANTED} messages of a gigabyte, {how}");
    Ok([
        Row::of_run(format!("{what}: p50"), half)
            .against("read the whole file", whole, half.wall)
            .aim_ms(50, half.wall),
        Row::new(format!("{what}: p95"), most)
            .against("read the whole file", whole, most)
            .aim("a tenth of it", most <= whole / 10)
            .aim_ms(50, most),
    ])
}

fn must_find(world: &World, first: u32, messages: u32) -> Result<()> {
    let output = look(world, range(first, messages)).output()?;
    let found: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    let numbers: Vec<&str> = found.iter().filter_map(|message| message["text"].as_str()).collect();
    let expected: Vec<String> = (first..first + WANTED).map(text).collect();
    ensure!(numbers == expected, "{} of {WANTED} messages were found from {first} on", numbers.len());
    Ok(())
}

fn look(world: &World, (since, until): (String, String)) -> std::process::Command {
    let mut command = world.command();
    command.args(["-t", TEAM, "inbox", "bob", "--archived", "--json", "--since", &since, "--until", &until]);
    command
}

fn range(first: u32, messages: u32) -> (String, String) {
    let last = first.saturating_add(WANTED - 1).min(messages);
    (time(first), time(last))
}

fn time(number: u32) -> String {
    atm_wire::Stamp::from_millis(START + i64::from(number) * APART).to_string()
}

/// Writes the archive as `atm archive` does, many times faster. Gives the number of messages.
fn fill(world: &World, path: &Path) -> Result<u32> {
    fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    let root = serde_json::to_string(&world.root().canonicalize()?)?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut written, mut number, mut line) = (0, 0, String::new());
    while written < BYTES {
        line.clear();
        let (text, sent) = (text(number), time(number));
        writeln!(
            line,
            r#"{{"from":"team-lead","text":"{text}","summary":"Step {number}","timestamp":"{sent}","color":"blue","msgV":1,"msg_id":"{number:08x}-5a3e-4c0d-9b1f-{number:012x}","type":"message","read":true,"archived":{{"at":"{sent}","root":{root},"team":"{TEAM}","to":"bob","layout":"array","read":true}}}}"#,
        )?;
        file.write_all(line.as_bytes())?;
        written += line.len() as u64;
        number += 1;
    }
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    Ok(number)
}

fn read_whole(path: &Path) -> Result<Duration> {
    let start = Instant::now();
    let mut file = File::open(path)?;
    let mut piece = vec![0; 1 << 20];
    let mut read = 0;
    loop {
        match file.read(&mut piece)? {
            0 => break,
            more => read += more as u64,
        }
    }
    ensure!(read >= BYTES, "only {read} bytes were read");
    Ok(start.elapsed())
}

fn packed_size(archive: &Path) -> Result<u64> {
    let folder = archive.parent().context("a file has a folder")?;
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "zst") {
            size += entry.metadata()?.len();
        }
    }
    Ok(size)
}
