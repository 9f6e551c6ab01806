//! Told to stop, we stop: with the number that shells expect, and without leaving anything behind.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use atm_store::Layout;
use atm_support::{Foreign, TestTeam, drafts, wait_until};
use rustix::io::ioctl_fionread;
use rustix::process::Signal;

use crate::scene::{Dice, Started, World, foreign_team};

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// A send that is stopped while it waits: nothing is written, nothing is left, and the next one goes through.
fn assert_stops(world: &World, team: &TestTeam, mut send: Started, signal: Signal, free: impl FnOnce()) {
    let before = team.inbox_bytes("bob");
    send.signal(signal);
    let answer = send.finish();
    assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (Some(130), "", ""));
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
        assert_eq!(send.finish().code, Some(130));
        assert_eq!(team.entries("bob").len(), 0);
    }
}

#[test]
fn a_read_that_waits_for_mail() {
    for signal in SIGNALS {
        let (world, _team) = foreign_team(Layout::Array);
        let mut read = world.start(&["--as", "bob", "read", "--wait", "30"]);
        read.wait_until_it_watches();
        read.signal(signal);
        let answer = read.finish();
        assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (Some(130), "", ""));
        world.ok(&["send", "bob", "too late"]);
        assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_send_at_any_moment_is_done_or_not_and_leaves_nothing() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        team.mailbox("bob").append(&drafts(&"long ".repeat(50), 300), false).unwrap();
        let mut dice = Dice::new(7);
        for round in 0..60 {
            let text = format!("round {round}");
            let mut send = world.start(&["send", "bob", &text]);
            thread::sleep(Duration::from_micros(dice.below(9_000)));
            send.signal(SIGNALS[round % SIGNALS.len()]);
            let answer = send.finish();
            // Before it listens for signals, the signal ends it.
            assert!(matches!(answer.code, Some(0 | 130) | None), "{answer:?}");
            assert_eq!(answer.stderr, "");
            let times = team.texts("bob").iter().filter(|there| **there == text).count();
            assert!(
                if answer.code == Some(0) { times == 1 } else { times <= 1 },
                "{text}: {times}, {answer:?}"
            );
            assert!(team.litter("bob").is_empty(), "{text}: {:?}", team.litter("bob"));
        }
    }
}
