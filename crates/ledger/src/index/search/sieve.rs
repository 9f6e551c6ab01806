//! A quick look at a text: whether it may have all words of a search.
//!
//! It may be wrong in one direction only: what it keeps back does not match. Texts are looked at as they stand in the log,
//! as JSON.

use memchr::memmem::Finder;

/// How a text passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// It lacks a word.
    Not,
    /// It may have all words, the last one as the start of another.
    Begun,
    /// It may have all words.
    Whole,
}

/// What the words of a search have in common with every text that has them.
pub(super) struct Sieve {
    parts: Vec<Part>,
}

/// The longest part of a word that is of letters and digits without accents, in small letters.
struct Part {
    finder: Finder<'static>,
    /// It is the start of its word.
    begins: bool,
    /// It is the end of its word.
    ends: bool,
    /// It is of the last word.
    is_last: bool,
}

impl Sieve {
    /// The sieve for these terms, of which each may be of several words.
    pub(super) fn new(terms: &[String]) -> Self {
        let is_word = |word: &&str| !word.is_empty();
        let words: Vec<&str> = terms
            .iter()
            .flat_map(|term| term.split(|c: char| !c.is_alphanumeric()).filter(is_word))
            .collect();
        let part = |(number, word): (usize, &&str)| {
            let run = word.split(|c: char| !c.is_ascii()).max_by_key(|run| run.len())?;
            let finder = Finder::new(run.to_ascii_lowercase().as_bytes()).into_owned();
            let is_last = number + 1 == words.len();
            let (begins, ends) = (word.starts_with(run), word.ends_with(run));
            (!run.is_empty()).then_some(Part { finder, begins, ends, is_last })
        };
        let mut parts: Vec<Part> = words.iter().enumerate().filter_map(part).collect();
        // The longest is likely to be the rarest.
        parts.sort_by_key(|part| std::cmp::Reverse(part.finder.needle().len()));
        Self { parts }
    }

    /// How a text passes. `room` is to work in.
    pub(super) fn judge(&self, text: &[u8], room: &mut Vec<u8>) -> Pass {
        room.clear();
        room.extend_from_slice(text);
        room.make_ascii_lowercase();
        let mut pass = Pass::Whole;
        for part in &self.parts {
            match part.look(room) {
                // A letter with an accent counts as the one without.
                Pass::Not | Pass::Begun if has_accents(text) => return Pass::Whole,
                Pass::Not => return Pass::Not,
                found if part.is_last => pass = found,
                Pass::Begun => return Pass::Not,
                Pass::Whole => {}
            }
        }
        pass
    }
}

impl Part {
    /// Looks for it in a text that is in small letters.
    fn look(&self, text: &[u8]) -> Pass {
        let mut pass = Pass::Not;
        for start in self.finder.find_iter(text) {
            let end = start + self.finder.needle().len();
            if self.begins && !is_start(text, start) {
                continue;
            }
            if !self.ends || !text.get(end).is_some_and(u8::is_ascii_alphanumeric) {
                return Pass::Whole;
            }
            pass = Pass::Begun;
        }
        pass
    }
}

/// Whether a word may begin there. What JSON writes for a line's end or another sign that cannot be seen ends with a letter
/// or digit.
fn is_start(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    !before.last().is_some_and(u8::is_ascii_alphanumeric) || before[at.saturating_sub(6)..].contains(&b'\\')
}

/// Whether a text has characters that may count as letters of ASCII, or as nothing: Latin letters, the signs that are put
/// over letters, and those for Kelvin and Ångström.
fn has_accents(text: &[u8]) -> bool {
    if text.is_ascii() {
        return false;
    }
    let counts =
        |c: char| matches!(c, '\u{c0}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' | '\u{212a}' | '\u{212b}');
    std::str::from_utf8(text).map_or(true, |text| text.chars().any(counts))
}

#[cfg(test)]
mod tests {
    use super::super::terms;
    use super::*;

    #[test]
    fn the_sieve_keeps_back_only_what_cannot_match() {
        use Pass::{Begun, Not, Whole};
        let rows = [
            ("build", "the BUILD is red", Whole),
            ("BUILD", "the build", Whole),
            ("build", "the builds", Begun),
            ("build", "rebuild it", Not),
            ("build", "rebuild the build", Whole),
            ("build", "a line\\nbuild", Whole),
            ("build", "an escape\\u001bbuild", Whole),
            ("build green", "the build is red", Not),
            ("build red", "the builds are red", Not),
            ("red build", "the builds are red", Begun),
            ("\"red build\"", "the build is red", Whole),
            ("foo-bar", "bar and foo", Whole),
            ("foo-bar", "foo and baz", Not),
            ("cafe", "in the caf\u{e9}", Whole),
            ("cafe", "in the cafe\u{301}", Whole),
            ("caf\u{e9}", "in the CAFE", Whole),
            ("\u{43f}\u{440}", "\u{41f}\u{420}", Whole),
            ("build", "\u{41f}\u{420}", Not),
            ("kelvin", "\u{212a}elvin", Whole),
            ("build", "\u{41f}build\u{420}", Whole),
            ("aa", "aaa aa", Whole),
        ];
        for (words, text, expected) in rows {
            let found = Sieve::new(&terms(words)).judge(text.as_bytes(), &mut Vec::new());
            assert_eq!(found, expected, "{words}: {text}");
        }
    }
}
