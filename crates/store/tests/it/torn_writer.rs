//! Old clients write in place: for a moment the file is empty or half there, under their lock.

use std::fs::{self, File, TryLockError};
use std::thread;

use atm_support::{TestTeam, draft, wait_until};

use crate::scene::{array_team, entry};

/// Whether an append has come to the locks: it then holds the `flock` beside the inbox.
fn is_at_the_locks(team: &TestTeam) -> bool {
    let lock = team.folder().join("inboxes/.lock");
    File::open(lock).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

#[test]
fn a_file_that_is_half_written_under_the_lock_is_waited_for_and_not_set_aside() {
    let whole = format!("[\n  {},\n  {}\n]", entry("one"), entry("two"));
    for torn in [0, 1, whole.len() / 2, whole.len() - 1] {
        let team = array_team();
        team.write_inbox("bob", &whole);
        fs::create_dir(team.client_lock("bob")).unwrap();
        team.write_inbox("bob", &whole[..torn]);

        let appended = thread::scope(|scope| {
            let append = scope.spawn(|| team.mailbox("bob").append(&[draft("new")], false).unwrap());
            wait_until("the append is at the locks", || is_at_the_locks(&team));
            team.write_inbox("bob", &whole);
            fs::remove_dir(team.client_lock("bob")).unwrap();
            append.join().unwrap()
        });

        assert!(appended.warnings.is_empty(), "{:?}", appended.warnings);
        assert_eq!(team.texts("bob"), ["one", "two", "new"], "torn at {torn}");
        assert!(team.env().set_aside().is_empty(), "torn at {torn}");
    }
}

#[test]
fn what_the_lock_holder_writes_after_we_looked_is_not_undone() {
    // We read a whole file, prepared ours, and then waited for a client that sent in the meantime.
    let team = array_team();
    team.write_inbox("bob", format!("[{}]", entry("one")));
    fs::create_dir(team.client_lock("bob")).unwrap();
    thread::scope(|scope| {
        let append = scope.spawn(|| team.mailbox("bob").append(&[draft("new")], false).unwrap());
        wait_until("the append is at the locks", || is_at_the_locks(&team));
        team.write_inbox("bob", format!("[{},{}]", entry("one"), entry("two")));
        fs::remove_dir(team.client_lock("bob")).unwrap();
        append.join().unwrap()
    });
    assert_eq!(team.texts("bob"), ["one", "two", "new"]);
}

#[test]
fn what_the_lock_holder_drains_after_we_looked_does_not_come_back() {
    let team = array_team();
    team.write_inbox("bob", format!("[{}]", entry("one")));
    fs::create_dir(team.client_lock("bob")).unwrap();
    thread::scope(|scope| {
        let append = scope.spawn(|| team.mailbox("bob").append(&[draft("new")], false).unwrap());
        wait_until("the append is at the locks", || is_at_the_locks(&team));
        team.write_inbox("bob", "[]");
        fs::remove_dir(team.client_lock("bob")).unwrap();
        append.join().unwrap()
    });
    assert_eq!(team.texts("bob"), ["new"]);
}
