//! Other programs in the storm: the scripts that the tests use, in short runs, since a killed one may leave half a file.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Storm;
use super::room::Room;
use crate::faults::world::World;
use crate::repo;

/// Which program.
#[derive(Clone, Copy)]
pub(super) enum Script {
    ClientSends { in_place: bool },
    ClientDrains,
    ClientMarks,
    ToolSends,
    ToolMarks,
    Lockless,
}

/// Reads, waits for a moment, and renames what it read with its own behind it.
const LOCKLESS: &str = r#"
inbox=$1 prefix=$2
for turn in 0 1 2 3; do
    temp=$inbox.tmp.$$
    text=$prefix$turn.
    jq --arg text "$text" '. + [{from:"shell",text:$text,timestamp:(now|todate),read:false}]' "$inbox" >"$temp" || continue
    sleep 0.02
    mv "$temp" "$inbox"
    printf '{"text":"%s"}\n' "$text"
    sleep 0.3
done
"#;

/// One run of a program; notes what it wrote, showed or took.
pub(super) fn burst(storm: &Storm, world: &World, room: &Room, script: Script, turn: u64) -> Result<()> {
    let inbox = world.inbox(room.name);
    let prefix = format!("<{:x}.{}.f{turn}.", storm.seed, room.name);
    let mut command = match script {
        Script::Lockless => {
            let mut shell = Command::new("sh");
            shell.args(["-c", LOCKLESS, "lockless"]).arg(&inbox).arg(&prefix);
            shell
        }
        Script::ToolSends | Script::ToolMarks => script_command("python3", "flock_writer.py")?,
        _ => script_command("node", "client.mjs")?,
    };
    if !matches!(script, Script::Lockless) {
        command.arg("--inbox").arg(&inbox).args(["--prefix", &prefix]);
    }
    let args: &[&str] = match script {
        Script::ClientSends { in_place: true } => &["--count", "10", "--pause-ms", "40"],
        Script::ClientSends { in_place: false } => {
            &["--count", "10", "--pause-ms", "40", "--style", "rename", "--gen3"]
        }
        Script::ClientDrains => {
            &["--verb", "drain", "--style", "rename", "--count", "10", "--pause-ms", "150"]
        }
        Script::ClientMarks => {
            &["--verb", "mark-read", "--count", "10", "--pause-ms", "150", "--gap-ms", "5"]
        }
        Script::ToolSends => &["--count", "10", "--pause-ms", "40", "--style", "rename"],
        Script::ToolMarks => {
            &["--verb", "mark-read", "--count", "10", "--pause-ms", "150", "--style", "rename"]
        }
        Script::Lockless => &[],
    };
    command.args(args).env("ATM_TEST_NODE_MODULES", &storm.node_modules);
    command.stdin(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let output = command.output().with_context(|| format!("cannot start: {}", repo::shown(&command)))?;
    if output.status.code() == Some(3) {
        storm.journal.break_lock();
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let said: Value = serde_json::from_str(line).unwrap_or_default();
        let text = |key: &str| said[key].as_str().map(ToOwned::to_owned);
        match script {
            Script::ClientDrains => storm.journal.take(room.name, text("text")),
            // What is marked without having been shown counts as taken all the same: the client consumed it.
            Script::ClientMarks | Script::ToolMarks => {
                storm.journal.mark(room.name, text("text").or(text("unseen")));
            }
            _ => storm.journal.foreign(room.name, text("text")),
        }
    }
    Ok(())
}

pub(super) fn script_command(interpreter: &str, script: &str) -> Result<Command> {
    let mut command = Command::new(interpreter);
    command.arg(repo::root()?.join("crates/support/foreign").join(script));
    Ok(command)
}
