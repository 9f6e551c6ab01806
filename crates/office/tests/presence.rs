//! Who is there, by what runs: with a machine that is a test double, and a clock that stands still.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use atm_office::Office;
use atm_office::chores::health::Health;
use atm_office::chores::retry::{Policies, Policy};
use atm_office::clock::FixedClock;
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::people::members::{MemberView, Presence};
use atm_office::people::probe::{Agent, Nameless, ProcessProbe};
use atm_office::protocol::report::{Alive, Idle};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::{MemberName, Stamp};
use serde_json::{Value, json};

/// A machine on which these processes run: number, start, and the member that the command line names. It counts how
/// often all of them were looked at.
#[derive(Debug, Clone, Default)]
struct Machine(Vec<(u64, &'static str, &'static str)>, Arc<AtomicUsize>);

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        self.0.iter().find(|(running, ..)| *running == pid).map(|(_, start, _)| (*start).to_owned())
    }

    fn pid_space(&self) -> String {
        "test".to_owned()
    }

    fn agents(&self) -> Vec<Agent> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let agents = self.0.iter().filter(|(.., id)| !id.is_empty());
        agents.map(|(pid, _, id)| Agent { id: (*id).to_owned(), pid: *pid, root: None }).collect()
    }

    fn nameless(&self) -> Vec<Nameless> {
        Vec::new()
    }
}

struct World {
    team: TestTeam,
    office: Office,
}

const START: i64 = 1_794_768_000_000;

impl World {
    fn new(members: &Value) -> Self {
        let team = TestEnv::new().team("demo", Layout::Array, &["team-lead", "bob"]);
        let config = json!({"name": "demo", "leadAgentId": "team-lead@demo", "leadSessionId": "0b7e", "members": members});
        fs::write(team.config_file(), config.to_string()).unwrap();
        let office = Office::new(team.env().store_root(), team.env().store_state());
        let world = Self { team, office };
        world.at(0, Machine::default())
    }

    /// So many minutes later, on this machine.
    fn at(&self, minutes: i64, machine: Machine) -> Self {
        let clock = FixedClock(Stamp::from_millis(START + minutes * 60_000));
        Self { team: self.team.clone(), office: self.office.clone().with_clock(clock).with_probe(machine) }
    }

    fn member(&self, name: &str) -> MemberView {
        let members = self.office.members(self.team.name()).unwrap();
        members.into_iter().find(|member| member.name == name).unwrap()
    }

    fn send(&self, to: &str, text: &str) -> Sent {
        let letter = Letter::new(to.parse().unwrap(), text);
        self.office.send(self.team.name(), &who("user"), &letter, SendOptions::default()).unwrap()
    }
}

fn who(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}

fn bob_runs() -> Machine {
    machine((4242, "322905", "bob@demo"))
}

fn machine(process: (u64, &'static str, &'static str)) -> Machine {
    Machine(vec![process], Arc::default())
}

/// A separate-process member between two turns, as its client leaves it.
fn between_turns() -> Value {
    json!([
        {"name": "team-lead", "agentType": "team-lead"},
        {"name": "bob", "agentId": "bob@demo", "tmuxPaneId": "%14", "backendType": "tmux", "isActive": false},
    ])
}

#[test]
fn a_member_between_two_turns_is_idle_and_its_mail_is_delivered() {
    let world = World::new(&between_turns()).at(0, bob_runs());
    let bob = world.member("bob");
    assert_eq!((bob.state, bob.activity.as_deref()), (Presence::Idle, Some("idle")), "{:?}", bob.evidence);
    let sent = world.send("bob", "mend the build");
    assert_eq!((sent.status.as_str(), sent.stage.as_str()), ("delivered", "written"));
    assert!(sent.warnings.is_empty(), "{:?}", sent.warnings);
    assert_eq!(world.team.texts("bob"), ["mend the build"], "it is not tagged");

    let killed = world.at(1, Machine::default());
    assert_eq!(killed.member("bob").state, Presence::Offline);
    let sent = killed.send("bob", "and the tests");
    assert_eq!(sent.status.as_str(), "queued");
    assert_eq!(sent.warnings.len(), 1, "{:?}", sent.warnings);
}

#[test]
fn everybody_is_asked_about_once_for_a_broadcast() {
    let members: Vec<Value> =
        (0..3).map(|n| json!({"name": format!("member-{n}"), "isActive": false})).collect();
    let one = machine((7, "1", "member-1@demo"));
    let world = World::new(&json!(members));
    let world = world.at(0, one.clone());
    let letter = Letter::new("all".parse().unwrap(), "hello");
    let sent = world.office.broadcast(world.team.name(), &who("user"), &letter, None, SendOptions::default());
    let statuses: Vec<&str> = sent.unwrap().into_iter().map(|sent| sent.unwrap().status.as_str()).collect();
    assert_eq!(statuses, ["queued", "delivered", "queued"]);
    assert_eq!(one.1.load(Ordering::Relaxed), 1, "processes are looked at once");
}

#[test]
fn a_command_looks_at_the_processes_once_however_many_members_it_judges() {
    let members: Vec<Value> = (0..3)
        .map(|n| {
            json!({"name": format!("member-{n}"), "agentId": format!("member-{n}@demo"), "isActive": false,
            "backendType": "tmux", "tmuxPaneId": format!("%{n}")})
        })
        .collect();
    let one = machine((7, "1", "member-1@demo"));
    let world = World::new(&json!(members)).at(0, one.clone());
    world.send("member-2", "hello");
    let (office, team) = (&world.office, world.team.name());
    let commands: [(&str, &dyn Fn()); 4] = [
        ("members", &|| drop(office.members(team).unwrap())),
        ("status", &|| drop(office.picture(team, &who("user")).unwrap())),
        ("the daemon's round", &|| drop(office.team(team).unwrap().presence_round())),
        ("tend", &|| drop(office.tend(team, &[&Health], false).unwrap())),
    ];
    for (command, run) in commands {
        let before = one.1.load(Ordering::Relaxed);
        run();
        assert_eq!(one.1.load(Ordering::Relaxed) - before, 1, "{command}");
    }
}

#[test]
fn processes_are_looked_at_only_where_the_configuration_does_not_say_enough() {
    let members =
        json!([{"name": "ann"}, {"name": "bob", "isActive": true}, {"name": "eve", "isActive": false}]);
    let machine = bob_runs();
    let world = World::new(&members).at(0, machine.clone());
    for to in ["ann", "bob", "user"] {
        world.send(to, "hello");
        assert_eq!(machine.1.load(Ordering::Relaxed), 0, "{to}");
    }
    world.send("eve", "hello");
    assert_eq!(machine.1.load(Ordering::Relaxed), 1);
}

#[test]
fn a_name_that_is_no_member_and_runs_gets_its_mail_delivered() {
    let world = World::new(&json!([{"name": "team-lead"}])).at(0, bob_runs());
    world.team.write_inbox("bob", "[]");
    let sent = world.send("bob", "hello");
    assert_eq!(sent.status.as_str(), "delivered");
    assert!(sent.warnings[0].contains("not a member"), "{:?}", sent.warnings);
}

#[test]
fn retry_serves_a_member_between_two_turns() {
    let world = World::new(&between_turns());
    world.send("bob", "mend the build");
    let policy = Policy { retry_after: Vec::new(), escalate_to: vec!["lead".to_owned()], expire_after: None };
    let policies = Policies { high: policy.clone(), normal: policy.clone(), low: policy };
    let off = world.at(60, Machine::default());
    assert!(off.office.retry(off.team.name(), &policies, false).unwrap().is_empty(), "it is off");
    let back = world.at(60, bob_runs());
    assert_eq!(back.office.retry(back.team.name(), &policies, false).unwrap().len(), 1);
    assert!(back.team.texts("team-lead")[0].contains("mend the build"));
}

#[test]
fn a_lead_is_known_by_its_session_and_what_it_does_is_told() {
    let lead = json!([{"name": "team-lead", "isActive": false}]);
    let world = World::new(&lead).at(0, machine((4242, "322905", "")));
    let sessions = world.team.env().root().join("sessions");
    fs::create_dir(&sessions).unwrap();
    let register = |entry: Value| fs::write(sessions.join("4242.json"), entry.to_string()).unwrap();
    let state = || {
        let lead = world.member("team-lead");
        (lead.state, lead.activity)
    };
    assert_eq!(state(), (Presence::Offline, None));
    register(
        json!({"sessionId": "0b7e", "procStart": "322905", "status": "waiting", "waitingFor": "permission"}),
    );
    assert_eq!(state(), (Presence::Online, Some("waiting for permission".to_owned())));
    register(json!({"sessionId": "0b7e", "procStart": "322905", "status": "idle"}));
    assert_eq!(state(), (Presence::Idle, Some("idle".to_owned())));
    assert_eq!(world.send("team-lead", "done").status.as_str(), "delivered");
    register(json!({"sessionId": "0b7e", "procStart": "1", "status": "busy"}));
    assert_eq!(state(), (Presence::Offline, None), "the number is another's");
    register(json!({"sessionId": "9f", "procStart": "322905", "status": "busy"}));
    assert_eq!(state(), (Presence::Offline, None), "a session of somebody else");
}

#[test]
fn a_first_look_at_an_existing_team_makes_nobody_online() {
    let world = World::new(&json!([
        {"name": "team-lead"},
        {"name": "alice"},
        {"name": "bob", "isActive": true, "joinedAt": START - 9 * 24 * 3_600_000},
        {"name": "carol", "isActive": false},
    ]));
    let old = "2026-05-04T08:00:00.000Z";
    for name in ["alice", "bob", "carol"] {
        let entry = json!([{"from": "team-lead", "text": "hello", "timestamp": old, "read": true}]);
        world.team.write_inbox(name, entry.to_string());
    }
    let state = |name: &str| world.office.presence(world.team.name(), &who(name)).unwrap().judgement;
    assert_eq!(state("alice").state, Presence::Unknown, "{:?}", state("alice"));
    assert_eq!(state("carol").state, Presence::Offline);
    assert_eq!(state("team-lead").state, Presence::Unknown, "what it said is old");
    let bob = state("bob");
    assert_eq!(bob.state, Presence::Online, "what the configuration claims is kept");
    assert_eq!(bob.why(), "isActive is true in config.json; never heard from");
    let shown = world.member("bob");
    assert_eq!((shown.last_seen, shown.why.as_str()), (None, bob.why().as_str()));
    assert_eq!(world.member("alice").last_seen, None, "when it read that is not known");

    // What is taken from now on has its time.
    let later = world.at(5, Machine::default());
    later.send("alice", "look again");
    let reading = later.office.begin_read(later.team.name(), &who("alice"), usize::MAX).unwrap();
    reading.confirm().unwrap();
    assert_eq!(later.member("alice").state, Presence::Online);
    assert_eq!(later.office.now().since(later.member("alice").last_seen.unwrap()), Duration::ZERO);
}

#[test]
fn a_list_of_all_says_the_same_as_a_question_about_one() {
    let world = World::new(&json!([
        {"name": "team-lead"},
        {"name": "alice", "isActive": true},
        {"name": "bob", "isActive": true},
        {"name": "carol", "isActive": true},
    ]));
    let (office, team) = (&world.office, world.team.name());
    world.send("alice", "hello");
    office.begin_read(team, &who("alice"), usize::MAX).unwrap().confirm().unwrap();
    office.team(team).unwrap().idle(&who("alice"), &Idle::default()).unwrap();
    office.team(team).unwrap().heartbeat(&who("carol"), &Alive::default()).unwrap();
    office.team(team).unwrap().ask_health(&who("team-lead"), &who("bob")).unwrap();
    let later = world.at(2, Machine::default());
    let states = [
        ("team-lead", Presence::Unknown),
        ("alice", Presence::Idle),
        ("bob", Presence::Stalled),
        ("carol", Presence::Online),
    ];
    for (name, state) in states {
        let one = later.office.presence(team, &who(name)).unwrap().judgement;
        let listed = later.member(name);
        assert_eq!((one.state, listed.state), (state, state), "{name}: {one:?}");
        let evidence: Vec<String> = one.evidence.into_iter().map(|trace| trace.what).collect();
        assert_eq!(listed.evidence, evidence, "{name}");
    }
}
