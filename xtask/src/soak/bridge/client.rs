//! A client on each machine that writes to members of the others by its own means: into their inboxes there, which a bridge reads, with
//! the clients' own lock.

use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use atm_wire::MemberName;
use serde_json::Value;

use super::Scene;
use super::moves::MOVER;
use crate::repo;
use crate::soak::foreign::script_command;

/// Letters of one run.
const BURST: usize = 10;

/// Writes until the storm is over, in short runs.
pub(super) fn write(scene: &Scene, machine: usize) -> Result<()> {
    let it = &scene.machines[machine];
    let name = it.members[1];
    let mut random = scene.random(500 + machine as u64);
    // A member that moves is at home here now and then, and its inbox is its own then.
    let is_abroad = |to: &String| to != MOVER && scene.home_of(machine, to).0 != machine;
    let recipients: Vec<String> = scene.names_at(machine, name).into_iter().filter(is_abroad).collect();
    for burst in 1.. {
        scene.storm.pause(Duration::from_millis(1_000 + random.below(3_000)));
        if scene.storm.is_over() {
            break;
        }
        let to = random.pick::<String>(&recipients);
        let inbox = it.world.inbox(&MemberName::parse(to)?.file_stem());
        let mut client = script_command("node", "client.mjs")?;
        client.arg("--inbox").arg(inbox).args(["--from", name]);
        // A run's number and that of a letter in it are one number.
        client.args(["--prefix", &format!("{} {name}-client {burst}", scene.word())]);
        client.args(["--count", &BURST.to_string(), "--pause-ms", "40"]);
        if random.below(2) == 0 {
            client.args(["--style", "rename", "--gen3"]);
        }
        client.env("ATM_TEST_NODE_MODULES", &scene.storm.node_modules);
        client.stdin(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let output = client.output().with_context(|| format!("cannot start: {}", repo::shown(&client)))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            scene.account.wrong(format!("the client of {name} ended with {}: {}", output.status, why.trim()));
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let said: Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(text) = said["text"].as_str() {
                scene.account.by_client(scene.home_of(machine, to), text);
            }
        }
    }
    Ok(())
}
