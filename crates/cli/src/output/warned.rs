//! Warnings in the document that they belong to.

use std::collections::HashMap;
use std::io;

use serde_json::value::RawValue;

/// An object with warnings, where it has none of its own.
pub(super) fn with_warnings(document: String, warnings: &[String]) -> io::Result<String> {
    let has_none = |text: &str| {
        let keys: Result<HashMap<&str, &RawValue>, _> = serde_json::from_str(text);
        keys.is_ok_and(|keys| !keys.is_empty() && !keys.contains_key("warnings"))
    };
    let Some(open) = document.strip_suffix("\n}").filter(|_| !warnings.is_empty() && has_none(&document))
    else {
        return Ok(document);
    };
    let lines: Result<Vec<String>, _> = warnings.iter().map(serde_json::to_string).collect();
    Ok(format!("{open},\n  \"warnings\": [\n    {}\n  ]\n}}", lines?.join(",\n    ")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_object_without_warnings_gets_them() {
        let warnings = ["a \"b\"".to_owned(), "c".to_owned()];
        let with =
            |value: &Value| with_warnings(serde_json::to_string_pretty(value).unwrap(), &warnings).unwrap();
        let parsed: Value = serde_json::from_str(&with(&json!({ "x": 1 }))).unwrap();
        assert_eq!(parsed, json!({ "x": 1, "warnings": ["a \"b\"", "c"] }));
        for kept in [json!({ "warnings": [] }), json!([1]), json!({})] {
            assert_eq!(with(&kept), serde_json::to_string_pretty(&kept).unwrap());
        }
        assert_eq!(with_warnings("{\n  \"x\": 1\n}".to_owned(), &[]).unwrap(), "{\n  \"x\": 1\n}");
    }
}
