//! Sequences with one fault each: a crash, a full disk, an answer that is lost, a server that forgets.

use atm_bridge::protocol::tasks::change::Wanted;
use atm_office::tasks::shared::Answer;
use atm_wire::task::{Change, Status, Task};

use super::disk::TEAM;
use super::realm::{Realm, id};

fn describe(text: &str) -> [Change; 1] {
    [Change::Description(text.into())]
}

/// What could not be saved was not written into the file, and the old file was taken for a wish to have it so.
#[test]
fn an_edit_is_not_undone_by_a_machine_whose_disk_is_full() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.edit(0, task, &describe("deep"));
    realm.sites[0].bridge.sync().unwrap();
    realm.sites[1].luck.is_full.set(true);
    realm.sites[1].bridge.sync().unwrap_err();
    realm.sites[1].bridge.sync().unwrap_err();
    realm.sites[1].luck.is_full.set(false);
    realm.sync();
    for place in 0..2 {
        assert_eq!(realm.task(place, task).unwrap().description, "deep", "m{place}");
    }
}

/// A claim wrote the file before it was saved what it was to become.
#[test]
fn an_edit_that_was_taken_back_does_not_come_back_by_a_bridge_that_died_in_a_claim() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.edit(0, task, &describe("too early"));
    realm.sites[0].bridge.sync().unwrap();
    realm.sites[1].luck.dies_after_write.set(true);
    let answer = realm.claim(1, task, "bob");
    assert!(matches!(answer, Answer::Away { .. }), "{answer:?}");
    assert_eq!(realm.task(1, task).unwrap().description, "too early");
    realm.edit(0, task, &describe(""));
    realm.sites[0].bridge.sync().unwrap();
    realm.restart(1);
    realm.sync();
    assert_eq!(realm.task(0, task).unwrap().description, "");
}

/// Each of the two homes put its member's claim back, for as long as both lasted.
#[test]
fn of_two_claims_by_one_version_of_a_server_that_forgot_one_stays_and_nobody_overrules_for_ever() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    let old = realm.server.borrow().clone();
    realm.cut(1, true);
    assert_eq!(realm.claim(0, task, "ann"), Answer::Granted);
    realm.server.borrow_mut().set_back(&old);
    realm.cut(0, true);
    realm.cut(1, false);
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.cut(0, false);
    realm.sync();
    let revision = realm.server.borrow().entries[&task].revision;
    realm.sync();
    assert_eq!(realm.server.borrow().entries[&task].revision, revision, "it is still changed");
    let owners: Vec<_> = (0..2).map(|place| realm.task(place, task).unwrap().owner).collect();
    assert!(owners[0].is_some() && owners[0] == owners[1], "{owners:?}");
}

/// It was answered that nothing had changed.
#[test]
fn a_claim_whose_first_answer_was_lost_is_unsure_when_others_are_faster_ever_after() {
    let mut realm = Realm::new(1);
    let task = realm.make(0, "dig");
    realm.sites[0].luck.is_unheard.set(true);
    realm.sites[0].luck.is_busy.set(true);
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::Unsure { .. }), "{answer:?}");
    let owner = realm.server.borrow().entries[&task].value.as_ref().unwrap().owner.clone();
    assert_eq!(owner.unwrap().name, "ann_m0");
}

/// A file that was gone stayed so, and its task was there, until the clock had caught up.
#[test]
fn a_file_is_deleted_though_the_clock_is_set_back_meanwhile() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.remove(0, task);
    realm.sites[0].bridge.sync().unwrap();
    realm.sites[0].luck.jump.set(-3_600_000);
    realm.sync();
    assert_eq!(realm.text(1, task), None);
}

/// The file went without a word to who had written it.
#[test]
fn what_is_written_again_after_its_task_was_deleted_elsewhere_is_told_with_its_text() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.edit(0, task, &describe("an hour of writing"));
    realm.sync();
    let text = realm.text(1, task).unwrap();
    realm.remove(0, task);
    realm.sync();
    assert_eq!(realm.text(1, task), None);
    realm.write(1, task, &text);
    realm.sync();
    assert_eq!(realm.text(1, task), None);
    let told = realm.told(1);
    assert!(told.len() == 1 && told[0].contains("an hour of writing"), "{told:?}");
}

/// It was answered that nothing had changed.
#[test]
fn a_claim_whose_answer_was_lost_is_unsure_when_nobody_can_read_what_is_there_then() {
    let mut realm = Realm::new(1);
    let task = realm.make(0, "dig");
    realm.sites[0].luck.is_unheard.set(true);
    realm.sites[0].luck.is_spoiled.set(true);
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::Unsure { .. }), "{answer:?}");
}

/// They got others, and their members were told that another machine had theirs.
#[test]
fn new_tasks_keep_their_numbers_though_the_answer_that_they_have_them_was_lost() {
    for is_cut in [false, true] {
        let mut realm = Realm::new(2);
        for number in 1..=3 {
            let text = Task::new(number.to_string(), format!("task {number}"), "").render().unwrap();
            realm.write(0, id(number), &text);
        }
        realm.sites[0].luck.is_number_unheard.set(true);
        let _ = realm.sites[0].bridge.sync();
        if is_cut {
            realm.cut(0, true);
            realm.sites[0].bridge.sync().unwrap_err();
            realm.cut(0, false);
        }
        realm.sync();
        let numbers: Vec<String> = realm.titles().into_iter().map(|(id, _)| id).collect();
        assert_eq!(numbers, ["1", "2", "3"], "{:?}", realm.told(0));
    }
}

/// It was granted, and then to the next one who asked.
#[test]
fn a_claim_that_the_server_acknowledges_and_does_not_keep_is_unsure_and_another_one_gets_the_task() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.sites[0].luck.unkept.set(100);
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::Unsure { .. }), "{answer:?}");
    assert_eq!(realm.task(0, task).unwrap().owner, None);
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.sites[0].luck.unkept.set(0);
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
}

/// Both machines had the number.
#[test]
fn a_number_that_the_server_acknowledges_and_does_not_keep_is_given_to_nobody() {
    let mut realm = Realm::new(2);
    realm.sites[0].luck.unkept.set(100);
    let number = realm.sites[0].bridge.number(TEAM);
    assert!(number.is_err(), "{number:?}");
    assert_eq!(realm.make(1, "dig"), id(1));
}

/// Its former home put its claim back over the one of who had got the task since, and then gave that back.
#[test]
fn a_task_that_was_given_back_without_an_answer_is_not_taken_from_who_has_it_since() {
    for (is_native, dies) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut realm = Realm::new(2);
        let task = realm.make(0, "dig");
        assert_eq!(realm.claim(0, task, "ann"), Answer::Granted);
        realm.sync();
        realm.sites[0].luck.is_unheard.set(true);
        let free = [Change::Owner(None), Change::Status(Status::Pending)];
        if is_native {
            realm.edit(0, task, &free);
            realm.sites[0].bridge.sync().unwrap_err();
        } else {
            // Nor is it known what the bucket has then.
            realm.sites[0].luck.is_silent.set(true);
            let changes = Some(free.to_vec());
            let wanted = Wanted { owner: Some("ann_m0"), status: Status::InProgress, changes };
            let answer = realm.sites[0].bridge.change(TEAM, task, &wanted).unwrap();
            assert!(matches!(answer, Answer::Unsure { .. }), "{answer:?}");
            realm.cut(0, false);
        }
        if dies {
            realm.restart(0);
        }
        assert_eq!(realm.claim(1, task, "bob"), Answer::Granted, "native: {is_native}, dies: {dies}");
        realm.sync();
        let owner = realm.server.borrow().entries[&task].value.as_ref().unwrap().owner.clone();
        assert_eq!(owner.unwrap().name, "bob_m1", "native: {is_native}, dies: {dies}");
        assert_eq!(realm.sites[0].bridge.take_refused(), []);
        assert_eq!(realm.task(0, task).unwrap().owner.as_deref(), Some("bob_m1"));
    }
}

/// What was claimed after the backup may still hold, and nobody but its holder knows of it.
#[test]
fn a_task_that_is_put_again_over_the_state_of_a_backup_is_nobodys_for_the_longest_lease() {
    let mut realm = Realm::new(2);
    let (held, free) = (realm.make(0, "held"), realm.make(0, "free"));
    let old = realm.server.borrow().clone();
    assert_eq!(realm.claim(1, held, "bob"), Answer::Granted);
    realm.edit(1, free, &describe("after the backup"));
    realm.sync();
    realm.server.borrow_mut().set_back(&old);
    realm.sync();
    assert_eq!(realm.claim(1, held, "bob"), Answer::Granted, "its holder put it again");
    for place in 0..2 {
        let answer = realm.claim(place, free, "ann");
        assert!(matches!(answer, Answer::NotYet { .. }), "m{place}: {answer:?}");
        assert_eq!(realm.task(place, free).unwrap().description, "after the backup");
    }
    realm.pass(1_900);
    assert_eq!(realm.claim(0, free, "ann"), Answer::Granted);
}
