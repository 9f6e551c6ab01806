//! A call's arguments: checked by name and type against the tool's own schema, then read.

use atm_office::people::nearest::nearest;
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::trouble::Trouble;

/// The schema of a tool's arguments: short, since every conversation pays for it.
pub(crate) fn schema<T: JsonSchema>(required: &[&str]) -> JsonObject {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>();
    let mut fields = std::mem::take(schema.ensure_object());
    for key in ["$schema", "title", "description"] {
        fields.remove(key);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(shorten);
    }
    fields.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    fields.remove("required");
    if !required.is_empty() {
        fields.insert("required".to_owned(), required.into());
    }
    fields
}

/// What may be left out need not say that it may be null.
fn shorten(property: &mut Value) {
    let Value::Object(fields) = property else { return };
    for key in ["format", "minimum", "title"] {
        fields.remove(key);
    }
    if fields.get("default").is_some_and(Value::is_null) {
        fields.remove("default");
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Reads the arguments of `tool`. `null` is the same as nothing.
pub(crate) fn read<T: DeserializeOwned>(mut given: JsonObject, schema: &JsonObject) -> Result<T, Trouble> {
    given.retain(|_, value| !value.is_null());
    check(&given, schema)?;
    serde_json::from_value(Value::Object(given))
        .map_err(|error| Trouble::new(format!("the arguments do not fit: {error}")))
}

fn check(given: &JsonObject, schema: &JsonObject) -> Result<(), Trouble> {
    let empty = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (name, value) in given {
        let Some(property) = properties.get(name) else {
            let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let near = nearest(name, known.iter().copied());
            let hint = if near.is_empty() { known.join(", ") } else { near.join(", ") };
            return Err(
                Trouble::new(format!("there is no argument \"{shown}\"")).hint(format!("There is: {hint}"))
            );
        };
        // A task's number may come as a number.
        let wanted = property.get("type").and_then(Value::as_str).unwrap_or("object");
        let number_for_text = wanted == "string" && value.is_u64() && name.ends_with("_id");
        if kind(value) != wanted && !number_for_text && !(wanted == "number" && value.is_number()) {
            return Err(Trouble::new(format!("{name} is {}; it must be of type {wanted}", a_kind(value))));
        }
        if let Some(choices) =
            property.get("enum").and_then(Value::as_array).filter(|all| !all.contains(value))
        {
            let choices: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
            return Err(Trouble::new(format!("{name} must be one of: {}", choices.join(", "))));
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    match required.filter_map(Value::as_str).find(|name| !given.contains_key(*name)) {
        Some(missing) => Err(Trouble::new(format!("{missing} is missing"))),
        None => Ok(()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn a_kind(value: &Value) -> String {
    match kind(value) {
        "null" => "null".to_owned(),
        kind @ ("integer" | "array" | "object") => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

/// A task's number, written as a text or as a number.
#[derive(Debug, Clone)]
pub(crate) struct TaskNumber(pub(crate) String);

impl<'de> Deserialize<'de> for TaskNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            other => Err(D::Error::custom(format!("{other} is not a task's number"))),
        }
    }
}

impl JsonSchema for TaskNumber {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TaskNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Letter {
        /// To whom
        recipient: Option<String>,
        timeout_ms: Option<u64>,
        task_id: Option<TaskNumber>,
    }

    fn told(given: Value) -> String {
        let Value::Object(given) = given else { panic!("an object") };
        match read::<Letter>(given, &schema::<Letter>(&["recipient"])) {
            Ok(letter) => format!("{:?} {:?} {:?}", letter.recipient, letter.timeout_ms, letter.task_id),
            Err(trouble) => trouble.words(crate::settings::Profile::All),
        }
    }

    #[test]
    fn a_schema_is_short() {
        assert_eq!(
            json!(schema::<Letter>(&["recipient"])),
            json!({
                "type": "object",
                "properties": {
                    "recipient": { "type": "string", "description": "To whom" },
                    "timeout_ms": { "type": "integer" },
                    "task_id": { "type": "string" },
                },
                "required": ["recipient"],
            })
        );
    }

    #[test]
    fn what_does_not_fit_is_said_by_name() {
        assert_eq!(
            told(json!({"recipient": "bob", "timeout_ms": null, "task_id": 7})),
            r#"Some("bob") None Some(TaskNumber("7"))"#
        );
        assert_eq!(told(json!({"timeout_ms": 5})), "recipient is missing");
        assert_eq!(told(json!({"recipient": 5})), "recipient is an integer; it must be of type string");
        assert_eq!(
            told(json!({"recipient": "bob", "timeout_ms": -5})).split(':').next(),
            Some("the arguments do not fit")
        );
        assert_eq!(
            told(json!({"recipent": "bob"})),
            "there is no argument \"recipent\". There is: recipient"
        );
    }
}
