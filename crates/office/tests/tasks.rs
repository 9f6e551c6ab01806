//! The rules of tasks: who may, who gets it, what waits for what, and who is told.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::thread;
use std::time::Duration;

use atm_office::clock::FixedClock;
use atm_office::tasks::{Completion, TaskChange, TaskFilter, TaskPlan, Tasks, Unblock};
use atm_office::{ErrorKind, Office, OfficeError};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::task::{DEFAULT_LEASE, Status, TaskId};
use atm_wire::{MemberName, Stamp};
use serde_json::Value;

struct World {
    team: TestTeam,
    office: Office,
}

impl World {
    fn new() -> Self {
        let team = TestEnv::new().team("demo", Layout::Array, &["team-lead", "alice", "bob"]);
        let office = Office::new(team.env().store_root(), team.env().store_state());
        Self { office: office.with_clock(FixedClock(at(0))), team }
    }

    /// The same world some seconds later.
    fn later(&self, seconds: i64) -> Self {
        Self { team: self.team.clone(), office: self.office.clone().with_clock(FixedClock(at(seconds))) }
    }

    fn tasks(&self) -> Tasks<'_> {
        self.office.tasks(self.team.name()).unwrap()
    }

    fn make(&self, subject: &str) -> TaskId {
        self.tasks().create(&who("user"), &plan(subject)).unwrap().task.id
    }

    fn text(&self, id: TaskId) -> String {
        fs::read_to_string(self.team.task_folder().join(format!("{id}.json"))).unwrap()
    }

    /// The payloads in an inbox.
    fn payloads(&self, name: &str) -> Vec<Value> {
        if !self.team.inbox(name).exists() {
            return Vec::new();
        }
        self.team.texts(name).iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

fn at(seconds: i64) -> Stamp {
    Stamp::from_millis(1_794_768_000_000 + seconds * 1_000)
}

fn who(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}

fn id(number: u8) -> TaskId {
    TaskId::parse(&number.to_string()).unwrap()
}

fn plan(subject: &str) -> TaskPlan {
    TaskPlan { subject: subject.to_owned(), description: format!("All of {subject}"), ..TaskPlan::default() }
}

fn ids(tasks: &Tasks, filter: &TaskFilter) -> Vec<TaskId> {
    tasks.list(filter).unwrap().tasks.iter().map(|task| task.id).collect()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, OfficeError>, kind: ErrorKind, message: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
}

#[test]
fn who_gets_a_task_is_told_what_it_is() {
    let world = World::new();
    let plan = TaskPlan { owner: Some(who("bob")), ..plan("Build") };
    let made = world.tasks().create(&who("alice"), &plan).unwrap();
    assert!(made.sent.is_some());
    let expected = serde_json::json!({"type": "task_assignment", "taskId": "1", "subject": "Build",
        "description": "All of Build", "assignedBy": "alice", "timestamp": at(0).to_string()});
    assert_eq!(world.payloads("bob"), [expected]);

    let given = world.tasks().assign(&who("bob"), id(1), &who("alice")).unwrap();
    assert_eq!(given.task.owner.as_deref(), Some("alice"));
    assert_eq!(world.payloads("alice")[0]["assignedBy"], "bob");
    world.tasks().assign(&who("bob"), id(1), &who("alice")).unwrap_err();
    let again = world.tasks().assign(&who("alice"), id(1), &who("alice")).unwrap();
    assert!(again.sent.is_none(), "it has it already");
}

#[test]
fn nobody_of_an_unknown_name_gets_a_task() {
    let world = World::new();
    let owner = Some(who("bobb"));
    let error = world.tasks().create(&who("user"), &TaskPlan { owner, ..plan("Build") }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(ids(&world.tasks(), &TaskFilter::default()).is_empty(), "nothing was made");
    world.make("Build");
    let error = world.tasks().claim(&who("bobb"), id(1), DEFAULT_LEASE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_claim_is_written_where_clients_keep_it() {
    let world = World::new();
    world.make("Build");
    world.tasks().claim(&who("bob"), id(1), Duration::from_secs(90)).unwrap();
    assert_eq!(
        world.text(id(1)),
        format!(
            "{{\n  \"id\": \"1\",\n  \"subject\": \"Build\",\n  \"description\": \"All of Build\",\n  \"status\": \"in_progress\",\n  \
             \"blocks\": [],\n  \"blockedBy\": [],\n  \"owner\": \"bob\",\n  \"metadata\": {{\n    \"claimed_at\": \"{}\",\n    \
             \"claim_expiry_seconds\": 90\n  }}\n}}",
            at(0)
        )
    );
}

#[test]
fn a_live_lease_holds_and_an_expired_one_does_not() {
    let world = World::new();
    world.make("Build");
    world.tasks().claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let message = format!("task 1 is held by bob until {}", at(300));
    refused(
        world.later(299).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE),
        ErrorKind::Refused,
        &message,
    );
    assert!(world.tasks().expired(at(299)).unwrap().is_empty());
    assert_eq!(world.tasks().expired(at(300)).unwrap()[0].owner.as_deref(), Some("bob"));

    world.tasks().renew(&who("bob"), id(1), at(200)).unwrap();
    world.later(300).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap_err();
    let taken = world.later(500).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap();
    assert_eq!(taken.task.owner.as_deref(), Some("alice"));
    refused(world.tasks().renew(&who("bob"), id(1), at(501)), ErrorKind::Refused, "task 1 is not bob's");
    world.later(502).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap();
}

#[test]
fn an_owner_that_a_client_set_keeps_its_task() {
    let world = World::new();
    world.make("Build");
    let path = world.team.task_folder().join("1.json");
    fs::write(&path, r#"{"id":"1","subject":"x","status":"in_progress","owner":"bob"}"#).unwrap();
    let error = world.later(1_000_000).tasks().claim(&who("alice"), id(1), DEFAULT_LEASE);
    refused(error, ErrorKind::Refused, "task 1 is held by bob");
}

#[test]
fn one_of_many_gets_it() {
    let world = World::new();
    world.make("Build");
    let got: Vec<String> = thread::scope(|scope| {
        let names = ["team-lead", "alice", "bob", "user"];
        let world = &world;
        let tries: Vec<_> = names
            .map(|name| {
                scope.spawn(move || world.tasks().claim(&who(name), id(1), DEFAULT_LEASE).map(|_| name))
            })
            .into_iter()
            .collect();
        tries.into_iter().filter_map(|one| one.join().unwrap().ok()).map(ToOwned::to_owned).collect()
    });
    assert_eq!(got.len(), 1, "{got:?}");
    assert_eq!(world.tasks().get(id(1)).unwrap().owner.as_deref(), Some(got[0].as_str()));
}

#[test]
fn the_next_task_is_ones_own_then_a_free_one_and_never_a_blocked_one() {
    let world = World::new();
    for subject in ["a", "b", "c", "d"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(1), &[id(4)], None).unwrap();
    tasks.assign(&who("user"), id(3), &who("bob")).unwrap();
    let next = |world: &World, name: &str| world.tasks().claim_next(&who(name), DEFAULT_LEASE);
    assert_eq!(next(&world, "bob").unwrap().task.id, id(3));
    assert_eq!(next(&world, "bob").unwrap().task.id, id(2));
    assert_eq!(next(&world, "alice").unwrap().task.id, id(4));
    refused(next(&world, "alice"), ErrorKind::NotFound, "team demo has no task that can be claimed now");
    assert_eq!(next(&world.later(300), "alice").unwrap().task.id, id(4), "its own, whose lease is over");
    assert_eq!(next(&world.later(300), "alice").unwrap().task.id, id(2), "bob's lease is over");
}

#[test]
fn a_blocked_or_completed_task_is_not_claimed() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(3), &[id(1), id(2)], None).unwrap();
    let claim = || tasks.claim(&who("bob"), id(3), DEFAULT_LEASE);
    refused(claim(), ErrorKind::Refused, "task 3 waits for tasks 1 and 2");
    let done = tasks.complete(&who("user"), id(1), &Completion::default()).unwrap();
    assert!(done.unblocked.is_empty());
    refused(claim(), ErrorKind::Refused, "task 3 waits for task 2");
    let done = tasks.complete(&who("user"), id(2), &Completion::default()).unwrap();
    assert_eq!(done.unblocked, [id(3)]);
    claim().unwrap();
    refused(
        tasks.claim(&who("bob"), id(1), DEFAULT_LEASE),
        ErrorKind::Refused,
        "task 1 is completed already",
    );
    refused(tasks.claim(&who("bob"), id(9), DEFAULT_LEASE), ErrorKind::NotFound, "team demo has no task 9");
}

#[test]
fn only_its_owner_the_lead_or_a_person_decides_about_a_task() {
    let world = World::new();
    let tasks = world.tasks();
    let message =
        |number: u8| format!("alice may not: task {number} is bob's; only bob or the lead may do that");
    for number in 1..=3 {
        world.make("x");
        tasks.claim(&who("bob"), id(number), DEFAULT_LEASE).unwrap();
        let alice = who("alice");
        let change = TaskChange { status: Some(Status::Pending), ..TaskChange::default() };
        let message = message(number);
        refused(tasks.complete(&alice, id(number), &Completion::default()), ErrorKind::Refused, &message);
        refused(tasks.release(&alice, id(number)), ErrorKind::Refused, &message);
        refused(tasks.change(&alice, id(number), &change), ErrorKind::Refused, &message);
        refused(tasks.assign(&alice, id(number), &alice), ErrorKind::Refused, &message);
        refused(tasks.delete(&alice, id(number)), ErrorKind::Refused, &message);
    }
    let described = TaskChange { description: Some("more".into()), ..TaskChange::default() };
    tasks.change(&who("alice"), id(1), &described).unwrap();
    for (number, name) in [(1, "bob"), (2, "team-lead"), (3, "user")] {
        tasks.release(&who(name), id(number)).unwrap();
    }
}

#[test]
fn a_released_task_is_free_and_tells_whose_it_was() {
    let world = World::new();
    world.make("Build");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let task = tasks.release(&who("bob"), id(1)).unwrap().task;
    assert_eq!((task.status, task.owner, task.ready), (Status::Pending, None, true));
    let metadata: Value = serde_json::from_str(task.metadata.unwrap().get()).unwrap();
    assert_eq!(metadata, serde_json::json!({"released_at": at(0).to_string(), "released_from": "bob"}));
    tasks.complete(&who("bob"), id(1), &Completion::default()).unwrap();
    refused(tasks.release(&who("bob"), id(1)), ErrorKind::Refused, "task 1 is completed already");
}

#[test]
fn all_that_a_stalled_member_had_is_released_but_what_is_done() {
    let world = World::new();
    let tasks = world.tasks();
    for number in 1..=4 {
        world.make("x");
        let owner = if number == 4 { "alice" } else { "bob" };
        tasks.claim(&who(owner), id(number), DEFAULT_LEASE).unwrap();
    }
    tasks.complete(&who("bob"), id(2), &Completion::default()).unwrap();
    assert_eq!(tasks.release_all(&who("bob"), at(60)).unwrap(), [id(1), id(3)]);
    assert_eq!(tasks.release_all(&who("bob"), at(60)).unwrap(), []);
    assert_eq!(ids(&tasks, &TaskFilter { owner: Some("alice".into()), ..TaskFilter::default() }), [id(4)]);
}

#[test]
fn a_completed_task_keeps_hours_and_notes_and_the_lead_is_told() {
    let world = World::new();
    world.make("Build");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let how = Completion { hours: Some(1.5), notes: Some("all green".into()), tell: true };
    let done = tasks.complete(&who("bob"), id(1), &how).unwrap();
    let metadata: Value = serde_json::from_str(done.task.metadata.unwrap().get()).unwrap();
    let expected =
        serde_json::json!({"completed_at": at(0).to_string(), "actual_hours": 1.5, "notes": "all green"});
    assert_eq!(metadata, expected);
    let told = serde_json::json!({"type": "task_completion", "taskId": "1", "actualHours": 1.5, "notes": "all green"});
    assert_eq!(world.payloads("team-lead"), [told]);
    refused(tasks.complete(&who("bob"), id(1), &how), ErrorKind::Refused, "task 1 is completed already");
    assert_eq!(world.payloads("team-lead").len(), 1);
}

/// The command told the lead of a completion, and a change of the status to the same did not.
#[test]
fn a_task_that_is_changed_to_completed_is_completed_as_any_other() {
    let world = World::new();
    for subject in ["Build", "Test"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(2), &[id(1)], None).unwrap();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let completed = TaskChange { status: Some(Status::Completed), ..TaskChange::default() };
    let done = tasks.change(&who("bob"), id(1), &completed).unwrap();
    assert_eq!(done.unblocked, [id(2)]);
    let told = serde_json::json!({"type": "task_completion", "taskId": "1"});
    assert_eq!(world.payloads("team-lead"), [told]);
    tasks.change(&who("bob"), id(1), &completed).unwrap();
    assert_eq!(world.payloads("team-lead").len(), 1, "it was completed before");
    tasks.change(&who("team-lead"), id(2), &completed).unwrap();
    assert_eq!(world.payloads("team-lead").len(), 1, "the lead knows what it does");
}

#[test]
fn tasks_never_wait_for_each_other() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    let block = |task, by| tasks.block(&who("user"), id(task), &[id(by)], None);
    block(2, 1).unwrap();
    block(3, 2).unwrap();
    let circle = "tasks would wait for each other: 1 waits for 3 waits for 2 waits for 1";
    refused(block(1, 3), ErrorKind::Refused, circle);
    refused(block(1, 1), ErrorKind::Refused, "tasks would wait for each other: 1 waits for 1");
    refused(block(1, 9), ErrorKind::NotFound, "team demo has no task 9");
    refused(block(9, 1), ErrorKind::NotFound, "team demo has no task 9");
    let between = TaskPlan { blocked_by: vec![id(3)], blocks: vec![id(1)], ..plan("between") };
    let circle =
        "tasks would wait for each other: 1 waits for the new one waits for 3 waits for 2 waits for 1";
    refused(tasks.create(&who("user"), &between), ErrorKind::Refused, circle);

    let between = TaskPlan { blocked_by: vec![id(1)], blocks: vec![id(3)], ..plan("between") };
    let made = tasks.create(&who("user"), &between).unwrap().task;
    assert_eq!((made.blocked_by, made.blocks), (vec![id(1)], vec![id(3)]));
    assert!(world.text(id(1)).contains("\"blocks\": [\n    \"2\",\n    \"4\"\n  ]"), "{}", world.text(id(1)));
    assert_eq!(tasks.get(id(3)).unwrap().waits_for, [id(2), id(4)]);
}

#[test]
fn the_lead_is_told_why_an_owner_cannot_go_on() {
    let world = World::new();
    world.make("a");
    world.make("b");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(2), DEFAULT_LEASE).unwrap();
    let silent = tasks.block(&who("alice"), id(2), &[id(1)], Some("says alice")).unwrap();
    assert!(silent.sent.is_none(), "it is not hers");
    tasks.block(&who("bob"), id(2), &[id(1)], Some("no keys")).unwrap();
    let told = serde_json::json!({"type": "blocking_notification", "taskId": "2", "blockedBy": ["1"], "reason": "no keys"});
    assert_eq!(world.payloads("team-lead"), [told]);

    let refused = tasks.unblock(&who("alice"), id(2), &Unblock::All).unwrap_err();
    assert!(matches!(refused, OfficeError::NotYours { .. }), "{refused}");
    assert_eq!(tasks.get(id(2)).unwrap().waits_for, [id(1)]);
    let free = tasks.unblock(&who("team-lead"), id(2), &Unblock::All).unwrap().task;
    assert!(free.blocked_by.is_empty() && !world.text(id(2)).contains("no keys"));
    assert!(tasks.get(id(1)).unwrap().blocks.is_empty());
}

#[test]
fn a_deleted_task_is_gone_from_the_others_too() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(2), &[id(1)], None).unwrap();
    tasks.block(&who("user"), id(3), &[id(2)], None).unwrap();
    tasks.delete(&who("alice"), id(2)).unwrap();
    for number in [1, 3] {
        assert!(!world.text(id(number)).contains("\"2\""), "{}", world.text(id(number)));
    }
    refused(tasks.delete(&who("alice"), id(2)), ErrorKind::NotFound, "team demo has no task 2");
    assert_eq!(world.make("d"), id(4));
}

#[test]
fn what_is_wanted_is_listed() {
    let world = World::new();
    for subject in ["a", "b", "c"] {
        world.make(subject);
    }
    let tasks = world.tasks();
    tasks.block(&who("user"), id(2), &[id(1)], None).unwrap();
    tasks.claim(&who("bob"), id(3), DEFAULT_LEASE).unwrap();
    let all = TaskFilter::default;
    assert_eq!(ids(&tasks, &TaskFilter { ready: true, ..all() }), [id(1)]);
    assert_eq!(ids(&tasks, &TaskFilter { blocked: Some(true), ..all() }), [id(2)]);
    assert_eq!(ids(&tasks, &TaskFilter { blocked: Some(false), ..all() }), [id(1), id(3)]);
    assert_eq!(ids(&tasks, &TaskFilter { status: Some(Status::InProgress), ..all() }), [id(3)]);
    assert_eq!(ids(&tasks, &TaskFilter { owner: Some("bob".into()), ..all() }), [id(3)]);

    fs::write(world.team.task_folder().join("1.json"), "{").unwrap();
    let listed = tasks.list(&all()).unwrap();
    assert_eq!((listed.tasks.len(), listed.warnings.len()), (2, 1));
    refused_code(tasks.get(id(1)), ErrorKind::BadData);
    refused_code(tasks.claim(&who("bob"), id(1), DEFAULT_LEASE), ErrorKind::BadData);
    refused(tasks.claim(&who("bob"), id(2), DEFAULT_LEASE), ErrorKind::Refused, "task 2 waits for task 1");
}

#[track_caller]
fn refused_code<T: std::fmt::Debug>(result: Result<T, OfficeError>, kind: ErrorKind) {
    assert_eq!(result.unwrap_err().kind(), kind);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = World::new();
    world.make("a");
    let tasks = world.tasks();
    refused(tasks.create(&who("user"), &plan(" \n")), ErrorKind::Invalid, "a task needs a subject");
    let nameless = TaskChange { subject: Some(String::new()), ..TaskChange::default() };
    refused(tasks.change(&who("user"), id(1), &nameless), ErrorKind::Invalid, "a task needs a subject");
    let forged = TaskChange { metadata: vec![("claimed_at".into(), None)], ..TaskChange::default() };
    refused(
        tasks.change(&who("user"), id(1), &forged),
        ErrorKind::Invalid,
        "the metadata key \"claimed_at\" belongs to claims",
    );
}

#[test]
fn a_change_of_owner_or_status_ends_the_lease() {
    let world = World::new();
    world.make("a");
    let tasks = world.tasks();
    tasks.claim(&who("bob"), id(1), DEFAULT_LEASE).unwrap();
    let given = tasks.assign(&who("team-lead"), id(1), &who("alice")).unwrap().task;
    assert_eq!((given.status, given.lease.is_none()), (Status::Pending, true));
    tasks.claim(&who("alice"), id(1), DEFAULT_LEASE).unwrap();
    let set = |status| {
        let change = TaskChange { status: Some(status), ..TaskChange::default() };
        tasks.change(&who("alice"), id(1), &change).unwrap();
    };
    set(Status::Completed);
    assert!(world.text(id(1)).contains("completed_at") && !world.text(id(1)).contains("claimed_at"));
    set(Status::Pending);
    assert!(!world.text(id(1)).contains("completed_at"));
    let nobody = TaskChange { owner: Some(None), ..TaskChange::default() };
    assert!(tasks.change(&who("alice"), id(1), &nobody).unwrap().task.ready);
}

#[test]
fn tasks_of_a_shared_team_are_claimed_by_the_bridge_alone() {
    let world = World::new();
    let shared = world.make("made before");
    let machines = world.office.machines();
    machines.set_shared_teams(&"laptop".parse().unwrap(), &[world.team.name().clone()]).unwrap();
    let before = world.text(shared);
    let claims = [
        world.tasks().claim(&who("bob"), shared, DEFAULT_LEASE).map(drop),
        world.tasks().claim_next(&who("bob"), DEFAULT_LEASE).map(drop),
        world.tasks().renew(&who("bob"), shared, at(1)).map(drop),
    ];
    for claim in claims {
        let error = claim.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Busy, "tasks_out_of_reach"));
        assert!(error.to_string().contains("no bridge runs here: nothing was changed"), "{error}");
    }
    assert_eq!(world.text(shared), before);
    let long = world.tasks().claim(&who("bob"), shared, Duration::from_secs(3600)).unwrap_err();
    assert_eq!((long.kind(), long.code()), (ErrorKind::Invalid, "lease_too_long"));
    // What is made meanwhile has the machine's mark, and is nobody else's.
    let made = world.tasks().create(&who("user"), &plan("made offline")).unwrap().task;
    assert_eq!(made.made_on.as_deref(), Some("laptop"));
    let long = world.tasks().claim(&who("bob"), made.id, Duration::from_secs(3600)).unwrap_err();
    assert_eq!(long.code(), "lease_too_long", "the others would grant it after 30 minutes");
    world.tasks().claim(&who("bob"), made.id, DEFAULT_LEASE).unwrap();
    refused(
        world.tasks().claim(&who("alice"), made.id, DEFAULT_LEASE),
        ErrorKind::Refused,
        "task 2 is held by bob until 2026-11-15T18:45:00.000Z",
    );
    let away = |refused: Result<(), atm_office::OfficeError>| {
        assert_eq!(refused.unwrap_err().code(), "tasks_out_of_reach");
    };
    away(world.tasks().assign(&who("team-lead"), shared, &who("bob")).map(drop));
    away(world.tasks().complete(&who("bob"), shared, &Completion::default()).map(drop));
    away(world.tasks().delete(&who("team-lead"), shared));
    assert_eq!(world.text(shared), before);
    assert!(machines.unshare_tasks(world.team.name()).unwrap());
    world.tasks().claim(&who("bob"), shared, DEFAULT_LEASE).unwrap();
}

#[test]
fn while_no_bridge_runs_own_work_is_completed_and_given_back_as_a_request() {
    let world = World::new();
    let [done, back, other] = ["done", "back", "other"].map(|title| world.make(title));
    for task in [done, back] {
        world.tasks().claim(&who("bob"), task, DEFAULT_LEASE).unwrap();
    }
    world.tasks().claim(&who("alice"), other, DEFAULT_LEASE).unwrap();
    let machines = world.office.machines();
    machines.set_shared_teams(&"laptop".parse().unwrap(), &[world.team.name().clone()]).unwrap();
    // Asked again, because the answer was lost, it is the same answer.
    for _ in 0..2 {
        let completed = world.tasks().complete(&who("bob"), done, &Completion::default()).unwrap();
        let released = world.tasks().release(&who("bob"), back).unwrap();
        assert_eq!((completed.task.status, released.task.owner), (Status::Completed, None));
        for (requested, warnings) in
            [(completed.requested, completed.warnings), (released.requested, released.warnings)]
        {
            assert!(requested);
            assert!(warnings[0].starts_with("this is a request: no bridge runs here, "), "{warnings:?}");
        }
        assert_eq!(completed.unblocked, []);
    }
    refused(
        world.tasks().complete(&who("bob"), other, &Completion::default()),
        ErrorKind::Refused,
        "task 3 is held by alice until 2026-11-15T18:45:00.000Z",
    );
    // Who leaves the team leaves its tasks, also then.
    assert_eq!(world.tasks().release_all(&who("alice"), at(1)).unwrap(), [other]);
}
