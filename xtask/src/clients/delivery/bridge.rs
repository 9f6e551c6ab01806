//! The bridge part of `cargo xtask clients`: two homes as two machines, a real Claude Code in each, a real nats-server
//! between. One client writes to the other machine's member by its own tool, and the member answers by its own.

use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::model::ScriptedModel;
use super::patience::{self, wait_for};
use super::request::{Speaker, TEAM, write_to};
use super::session::{Role, START, Session, environment, prepare, start_member};
use super::terminal::Terminal;
use crate::clients::home::{self, Home};
use crate::clients::npm;
use crate::repo;

/// The newest, two with other ways to show mail, and one whose teams have names of their own.
const VERSIONS: [&str; 4] = ["2.1.325", "2.1.282", "2.1.197", "2.1.77"];
/// What is to come comes within this time, also on a busy machine.
const SOON: Duration = Duration::from_secs(90);
/// The member of the other machine.
const REMOTE: &str = "carol";
/// So long the last words lie in the folder before its client deletes it.
const LIES: Duration = Duration::from_millis(100);

#[derive(clap::Args)]
pub(in crate::clients) struct BridgeChoice {
    /// This version of Claude Code only (repeatable)
    #[arg(long, value_name = "VERSION", requires = "bridge")]
    bridge_version: Vec<String>,
}

/// What became of a version's mail.
#[derive(Debug, Default)]
struct Seen {
    kept: &'static str,
    arrived: Duration,
    from: String,
    shown: Duration,
    is_shown_twice: bool,
    proved: Duration,
    evidence: String,
    answered: Duration,
    answer_from: String,
    last: &'static str,
}

struct Row {
    version: String,
    seen: Result<Seen>,
}

/// The table, and whether everything ran and arrived.
pub(in crate::clients) fn run(choice: &BridgeChoice, atm: &Path) -> Result<(String, bool)> {
    patience::heed_signals()?;
    let versions = match choice.bridge_version.as_slice() {
        [] => VERSIONS.map(ToOwned::to_owned).to_vec(),
        chosen => chosen.to_vec(),
    };
    let mut rows = Vec::new();
    for version in versions {
        eprintln!("clients: bridge {version}");
        let seen = try_out(&version, atm);
        if let Err(error) = &seen {
            eprintln!("clients: bridge {version}: {error:#}");
        }
        rows.push(Row { version, seen });
        patience::check_interrupt()?;
    }
    let all_well = rows.iter().all(|row| row.seen.is_ok());
    Ok((table(&rows), all_well))
}

fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| Claude Code | entry of the other machine's member | own send, in the inbox there | from | shown to the model there | `seen` at home, evidence | the answer shown, from | last words, then `/exit` |\n|---|---|---|---|---|---|---|---|\n",
    );
    let span = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    for Row { version, seen } in rows {
        let _ = match seen {
            Ok(seen) => writeln!(
                table,
                "| {version} | {} | {} | `{}` | {}{} | {}, {} | {}, `{}` | {} |",
                seen.kept,
                span(seen.arrived),
                seen.from,
                span(seen.shown),
                if seen.is_shown_twice { ", twice by the client, of one entry" } else { "" },
                span(seen.proved),
                seen.evidence,
                span(seen.answered),
                seen.answer_from,
                seen.last,
            ),
            Err(error) => {
                let words = format!("{error:#}").replace(['|', '\n'], " ");
                writeln!(table, "| {version} | did not run: {words} | | | | | | |")
            }
        };
    }
    table
}

/// A program that ends with this value, and its folder with it.
pub(super) struct Program {
    child: Child,
    /// Removed after the program has ended.
    _folder: Option<TempDir>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The machine of the remote member.
struct Desk {
    model: ScriptedModel,
    terminal: Terminal,
    home: Home,
}

fn try_out(version: &str, atm: &Path) -> Result<Seen> {
    let programs = npm::install_claude(version)?;
    let (server, url) = start_server()?;
    let desk = start_desk(version, atm, &programs)?;
    let laptop = Session::start(version, Role::Lead, &programs, Home::without_team(atm, &programs)?)?;
    introduce(&laptop.home, &desk.home)?;
    let shared = format!("{}={TEAM}", laptop.team);
    let bridges =
        [start_bridge(&laptop.home, "laptop", &url, &shared)?, start_bridge(&desk.home, "desk", &url, TEAM)?];
    let seen = course(&laptop, &desk);
    drop((bridges, server));
    seen
}

fn course(laptop: &Session, desk: &Desk) -> Result<Seen> {
    let mut seen = Seen::default();
    wait_for("the remote member is in the configuration", SOON, || {
        Ok(entry(laptop).is_some_and(|entry| entry["tmuxPaneId"] == ""))
    })?;

    let words = "is the build on your machine green?";
    let wrote = Instant::now();
    laptop.terminal.enter(&write_to(REMOTE, words))?;
    let mut mail = Value::Null;
    wait_for("the mail is in the inbox there", SOON, || {
        mail = find(&desk.home, TEAM, words)?;
        Ok(mail["text"] == words)
    })
    .with_context(|| laptop.terminal.screen())?;
    seen.arrived = wrote.elapsed();
    mail["from"].as_str().unwrap_or_default().clone_into(&mut seen.from);
    wait_for("the model there is shown the mail", SOON, || Ok(desk.model.count(Speaker::Main, words) > 0))
        .with_context(|| desk.terminal.screen())?;
    seen.shown = wrote.elapsed();
    let id = mail["id"].as_str().context("mail has an id")?.to_owned();
    let mut track = Value::Null;
    wait_for("it is seen at home", SOON, || {
        track = laptop.home.atm_in(&laptop.team, &["track", &id])?;
        Ok(track["stage"] == "seen")
    })
    .with_context(|| track.to_string())?;
    seen.proved = wrote.elapsed();
    let stages = track["stages"].as_array().into_iter().flatten();
    let proof = stages.filter(|stage| stage["stage"] == "seen").map(|stage| &stage["evidence"]).next_back();
    let proof = proof.context("a stage has evidence")?;
    ensure!(proof["machine"] == "desk", "{track}");
    seen.evidence = format!("{} on `desk`", proof["what"].as_str().unwrap_or_default());
    let found = desk.home.atm_in(TEAM, &["search", words])?;
    let copies = found.as_array().into_iter().flatten().filter(|mail| mail["text"] == words).count();
    ensure!(copies == 1, "it was written {copies} times: {found}");
    // What a client shows twice of one entry is its own doing.
    seen.is_shown_twice = desk.model.count(Speaker::Main, words) > 1;

    answer(laptop, desk, &mut seen)?;
    let config = entry(laptop).context("the client dropped the entry")?;
    ensure!(config["metadata"]["atm"]["machine"] == "desk", "the entry lost its mark: {config}");
    seen.kept = "kept, with its mark";

    let words = "these are my last words";
    rest(&laptop.model, &laptop.terminal)?;
    laptop.terminal.enter(&write_to(REMOTE, words))?;
    wait_for("they are written", SOON, || Ok(lies_or_is_collected(laptop, words)))?;
    thread::sleep(LIES);
    rest(&laptop.model, &laptop.terminal)?;
    laptop.terminal.enter("/exit")?;
    laptop.terminal.await_end()?;
    wait_for("the last words are shown", SOON, || Ok(desk.model.count(Speaker::Main, words) > 0))
        .with_context(|| desk.terminal.screen())?;
    seen.last = if laptop.has_team() { "shown; it leaves its team" } else { "shown; it deletes its team" };
    Ok(seen)
}

/// The member answers by its own tool.
fn answer(laptop: &Session, desk: &Desk, seen: &mut Seen) -> Result<()> {
    rest(&desk.model, &desk.terminal)?;
    let words = "it is green since noon";
    let wrote = Instant::now();
    desk.terminal.enter(&write_to(&seen.from, words))?;
    wait_for("the answer is shown to the lead", SOON, || Ok(laptop.model.count(Speaker::Main, words) > 0))
        .with_context(|| format!("{} / {}", desk.terminal.screen(), laptop.terminal.screen()))?;
    seen.answered = wrote.elapsed();
    let mail = find(&laptop.home, &laptop.team, words)?;
    mail["from"].as_str().unwrap_or_default().clone_into(&mut seen.answer_from);
    ensure!(seen.answer_from == REMOTE, "{mail}");
    Ok(())
}

/// Whether these words are in the remote member's file, or in the ledger already.
fn lies_or_is_collected(laptop: &Session, words: &str) -> bool {
    let file =
        laptop.home.file(".claude/teams").join(&laptop.team).join("inboxes").join(format!("{REMOTE}.json"));
    let lies = fs::read_to_string(file).is_ok_and(|text| text.contains(words));
    lies || find(&laptop.home, &laptop.team, words).is_ok_and(|mail| mail["text"] == words)
}

fn rest(model: &ScriptedModel, terminal: &Terminal) -> Result<()> {
    wait_for("the client rests", START, || {
        ensure!(terminal.is_running(), "the client ended: {}", terminal.screen());
        Ok(model.is_quiet(Speaker::Main, super::session::QUIET))
    })
}

/// The newest message with these words that the ledger knows.
fn find(home: &Home, team: &str, words: &str) -> Result<Value> {
    let found = home.atm_in(team, &["search", words])?;
    let found = found.as_array().cloned().unwrap_or_default();
    Ok(found.into_iter().rev().find(|mail| mail["text"] == words).unwrap_or_default())
}

/// The remote member in the client's own configuration.
fn entry(laptop: &Session) -> Option<Value> {
    let file = laptop.home.file(".claude/teams").join(&laptop.team).join("config.json");
    let config: Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    config["members"].as_array()?.iter().find(|member| member["name"] == REMOTE).cloned()
}

fn start_desk(version: &str, atm: &Path, programs: &Path) -> Result<Desk> {
    let home = Home::without_team(atm, programs)?;
    let model = ScriptedModel::start(&home.file("work"))?;
    prepare(&home, version)?;
    home.atm_in(TEAM, &["team", "create", TEAM])?;
    let name = format!("{}-desk", version.replace('.', "-"));
    let variables = environment(&home, programs, &model)?;
    let terminal = start_member(&name, &home, programs, variables, REMOTE)?;
    Ok(Desk { model, terminal, home })
}

/// The two trust each other.
pub(super) fn introduce(laptop: &Home, desk: &Home) -> Result<()> {
    for (one, name, other) in [(laptop, "laptop", desk), (desk, "desk", laptop)] {
        let line = home::run(one.command("atm").args(["bridge", "key", "--machine", name]))?;
        // What it prints is what `trust` takes.
        home::run(other.command("atm").args(["bridge", "trust"]).args(line.split_whitespace()))?;
    }
    Ok(())
}

pub(super) fn start_bridge(home: &Home, machine: &str, url: &str, team: &str) -> Result<Program> {
    let mut command = home.command("atm-bridge");
    command.args(["run", "--machine", machine, "--nats", url, "--team", team]);
    let log = fs::File::create(home.file("bridge.log"))?;
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
    Ok(Program { child: child.context("needs atm-bridge")?, _folder: None })
}

/// The server that `cargo xtask setup` installs, on a port that nobody has.
pub(super) fn start_server() -> Result<(Program, String)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let folder = tempfile::Builder::new().prefix("nats-").tempdir_in(repo::target()?)?;
    let program = repo::target()?.join("test-tools/nats/bin/nats-server");
    let mut command = Command::new(program);
    command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(folder.path());
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("needs nats-server: `cargo xtask setup`")?;
    let server = Program { child, _folder: Some(folder) };
    wait_for("the server listens", SOON, || Ok(TcpStream::connect(("127.0.0.1", port)).is_ok()))?;
    Ok((server, format!("nats://127.0.0.1:{port}")))
}
