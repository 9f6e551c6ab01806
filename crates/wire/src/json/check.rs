//! Checking that a large text is one JSON array, in pieces, without holding it in memory.
//!
//! A whole inbox in memory costs more in page faults than in parsing. So an append to a large file streams it: each
//! piece is checked here while it is copied. Anything odd only makes the answer `None`; the caller then takes the
//! slow way, which can say what is wrong.

use memchr::memchr2;

/// What was learnt about an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// Where the last element ends; `None` for an empty array.
    pub last_end: Option<u64>,
    /// Where the closing bracket stands.
    pub close: u64,
}

/// An incremental check. Feed it pieces in order, of any size.
#[derive(Debug)]
pub struct ArrayCheck {
    state: State,
    /// The open containers: true for an object.
    open: Vec<bool>,
    at: u64,
    last_end: Option<u64>,
    close: u64,
    utf8: Utf8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    AfterValue,
    String { key: bool },
    Escape { key: bool },
    Hex { key: bool, left: u8 },
    Number(Number),
    Literal(Word, u8),
    Done,
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
    /// What has to follow its first letter.
    fn rest(self) -> &'static [u8] {
        match self {
            Self::True => b"rue",
            Self::False => b"alse",
            Self::Null => b"ull",
        }
    }
}

/// Where in a number we are; the names say what was last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Default for ArrayCheck {
    fn default() -> Self {
        Self { state: State::Start, open: Vec::new(), at: 0, last_end: None, close: 0, utf8: Utf8::default() }
    }
}

impl ArrayCheck {
    /// Looks at the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.state == State::Broken || !self.utf8.accepts(bytes) {
            self.state = State::Broken;
            return;
        }
        let mut index = 0;
        while let Some(&byte) = bytes.get(index) {
            match self.state {
                State::String { key } => {
                    index += plain_run(&bytes[index..]);
                    self.state = match bytes.get(index) {
                        None => break,
                        Some(b'"') if key => State::Colon,
                        Some(b'"') => self.value_ends(index + 1),
                        Some(b'\\') => State::Escape { key },
                        Some(_) => State::Broken,
                    };
                    index += 1;
                }
                State::Number(number) => match number.next(byte) {
                    Some(number) => {
                        self.state = State::Number(number);
                        index += 1;
                    }
                    // The number ended before this byte, which is looked at once more.
                    None if number.may_end() => self.state = self.value_ends(index),
                    None => self.state = State::Broken,
                },
                State::Broken => return,
                State::Escape { .. } | State::Hex { .. } | State::Literal(..) => {
                    self.state = self.inside(self.state, byte, index);
                    index += 1;
                }
                _ if SPACE[usize::from(byte)] => {
                    let rest = &bytes[index..];
                    index += rest.iter().position(|byte| !SPACE[usize::from(*byte)]).unwrap_or(rest.len());
                }
                state => {
                    self.state = self.between(state, byte, index);
                    index += 1;
                }
            }
        }
        self.at += bytes.len() as u64;
    }

    /// The outline, if all of it was one array.
    pub fn finish(self) -> Option<Outline> {
        (self.state == State::Done && self.utf8.is_complete())
            .then_some(Outline { last_end: self.last_end, close: self.close })
    }

    /// A byte inside an escape or a literal.
    fn inside(&mut self, state: State, byte: u8, index: usize) -> State {
        match (state, byte) {
            (State::Escape { key }, b'u') => State::Hex { key, left: 4 },
            (State::Escape { key }, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                State::String { key }
            }
            (State::Hex { key, left }, _) if byte.is_ascii_hexdigit() => {
                if left == 1 {
                    State::String { key }
                } else {
                    State::Hex { key, left: left - 1 }
                }
            }
            (State::Literal(word, at), _) => match &word.rest()[usize::from(at)..] {
                [expected] if *expected == byte => self.value_ends(index + 1),
                [expected, ..] if *expected == byte => State::Literal(word, at + 1),
                _ => State::Broken,
            },
            _ => State::Broken,
        }
    }

    /// A byte between values that is not white space.
    fn between(&mut self, state: State, byte: u8, index: usize) -> State {
        match (state, byte) {
            (State::Start, b'[') => self.opens(false),
            (State::Value | State::ValueOrEnd, _) => self.value_starts(state, byte, index),
            (State::Key | State::KeyOrEnd, b'"') => State::String { key: true },
            (State::Colon, b':') => State::Value,
            (State::AfterValue, b',') => {
                if self.open.last() == Some(&true) {
                    State::Key
                } else {
                    State::Value
                }
            }
            (State::KeyOrEnd | State::AfterValue, b'}') => self.closes(true, index),
            (State::AfterValue, b']') => self.closes(false, index),
            _ => State::Broken,
        }
    }

    fn value_starts(&mut self, state: State, byte: u8, index: usize) -> State {
        match byte {
            b'{' => self.opens(true),
            b'[' => self.opens(false),
            b'"' => State::String { key: false },
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            b't' => State::Literal(Word::True, 0),
            b'f' => State::Literal(Word::False, 0),
            b'n' => State::Literal(Word::Null, 0),
            b']' if state == State::ValueOrEnd => self.closes(false, index),
            _ => State::Broken,
        }
    }

    fn opens(&mut self, object: bool) -> State {
        self.open.push(object);
        if object { State::KeyOrEnd } else { State::ValueOrEnd }
    }

    fn closes(&mut self, object: bool, index: usize) -> State {
        if self.open.pop() != Some(object) {
            return State::Broken;
        }
        if self.open.is_empty() {
            self.close = self.at + index as u64;
            return State::Done;
        }
        self.value_ends(index + 1)
    }

    /// `end` counts in the current piece.
    fn value_ends(&mut self, end: usize) -> State {
        if self.open.len() == 1 {
            self.last_end = Some(self.at + end as u64);
        }
        State::AfterValue
    }
}

const SPACE: [bool; 256] = {
    let mut table = [false; 256];
    table[b' ' as usize] = true;
    table[b'\n' as usize] = true;
    table[b'\r' as usize] = true;
    table[b'\t' as usize] = true;
    table
};

/// What ends a run of plain bytes in a string.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

/// Most strings are keys and short: looking at this many bytes one by one beats a call of the vector search.
const SHORT: usize = 16;

/// How many bytes of a string go by before its end, an escape, or a control character.
fn plain_run(bytes: &[u8]) -> usize {
    let (short, long) = bytes.split_at(bytes.len().min(SHORT));
    if let Some(at) = short.iter().position(|byte| SPECIAL[usize::from(*byte)]) {
        return at;
    }
    let run = &long[..memchr2(b'"', b'\\', long).unwrap_or(long.len())];
    // The smallest, rather than the first below: so the compiler looks at many bytes at once.
    if run.iter().copied().fold(u8::MAX, u8::min) < 0x20 {
        return short.len() + run.iter().position(|byte| *byte < 0x20).unwrap_or(run.len());
    }
    short.len() + run.len()
}

impl Number {
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => Self::ExponentDigits,
            _ => return None,
        })
    }

    fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits)
    }
}

/// UTF-8 in pieces: a character may be cut by the end of one.
#[derive(Debug, Default)]
struct Utf8 {
    cut: Vec<u8>,
}

impl Utf8 {
    fn accepts(&mut self, mut bytes: &[u8]) -> bool {
        while !self.cut.is_empty() {
            let Some((first, rest)) = bytes.split_first() else { return true };
            self.cut.push(*first);
            bytes = rest;
            match std::str::from_utf8(&self.cut) {
                Ok(_) => self.cut.clear(),
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                self.cut.extend_from_slice(&bytes[error.valid_up_to()..]);
                true
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.cut.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{elements, span};
    use proptest::prelude::*;

    fn check(text: &[u8], piece: usize) -> Option<Outline> {
        let mut check = ArrayCheck::default();
        text.chunks(piece.max(1)).for_each(|piece| check.feed(piece));
        check.finish()
    }

    /// What the parser that we trust says.
    fn judge(text: &[u8]) -> Option<Outline> {
        let text = std::str::from_utf8(text).ok()?;
        let found = elements(text).ok()?;
        let last_end = found.last().map(|last| span(text, last.get()).end as u64);
        Some(Outline { last_end, close: text.trim_end().len() as u64 - 1 })
    }

    #[test]
    fn arrays_are_outlined_and_everything_else_is_not() {
        for text in [
            "[]",
            " [ ] ",
            "[1]",
            "[-0.5e+7 , 0,10]",
            r#"[{"a":[{}],"b":"\u00e9\"\\"},null ,true,false]"#,
            "[\"é✓😀\"]",
            "[[],{}]",
        ] {
            for piece in 1..=text.len() {
                assert_eq!(
                    check(text.as_bytes(), piece),
                    judge(text.as_bytes()),
                    "{text} in pieces of {piece}"
                );
                assert!(check(text.as_bytes(), piece).is_some(), "{text}");
            }
        }
        for text in [
            "",
            "{}",
            "[",
            "[1,]",
            "[,1]",
            "[01]",
            "[1.]",
            "[-]",
            "[1e]",
            "[tru]",
            "[\"a]",
            "[\"\n\"]",
            "[\"\\x\"]",
            "[\"\\u12g4\"]",
            "[}",
            "[{]",
            "[{\"a\"}]",
            "[{\"a\":}]",
            "[{\"a\":1,}]",
            "[1 2]",
            "[]x",
            "[][]",
            "nul",
            "\u{feff}[]",
            "[1]]",
        ] {
            assert_eq!(check(text.as_bytes(), 3), None, "{text}");
        }
        assert_eq!(check(b"[\"\xff\"]", 2), None);
    }

    proptest! {
        #[test]
        fn it_judges_as_the_parser_does(
            parts in prop::collection::vec(prop::sample::select(vec![
                "[", "]", "{", "}", ",", ":", "\"a\"", "\"\\n\"", "1", "-2.5e3", "null", "true", " ", "\n", "é", "\"✓\"", "\\", "\"",
            ]), 0..14),
            piece in 1usize..9,
        ) {
            let text = format!("[{}]", parts.concat());
            prop_assert_eq!(check(text.as_bytes(), piece), judge(text.as_bytes()), "{}", text);
        }

        #[test]
        fn a_changed_byte_is_judged_as_the_parser_does(at in 0usize..120, byte in any::<u8>(), piece in 1usize..40) {
            let mut text = br#"[ {"from": "a\u0041", "n": -1.5E+2, "x": [true, null]}, {"text": "h\u00e9 \" \\ /", "read": false} ]"#.to_vec();
            let at = at % text.len();
            text[at] = byte;
            prop_assert_eq!(check(&text, piece), judge(&text), "{:?}", String::from_utf8_lossy(&text));
        }
    }
}
