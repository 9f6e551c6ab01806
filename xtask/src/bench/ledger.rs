//! What a large ledger adds to a send, and how fast it is searched.

use std::time::{Duration, Instant};
use std::{fs, io};

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
/// Messages of the first search that has an aim.
const FIRST_SEARCH: u32 = 100_000;
const FIRST_SEARCHES: u32 = 5;
/// The most CPU time, in milliseconds: these two go through much of the ledger.
const STATS: u64 = 1_000;
const DOCTOR: u64 = 1_000;
/// So many messages at a time.
const PART: usize = 25_000;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("ledger")?;
    corpus::make_ledger(&world.ledger(), &world.root(), bench.messages)?;
    let size = grouped(bench.messages.into());
    let queries: Vec<Query> =
        (0..SEARCHES).map(|n| query(&world, corpus::search(n, bench.messages))).collect();

    eprintln!("bench: ledger: the first search, the word index");
    let mut rows = vec![first_search_of_many(bench)?, first_search(&world, &queries[0], &size)?];
    rows.push(word_index(&world, &size)?);
    eprintln!("bench: ledger: sends, searches");
    rows.extend(sends(bench, &world, &size)?);
    rows.push(opens(&world, &size)?);
    rows.extend(searches(&world, &queries, &size)?);
    rows.extend(answers(&world, &size)?);
    Ok(rows)
}

/// Commands that answer from the ledger: what is old must cost them nothing.
fn answers(world: &World, size: &str) -> Result<Vec<Row>> {
    let id = corpus::id(0);
    let commands: [(&[&str], u64); 8] = [
        (&["status"], 50),
        (&["members"], 50),
        (&["track", &id], 50),
        (&["pending"], 50),
        (&["log"], 50),
        (&["stats"], STATS),
        (&["stats", "--since", "2026-01-01T00:00:00Z"], STATS),
        (&["doctor"], DOCTOR),
    ];
    let mut rows = Vec::new();
    for (command, aim) in commands {
        // `doctor` ends with an error where it finds something, and is measured all the same.
        let run = || measure::run_any(world.atm("team-lead").args(command));
        run()?;
        let costs = (0..5).map(|_| run()).collect::<Result<Vec<_>>>()?;
        let cost = median_cost(&costs);
        let shown = command.join(" ").replace(&id, "ID");
        rows.push(Row::of_run(format!("`atm {shown}`, ledger of {size}"), cost).aim_cpu_ms(aim, cost));
    }
    Ok(rows)
}

fn query(world: &World, words: String) -> Query {
    let root = InboxKey::new(&world.root(), "", "").root;
    Query { words, root, limit: LIMIT, ..Query::default() }
}

/// The first search by a command, when no words are indexed.
fn first_search_of_many(bench: &Bench) -> Result<Row> {
    let world = bench.world("ledger-first-search")?;
    corpus::make_ledger(&world.ledger(), &world.root(), FIRST_SEARCH)?;
    let (limit, mut costs) = (LIMIT.to_string(), Vec::new());
    for number in 0..FIRST_SEARCHES {
        forget_words(&world)?;
        let words = corpus::search(number, FIRST_SEARCH);
        costs.push(measure::run(world.command().args(["search", &words, "--limit", &limit]))?);
    }
    let cost = median_cost(&costs);
    let size = grouped(FIRST_SEARCH.into());
    let what = format!("the first `atm search WORDS --limit 20` of {size} messages, no words indexed");
    Ok(Row::of_run(what, cost).aim_cpu_ms(100, cost))
}

/// Makes the index anew, without words.
fn forget_words(world: &World) -> Result<()> {
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        match fs::remove_file(world.ledger().with_file_name(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let ledger = Ledger::open(&world.ledger())?;
    ledger.count()?;
    // What is done at its end would take in some words.
    std::mem::forget(ledger);
    Ok(())
}

/// The first search when no words are indexed.
fn first_search(world: &World, query: &Query, size: &str) -> Result<Row> {
    let mut ledger = Ledger::open(&world.ledger())?;
    let start = Instant::now();
    ledger.search(query)?;
    Ok(Row::new(format!("the first search, in process: {size} messages, no words indexed"), start.elapsed()))
}

/// What idle moments do, at once.
fn word_index(world: &World, size: &str) -> Result<Row> {
    let ledger = Ledger::open(&world.ledger())?;
    let start = Instant::now();
    while ledger.index_words(PART)? {}
    Ok(Row::new(format!("the words of {size} messages into the index, at once"), start.elapsed()))
}

/// Sends in turns: without a ledger, since a folder is in its place; with one that holds nothing but these sends; and
/// with the large one.
fn sends(bench: &Bench, large: &World, size: &str) -> Result<[Row; 3]> {
    let (none, empty) = (bench.world("ledger-none")?, bench.world("ledger-empty")?);
    fs::remove_file(none.ledger()).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    fs::create_dir(none.ledger())?;
    let worlds = [&none, &empty, large];
    let mut costs = [(); 3].map(|()| Vec::new());
    let mut texts = Vec::new();
    for run in 0..=SENDS {
        let text = format!("measured send {run}");
        for (world, costs) in worlds.iter().zip(&mut costs) {
            let cost = measure::run(world.atm("team-lead").args(["send", "bob", &text]))?;
            // Not the first: it may find a new ledger, or a log that the word index has made long.
            if run > 0 {
                costs.push(cost);
            }
        }
        texts.push(text);
    }
    worlds.iter().try_for_each(|world| world.must_have(&texts))?;

    let [none, empty, large] = costs.map(|costs| median_cost(&costs));
    let compared = |what: String, cost: Cost| {
        let more = cost.cpu.saturating_sub(none.cpu);
        Row::of_run(what, cost)
            .note(&format!("{} more CPU", ms(more)))
            .against("no ledger", none.wall, cost.wall)
            .aim("≤ 1 ms more CPU", more <= Duration::from_millis(1))
    };
    Ok([
        Row::of_run("`atm send` into a small inbox, no ledger (a folder is in its place)", none),
        compared("`atm send` into a small inbox, empty ledger".to_owned(), empty),
        compared(format!("`atm send` into a small inbox, ledger of {size}"), large),
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
