//! Sequences that lost something once, or granted it twice.

use std::time::Duration;

use atm_bridge::protocol::tasks::{Owner, SharedTask};
use atm_office::tasks::claimed;
use atm_office::tasks::shared::Answer;
use atm_wire::task::{Change, SHARED_ID, Status, Task, edit};

use super::realm::{LONGEST, Realm, id};

#[test]
fn a_team_that_is_deleted_and_made_again_on_one_machine_deletes_no_task_of_the_others() {
    for bridge_runs in [true, false] {
        let mut realm = Realm::new(2);
        let tasks: Vec<_> = (0..2).map(|number| realm.make(0, &format!("task {number}"))).collect();
        realm.sites[0].disk.borrow_mut().is_gone = true;
        realm.sites[0].disk.borrow_mut().files.clear();
        if bridge_runs {
            realm.sync();
        } else {
            realm.restart(0);
        }
        realm.sites[0].disk.borrow_mut().is_gone = false;
        realm.sync();
        assert_eq!(realm.titles().len(), tasks.len(), "bridge runs: {bridge_runs}");
    }
}

#[test]
fn a_folder_that_is_emptied_at_once_deletes_only_what_is_done() {
    let mut realm = Realm::new(2);
    let tasks: Vec<_> = (0..5).map(|number| realm.make(0, &format!("task {number}"))).collect();
    realm.edit(0, tasks[0], &[Change::Status(Status::Completed)]);
    realm.sync();
    realm.sites[0].disk.borrow_mut().files.clear();
    realm.sync();
    assert_eq!(realm.titles().len(), 4);
    // One after the other is meant.
    realm.remove(0, tasks[1]);
    realm.sync();
    assert_eq!(realm.titles().len(), 3);
}

/// While files are missing all is compared every two seconds.
#[test]
fn a_file_that_is_missing_is_not_waited_for_after_its_team_went() {
    let mut realm = Realm::new(1);
    let task = realm.make(0, "dig");
    realm.remove(0, task);
    realm.sites[0].bridge.sync().unwrap();
    assert!(realm.sites[0].bridge.has_missing());
    realm.sites[0].disk.borrow_mut().is_gone = true;
    realm.sites[0].bridge.sync().unwrap();
    assert!(!realm.sites[0].bridge.has_missing());
}

#[test]
fn what_was_deleted_while_the_team_was_not_shared_is_there_again_and_what_was_edited_is_a_request() {
    let mut realm = Realm::new(2);
    let (deleted, edited) = (realm.make(0, "deleted"), realm.make(0, "edited"));
    realm.remove(0, deleted);
    realm.edit(0, edited, &[Change::Description("meanwhile".into())]);
    realm.restart(0);
    realm.sync();
    assert_eq!(realm.titles().len(), 2);
    assert_eq!(realm.task(1, edited).unwrap().description, "meanwhile");
}

#[test]
fn a_copy_of_a_tasks_file_is_a_task_of_its_own() {
    for copy in [2, 9] {
        let mut realm = Realm::new(2);
        for title in ["a", "b", "c"] {
            realm.make(0, title);
        }
        let held = realm.make(0, "held");
        realm.edit(0, id(2), &[Change::Status(Status::Completed)]);
        realm.sync();
        if copy == 2 {
            realm.remove(0, id(2));
            realm.sync();
        }
        assert_eq!(realm.claim(1, held, "bob"), Answer::Granted);
        realm.sync();
        let text = realm.text(0, held).unwrap().replace(r#""id": "4""#, &format!(r#""id": "{copy}""#));
        realm.write(0, id(copy), &text);
        realm.sync();
        assert_eq!(realm.task(1, held).and_then(|task| task.owner).as_deref(), Some("bob_m1"), "copy {copy}");
        assert_eq!(realm.claim(1, held, "bob"), Answer::Granted, "copy {copy}");
        let copies = realm.titles().iter().filter(|(_, title)| title == "held").count();
        assert_eq!(copies, 2, "{:?}", realm.titles());
        let ids = [held.to_string(), realm.titles().last().unwrap().0.clone()];
        assert_ne!(ids[0], ids[1]);
    }
}

#[test]
fn a_task_is_not_deleted_while_claims_are_unknown() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.cut(0, true);
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.server.borrow_mut().wipe();
    realm.cut(1, true);
    realm.cut(0, false);
    realm.sync();
    realm.remove(0, task);
    realm.sync();
    realm.cut(1, false);
    realm.sync();
    assert_eq!(realm.task(0, task).and_then(|task| task.owner).as_deref(), Some("bob_m1"));
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
}

#[test]
fn a_bucket_that_was_made_anew_and_is_not_noticed_yet_gets_nothing_old() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.cut(0, true);
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.edit(1, task, &[Change::Status(Status::Completed)]);
    realm.sync();
    realm.server.borrow_mut().wipe();
    realm.cut(0, false);
    // What it hears of the bucket is older than what it gets.
    realm.sites[0].luck.is_deaf.set(true);
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::NotYet { .. }), "{answer:?}");
    realm.sites[0].luck.is_deaf.set(false);
    realm.sync();
    assert_eq!(realm.task(0, task).unwrap().status, Status::Completed);
}

#[test]
fn a_lease_that_was_granted_before_the_team_was_shared_holds_to_its_end() {
    let mut realm = Realm::new(2);
    let now = realm.server.borrow().now();
    let text = Task::new("1", "dig", "").render().unwrap();
    let day = Duration::from_secs(8 * 3600);
    realm.write(0, id(1), &edit(&text, &claimed("ann_m0", now, day)).unwrap());
    realm.sync();
    realm.pass(7 * 3600);
    let answer = realm.claim(1, id(1), "bob");
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    realm.pass(3600);
    assert_eq!(realm.claim(1, id(1), "bob"), Answer::Granted);
}

#[test]
fn links_follow_a_task_that_gets_another_number_and_no_other() {
    let mut realm = Realm::new(2);
    let first = realm.make(0, "first");
    realm.cut(0, true);
    // Made offline by somebody who knows nothing of marks, linked both ways, and to a task that all have.
    let new = |number: u32, title: &str, changes: &[Change]| {
        edit(&Task::new(number.to_string(), title, "").render().unwrap(), changes).unwrap()
    };
    realm.write(0, id(2), &new(2, "dig", &[Change::AddBlocks(id(3)), Change::AddBlockedBy(first)]));
    realm.write(0, id(3), &new(3, "fill", &[Change::AddBlockedBy(id(2))]));
    realm.edit(0, first, &[Change::AddBlocks(id(2))]);
    let theirs = realm.make(1, "theirs");
    assert_eq!(theirs, id(2));
    realm.cut(0, false);
    realm.sync();
    let number = |title: &str| {
        realm.titles().into_iter().find(|(_, found)| found == title).map(|(number, _)| number).unwrap()
    };
    let (dig, fill) = (number("dig"), number("fill"));
    assert_ne!(dig, "2");
    for place in 0..2 {
        let links = |number: &str| {
            let task = realm.task(place, number.parse().unwrap()).unwrap();
            (task.blocks, task.blocked_by)
        };
        assert_eq!(links(&fill), (vec![], vec![dig.clone()]), "fill waits for dig");
        assert_eq!(links(&dig), (vec![fill.clone()], vec!["1".to_owned()]), "dig, between the others");
        assert_eq!(links("1"), (vec![dig.clone()], vec![]), "the first blocks dig, not theirs");
        assert_eq!(links("2"), (vec![], vec![]), "theirs has nothing to do with it");
    }
}

#[test]
fn an_edit_that_loses_is_told_with_its_text() {
    let mut realm = Realm::new(2);
    let (edited, deleted) = (realm.make(0, "edited"), realm.make(0, "deleted"));
    realm.cut(0, true);
    realm.edit(0, edited, &[Change::Description("an hour of writing".into())]);
    realm.edit(0, deleted, &[Change::Description("another hour".into())]);
    realm.edit(1, edited, &[Change::Description("there".into())]);
    realm.remove(1, deleted);
    realm.sync();
    realm.cut(0, false);
    realm.sync();
    assert_eq!(realm.task(0, edited).unwrap().description, "there");
    let told = realm.told(0).join("\n");
    assert!(told.contains("an hour of writing") && told.contains("another hour"), "{told}");
}

#[test]
fn keys_that_nobody_here_knows_are_carried_to_all() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    let text = realm.text(0, task).unwrap();
    realm.write(0, task, &text.replacen('{', "{\n  \"dueDate\": {\"day\": 1E2},", 1));
    realm.sync();
    for place in 0..2 {
        let text = realm.text(place, task).unwrap();
        assert!(text.contains(r#""dueDate": {"day": 1E2}"#), "m{place}: {text}");
    }
    // And taken away again.
    realm.write(1, task, &text);
    realm.edit(1, task, &[Change::note(SHARED_ID, &realm.task(0, task).unwrap().shared_id().unwrap())]);
    realm.sync();
    assert!(!realm.text(0, task).unwrap().contains("dueDate"));
}

#[test]
fn an_edit_that_was_taken_back_does_not_come_back_by_a_bridge_that_died() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.edit(0, task, &[Change::Description("too early".into())]);
    realm.sites[0].bridge.sync().unwrap();
    // It dies once it has written the file.
    realm.sites[1].luck.dies_after_write.set(true);
    realm.sites[1].bridge.sync().unwrap_err();
    assert_eq!(realm.task(1, task).unwrap().description, "too early");
    realm.edit(0, task, &[Change::Description(String::new())]);
    realm.sites[0].bridge.sync().unwrap();
    realm.restart(1);
    realm.sync();
    assert_eq!(realm.task(0, task).unwrap().description, "");
}

#[test]
fn after_the_bucket_was_set_back_the_newest_version_wins_in_whatever_order_machines_notice() {
    let mut realm = Realm::new(3);
    let task = realm.make(0, "dig");
    let old = realm.server.borrow().clone();
    realm.edit(0, task, &[Change::Description("seen by all".into())]);
    realm.sync();
    // The third one saw that, and not what came after.
    realm.cut(2, true);
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.edit(1, task, &[Change::Status(Status::Completed)]);
    realm.sync();
    realm.server.borrow_mut().set_back(&old);
    realm.sync();
    realm.cut(2, false);
    realm.sync();
    for place in 0..3 {
        assert_eq!(realm.task(place, task).unwrap().status, Status::Completed, "m{place}");
    }
    assert_eq!(realm.claim(2, task, "eve"), Answer::Completed);
}

#[test]
fn a_claim_that_the_bucket_forgot_is_put_back_and_no_number_is_given_twice() {
    let mut realm = Realm::new(3);
    let task = realm.make(0, "dig");
    let old = realm.server.borrow().clone();
    let other = realm.make(1, "made later");
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.sync();
    realm.server.borrow_mut().set_back(&old);
    // The first one that asks knows better.
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    let Ok(Answer::Number { id }) = realm.sites[0].bridge.number("alpha") else { panic!("no number") };
    assert!(id > other, "{id} was given before");
    realm.sync();
    assert_eq!(realm.titles().len(), 2);
    assert_eq!(realm.task(2, task).unwrap().owner.as_deref(), Some("bob_m1"));
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
}

#[test]
fn an_old_entry_that_somebody_puts_again_is_overruled() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    let old = realm.server.borrow().entries[&task].clone();
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.sync();
    realm.server.borrow_mut().plant(task, old);
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    realm.sync();
    assert_eq!(realm.task(1, task).unwrap().owner.as_deref(), Some("bob_m1"));
}

#[test]
fn a_machine_that_takes_a_live_claim_of_another_one_is_overruled_by_its_home() {
    for (deletes, is_over) in [(false, false), (true, false), (false, true)] {
        let mut realm = Realm::new(2);
        let task = realm.make(0, "dig");
        assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
        realm.sync();
        // Signed and trusted, but nothing that the protocol allows.
        let mut taken = realm.server.borrow().entries[&task].clone();
        let value = taken.value.take().unwrap();
        taken.from = "m0".parse().unwrap();
        taken.value = Some(if deletes {
            value.gone().renewed()
        } else {
            let text = value.text.clone().unwrap().replace("bob_m1", "ann_m0").replace("dig", "dig deep");
            let owner = Some(Owner { name: "ann_m0".into(), machine: "m0".parse().unwrap(), stay: None });
            SharedTask { text: Some(text), owner, since: value.version + 1, ..value }.renewed()
        });
        if is_over {
            realm.pass(400);
        }
        realm.server.borrow_mut().plant(task, taken);
        realm.sync();
        let owner = if is_over { "ann_m0" } else { "bob_m1" };
        for place in 0..2 {
            let found = realm.task(place, task).unwrap();
            assert_eq!(found.owner.as_deref(), Some(owner), "m{place}, deleted: {deletes}, over: {is_over}");
            assert_eq!(found.subject, if deletes { "dig" } else { "dig deep" }, "the rest of it is kept");
        }
        assert_eq!(realm.sites[1].bridge.take_refused().len(), usize::from(!is_over));
    }
}

#[test]
fn a_claim_by_who_did_not_see_what_a_server_forgot_is_kept_while_nobody_else_has_it() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    let old = realm.server.borrow().clone();
    realm.cut(1, true);
    realm.edit(0, task, &[Change::Description("deep".into())]);
    assert_eq!(realm.claim(0, task, "ann"), Answer::Granted);
    realm.sync();
    realm.cut(0, true);
    realm.pass(400);
    // Ann's claim is over, and only her machine knows of it.
    realm.server.borrow_mut().set_back(&old);
    realm.cut(1, false);
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    realm.cut(0, false);
    realm.sync();
    for place in 0..2 {
        let found = realm.task(place, task).unwrap();
        assert_eq!((found.owner.as_deref(), found.description.as_str()), (Some("bob_m1"), "deep"));
    }
}

#[test]
fn what_nobody_can_read_uses_up_no_numbers() {
    let mut realm = Realm::new(2);
    realm.make(0, "dig");
    let last = "9007199254740991".parse().unwrap();
    realm.server.borrow_mut().spoil(last, 0);
    assert_eq!(realm.make(1, "fill"), id(2));
}

#[test]
fn what_was_deleted_in_the_bucket_is_put_again_by_who_remembers_it_and_its_holder_keeps_it() {
    let mut realm = Realm::new(2);
    let (held, free) = (realm.make(0, "held"), realm.make(0, "free"));
    assert_eq!(realm.claim(1, held, "bob"), Answer::Granted);
    realm.sync();
    for task in [held, free] {
        realm.server.borrow_mut().spoil(task, 0);
    }
    realm.sync();
    assert_eq!(realm.titles().len(), 2);
    let answer = realm.claim(0, held, "ann");
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    assert_eq!(realm.claim(1, held, "bob"), Answer::Granted);
    // What was claimed in an entry that nobody saw may still hold.
    let answer = realm.claim(0, free, "ann");
    assert!(matches!(answer, Answer::NotYet { .. }), "{answer:?}");
    realm.pass(1900);
    assert_eq!(realm.claim(0, free, "ann"), Answer::Granted);
}

#[test]
fn what_a_machine_put_that_is_not_trusted_stands_while_a_claim_in_it_may_hold_and_not_for_good() {
    let mut realm = Realm::new(2);
    let task = realm.make(0, "dig");
    realm.server.borrow_mut().spoil(task, 1800);
    let revision = realm.server.borrow().entries[&task].revision;
    realm.sync();
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::Away { ref why } if why.contains("m9")), "{answer:?}");
    assert_eq!(realm.server.borrow().entries[&task].revision, revision, "it is left alone");
    realm.pass(1800);
    realm.sync();
    let answer = realm.claim(0, task, "ann");
    assert!(matches!(answer, Answer::NotYet { .. }), "{answer:?}");
    realm.pass(1900);
    assert_eq!(realm.claim(0, task, "ann"), Answer::Granted);
    assert_eq!(realm.titles().len(), 1);
}

#[test]
fn what_was_read_while_its_signer_was_trusted_is_vouched_for_by_others_at_once() {
    let mut realm = Realm::new(3);
    let task = realm.make(2, "dig");
    // Nobody trusts the third machine any more.
    realm.cut(2, true);
    let later = realm.server.borrow().now().saturating_add(LONGEST);
    {
        let mut server = realm.server.borrow_mut();
        let entry = server.entries.get_mut(&task).unwrap();
        (entry.value, entry.vacant_from) = (None, Some(later));
    }
    assert_eq!(realm.claim(0, task, "ann"), Answer::Granted);
    assert!(matches!(realm.claim(1, task, "bob"), Answer::Held { .. }));
}
