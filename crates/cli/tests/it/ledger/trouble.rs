//! A ledger that cannot be used never stops mail.

use std::fs;

use crate::scene::World;

#[test]
fn mail_goes_with_a_warning_when_the_ledger_is_damaged() {
    let world = World::with_team();
    world.sent("bob", "before");
    for name in ["log.db-wal", "log.db-shm"] {
        let _ = fs::remove_file(world.state().join(name));
    }
    fs::write(world.state().join("log.db"), "no database at all, but long enough to be looked at as one")
        .unwrap();
    let sent = world.atm(&["send", "bob", "after"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.stderr.contains("log.db"), "{sent:?}");
    assert_eq!(world.texts_for("bob"), ["before", "after"]);
    let read = world.atm(&["--as", "bob", "read"]);
    assert_eq!(read.code, Some(0), "{read:?}");
    assert!(read.stdout.contains("after"));
    assert_eq!(world.atm(&["log"]).code, Some(7), "history cannot be had");

    assert_eq!(world.atm(&["doctor"]).code, Some(6));
    world.ok(&["doctor", "--fix"]);
    let log = world.ok(&["log"]);
    assert!(log.contains("before") && log.contains("after"), "made anew from the files: {log}");
    assert_eq!(world.atm(&["doctor"]).code, Some(0));
    assert_eq!(
        world.set_aside().len(),
        2,
        "the old one is kept, and so is the seal in the place of an older one"
    );
}

#[test]
fn a_missing_ledger_is_made_anew_from_the_files() {
    let world = World::with_team();
    let id = world.sent("bob", "remember me");
    for name in ["log.db", "log.db-wal", "log.db-shm"] {
        let _ = fs::remove_file(world.state().join(name));
    }
    assert!(world.ok(&["search", "remember"]).contains(&id[id.len() - 8..]));
    assert_eq!(world.stages(&id), ["written"], "found in the inbox");
}

#[test]
fn a_watch_goes_on_when_the_ledger_is_deleted_under_it() {
    let world = World::with_team();
    let mut watch = world.start(&["watch", "bob", "--count", "2", "--json"]);
    watch.wait_until_it_watches();
    world.sent("bob", "before");
    for name in ["log.db", "log.db-wal", "log.db-shm"] {
        let _ = fs::remove_file(world.state().join(name));
    }
    world.sent("bob", "after");
    let answer = watch.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
}

#[test]
fn a_send_that_found_the_lock_busy_is_not_written_later() {
    let world = World::with_team();
    // A lock of somebody who lives: it is touched all the time.
    let lock = world.inbox_file("bob").with_extension("json.lock");
    fs::create_dir(&lock).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::File::open(&lock).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
                std::thread::yield_now();
            }
        });
        let answer = world.atm(&["send", "bob", "too late"]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(answer.code, Some(5), "{answer:?}");
    });
    fs::remove_dir(&lock).unwrap();
    world.ok(&["log"]);
    world.ok(&["send", "bob", "now"]);
    assert_eq!(world.texts_for("bob"), ["now"], "what was refused must not come by itself later");
}
