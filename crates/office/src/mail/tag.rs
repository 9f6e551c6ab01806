//! The words before mail that waited: agents act on what begins with them, and pass over plain instructions.

/// How every tag of ours begins.
const OPENING: &str = "[PENDING ACTION - ";
/// How tags begin that somebody wrote by hand: agents act on these as well.
const BY_HAND: [&str; 2] = ["[PENDING ACTION", "[OFFLINE MESSAGE"];

/// The text with a tag before it that says why it waited; in place of one of ours that it has. A text that somebody
/// tagged by hand stays as it is: the tag is part of their words.
pub(crate) fn tagged(why: &str, text: &str) -> String {
    if is_tagged(text) && !text.starts_with(OPENING) {
        return text.to_owned();
    }
    format!("{OPENING}{why}] {}", without(text))
}

/// Whether a text has a tag.
pub(crate) fn is_tagged(text: &str) -> bool {
    BY_HAND.iter().any(|opening| text.trim_start().starts_with(opening))
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
        for by_hand in
            ["[PENDING ACTION] look", "[OFFLINE MESSAGE - answer] look", "[PENDING ACTION: x] look"]
        {
            assert_eq!(tagged("queued", by_hand), by_hand);
        }
    }
}
