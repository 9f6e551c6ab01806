//! Locks that others hold, forgot, or lost: the wait is bounded, its end is clear, and nothing is written behind their back.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use atm_store::Layout;
use atm_support::{Foreign, wait_until};
use insta::assert_snapshot;

use crate::scene::{foreign_team, set_modified};

#[test]
fn a_lock_that_somebody_died_with_is_taken_over() {
    let (world, team) = foreign_team(Layout::Array);
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    set_modified(&lock, SystemTime::now() - Duration::from_secs(11));
    world.ok(&["send", "bob", "hello"]);
    assert_eq!(team.texts("bob"), ["hello"]);
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
}

#[test]
fn a_lock_of_the_team_that_somebody_died_with_is_taken_over() {
    let (world, team) = foreign_team(Layout::Array);
    let lock = team.folder().join("config.json.lock");
    fs::create_dir(&lock).unwrap();
    set_modified(&lock, SystemTime::now() - Duration::from_secs(11));
    world.ok(&["member", "add", "carol"]);
    assert!(!lock.exists());
}

/// The long waits, all at once: each takes ten to twelve seconds.
#[test]
fn long_waits_end_in_time_and_in_the_right_way() {
    // A client that is alive says so by touching its lock.
    let (live_world, live_team) = foreign_team(Layout::Array);
    let live = live_team.client_lock("bob");
    fs::create_dir(&live).unwrap();
    // A Python tool that hangs.
    let (slow_world, slow_team) = foreign_team(Layout::Array);
    let mut holder = Foreign::flock_holder(&slow_team.folder().join("inboxes/.lock")).start();
    holder.wait_for_lines(1);
    // A lock from the future: the clock went back since, and nobody will ever touch it again.
    let (future_world, future_team) = foreign_team(Layout::Array);
    let future = future_team.client_lock("bob");
    fs::create_dir(&future).unwrap();
    set_modified(&future, SystemTime::now() + Duration::from_secs(3_600));

    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                set_modified(&live, SystemTime::now());
                thread::sleep(Duration::from_millis(200));
            }
        });
        let busy = live_world.start(&["send", "bob", "hello"]);
        let slow = slow_world.start(&["--json", "send", "bob", "hello"]);
        let clock = future_world.start(&["send", "bob", "hello"]);
        let (busy, slow, clock) = (busy.finish(), slow.finish(), clock.finish());
        done.store(true, Ordering::SeqCst);

        assert_snapshot!(busy.shown(), @"
        2> error: [ROOT]/teams/dev/inboxes/bob.json.lock is held by another program (waited [TIME])
        2>   hint: nothing was written; try again, or look which program hangs
        [exit 5]
        ");
        assert_eq!((slow.code, slow.error()["code"].as_str()), (Some(5), Some("busy")), "{slow:?}");
        assert_eq!(clock.code, Some(0), "{clock:?}");
    });
    assert!(live.is_dir(), "somebody else's lock stays");
    for team in [&live_team, &slow_team] {
        assert_eq!(team.inbox_bytes("bob"), b"[]");
    }
    assert_eq!(live_team.litter("bob"), ["bob.json.lock"]);
    assert!(slow_team.litter("bob").is_empty(), "{:?}", slow_team.litter("bob"));
    assert_eq!(future_team.texts("bob"), ["hello"]);
    assert!(!future.exists());
    // The tool goes on, and so do we.
    holder.finish();
    slow_world.ok(&["send", "bob", "at last"]);
    assert_eq!(slow_team.texts("bob"), ["at last"]);
}

#[test]
fn a_team_that_is_removed_while_a_send_waits_is_not_brought_back() {
    for whole in [true, false] {
        let (world, team) = foreign_team(Layout::Array);
        fs::create_dir(team.client_lock("bob")).unwrap();
        let send = world.start(&["send", "bob", "hello"]);
        wait_until("the message is prepared", || team.litter("bob").len() == 2);
        let gone = if whole { team.folder().to_owned() } else { team.folder().join("inboxes") };
        fs::rename(&gone, world.home().join("gone")).unwrap();
        let answer = send.finish();
        assert_eq!(answer.code, Some(7), "{answer:?}");
        assert!(answer.stderr.contains("No such file or directory"), "{answer:?}");
        assert!(!gone.exists(), "the send made it again");
        assert!(answer.stderr.contains("was removed meanwhile"), "{answer:?}");
    }
}

#[test]
fn a_member_who_is_removed_while_a_send_waits_is_not_brought_back() {
    let (world, team) = foreign_team(Layout::Log);
    let folder = team.inbox("bob").parent().unwrap().to_owned();
    let mut holder = Foreign::flock_holder(&folder.join("inbox.lock")).start();
    holder.wait_for_lines(1);
    let mut send = world.start(&["send", "bob", "hello"]);
    wait_until("the send waits for the lock", || world.has_its_turn("inbox"));
    fs::rename(team.folder(), world.home().join("gone")).unwrap();
    assert!(send.is_running());
    holder.finish();
    let answer = send.finish();
    assert_eq!(answer.code, Some(7), "{answer:?}");
    assert!(!team.folder().exists(), "the send made it again");
}
