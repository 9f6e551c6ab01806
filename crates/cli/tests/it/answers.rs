//! Each answer to a send is one of three, and true: it is there; it is not there and never will be; it is accepted, not
//! written yet, and will be.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use atm_store::Layout;
use atm_support::{Foreign, TestTeam, wait_until};

use crate::scene::{Answer, World, foreign_team};

/// A program that keeps the ledger to itself until it is dropped.
struct Holder(Child);

impl Holder {
    fn of_ledger(world: &World) -> Self {
        let script = "import sqlite3, sys\n\
                      db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)\n\
                      db.execute('BEGIN IMMEDIATE')\n\
                      print('held', flush=True)\n\
                      sys.stdin.read()\n";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(world.state().join("log.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.stdin.take().map(|mut stdin| stdin.flush());
        let _ = self.0.wait();
    }
}

/// A message is there once, or never, after whatever was left to be done is done.
fn assert_times(world: &World, team: &TestTeam, text: &str, times: usize) {
    world.ok(&["pending"]);
    world.ok(&["send", "bob", "the next one"]);
    let there = team.texts("bob").iter().filter(|there| *there == text).count();
    assert_eq!(there, times, "{:?}", team.texts("bob"));
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
}

fn accepted(answer: &Answer) -> String {
    assert_eq!(answer.code, Some(9), "{answer:?}");
    let sent: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((sent["status"].as_str(), sent["stage"].as_str()), (Some("queued"), Some("accepted")));
    assert!(sent["warnings"][0].as_str().unwrap().contains("not written yet"), "{sent}");
    sent["id"].as_str().unwrap().to_owned()
}

#[test]
fn neither_the_ledger_nor_the_file_can_be_had() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "first"]);
    let mut flock = Foreign::flock_holder(&team.folder().join("inboxes/.lock")).start();
    flock.wait_for_lines(1);
    let ledger = Holder::of_ledger(&world);
    let answer = world.atm(&["--json", "send", "bob", "nowhere"]);
    drop((ledger, flock.finish()));
    assert_eq!(answer.code, Some(5), "{answer:?}");
    assert_times(&world, &team, "nowhere", 0);
}

#[test]
fn another_writer_does_not_come_to_its_end() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        world.ok(&["send", "bob", "first"]);
        let turn = File::open(world.queue_of(match layout {
            Layout::Array => "bob.json",
            Layout::Log => "inbox",
        }));
        let turn = turn.unwrap();
        turn.lock().unwrap();
        let answer = world.atm(&["--json", "send", "bob", "behind it"]);
        drop(turn);
        let id = accepted(&answer);
        let track = world.json(&["track", &id]);
        assert_eq!(track["stage"], "written", "{track}");
        assert_times(&world, &team, "behind it", 1);
    }
}

#[test]
fn what_cannot_be_taken_back_is_written_later_and_said_to_be() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "first"]);
    let mut flock = Foreign::flock_holder(&team.folder().join("inboxes/.lock")).start();
    flock.wait_for_lines(1);
    let send = world.start(&["--json", "send", "bob", "later"]);
    wait_until("it is accepted and prepared", || team.litter("bob").len() == 1);
    let ledger = Holder::of_ledger(&world);
    let answer = send.finish();
    drop((ledger, flock.finish()));
    accepted(&answer);
    assert_times(&world, &team, "later", 1);
}

#[test]
fn what_could_not_be_recorded_is_not_written_again_after_it_was_taken() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "first"]);
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    let send = world.start(&["--json", "send", "bob", "once"]);
    wait_until("it is accepted and prepared", || team.litter("bob").len() == 2);
    let ledger = Holder::of_ledger(&world);
    fs::remove_dir(&lock).unwrap();
    let answer = send.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stderr.contains("ledger"), "{answer:?}");
    assert_eq!(team.texts("bob"), ["first", "once"]);
    // Its reader's client takes all there is, before anybody could record that it was written.
    team.write_inbox("bob", "[]");
    drop(ledger);
    assert_times(&world, &team, "once", 0);
}

#[test]
fn what_is_accepted_is_listed_as_pending_and_counts_for_its_team() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "first"]);
    let turn = File::open(world.queue_of("bob.json")).unwrap();
    turn.lock().unwrap();
    let id =
        accepted(&world.atm(&["--json", "send", "bob", "promised", "--wait", "taken", "--timeout", "1s"]));
    let pending = world.json(&["pending"]);
    assert_eq!((&pending[0]["id"], &pending[0]["why"]), (&id.into(), &"not_written".into()), "{pending}");
    team.write_inbox("bob", "[]");
    assert_eq!(world.atm(&["team", "delete", "dev"]).code, Some(4), "it would take the promise along");
    drop(turn);
    assert_times(&world, &team, "promised", 1);
}

#[test]
fn a_promise_is_not_taken_back_by_who_sends_the_same_id_again() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "first"]);
    let letter = r#"{"to":"bob","text":"once","id":"018f0000-0000-7000-8000-000000000001"}"#;
    let turn = File::open(world.queue_of("bob.json")).unwrap();
    turn.lock().unwrap();
    assert_eq!(world.pipe(&["send", "--batch"], letter).code, Some(9));
    drop(turn);
    let mut flock = Foreign::flock_holder(&team.folder().join("inboxes/.lock")).start();
    flock.wait_for_lines(1);
    assert_eq!(world.pipe(&["send", "--batch"], letter).code, Some(9));
    drop(flock.finish());
    assert_times(&world, &team, "once", 1);
}
