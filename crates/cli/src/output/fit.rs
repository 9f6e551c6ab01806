//! Text in a given number of terminal columns: how wide it is, cut, and wrapped.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text, or its start with `…` where it takes more than `columns`.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let start = start_of(text, columns.saturating_sub(1));
    Cow::Owned(format!("{}…", text[..start].trim_end()))
}

/// A line in pieces of at most `columns`, between words where there are any. What it is indented by, each piece is.
pub(crate) fn wrap(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let indent = &line[..(line.len() - text.len()).min(columns / 2)];
    let room = columns.saturating_sub(indent.len()).max(8);
    let mut pieces = Vec::new();
    let mut rest = text.trim_end();
    while width(rest) > room {
        let hard = start_of(rest, room).max(rest.chars().next().map_or(0, char::len_utf8));
        // A space right behind the piece is a place to break it, too.
        let soft = if rest[hard..].starts_with(' ') { Some(hard) } else { rest[..hard].rfind(' ') };
        let end = soft.filter(|at| *at > 0).unwrap_or(hard);
        pieces.push(format!("{indent}{}", rest[..end].trim_end()));
        rest = rest[end..].trim_start();
    }
    pieces.push(format!("{indent}{rest}"));
    pieces
}

/// A line without the colours that we put there.
pub(crate) fn without_colours(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, text)| text));
    }
    plain
}

/// Where the start of a text ends that takes at most `columns`.
fn start_of(text: &str, columns: usize) -> usize {
    let mut used = 0;
    let is_over = |(_, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used > columns
    };
    text.char_indices().find(is_over).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_never_takes_more_than_it_may() {
        assert_eq!(cut("all of it", 9), "all of it");
        assert_eq!(cut("all of it", 8), "all of…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("漢字漢字", 4), "漢…");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn lines_are_wrapped_between_words_and_keep_their_indent() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("  one two three", 10), ["  one two", "  three"]);
        assert_eq!(wrap("abcdefghijkl", 8), ["abcdefgh", "ijkl"]);
        assert_eq!(wrap("漢字漢字漢字", 8), ["漢字漢字", "漢字"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("exactly8 and", 8), ["exactly8", "and"]);
    }
}
