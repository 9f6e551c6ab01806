//! Our own processes in the storm. Some are killed, some are told to stop.

use std::fs::{self, File};
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use super::Storm;
use super::room::Room;
use crate::faults::random::Random;
use crate::faults::world::{self, Answer, LEAD, TEAM, World};

/// Of a hundred commands, so many are killed, and so many told to stop.
const KILLED: u64 = 8;
const STOPPED: u64 = 6;
/// The longest time until that happens.
const WITHIN: u64 = 40_000;

fn text(storm: &Storm, room: &Room, who: &str, turn: u64) -> String {
    format!("<{:x}.{}.{who}.{turn}>", storm.seed, room.name)
}

/// Runs a command, which perhaps is killed or stopped.
fn run(
    storm: &Storm,
    world: &World,
    who: &str,
    args: &[&str],
    input: Option<&str>,
    turn: u64,
) -> Result<Answer> {
    let mix =
        args.iter().flat_map(|arg| arg.bytes()).fold(turn, |mix, byte| mix.rotate_left(7) ^ u64::from(byte));
    let mut random = Random::new(storm.seed ^ mix);
    let fate = random.below(100);
    let signal = match fate {
        _ if fate < KILLED => Some(Signal::SIGKILL),
        _ if fate < KILLED + STOPPED => Some(Signal::SIGTERM),
        _ => None,
    };
    let pause = Duration::from_micros(random.below(WITHIN));
    let command = world.command(&[], who, &[&["-t", TEAM], args].concat());
    let answer = world::finish(command, input, |process| {
        if let (Some(signal), Ok(process)) = (signal, i32::try_from(process)) {
            thread::sleep(pause);
            // It may be over.
            let _ = signal::kill(Pid::from_raw(process), signal);
        }
    })?;
    if answer.hangs {
        storm.journal.hang(&args.join(" "));
    }
    Ok(answer)
}

pub(super) fn send(storm: &Storm, world: &World, room: &Room, number: u32, turn: u64) -> Result<()> {
    let text = text(storm, room, &format!("s{number}"), turn);
    let answer = run(storm, world, LEAD, &["--json", "send", room.name, &text], None, turn)?;
    storm.journal.sent("send", &[(room.name, text)], &answer);
    Ok(())
}

pub(super) fn batch(storm: &Storm, world: &World, room: &Room, turn: u64) -> Result<()> {
    let texts: Vec<_> =
        (0..4).map(|part| (room.name, text(storm, room, &format!("b{part}"), turn))).collect();
    let line = |(to, text): &(&str, String)| format!("{}\n", serde_json::json!({ "to": to, "text": text }));
    let input: String = texts.iter().map(line).collect();
    let answer = run(storm, world, LEAD, &["--json", "send", "--batch"], Some(&input), turn)?;
    storm.journal.sent("batch", &texts, &answer);
    Ok(())
}

/// To rooms in which nothing is undone, by another team's lead as it were: nobody there is a reader of its own mail.
pub(super) fn broadcast(storm: &Storm, world: &World, room: &Room, turn: u64) -> Result<()> {
    let to = ["drained", "tools", "reads", "everybody"];
    let text = text(storm, room, "all", turn);
    let names = to.join(",");
    let answer = run(storm, world, LEAD, &["--json", "broadcast", "--to", &names, &text], None, turn)?;
    let texts: Vec<_> = to.iter().map(|to| (*to, text.clone())).collect();
    storm.journal.sent("broadcast", &texts, &answer);
    Ok(())
}

pub(super) fn read(storm: &Storm, world: &World, room: &Room, turn: u64) -> Result<()> {
    let answer = run(storm, world, room.name, &["--json", "read"], None, turn)?;
    storm.journal.show(room.name, &answer.stdout);
    Ok(())
}

pub(super) fn hook(storm: &Storm, world: &World, room: &Room, turn: u64) -> Result<()> {
    for event in ["UserPromptSubmit", "Stop"] {
        let input = serde_json::json!({ "session_id": "soak", "hook_event_name": event, "prompt": "go on" });
        let answer =
            run(storm, world, room.name, &["hook", "--client", "claude"], Some(&input.to_string()), turn)?;
        storm.journal.show(room.name, &answer.stdout);
    }
    Ok(())
}

pub(super) fn look(storm: &Storm, world: &World, turn: u64) -> Result<()> {
    run(storm, world, LEAD, &["pending"], None, turn).map(drop)
}

pub(super) fn watch(world: &World, room: &Room) -> Result<()> {
    world.atm(room.name, &["-t", TEAM, "watch", "--for", "2s"]).map(drop)
}

/// What an operator runs now and then.
pub(super) fn upkeep(storm: &Storm, world: &World, room: &Room, turn: u64) -> Result<()> {
    let commands: [&[&str]; 6] = [
        &["archive", room.name, "--keep", "20"],
        &["doctor"],
        &["clean", room.name, "--older-than", "1h"],
        &["stats"],
        &["archive", room.name],
        &["doctor", "--fix"],
    ];
    let at = usize::try_from(turn).unwrap_or_default() % commands.len();
    run(storm, world, LEAD, commands[at], None, turn).map(drop)
}

/// Fills the disk for a while, frees it for a while.
pub(super) fn fill_and_free(storm: &Storm, world: &World) -> Result<()> {
    let filler = world.folder().join("filler");
    while !storm.is_over() {
        storm.pause(Duration::from_secs(3));
        let mut file = File::create(&filler)?;
        let zeros = [0; 4096];
        while file.write_all(&zeros).is_ok() {}
        storm.pause(Duration::from_secs(1));
        fs::remove_file(&filler)?;
    }
    Ok(())
}
