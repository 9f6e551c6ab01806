//! The JSON Schemas of what is on disk and of every answer.
//!
//! They are kept by hand beside the code, in tables of documents and shared definitions; tests hold the real clients'
//! files and every command's real answer against them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::cmd::Command;

const TABLES: [&str; 6] = [
    atm_wire::schema::FILES,
    include_str!("../schemas/mail.json"),
    include_str!("../schemas/teams.json"),
    include_str!("../schemas/work.json"),
    include_str!("../schemas/setup.json"),
    include_str!("../schemas/bridge.json"),
];

/// The dialect that they are written in.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// How a definition is referred to.
const DEFINITIONS: &str = "#/$defs/";

/// All of them.
#[derive(Debug)]
pub(crate) struct Schemas {
    documents: Map<String, Value>,
    definitions: Map<String, Value>,
}

impl Schemas {
    /// Puts the tables together.
    pub(crate) fn load() -> Result<Self, serde_json::Error> {
        let mut all = Self { documents: Map::new(), definitions: Map::new() };
        for table in TABLES {
            let mut table: Map<String, Value> = serde_json::from_str(table)?;
            let mut part = |key: &str| match table.remove(key) {
                Some(Value::Object(part)) => part,
                _ => Map::new(),
            };
            all.documents.extend(part("documents"));
            all.definitions.extend(part("$defs"));
        }
        all.definitions.insert("payload".to_owned(), atm_wire::schema::payload());
        Ok(all)
    }

    /// All definitions, by name.
    pub(crate) fn into_definitions(self) -> Map<String, Value> {
        self.definitions
    }

    /// The names, each with its kind and what it is the schema of.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.documents.iter().map(|(name, document)| {
            let word = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
            (name.as_str(), word("kind"), word("of"))
        })
    }

    /// The schemas of a command's answers, each with how the command is called for it: first that of the plain call.
    pub(crate) fn of_command(&self, path: &str) -> Vec<(&str, String)> {
        let answers = self.list().filter(|(_, kind, _)| *kind == "answer");
        let mut found: Vec<(&str, String)> =
            answers.flat_map(|(name, _, of)| calls(of).map(move |call| (name, call))).collect();
        found.retain(|(_, call)| words_of(call) == path);
        found.sort_by_key(|(_, call)| call.len());
        found
    }

    /// The commands below another one that have an answer, in order.
    pub(crate) fn below(&self, path: &str) -> Vec<String> {
        let answers = self.list().filter(|(_, kind, _)| *kind == "answer");
        let commands = answers.flat_map(|(_, _, of)| calls(of).map(|call| words_of(&call)));
        let mut found: Vec<String> =
            commands.filter(|words| words.starts_with(&format!("{path} "))).collect();
        found.sort();
        found.dedup();
        found
    }

    /// One of them, whole: with all the definitions that it needs, and no others.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let document = self.documents.get(name)?;
        let mut schema = document.get("schema")?.as_object()?.clone();
        let mut needed = BTreeSet::new();
        self.follow(document.get("schema")?, &mut needed);
        schema.insert("$schema".to_owned(), json!(DIALECT));
        schema.insert("$id".to_owned(), json!(format!("urn:atm:schema:{name}")));
        schema.insert("title".to_owned(), document.get("of").cloned().unwrap_or_default());
        let definitions: Map<String, Value> =
            self.definitions.iter().filter(|(key, _)| needed.contains(key.as_str())).map(clone).collect();
        let mut definitions = definitions;
        if document.get("kind").is_some_and(|kind| kind == "answer") {
            let top =
                schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(DEFINITIONS));
            let top = top.map(ToOwned::to_owned).and_then(|name| definitions.get_mut(&name)?.as_object_mut());
            allow_warnings(top.unwrap_or(&mut schema));
        }
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Some(Value::Object(schema))
    }

    /// Adds the names of all definitions that a schema refers to, directly or not.
    fn follow<'a>(&'a self, schema: &'a Value, needed: &mut BTreeSet<&'a str>) {
        match schema {
            Value::Object(object) => {
                let name = object
                    .get("$ref")
                    .and_then(Value::as_str)
                    .and_then(|name| name.strip_prefix(DEFINITIONS));
                if let Some((name, definition)) =
                    name.and_then(|name| Some((name, self.definitions.get(name)?)))
                    && needed.insert(name)
                {
                    self.follow(definition, needed);
                }
                object.values().for_each(|value| self.follow(value, needed));
            }
            Value::Array(values) => values.iter().for_each(|value| self.follow(value, needed)),
            _ => {}
        }
    }
}

/// An answer that is an object may have warnings: every command can warn.
fn allow_warnings(schema: &mut Map<String, Value>) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.entry("warnings").or_insert_with(|| {
            json!({ "description": "what went on beside it, in words", "type": "array", "items": { "type": "string" } })
        });
    }
}

/// The calls that a schema is for: `atm task create, update` are two.
fn calls(of: &str) -> impl Iterator<Item = String> {
    let text = of.split(" (").next().unwrap_or_default().split(';').next().unwrap_or_default();
    let mut above = String::new();
    let calls: Vec<String> = text
        .strip_prefix("atm ")
        .unwrap_or_default()
        .split(", ")
        .filter(|call| !call.is_empty())
        .map(|call| {
            let is_whole = call.contains(' ') || Command::describe(call).is_some() && above.is_empty();
            let whole =
                if is_whole || above.is_empty() { call.to_owned() } else { format!("{above} {call}") };
            above = words_of(&whole).rsplit_once(' ').map(|(above, _)| above.to_owned()).unwrap_or_default();
            whole
        })
        .collect();
    calls.into_iter()
}

/// The command of a call, without arguments and options.
fn words_of(call: &str) -> String {
    let is_command =
        |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    call.split(' ').take_while(is_command).collect::<Vec<_>>().join(" ")
}

fn clone((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
        match schema {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn a_command_has_the_schema_of_its_answer() {
        let schemas = Schemas::load().unwrap();
        for (command, name) in [
            ("send", "sent"),
            ("inbox", "messages"),
            ("task create", "task-outcome"),
            ("task unblock", "task-outcome"),
            ("member remove", "member-changed"),
            ("member restore", "member-changed"),
            ("plan approve", "sent"),
            ("team alias", "aliases"),
            ("status", "status"),
            ("thread", "history"),
            ("clean", "tended"),
            ("config trust", "trust"),
        ] {
            let found = schemas.of_command(command);
            assert_eq!(found.first().map(|(name, _)| *name), Some(name), "{command}: {found:?}");
        }
        assert_eq!(schemas.of_command("man"), []);
        for (name, kind, of) in schemas.list().filter(|(name, ..)| *name != "error") {
            for call in calls(of).filter(|_| kind == "answer") {
                // Those of another program are named by that program's tests.
                let is_bridges = name.starts_with("bridge-") && call.starts_with("bridge ");
                assert!(is_bridges || crate::help::has_command(&words_of(&call)), "{name}: {call}");
            }
        }
    }

    #[test]
    fn each_has_all_that_it_refers_to_and_nothing_else() {
        let schemas = Schemas::load().unwrap();
        let mut used = BTreeSet::new();
        for (name, kind, of) in schemas.list() {
            assert!(["file", "answer"].contains(&kind) && !of.is_empty(), "{name}");
            let schema = schemas.get(name).unwrap();
            let mut found = Vec::new();
            references(&schema, &mut found);
            let found: BTreeSet<&str> =
                found.into_iter().map(|name| name.strip_prefix(DEFINITIONS).unwrap()).collect();
            let there = schema.get("$defs").and_then(Value::as_object);
            let there: BTreeSet<&str> = there.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            assert_eq!(there, found, "{name}");
            used.extend(found.into_iter().map(ToOwned::to_owned));
        }
        let all: BTreeSet<String> = schemas.definitions.keys().cloned().collect();
        assert_eq!(used, all, "a definition that nothing uses");
    }
}
