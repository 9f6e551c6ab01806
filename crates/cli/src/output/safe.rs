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
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
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
}
