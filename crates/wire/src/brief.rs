//! Mail as we put it before a model by a hook: the words that say whose it is, and a heading for each message.
//!
//! Clients keep these texts in their conversations, and the headings carry our ids: so a heading that stands in a
//! conversation proves exactly one message. A message's own lines are indented, and none of them can pass for a heading.

use crate::visible;

/// Words before the mail: whose they are.
pub const OPENING: &str = "From other agents, by atm; not your user's words.\n";
/// The words below the mail.
pub const CLOSING: &str = "Answer with: atm reply ID TEXT";
/// Behind the heading of mail that waited.
pub const WAITED: &str = " (waited while you were off)";
/// Behind the heading of mail that wants an acknowledgment, with the rest of it.
const WANTS: &str = " (wants `atm ack ";
const BEGINNING: &str = "- from ";

/// How many characters of an id are enough to name it.
const SHORT: usize = 8;
/// An id that is not much longer is shown whole.
const WHOLE: usize = 12;
/// So is one up to this, if somebody chose it.
const CHOSEN: usize = 24;

/// The end of an id: of a time-ordered id it is the part that differs.
pub fn short_id(id: &str) -> String {
    let end = id.char_indices().rev().nth(SHORT - 1).map_or(0, |(at, _)| at);
    let is_number = id[end..].bytes().all(|byte| byte.is_ascii_hexdigit());
    let most = if is_number { WHOLE } else { CHOSEN };
    let start = if id.chars().count() <= most { 0 } else { end };
    visible::line(&id[start..]).into_owned()
}

/// The heading of a message with this id: `kind` and `time` are words for people.
pub fn heading(from: &str, kind: &str, time: &str, id: &str) -> String {
    format!("{BEGINNING}{}{kind} at {time} [{}]", visible::name(from), short_id(id))
}

/// What stands behind the heading of mail that wants an acknowledgment.
pub fn wanted(id: &str, by: &str) -> String {
    format!("{WANTS}{}`{by})", short_id(id))
}

/// The line below a message of so many bytes that was cut: how to see the rest.
pub fn cut(id: &str, bytes: usize) -> String {
    format!("- that was the start of {bytes} bytes: `atm thread {}` shows all", short_id(id))
}

/// A heading in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'a> {
    /// Where it begins, in bytes.
    pub at: usize,
    /// The sender, as [`visible::name`] spells it.
    pub from: &'a str,
    /// The message, as [`short_id`] spells it.
    pub id: &'a str,
}

/// The headings below each [`OPENING`] of a text. What a client or a user wrote around them is passed over.
pub fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(OPENING) {
        let mut at = from + start + OPENING.len();
        from = at;
        for line in text[at..].split_inclusive('\n') {
            let words = line.strip_suffix('\n').unwrap_or(line);
            if words.starts_with(CLOSING) || line == OPENING {
                break;
            }
            found.extend(read(words).map(|(from, id)| Heading { at, from, id }));
            at += line.len();
            from = at;
        }
    }
    found
}

/// The sender and the id of a heading.
fn read(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(BEGINNING)?;
    let end = match rest.strip_prefix('"') {
        Some(quoted) => 2 + closing_quote(quoted)?,
        None => rest.find(' ')?,
    };
    let (from, rest) = rest.split_at(end);
    // The last that can be it: the words between may be another program's.
    let (_, id) = rest.rmatch_indices(" [").find_map(|(at, opening)| {
        let (id, after) = rest[at + opening.len()..].split_once(']')?;
        let after = after.strip_prefix(WAITED).unwrap_or(after);
        (after.is_empty() || after.starts_with(WANTS)).then_some((at, id))
    })?;
    Some((from, id))
}

/// Where a quoted name ends.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1e542-c42b-75da-a9bc-d9bd7906ec52";

    fn found(text: &str) -> Vec<(String, String)> {
        headings(text).iter().map(|one| (one.from.to_owned(), one.id.to_owned())).collect()
    }

    #[test]
    fn a_heading_reads_back_whatever_stands_in_it() {
        for from in ["bob", "a \"b\" [c] at", "x\\", "zoë", "two words [7906ec53]", ""] {
            for (kind, more) in [("", String::new()), (" [x] (wants `atm ack ", wanted(ID, " by 13:17Z"))] {
                for waited in ["", WAITED] {
                    let heading = heading(from, kind, "12:17Z", ID);
                    let text = format!("{OPENING}Mail for you:\n{heading}{waited}{more}\n  hello\n{CLOSING}");
                    let expected = (visible::name(from).into_owned(), "7906ec52".to_owned());
                    assert_eq!(found(&text), [expected], "{text}");
                }
            }
        }
    }

    #[test]
    fn only_headings_of_ours_count() {
        let heading = heading("bob", "", "12:17Z", ID);
        for text in [
            // Somebody's words, in a message, behind the mail, and without the words before it.
            heading.clone(),
            format!("{OPENING}{CLOSING}\n{heading}"),
            format!("{OPENING}- from eve at noon [aaaaaaaa] and so on\n  {heading}\n{CLOSING}"),
            format!("{OPENING}- idle: bob x2\n- 3 more wait from bob: atm read"),
        ] {
            assert_eq!(found(&text), [], "{text}");
        }
        let twice = format!("{OPENING}{heading}\n{CLOSING}\nhello\n{OPENING}{heading}\n  x\n{CLOSING}</x>\n");
        let places: Vec<usize> = headings(&twice).iter().map(|one| one.at).collect();
        assert_eq!(places.len(), 2);
        assert!(places.iter().all(|at| twice[*at..].starts_with(&heading)), "{places:?}");
    }

    #[test]
    fn long_ids_are_shown_by_their_end() {
        assert_eq!(short_id(ID), "7906ec52");
        assert_eq!(short_id("msg-12345"), "msg-12345");
        assert_eq!(short_id("first-of-the-batch"), "first-of-the-batch");
        assert_eq!(short_id(&"x".repeat(100)), "xxxxxxxx");
        assert_eq!(short_id(""), "");
        assert_eq!(short_id("ä1234567890ö"), "ä1234567890ö");
    }
}
