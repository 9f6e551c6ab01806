//! The schemas: true of what real clients write, and of every answer.

mod answers;
mod files;

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::Value;

use crate::scene::World;

/// What `atm schema NAME` prints.
fn schema(world: &World, name: &str) -> Value {
    serde_json::from_str(&world.ok(&["schema", name])).unwrap()
}

/// Fails with all that is wrong with a document.
fn hold(schema: &Value, document: &Value, what: &str) {
    let validator: Validator = jsonschema::draft202012::new(schema).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{what}: {}\n{document:#}", wrong.join("\n"));
}

/// Fails if an answer does not fit its schema, or has a key that its schema does not describe.
pub(crate) fn hold_answer(world: &World, name: &str, answer: &Value) {
    hold(&closed(&schema(world, name)), answer, name);
}

/// The same schema, which allows no key that it does not describe: so a key that is added to an answer is added to its
/// schema too.
fn closed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let mut parts = BTreeSet::new();
    find_parts(&schema, &mut parts);
    close(&mut schema, &parts, true);
    schema
}

/// The definitions that others are built of: these are closed by what is built of them.
fn find_parts(schema: &Value, parts: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            let all = object.get("allOf").and_then(Value::as_array).into_iter().flatten();
            let names = all.filter_map(|part| part["$ref"].as_str()?.strip_prefix("#/$defs/"));
            parts.extend(names.map(ToOwned::to_owned));
            object.values().for_each(|value| find_parts(value, parts));
        }
        Value::Array(values) => values.iter().for_each(|value| find_parts(value, parts)),
        _ => {}
    }
}

fn close(schema: &mut Value, parts: &BTreeSet<String>, is_whole: bool) {
    match schema {
        Value::Object(object) => {
            if is_whole && object.contains_key("properties") && !object.contains_key("additionalProperties") {
                object.insert("unevaluatedProperties".to_owned(), false.into());
            }
            for (key, value) in object {
                match (key.as_str(), value) {
                    ("$defs", Value::Object(definitions)) => {
                        for (name, definition) in definitions {
                            close(definition, parts, !parts.contains(name));
                        }
                    }
                    (_, value) => close(value, parts, true),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| close(value, parts, true)),
        _ => {}
    }
}

#[test]
fn all_are_listed_and_each_is_a_schema() {
    let world = World::new();
    let list = world.json(&["schema"]);
    let text = world.ok(&["schema"]);
    for one in list.as_array().unwrap() {
        let name = one["name"].as_str().unwrap();
        assert!(text.contains(name), "{name}");
        let schema = schema(&world, name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
        assert_eq!(schema, world.json(&["schema", name]), "{name}: the same with --json");
    }
}

#[test]
fn a_wrong_name_is_told_with_the_nearest() {
    let world = World::new();
    let answer = world.atm(&["schema", "mesages", "--json"]);
    let error = answer.error();
    assert_eq!((answer.code, error["code"].as_str()), (Some(3), Some("no_schema")));
    assert!(error["hint"].as_str().unwrap().contains("messages"), "{error}");
}
