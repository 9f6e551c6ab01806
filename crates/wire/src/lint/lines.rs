//! Checking a log inbox in pieces, line by line.

use std::collections::HashSet;

use super::LARGEST;
use super::finding::{Finding, Findings, Place};
use super::message::{self, Seen};
use super::rules::Rule;
use super::scope::Scope;

/// A check of a log inbox. Feed it pieces in order, of any size.
#[derive(Debug)]
pub struct LogLint {
    /// Whose inbox it is, where that is known.
    name: Option<String>,
    line: Vec<u8>,
    /// The line is larger than may be kept.
    large: bool,
    number: u64,
    seen: Seen,
    findings: Findings,
}

impl LogLint {
    /// A check of the inbox of `name`, if one knows whose it is.
    pub fn new(name: Option<String>) -> Self {
        Self {
            name,
            line: Vec::new(),
            large: false,
            number: 1,
            seen: HashSet::new(),
            findings: Findings::default(),
        }
    }

    /// Looks at the next piece.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.keep(&bytes[..end]);
            self.line_is_whole();
            self.number += 1;
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.large || self.line.len() + bytes.len() > LARGEST {
            self.large = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn line_is_whole(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.large) {
            let message = format!("line {} is larger than {} MiB", self.number, LARGEST >> 20);
            self.report(Rule::TooLarge, message);
            return;
        }
        if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            self.report(Rule::ByteOrderMark, "starts with a byte order mark".to_owned());
            line.drain(..3);
        }
        if line.contains(&0) {
            let message = format!("line {} holds zero bytes", self.number);
            self.report(Rule::ZeroBytes, message);
            return;
        }
        let start = Place { line: self.number, column: 1 };
        match std::str::from_utf8(&line) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => {
                let text = text.trim_end();
                let mut scope = Scope::new(text, start, Some(self.number), String::new(), &mut self.findings);
                message::check_line(&mut scope, self.name.as_deref(), &mut self.seen);
            }
            Err(_) => {
                let message = format!("line {} is not UTF-8", self.number);
                self.report(Rule::NotUtf8, message);
            }
        }
    }

    fn report(&mut self, rule: Rule, message: String) {
        let (place, entry) = (Some(Place { line: self.number, column: 1 }), Some(self.number));
        self.findings.add(rule, || Finding { rule, place, entry, path: None, message });
    }

    /// What was found.
    pub fn finish(mut self) -> Findings {
        if self.large || self.line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let message = format!("line {} has no newline: it is no message yet", self.number);
            self.report(Rule::LineTorn, message);
        }
        self.findings
    }
}
