//! Which numbers tasks have.

use atm_bridge::protocol::tasks::SharedTask;
use atm_bridge::tasks::entries::Entry;
use atm_office::tasks::shared::Answer;
use atm_wire::task::{Change, Task, TaskId, edit};

use super::disk::TEAM;
use super::realm::{Realm, id};

const GREATEST: &str = "9007199254740991";

fn greatest() -> TaskId {
    GREATEST.parse().unwrap()
}

/// A task that was made right after the bridge's start took the number behind them, and all that were made before got others.
#[test]
fn what_was_made_before_it_was_shared_keeps_its_number_though_a_new_task_is_the_first_to_ask() {
    let mut realm = Realm::new(2);
    for number in 1..=3 {
        let text = Task::new(number.to_string(), format!("old {number}"), "").render().unwrap();
        realm.write(0, id(number), &text);
    }
    let Ok(Answer::Number { id: new }) = realm.sites[0].bridge.number(TEAM) else { panic!("no number") };
    assert_eq!(new, id(4));
    realm.write(0, new, &Task::new(new.to_string(), "new", "").render().unwrap());
    realm.sync();
    let titles = realm.titles();
    let titles: Vec<(&str, &str)> = titles.iter().map(|(id, title)| (id.as_str(), title.as_str())).collect();
    assert_eq!(titles, [("1", "old 1"), ("2", "old 2"), ("3", "old 3"), ("4", "new")]);
}

/// It stopped its team on that machine: nothing was mirrored, claimed or made.
#[test]
fn a_file_that_cannot_be_marked_and_whose_number_is_taken_stops_no_other_task() {
    let mut realm = Realm::new(2);
    realm.cut(1, true);
    let (taken, task) = (realm.make(0, "theirs"), realm.make(0, "dig"));
    let text = r#"{"id": "1", "subject": "mine", "metadata": ["not", "an", "object"]}"#;
    realm.write(1, taken, text);
    realm.cut(1, false);
    realm.sites[1].bridge.sync().unwrap_err();
    assert_eq!(realm.task(1, task).map(|task| task.subject).as_deref(), Some("dig"));
    assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
    let number = realm.sites[1].bridge.number(TEAM);
    assert!(matches!(number, Ok(Answer::Number { .. })), "{number:?}");
    assert_eq!(realm.text(1, taken).as_deref(), Some(text));
    // Once it can be, it gets a number.
    realm.write(1, taken, r#"{"id": "1", "subject": "mine", "metadata": {}}"#);
    realm.sync();
    let titles: Vec<String> = realm.titles().into_iter().map(|(_, title)| title).collect();
    assert_eq!(titles, ["theirs", "dig", "mine"]);
}

/// It was told to all, and there was no number after it: on every machine with a new file nothing of the team was mirrored, claimed or
/// made any more, since "others reserve numbers at the same time".
#[test]
fn a_task_with_a_number_far_above_the_others_gets_one_that_all_can_go_on_from() {
    let mut realm = Realm::new(2);
    realm.make(0, "dig");
    let linked = edit(&Task::new("2", "linked", "").render().unwrap(), &[Change::AddBlockedBy(greatest())]);
    realm.write(0, greatest(), &Task::new(GREATEST, "far", "").render().unwrap());
    realm.write(0, id(2), &linked.unwrap());
    realm.sync();
    let titles: Vec<String> = realm.titles().into_iter().map(|(_, title)| title).collect();
    assert_eq!(titles, ["dig", "linked", "far"]);
    let far = realm.titles()[2].0.clone();
    assert_eq!(realm.task(1, id(2)).unwrap().blocked_by, [far]);
    let told = realm.told(0);
    assert!(told.len() == 1 && told[0].contains(GREATEST) && told[0].contains("far above"), "{told:?}");
    for place in 0..2 {
        realm.make(place, "more");
    }
    assert_eq!(realm.claim(1, id(1), "bob"), Answer::Granted);
}

/// What a machine puts there that does not keep to this.
#[test]
fn a_number_far_above_the_others_in_the_bucket_is_not_believed_and_stops_nobody() {
    for is_given in [false, true] {
        let mut realm = Realm::new(3);
        let task = realm.make(0, "dig");
        let planted = realm.server.borrow().entries[&task].value.clone().unwrap();
        let text = Task::new(GREATEST, "far", "").render().unwrap();
        let planted = SharedTask { id: greatest(), shared_id: "x".into(), text: Some(text), ..planted };
        let entry = Entry::of(0, "m9".parse().unwrap(), planted);
        realm.server.borrow_mut().plant(greatest(), entry);
        if is_given {
            realm.server.borrow_mut().give_up_to(greatest());
        }
        realm.sync();
        for place in 0..3 {
            assert_eq!(realm.text(place, greatest()), None, "it is mirrored on m{place}");
            let Ok(Answer::Number { id: new }) = realm.sites[place].bridge.number(TEAM) else {
                panic!("m{place} has no number")
            };
            assert!(new < id(10_000), "m{place} has the number {new}");
            realm.write(place, new, &Task::new(new.to_string(), "more", "").render().unwrap());
            let number = 1_000 * (1 + u32::try_from(place).unwrap());
            let text = Task::new(number.to_string(), "made by a client", "").render().unwrap();
            realm.write(place, id(number), &text);
            realm.sync();
        }
        assert_eq!(realm.titles().len(), 7, "{:?}", realm.titles());
        assert_eq!(realm.claim(1, task, "bob"), Answer::Granted);
        let refused = realm.sites[1].bridge.take_refused();
        let expected = [("far-number", format!("task {GREATEST} of {TEAM} by m9"))];
        assert_eq!(refused, expected, "it is said once");
    }
}

/// Nothing of the team was mirrored, and no task of it claimed.
#[test]
fn a_new_task_that_gets_no_number_stops_no_other_one() {
    let mut realm = Realm::new(2);
    realm.make(0, "theirs");
    realm.cut(1, true);
    let taken = realm.make(0, "taken");
    realm.write(1, taken, &Task::new(taken.to_string(), "mine", "").render().unwrap());
    let linked = edit(&Task::new("9", "linked", "").render().unwrap(), &[Change::AddBlockedBy(taken)]);
    realm.write(1, id(9), &linked.unwrap());
    realm.cut(1, false);
    realm.sites[1].luck.is_numberless.set(true);
    realm.edit(0, id(1), &[Change::Description("changed".into())]);
    realm.sites[0].bridge.sync().unwrap();
    for _ in 0..3 {
        realm.sites[1].bridge.sync().unwrap_err();
        realm.pass(3);
    }
    assert_eq!(realm.task(1, id(1)).unwrap().description, "changed");
    assert_eq!(realm.claim(1, id(1), "bob"), Answer::Granted);
    let new = realm.claim(1, id(9), "bob");
    assert_eq!(new, Answer::Away { why: "cannot reach the bucket: no number can be had".into() });
    assert!(!realm.server.borrow().entries.contains_key(&id(9)), "what it links to may get another number");
    realm.sites[1].luck.is_numberless.set(false);
    realm.sync();
    let (titles, linked) = (realm.titles(), realm.task(0, id(9)).unwrap());
    let mine = titles.iter().find(|(_, title)| title == "mine").unwrap();
    assert_eq!(linked.blocked_by, std::slice::from_ref(&mine.0), "{titles:?}");
}
