//! A call's arguments: checked by name and type against the tool's own schema, then read.

use atm_office::people::nearest::nearest;
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::trouble::Trouble;

/// Longer than any name or id.
const LONGEST_NAME: usize = 200;

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

/// Leaves out an argument that need not be known: it is taken all the same.
pub(crate) fn hide(schema: &mut JsonObject, name: &str) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove(name);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|required| required != name);
        if required.is_empty() {
            schema.remove("required");
        }
    }
}

/// The choices of an argument without these.
pub(crate) fn hide_choices(schema: &mut JsonObject, name: &str, hidden: &[&str]) {
    let property = schema.get_mut("properties").and_then(|properties| properties.get_mut(name));
    if let Some(Value::Array(choices)) = property.and_then(|property| property.get_mut("enum")) {
        choices.retain(|choice| !hidden.iter().any(|hidden| choice == hidden));
    }
}

/// What may be left out need not say that it may be null, nor that it is nothing then.
fn shorten(property: &mut Value) {
    let Value::Object(fields) = property else { return };
    for key in ["format", "minimum", "title", "additionalProperties"] {
        fields.remove(key);
    }
    let nothing = [Value::Null, "".into(), false.into(), 0.into()];
    if fields.get("default").is_some_and(|default| nothing.contains(default)) {
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

/// Reads arguments that were checked.
pub(crate) fn parse<T: DeserializeOwned>(given: JsonObject) -> Result<T, Trouble> {
    serde_json::from_value(Value::Object(given))
        .map_err(|error| Trouble::argument(format!("the arguments do not fit: {error}")))
}

/// The arguments that are names, ids or other short words.
pub(crate) fn names(given: &JsonObject) -> Vec<(String, String)> {
    let short = |value: &Value| match value {
        Value::String(text) if text.len() <= LONGEST_NAME => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    given.iter().filter_map(|(name, value)| Some((name.clone(), short(value)?))).collect()
}

/// Refuses arguments that are not of the names and types of a schema.
pub(crate) fn check(given: &JsonObject, schema: &JsonObject) -> Result<(), Trouble> {
    let empty = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (name, value) in given {
        let Some(property) = properties.get(name) else {
            let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let near = nearest(name, known.iter().copied());
            let hint = if near.is_empty() { known.join(", ") } else { near.join(", ") };
            return Err(Trouble::argument(format!("there is no argument \"{shown}\""))
                .hint(format!("There is: {hint}")));
        };
        check_type(name, value, property)?;
        if let Some(choices) =
            property.get("enum").and_then(Value::as_array).filter(|all| !all.contains(value))
        {
            let choices: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
            return Err(Trouble::argument(format!("{name} must be one of: {}", choices.join(", "))));
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    match required.filter_map(Value::as_str).find(|name| !given.contains_key(*name)) {
        Some(missing) => Err(Trouble::argument(format!("{missing} is missing"))),
        None => Ok(()),
    }
}

fn check_type(name: &str, value: &Value, property: &Value) -> Result<(), Trouble> {
    let wanted = property.get("type").and_then(Value::as_str).unwrap_or("object");
    // A task's number may come as a number, also in a list.
    let is_id = name.ends_with("_id") || name.ends_with(']');
    let number_for_text = wanted == "string" && value.is_u64() && is_id;
    let fits = kind(value) == wanted || number_for_text || wanted == "number" && value.is_number();
    if !fits {
        return Err(Trouble::argument(format!("{name} is {}; it must be of type {wanted}", a_kind(value))));
    }
    if wanted == "integer" && !value.is_u64() {
        return Err(Trouble::argument(format!("{name} is {value}; it must be 0 or more")));
    }
    let Some(each) = property.get("items") else { return Ok(()) };
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        check_type(&format!("{name}[{at}]"), item, each)?;
    }
    Ok(())
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
        add_blocks: Option<Vec<TaskNumber>>,
    }

    fn told(given: Value) -> String {
        let Value::Object(given) = given else { panic!("an object") };
        let given: JsonObject = given.into_iter().filter(|(_, value)| !value.is_null()).collect();
        match check(&given, &schema::<Letter>(&["recipient"])).and_then(|()| parse::<Letter>(given)) {
            Ok(letter) => {
                let Letter { recipient, timeout_ms, task_id, add_blocks } = letter;
                format!("{recipient:?} {timeout_ms:?} {task_id:?} {add_blocks:?}")
            }
            Err(trouble) => trouble.words(crate::hint::Toolbox::Leads),
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
                    "add_blocks": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["recipient"],
            })
        );
    }

    #[test]
    fn what_does_not_fit_is_said_by_name() {
        assert_eq!(
            told(json!({"recipient": "bob", "timeout_ms": null, "task_id": 7})),
            r#"Some("bob") None Some(TaskNumber("7")) None"#
        );
        assert_eq!(told(json!({"timeout_ms": 5})), "recipient is missing");
        assert_eq!(told(json!({"recipient": 5})), "recipient is an integer; it must be of type string");
        assert_eq!(
            told(json!({"recipient": "bob", "timeout_ms": -5})),
            "timeout_ms is -5; it must be 0 or more"
        );
        assert_eq!(
            told(json!({"recipient": "bob", "add_blocks": [1, "2", null]})),
            "add_blocks[2] is null; it must be of type string"
        );
        assert_eq!(
            told(json!({"recipent": "bob"})),
            "there is no argument \"recipent\". There is: recipient"
        );
    }
}
