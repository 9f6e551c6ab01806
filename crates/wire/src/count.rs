//! Numbers with their word, for text that people read.

use std::fmt::Display;

/// `1 message`, `2 messages`: a number with its word, which is given for one of them.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {one}");
    }
    match one.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ if one.ends_with(['s', 'x']) || one.ends_with("ch") => format!("{count} {one}es"),
        _ => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_in_the_number_of_what_it_counts() {
        let rows = [
            (0_u64, "look", "0 looks"),
            (1, "look", "1 look"),
            (2, "team", "2 teams"),
            (1, "inbox", "1 inbox"),
            (3, "inbox", "3 inboxes"),
            (2, "process", "2 processes"),
            (1, "entry", "1 entry"),
            (2, "entry", "2 entries"),
            (2, "day", "2 days"),
            (2, "unread message", "2 unread messages"),
        ];
        for (count, one, expected) in rows {
            assert_eq!(counted(count, one), expected);
        }
        assert_eq!(counted(1_usize, "step"), "1 step");
    }
}
