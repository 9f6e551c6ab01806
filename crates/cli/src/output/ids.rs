//! Ids for people.

use super::safe;

/// How many characters of an id are enough to name it.
const SHORT: usize = 8;
/// An id that is not much longer is shown whole.
const WHOLE: usize = 12;
/// So is one up to this, if somebody chose it.
const CHOSEN: usize = 24;

/// The end of an id: of a time-ordered id it is the part that differs. Commands accept it.
pub(crate) fn short(id: &str) -> String {
    let end = id.char_indices().rev().nth(SHORT - 1).map_or(0, |(at, _)| at);
    let is_number = id[end..].bytes().all(|byte| byte.is_ascii_hexdigit());
    let most = if is_number { WHOLE } else { CHOSEN };
    let start = if id.chars().count() <= most { 0 } else { end };
    safe::line(&id[start..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ids_are_shown_by_their_end() {
        assert_eq!(short("01a1e542-c42b-75da-a9bc-d9bd7906ec52"), "7906ec52");
        assert_eq!(short("msg-12345"), "msg-12345");
        assert_eq!(short("first-of-the-batch"), "first-of-the-batch");
        assert_eq!(short(&"x".repeat(100)), "xxxxxxxx");
        assert_eq!(short(""), "");
        assert_eq!(short("ä1234567890ö"), "ä1234567890ö");
    }
}
