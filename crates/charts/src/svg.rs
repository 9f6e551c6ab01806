//! What all pictures are made of.

use crate::style::Style;

/// Text for XML. What XML does not allow at all becomes U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// The beginning of a picture: its size, its title, its ground.
pub(crate) fn begin(width: i64, height: i64, title: &str, style: Style) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\"><title>{}</title>{}\
         <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>",
        escape(title),
        style.element()
    )
}

/// The first `most` characters, and a sign that there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(
            escape("</text><script>\u{1b}\"&\u{ffff}"),
            "&lt;/text&gt;&lt;script&gt;\u{fffd}&quot;&amp;\u{fffd}"
        );
    }

    #[test]
    fn a_cut_is_shown_and_counts_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
    }
}
