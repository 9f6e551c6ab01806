//! What a large ledger adds to a send, and how fast it is searched.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use atm_ledger::{InboxKey, Ledger, Query};
use serde_json::Value;

use super::measure::{self, Cost, median, median_cost, percentile};
use super::report::{Row, grouped, ms};
use super::world::World;
use super::{Bench, corpus};

const SENDS: usize = 31;
const OPENS: usize = 31;
const SEARCHES: u32 = 100;
const LIMIT: usize = 20;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("ledger")?;
    corpus::make_ledger(&world.ledger(), &world.root(), bench.messages)?;
    let size = grouped(bench.messages.into());
    let queries: Vec<Query> =
        (0..SEARCHES).map(|n| query(&world, corpus::search(n, bench.messages))).collect();

    eprintln!("bench: ledger: the word index");
    let mut rows = vec![first_search(&world, &queries[0], &size)?];
    eprintln!("bench: ledger: sends, searches");
    rows.extend(sends(bench, &world, &size)?);
    rows.push(opens(&world, &size)?);
    rows.extend(searches(&world, &queries, &size)?);
    Ok(rows)
}

fn query(world: &World, words: String) -> Query {
    let root = InboxKey::new(&world.root(), "", "").root;
    Query { words, root, limit: LIMIT, ..Query::default() }
}

/// The first search takes all messages into the word index.
fn first_search(world: &World, query: &Query, size: &str) -> Result<Row> {
    let mut ledger = Ledger::open(&world.ledger())?;
    let start = Instant::now();
    ledger.search(query)?;
    Ok(Row::new(
        format!("the first search of all, in process: {size} messages into the word index"),
        start.elapsed(),
    ))
}

/// Sends in turns, with the large ledger and with one that holds nothing but these sends.
fn sends(bench: &Bench, large: &World, size: &str) -> Result<[Row; 2]> {
    let empty = bench.world("ledger-empty")?;
    let (mut with, mut without, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..=SENDS {
        let text = format!("measured send {run}");
        let send = |world: &World| measure::run(world.atm("team-lead").args(["send", "bob", &text]));
        let costs = (send(large)?, send(&empty)?);
        texts.push(text);
        // Not the first: it may find a new ledger, or a log that the word index has made long.
        if run > 0 {
            with.push(costs.0);
            without.push(costs.1);
        }
    }
    large.must_have(&texts)?;
    empty.must_have(&texts)?;

    let (with, without) = (median_cost(&with), median_cost(&without));
    let more = with.cpu.saturating_sub(without.cpu);
    Ok([
        Row::of_run("`atm send` into a small inbox, empty ledger", without),
        Row::of_run(format!("`atm send` into a small inbox, ledger of {size}"), with)
            .note(&format!("{} more CPU", ms(more)))
            .against("empty ledger", without.wall, with.wall)
            .aim("≤ 1 ms more CPU", more <= Duration::from_millis(1)),
    ])
}

fn opens(world: &World, size: &str) -> Result<Row> {
    let open = || -> Result<Duration> {
        let start = Instant::now();
        let ledger = Ledger::open(&world.ledger())?;
        let took = start.elapsed();
        drop(ledger);
        Ok(took)
    };
    let time = median(&(0..OPENS).map(|_| open()).collect::<Result<Vec<_>>>()?);
    Ok(Row::new(format!("opening a ledger of {size}, in process"), time).aim_ms(1, time))
}

/// The same searches in this process and by the command, which must find the same.
fn searches(world: &World, queries: &[Query], size: &str) -> Result<[Row; 4]> {
    let mut ledger = Ledger::open(&world.ledger())?;
    let mut inside = Vec::new();
    for query in queries {
        let start = Instant::now();
        let found = ledger.search(query)?;
        inside.push(start.elapsed());
        ensure!(!found.is_empty(), "nothing found for \"{}\", which are words of a message", query.words);
        // Also shows the command's answers to be right; only some, as it takes its time.
        if inside.len().is_multiple_of(10) {
            let expected: Vec<_> = found.iter().map(|(message, _)| message.id.as_str()).collect();
            must_find(world, query, &expected)?;
        }
    }
    drop(ledger);

    let limit = LIMIT.to_string();
    let command =
        |query: &Query| measure::run(world.command().args(["search", &query.words, "--limit", &limit]));
    let costs = queries.iter().map(command).collect::<Result<Vec<Cost>>>()?;
    let outside: Vec<Duration> = costs.iter().map(|cost| cost.wall).collect();
    let row = |what: &str, part: &str, time| Row::new(format!("{what}, {size} messages: {part}"), time);
    let percentiles = |times: &[Duration]| (percentile(times, 50), percentile(times, 95));
    let ((inside50, inside95), (outside50, outside95)) = (percentiles(&inside), percentiles(&outside));
    let (library, command) = ("search, in process", "`atm search WORDS --limit 20`");
    Ok([
        row(library, "p50", inside50),
        row(library, "p95", inside95).aim_ms(5, inside95),
        row(command, "p50", outside50),
        row(command, "p95", outside95),
    ])
}

fn must_find(world: &World, query: &Query, expected: &[&str]) -> Result<()> {
    let limit = query.limit.to_string();
    let output = world.command().args(["--json", "search", &query.words, "--limit", &limit]).output()?;
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).context("`atm search` gave no list")?;
    let found: Vec<_> = found.iter().filter_map(|message| message["id"].as_str()).collect();
    ensure!(found == expected, "`atm search {}` found {found:?} instead of {expected:?}", query.words);
    Ok(())
}
