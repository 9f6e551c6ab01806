//! Peers of another machine: a real session lists a member of the other machine, writes to it by its own tool, and has the
//! answer; once as a plain session outside of the team, once as the team's lead.
//!
//! Two homes are two machines, with a bridge each and a real nats-server between. The member's client is a test double.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::bridge::{introduce, start_bridge, start_server};
use super::super::model::ScriptedModel;
use super::super::patience::wait_for;
use super::super::request::{LIST_AGENTS, Speaker, TEAM, write_to};
use super::super::session::{QUIET, Role, START, Session};
use super::super::terminal::Terminal;
use super::peers::{Daemon, double, tool_result};
use super::scene::{Manner, Scene, Start};
use crate::clients::home::Home;

/// What is to come comes within this time, also on a busy machine.
const SOON: Duration = Duration::from_secs(90);
/// A second copy would have come by then.
const SETTLES: Duration = Duration::from_secs(3);
/// The team of mailboxes that are folders.
const SESSIONS: &str = "sessions";
/// The member of the other machine.
const REMOTE: &str = "sam";

/// What a session did.
#[derive(Debug, Default)]
pub(super) struct Seen {
    listed: Duration,
    arrived: Duration,
    from: String,
    said: String,
    proved: Duration,
    evidence: String,
    answered: Duration,
    is_answer_shown_twice: bool,
    copies: usize,
}

pub(super) struct Row {
    version: String,
    session: &'static str,
    seen: Result<Seen>,
}

impl Row {
    pub(super) fn is_true(&self) -> bool {
        self.seen.as_ref().is_ok_and(|seen| seen.copies == 1)
    }
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "\n| Claude Code | its session | the other machine's member in its list | in the file there | copies | from | its tool says | `seen` at home, evidence | the answer shown |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let span = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    for Row { version, session, seen } in rows {
        let _ = match seen {
            Ok(seen) => writeln!(
                table,
                "| {version} | {session} | {} | {} | {} | `{}` | {} | {}, {} | {}{} |",
                span(seen.listed),
                span(seen.arrived),
                seen.copies,
                seen.from,
                seen.said,
                span(seen.proved),
                seen.evidence,
                span(seen.answered),
                if seen.is_answer_shown_twice { ", twice by the client, of one entry" } else { "" },
            ),
            Err(error) => {
                let words = format!("{error:#}").replace(['|', '\n'], " ");
                writeln!(table, "| {version} | {session} | did not run: {words} | | | | | | |")
            }
        };
    }
    table
}

/// The machine that the session runs on.
struct Laptop<'a> {
    home: &'a Home,
    terminal: &'a Terminal,
    model: &'a ScriptedModel,
    team: &'a str,
    /// The team that its own mail is in.
    own_team: &'a str,
}

impl Laptop<'_> {
    fn await_rest(&self) -> Result<()> {
        wait_for("the session rests", START, || {
            ensure!(self.terminal.is_running(), "the client ended: {}", self.terminal.screen());
            Ok(self.model.is_quiet(Speaker::Main, QUIET))
        })
    }

    fn await_shown(&self, what: &str, words: &str) -> Result<()> {
        wait_for(what, SOON, || Ok(self.model.count(Speaker::Main, words) > 0))
            .with_context(|| self.terminal.screen())
    }
}

/// Both sessions of a version.
pub(super) fn run(start: &Start<'_>) -> Vec<Row> {
    let row = |session: &'static str, seen: Result<Seen>| {
        if let Err(error) = &seen {
            eprintln!("clients: peers {} {session}: {error:#}", start.version);
        }
        Row { version: start.version.to_owned(), session, seen }
    };
    let (outside, inside) = ("outside of the team", "the team's lead");
    vec![row(outside, run_outside(start)), row(inside, run_inside(start))]
}

fn run_outside(start: &Start<'_>) -> Result<Seen> {
    let scene = Scene::start(start, Manner::default())?;
    ensure!(scene.pushes(), "it has no socket");
    scene.home.atm_in(TEAM, &["team", "create", TEAM])?;
    let (home, terminal, model) = (&scene.home, &scene.terminal, &scene.model);
    let seen = with_desk(start, &Laptop { home, terminal, model, team: TEAM, own_team: SESSIONS })?;
    ensure!(seen.from == "work.sessions.laptop", "from {}", seen.from);
    Ok(seen)
}

fn run_inside(start: &Start<'_>) -> Result<Seen> {
    let home = Home::without_team(start.atm, start.programs)?;
    let session = Session::start(start.version, Role::Lead, start.programs, home)?;
    let Session { home, terminal, model, team, .. } = &session;
    let seen = with_desk(start, &Laptop { home, terminal, model, team, own_team: team })?;
    ensure!(seen.from == "team-lead.laptop", "from {}", seen.from);
    Ok(seen)
}

/// Starts the other machine, both bridges and the server.
fn with_desk(start: &Start<'_>, laptop: &Laptop<'_>) -> Result<Seen> {
    let (_server, url) = start_server()?;
    let desk = Home::without_team(start.atm, start.programs)?;
    desk.atm_in(TEAM, &["team", "create", TEAM])?;
    desk.atm_in(TEAM, &["member", "add", REMOTE])?;
    let _sam = double(&desk, REMOTE, TEAM)?;
    introduce(laptop.home, &desk)?;
    let shared = format!("{}={TEAM}", laptop.team);
    let _bridges =
        [start_bridge(laptop.home, "laptop", &url, &shared)?, start_bridge(&desk, "desk", &url, TEAM)?];
    let daemon = Daemon(laptop.home);
    daemon.atm(&["config", "set", "claude.native_peers", "true"])?;
    daemon.atm(&["daemon", "start"])?;
    course(laptop, &desk, &daemon)
}

fn course(laptop: &Laptop<'_>, desk: &Home, daemon: &Daemon<'_>) -> Result<Seen> {
    let mut seen = Seen::default();
    let peer = format!("{REMOTE} (machine desk, team {})", laptop.team);
    wait_for("the member has an entry", SOON, || Ok(daemon.titles().contains(&peer)))
        .with_context(|| daemon.titles().join(", "))?;
    laptop.await_rest()?;
    let asked = Instant::now();
    laptop.terminal.enter(&format!("Who is there? {LIST_AGENTS}"))?;
    laptop.await_shown("the client lists the member", &peer)?;
    seen.listed = asked.elapsed();
    laptop.await_rest()?;

    let words = "is the build on your machine green?";
    let wrote = Instant::now();
    laptop.terminal.enter(&write_to(&peer, words))?;
    let mut mail = Value::Null;
    wait_for("the mail is in the file there", SOON, || {
        mail = inbox(desk, words);
        Ok(mail["text"] == words)
    })
    .with_context(|| laptop.terminal.screen())?;
    seen.arrived = wrote.elapsed();
    mail["from"].as_str().unwrap_or_default().clone_into(&mut seen.from);
    let id = mail["messageId"].as_str().context("mail has an id")?.to_owned();
    laptop.await_rest()?;
    seen.said = tool_result(laptop.model, &peer);

    // What comes home: first that it is written there, then that its reader had it.
    let track = || laptop.home.atm_in(laptop.team, &["track", &id]);
    wait_for("it is known at home to be written", SOON, || Ok(evidence(&track()?, "written").is_some()))?;
    let read = Instant::now();
    desk.atm_in(TEAM, &["--as", REMOTE, "read"])?;
    let mut proof = None;
    wait_for("it is seen at home", SOON, || {
        proof = evidence(&track()?, "seen");
        Ok(proof.is_some())
    })?;
    seen.proved = read.elapsed();
    seen.evidence = proof.unwrap_or_default();

    let answer = "it is green since noon";
    let sent = Instant::now();
    desk.atm_in(TEAM, &["--as", REMOTE, "reply", &id, answer])?;
    laptop.await_shown("the answer is shown", answer)?;
    seen.answered = sent.elapsed();
    std::thread::sleep(SETTLES);
    seen.copies = copies(desk, TEAM, words)?;
    let answers = copies(laptop.home, laptop.own_team, answer)?;
    ensure!(answers == 1, "the answer was written {answers} times");
    // What a client shows twice of one entry is its own doing; what is pushed is ours.
    seen.is_answer_shown_twice = laptop.model.count(Speaker::Main, answer) > 1;
    ensure!(!seen.is_answer_shown_twice || laptop.own_team != SESSIONS, "the answer was pushed twice");
    Ok(seen)
}

/// How many messages of a team have these words.
fn copies(home: &Home, team: &str, words: &str) -> Result<usize> {
    let found = home.atm_in(team, &["search", words])?;
    Ok(found.as_array().into_iter().flatten().filter(|mail| mail["text"] == words).count())
}

/// The entry with these words in the member's file.
fn inbox(desk: &Home, words: &str) -> Value {
    let file = desk.file(&format!(".claude/teams/{TEAM}/inboxes/{REMOTE}.json"));
    let entries: Vec<Value> =
        fs::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    entries.into_iter().find(|entry| entry["text"] == words).unwrap_or_default()
}

/// How it is known that a message reached a stage on the other machine.
fn evidence(track: &Value, stage: &str) -> Option<String> {
    let reached = track["stages"].as_array()?.iter().find(|reached| reached["stage"] == stage)?;
    let evidence = &reached["evidence"];
    (evidence["machine"] == "desk")
        .then(|| format!("{} on `desk`", evidence["what"].as_str().unwrap_or_default()))
}
