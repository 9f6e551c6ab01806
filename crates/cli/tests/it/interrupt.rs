//! Told to stop, we stop: with the number that shells expect, a true answer, and without leaving anything behind.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use atm_store::Layout;
use atm_support::{Foreign, TestTeam, drafts, wait_until};
use rustix::io::ioctl_fionread;
use rustix::process::Signal;

use crate::scene::{Dice, Started, World, foreign_team, texts};

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// The exit code of a command that took everything back.
fn code_of(signal: Signal) -> i32 {
    128 + signal.as_raw()
}

/// A send that is stopped while it waits: nothing is written, nothing is left, and the next one goes through.
fn assert_stops(world: &World, team: &TestTeam, mut send: Started, signal: Signal, free: impl FnOnce()) {
    let before = team.inbox_bytes("bob");
    send.signal(signal);
    let answer = send.finish();
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(code_of(signal)), ""), "{answer:?}");
    assert!(answer.stderr.contains("stopped"), "{answer:?}");
    assert_eq!(team.inbox_bytes("bob"), before);
    let ours: Vec<_> = team.litter("bob").into_iter().filter(|name| name != "bob.json.lock").collect();
    assert!(ours.is_empty(), "{ours:?}");
    free();
    world.ok(&["send", "bob", "the next one"]);
    assert_eq!(team.texts("bob"), ["the next one"]);
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
}

#[test]
fn a_send_that_waits_for_a_clients_lock() {
    for signal in SIGNALS {
        let (world, team) = foreign_team(Layout::Array);
        let lock = team.client_lock("bob");
        fs::create_dir(&lock).unwrap();
        let send = world.start(&["send", "bob", "hello"]);
        // Its temp file beside the lock: it is prepared and waits.
        wait_until("the message is prepared", || team.litter("bob").len() == 2);
        assert_stops(&world, &team, send, signal, || {
            assert!(lock.is_dir(), "somebody else's lock stays");
            fs::remove_dir(&lock).unwrap();
        });
    }
}

#[test]
fn a_send_that_waits_for_a_tools_flock() {
    for signal in SIGNALS {
        let (world, team) = foreign_team(Layout::Array);
        let mut holder = Foreign::flock_holder(&team.folder().join("inboxes/.lock")).start();
        holder.wait_for_lines(1);
        let send = world.start(&["send", "bob", "hello"]);
        wait_until("the message is prepared", || team.litter("bob").len() == 1);
        assert_stops(&world, &team, send, signal, || drop(holder.finish()));
    }
}

#[test]
fn a_send_that_waits_for_a_shells_flock() {
    for signal in SIGNALS {
        let (world, team) = foreign_team(Layout::Log);
        let mut holder = Foreign::flock_holder(&team.inbox("bob").with_file_name("inbox.lock")).start();
        holder.wait_for_lines(1);
        let send = world.start(&["send", "bob", "hello"]);
        wait_until("the send waits for the lock", || world.has_its_turn("inbox"));
        assert_stops(&world, &team, send, signal, || drop(holder.finish()));
    }
}

#[test]
fn a_send_that_waits_for_its_text() {
    for signal in SIGNALS {
        let (world, team) = foreign_team(Layout::Array);
        let mut child = world.command(&["send", "bob", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"the first half, ").unwrap();
        let mut send = Started::of(child, &world);
        wait_until("it has read that half", || ioctl_fionread(&stdin).unwrap() == 0);
        send.signal(signal);
        assert_eq!(send.finish().code, Some(code_of(signal)));
        assert_eq!(team.entries("bob").len(), 0);
    }
}

#[test]
fn a_read_that_waits_for_mail() {
    for signal in SIGNALS {
        let (world, _team) = foreign_team(Layout::Array);
        let mut read = world.start(&["--as", "bob", "read", "--wait", "30s"]);
        read.wait_until_it_watches();
        read.signal(signal);
        let answer = read.finish();
        let said = (answer.code, answer.stdout.as_str(), answer.stderr.as_str());
        assert_eq!(said, (Some(code_of(signal)), "", ""));
        world.ok(&["send", "bob", "too late"]);
        assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_send_at_any_moment_gives_a_true_answer_and_leaves_nothing() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        team.mailbox("bob").append(&drafts(&"long ".repeat(50), 300), false).unwrap();
        let mut dice = Dice::new(7);
        for round in 0..60 {
            let text = format!("round {round}");
            let signal = SIGNALS[round % SIGNALS.len()];
            let mut send = world.start(&["send", "bob", &text]);
            thread::sleep(Duration::from_micros(dice.below(9_000)));
            send.signal(signal);
            let answer = send.finish();
            let times = || team.texts("bob").iter().filter(|there| **there == text).count();
            let before = times();
            // Whatever it left accepted is written by this.
            world.ok(&["pending"]);
            match answer.code {
                Some(0) => assert_eq!((before, times()), (1, 1), "{answer:?}"),
                Some(9) => assert_eq!(times(), 1, "{answer:?}"),
                // Before it listens for signals, the signal ends it.
                None => assert_eq!(times(), 0, "{answer:?}"),
                code => assert_eq!((code, times()), (Some(code_of(signal)), 0), "{answer:?}"),
            }
            assert!(team.litter("bob").is_empty(), "{text}: {:?}", team.litter("bob"));
        }
    }
}

#[test]
fn a_send_behind_another_writer_cannot_be_taken_back_and_says_so() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "first"]);
    let queue = world.queue_of("bob.json");
    // Another `atm` is at work on this inbox, perhaps with our letter.
    let turn = File::open(&queue).unwrap();
    turn.lock().unwrap();
    let mut send = world.start(&["--json", "send", "bob", "second"]);
    wait_until("the letter is accepted", || world.waiting() == 1);
    send.signal(Signal::INT);
    let answer = send.finish();
    assert_eq!(answer.code, Some(9), "{answer:?}");
    let told: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((told["status"].as_str(), told["stage"].as_str()), (Some("queued"), Some("accepted")));
    drop(turn);
    let track = world.json(&["track", told["id"].as_str().unwrap()]);
    assert_eq!(track["stage"], "written", "{track}");
    assert_eq!(team.texts("bob"), ["first", "second"]);
}

#[test]
fn a_broadcast_that_is_stopped_in_the_middle_says_what_was_done() {
    let (world, team) = foreign_team(Layout::Array);
    for name in ["alice", "team-lead"] {
        team.write_inbox(name, "[]");
    }
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    let mut broadcast = world.start(&["--as", "team-lead", "--json", "broadcast", "to all"]);
    wait_until("one is written, the other waits", || {
        team.texts("alice") == ["to all"] && team.litter("bob").len() == 2
    });
    broadcast.signal(Signal::TERM);
    let answer = broadcast.finish();
    assert_eq!(answer.code, Some(9), "{answer:?}");
    let told: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    let stages: Vec<_> = told.as_array().unwrap().iter().map(|sent| (&sent["to"], &sent["stage"])).collect();
    assert_eq!(serde_json::json!(stages), serde_json::json!([["alice", "written"], ["bob", "accepted"]]));
    fs::remove_dir(&lock).unwrap();
    world.ok(&["pending"]);
    assert_eq!((team.texts("alice"), team.texts("bob")), (vec!["to all".into()], vec!["to all".into()]));
}

#[test]
fn a_broadcast_that_has_written_nothing_is_taken_back_whole() {
    let (world, team) = foreign_team(Layout::Array);
    for name in ["alice", "team-lead"] {
        team.write_inbox(name, "[]");
    }
    let mut holder = Foreign::flock_holder(&team.folder().join("inboxes/.lock")).start();
    holder.wait_for_lines(1);
    let mut broadcast = world.start(&["--as", "team-lead", "broadcast", "to all"]);
    wait_until("the first is prepared", || team.litter("alice").len() == 1);
    broadcast.signal(Signal::TERM);
    let answer = broadcast.finish();
    assert_eq!(answer.code, Some(143), "{answer:?}");
    drop(holder.finish());
    world.ok(&["pending"]);
    assert!(team.texts("alice").is_empty() && team.texts("bob").is_empty());
}

#[test]
fn a_send_that_waits_for_an_answer_was_sent() {
    let (world, team) = foreign_team(Layout::Array);
    let mut send = world.start(&["--json", "send", "bob", "hello", "--wait", "seen"]);
    send.wait_until_it_watches();
    send.signal(Signal::INT);
    let answer = send.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let told: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(told["stage"], "written");
    assert_eq!(team.texts("bob"), ["hello"]);
}

#[test]
fn a_request_that_waits_for_its_answer_was_asked() {
    let (world, team) = foreign_team(Layout::Array);
    let mut request = world.start(&["--as", "alice", "request", "bob", "status_request", "--timeout", "60s"]);
    request.wait_until_it_watches();
    request.signal(Signal::TERM);
    let answer = request.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(team.entries("bob").len(), 1);
    assert!(format!("{}{}", answer.stdout, answer.stderr).contains("req-"), "{answer:?}");
}

#[test]
fn a_batch_of_which_one_priority_is_written_leaves_the_rest_accepted() {
    let (world, team) = foreign_team(Layout::Log);
    let mut holder = Foreign::flock_holder(&team.inbox("bob").with_file_name("inbox.lock")).start();
    holder.wait_for_lines(1);
    let mut child = world.command(&["send", "--batch"]).stdin(Stdio::piped()).spawn().unwrap();
    let lines =
        "{\"to\":\"bob\",\"text\":\"urgent\",\"priority\":\"high\"}\n{\"to\":\"bob\",\"text\":\"plain\"}\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let mut batch = Started::of(child, &world);
    let high = team.inbox("bob").with_file_name("inbox-high");
    wait_until("the urgent one is written", || {
        fs::read_to_string(&high).is_ok_and(|text| text.ends_with('\n'))
    });
    batch.signal(Signal::TERM);
    assert_eq!(batch.finish().code, Some(9));
    drop(holder.finish());
    world.ok(&["pending"]);
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["urgent", "plain"]);
}
