//! Getting messages out of a file that does not parse.

use atm_wire::message::Message;
use serde_json::value::RawValue;

/// How many times its own length a file may cost to search. Nested garbage would otherwise cost its square.
const BUDGET: usize = 16;

/// Every readable message in `text`, as the entry it was, in order.
pub(super) fn salvage(text: &str) -> Vec<Box<RawValue>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut budget = text.len().saturating_mul(BUDGET) + (1 << 16);
    while let Some(open) = memchr::memchr(b'{', &text.as_bytes()[at..]) {
        at += open;
        let rest = &text[at..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let (step, cost) = match stream.next() {
            Some(Ok(raw)) => match as_entry(raw) {
                Some(entry) => {
                    found.push(entry);
                    (raw.get().len(), raw.get().len())
                }
                // Not a message itself, but there may be some in it.
                None => (1, raw.get().len()),
            },
            Some(Err(error)) => (1, reached(rest, &error)),
            None => break,
        };
        budget = budget.saturating_sub(cost);
        if budget == 0 {
            break;
        }
        at += step;
    }
    found
}

/// How far into `text` the parser came.
fn reached(text: &str, error: &serde_json::Error) -> usize {
    let lines = error.line().saturating_sub(1);
    text.split_inclusive('\n').take(lines).map(str::len).sum::<usize>() + error.column() + 1
}

/// The entry as it is, or a log line made into one.
fn as_entry(raw: &RawValue) -> Option<Box<RawValue>> {
    if Message::from_entry(raw).is_ok() {
        return Some(raw.to_owned());
    }
    let line = Message::from_line(raw.get()).ok()?;
    let mut entry = serde_json::Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            entry.insert(key.to_owned(), value.into());
        }
    };
    put("from", Some(line.from));
    put("text", Some(line.text));
    put("summary", line.summary);
    put("timestamp", Some(line.timestamp));
    put("color", line.color);
    put("messageId", line.id_given.then_some(line.id));
    entry.insert("read".to_owned(), line.read.into());
    serde_json::value::to_raw_value(&entry).ok()
}

/// An array of entries in the layout that clients write.
pub(super) fn as_array(entries: &[Box<RawValue>]) -> String {
    if entries.is_empty() {
        return "[]".to_owned();
    }
    let body: Vec<_> = entries.iter().map(|entry| entry.get()).collect();
    format!("[\n  {}\n]", body.join(",\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: &str =
        r#"{"from":"a","text":"one {","timestamp":"2026-01-01T00:00:00Z","read":false,"n":1E2}"#;
    const TWO: &str =
        r#"{"from":"b","text":"{\"type\":\"x\"}","timestamp":"2026-01-01T00:00:01Z","read":true}"#;

    fn saved(text: &str) -> Vec<String> {
        salvage(text).iter().map(|raw| raw.get().to_owned()).collect()
    }

    #[test]
    fn messages_survive_every_kind_of_damage() {
        assert_eq!(saved(&format!("[{ONE},\n{TWO}")), [ONE, TWO], "no closing bracket");
        assert_eq!(saved(&format!("[{ONE},\n{}", &TWO[..30])), [ONE], "cut in an entry");
        assert_eq!(saved(&format!("\u{feff}[{ONE}]")), [ONE], "byte order mark");
        assert_eq!(saved(&format!("{ONE}\n{TWO}\n")), [ONE, TWO], "JSON Lines");
        assert_eq!(saved(&format!(r#"{{"messages":[{ONE},{TWO}]}}"#)), [ONE, TWO], "wrapped in an object");
        assert_eq!(saved(&format!("[{ONE} {TWO}]")), [ONE, TWO], "a comma missing");
        assert_eq!(saved(&format!("[{{\"from\": oops}}, {ONE}]")), [ONE], "junk before");
        assert!(saved("").is_empty());
    }

    #[test]
    fn log_lines_become_entries() {
        let line = r#"{"type":"message","from":"c","to":"b","timestamp":"2026-01-01T00:00:00Z","content":{"text":"hi"}}"#;
        assert_eq!(
            saved(line),
            [r#"{"from":"c","read":false,"text":"hi","timestamp":"2026-01-01T00:00:00Z"}"#]
        );
    }

    #[test]
    fn nested_garbage_does_not_cost_its_square() {
        let text = r#"{"a":"#.repeat(200_000);
        assert!(saved(&text).is_empty());
    }

    proptest! {
        #[test]
        fn a_cut_anywhere_saves_all_that_is_whole(cut in 0usize..400) {
            let text = serde_json::to_string_pretty(&[
                serde_json::from_str::<serde_json::Value>(ONE).unwrap(),
                serde_json::from_str(TWO).unwrap(),
            ]).unwrap();
            let cut = cut.min(text.len());
            let whole = text[..cut].matches("\n  }").count();
            prop_assert_eq!(salvage(&text[..cut]).len(), whole);
        }
    }
}
