//! JSON Schemas (2020-12) of what is on disk.
//!
//! They say what programs may count on, in every dialect: what real clients write is valid, and keys that are not
//! named are allowed.

use serde_json::{Map, Value, json};

use crate::payload::Payload;

/// The files, as `{"documents": {name: {"kind", "of", "schema"}}, "$defs": {…}}`. What it says of payloads is a
/// reference to [`payload`].
pub const FILES: &str = include_str!("../schemas/files.json");

/// The schema of a protocol message's text, made from the table of payloads: any object with a `type`, and of the
/// types in the table the fields that they have.
pub fn payload() -> Value {
    let kinds = Payload::FIELDS.iter().map(|(kind, fields)| {
        let spellings = fields.iter().flat_map(|(keys, of)| keys.iter().map(|key| (*key, field(of))));
        let properties: Map<String, Value> =
            spellings.map(|(key, schema)| (key.to_owned(), schema)).collect();
        json!({
            "if": { "properties": { "type": { "const": kind } } },
            "then": { "properties": properties },
        })
    });
    json!({
        "description": "What a protocol message says. Other types and other keys are allowed.",
        "type": "object",
        "required": ["type"],
        "properties": { "type": { "type": "string" } },
        "allOf": kinds.collect::<Vec<_>>(),
    })
}

/// What programs write into a field that is read as the type of this name.
fn field(of: &str) -> Value {
    match of.replace(' ', "").as_str() {
        "Option<bool>" => json!({ "type": ["boolean", "string", "null"] }),
        "Vec<String>" => {
            json!({ "type": ["array", "string", "number", "null"], "items": { "type": ["string", "number"] } })
        }
        // Numbers and times are written as text too, and ids as numbers.
        _ => json!({ "type": ["string", "number", "null"] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payload_and_each_of_its_spellings_is_described() {
        let schema = payload();
        let kinds = schema["allOf"].as_array().unwrap();
        assert_eq!(kinds.len(), Payload::KINDS.len());
        let plan =
            kinds.iter().find(|kind| kind["if"]["properties"]["type"]["const"] == "plan_approval_response");
        let fields = &plan.unwrap()["then"]["properties"];
        for key in ["approve", "approved"] {
            assert_eq!(fields[key]["type"][0], "boolean", "{key}");
        }
        assert_eq!(fields["request_id"]["type"][0], "string");
    }

    #[test]
    fn the_files_are_a_table_of_schemas() {
        let files: Value = serde_json::from_str(FILES).unwrap();
        for (name, document) in files["documents"].as_object().unwrap() {
            assert_eq!(document["kind"], "file", "{name}");
            assert!(document["of"].is_string() && document["schema"].is_object(), "{name}");
        }
    }
}
