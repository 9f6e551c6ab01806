//! Every JSON answer fits its schema, which `atm schema` prints, and has no key that it does not describe.

use serde_json::{Map, Value, json};

use super::refused::Scene;
use super::server::Server;
use super::world::{Machine, TEAM, pair};

const TABLE: &str = include_str!("../../../cli/schemas/bridge.json");

fn hold(name: &str, document: &Value) {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let mut schema = table["documents"][name]["schema"].clone();
    close(&mut schema);
    schema["$defs"] = json!({"time": {"type": "string", "format": "date-time"}});
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{name}: {}\n{document:#}", wrong.join("\n"));
}

/// No other keys.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), false.into());
            }
            object.values_mut().for_each(close);
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn each_answer_fits_its_schema() {
    let server = Server::new();
    let alone = Machine::new("desk", &server.url(), &[]);
    hold("bridge-status", &alone.json(&["status"]));
    hold("bridge-key", &alone.json(&["key"]));
    let missing = alone.run(&alone.at_server(&["doctor", "--json"]));
    hold("bridge-doctor", &serde_json::from_slice(&missing.stdout).unwrap());
    hold("bridge-init", &alone.json(&alone.at_server(&["init"])));
    hold("bridge-init", &alone.json(&["init", "--permissions", "--for", "desk"]));
    hold("bridge-doctor", &alone.json(&alone.at_server(&["doctor"])));
    hold("bridge-dead", &alone.json(&alone.at_server(&["dead"])));
    let (laptop, hub) = pair(&server.url(), &server.url());
    laptop.send("ann", "bob", "hello");
    atm_support::wait_until("it is counted", || laptop.status()["tally"]["confirmed"] == 1);
    atm_support::wait_until("the bucket of tasks is known", || {
        laptop.status()["taskBytes"]["most"].as_u64() == Some(64 << 20)
    });
    hold("bridge-status", &laptop.status());
    hold("bridge-machines", &laptop.json(&["machines"]));
    hold("bridge-take", &laptop.json(&laptop.at_server(&["take", "bob", "--team", TEAM])));
    let unshared = alone.json(&["unshare", TEAM]);
    hold("bridge-unshare", &unshared);
    assert_eq!(unshared["wasShared"], false);
    hold("bridge-trust", &laptop.json(&["trust", "hub", &hub.key(), "--as-lead"]));
    hold("bridge-trust", &laptop.json(&["trust", "--remove", "hub"]));
}

#[test]
fn dead_letters_fit_theirs() {
    let scene = Scene::new();
    let letter = scene.letter("rescued");
    scene.fail(&letter);
    scene.bury(&letter, "its content cannot be read");
    let dead = scene.dead(&[]);
    assert_eq!(dead.as_array().map(Vec::len), Some(1));
    hold("bridge-dead", &dead);
    hold("bridge-dead-again", &scene.dead(&["--again", &dead[0]["number"].to_string()]));
}

#[test]
fn every_schema_is_of_a_command_that_there_is() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let documents: &Map<String, Value> = table["documents"].as_object().unwrap();
    let machine = Machine::new("desk", "nats://127.0.0.1:1", &[]);
    for (name, document) in documents {
        let of = document["of"].as_str().unwrap().strip_prefix("atm bridge ").unwrap();
        let help = machine.run(&[of.split(' ').next().unwrap(), "--help"]);
        assert!(help.status.success(), "{name}");
    }
}
