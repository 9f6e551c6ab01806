//! What an array inbox would be without what is no message.

use std::collections::{BTreeSet, HashSet};

use atm_wire::Message;
use atm_wire::json;
use serde_json::value::RawValue;

use super::content::Entries;
use super::salvage;

/// An inbox made well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The new content.
    pub text: String,
    /// What had to be taken out, or all of it where it did not parse.
    pub set_aside: Vec<u8>,
    /// How many messages are in it.
    pub messages: usize,
}

/// The inbox without its flaws; nothing if it has none. A file that does not parse keeps what can be read as messages,
/// an array loses the entries that are none.
pub fn mended(bytes: &[u8]) -> Option<Mended> {
    let whole = std::str::from_utf8(bytes).ok().and_then(|text| Some((text, Entries::parse(text).ok()?)));
    let Some((text, entries)) = whole else {
        let saved = salvage::salvage(&String::from_utf8_lossy(bytes));
        let text = salvage::as_array(&saved);
        return Some(Mended { text, set_aside: bytes.to_vec(), messages: saved.len() });
    };
    let is_bad = |raw: &&RawValue| Message::from_entry(raw).is_err();
    let bad: BTreeSet<usize> = places(&entries.raw, is_bad);
    if bad.is_empty() {
        return None;
    }
    let taken: Vec<&str> = bad.iter().map(|index| entries.raw[*index].get()).collect();
    Some(Mended {
        text: without(text, &entries.raw, &bad),
        set_aside: format!("[{}]", taken.join(",\n")).into_bytes(),
        messages: entries.raw.len() - bad.len(),
    })
}

/// The inbox without entries that stand there a second time, word for word but for their flags; nothing if there are
/// none.
pub fn without_copies(bytes: &[u8]) -> Option<Mended> {
    let text = std::str::from_utf8(bytes).ok()?;
    let entries = Entries::parse(text).ok()?;
    let mut seen = HashSet::new();
    let copies = places(&entries.raw, |raw| {
        let Ok(message) = Message::from_entry(raw) else { return false };
        message.id_given && !seen.insert((message.id, message.from, message.timestamp, message.text))
    });
    if copies.is_empty() {
        return None;
    }
    let taken: Vec<&str> = copies.iter().map(|index| entries.raw[*index].get()).collect();
    Some(Mended {
        text: without(text, &entries.raw, &copies),
        set_aside: format!("[{}]", taken.join(",\n")).into_bytes(),
        messages: entries.raw.len() - copies.len(),
    })
}

/// The inbox with the entries of another one behind its own, but for those that it has; nothing if there are none. An
/// error says which of the two does not parse, and why.
pub fn with_entries_of(bytes: Option<&[u8]>, other: &[u8]) -> Result<Option<String>, String> {
    let parse = |bytes: &[u8], whose: &str| {
        let text = std::str::from_utf8(bytes).map_err(|error| format!("{whose} is not UTF-8: {error}"))?;
        Entries::parse(text).map(drop).map_err(|broken| format!("{whose} {}", broken.text))?;
        Ok::<_, String>(text.to_owned())
    };
    let text = bytes.map_or(Ok("[]".to_owned()), |bytes| parse(bytes, "the member's inbox"))?;
    let other = parse(other, "the other inbox")?;
    let (entries, more) =
        (Entries::parse(&text).unwrap_or_default(), Entries::parse(&other).unwrap_or_default());
    let key =
        |raw: &RawValue| Message::from_entry(raw).map_or_else(|_| raw.get().to_owned(), |message| message.id);
    let known: HashSet<String> = entries.raw.iter().map(|raw| key(raw)).collect();
    let new: Vec<&RawValue> = more.raw.iter().copied().filter(|raw| !known.contains(&key(raw))).collect();
    if new.is_empty() {
        return Ok(None);
    }
    let patch = json::append(&text, text.trim(), &entries.raw, &new).map_err(|error| error.to_string())?;
    Ok(Some(patch.apply(&text)))
}

fn places(entries: &[&RawValue], mut chosen: impl FnMut(&&RawValue) -> bool) -> BTreeSet<usize> {
    entries.iter().enumerate().filter(|(_, raw)| chosen(raw)).map(|(index, _)| index).collect()
}

fn without(text: &str, entries: &[&RawValue], gone: &BTreeSet<usize>) -> String {
    json::remove(text, text.trim(), entries, gone).apply(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"from":"a","text":"one","timestamp":"2026-01-01T00:00:00Z","read":false,"messageId":"m1","n":1E2}"#;
    const TWO: &str = r#"{"from":"a","text":"two","timestamp":"2026-01-01T00:00:01Z","read":false}"#;

    #[test]
    fn bad_entries_go_and_the_others_stay_as_they_were() {
        let mended = mended(format!("[{ONE}, null, {TWO}, 7]").as_bytes()).unwrap();
        assert_eq!(mended.text, format!("[{ONE}, {TWO}]"));
        assert_eq!((mended.set_aside, mended.messages), (b"[null,\n7]".to_vec(), 2));
        assert_eq!(super::mended(mended.text.as_bytes()), None, "it is well now");
        assert_eq!(super::mended(b"[]"), None);
    }

    #[test]
    fn a_broken_file_keeps_what_can_be_read() {
        let broken = format!("[{ONE},{{\"from\":");
        let mended = mended(broken.as_bytes()).unwrap();
        assert_eq!((mended.messages, mended.set_aside), (1, broken.into_bytes()));
        assert!(mended.text.contains("1E2"));
        assert_eq!(super::mended(b"\xff\xfe").unwrap().text, "[]");
    }

    #[test]
    fn copies_go_whatever_their_flags_say() {
        let read = ONE.replace("\"read\":false", "\"read\":true");
        let other = ONE.replace("one", "another");
        let mended = without_copies(format!("[{ONE},{read},{other},{TWO},{TWO}]").as_bytes()).unwrap();
        assert_eq!(
            mended.text,
            format!("[{ONE},{other},{TWO},{TWO}]"),
            "the same id for another text is no copy"
        );
        assert_eq!(without_copies(mended.text.as_bytes()), None);
    }

    #[test]
    fn entries_move_over_once() {
        let joined = |there: &str, more: &str| with_entries_of(Some(there.as_bytes()), more.as_bytes());
        let moved = joined(&format!("[{ONE}]"), &format!("[{TWO},{ONE}]")).unwrap().unwrap();
        assert_eq!(json::elements(&moved).unwrap().len(), 2);
        assert_eq!(joined(&moved, &format!("[{TWO}]")), Ok(None));
        let fresh = with_entries_of(None, format!("[{ONE}]").as_bytes()).unwrap().unwrap();
        assert!(fresh.contains("1E2"), "{fresh}");
        assert!(joined("{", "[1]").is_err() && joined("[]", "{").is_err(), "what is broken is not touched");
    }
}
