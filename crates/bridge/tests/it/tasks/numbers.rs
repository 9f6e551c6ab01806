//! Which numbers tasks have.

use atm_office::tasks::shared::Answer;
use atm_wire::task::Task;

use super::disk::TEAM;
use super::realm::{Realm, id};

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
