//! Machines: each a root, a state and a bridge of its own.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use atm_office::Office;
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::{Root, State};
use atm_support::{TestEnv, wait_until};
use atm_wire::{MemberName, TeamName};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) const TEAM: &str = "demo";

pub(crate) fn team() -> TeamName {
    TEAM.parse().unwrap()
}

pub(crate) fn name(name: &str) -> MemberName {
    name.parse().unwrap()
}

/// One machine with its part of the team, and its bridge if one runs.
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) office: Office,
    env: TestEnv,
    bridge: Option<Child>,
    url: String,
    /// How the server lets this machine in.
    pub(crate) access: Vec<String>,
    /// Teams that it shares besides.
    pub(crate) more_teams: Vec<&'static str>,
}

impl Machine {
    pub(crate) fn new(machine: &str, url: &str, members: &[&str]) -> Self {
        let env = TestEnv::new();
        // No send waits for the other machine: the tests do.
        let office =
            Office::new(Root::new(env.root()), State::new(env.state())).with_machine_patience(Duration::ZERO);
        office.create_team(&TeamPlan::new(TEAM, "over machines")).unwrap();
        for member in members {
            office.add_member(&team(), &MemberPlan::new(member)).unwrap();
        }
        let (name, url, access, more_teams) = (machine.to_owned(), url.to_owned(), Vec::new(), Vec::new());
        Self { name, office, env, bridge: None, url, access, more_teams }
    }

    pub(crate) fn env(&self) -> &TestEnv {
        &self.env
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.env.atm(env!("CARGO_BIN_EXE_atm-bridge"));
        command.args(words);
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// The JSON that a command answers with.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn key(&self) -> String {
        let key = self.json(&["key", "--machine", &self.name]);
        key["key"].as_str().unwrap().to_owned()
    }

    pub(crate) fn trust(&self, other: &Self, more: &[&str]) {
        let (name, key) = (other.name.clone(), other.key());
        self.json(&[&["trust", &name, &key], more].concat());
    }

    /// A command with what it takes to reach the server.
    pub(crate) fn at_server<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let mut words = words.to_vec();
        words.extend(["--machine", &self.name, "--nats", &self.url]);
        words.extend(self.access.iter().map(String::as_str));
        words
    }

    pub(crate) fn start(&mut self) {
        assert!(self.bridge.is_none());
        let mut command = self.command(&self.at_server(&["run"]));
        // One that cannot be read is to come first.
        for team in self.more_teams.iter().chain(&[TEAM]) {
            command.args(["--team", team]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.bridge = Some(command.spawn().unwrap());
    }

    /// Without any time to put things in order.
    pub(crate) fn kill(&mut self) {
        if let Some(mut bridge) = self.bridge.take() {
            bridge.kill().unwrap();
            bridge.wait().unwrap();
        }
    }

    /// Tells its bridge to end; says how long that took.
    pub(crate) fn terminate(&mut self) -> Duration {
        let mut bridge = self.bridge.take().unwrap();
        let told = Instant::now();
        kill_process(Pid::from_child(&bridge), Signal::TERM).unwrap();
        assert!(bridge.wait().unwrap().success());
        told.elapsed()
    }

    pub(crate) fn send(&self, from: &str, to: &str, text: &str) -> Sent {
        let letter = Letter::new(to.parse().unwrap(), text);
        self.office.send(&team(), &name(from), &letter, SendOptions::default()).unwrap()
    }

    /// The texts in a member's inbox file, in their order.
    pub(crate) fn texts(&self, member: &str) -> Vec<String> {
        let path = self.env.root().join("teams").join(TEAM).join("inboxes").join(format!("{member}.json"));
        let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
        let entries: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
        entries.iter().map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn stage(&self, id: &str) -> String {
        self.office.track(Some(&team()), id).unwrap().stage.as_str().to_owned()
    }

    pub(crate) fn status(&self) -> Value {
        self.json(&["status"])
    }

    /// Whether a member is in the configuration here.
    pub(crate) fn knows(&self, member: &str) -> bool {
        let path = self.env.root().join("teams").join(TEAM).join("config.json");
        let config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        config["members"].as_array().unwrap().iter().any(|entry| entry["name"] == member)
    }

    /// What the bridge that runs now says of itself; nothing while it has said nothing yet.
    pub(crate) fn own_status(&self) -> Value {
        let own = self.bridge.as_ref().map(Child::id);
        Some(self.status()).filter(|status| status["pid"].as_u64() == own.map(u64::from)).unwrap_or_default()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Where the bridge remembers a member to be at home, and since which epoch.
    pub(crate) fn home_of(&self, member: &str) -> (String, u64) {
        let Ok(bytes) = std::fs::read(self.env.state().join("bridge/memory.json")) else {
            return Default::default();
        };
        let memory: Value = serde_json::from_slice(&bytes).unwrap();
        let homes = memory["homes"].as_array().cloned().unwrap_or_default();
        let home = homes.iter().find(|home| home[0]["name"] == member);
        let residence = home.map(|home| home[1]["residence"].clone()).unwrap_or_default();
        (
            residence["machine"].as_str().unwrap_or_default().to_owned(),
            residence["epoch"].as_u64().unwrap_or(0),
        )
    }

    pub(crate) fn wait_for_home(&self, member: &str, machine: &str, epoch: u64) {
        let expected = (machine.to_owned(), epoch);
        wait_until(&format!("{} knows the home of {member}", self.name), || self.home_of(member) == expected);
    }

    /// The machine that a member's entry here names; empty if it has no such entry.
    pub(crate) fn machine_of(&self, member: &str) -> String {
        let members = self.office.members(&team()).unwrap();
        let found = members.into_iter().find(|view| view.name == member);
        found.and_then(|view| view.machine).unwrap_or_default()
    }

    /// Waits until a member of another machine is in the configuration here.
    pub(crate) fn wait_for_member(&self, member: &str) {
        wait_until(&format!("{} knows {member}", self.name), || self.knows(member));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}

/// These machines trust each other.
pub(crate) fn introduce(machines: &[&Machine]) {
    for one in machines {
        for other in machines.iter().filter(|other| other.name != one.name) {
            one.trust(other, &[]);
        }
    }
}

/// Two machines that know each other's members: ann on laptop, bob on hub. Their bridges run.
pub(crate) fn pair(laptop: &str, hub: &str) -> (Machine, Machine) {
    let mut laptop = Machine::new("laptop", laptop, &["ann"]);
    let mut hub = Machine::new("hub", hub, &["bob"]);
    introduce(&[&laptop, &hub]);
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    hub.wait_for_member("ann");
    (laptop, hub)
}
