//! Members that hold a claim and fall silent, by the real rules and the real binary.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use atm_office::Office;
use atm_office::chores::health::Step;
use atm_office::clock::Clock;
use atm_office::protocol::report::Alive;
use atm_office::tasks::{TaskFilter, TaskPlan};
use atm_wire::Stamp;
use serde_json::{Value, json};

use super::{dev, name};
use crate::scene::{Started, World};

/// A clock that a test moves.
#[derive(Debug, Clone)]
struct Moved(Arc<AtomicI64>);

impl Clock for Moved {
    fn now(&self) -> Stamp {
        Stamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A team whose members were started long ago.
fn old_team() -> World {
    let world = World::with_team();
    let file = world.root().join("teams/dev/config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for member in config["members"].as_array_mut().unwrap() {
        (member["spawnedAt"], member["joinedAt"]) = (json!("2020-01-01T00:00:00Z"), Value::Null);
    }
    fs::write(file, config.to_string()).unwrap();
    world
}

/// An office whose clock stands so many seconds before now, and the clock.
fn office(world: &World, seconds_ago: i64) -> (Office, Moved) {
    let now = world.office().now().as_millis();
    let clock = Moved(Arc::new(AtomicI64::new(now - seconds_ago * 1000)));
    (world.office().with_clock(clock.clone()), clock)
}

impl Moved {
    fn forward(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

/// Gives bob a task and a claim of five minutes on it.
fn claims(office: &Office) -> String {
    let tasks = office.tasks(&dev()).unwrap();
    let plan =
        TaskPlan { subject: "dig".to_owned(), description: "a hole".to_owned(), ..TaskPlan::default() };
    let made = tasks.create(&name("team-lead"), &plan).unwrap();
    tasks.claim(&name("bob"), made.task.id, Duration::from_secs(300)).unwrap();
    made.task.id.to_string()
}

fn steps(office: &Office) -> Vec<Step> {
    office.sweep(&dev(), false).unwrap().iter().map(|swept| swept.step).collect()
}

fn of_type(world: &World, who: &str, kind: &str) -> Vec<Value> {
    world.payloads(who).into_iter().filter(|payload| payload["type"] == kind).collect()
}

#[test]
fn days_of_work_with_heartbeats_and_then_silence() {
    let world = old_team();
    let (office, clock) = office(&world, 5 * 24 * 60 * 60);
    let task = claims(&office);
    for _ in 0..4 * 24 {
        clock.forward(60 * 60 - 240);
        // An hour of silence is longer than the claim; a heartbeat before the sweep renews it.
        office.team(&dev()).unwrap().heartbeat(&name("bob"), &Alive::default()).unwrap();
        clock.forward(240);
        assert_eq!(steps(&office), []);
    }
    assert_eq!(of_type(&world, "bob", "health_check").len(), 0);

    clock.forward(61);
    assert_eq!(office.sweep(&dev(), true).unwrap()[0].step, Step::Check, "told, and not done");
    assert_eq!(of_type(&world, "bob", "health_check").len(), 0);
    assert_eq!(steps(&office), [Step::Check]);
    assert_eq!(steps(&office), [], "once");
    clock.forward(31);
    let swept = office.sweep(&dev(), false).unwrap();
    assert_eq!((swept[0].step, &swept[0].tasks), (Step::Stall, &vec![task.clone()]));
    assert_eq!(steps(&office), [], "once");
    let alert = json!({"type": "stall_alert", "stalled_agent": "bob", "released_tasks": [task]});
    assert_eq!(of_type(&world, "alice", "stall_alert"), [alert]);
    let freed = &office.tasks(&dev()).unwrap().list(&TaskFilter::default()).unwrap().tasks[0];
    assert_eq!(freed.owner, None);
    assert_eq!(office.presence(&dev(), &name("bob")).unwrap().judgement.state.as_str(), "stalled");

    office.team(&dev()).unwrap().heartbeat(&name("bob"), &Alive::default()).unwrap();
    assert_eq!(steps(&office), [Step::Recover]);
    assert_eq!(office.presence(&dev(), &name("bob")).unwrap().judgement.state.as_str(), "online");
    claims(&office);
    clock.forward(301);
    assert_eq!(steps(&office), [Step::Check]);
    clock.forward(31);
    assert_eq!(steps(&office), [Step::Unresponsive], "for the second time");
}

#[test]
fn a_heartbeat_that_answers_ends_it() {
    let world = old_team();
    let (office, clock) = office(&world, 24 * 60 * 60);
    claims(&office);
    clock.forward(301);
    assert_eq!(steps(&office), [Step::Check]);
    clock.forward(20);
    let check = of_type(&world, "bob", "health_check")[0]["request_id"].clone();
    office.team(&dev()).unwrap().heartbeat(&name("bob"), &Alive::default()).unwrap();
    assert_eq!(of_type(&world, "team-lead", "heartbeat")[0]["request_id"], check, "the lead has its answer");
    clock.forward(20);
    assert_eq!(steps(&office), [Step::Recover]);
    clock.forward(100);
    assert_eq!(steps(&office), [], "the claim is renewed");
}

/// Lets six sweep at once; gives the steps that they took together.
fn six_sweep(world: &World) -> Vec<String> {
    let started: Vec<_> = (0..6).map(|_| world.start(&["health", "--sweep", "--json"])).collect();
    let mut steps = Vec::new();
    for answer in started.into_iter().map(Started::finish) {
        assert_eq!(answer.code, Some(0), "{answer:?}");
        let swept: Vec<Value> = serde_json::from_str(&answer.stdout).unwrap();
        steps.extend(swept.iter().map(|swept| swept["step"].as_str().unwrap().to_owned()));
    }
    steps
}

#[test]
fn of_many_sweepers_at_once_one_acts() {
    let world = old_team();
    claims(&office(&world, 400).0);
    assert_eq!(six_sweep(&world), ["check"]);
    assert_eq!(of_type(&world, "bob", "health_check").len(), 1);

    let world = old_team();
    let (office, clock) = office(&world, 400);
    claims(&office);
    clock.forward(301);
    assert_eq!(steps(&office), [Step::Check]);
    assert_eq!(six_sweep(&world), ["stall"]);
    assert_eq!(of_type(&world, "alice", "stall_alert").len(), 1);
    let lead = world.json(&["status", "team-lead"]).to_string();
    assert!(!lead.contains("sent mail"), "a sweep in its name is no sign of the lead: {lead}");
}

#[test]
fn a_sweep_that_died_is_finished_by_the_next_once() {
    let world = old_team();
    claims(&office(&world, 400).0);
    for point in ["accepted", "renamed"] {
        let died = world.command(&["health", "--sweep"]).env("ATM_TEST_DIE_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "it was killed at {point}");
    }
    let swept = world.json(&["health", "--sweep"]);
    assert_eq!(swept[0]["step"], "check", "{swept}");
    assert_eq!(of_type(&world, "bob", "health_check").len(), 1, "once, whichever process wrote it");
    assert_eq!(world.json(&["health", "--sweep"]), json!([]));
}

#[test]
fn only_the_lead_sweeps_by_name() {
    let world = World::with_team();
    assert_eq!(world.atm(&["--as", "alice", "health", "--sweep"]).code, Some(4));
    assert_eq!(world.ok(&["--as", "team-lead", "health", "--sweep"]), "nothing is due\n");
    assert_eq!(world.ok(&["health", "--sweep", "--dry-run"]), "nothing is due\n");
    assert_eq!(world.atm(&["health", "alice", "--dry-run"]).code, Some(2), "only with --sweep");
    assert_eq!(world.atm(&["health"]).code, Some(2));
}

#[test]
fn who_works_and_who_is_idle_stands_in_its_report() {
    let world = World::with_team();
    let report = || {
        let file = world.root().join("tasks/dev/bob/task-status.json");
        serde_json::from_slice::<Value>(&fs::read(file).unwrap()).unwrap()["status"].clone()
    };
    world.ok(&["--as", "bob", "heartbeat"]);
    assert_eq!(report(), "running");
    world.ok(&["--as", "bob", "idle"]);
    assert_eq!(report(), "idle");
}
