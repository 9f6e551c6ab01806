//! A team, with a clock and a machine that are test doubles.

use std::fs;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use atm_daemon::schedule::News;
use atm_office::Office;
use atm_office::clock::Clock;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::probe::{Agent, Nameless, ProcessProbe};
use atm_office::protocol::report::{Alive, Idle};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::{MemberName, Stamp};
use serde_json::json;

use crate::script::{Asked, Dies, Event, LEAD, PEOPLE, SaysAlive, SaysIdle, Session, Starts, Turn, time};

#[derive(Debug, Clone, Default)]
struct Hand(Arc<AtomicI64>);

impl Clock for Hand {
    fn now(&self) -> Stamp {
        Stamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The processes that run, with the members that their command lines name.
#[derive(Debug, Clone, Default)]
struct Machine(Arc<Mutex<Vec<(u64, &'static str)>>>);

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        let all = self.0.lock().unwrap();
        all.iter().any(|(running, _)| *running == pid).then(|| "322905".to_owned())
    }

    fn pid_space(&self) -> String {
        "test".to_owned()
    }

    fn agents(&self) -> Vec<Agent> {
        let all = self.0.lock().unwrap();
        let named = all.iter().filter(|(_, id)| !id.is_empty());
        named.map(|(pid, id)| Agent { id: (*id).to_owned(), pid: *pid, root: None }).collect()
    }

    fn nameless(&self) -> Vec<Nameless> {
        Vec::new()
    }
}

pub(crate) struct Day {
    pub(crate) team: TestTeam,
    pub(crate) office: Office,
    hand: Hand,
    machine: Machine,
    is_bob_active: Option<bool>,
}

impl Day {
    pub(crate) fn new() -> Self {
        let team = TestEnv::new().team("demo", Layout::Array, &PEOPLE);
        let (hand, machine) = (Hand::default(), Machine::default());
        hand.0.store(time("07:00"), Ordering::Relaxed);
        let office = Office::new(team.env().store_root(), team.env().store_state())
            .with_clock(hand.clone())
            .with_probe(machine.clone());
        let day = Self { team, office, hand, machine, is_bob_active: None };
        day.write_config();
        fs::create_dir(day.team.env().root().join("sessions")).unwrap();
        // There is a ledger from the first message on.
        let letter = Letter::new("user".parse().unwrap(), "good morning");
        day.office
            .send(
                day.team.name(),
                &who("team-lead"),
                &letter,
                SendOptions { create: true, ..SendOptions::default() },
            )
            .unwrap();
        day
    }

    fn write_config(&self) {
        let mut bob =
            json!({"name": "bob", "agentId": "bob@demo", "tmuxPaneId": "%14", "backendType": "tmux"});
        if let Some(is_active) = self.is_bob_active {
            bob["isActive"] = json!(is_active);
        }
        let members = json!([{"name": "team-lead", "agentType": "team-lead"}, bob, {"name": "carol"}]);
        let config = json!({"name": "demo", "leadAgentId": "team-lead@demo", "leadSessionId": "0b7e", "members": members});
        fs::write(self.team.config_file(), config.to_string()).unwrap();
    }

    /// Something happens now; what a daemon hears of it.
    pub(crate) fn happen(&mut self, event: Event) -> News {
        let team = || self.office.team(self.team.name()).unwrap();
        match event {
            Session(status) => {
                let entry = json!({"sessionId": "0b7e", "procStart": "322905", "status": status});
                let path = self.team.env().root().join("sessions").join(format!("{LEAD}.json"));
                fs::write(path, entry.to_string()).unwrap();
                return News::People;
            }
            Starts(pid, id) => {
                self.machine.0.lock().unwrap().push((pid, id));
                if !id.is_empty() {
                    self.is_bob_active = Some(true);
                }
            }
            Dies(pid) => {
                self.machine.0.lock().unwrap().retain(|(running, _)| *running != pid);
                return News::People;
            }
            Turn(is_active) => self.is_bob_active = Some(is_active),
            Asked => drop(team().ask_health(&who("team-lead"), &who("bob")).unwrap()),
            SaysAlive => drop(team().heartbeat(&who("bob"), &Alive::default()).unwrap()),
            SaysIdle => drop(team().idle(&who("carol"), &Idle::default()).unwrap()),
        }
        self.write_config();
        News::Files
    }

    pub(crate) fn set(&self, at: i64) {
        self.hand.0.store(at, Ordering::Relaxed);
    }

    /// What is recorded: when, who, which state, and why; the oldest first.
    pub(crate) fn recorded(&self) -> Vec<(i64, String, String, String)> {
        let mut all: Vec<_> = PEOPLE
            .into_iter()
            .flat_map(|name| {
                let past = self.office.past_presence(self.team.name(), &who(name), 1_000).unwrap();
                past.into_iter().rev().map(move |past| {
                    let why = serde_json::to_value(past.evidence).unwrap();
                    (past.at.as_millis(), name.to_owned(), past.state, why.to_string())
                })
            })
            .collect();
        all.sort_by_key(|(at, ..)| *at);
        all
    }
}

fn who(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}
