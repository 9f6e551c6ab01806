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
