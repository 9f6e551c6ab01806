//! The commands, as people and scripts call them.

use std::process::Stdio;

use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, pair};

#[test]
fn init_is_idempotent_and_doctor_says_what_is_missing() {
    let server = Server::new();
    let machine = Machine::new("laptop", &server.url(), &[]);
    let nats = ["--machine", "laptop", "--nats", &server.url()];
    let doctor = machine.run(&[&["doctor"], &nats[..]].concat());
    assert_eq!(doctor.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("atm bridge init"));
    let first = machine.json(&[&["init"], &nats[..]].concat());
    assert!(first["made"].as_array().unwrap().iter().all(|made| made["new"] == true), "{first}");
    let second = machine.json(&[&["init"], &nats[..]].concat());
    assert!(second["made"].as_array().unwrap().iter().all(|made| made["new"] == false), "{second}");
    let doctor = machine.json(&[&["doctor"], &nats[..]].concat());
    assert_eq!(doctor["healthy"], true, "{doctor}");
}

#[test]
fn key_prints_one_line_that_trust_takes() {
    let machine = Machine::new("laptop", "nats://127.0.0.1:1", &[]);
    let key = machine.run(&["key", "--machine", "laptop"]);
    let line = String::from_utf8(key.stdout).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words.len(), words[0], line.lines().count()), (2, "laptop", 1));
    let other = Machine::new("hub", "nats://127.0.0.1:1", &[]);
    assert_eq!(other.run(&["trust", words[0], words[1], "--as-lead"]).status.code(), Some(0));
    let machines = other.json(&["machines"]);
    assert_eq!((&machines[0]["machine"], &machines[0]["asLead"]), (&"laptop".into(), &true.into()));
    // Another key does not take its place.
    let forged = other.key();
    assert_eq!(other.run(&["trust", "laptop", &forged]).status.code(), Some(4));
    assert_eq!(other.run(&["trust", "laptop", "nonsense"]).status.code(), Some(2));
    assert_eq!(other.run(&["trust", "--remove", "laptop"]).status.code(), Some(0));
    assert_eq!(other.run(&["trust", "--remove", "laptop"]).status.code(), Some(3));
}

#[test]
fn status_tells_of_the_running_bridge_and_of_one_that_ended() {
    let server = Server::new();
    let (mut laptop, _hub) = pair(&server.url(), &server.url());
    wait_until("hub is present", || laptop.status()["machines"]["hub"]["present"] == true);
    let status = laptop.status();
    assert_eq!((&status["running"], &status["connected"]), (&true.into(), &true.into()));
    assert_eq!(laptop.json(&["machines"])[0]["state"], "present");
    // One bridge at a time.
    let second =
        laptop.run(&["run", "--machine", "laptop", "--nats", &server.url(), "--team", "demo", "--json"]);
    assert_eq!(second.status.code(), Some(5));
    laptop.kill();
    wait_until("status says that none runs", || laptop.status()["running"] == false);
}

#[test]
fn a_supervised_bridge_ends_when_its_supervisor_is_killed() {
    let machine = Machine::new("laptop", "nats://127.0.0.1:1", &["ann"]);
    let run =
        ["run", "--supervised", "--machine", "laptop", "--nats", "nats://127.0.0.1:1", "--team", "demo"];
    let mut bridge = machine.command(&run).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("it runs", || machine.office.machines().is_served());
    assert!(bridge.try_wait().unwrap().is_none());
    drop(bridge.stdin.take());
    wait_until("it has ended", || bridge.try_wait().unwrap().is_some());
    assert!(bridge.wait().unwrap().success());
    assert!(!machine.office.machines().is_served());
}

#[test]
fn what_is_missing_is_said_before_anything_starts() {
    let machine = Machine::new("laptop", "nats://127.0.0.1:1", &[]);
    for (words, said) in [
        (&["run", "--team", "demo"][..], "no server is named"),
        (&["run", "--nats", "nats://127.0.0.1:1"], "no team is named"),
        (&["run", "--nats", "nats://127.0.0.1:1", "--team", "demo", "--machine", "A B"], "machine name"),
        (&["doctor", "--nats", "nats://127.0.0.1:1"], "no connection"),
    ] {
        let output = machine.run(words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(said), "{words:?}: {text}");
    }
}
