//! Checking an array inbox in pieces: only one entry at a time is in memory, however large the file is.

use std::collections::HashSet;

use super::LARGEST;
use super::finding::{Finding, Findings, Place};
use super::message::{self, Seen};
use super::rules::Rule;
use super::scope::Scope;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// A check of an array inbox. Feed it pieces in order, of any size.
#[derive(Debug)]
pub struct ArrayLint {
    state: State,
    /// Where the next byte is.
    here: Place,
    /// The entry that is being read, or what of it is kept.
    entry: Vec<u8>,
    entry_start: Place,
    entries: u64,
    depth: usize,
    in_string: bool,
    escaped: bool,
    length: u64,
    /// How many bytes of a byte order mark were there.
    mark: usize,
    seen: Seen,
    findings: Findings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the bracket.
    Start,
    /// Before an entry; the bracket may close here only if there was none yet.
    Before { first: bool },
    /// In an entry.
    Inside,
    /// In an entry that is too large to keep.
    Large,
    /// Behind the closing bracket.
    Done,
    /// What follows cannot be made sense of.
    Lost,
}

impl Default for ArrayLint {
    fn default() -> Self {
        Self {
            state: State::Start,
            here: Place::default(),
            entry: Vec::new(),
            entry_start: Place::default(),
            entries: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            length: 0,
            mark: 0,
            seen: HashSet::new(),
            findings: Findings::default(),
        }
    }
}

impl ArrayLint {
    /// Looks at the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        // The byte that is looked at, and where those begin that are not yet counted.
        let (mut at, mut since) = (0, 0);
        while self.state != State::Lost && at < bytes.len() {
            match self.state {
                State::Inside | State::Large => {
                    let end = self.end_of_entry(bytes, at);
                    self.keep(&bytes[at..end.unwrap_or(bytes.len())]);
                    let Some(end) = end else {
                        at = bytes.len();
                        break;
                    };
                    self.entry_is_whole();
                    at = end;
                    if self.state == State::Lost {
                        break;
                    }
                    self.here = self.here.after(&bytes[since..at]);
                    since = at;
                    self.state = if bytes[at] == b',' { State::Before { first: false } } else { State::Done };
                    at += 1;
                }
                state if bytes[at].is_ascii_whitespace() && state != State::Lost => at += 1,
                state => {
                    self.here = self.here.after(&bytes[since..at]);
                    since = at;
                    self.state = self.between(state, bytes[at]);
                    if self.state != State::Inside {
                        at += 1;
                    }
                }
            }
        }
        self.here = self.here.after(&bytes[since.min(at)..at.min(bytes.len())]);
    }

    /// A byte between entries that is not white space.
    fn between(&mut self, state: State, byte: u8) -> State {
        match (state, byte) {
            (_, 0) => {
                self.report(Rule::ZeroBytes, "holds zero bytes".to_owned());
                State::Lost
            }
            (State::Start, b'[') => State::Before { first: true },
            (State::Start, _) if MARK.get(self.mark) == Some(&byte) => {
                self.mark += 1;
                if self.mark == MARK.len() {
                    self.here = Place::default();
                    self.report(Rule::ByteOrderMark, "starts with a byte order mark".to_owned());
                }
                State::Start
            }
            (State::Start, b'{') => {
                self.report(Rule::WrongShape, "is an object, or JSON Lines, not one array".to_owned());
                State::Lost
            }
            (State::Before { first: true }, b']') => State::Done,
            (State::Before { .. }, b',' | b']') => {
                let message = format!("has a comma too many before entry {}", self.entries + 1);
                self.report(Rule::NotJson, message);
                State::Lost
            }
            (State::Before { .. }, _) => {
                self.entries += 1;
                self.entry_start = self.here;
                (self.depth, self.in_string, self.escaped) = (0, false, false);
                State::Inside
            }
            (State::Done, _) => {
                self.report(Rule::NotJson, "has something behind the closing bracket".to_owned());
                State::Lost
            }
            _ => {
                self.report(Rule::NotJson, "does not begin with a bracket".to_owned());
                State::Lost
            }
        }
    }

    /// Where the entry ends in this piece: at the comma or bracket behind it.
    fn end_of_entry(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate().skip(from) {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b',' | b']' if self.depth == 0 => return Some(at),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.state == State::Large {
            return;
        }
        if self.entry.len() + bytes.len() > LARGEST {
            let (place, entry) = (Some(self.entry_start), Some(self.entries));
            self.findings.add(Rule::TooLarge, || Finding {
                rule: Rule::TooLarge,
                place,
                entry,
                path: None,
                message: format!("entry {} is larger than {} MiB", entry.unwrap_or(0), LARGEST >> 20),
            });
            self.state = State::Large;
            self.entry = Vec::new();
        } else {
            self.entry.extend_from_slice(bytes);
        }
    }

    fn entry_is_whole(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        if self.state == State::Large {
            return;
        }
        let number = self.entries;
        let path = format!(".[{}]", number - 1);
        match std::str::from_utf8(&entry) {
            Ok(text) => {
                let mut scope =
                    Scope::new(text.trim_end(), self.entry_start, Some(number), path, &mut self.findings);
                if message::check_entry(&mut scope, &mut self.seen).is_err() {
                    self.state = State::Lost;
                }
            }
            Err(error) => {
                let place = self.entry_start.after(&entry[..error.valid_up_to()]);
                self.findings.add(Rule::NotUtf8, || Finding {
                    rule: Rule::NotUtf8,
                    place: Some(place),
                    entry: Some(number),
                    path: Some(path),
                    message: format!("entry {number} is not UTF-8"),
                });
            }
        }
    }

    fn report(&mut self, rule: Rule, message: String) {
        let place = Some(self.here);
        self.findings.add(rule, || Finding { rule, place, entry: None, path: None, message });
    }

    /// What was found.
    pub fn finish(mut self) -> Findings {
        match self.state {
            _ if self.length == 0 => self.report(Rule::Empty, "is empty, not even `[]`".to_owned()),
            State::Start if self.here == Place::default() || self.findings.counts().sum() == 0 => {
                self.report(Rule::Empty, "holds white space only, not even `[]`".to_owned());
            }
            State::Before { .. } | State::Inside | State::Large => {
                let message = match self.entries {
                    0 => "ends too early: its bracket is never closed".to_owned(),
                    last => format!("ends too early, in or behind entry {last}"),
                };
                if self.entry.contains(&0) {
                    self.report(Rule::ZeroBytes, "ends in zero bytes".to_owned());
                }
                self.report(Rule::NotJson, message);
            }
            _ => {}
        }
        self.findings
    }
}
