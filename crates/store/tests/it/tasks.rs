//! Tasks beside the clients that own them: no number twice, no change lost, nothing foreign damaged.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use atm_store::tasks::Decision;
use atm_store::{LockTimes, StoreError, TaskFolder};
use atm_support::{Foreign, TestTeam, client_fixtures};
use atm_wire::task::{Change, Status, Task, TaskId};
use proptest::prelude::*;

use crate::scene::{HASTY, array_team};

fn id(number: u8) -> TaskId {
    TaskId::parse(&number.to_string()).unwrap()
}

fn make(tasks: &TaskFolder, subject: &str) -> TaskId {
    tasks.create(|id| Task::new(id.to_string(), subject, "")).unwrap().0
}

fn change(tasks: &TaskFolder, number: TaskId, changes: &[Change]) -> Task {
    tasks.update(number, |_| Decision::Change(changes.to_vec(), ())).unwrap().unwrap().0
}

fn write(team: &TestTeam, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    fs::create_dir_all(team.task_folder()).unwrap();
    let path = team.task_folder().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// What is in the folder beside tasks and what clients put there.
fn litter(team: &TestTeam) -> Vec<String> {
    let names = fs::read_dir(team.task_folder()).into_iter().flatten();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_known = |name: &String| {
        [".lock", ".highwatermark"].contains(&name.as_str()) || TaskId::counted(name).is_some()
    };
    names.filter(|name| !is_known(name)).collect()
}

#[test]
fn a_new_task_is_what_a_client_would_have_written() {
    let team = array_team();
    assert_eq!(make(&team.tasks(), "First"), id(1));
    let text = fs::read_to_string(team.task_folder().join("1.json")).unwrap();
    assert_eq!(
        text,
        "{\n  \"id\": \"1\",\n  \"subject\": \"First\",\n  \"description\": \"\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \
         \"blockedBy\": []\n}"
    );
    assert!(litter(&team).is_empty(), "{:?}", litter(&team));
}

#[test]
fn tasks_of_every_generation_of_clients_are_read_and_changed_in_place() {
    for folder in ["2.1.77/tasks/demo", "2.1.197/tasks/session-4492fd52", "2.1.325/tasks/session-ed8ca403"] {
        let team = array_team();
        for name in ["1.json", "2.json"] {
            write(
                &team,
                name,
                fs::read(client_fixtures().join(format!("claude-code-{folder}/{name}"))).unwrap(),
            );
        }
        let tasks = team.tasks();
        let listing = tasks.list().unwrap();
        assert!(listing.skipped.is_empty());
        let seen: Vec<_> = listing.tasks.iter().map(|(id, task)| (*id, task.subject.as_str())).collect();
        assert_eq!(seen, [(id(1), "First task"), (id(2), "Second task")]);

        let before = listing.tasks[1].1.raw().to_owned();
        change(&tasks, id(2), &[Change::Status(Status::Completed)]);
        let after = fs::read_to_string(team.task_folder().join("2.json")).unwrap();
        assert_eq!(after, before.replace("pending", "completed"));
        assert_eq!(make(&tasks, "Third"), id(3));
    }
}

#[test]
fn a_number_is_never_given_twice() {
    let team = array_team();
    let tasks = team.tasks();
    assert_eq!(make(&tasks, "a"), id(1));
    tasks.delete(id(1), |_| Ok::<_, ()>(())).unwrap().unwrap().unwrap();
    assert_eq!(make(&tasks, "b"), id(2), "the deleted one's is taken");
    fs::remove_file(team.task_folder().join("2.json")).unwrap();
    assert_eq!(make(&tasks, "c"), id(3), "one that somebody removed just so was given too");
    write(&team, "7.json", "{ half a ta");
    assert_eq!(make(&tasks, "d"), id(8), "one that does not parse has its number");
    write(&team, "12-old.json", "");
    assert_eq!(make(&tasks, "e"), id(13), "what clients count is counted");
    write(&team, ".highwatermark", "40\n");
    assert_eq!(make(&tasks, "f"), id(41), "a client deleted 40");
    write(&team, ".highwatermark", "no number");
    assert_eq!(make(&tasks, "g"), id(42), "the files still tell");
}

#[test]
fn there_is_an_end_to_numbers() {
    let team = array_team();
    write(&team, ".highwatermark", "9007199254740991");
    let error = team.tasks().create(|id| Task::new(id.to_string(), "x", "")).unwrap_err();
    assert!(matches!(error, StoreError::BadContent { .. }), "{error}");
}

#[test]
fn a_client_deletes_what_we_made_and_the_number_stays_taken() {
    let team = array_team();
    make(&team.tasks(), "a");
    Foreign::task_client(&team.task_folder()).with("--verb", "delete").with("--id", "1").run();
    assert_eq!(make(&team.tasks(), "b"), id(2));
    let made = Foreign::task_client(&team.task_folder()).run();
    assert_eq!(made.lines[0]["id"], "3", "clients see what we gave");
}

#[test]
fn what_does_not_parse_is_told_and_left_alone() {
    let team = array_team();
    let tasks = team.tasks();
    make(&tasks, "a");
    for (name, bytes) in
        [("2.json", &b"{\"id\":"[..]), ("3.json", b"[]"), ("4.json", b"\xff"), ("5.json", b"")]
    {
        let path = write(&team, name, bytes);
        let number = TaskId::parse(name.trim_end_matches(".json")).unwrap();
        let listing = tasks.list().unwrap();
        assert_eq!(listing.tasks.len(), 1);
        assert!(listing.skipped.iter().any(|skipped| skipped.id == number));
        let error = tasks.update(number, |_| Decision::Change(vec![Change::Owner(None)], ())).unwrap_err();
        assert!(matches!(error, StoreError::BadContent { .. }), "{error}");
        let error = tasks.delete(number, |_| Ok::<_, ()>(())).unwrap_err();
        assert!(matches!(error, StoreError::BadContent { .. }), "{error}");
        assert_eq!(fs::read(path).unwrap(), bytes);
    }
    assert!(litter(&team).is_empty(), "{:?}", litter(&team));
}

#[test]
fn a_task_that_is_not_there_is_nobodys() {
    let team = array_team();
    let tasks = team.tasks();
    assert!(tasks.list().unwrap().tasks.is_empty());
    assert!(tasks.load(id(1)).unwrap().is_none());
    assert!(tasks.update(id(1), |_| Decision::Keep(())).unwrap().is_none());
    assert!(tasks.delete(id(1), |_| Ok::<_, ()>(())).unwrap().is_none());
    assert!(!team.task_folder().exists(), "looking made nothing");
}

#[test]
fn what_is_so_already_is_not_written() {
    let team = array_team();
    let tasks = team.tasks();
    let number = make(&tasks, "a");
    let before = fs::metadata(team.task_folder().join("1.json")).unwrap().modified().unwrap();
    change(&tasks, number, &[Change::Status(Status::Pending), Change::Owner(None)]);
    assert_eq!(fs::metadata(team.task_folder().join("1.json")).unwrap().modified().unwrap(), before);
}

#[test]
fn the_locks_of_others_are_waited_for() {
    let team = array_team();
    let number = make(&team.tasks(), "a");
    let tasks = team.tasks_with(HASTY);
    let busy = |error: StoreError, lock: &str| {
        assert!(matches!(&error, StoreError::Busy { lock: held, .. } if held.ends_with(lock)), "{error}");
    };
    let finish = || tasks.update(number, |_| Decision::Change(vec![Change::Status(Status::Completed)], ()));

    fs::create_dir(team.task_folder().join("1.json.lock")).unwrap();
    busy(finish().unwrap_err(), "1.json.lock");
    make(&tasks, "another task is free");
    fs::remove_dir(team.task_folder().join("1.json.lock")).unwrap();

    fs::create_dir(team.task_folder().join(".lock.lock")).unwrap();
    busy(tasks.create(|id| Task::new(id.to_string(), "b", "")).unwrap_err(), ".lock.lock");
    fs::remove_dir(team.task_folder().join(".lock.lock")).unwrap();

    let mut holder = Foreign::flock_holder(&team.task_folder().join(".lock")).start();
    holder.wait_for_lines(1);
    busy(finish().unwrap_err(), ".lock");
    holder.finish();
    let patient = team.tasks_with(LockTimes { wait: Duration::from_secs(12), ..HASTY });
    change(&patient, number, &[Change::Status(Status::Completed)]);
}

#[test]
fn clients_and_we_make_tasks_at_once_and_each_gets_its_own_number() {
    const EACH: usize = 15;
    for old in [false, true] {
        let team = array_team();
        fs::create_dir_all(team.task_folder()).unwrap();
        let clients: Vec<_> = (0..2)
            .map(|number| {
                let client =
                    Foreign::task_client(&team.task_folder()).sending(&format!("client {number} "), EACH);
                if old { client.flag("--old") } else { client }.start()
            })
            .collect();
        let ours: Vec<String> = thread::scope(|scope| {
            let makers: Vec<_> = (0..2)
                .map(|maker| {
                    let tasks = team.tasks();
                    scope.spawn(move || {
                        let subjects = (0..EACH).map(|turn| format!("ours {maker} {turn}"));
                        let made =
                            subjects.inspect(|subject| assert_ne!(make(&tasks, subject), TaskId::NONE));
                        made.collect::<Vec<_>>()
                    })
                })
                .collect();
            makers.into_iter().flat_map(|maker| maker.join().unwrap()).collect()
        });
        let theirs = clients.into_iter().flat_map(|client| client.finish().lines);
        let theirs: Vec<String> = theirs.map(|line| line["subject"].as_str().unwrap().to_owned()).collect();
        let listing = team.tasks().list().unwrap();
        assert!(listing.skipped.is_empty());
        let there: HashSet<String> = listing.tasks.iter().map(|(_, task)| task.subject.clone()).collect();
        assert_eq!(listing.tasks.len(), 4 * EACH);
        assert_eq!(there, ours.into_iter().chain(theirs).collect());
        assert!(litter(&team).is_empty(), "{:?}", litter(&team));
    }
}

#[test]
fn a_client_and_we_change_one_task_at_once_and_no_change_is_lost() {
    const EACH: usize = 30;
    let team = array_team();
    let tasks = team.tasks();
    let number = make(&tasks, "a");
    let client = Foreign::task_client(&team.task_folder())
        .with("--verb", "count")
        .with("--id", "1")
        .sending("doing ", EACH);
    let mut client = client.start();
    client.wait_for_lines(1);
    for turn in 0..EACH {
        change(&tasks, number, &[Change::note(&format!("ours {turn}"), "x")]);
    }
    client.finish();
    let metadata = tasks.load(number).unwrap().unwrap().metadata.unwrap();
    let metadata: serde_json::Map<String, serde_json::Value> = serde_json::from_str(metadata.get()).unwrap();
    assert_eq!(metadata["counter"], EACH);
    assert_eq!(metadata.len(), EACH + 1);
    assert!(litter(&team).is_empty(), "{:?}", litter(&team));
}

#[derive(Debug, Clone)]
enum Step {
    Make,
    Delete(usize),
    Rename(usize, String),
    SomebodyRemoves(usize),
    SomebodyBreaks(usize),
    SomebodyMakes,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Make),
        2 => (0usize..8).prop_map(Step::Delete),
        3 => (0usize..8, ".{0,8}").prop_map(|(index, subject)| Step::Rename(index, subject)),
        1 => (0usize..8).prop_map(Step::SomebodyRemoves),
        1 => (0usize..8).prop_map(Step::SomebodyBreaks),
        1 => Just(Step::SomebodyMakes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_happens_numbers_are_new_and_foreign_keys_stay(steps in prop::collection::vec(step(), 1..14)) {
        const EXTRA: &str = r#""zz": 1E2, "id": "?", "mine": {"b": [ 1.50 ], "a": "\u00e9"}"#;
        let team = array_team();
        let tasks = team.tasks();
        let mut given = HashSet::new();
        for step in steps {
            let there = tasks.list().unwrap().tasks;
            let pick = |index: usize| there.get(index).map(|(id, _)| *id);
            match step {
                Step::Make => prop_assert!(given.insert(make(&tasks, "ours")), "given twice"),
                Step::Delete(index) => {
                    if let Some(id) = pick(index) {
                        tasks.delete(id, |_| Ok::<_, ()>(())).unwrap();
                    }
                }
                Step::Rename(index, subject) => {
                    if let Some(id) = pick(index) {
                        let task = change(&tasks, id, &[Change::Subject(subject.clone())]);
                        prop_assert_eq!(&task.subject, &subject);
                    }
                }
                Step::SomebodyRemoves(index) => {
                    // Of somebody else's task nobody but its file knows, so only ours are removed just so.
                    if let Some((id, _)) = there.get(index).filter(|(_, task)| !task.raw().contains("zz")) {
                        fs::remove_file(team.task_folder().join(format!("{id}.json"))).unwrap();
                    }
                }
                Step::SomebodyBreaks(index) => {
                    if let Some(id) = pick(index) {
                        write(&team, &format!("{id}.json"), "{");
                    }
                }
                Step::SomebodyMakes => {
                    let next = given.iter().max().copied().unwrap_or(TaskId::NONE).next().unwrap();
                    given.insert(next);
                    write(&team, &format!("{next}.json"), format!("{{{}}}", EXTRA.replace('?', &next.to_string())));
                }
            }
            for (id, task) in tasks.list().unwrap().tasks {
                if task.raw().contains("zz") {
                    let kept = EXTRA.replace('?', &id.to_string());
                    prop_assert!(task.raw().contains(&kept), "{}", task.raw());
                }
            }
        }
        prop_assert!(litter(&team).is_empty());
    }
}
