//! The commands, as people and scripts call them.

use std::process::Stdio;

use async_nats::jetstream::context::Context;
use async_nats::jetstream::stream::DiscardPolicy;
use atm_bridge::nats::Names;
use atm_bridge::nats::bounds::{self, Part};
use atm_support::wait_until;

use super::server::{Server, free_port};
use super::world::{Machine, pair};

#[test]
fn init_is_idempotent_and_doctor_says_what_is_missing() {
    let server = Server::new();
    let machine = Machine::new("laptop", &server.url(), &[]);
    let nats = ["--machine", "laptop", "--nats", &server.url()];
    let doctor = machine.run(&[&["doctor"], &nats[..]].concat());
    assert_eq!(doctor.status.code(), Some(6));
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("atm bridge init"));
    let errors = said.lines().filter(|line| line.starts_with("error"));
    assert_eq!(errors.count(), 1, "one thing is to do: {said}");
    let first = machine.json(&[&["init"], &nats[..]].concat());
    assert!(first["made"].as_array().unwrap().iter().all(|made| made["new"] == true), "{first}");
    let second = machine.json(&[&["init"], &nats[..]].concat());
    assert!(second["made"].as_array().unwrap().iter().all(|made| made["new"] == false), "{second}");
    let doctor = machine.json(&[&["doctor"], &nats[..]].concat());
    assert_eq!(doctor["healthy"], true, "{doctor}");
}

#[test]
fn doctor_shows_how_often_the_server_syncs_if_its_monitor_is_named() {
    let port = free_port();
    let server = Server::start_with(&format!("http: \"127.0.0.1:{port}\""));
    let machine = Machine::new("laptop", &server.url(), &[]);
    machine.json(&machine.at_server(&["init"]));
    let sync = |words: &[&str]| {
        let doctor = machine.json(&machine.at_server(&[&["doctor"], words].concat()));
        assert_eq!(doctor["healthy"], true, "{doctor}");
        let checks = doctor["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["about"] == "sync").unwrap()["found"].to_string()
    };
    assert!(sync(&[]).contains("cannot be seen"));
    let monitor = format!("http://127.0.0.1:{port}");
    let found = sync(&["--monitor", &monitor]);
    assert!(found.contains("every 120 s"), "{found}");
    // The server itself is none, nor is what is no address.
    for wrong in [server.url(), server.url().replace("nats:", "http:"), "127.0.0.1:1".to_owned()] {
        let found = sync(&["--monitor", &wrong]);
        assert!(found.contains("tells nothing"), "{found}");
    }
}

/// As earlier versions made it: buckets without bounds, and an object store that refuses what is new when it is full.
#[test]
fn init_brings_what_is_there_up_to_date_and_doctor_tells_of_it_before() {
    let server = Server::new();
    let machine = Machine::new("laptop", &server.url(), &[]);
    machine.json(&machine.at_server(&["init"]));
    let names = Names::of(&"home".parse().unwrap());
    let kept = at_server(&server, async |context| {
        for (part, _, stream) in bounds::parts(&names) {
            let mut config = context.get_stream(&stream).await.unwrap().cached_info().config.clone();
            assert!(config.max_bytes > 0, "{stream} is made without a bound");
            config.max_bytes = -1;
            config.discard = if part == Part::Objects { DiscardPolicy::New } else { config.discard };
            context.update_stream(config).await.unwrap();
        }
        let homes = context.get_key_value(&names.homes).await.unwrap();
        homes.put("demo.bob", "an entry".into()).await.unwrap()
    });
    let doctor = machine.json(&machine.at_server(&["doctor"]));
    let told = |doctor: &serde_json::Value, text: &str| {
        let checks = doctor["checks"].as_array().unwrap();
        checks.iter().filter(|check| check["found"].as_str().unwrap().contains(text)).count()
    };
    assert_eq!(told(&doctor, "may fill the disk"), 6, "{doctor}");
    assert_eq!(told(&doctor, "atm-home-objects refuses what is new"), 1, "{doctor}");
    let changed = machine.json(&machine.at_server(&["init"]))["changed"].clone();
    assert_eq!(changed.as_array().unwrap().len(), 6, "{changed}");
    assert!(changed.as_array().unwrap().iter().all(|change| change["error"].is_null()), "{changed}");
    let doctor = machine.json(&machine.at_server(&["doctor"]));
    assert_eq!(told(&doctor, "may fill the disk") + told(&doctor, "refuses what is new"), 0, "{doctor}");
    assert_eq!(machine.json(&machine.at_server(&["init"]))["changed"], serde_json::json!([]));
    // What is asked for counts, for what is there, too.
    let changed = machine.json(&machine.at_server(&["init", "--bucket-mib", "128"]))["changed"].clone();
    assert_eq!(changed.as_array().unwrap().len(), 4, "{changed}");
    at_server(&server, async |context| {
        let homes = context.get_key_value(&names.homes).await.unwrap();
        let entry = homes.entry("demo.bob").await.unwrap().unwrap();
        assert_eq!((entry.revision, &entry.value[..]), (kept, &b"an entry"[..]));
    });
}

/// On the wrong machine, or with the wrong line: it was listed as a machine that never came.
#[test]
fn a_machines_own_key_is_not_trusted() {
    let machine = Machine::new("laptop", "nats://127.0.0.1:1", &[]);
    let key = machine.key();
    let refused = machine.run(&["trust", "laptop", &key]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("own key"), "{refused:?}");
    assert_eq!(machine.json(&["machines"]), serde_json::json!([]));
}

#[test]
fn a_bridge_that_is_told_to_end_leaves_no_socket_behind() {
    let server = Server::new();
    let mut machine = Machine::new("laptop", &server.url(), &["ann"]);
    let socket = machine.env().state().join("bridge/tasks.socket");
    machine.start();
    wait_until("it listens", || socket.exists() && machine.own_status()["connected"] == true);
    machine.terminate();
    assert!(!socket.exists());
}

/// A bucket that is full tells who writes to it, and loses nothing that it has.
#[test]
fn a_full_bucket_refuses_and_keeps_what_it_has() {
    let server = Server::new();
    let machine = Machine::new("laptop", &server.url(), &[]);
    machine.json(&machine.at_server(&["init", "--bucket-mib", "1"]));
    let doctor = machine.json(&machine.at_server(&["doctor"]));
    assert!(doctor.to_string().contains("atm-home-tasks has room for 1 MiB only"), "{doctor}");
    at_server(&server, async |context| {
        let tasks = context.get_key_value(Names::of(&"home".parse().unwrap()).tasks).await.unwrap();
        let mut refused = None;
        for number in 0..20 {
            if let Err(error) = tasks.put(format!("demo.{number}"), vec![b'x'; 100_000].into()).await {
                refused.get_or_insert((number, error.to_string()));
            }
        }
        let (number, why) = refused.expect("it has a bound");
        assert!(number > 8, "{number}: {why}");
        assert!(tasks.get("demo.0").await.unwrap().is_some());
    });
}

/// What somebody does at the server who may do all.
fn at_server<T>(server: &Server, act: impl AsyncFnOnce(Context) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        act(async_nats::jetstream::new(client)).await
    })
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
    let forged = Machine::new("mallory", "nats://127.0.0.1:1", &[]).key();
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
