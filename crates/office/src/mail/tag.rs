//! The words before mail that waited: agents act on what begins with them, and pass over plain instructions.

use std::fmt;

use atm_wire::Stamp;

/// How every tag of ours begins.
const OPENING: &str = "[PENDING ACTION - ";
/// How tags begin that somebody wrote by hand: agents act on these as well.
const BY_HAND: [&str; 2] = ["[PENDING ACTION", "[OFFLINE MESSAGE"];

/// Why mail waited.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Waited {
    /// Its recipient was offline when it was sent.
    Queued { at: Stamp },
    /// Nobody acted on it; so often it was offered again.
    Offered { number: u32, sent: Stamp },
    /// Its recipient's client took it and ended.
    Lost { sent: Stamp },
    /// It lay unread while its recipient was offline.
    Unread { since: Stamp },
    /// Others wrote it while its recipient was offline.
    Noted,
}

/// What each kind of tag begins and ends with; between them are times and numbers. A tag of another shape is somebody's
/// own words.
const SHAPES: [(&str, &str); 5] = [
    ("queued while offline at ", ""),
    ("offered again, number ", ""),
    ("taken by your client after ", ", and not shown to you before it ended"),
    ("unread since ", ", before you returned"),
    ("written while you were off", ""),
];

impl fmt::Display for Waited {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [queued, offered, lost, unread, noted] = SHAPES;
        match self {
            Self::Queued { at } => write!(f, "{}{at}{}", queued.0, queued.1),
            Self::Offered { number, sent } => {
                write!(f, "{}{number}, sent at {sent}{}", offered.0, offered.1)
            }
            Self::Lost { sent } => write!(f, "{}{sent}{}", lost.0, lost.1),
            Self::Unread { since } => write!(f, "{}{since}{}", unread.0, unread.1),
            Self::Noted => write!(f, "{}{}", noted.0, noted.1),
        }
    }
}

/// The text with a tag before it that says why it waited; in place of one of ours that it has. A text that somebody
/// tagged by hand stays as it is: the tag is part of their words.
pub(crate) fn tagged(why: Waited, text: &str) -> String {
    let body = without(text);
    // Nothing was taken off, and there is a tag: theirs.
    if body.len() == text.len() && is_tagged(text) {
        return text.to_owned();
    }
    format!("{OPENING}{why}] {body}")
}

/// Whether a text has a tag.
pub(crate) fn is_tagged(text: &str) -> bool {
    BY_HAND.iter().any(|opening| text.trim_start().starts_with(opening))
}

/// The text without a tag of ours.
pub(crate) fn without(text: &str) -> &str {
    let rest = text.strip_prefix(OPENING).and_then(|text| text.split_once("] "));
    rest.filter(|(why, _)| is_ours(why)).map_or(text, |(_, body)| body)
}

/// Whether a tag says what ours say, and nothing else.
fn is_ours(why: &str) -> bool {
    let between = |(start, end): &(&str, &str)| why.strip_prefix(start)?.strip_suffix(end);
    let is_value = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    SHAPES.iter().filter_map(between).any(|rest| {
        let rest = rest.replace(", sent at ", " ");
        rest.is_empty() || rest.split(' ').all(is_value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Stamp {
        Stamp::from_millis(1_795_000_000_000)
    }

    #[test]
    fn a_text_has_one_tag_at_most() {
        let all = [
            Waited::Queued { at: at() },
            Waited::Offered { number: 12, sent: at() },
            Waited::Lost { sent: at() },
            Waited::Unread { since: at() },
            Waited::Noted,
        ];
        for first in all {
            let once = tagged(first, "look");
            assert_eq!(once, format!("[PENDING ACTION - {first}] look"));
            assert_eq!(without(&once), "look");
            assert!(is_tagged(&once) && !is_tagged("look"));
            for next in all {
                assert_eq!(tagged(next, &once), format!("[PENDING ACTION - {next}] look"));
            }
        }
        assert_eq!(without("[PENDING ACTION - never closed"), "[PENDING ACTION - never closed");
    }

    /// What somebody wrote between the brackets was replaced by our own words, and so lost to its reader.
    #[test]
    fn words_in_a_tag_that_somebody_wrote_by_hand_stay() {
        for by_hand in [
            "[PENDING ACTION] look",
            "[OFFLINE MESSAGE - answer] look",
            "[PENDING ACTION: x] look",
            "[PENDING ACTION - deploy before noon] look",
            "[PENDING ACTION - queued while offline at the customer's: call back] look",
            "[PENDING ACTION - offered again, number to call is 555] look",
            "[PENDING ACTION - unread since Monday, before you returned] look",
        ] {
            assert_eq!(tagged(Waited::Queued { at: at() }, by_hand), by_hand);
            assert_eq!(without(by_hand), by_hand);
        }
    }
}
