//! Other programs and their teams: some come and go, file by file or at once, and one stays and is drained.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Scene;
use crate::faults::random::Random;
use crate::repo;

/// How long others may keep a folder from being removed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a program keeps its inboxes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A client that writes arrays in place, under its lock.
    InPlace,
    /// A newer one that renames, and deletes its team at its end.
    Renames,
    /// A tool that has another lock.
    Tool,
    /// Lines that are appended.
    Log,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::InPlace, Self::Renames, Self::Tool, Self::Log];

    fn script(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::InPlace => ("node", "client.mjs", &[]),
            Self::Renames => ("node", "client.mjs", &["--style", "rename", "--gen3"]),
            Self::Tool => ("python3", "flock_writer.py", &["--style", "rename"]),
            Self::Log => ("sh", "append.sh", &["--lock"]),
        }
    }

    fn inbox(self, folder: &Path) -> PathBuf {
        folder.join(if self == Self::Log { "members/bob/inbox" } else { "inboxes/bob.json" })
    }
}

/// A team after the other: made, written to, perhaps drained, deleted.
pub(super) fn come_and_go(scene: &Scene, number: usize, kind: Kind) -> Result<()> {
    let mut random = scene.random(30 + number as u64);
    let mut turn = 0;
    while !scene.storm.is_over() {
        let name = format!("t{number}x{turn}");
        let folder = scene.world.root().join("teams").join(&name);
        make(&folder, kind, &mut random)?;
        for part in 0..2 {
            write(scene, kind, &folder, &name, &format!("{part}a"), 2 + random.below(4))?;
            scene.storm.pause(Duration::from_millis(random.below(1_500)));
            if matches!(kind, Kind::InPlace | Kind::Renames) && random.below(2) == 0 {
                drain(scene, &kind.inbox(&folder), 1)?;
                scene.storm.pause(Duration::from_millis(random.below(800)));
            }
        }
        if scene.storm.is_over() && random.below(2) == 0 {
            // Some are still there at the end.
            return Ok(());
        }
        scene.account.delete(&name);
        delete(&folder, &mut random)?;
        scene.storm.pause(Duration::from_millis(random.below(400)));
        turn += 1;
    }
    Ok(())
}

/// A team that is written to and drained all the time.
pub(super) fn stays(scene: &Scene) -> Result<()> {
    let mut random = scene.random(40);
    let (name, kind) = ("stays", Kind::Renames);
    let folder = scene.world.root().join("teams").join(name);
    make(&folder, kind, &mut random)?;
    let mut turn = 0;
    while !scene.storm.is_over() {
        thread::scope(|scope| {
            let writer = scope.spawn(|| write(scene, kind, &folder, name, &format!("{turn}b"), 10));
            let drainer = scope.spawn(|| drain(scene, &kind.inbox(&folder), 8));
            [writer, drainer].into_iter().try_for_each(|actor| {
                actor.join().map_err(|_| anyhow::anyhow!("a writer or drainer panicked"))?
            })
        })?;
        turn += 1;
    }
    Ok(())
}

/// The folder first, and what makes it a team a moment later, as clients do.
fn make(folder: &Path, kind: Kind, random: &mut Random) -> Result<()> {
    fs::create_dir_all(folder)?;
    thread::sleep(Duration::from_millis(random.below(30)));
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let member = |member: &str| json!({ "agentId": format!("{member}@{name}"), "name": member });
    let config = json!({
        "name": name, "leadAgentId": format!("team-lead@{name}"), "leadSessionId": "0b7e",
        "members": [member("team-lead"), member("bob")],
    });
    fs::write(folder.join("config.json"), config.to_string())?;
    if let Some(parent) = kind.inbox(folder).parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(())
}

/// A run of the program that writes; notes each message when it says that it is there.
fn write(scene: &Scene, kind: Kind, folder: &Path, team: &str, run: &str, count: u64) -> Result<()> {
    let (interpreter, script, more) = kind.script();
    let mut command = Command::new(interpreter);
    command.arg(repo::root()?.join("crates/support/foreign").join(script));
    command.arg("--inbox").arg(kind.inbox(folder)).args(more);
    // The number comes behind it, and no text is the beginning of another.
    command.args(["--prefix", &format!("{} {team} {run} ", scene.word())]);
    command.args(["--count", &count.to_string(), "--pause-ms", "60"]);
    stream(scene, command, |said| {
        if let Some(text) = said["text"].as_str() {
            scene.account.written(team, text);
        }
    })
}

fn drain(scene: &Scene, inbox: &Path, count: u64) -> Result<()> {
    let mut command = Command::new("node");
    command.arg(repo::root()?.join("crates/support/foreign/client.mjs"));
    command.arg("--inbox").arg(inbox).args(["--verb", "drain", "--style", "rename"]);
    command.args(["--count", &count.to_string(), "--pause-ms", "150"]);
    stream(scene, command, |said| {
        if let Some(text) = said["text"].as_str() {
            scene.account.drained(text);
        }
    })
}

/// Runs a program to its end, and hears each line as it says it.
fn stream(scene: &Scene, mut command: Command, mut hear: impl FnMut(&Value)) -> Result<()> {
    command.env("ATM_TEST_NODE_MODULES", &scene.storm.node_modules);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot start: {}", repo::shown(&command)))?;
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        hear(&serde_json::from_str(&line?).unwrap_or_default());
    }
    let ended = child.wait()?;
    if ended.code() == Some(3) {
        scene.account.wrong(format!("a client's lock was broken: {}", repo::shown(&command)));
    }
    Ok(())
}

/// At once, or file by file in any order with pauses.
fn delete(folder: &Path, random: &mut Random) -> Result<()> {
    if random.below(2) == 0 {
        let mut files = files_below(folder);
        while !files.is_empty() {
            let at = usize::try_from(random.below(files.len() as u64)).unwrap_or_default();
            // A lock may be gone by itself.
            let _ = fs::remove_file(files.swap_remove(at));
            thread::sleep(Duration::from_millis(random.below(40)));
        }
    }
    let begun = Instant::now();
    // Somebody who writes there meanwhile keeps a folder from being removed.
    while let Err(error) = fs::remove_dir_all(folder) {
        if error.kind() == io::ErrorKind::NotFound {
            break;
        }
        if begun.elapsed() > PATIENCE {
            return Err(error).with_context(|| format!("cannot delete {}", folder.display()));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    // The order of a folder is the system's.
    files.sort();
    files
}
