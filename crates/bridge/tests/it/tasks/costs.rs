//! What shared tasks cost: bytes that are saved, and files that are read.

use atm_office::tasks::shared::Answer;
use atm_wire::task::Task;

use super::realm::{Realm, id};

/// A machine that shares so many tasks.
fn sharing(count: u32) -> Realm {
    let mut realm = Realm::new(1);
    for number in 1..=count {
        let task = Task::new(number.to_string(), "dig", "deep ".repeat(60));
        realm.write(0, id(number), &task.render().unwrap());
    }
    realm.sites[0].bridge.sync().unwrap();
    assert_eq!(realm.server.borrow().entries.len(), usize::try_from(count).unwrap());
    realm
}

/// Each task was saved with all others, and looked for among all files.
#[test]
fn sharing_a_team_with_many_tasks_costs_so_much_for_each() {
    let costs = |count: u32| {
        let realm = sharing(count);
        let disk = realm.sites[0].disk.borrow();
        [disk.saves, disk.saved_bytes, disk.reads].map(|cost| cost / usize::try_from(count).unwrap())
    };
    let (few, many) = (costs(100), costs(400));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= few + few / 4 + 1, "for each of 100 and of 400: {few} and {many}");
    }
}

/// What all tasks are was saved at each claim of one.
#[test]
fn a_claim_saves_as_much_among_many_tasks_as_among_few() {
    let cost = |count: u32| {
        let mut realm = sharing(count);
        let before = realm.sites[0].disk.borrow().saved_bytes;
        assert_eq!(realm.claim(0, id(count / 2), "ann"), Answer::Granted);
        realm.sites[0].disk.borrow().saved_bytes - before
    };
    let (few, many) = (cost(15), cost(1_500));
    assert!(many < few + 100 && many < 8_000, "{few} bytes among 15 tasks, {many} among 1,500");
}

/// All files were read, and all texts looked through for links, for each task that got another number.
#[test]
fn tasks_whose_numbers_others_have_cost_so_much_for_each() {
    let costs = |count: u32| {
        let mut realm = Realm::new(2);
        for number in 1..=count {
            for place in 0..2 {
                let mut task = Task::new(number.to_string(), format!("dig {place}"), "deep");
                task.blocked_by = (1..number).next_back().iter().map(ToString::to_string).collect();
                realm.write(place, id(number), &task.render().unwrap());
            }
        }
        realm.sync();
        assert_eq!(realm.titles().len(), 2 * usize::try_from(count).unwrap());
        let links = |number: u32| realm.task(0, id(number)).unwrap().blocked_by;
        assert!((2..=count).all(|number| links(number) == [(number - 1).to_string()]));
        assert!((count + 2..=2 * count).all(|number| links(number) == [(number - 1).to_string()]));
        let disk = realm.sites[1].disk.borrow();
        [disk.saves, disk.saved_bytes, disk.reads].map(|cost| cost / usize::try_from(count).unwrap())
    };
    let (few, many) = (costs(50), costs(200));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= few + few / 4 + 1, "for each of 50 and of 200: {few} and {many}");
    }
}
