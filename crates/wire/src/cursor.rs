//! How far a member has read its log inbox: `state.json`.

use crate::message::Flaw;
use crate::payload::field::{document, read};
use crate::stamp::Stamp;

/// A member's place in its log inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// How many lines are done with; the next one to read is the one after.
    pub last_processed_line: u64,
    /// The time of the last of them.
    pub last_processed_timestamp: Option<Stamp>,
}

impl Cursor {
    /// Reads the file. A missing or senseless line number is 0: mail offered twice is better than mail lost.
    pub fn parse(text: &str) -> Result<Cursor, Flaw> {
        let object = document(text)?;
        let line: Option<u64> = read(&object, &["lastProcessedLine", "last_processed_line"]);
        Ok(Cursor {
            last_processed_line: line.unwrap_or_default(),
            last_processed_timestamp: read(&object, &["lastProcessedTimestamp", "last_processed_timestamp"]),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"lastProcessedLine":42}"#, 42)]
    #[case(r#"{"lastProcessedLine":"42"}"#, 42)]
    #[case(r#"{"lastProcessedLine":-1}"#, 0)]
    #[case(r#"{"lastProcessedLine":null}"#, 0)]
    #[case("{}", 0)]
    fn lines(#[case] text: &str, #[case] line: u64) {
        assert_eq!(Cursor::parse(text).unwrap().last_processed_line, line);
    }

    #[test]
    fn times() {
        let cursor = Cursor::parse(r#"{"lastProcessedTimestamp":"2026-05-04T12:00:00Z"}"#).unwrap();
        assert_eq!(cursor.last_processed_timestamp.unwrap().to_string(), "2026-05-04T12:00:00.000Z");
        assert!(Cursor::parse("").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = Cursor::parse(&text);
        }
    }
}
