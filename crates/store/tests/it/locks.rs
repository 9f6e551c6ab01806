//! Everybody's locks: held ones are respected in bounded time, dead ones do not stop the mail.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use atm_store::{LockTimes, StoreError};
use atm_support::{Foreign, TestTeam, draft, wait_until};

use crate::scene::{HASTY, array_team, entry};

/// Longer than anything here takes that works.
const LONG: Duration = Duration::from_secs(20);
/// Longer than anybody waits.
const NEVER: Duration = Duration::from_secs(600);

fn set_mtime(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// An append that must give up because of `lock`, and leave all as it was.
fn assert_busy(team: &TestTeam, lock: &Path) {
    let before = fs::read(team.inbox("bob")).ok();
    let error = team.mailbox_with("bob", HASTY).append(&[draft("new")], false).unwrap_err();
    let StoreError::Busy { lock: named, .. } = &error else { panic!("{error}") };
    assert_eq!(named, lock);
    assert_eq!(fs::read(team.inbox("bob")).ok(), before, "nothing is written");
    let lock = lock.file_name().unwrap().to_string_lossy();
    assert!(team.litter("bob").iter().all(|name| *name == lock), "{:?}", team.litter("bob"));
    assert!(team.env().set_aside().is_empty());
}

#[test]
fn a_lock_that_a_client_holds_is_busy_and_nothing_is_written() {
    let team = array_team();
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    assert_busy(&team, &lock);
    team.write_inbox("bob", format!("[{}]", entry("old")));
    assert_busy(&team, &lock);
    team.write_inbox("bob", "[");
    assert_busy(&team, &lock);
    assert!(lock.is_dir(), "somebody else's lock stays");

    fs::remove_dir(&lock).unwrap();
    team.mailbox_with("bob", HASTY).append(&[draft("new")], false).unwrap();
    assert!(team.litter("bob").is_empty(), "our lock is given back");
}

#[test]
fn marking_respects_the_lock_too() {
    let team = array_team();
    let bob = team.mailbox_with("bob", HASTY);
    bob.append(&[draft("m")], false).unwrap();
    let before = team.inbox_bytes("bob");
    fs::create_dir(team.client_lock("bob")).unwrap();
    assert!(matches!(bob.take(1), Err(StoreError::Busy { .. })), "what cannot be marked is not handed out");
    assert_eq!(team.inbox_bytes("bob"), before);
}

#[test]
fn looking_needs_no_lock() {
    let team = array_team();
    team.write_inbox("bob", format!("[{}]", entry("old")));
    fs::create_dir(team.client_lock("bob")).unwrap();
    assert_eq!(crate::scene::listed(&team.mailbox_with("bob", HASTY)), ["old"]);
}

#[test]
fn a_lock_that_a_python_tool_holds_is_busy_and_nothing_is_written() {
    let team = array_team();
    team.write_inbox("bob", format!("[{}]", entry("old")));
    let lock = team.folder().join("inboxes/.lock");
    let mut holder = Foreign::flock_holder(&lock).start();
    holder.wait_for_lines(1);
    assert_busy(&team, &lock);
    holder.finish();
    team.mailbox("bob").append(&[draft("new")], false).unwrap();
    assert_eq!(team.texts("bob"), ["old", "new"]);
}

#[test]
fn while_we_wait_for_a_slow_python_tool_clients_are_not_kept_waiting() {
    // Clients give up after 0.7 s, and old ones then lose the mail that they were sending.
    let team = array_team();
    let lock = team.folder().join("inboxes/.lock");
    let mut holder = Foreign::flock_holder(&lock).start();
    holder.wait_for_lines(1);
    thread::scope(|scope| {
        let append = scope.spawn(|| team.mailbox("bob").append(&[draft("ours")], false).unwrap());
        wait_until("the append is prepared", || !team.litter("bob").is_empty());
        let said = Foreign::client(&team.inbox("bob")).sending("theirs", 3).run();
        assert_eq!(said.lines.len(), 3, "no try failed for want of the lock: {:?}", said.lines);
        holder.finish();
        append.join().unwrap();
    });
    assert_eq!(team.texts("bob"), ["theirs0", "theirs1", "theirs2", "ours"]);
}

#[test]
fn our_own_processes_wait_for_each_other_before_anybody_elses_lock() {
    let team = array_team();
    team.mailbox("bob").create().unwrap();
    fs::create_dir(team.client_lock("bob")).unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| team.mailbox("bob").append(&[draft("first")], false).unwrap());
        wait_until("the first is prepared", || team.litter("bob").len() == 2);
        let error = team.mailbox_with("bob", HASTY).append(&[draft("second")], false).unwrap_err();
        let StoreError::Busy { lock, .. } = &error else { panic!("{error}") };
        assert!(lock.starts_with(team.env().state()), "{}", lock.display());
        fs::remove_dir(team.client_lock("bob")).unwrap();
        first.join().unwrap();
    });
    assert_eq!(team.texts("bob"), ["first"]);
}

#[test]
fn the_inboxes_of_a_team_do_not_wait_for_each_other() {
    let team = array_team();
    fs::create_dir(team.client_lock("carol")).unwrap();
    team.mailbox_with("bob", HASTY).append(&[draft("new")], false).unwrap();
    assert_eq!(team.texts("bob"), ["new"]);
}

#[test]
fn a_stale_lock_is_taken() {
    let team = array_team();
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    set_mtime(&lock, SystemTime::now() - Duration::from_secs(11));
    team.mailbox_with("bob", HASTY).append(&[draft("new")], false).unwrap();
    assert!(!lock.exists());
}

#[test]
fn a_lock_from_the_future_is_taken_once_it_was_watched_long_enough() {
    // The clock jumped back while a client died: by its mtime alone, its lock would be held for ever.
    let team = array_team();
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    set_mtime(&lock, SystemTime::now() + Duration::from_secs(3_600));
    assert_busy(&team, &lock);
    let times = LockTimes { wait: LONG, stale: Duration::from_millis(100) };
    team.mailbox_with("bob", times).append(&[draft("new")], false).unwrap();
    assert!(!lock.exists());
}

#[test]
fn a_lock_that_is_kept_fresh_is_not_taken_however_long_we_watch() {
    let team = array_team();
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    let times = LockTimes { wait: Duration::from_millis(2_500), stale: Duration::from_millis(1_500) };
    thread::scope(|scope| {
        let append = scope.spawn(|| team.mailbox_with("bob", times).append(&[draft("new")], false));
        // A holder that works for long touches its lock, as the clients' library does.
        while !append.is_finished() {
            set_mtime(&lock, SystemTime::now());
            thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(append.join().unwrap(), Err(StoreError::Busy { .. })));
    });
    assert!(lock.is_dir());
}

#[test]
fn a_file_in_place_of_the_lock_blocks_only_while_it_may_be_in_use() {
    let team = array_team();
    let lock = team.client_lock("bob");
    fs::write(&lock, "pid 1").unwrap();
    let bob = team.mailbox_with("bob", HASTY);
    let error = bob.append(&[draft("new")], false).unwrap_err();
    assert!(matches!(&error, StoreError::LockBlocked { lock: named, .. } if *named == lock), "{error}");
    assert!(!team.inbox("bob").exists() && team.litter("bob").len() == 1);

    set_mtime(&lock, SystemTime::now() - Duration::from_secs(11));
    bob.append(&[draft("new")], false).unwrap();
    assert!(!lock.exists());
    let [(name, bytes)] = team.env().set_aside().try_into().unwrap();
    assert!(name.ends_with(".file-in-place-of-a-lock"), "{name}");
    assert_eq!(bytes, b"pid 1");
}

#[test]
fn a_dead_lock_of_our_own_is_taken_at_once() {
    // Killed between mkdir and rmdir. Its mode says whose it is, so nobody waits ten seconds.
    let team = array_team();
    let lock = team.client_lock("bob");
    DirBuilder::new().mode(0o500).create(&lock).unwrap();
    let times = LockTimes { wait: LONG, stale: NEVER };
    team.mailbox_with("bob", times).append(&[draft("new")], false).unwrap();
    assert!(!lock.exists());
}
