//! Text on the screen: made visible, cut and wrapped to columns; ages and ids in few letters.

use std::borrow::Cow;

use atm_wire::{Stamp, visible};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Foreign text for one line: what cannot be seen, or would be obeyed, is spelled out.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    visible::line(text)
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// As much of a text as fits, with a sign that something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        shown.push(c);
    }
    if columns > 0 {
        shown.push('…');
    }
    shown
}

/// A text, cut or filled up with blanks to exactly so many columns.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let mut shown = cut(text, columns);
    shown.push_str(&" ".repeat(columns.saturating_sub(width(&shown))));
    shown
}

/// The lines of a text, each at most so wide: broken between words where that goes. Foreign text is made visible.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = plain(&line.trim_end_matches('\r').replace('\t', "    ")).into_owned();
        wrap_line(&line, columns, &mut lines);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn wrap_line(line: &str, columns: usize, lines: &mut Vec<String>) {
    let mut current = String::new();
    for word in line.split_inclusive(' ') {
        if width(&current) + width(word.trim_end()) > columns && !current.trim().is_empty() {
            lines.push(std::mem::take(&mut current).trim_end().to_owned());
        }
        for c in word.chars() {
            if width(&current) + c.width().unwrap_or(0) > columns {
                if c == ' ' {
                    continue;
                }
                lines.push(std::mem::take(&mut current));
            }
            current.push(c);
        }
    }
    lines.push(current.trim_end().to_owned());
}

/// How long something is ago, in a few letters.
pub(crate) fn age(now: Stamp, at: Stamp) -> String {
    span(now.as_millis() - at.as_millis())
}

/// A span in a few letters.
pub(crate) fn span(milliseconds: i64) -> String {
    match milliseconds {
        ms if ms < SECOND => "now".to_owned(),
        ms if ms < MINUTE => format!("{} s", ms / SECOND),
        ms if ms < HOUR => format!("{} min", ms / MINUTE),
        ms if ms < 2 * DAY => format!("{} h", ms / HOUR),
        ms => format!("{} d", ms / DAY),
    }
}

/// A count with its noun.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_and_broken_where_it_must_be() {
        assert_eq!(wrap("please look at the build", 11), ["please look", "at the", "build"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("one\n\ntwo\n\n", 10), ["one", "", "two"]);
        assert_eq!(wrap("漢字漢字", 4), ["漢字", "漢字"]);
        assert_eq!(wrap("  indented", 20), ["  indented"]);
        assert!(wrap("", 5).is_empty());
        assert_eq!(wrap("\u{1b}[31m", 20), ["\\x1b[31m"]);
        for text in ["a b c", "漢", "👨\u{200d}👩\u{200d}👧 x"] {
            assert!(!wrap(text, 0).is_empty(), "no width is no reason to hang");
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        assert_eq!(cut("please look", 20), "please look");
        assert_eq!(cut("please look", 7), "please…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("x", 0), "");
        assert_eq!(fit("ab", 4), "ab  ");
        assert_eq!(width(&fit("漢字漢字", 6)), 6);
    }

    #[test]
    fn spans_have_one_unit() {
        let spans = [
            (0, "now"),
            (-5, "now"),
            (59_000, "59 s"),
            (60_000, "1 min"),
            (3_600_000, "1 h"),
            (200_000_000, "2 d"),
        ];
        for (milliseconds, wanted) in spans {
            assert_eq!(span(milliseconds), wanted);
        }
    }
}
