//! Answers stay small: contexts are, and some clients cut what is longer.

use serde_json::Value;

use crate::squeeze::squeezed;

/// About what one answer may have, in bytes of JSON. Clients cut or set aside what is much longer.
pub(crate) const BUDGET: usize = 10_000;
/// A text that would fill an answer alone is cut at this many bytes of JSON.
pub(crate) const LONGEST_TEXT: usize = 8_000;

/// How many of the first items go into one answer; always one, if there is any.
pub(crate) fn fitting<'a>(items: impl IntoIterator<Item = &'a Value>) -> usize {
    let mut left = BUDGET;
    let mut count = 0;
    for item in items {
        let size = item.to_string().len();
        if count > 0 && size > left {
            break;
        }
        left = left.saturating_sub(size);
        count += 1;
    }
    count
}

/// The items from `offset` on that fit, and where the rest begins. One that is too long for any answer is squeezed.
pub(crate) fn page(items: Vec<Value>, offset: usize) -> (Vec<Value>, Option<usize>) {
    let total = items.len();
    let (mut some, mut left) = (Vec::new(), BUDGET);
    for item in items.into_iter().skip(offset) {
        let item = squeezed(item, BUDGET);
        let size = item.to_string().len();
        if size > left {
            break;
        }
        left -= size;
        some.push(item);
    }
    let next = offset.saturating_add(some.len());
    let more = !some.is_empty() && next < total;
    (some, more.then_some(next))
}

/// A part of a text that begins and ends between characters and has at most `length` bytes in JSON, and where the rest
/// begins.
pub(crate) fn part(text: &str, offset: usize, length: usize) -> (&str, Option<usize>) {
    let start = boundary(text, offset);
    let mut used = 0;
    let mut end = start;
    for char in text[start..].chars() {
        used += spelled(char);
        if used > length {
            break;
        }
        end += char.len_utf8();
    }
    (&text[start..end], (end < text.len()).then_some(end))
}

/// How many bytes a character has in JSON.
fn spelled(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        char if char < ' ' => 6,
        char => char.len_utf8(),
    }
}

/// The last place between characters that is not behind `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_follow_each_other_without_gap_or_repetition() {
        let items: Vec<Value> = (0..100).map(|n| json!(format!("{n:0>500}"))).collect();
        let (mut all, mut offset) = (Vec::new(), Some(0));
        while let Some(from) = offset {
            let (some, next) = page(items.clone(), from);
            assert!(!some.is_empty() && some.len() < 25);
            all.extend(some);
            offset = next;
        }
        assert_eq!(all, items);
        assert_eq!(page(items, usize::MAX), (Vec::new(), None));
    }

    #[test]
    fn one_item_always_fits_and_none_is_too_long() {
        let huge = json!("x".repeat(1_000_000));
        assert_eq!(fitting([&huge, &huge]), 1);
        assert_eq!(fitting([]), 0);
        let (some, next) = page(vec![huge; 5], 0);
        assert!(json!(some).to_string().len() <= BUDGET + 10);
        assert_eq!((some.len(), next), (2, Some(2)));
    }

    #[test]
    fn a_text_is_cut_between_characters_and_counted_as_json_spells_it() {
        for text in ["äöü".repeat(3_000), "\u{1}\n\"x".repeat(2_000)] {
            let (mut whole, mut offset) = (String::new(), Some(0));
            while let Some(from) = offset {
                let (some, next) = part(&text, from, 1_001);
                let size = json!(some).to_string().len() - 2;
                assert!((995..=1_001).contains(&size) || next.is_none(), "{size}");
                whole.push_str(some);
                offset = next;
            }
            assert_eq!(whole, text);
        }
        assert_eq!(part("abc", usize::MAX, 5), ("", None));
        assert_eq!(part("abc", 0, 0), ("", Some(0)));
    }
}
