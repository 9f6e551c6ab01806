//! JSON with comments and trailing commas, as some programs have it in their settings.

use serde_json::Error;

use super::scan::Object;

/// The same text with blanks in place of comments and trailing commas: every value stands where it stood, so that a
/// [`Patch`](super::Patch) made of the result fits the original.
pub fn without_comments(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    while let Some(&byte) = out.get(at) {
        match byte {
            b'"' => {
                comma = None;
                at = end_of_string(&out, at);
            }
            b'/' if matches!(out.get(at + 1), Some(b'/' | b'*')) => {
                let end = end_of_comment(&out, at);
                blank(&mut out[at..end]);
                at = end;
            }
            b',' => {
                comma = Some(at);
                at += 1;
            }
            b'}' | b']' => {
                if let Some(trailing) = comma.take() {
                    out[trailing] = b' ';
                }
                at += 1;
            }
            byte => {
                if !byte.is_ascii_whitespace() {
                    comma = None;
                }
                at += 1;
            }
        }
    }
    // Only whole comments and ASCII were blanked.
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Whether `text` is an object once comments and trailing commas are left out.
pub fn check(text: &str) -> Result<(), Error> {
    Object::parse(&without_comments(text)).map(drop)
}

fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn end_of_comment(text: &[u8], start: usize) -> usize {
    let rest = &text[start + 2..];
    let length = if text[start + 1] == b'/' {
        rest.iter().position(|byte| *byte == b'\n')
    } else {
        rest.windows(2).position(|pair| pair == b"*/").map(|end| end + 2)
    };
    length.map_or(text.len(), |length| start + 2 + length)
}

/// Line breaks stay: a layout is read off them.
fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| !matches!(**byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_and_trailing_commas_become_blanks() {
        let text =
            "{ // a \"b\" ,\n  \"u\": \"http://x/*no*/,}\", /* é\n , */ \"l\": [1, 2, /* t */ ],\n}\n// end";
        let plain = without_comments(text);
        assert_eq!(plain.len(), text.len());
        let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value, serde_json::json!({ "u": "http://x/*no*/,}", "l": [1, 2] }));
        assert!(check("{/* open").is_err() && check("[]").is_err() && check("{\"a\": \"open}").is_err());
    }

    proptest! {
        #[test]
        fn nothing_moves_and_plain_json_stays(text in "[ -~\\néß]{0,60}", value in "[a-z/*,\" ]{0,12}") {
            prop_assert_eq!(without_comments(&text).len(), text.len());
            let json = serde_json::json!({ "k": value, "l": [value] }).to_string();
            prop_assert_eq!(without_comments(&json), json);
        }
    }
}
