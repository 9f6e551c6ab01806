//! Peers: a real session lists a member of another client, writes to it by its own tool, and has the answer. Members of other
//! machines are in `abroad`.
//!
//! The member's client is a test double: a process that calls our hook as Codex does, and waits.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::super::model::ScriptedModel;
use super::super::patience::{comes_true, wait_for};
use super::super::request::{LIST_AGENTS, Speaker, write_to};
use super::scene::{Manner, Scene, Start};
use crate::clients::home::Home;

/// What is to come comes within this time, also on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// What is not to come would have come by then.
const NEVER: Duration = Duration::from_secs(10);
const PEER: &str = "bob (codex, team shop)";

/// What a version did.
#[derive(Debug, Default)]
pub(super) struct Seen {
    listed: Option<Duration>,
    accepted: Option<Duration>,
    from: String,
    said: String,
    answered: Option<Duration>,
    refused: String,
    note: &'static str,
}

pub(super) struct Row {
    pub(super) version: String,
    pub(super) seen: Result<Seen>,
}

impl Row {
    pub(super) fn is_true(&self) -> bool {
        self.seen.as_ref().is_ok_and(|seen| !seen.note.is_empty() || seen.answered.is_some())
    }

    /// Whether this version has a list of agents, as far as that was seen.
    pub(super) fn has_list(&self) -> bool {
        !self.seen.as_ref().is_ok_and(|seen| !seen.note.is_empty())
    }
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| Claude Code | in its list of agents | mail accepted | from | its tool says | the answer, by push | refused | removed |\n|---|---|---|---|---|---|---|---|\n",
    );
    let span = |time: Option<Duration>| {
        time.map_or_else(|| "–".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()))
    };
    for Row { version, seen } in rows {
        let _ = match seen {
            Ok(seen) => writeln!(
                table,
                "| {version} | {} | {} | {} | {} | {} | {} | {} |",
                span(seen.listed),
                span(seen.accepted),
                seen.from,
                seen.said,
                span(seen.answered),
                seen.refused,
                if seen.note.is_empty() { "by `daemon stop` and after `kill -9`" } else { seen.note },
            ),
            Err(error) => {
                let words = format!("{error:#}").replace(['|', '\n'], " ");
                writeln!(table, "| {version} | did not run: {words} | | | | | | |")
            }
        };
    }
    table
}

/// A process that calls our hook as a member's client, and ends with this value.
pub(super) struct Double(Child);

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A home's daemon, which ends with this value.
pub(super) struct Daemon<'a>(pub(super) &'a Home);

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if let Ok(pid) = self.pid() {
            let _ = kill(pid, Signal::SIGCONT);
        }
        let _ = self.atm(&["daemon", "stop"]);
    }
}

impl Daemon<'_> {
    pub(super) fn atm(&self, words: &[&str]) -> Result<Value> {
        self.0.atm_plain(words)
    }

    fn pid(&self) -> Result<Pid> {
        let text = fs::read_to_string(self.0.file(".local/state/atm/daemon/lock"))?;
        Ok(Pid::from_raw(text.trim().parse()?))
    }

    /// How many entries in the client's registry are ours.
    fn entries(&self) -> usize {
        self.titles().len()
    }

    /// What the entries in the client's registry that are ours are called.
    pub(super) fn titles(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.file(".claude/sessions")).into_iter().flatten().flatten();
        // The registry alone: what lies beside it is not ours to read.
        let files =
            files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
        let entries =
            files.filter_map(|path| serde_json::from_str::<Value>(&fs::read_to_string(path).ok()?).ok());
        let ours = entries.filter(|entry| entry["atm"].is_object());
        ours.filter_map(|entry| entry["name"].as_str().map(ToOwned::to_owned)).collect()
    }
}

pub(super) fn run(start: &Start<'_>) -> Result<Seen> {
    let scene = Scene::start(start, Manner::default())?;
    let daemon = Daemon(&scene.home);
    daemon.atm(&["team", "create", "shop"])?;
    daemon.atm(&["--team", "shop", "member", "add", "bob"])?;
    let _bob = double(&scene.home, "bob", "shop")?;
    daemon.atm(&["config", "set", "claude.native_peers", "true"])?;
    daemon.atm(&["daemon", "start"])?;
    let mut seen = Seen::default();
    if !scene.pushes() {
        ensure!(
            !comes_true(NEVER, || Ok(daemon.entries() > 0))?,
            "it was listed for a client that has no list"
        );
        seen.note = "no socket, no list of agents: nothing is written into its folder";
        return Ok(seen);
    }
    wait_for("the peer has an entry", SOON, || Ok(daemon.entries() == 1))?;

    let asked = Instant::now();
    scene.terminal.enter(&format!("Who is there? {LIST_AGENTS}"))?;
    wait_for("the client lists the peer", SOON, || Ok(scene.shown(PEER) > 0))
        .with_context(|| scene.terminal.screen())?;
    seen.listed = Some(asked.elapsed());
    scene.await_rest()?;

    let words = "is the build of the shop green?";
    let wrote = Instant::now();
    scene.terminal.enter(&write_to(PEER, words))?;
    let mut mail = Value::Null;
    wait_for("the mail is there", SOON, || {
        mail = daemon.atm(&["--team", "shop", "inbox", "bob"])?[0].clone();
        Ok(mail["text"].as_str() == Some(words))
    })
    .with_context(|| format!("{mail} {}", scene.terminal.screen()))?;
    seen.accepted = Some(wrote.elapsed());
    let id = mail["id"].as_str().context("mail has an id")?.to_owned();
    let stages = daemon.atm(&["track", &id])?["stages"].to_string();
    ensure!(stages.contains("accepted"), "{stages}");
    let origin = mail["extra"]["metadata"]["atm"]["origin"].as_str().unwrap_or("shop");
    seen.from = format!("`{}@{origin}`", mail["from"].as_str().unwrap_or_default());
    scene.await_rest()?;
    seen.said = tool_result(&scene.model, PEER);

    let answer = "it is green since noon";
    let sent = Instant::now();
    daemon.atm(&["--team", "shop", "--as", "bob", "reply", &id, answer])?;
    wait_for("the answer is pushed", SOON, || Ok(scene.shown(answer) > 0))
        .with_context(|| scene.terminal.screen())?;
    seen.answered = Some(sent.elapsed());
    scene.await_rest()?;

    seen.refused = refusal(&scene, &daemon)?;
    removal(&daemon)?;
    Ok(seen)
}

/// What the client's tool told the model about the message.
pub(super) fn tool_result(model: &ScriptedModel, peer: &str) -> String {
    let heard = model.longest(Speaker::Main);
    let is_it = |line: &&str| line.contains("\"success\":") && line.contains(peer);
    let Some(line) = heard.lines().rev().find(is_it) else { return "–".to_owned() };
    let success = if line.contains("\"success\":true") { "success" } else { "failure" };
    let unread = if line.contains("not yet read") { ", not yet read" } else { "" };
    format!("{success}{unread}")
}

/// A message that cannot be taken: its team is gone, and the daemon does not know yet.
fn refusal(scene: &Scene, daemon: &Daemon<'_>) -> Result<String> {
    kill(daemon.pid()?, Signal::SIGSTOP)?;
    let (team, aside) = (scene.home.file(".claude/teams/shop"), scene.home.file("shop.aside"));
    fs::rename(&team, &aside)?;
    scene.terminal.enter(&write_to(PEER, "and now?"))?;
    let notice = "[Cross-session delivery notice] Your message to another session was refused";
    let told = comes_true(SOON, || Ok(scene.shown(notice) > 0))?;
    fs::rename(&aside, &team)?;
    kill(daemon.pid()?, Signal::SIGCONT)?;
    scene.await_rest()?;
    Ok(if told { "the model is told" } else { "not told" }.to_owned())
}

/// Nothing of it is left, whichever way the daemon ends.
fn removal(daemon: &Daemon<'_>) -> Result<()> {
    wait_for("it is listed", SOON, || Ok(daemon.entries() == 1))?;
    daemon.atm(&["daemon", "stop"])?;
    ensure!(daemon.entries() == 0, "an entry is left");
    daemon.atm(&["daemon", "start"])?;
    wait_for("it is listed again", SOON, || Ok(daemon.entries() == 1))?;
    kill(daemon.pid()?, Signal::SIGKILL)?;
    wait_for("it is gone with the daemon", SOON, || Ok(daemon.entries() == 0))?;
    let sockets = daemon.0.file(".local/state/atm/daemon/peers");
    ensure!(is_empty(&sockets), "a socket is left");
    Ok(())
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut files| files.next().is_none())
}

/// A client of a member that calls our hook as Codex does, and waits.
pub(super) fn double(home: &Home, member: &str, team: &str) -> Result<Double> {
    const CLIENT: &str = "import json,os,subprocess,sys\n\
        subprocess.run(['atm','hook','UserPromptSubmit','--client','codex'],input=sys.argv[1],text=True,check=True)\n\
        print('ready',flush=True)\nsys.stdin.read()";
    let session = "0199a0b1-0000-7000-8000-000000000001";
    let rollout = format!(".codex/sessions/2026/11/17/rollout-2026-11-17T12-00-00-{session}.jsonl");
    let input = json!({
        "session_id": session, "transcript_path": home.file(&rollout), "cwd": home.file("work"),
        "hook_event_name": "UserPromptSubmit", "prompt": "wait for mail", "turn_id": "1", "model": "scripted",
    });
    let mut command = home.command("python3");
    command.args(["-c", CLIENT, &input.to_string()]).env("ATM_AS", member).env("ATM_TEAM", team);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("needs python3")?;
    let mut line = String::new();
    let output = child.stdout.take().context("it was piped")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)?;
    ensure!(line.starts_with("ready"), "the hook failed");
    Ok(Double(child))
}
