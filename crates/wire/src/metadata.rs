//! What people and programs put into the `metadata` of a team, a member or a message, beside what is ours.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::team::FieldError;

/// The key below `metadata` that is ours.
pub const OURS: &str = "atm";

/// Keys and values of somebody else's.
pub type Metadata = Map<String, Value>;

/// Fails if a key is none, or ours.
pub fn check(metadata: &Metadata) -> Result<(), FieldError> {
    if metadata.contains_key(OURS) {
        return Err(FieldError::new("metadata", "must not have the key `atm`, which is ours"));
    }
    if metadata.keys().any(|key| key.trim().is_empty()) {
        return Err(FieldError::new("metadata", "must not have an empty key"));
    }
    Ok(())
}

/// What of a `metadata` object is not ours; nothing, if it is no object.
pub fn others(metadata: Option<&RawValue>) -> Metadata {
    let parsed = metadata.and_then(|raw| serde_json::from_str::<Metadata>(raw.get()).ok());
    let mut others = parsed.unwrap_or_default();
    others.remove(OURS);
    others
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(value: &Value) -> Metadata {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn our_key_and_empty_ones_are_refused() {
        assert_eq!(check(&metadata(&json!({ "ticket": 7 }))), Ok(()));
        assert!(check(&metadata(&json!({ "atm": {} }))).is_err());
        assert!(check(&metadata(&json!({ " ": 1 }))).is_err());
    }

    #[test]
    fn what_is_ours_is_left_out() {
        let raw = RawValue::from_string(r#"{"atm":{"spawn":1},"ticket":"7"}"#.to_owned()).unwrap();
        assert_eq!(others(Some(&raw)), metadata(&json!({ "ticket": "7" })));
        let raw = RawValue::from_string("[1]".to_owned()).unwrap();
        assert!(others(Some(&raw)).is_empty());
    }
}
