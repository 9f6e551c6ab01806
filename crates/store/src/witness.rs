//! What stood before our messages in the file when they were put there.
//!
//! Who drains an inbox takes all of it; who rewrites it without a lock writes what it read before, and so leaves what
//! stood there before ours. If ours is gone and one that stood before it is not, nobody has drained: ours was undone.
//!
//! A few are enough, and they are chosen so that they outlast others: the first entries of the file, which also a slow
//! writer had read that undid a hundred at once, and the last, should somebody have cleared away old ones.

use atm_wire::json::Object;
use atm_wire::message::Sketch;
use serde_json::value::RawValue;

/// How many are kept of each end.
const FEW: usize = 4;
/// How often the start of an entry is looked for in the end of a large file.
const TRIES: usize = 64;

/// Fingerprints of entries that stood before ours, in the order of the file; none if no message did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Witnesses(pub Vec<String>);

impl Witnesses {
    /// Those of a file whose entries, or lines, these are.
    pub(crate) fn among<T>(entries: &[T], fingerprint: impl Fn(&T) -> Option<String>) -> Self {
        let numbered = entries.iter().enumerate();
        let first: Vec<(usize, String)> =
            numbered.filter_map(|(at, entry)| Some((at, fingerprint(entry)?))).take(FEW).collect();
        let rest = &entries[first.last().map_or(0, |(at, _)| at + 1)..];
        let mut last: Vec<String> = if first.len() < FEW {
            Vec::new()
        } else {
            rest.iter().rev().filter_map(fingerprint).take(FEW).collect()
        };
        last.reverse();
        Self(first.into_iter().map(|(_, print)| print).chain(last).collect())
    }

    /// Those of an array of which only the first bytes, and the last before the end of its last element, are at hand.
    /// `None` if no entry is whole in either.
    pub(crate) fn at_the_ends(head: &[u8], tail: &[u8]) -> Option<Self> {
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        let first = head.trim_start().strip_prefix('[').map(|rest| elements(rest).0).unwrap_or_default();
        let first = first.into_iter().filter_map(of_entry).take(FEW);
        let mut last: Vec<String> =
            last_elements(&tail).into_iter().rev().filter_map(of_entry).take(FEW).collect();
        last.reverse();
        let found: Vec<String> = first.chain(last).collect();
        (!found.is_empty()).then_some(Self(found))
    }
}

/// The fingerprint of an entry that is a message.
pub(crate) fn of_entry(raw: &RawValue) -> Option<String> {
    Some(Sketch::of(&Object::parse(raw.get()).ok()?)?.fingerprint())
}

/// The elements of an array from here on, and whether they go up to the end of the text.
fn elements(text: &str) -> (Vec<&RawValue>, bool) {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(value)) = values.next() else { return (found, false) };
        found.push(value);
        rest = rest[values.byte_offset()..].trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return (found, rest.is_empty()),
        }
    }
}

/// The elements in the end of an array, which is cut off somewhere before. An element begins behind a comma, and from
/// there on all has to be elements: from inside of one, or of a string in it, that is never so.
fn last_elements(text: &str) -> Vec<&RawValue> {
    let bytes = text.as_bytes();
    let begins = |at: &usize| bytes[..*at].trim_ascii_end().ends_with(b",");
    let candidates = memchr::memchr_iter(b'{', bytes).filter(begins).take(TRIES);
    candidates
        .map(|at| elements(&text[at..]))
        .find(|(_, whole)| *whole)
        .map_or_else(Vec::new, |(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: usize) -> String {
        format!(
            r#"{{"from":"a","text":"{n} , {{}} , \"x\" ,{{","timestamp":"t","metadata":{{"o":[{{}},{{}}]}},"read":true}}"#
        )
    }

    fn prints(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
        numbers.into_iter().filter_map(|n| of_entry(&RawValue::from_string(entry(n)).unwrap())).collect()
    }

    #[test]
    fn the_first_and_the_last_are_kept_in_their_order() {
        let among = |count| {
            let raw: Vec<_> = (0..count).map(|n| RawValue::from_string(entry(n)).unwrap()).collect();
            Witnesses::among(&raw, |raw| of_entry(raw)).0
        };
        assert_eq!(among(0), prints([]));
        assert_eq!(among(3), prints(0..3));
        assert_eq!(among(6), prints(0..6));
        assert_eq!(among(100), prints([0, 1, 2, 3, 96, 97, 98, 99]));
    }

    #[test]
    fn both_ends_of_a_large_array_show_theirs_wherever_they_are_cut() {
        for separator in [",", ",\n  "] {
            let all: Vec<String> = (0..40).map(entry).collect();
            let text = format!("[\n  {}", all.join(separator));
            let one = entry(0).len();
            for cut in 1..3 * one {
                let (head, tail) =
                    (&text.as_bytes()[..5 * one], &text.as_bytes()[text.len() - 6 * one - cut..]);
                let found = Witnesses::at_the_ends(head, tail).unwrap().0;
                assert_eq!(found, prints([0, 1, 2, 3, 36, 37, 38, 39]), "cut at {cut}");
            }
        }
        assert_eq!(Witnesses::at_the_ends(b"[{\"from\":", b"cut off\"}"), None);
    }
}
