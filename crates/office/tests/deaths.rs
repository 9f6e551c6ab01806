//! Members whose clients were killed, by what is left of them: with a machine that is a test double.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use atm_office::Office;
use atm_office::clock::FixedClock;
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::people::members::{MemberView, Presence};
use atm_office::people::probe::{Agent, Nameless, ProcessProbe};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::{MemberName, Stamp};
use serde_json::{Value, json};

const BOB: (u64, &str) = (4242, "bob@demo");

/// A machine on which these processes run.
#[derive(Debug, Clone, Default)]
struct Machine {
    agents: Vec<(u64, &'static str)>,
    /// The tree that they work with, if that can be seen.
    tree: Option<PathBuf>,
    nameless: Vec<Nameless>,
    others: Vec<u64>,
}

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        let agents = self.agents.iter().map(|(pid, _)| *pid);
        let mut all = agents.chain(self.nameless.iter().map(|client| client.pid)).chain(self.others.clone());
        all.any(|running| running == pid).then(|| "322905".to_owned())
    }

    fn pid_space(&self) -> String {
        "test".to_owned()
    }

    fn agents(&self) -> Vec<Agent> {
        let root = || self.tree.clone();
        let agent = |(pid, id): &(u64, &str)| Agent { id: (*id).to_owned(), pid: *pid, root: root() };
        self.agents.iter().map(agent).collect()
    }

    fn nameless(&self) -> Vec<Nameless> {
        self.nameless.clone()
    }
}

struct World {
    team: TestTeam,
    office: Office,
}

const START: i64 = 1_794_768_000_000;

impl World {
    fn new(config: &Value) -> Self {
        let team = TestEnv::new().team("demo", Layout::Array, &["team-lead", "bob"]);
        fs::write(team.config_file(), config.to_string()).unwrap();
        let office = Office::new(team.env().store_root(), team.env().store_state())
            .with_clock(FixedClock(Stamp::from_millis(START)));
        Self { team, office }
    }

    fn on(&self, machine: Machine) -> Self {
        Self { team: self.team.clone(), office: self.office.clone().with_probe(machine) }
    }

    fn member(&self, name: &str) -> MemberView {
        let members = self.office.members(self.team.name()).unwrap();
        members.into_iter().find(|member| member.name == name).unwrap()
    }

    fn state(&self, name: &str) -> Presence {
        self.member(name).state
    }

    fn send(&self, to: &str, text: &str) -> Sent {
        let letter = Letter::new(to.parse().unwrap(), text);
        let user = MemberName::parse("user").unwrap();
        self.office.send(self.team.name(), &user, &letter, SendOptions::default()).unwrap()
    }

    /// The conversation of bob's client, which went on `minutes` ago.
    fn write_conversation(&self, version: &str, minutes: u64) {
        let folder = self.team.env().root().join("projects/-p");
        fs::create_dir_all(&folder).unwrap();
        let cwd = self.cwd();
        let entry = json!({"type": "user", "teamName": "demo", "agentName": "bob", "version": version, "cwd": cwd,
            "message": {"role": "user", "content": "hello"}, "timestamp": "2026-11-15T17:00:00.000Z"});
        let path = folder.join("5e55.jsonl");
        fs::write(&path, format!("{entry}\n")).unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(START.unsigned_abs());
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(at - Duration::from_secs(minutes * 60)).unwrap();
    }

    fn cwd(&self) -> PathBuf {
        self.team.env().root().join("work")
    }

    /// An old client in bob's folder.
    fn old_client(&self) -> Nameless {
        let root = Some(self.team.env().root().clone());
        Nameless { pid: 4242, root, cwd: Some(self.cwd()), pane: None }
    }

    fn pending(&self) -> Vec<String> {
        let pending = self.office.pending(self.team.name()).unwrap();
        serde_json::to_value(pending)
            .unwrap()
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry["id"].as_str()?.to_owned()))
            .collect()
    }
}

fn separate(is_active: bool) -> Value {
    json!({"name": "demo", "leadAgentId": "team-lead@demo", "members": [
        {"name": "team-lead", "agentType": "team-lead"},
        {"name": "bob", "agentId": "bob@demo", "tmuxPaneId": "", "backendType": "in-process", "isActive": is_active},
    ]})
}

#[test]
fn a_member_that_was_killed_in_a_turn_is_offline_and_what_it_held_is_pending() {
    let world = World::new(&separate(true));
    world.write_conversation("2.1.325", 0);
    let running = world.on(Machine { agents: vec![BOB], ..Machine::default() });
    let sent = running.send("bob", "mend the build");
    fs::write(world.team.inbox("bob"), "[]").unwrap();
    assert_eq!(running.state("bob"), Presence::Online);
    assert!(!running.pending().contains(&sent.id), "its client holds it");
    let killed = world.on(Machine::default());
    let bob = killed.member("bob");
    assert_eq!(bob.state, Presence::Offline, "{:?}", bob.evidence);
    assert!(killed.pending().contains(&sent.id), "{:?}", killed.pending());
}

#[test]
fn a_member_of_the_same_name_in_another_tree_is_another() {
    let world = World::new(&separate(true));
    world.write_conversation("2.1.325", 0);
    let of = |tree| world.on(Machine { agents: vec![BOB], tree: Some(tree), ..Machine::default() });
    let other = TestEnv::new();
    assert_eq!(of(other.root().clone()).state("bob"), Presence::Offline);
    assert_eq!(of(world.team.env().root().clone()).state("bob"), Presence::Online);
}

#[test]
fn a_member_without_a_conversation_is_known_by_the_process_that_was_seen() {
    let world = World::new(&separate(true));
    assert_eq!(world.on(Machine::default()).state("bob"), Presence::Online, "nothing says that it ever ran");
    assert_eq!(world.on(Machine { agents: vec![BOB], ..Machine::default() }).state("bob"), Presence::Online);
    assert_eq!(world.on(Machine::default()).state("bob"), Presence::Offline);
    // It was started again.
    let again = Machine { agents: vec![(4300, "bob@demo")], ..Machine::default() };
    assert_eq!(world.on(again).state("bob"), Presence::Online);
}

#[test]
fn an_old_client_is_idle_between_turns_and_offline_when_no_client_runs() {
    let world = World::new(&separate(false));
    world.write_conversation("2.1.77", 20);
    let running = world.on(Machine { nameless: vec![world.old_client()], ..Machine::default() });
    assert_eq!(running.state("bob"), Presence::Idle, "{:?}", running.member("bob").evidence);
    let sent = running.send("bob", "mend the build");
    assert_eq!((sent.status.as_str(), sent.warnings.len()), ("delivered", 0));
    assert_eq!(world.on(Machine::default()).state("bob"), Presence::Offline);
    // A client elsewhere may be it or not: what it wrote decides.
    let elsewhere = Nameless { cwd: Some("/".into()), ..world.old_client() };
    let elsewhere = world.on(Machine { nameless: vec![elsewhere], ..Machine::default() });
    assert_eq!(elsewhere.state("bob"), Presence::Offline);
    world.write_conversation("2.1.77", 1);
    assert_eq!(elsewhere.state("bob"), Presence::Idle);
}

#[test]
fn an_old_client_that_was_killed_in_a_turn_is_offline() {
    let world = World::new(&separate(true));
    world.write_conversation("2.1.77", 0);
    let running = world.on(Machine { nameless: vec![world.old_client()], ..Machine::default() });
    assert_eq!(running.state("bob"), Presence::Online);
    assert_eq!(world.on(Machine::default()).state("bob"), Presence::Offline);
    // The lead of an old client is listed, and is not bob.
    let sessions = world.team.env().root().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    fs::write(sessions.join("4242.json"), r#"{"pid":4242,"sessionId":"1ead"}"#).unwrap();
    assert_eq!(running.state("bob"), Presence::Offline);
}

#[test]
fn a_lead_that_was_killed_is_offline_with_those_that_live_in_it() {
    let members = json!([
        {"name": "team-lead", "agentType": "team-lead", "tmuxPaneId": "", "joinedAt": START},
        {"name": "bob", "tmuxPaneId": "in-process", "backendType": "in-process", "joinedAt": START},
    ]);
    for entry in [
        r#"{"pid":7,"sessionId":"0b7e","cwd":"/p","startedAt":1}"#,
        r#"{"pid":7,"sessionId":"0b7e","cwd":"/p","startedAt":1,"procStart":"1"}"#,
    ] {
        let world = World::new(
            &json!({"name": "demo", "leadAgentId": "team-lead@demo", "leadSessionId": "0b7e", "members": members}),
        );
        let sessions = world.team.env().root().join("sessions");
        fs::create_dir_all(&sessions).unwrap();
        fs::write(sessions.join("7.json"), entry).unwrap();
        let killed = world.on(Machine::default());
        for name in ["team-lead", "bob"] {
            assert_eq!(killed.state(name), Presence::Offline, "{name}: {:?}", killed.member(name).evidence);
        }
        // Continued in another process.
        let other = r#"{"pid":8,"sessionId":"0b7e","cwd":"/p","startedAt":2,"procStart":"322905"}"#;
        fs::write(sessions.join("8.json"), other).unwrap();
        let continued = world.on(Machine { others: vec![8], ..Machine::default() });
        assert_eq!(continued.state("team-lead"), Presence::Online, "{entry}");
        assert_eq!(continued.state("bob"), Presence::Online, "{entry}");
    }
}
