//! What was mended is told, kept, and undone.

use std::fs;
use std::time::SystemTime;

use atm_store::Layout;
use insta::assert_snapshot;
use rstest::rstest;

use super::{break_entry, closed_team, inbox};
use crate::scene::{World, set_modified};

#[test]
fn what_was_mended_is_told_and_kept() {
    let (world, team) = closed_team(Layout::Array);
    break_entry(&team);
    assert_snapshot!(world.session("atm doctor"), @"
    $ atm doctor
    error: dev: 2 of 4 entries cannot be read as a message [ATM-D002]
      [ROOT]/teams/dev/inboxes/bob.json
      because `atm validate` says what each of them lacks
      fix: `--fix` takes them out; they are kept in quarantine.
    the ledger is sound: 0 messages
      [STATE]/log.db
    1 error, 0 warnings, 0 notes; 0 fixed
    [exit 6]
    ");
    assert_snapshot!(world.session("atm doctor dev --fix"), @"
    $ atm doctor dev --fix
    error: dev: 2 of 4 entries cannot be read as a message [ATM-D002]
      [ROOT]/teams/dev/inboxes/bob.json
      because `atm validate` says what each of them lacks
      fixed; `atm doctor --undo [TIME]` undoes it
    the ledger is sound: 2 messages
      [STATE]/log.db
    what was no message, newest last, is in
      [STATE]/errors.log
      [.........TIME.........] [ROOT]/teams/dev/inboxes/bob.json: entry 2 is null, not an object: skipped, left as it is
      [.........TIME.........] [ROOT]/teams/dev/inboxes/bob.json: entry 3 has no `text`: skipped, left as it is
    0 errors, 0 warnings, 0 notes; 1 fixed
    ");
    assert_snapshot!(world.session("atm doctor --journal"), @"
    $ atm doctor --journal
    ID                   CODE      STATE  FILES  WHAT
    [TIME]  ATM-D002  done   1      2 of 4 entries cannot be read as a message
    ");
    let kept = world.set_aside();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].1, b"[null,\n{\"from\": \"x\"}]");
    assert_eq!(team.texts("bob"), ["one", "two"]);
}

#[test]
fn an_undo_does_not_undo_what_others_did_since() {
    let (world, team) = closed_team(Layout::Array);
    break_entry(&team);
    world.ok(&["doctor", "--fix"]);
    world.ok(&["send", "bob", "newer"]);
    let answer = world.atm(&["doctor", "--undo"]);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    assert!(answer.stderr.contains("was changed since"), "{answer:?}");
    assert_eq!(team.texts("bob").len(), 3, "nothing was touched");
    world.ok(&["doctor", "--undo", "--force"]);
    assert!(fs::read_to_string(inbox(&team, "bob")).unwrap().contains("null"));
    // What was there is in the journal.
    world.ok(&["doctor", "--undo", &last_entry(&world)]);
    assert!(fs::read_to_string(inbox(&team, "bob")).unwrap().contains("newer"));
}

fn last_entry(world: &World) -> String {
    let entries = world.json(&["doctor", "--journal"]);
    entries.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn there_may_be_nothing_to_undo() {
    let (world, _) = closed_team(Layout::Array);
    assert_snapshot!(world.session(
        "atm doctor --undo
         atm doctor --undo nonsense
         atm doctor --journal
         atm doctor nobody
         atm doctor --fix --undo
         atm doctor --yes"
    ), @r#"
    $ atm doctor --undo
    2> error: there is nothing to undo
    2>   hint: `atm doctor --journal` lists what was mended
    [exit 3]
    $ atm doctor --undo nonsense
    2> error: there is nothing in the journal called "nonsense"
    2>   hint: `atm doctor --journal` lists what was mended
    [exit 3]
    $ atm doctor --journal
    nothing was mended yet
    $ atm doctor nobody
    2> error: there is no team "nobody"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm doctor --fix --undo
    2> error: the argument '--fix' cannot be used with '--undo [<ID>]'
    2>
    2> Usage: atm doctor --fix [TEAM]
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm doctor --yes
    2> error: the following required arguments were not provided:
    2>   --fix
    2>
    2> Usage: atm doctor --fix --yes [TEAM]
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
}

#[rstest]
#[case("staged", false)]
#[case("locked", false)]
#[case("renamed", true)]
#[case("released", true)]
fn a_fix_that_was_cut_short_can_be_undone(#[case] point: &str, #[case] mended: bool) {
    let (world, team) = closed_team(Layout::Array);
    break_entry(&team);
    let broken = fs::read(inbox(&team, "bob")).unwrap();
    let died = world.command(&["doctor", "--fix"]).env("ATM_TEST_DIE_AT", point).output().unwrap();
    assert_eq!(died.status.code(), None, "it was killed");
    assert_eq!(fs::read(inbox(&team, "bob")).unwrap() != broken, mended);
    let entries = world.json(&["doctor", "--journal"]);
    assert_eq!((entries[0]["done"].as_bool(), entries[0]["code"].as_str()), (Some(false), Some("ATM-D002")));
    world.ok(&["doctor", "--undo"]);
    assert_eq!(fs::read(inbox(&team, "bob")).unwrap(), broken);
    world.ok(&["doctor", "--fix"]);
    assert_eq!(team.texts("bob"), ["one", "two"]);
    assert!(team.litter("bob").is_empty());
}

#[test]
fn a_fix_waits_for_the_locks_of_the_living() {
    let (world, team) = closed_team(Layout::Array);
    break_entry(&team);
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                set_modified(&lock, SystemTime::now());
                std::thread::yield_now();
            }
        });
        let answer = world.atm(&["doctor", "--fix"]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(answer.code, Some(6), "{answer:?}");
        assert!(answer.stdout.contains("is held by another program"), "{answer:?}");
    });
    fs::remove_dir(&lock).unwrap();
    world.ok(&["doctor", "--fix"]);
    assert_eq!(team.texts("bob"), ["one", "two"]);
}
