//! What is too long for any answer, made short: long texts are cut, long lists end early, and both say so.

use serde_json::{Map, Value};

use crate::page::part;

/// How much of a text, and how much of a list, is left: less and less, until it fits.
const STEPS: [(usize, usize); 5] = [(4_000, 200), (1_000, 100), (300, 30), (80, 10), (20, 3)];
/// Lists within lists within lists say nothing that fits.
const DEEPEST: usize = 6;

/// The value itself if it has at most `budget` bytes of JSON, else as much of it as has.
pub(crate) fn squeezed(value: Value, budget: usize) -> Value {
    if value.to_string().len() <= budget {
        return value;
    }
    let mut steps = STEPS.iter().map(|(text, items)| shorter(&value, *text, *items, DEEPEST));
    steps.find(|short| short.to_string().len() <= budget).unwrap_or_else(|| "…".into())
}

fn shorter(value: &Value, text: usize, items: usize, deep: usize) -> Value {
    match value {
        Value::String(long) => cut(long, text).into(),
        Value::Array(_) | Value::Object(_) if deep == 0 => "…".into(),
        Value::Array(all) => {
            let first = all.iter().take(items).map(|item| shorter(item, text, items, deep - 1));
            let rest = all.len().saturating_sub(items);
            let more = (rest > 0).then(|| format!("… {rest} more").into());
            first.chain(more).collect()
        }
        Value::Object(all) => {
            let first = all.iter().take(items);
            let mut fields: Map<String, Value> =
                first.map(|(key, field)| (cut(key, text), shorter(field, text, items, deep - 1))).collect();
            let rest = all.len().saturating_sub(items);
            if rest > 0 {
                fields.insert("…".to_owned(), format!("{rest} more").into());
            }
            Value::Object(fields)
        }
        small => small.clone(),
    }
}

/// The beginning of a text, which says how long it was.
pub(crate) fn cut(text: &str, length: usize) -> String {
    match part(text, 0, length) {
        (whole, None) => whole.to_owned(),
        (start, Some(_)) => format!("{start}… [{} bytes in all]", text.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_is_left_alone_and_what_does_not_is_made_to() {
        let small = json!({ "a": [1, 2, { "b": "c" }] });
        assert_eq!(squeezed(small.clone(), 100), small);
        let long = "x".repeat(100_000);
        let many: Map<String, Value> = (0..10_000).map(|n| (format!("{n}{long:.100}"), json!(n))).collect();
        let deep = (0..100).fold(json!(long), |inner, _| json!([inner, long]));
        for value in [json!(long), json!({ &long: long }), json!(vec![long; 50]), json!(many), deep] {
            let short = squeezed(value, 1_000).to_string();
            assert!(short.len() <= 1_000 && short.contains('…'), "{short}");
        }
    }

    #[test]
    fn the_short_fields_beside_a_long_one_stay() {
        let task = json!({ "id": "7", "description": "d".repeat(50_000), "blockedBy": ["1", "2"] });
        let short = squeezed(task, 10_000);
        assert_eq!((&short["id"], &short["blockedBy"]), (&json!("7"), &json!(["1", "2"])));
        assert!(short["description"].as_str().unwrap().ends_with("… [50000 bytes in all]"));
    }
}
