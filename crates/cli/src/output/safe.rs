//! Foreign text on a terminal: control characters are shown, not obeyed.

use std::borrow::Cow;
use std::fmt::Write;

/// Text of several lines: line breaks and tabs stay.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| c == '\n' || c == '\t')
}

/// Text for one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// JSON: outside of its strings only white space can be dangerous, and inside them an escape means the same.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    escape_json(text, |c| c == '\n' || c == '\t')
}

/// JSON on one line, even where a value that is passed on as it stands spans several.
pub(crate) fn json_line(text: &str) -> Cow<'_, str> {
    escape_json(text, |_| false)
}

fn escape_json(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| is_dangerous(c) && !stays(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            // JSON has no control characters in its strings, so this is white space.
            '\n' | '\r' | '\t' if bad(c) => {}
            c if bad(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn escape(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| is_dangerous(c) && !stays(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if bad(c) => out.push_str("\\n"),
            '\r' if bad(c) => out.push_str("\\r"),
            '\t' if bad(c) => out.push_str("\\t"),
            c if bad(c) && u32::from(c) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if bad(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Control characters, and those that turn the direction of text around or hide in it.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_shown() {
        assert_eq!(lines("a\u{1b}[31mred\u{7}\r\n\tb"), "a\\x1b[31mred\\x07\\r\n\tb");
        assert_eq!(line("a\nb\u{9b}c\u{202e}d"), "a\\nb\\x9bc\\u{202e}d");
        assert!(matches!(lines("plain é ✓"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_says_the_same_and_is_harmless() {
        let text = "{\"a\": [1,\r\n\t2], \"b\": \"\u{9b}31m\u{202e}\u{7f}\"}";
        assert_eq!(json(text), "{\"a\": [1,\n\t2], \"b\": \"\\u009b31m\\u202e\\u007f\"}");
        assert_eq!(json_line(text), "{\"a\": [1,2], \"b\": \"\\u009b31m\\u202e\\u007f\"}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&json_line(text)), read(text));
    }
}
