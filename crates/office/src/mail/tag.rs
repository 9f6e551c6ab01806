//! The words before mail that waited: agents act on what begins with them, and pass over plain instructions.

/// How every tag begins.
const OPENING: &str = "[PENDING ACTION - ";

/// The text with a tag before it that says why it waited; in place of one that it has.
pub(crate) fn tagged(why: &str, text: &str) -> String {
    format!("{OPENING}{why}] {}", without(text))
}

/// Whether a text has a tag.
pub(crate) fn is_tagged(text: &str) -> bool {
    text.starts_with(OPENING)
}

/// The text without its tag.
pub(crate) fn without(text: &str) -> &str {
    let rest = text.strip_prefix(OPENING).and_then(|text| text.split_once("] "));
    rest.map_or(text, |(_, body)| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_tag_at_most() {
        let once = tagged("queued", "look");
        assert_eq!(once, "[PENDING ACTION - queued] look");
        assert_eq!(tagged("offered again", &once), "[PENDING ACTION - offered again] look");
        assert_eq!(without(&once), "look");
        assert_eq!(without("[PENDING ACTION - never closed"), "[PENDING ACTION - never closed");
        assert!(is_tagged(&once) && !is_tagged("look"));
    }
}
