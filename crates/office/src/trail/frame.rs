//! Mail as it stands in a conversation: `<teammate-message teammate_id="FROM"…>`, the text, `</teammate-message>`.
//!
//! A frame inside another is quoted mail and no frame of its own. Newest clients keep a closing tag in a text from ending
//! its frame; in older ones a text can hold a whole frame, so tags are counted, and a message that is known is compared as
//! a whole before anything is split.

use atm_wire::payload::{Content, Payload, classify};

use crate::mail::tag;

const OPENING: &str = "<teammate-message ";
const CLOSING: &str = "</teammate-message>";
/// How newest clients write a closing tag that stands in a text.
const CLOSING_ESCAPED: &str = "<\\/teammate-message>";

/// A frame, with all that follows its opening tag in the same text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// The sender, as the tag spells it.
    from: &'a str,
    /// Behind the opening tag's line.
    rest: &'a str,
}

/// A message as it can stand in a frame: without the tag of mail that waited, which it may have got, or changed, since.
#[derive(Debug)]
pub(crate) struct Body {
    from: String,
    spellings: [String; 2],
    /// Newest clients add a paragraph of their own to a request to shut down.
    may_be_longer: bool,
}

impl Body {
    pub(crate) fn new(from: &str, text: &str) -> Self {
        let plain = tag::without(text);
        let is_shutdown = matches!(
            classify(plain, None),
            Content::Protocol(parsed) if matches!(parsed.payload, Payload::ShutdownRequest(_))
        );
        Self {
            from: from.replace('"', "&quot;"),
            spellings: [plain.to_owned(), plain.replace(CLOSING, CLOSING_ESCAPED)],
            may_be_longer: is_shutdown,
        }
    }

    /// How long the frame is behind its opening tag, if this is what stands in it.
    pub(crate) fn length_in(&self, frame: &Frame) -> Option<usize> {
        if frame.from != self.from {
            return None;
        }
        let inner = tag::without(frame.rest);
        let before = frame.rest.len() - inner.len();
        self.spellings.iter().find_map(|body| {
            let after = inner.strip_prefix(body.as_str())?;
            let end = if self.may_be_longer && after.starts_with('\n') {
                after.find(CLOSING)?
            } else {
                after.starts_with(&format!("\n{CLOSING}")).then_some(1)?
            };
            Some(before + body.len() + end + CLOSING.len())
        })
    }
}

/// The next frame of a text from `at` on, and where the text behind its opening tag begins.
pub(crate) fn next_frame(text: &str, at: usize) -> Option<(Frame<'_>, usize)> {
    let mut from = at;
    loop {
        let start = from + text.get(from..)?.find(OPENING)?;
        from = start + OPENING.len();
        // A tag in the middle of a line is somebody's words.
        let begins_line = start == 0 || text[..start].ends_with('\n');
        let Some(end) = text[from..].find(">\n").filter(|_| begins_line) else { continue };
        let attributes = &text[from..from + end];
        let name = attributes.strip_prefix("teammate_id=\"").and_then(|rest| rest.split_once('"'));
        let Some((name, _)) = name.filter(|_| !attributes.contains('\n')) else { continue };
        let rest = from + end + 2;
        return Some((Frame { from: name, rest: &text[rest..] }, rest));
    }
}

impl Frame<'_> {
    /// How long it is behind its opening tag where nobody knows what stands in it: up to the closing tag that belongs to it.
    pub(crate) fn length(&self) -> usize {
        let mut depth = 1_usize;
        let mut at = 0;
        loop {
            let Some(close) = self.rest[at..].find(CLOSING) else {
                // Unbalanced: then the first one ends it.
                return self.rest.find(CLOSING).map_or(self.rest.len(), |close| close + CLOSING.len());
            };
            depth += next_openings(&self.rest[at..at + close]);
            depth -= 1;
            at += close + CLOSING.len();
            if depth == 0 {
                return at;
            }
        }
    }
}

/// How many frames begin in a text.
fn next_openings(text: &str) -> usize {
    let mut at = 0;
    std::iter::from_fn(|| {
        at = next_frame(text, at)?.1;
        Some(())
    })
    .count()
}
