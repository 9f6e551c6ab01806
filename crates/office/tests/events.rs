//! The feed of events: every event once and in order, wherever its reader stops and begins again, whatever others do.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use atm_office::Office;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::members::MemberChange;
use atm_office::tasks::{TaskChange, TaskPlan};
use atm_office::watch::{EventView, Happening, Since};
use atm_store::Layout;
use atm_store::watch::Stop;
use atm_support::{TestEnv, TestTeam};
use atm_wire::MemberName;
use atm_wire::task::TaskId;
use proptest::prelude::*;

/// An office of its own, as another process would have.
fn office(team: &TestTeam) -> Office {
    Office::new(team.env().store_root(), team.env().store_state())
}

fn name(text: &str) -> MemberName {
    MemberName::parse(text).unwrap()
}

/// All that there is since a place, without waiting.
fn events(team: &TestTeam, since: &Since) -> Vec<EventView> {
    let mut stream =
        office(team).follow(std::slice::from_ref(team.name()), &[], since, &Stop::default()).unwrap();
    let mut all = Vec::new();
    // Past: it looks once, and does not wait.
    while let Some(page) = stream.next(Some(Instant::now())).unwrap() {
        all.extend(page);
    }
    all
}

fn since(event: &EventView) -> Since {
    Since::Cursor(event.cursor.parse().unwrap())
}

#[derive(Debug, Clone)]
enum Act {
    Send,
    Read,
    Drain,
    NewTask,
    Claim,
    EditTask,
    RemoveTask,
    Active(bool),
    /// The reader takes this share of what there is, and begins again behind the last event that it took.
    Restart(u8),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => Just(Act::Send),
        2 => Just(Act::Read),
        1 => Just(Act::Drain),
        2 => Just(Act::NewTask),
        1 => Just(Act::Claim),
        1 => Just(Act::EditTask),
        1 => Just(Act::RemoveTask),
        2 => any::<bool>().prop_map(Act::Active),
        3 => any::<u8>().prop_map(Act::Restart),
    ];
    prop::collection::vec(act, 1..14)
}

fn act(team: &TestTeam, act: &Act) {
    let (office, bob) = (office(team), name("bob"));
    let newest = || {
        let tasks =
            office.tasks(team.name()).unwrap().list(&atm_office::tasks::TaskFilter::default()).unwrap();
        tasks.tasks.last().map(|task| task.id)
    };
    let file = |id: TaskId| team.task_folder().join(format!("{id}.json"));
    match act {
        Act::Send => {
            let letter = Letter::new("bob".parse().unwrap(), "hello");
            office.send(team.name(), &name("user"), &letter, SendOptions::default()).unwrap();
        }
        Act::Read => {
            office.begin_read(team.name(), &bob, 1).unwrap().confirm().unwrap();
        }
        Act::Drain => fs::write(team.inbox("bob"), "[]").unwrap(),
        Act::NewTask => {
            let plan = TaskPlan { subject: "work".into(), ..TaskPlan::default() };
            office.tasks(team.name()).unwrap().create(&bob, &plan).unwrap();
        }
        Act::Claim => {
            if let Some(id) = newest() {
                let _ = office.tasks(team.name()).unwrap().claim(&bob, id, Duration::from_secs(60));
            }
        }
        Act::EditTask => {
            if let Some(id) = newest() {
                let text = fs::read_to_string(file(id)).unwrap();
                fs::write(file(id), text.replace("\"work", "\"work,")).unwrap();
            }
        }
        Act::RemoveTask => {
            if let Some(id) = newest() {
                fs::remove_file(file(id)).unwrap();
            }
        }
        Act::Active(is_on) => {
            let change = MemberChange { active: Some(*is_on), ..MemberChange::default() };
            office.set_member(team.name(), &bob, &change).unwrap();
        }
        Act::Restart(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_gap_and_no_repetition_wherever_the_reader_begins_again(acts in acts()) {
        let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
        let mut taken: Vec<EventView> = Vec::new();
        for one in &acts {
            act(&team, one);
            if let Act::Restart(share) = one {
                let from = taken.last().map_or(Since::Start, since);
                let mut new = events(&team, &from);
                new.truncate(new.len() * usize::from(*share) / 255);
                taken.extend(new);
            }
        }
        let from = taken.last().map_or(Since::Start, since);
        taken.extend(events(&team, &from));
        let cursors = |events: &[EventView]| events.iter().map(|event| event.cursor.clone()).collect::<Vec<_>>();
        prop_assert_eq!(cursors(&taken), cursors(&events(&team, &Since::Start)));
        for event in &taken {
            prop_assert!(!matches!(event.what, Happening::Reset));
        }
    }
}

#[test]
fn several_who_look_at_once_record_a_change_of_presence_and_of_a_task_once() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let sender = office(&team);
    let letter = Letter::new("bob".parse().unwrap(), "hello");
    sender.send(team.name(), &name("user"), &letter, SendOptions::default()).unwrap();
    events(&team, &Since::Start);
    let before = events(&team, &Since::Start).pop().map(|event| since(&event)).unwrap();
    let change = MemberChange { active: Some(false), ..MemberChange::default() };
    sender.set_member(team.name(), &name("bob"), &change).unwrap();
    fs::create_dir_all(team.task_folder()).unwrap();
    let task = |status: &str| format!(r#"{{"id":"1","subject":"s","description":"","status":"{status}"}}"#);
    fs::write(team.task_folder().join("1.json"), task("pending")).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| drop(events(&team, &Since::Now)));
        }
    });
    fs::write(team.task_folder().join("1.json"), task("completed")).unwrap();
    let told: Vec<String> = events(&team, &before)
        .into_iter()
        .map(|event| match event.what {
            Happening::Presence { member, state, was } => format!("{member} {was:?} {state}"),
            Happening::Task { task, change, changed, .. } => format!("{task} {change} {changed:?}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(told.iter().filter(|told| told.starts_with("bob ")).count(), 1, "{told:?}");
    assert_eq!(told.iter().filter(|told| told.contains("created")).count(), 1, "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("1 changed [\"status\"]"), "{told:?}");
    assert_eq!(told.len(), 3, "{told:?}");
}

#[test]
fn our_own_changes_of_tasks_say_who_made_them() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    events(&team, &Since::Start);
    let (office, bob) = (office(&team), name("bob"));
    let tasks = office.tasks(team.name()).unwrap();
    let plan = TaskPlan { subject: "work".into(), ..TaskPlan::default() };
    let id = tasks.create(&bob, &plan).unwrap().task.id;
    let change = TaskChange { subject: Some("other work".into()), ..TaskChange::default() };
    tasks.change(&name("lead"), id, &change).unwrap();
    tasks.delete(&bob, id).unwrap();
    let told: Vec<_> = events(&team, &Since::Start)
        .into_iter()
        .filter_map(|event| match event.what {
            Happening::Task { change, .. } => Some((change, event.evidence.unwrap().by.unwrap())),
            _ => None,
        })
        .collect();
    let by = |change, who: &str| (change, who.to_owned());
    assert_eq!(told, [by("created", "bob"), by("changed", "lead"), by("removed", "bob")]);
}

#[test]
fn a_cursor_of_a_log_that_is_gone_gives_a_reset_and_goes_on() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let letter = Letter::new("bob".parse().unwrap(), "hello");
    office(&team).send(team.name(), &name("user"), &letter, SendOptions::default()).unwrap();
    let last = events(&team, &Since::Start).pop().unwrap();
    fs::remove_dir_all(team.env().store_state().ledger().parent().unwrap()).unwrap();
    let after = events(&team, &since(&last));
    assert!(matches!(after[0].what, Happening::Reset), "{after:?}");
    assert!(after.iter().skip(1).any(|event| matches!(event.what, Happening::Message { .. })), "{after:?}");
}

#[test]
fn the_last_events_are_given_first_and_nothing_is_missed_behind_them() {
    let team = TestEnv::new().team("demo", Layout::Array, &["bob"]);
    let send = |text: &str| {
        let letter = Letter::new("bob".parse().unwrap(), text);
        office(&team).send(team.name(), &name("user"), &letter, SendOptions::default()).unwrap()
    };
    assert!(
        events(&team, &Since::Last(5)).iter().all(|event| !matches!(event.what, Happening::Message { .. }))
    );
    let ids: Vec<String> = ["one", "two", "three"].map(|text| send(text).id).to_vec();
    let all = events(&team, &Since::Start);
    let cursors =
        |events: &[EventView]| -> Vec<String> { events.iter().map(|event| event.cursor.clone()).collect() };
    let last = events(&team, &Since::Last(2));
    assert_eq!(cursors(&last), cursors(&all)[all.len() - 2..]);
    assert!(
        last.iter().any(|event| matches!(&event.what, Happening::Stage { id, .. } if *id == ids[2])),
        "{last:?}"
    );
    assert_eq!(cursors(&events(&team, &Since::Last(10_000))), cursors(&all), "there are not as many");
}
