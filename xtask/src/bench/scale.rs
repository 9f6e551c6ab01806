//! What answers cost in large teams and beside many teams: it should grow with what changed, not with what is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Bench;
use super::measure;
use super::report::{Row, grouped};
use super::world::{TEAM, World};
use crate::repo;

const RUNS: usize = 9;
/// The most CPU time that an answer may take, in milliseconds.
const ANSWER: u64 = 50;
/// The most that a look may take that finds nothing new.
const LOOK: u64 = 5;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = large_team(bench, 100, &[("status", LOOK), ("log", LOOK)])?;
    let all = ["status", "members", "track last", "pending", "log"].map(|command| (command, ANSWER));
    rows.extend(large_team(bench, 1_000, &all)?);
    rows.extend(many_teams(bench, 1_000)?);
    Ok(rows)
}

/// A team of so many members, each with one message.
fn large_team(bench: &Bench, members: usize, commands: &[(&str, u64)]) -> Result<Vec<Row>> {
    let world = bench.world(&format!("members-{members}"))?;
    let names: Vec<String> = (0..members).map(|number| format!("member-{number}")).collect();
    add_members(&world, &names)?;
    let letters: Vec<String> = names.iter().map(|name| letter(name)).collect();
    send_batch(&world, &letters.join("\n"))?;
    let size = grouped(u64::try_from(members)?);
    let measure = |(command, aim): &(&str, u64)| {
        // Once before: what is new is the cost of the change.
        let atm = || {
            let mut atm = world.atm("team-lead");
            atm.args(command.split(' '));
            atm
        };
        measure::run(&mut atm())?;
        let cost = measure::run_often(RUNS, atm)?;
        let what = format!("`atm {command}` in a team of {size}, nothing new");
        Ok(Row::of_run(what, cost).aim_cpu_ms(*aim, cost))
    };
    commands.iter().map(measure).collect()
}

/// One team with mail beside many others.
fn many_teams(bench: &Bench, teams: usize) -> Result<Vec<Row>> {
    let world = bench.world(&format!("teams-{teams}"))?;
    let model = fs::read_to_string(config(&world.root(), TEAM))?;
    for number in 0..teams {
        let name = format!("other-{number}");
        let folder = world.root().join("teams").join(&name);
        fs::create_dir_all(folder.join("inboxes"))?;
        fs::write(folder.join("config.json"), model.replace(TEAM, &name))?;
    }
    send_batch(&world, &letter("bob"))?;
    let output = world.atm("bob").args(["--json", "read"]).output()?;
    let read: Vec<Value> = serde_json::from_slice(&output.stdout).context("`atm read` gave no list")?;
    let id = read.first().and_then(|message| message["id"].as_str()).context("no message")?.to_owned();
    let size = grouped(u64::try_from(teams)?);
    let mut rows = Vec::new();
    let named: [&str; 4] = ["--as", "team-lead", "-t", TEAM];
    let of_one =
        |verb: &'static str| (format!("`atm {verb}` beside {size} teams"), [&named[..], &[verb]].concat());
    let commands: Vec<(String, Vec<&str>)> = [
        (format!("`atm track ID` beside {size} teams, none named"), vec!["track", &id]),
        (format!("`atm log` of all of {size} teams"), vec!["log"]),
        (
            format!("`atm send NAME@TEAM` beside {size} teams"),
            [&named[..], &["send", "bob@other-7", "hello"]].concat(),
        ),
    ]
    .into_iter()
    .chain(["status", "members", "pending"].map(of_one))
    .collect();
    for (what, args) in commands {
        let command = || {
            let mut command = world.command();
            command.args(&args);
            command
        };
        measure::run(&mut command())?;
        let cost = measure::run_often(RUNS, command)?;
        rows.push(Row::of_run(what, cost).aim_cpu_ms(ANSWER, cost));
    }
    Ok(rows)
}

fn config(root: &Path, team: &str) -> PathBuf {
    root.join("teams").join(team).join("config.json")
}

/// Adds members as a client does that wrote the whole file.
fn add_members(world: &World, names: &[String]) -> Result<()> {
    let path = config(&world.root(), TEAM);
    let mut team: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let members = team["members"].as_array_mut().context("a team has members")?;
    let model = members.last().context("bob is a member")?.clone();
    for name in names {
        let mut member = model.clone();
        member["name"] = name.as_str().into();
        member["agentId"] = format!("{name}@{TEAM}").into();
        members.push(member);
    }
    fs::write(&path, serde_json::to_vec_pretty(&team)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A line of a batch.
fn letter(to: &str) -> String {
    format!(r#"{{"to":"{to}","text":"a message for {to}"}}"#)
}

fn send_batch(world: &World, lines: &str) -> Result<()> {
    let batch = world.root().with_file_name("batch.jsonl");
    fs::write(&batch, lines)?;
    let mut send = world.atm("team-lead");
    send.args(["send", "--batch"]).stdin(fs::File::open(&batch)?).stdout(Stdio::null());
    repo::run(&mut send)
}
