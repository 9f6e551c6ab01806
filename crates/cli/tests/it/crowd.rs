//! Many processes of ours beside many of others, all at one inbox: nothing is lost, nothing is there twice, and nobody
//! ever reads nonsense.
//!
//! Clients and Python tools do not know each other's locks, so mail is lost between those two whatever we do: each kind is
//! therefore tested with us alone.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use atm_store::Layout;
use atm_support::{Foreign, Running, TestTeam};
use serde_json::Value;

use crate::scene::{World, foreign_team};

const PROCESSES: usize = 8;
const SENDS: usize = 50;
const OTHERS: usize = 8;
const OTHERS_SEND: usize = 20;

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// Sends from several processes at a time, one process a message; gives the texts, all of which were accepted.
fn send_from_many(world: &World) -> Vec<String> {
    let sender = |number: usize| {
        (0..SENDS)
            .map(|turn| {
                let text = format!("ours {number} {turn}");
                world.ok(&["send", "bob", &text]);
                text
            })
            .collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let senders: Vec<_> = (0..PROCESSES).map(|number| scope.spawn(move || sender(number))).collect();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    })
}

/// Runs `look` again and again until `work` is done.
fn while_looking<T>(look: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let looker = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                look();
            }
        });
        // Also when the work fails, the looking has to end.
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::SeqCst);
        looker.join().unwrap();
        worked.unwrap_or_else(|failure| std::panic::resume_unwind(failure))
    })
}

fn assert_all_are_there_once(team: &TestTeam, ours: Vec<String>, others: Vec<Running>, each: usize) {
    let mut accepted = ours;
    for other in others {
        // Had somebody taken its lock away, it would have ended with 3.
        let sent = other.finish().texts();
        assert_eq!(sent.len(), each);
        accepted.extend(sent);
    }
    assert_eq!(sorted(team.texts("bob")), sorted(accepted));
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
    assert!(team.env().set_aside().is_empty(), "no half-written file was taken for a broken one");
}

/// A look through our own eyes: it never fails, and never shows fewer messages than the one before, unless it says
/// that somebody is in the middle of writing.
fn assert_looks_grow(world: &World) -> impl Fn() + Sync + '_ {
    let most = std::sync::Mutex::new(0);
    move || {
        let answer = world.atm(&["inbox", "bob", "--json"]);
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        let count = serde_json::from_str::<Vec<Value>>(&answer.stdout).unwrap().len();
        let mut most = most.lock().unwrap();
        assert!(count >= *most || answer.stderr.contains("showing what can be read"), "{count} after {most}");
        *most = count.max(*most);
    }
}

#[test]
fn of_our_own_only() {
    let (world, team) = foreign_team(Layout::Array);
    let inbox = team.inbox("bob");
    // Through anybody's eyes: the file is there, and whole, at every instant.
    let look = || {
        let bytes = fs::read(&inbox).expect("the inbox is always there");
        serde_json::from_slice::<Vec<Value>>(&bytes).expect("the inbox is always an array");
    };
    let ours = while_looking(look, || send_from_many(&world));
    assert_all_are_there_once(&team, ours, Vec::new(), 0);
}

#[test]
fn beside_clients_that_write_in_place_and_by_rename() {
    let (world, team) = foreign_team(Layout::Array);
    let client = |number: usize| {
        let client = Foreign::client(&team.inbox("bob")).sending(&format!("client {number} "), OTHERS_SEND);
        if number.is_multiple_of(2) { client } else { client.renaming().flag("--gen3") }
    };
    let others: Vec<_> = (0..OTHERS).map(|number| client(number).start()).collect();
    let ours = while_looking(assert_looks_grow(&world), || send_from_many(&world));
    assert_all_are_there_once(&team, ours, others, OTHERS_SEND);
}

#[test]
fn beside_python_tools_that_write_in_place_and_by_rename() {
    let (world, team) = foreign_team(Layout::Array);
    let tool = |number: usize| {
        let tool = Foreign::python(&team.inbox("bob")).sending(&format!("python {number} "), OTHERS_SEND);
        if number.is_multiple_of(2) { tool } else { tool.renaming().with("--indent", "2") }
    };
    let others: Vec<_> = (0..OTHERS).map(|number| tool(number).start()).collect();
    let ours = while_looking(assert_looks_grow(&world), || send_from_many(&world));
    assert_all_are_there_once(&team, ours, others, OTHERS_SEND);
}

#[test]
fn beside_shells_that_append() {
    const LINES: usize = 250;
    const BATCH: usize = 5;
    let (world, team) = foreign_team(Layout::Log);
    let shell = |number: usize| {
        let shell = Foreign::shell(&team.inbox("bob")).sending(&format!("shell {number} "), LINES);
        if number.is_multiple_of(2) { shell } else { shell.flag("--lock") }
    };
    let others: Vec<_> = (0..4).map(|number| shell(number).start()).collect();
    let batch = |number: usize| {
        let mut texts = Vec::new();
        for turn in 0..SENDS {
            let new: Vec<_> = (0..BATCH).map(|line| format!("ours {number} {turn} {line}")).collect();
            let lines =
                new.iter().map(|text| format!("{}\n", serde_json::json!({ "to": "bob", "text": text })));
            let answer = world.pipe(&["send", "--batch"], lines.collect::<String>());
            assert_eq!(answer.code, Some(0), "{answer:?}");
            texts.extend(new);
        }
        texts
    };
    // Each line is whole as soon as its newline is there.
    let look = || {
        let bytes = fs::read(team.inbox("bob")).unwrap();
        let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        whole.for_each(|line| drop(serde_json::from_slice::<Value>(line).expect("a line is always JSON")));
    };
    let ours = while_looking(look, || {
        thread::scope(|scope| {
            let senders: Vec<_> = (0..PROCESSES).map(|number| scope.spawn(move || batch(number))).collect();
            senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect::<Vec<_>>()
        })
    });
    assert_eq!(ours.len(), PROCESSES * SENDS * BATCH);
    assert_all_are_there_once(&team, ours, others, LINES);
}

#[test]
fn that_makes_one_team_makes_it_once_and_loses_no_member() {
    let world = World::new();
    let run = |args: Vec<String>| world.atm(&args).code;
    let all = |command: &(dyn Fn(usize) -> Vec<String> + Sync)| -> Vec<Option<i32>> {
        thread::scope(|scope| {
            let runs: Vec<_> =
                (0..PROCESSES).map(|number| scope.spawn(move || run(command(number)))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        })
    };
    let words = |line: String| line.split(' ').map(ToOwned::to_owned).collect();
    let mut made = all(&|number| words(format!("team create dev --lead lead-{number}")));
    made.sort();
    assert_eq!(
        made,
        [&[Some(0)][..], &[Some(4); PROCESSES - 1]].concat(),
        "one made it, the others were told"
    );
    assert_eq!(all(&|number| words(format!("member add worker-{number}"))), [Some(0); PROCESSES]);
    let members = world.json(&["members"]);
    assert_eq!(members.as_array().unwrap().len(), PROCESSES + 1, "{members}");
}
