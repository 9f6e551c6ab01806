//! JSON with comments and trailing commas, as some programs have it in their settings.

/// The same text with blanks in place of comments: every value stands where it stood, so that a
/// [`Patch`](super::Patch) made of the result fits the original.
pub fn without_comments(text: &str) -> String {
    blanked(text, false)
}

/// The same with blanks in place of trailing commas, too.
pub fn without_comments_and_commas(text: &str) -> String {
    blanked(text, true)
}

fn blanked(text: &str, commas: bool) -> String {
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
                if let Some(trailing) = comma.take().filter(|_| commas) {
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
        let plain = without_comments_and_commas(text);
        assert_eq!(plain.len(), text.len());
        let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value, serde_json::json!({ "u": "http://x/*no*/,}", "l": [1, 2] }));
        assert_eq!(without_comments("{ /* , */ \"a\": 1, // b\n }"), "{         \"a\": 1,     \n }");
        for open in ["{/* open", "{\"a\": \"open}"] {
            assert!(serde_json::from_str::<serde_json::Value>(&without_comments_and_commas(open)).is_err());
        }
    }

    proptest! {
        #[test]
        fn nothing_moves_and_plain_json_stays(text in "[ -~\\néß]{0,60}", value in "[a-z/*,\" ]{0,12}") {
            prop_assert_eq!(without_comments(&text).len(), text.len());
            prop_assert_eq!(without_comments_and_commas(&text).len(), text.len());
            let json = serde_json::json!({ "k": value, "l": [value] }).to_string();
            prop_assert_eq!(&without_comments(&json), &json);
            prop_assert_eq!(without_comments_and_commas(&json), json);
        }
    }
}
