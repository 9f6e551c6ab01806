//! Taking the elements of an array out of a text that comes in pieces, one at a time.

use memchr::memchr2;

/// Splits an array that comes in pieces. Of what is no array, [`Splitter::finish`] says so; an element that is cut out
/// here may still be no JSON, which its parser will find. All bytes of the text are given, in their order.
#[derive(Debug, Default)]
pub struct Splitter {
    at: At,
    /// What stands before the next element.
    before: Vec<u8>,
    /// The element that is being read.
    element: Vec<u8>,
    depth: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the array.
    #[default]
    Start,
    /// Behind the bracket: an element, or the end.
    First,
    /// Behind a comma: an element.
    Next,
    /// In an element that is a number or a word.
    Word,
    /// In an element that is an object or an array, outside of strings.
    Inside,
    /// In a string.
    String,
    /// Behind a backslash in a string.
    Escape,
    /// Behind an element: a comma, or the end.
    Behind,
    /// Behind the array.
    End,
    /// This is no array.
    Broken,
}

impl Splitter {
    /// Takes the next piece, and gives every element that ends in it, with what stands before it.
    pub fn feed(&mut self, piece: &[u8], mut each: impl FnMut(&[u8], &[u8])) {
        let mut rest = piece;
        while !rest.is_empty() && self.at != At::Broken {
            rest = self.step(rest, &mut each);
        }
    }

    /// What stands behind the last element, if all of it was one array.
    pub fn finish(self) -> Option<Vec<u8>> {
        (self.at == At::End).then_some(self.before)
    }

    /// Takes one byte, or as many as are of no interest; gives what is left.
    fn step<'p>(&mut self, rest: &'p [u8], each: &mut impl FnMut(&[u8], &[u8])) -> &'p [u8] {
        let byte = rest[0];
        match self.at {
            At::Start if byte == b'[' => self.pass(byte, At::First),
            At::First | At::Behind if byte == b']' => self.pass(byte, At::End),
            At::Behind if byte == b',' => self.pass(byte, At::Next),
            At::Start | At::First | At::Next | At::Behind | At::End if byte.is_ascii_whitespace() => {
                self.pass(byte, self.at);
            }
            At::First | At::Next if b",]}:".contains(&byte) => self.at = At::Broken,
            At::First | At::Next => {
                self.at = self.begin(byte);
                self.element.push(byte);
            }
            At::Word if byte.is_ascii_whitespace() || byte == b',' || byte == b']' => {
                self.give(each);
                return rest;
            }
            At::Word => self.element.push(byte),
            At::Inside => {
                self.element.push(byte);
                match byte {
                    b'"' => self.at = At::String,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.leave(each),
                    _ => {}
                }
            }
            At::String => {
                let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                self.element.extend_from_slice(&rest[..plain]);
                let Some(&found) = rest.get(plain) else { return &[] };
                self.element.push(found);
                match found {
                    b'\\' => self.at = At::Escape,
                    _ if self.depth == 0 => self.give(each),
                    _ => self.at = At::Inside,
                }
                return &rest[plain + 1..];
            }
            At::Escape => {
                self.element.push(byte);
                self.at = At::String;
            }
            At::Start | At::Behind | At::End | At::Broken => self.at = At::Broken,
        }
        &rest[1..]
    }

    /// Goes over a byte between elements.
    fn pass(&mut self, byte: u8, to: At) {
        self.before.push(byte);
        self.at = to;
    }

    fn begin(&mut self, byte: u8) -> At {
        match byte {
            b'{' | b'[' => {
                self.depth = 1;
                At::Inside
            }
            b'"' => At::String,
            _ => At::Word,
        }
    }

    fn leave(&mut self, each: &mut impl FnMut(&[u8], &[u8])) {
        self.depth -= 1;
        if self.depth == 0 {
            self.give(each);
        }
    }

    fn give(&mut self, each: &mut impl FnMut(&[u8], &[u8])) {
        each(&self.before, &self.element);
        self.before.clear();
        self.element.clear();
        self.at = At::Behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::elements;
    use proptest::prelude::*;

    fn split(text: &[u8], piece: usize) -> Option<Vec<String>> {
        let mut splitter = Splitter::default();
        let (mut found, mut all) = (Vec::new(), Vec::new());
        for piece in text.chunks(piece) {
            splitter.feed(piece, |before, element| {
                all.extend([before, element].concat());
                found.push(String::from_utf8_lossy(element).into_owned());
            });
        }
        let rest = splitter.finish()?;
        all.extend(rest);
        assert_eq!(all, text, "no byte is lost");
        Some(found)
    }

    #[test]
    fn whatever_the_pieces_are_the_elements_are_the_same() {
        let text = r#" [ {"a":"]},\"[","b":[1,{"c":null}]} ,"x\\\"y" , 1E2,true,[],{} ,"" ] "#;
        let expected: Vec<&str> = elements(text).unwrap().iter().map(|raw| raw.get()).collect();
        for piece in 1..=text.len() {
            assert_eq!(split(text.as_bytes(), piece).unwrap(), expected, "{piece}");
        }
        assert_eq!(split(b"[]", 1).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_array_is_none() {
        for text in
            ["", "{}", "[", "[1", "[1,]", "[,1]", "[1 2]", "[1]]", "[1] x", "\u{feff}[1]", "[\"a]", "[}]"]
        {
            assert_eq!(split(text.as_bytes(), 3), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn arrays_are_split_as_they_are_parsed(
            values in prop::collection::vec("[ -~äé\\n]{0,12}", 0..6), piece in 1usize..9, pretty: bool,
        ) {
            let value = serde_json::json!(values.iter().map(|text| serde_json::json!({ text: [text, 1, null] })).collect::<Vec<_>>());
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let expected: Vec<String> = elements(&text).unwrap().iter().map(|raw| raw.get().to_owned()).collect();
            prop_assert_eq!(split(text.as_bytes(), piece), Some(expected));
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1usize..9) {
            let _ = split(&bytes, piece);
        }
    }
}
