//! What a look costs does not grow with the inbox: 24 MB of mail, and little memory.

use std::fs::{self, File};
use std::io::{BufWriter, Write};

use serde_json::json;

use crate::scene::{ATM, Answer, World};

const MESSAGES: usize = 1_536;
const TEXT: usize = 16 * 1024;

/// The address space that a look may use beside the program itself: less than the inbox takes, let alone its messages as well.
const ROOM: u64 = 23 << 20;

/// An inbox of 24 MB that another program wrote: all of it unread, or all but the last.
fn world(read: bool) -> World {
    let world = World::with_team();
    let mut file = BufWriter::new(File::create(world.inbox_file("bob")).unwrap());
    let text = "word ".repeat(TEXT / 5);
    file.write_all(b"[\n").unwrap();
    for number in 0..MESSAGES {
        let entry = json!({
            "from": "team-lead",
            "text": format!("{number} {text}"),
            "timestamp": format!("2026-11-15T06:{:02}:{:02}.000Z", number / 60 % 60, number % 60),
            "messageId": format!("message-{number}"),
            "read": read && number + 1 < MESSAGES,
        });
        let comma = if number + 1 < MESSAGES { "," } else { "" };
        writeln!(file, "{entry}{comma}").unwrap();
    }
    file.write_all(b"]\n").unwrap();
    file.flush().unwrap();
    world
}

/// What the program takes when it is loaded, from the table in its file.
fn loaded() -> u64 {
    let program = fs::read(ATM).unwrap();
    let number = |at: usize, bytes: usize| {
        program[at..at + bytes].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let place = |at: usize, bytes: usize| usize::try_from(number(at, bytes)).unwrap();
    let (table, size, count) = (place(0x20, 8), place(0x36, 2), place(0x38, 2));
    let rows = (0..count).map(|row| table + row * size);
    rows.filter(|row| number(*row, 4) == 1).map(|row| number(row + 0x28, 8)).sum()
}

/// Runs a command in little address space.
fn in_little_room(world: &World, command: &str) -> Answer {
    let room = (loaded() + ROOM) >> 10;
    let line = format!("ulimit -v {room}; {command}");
    Answer::of(world, &world.shell().args(["-c", &line]).output().unwrap())
}

fn hook(event: &str) -> String {
    let input = json!({ "session_id": "s", "cwd": "/" });
    format!("printf '%s' '{input}' | atm hook {event} --client claude --as bob -t dev")
}

#[test]
#[cfg(target_os = "linux")]
fn a_hook_and_the_log_need_little_memory() {
    let world = world(false);
    let answer = in_little_room(&world, &hook("SessionStart"));
    assert!(answer.stdout.contains("0 word"), "{answer:?}");
    assert!(answer.stdout.contains(&format!("{} more wait", MESSAGES - 1)), "{}", answer.stdout);
    // The turn ends: what was presented is marked as read, and nothing else changes.
    let inbox = std::fs::read_to_string(world.inbox_file("bob")).unwrap();
    let answer = in_little_room(&world, &hook("Stop"));
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let marked = std::fs::read_to_string(world.inbox_file("bob")).unwrap();
    assert!(marked == inbox.replacen("\"read\":false", "\"read\":true", 1), "only one flag changed");
    let answer = in_little_room(&world, "atm log --json");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stdout.contains(&format!("message-{}", MESSAGES - 1)), "all of it is known");
    // Known by now, and looked at again.
    world.sent("bob", "one more");
    let answer = in_little_room(&world, "atm log --json");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
}

#[test]
#[cfg(target_os = "linux")]
fn the_one_that_is_unread_is_found() {
    let world = world(true);
    let answer = in_little_room(&world, &hook("UserPromptSubmit"));
    assert!(answer.stdout.contains(&format!("{} word", MESSAGES - 1)), "{answer:?}");
    assert!(!answer.stdout.contains("more: atm read"), "{}", answer.stdout);
}
