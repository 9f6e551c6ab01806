//! How a JSON text is laid out, so that what is added looks like what is there.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io;

/// The layout of one value inside a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Style {
    /// `{"a":1,"b":2}`
    Compact,
    /// `{"a": 1, "b": 2}`, as Python's `json.dumps` has it
    Spaced,
    /// One member a line.
    Pretty {
        /// What stands before the value's own lines.
        base: String,
        /// What one level deeper adds.
        unit: String,
        /// `\n` or `\r\n`.
        newline: &'static str,
    },
}

impl Style {
    /// Two spaces, as real clients write their files.
    pub fn two_spaces(base: &str) -> Self {
        Self::Pretty { base: base.to_owned(), unit: "  ".to_owned(), newline: "\n" }
    }

    /// The layout of `value` (an object or array of a document), which stands behind `base`.
    pub(crate) fn of_value(value: &str, base: &str) -> Self {
        let gap = opening_gap(value);
        match indent_of(gap) {
            Some(inner) => Self::Pretty {
                base: base.to_owned(),
                unit: inner.strip_prefix(base).filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned(),
                newline: newline_of(gap),
            },
            None if value.contains("\": ") && !value.contains("\":\"") => Self::Spaced,
            None => Self::Compact,
        }
    }

    /// `value` as JSON in this layout.
    pub fn render<T: Serialize + ?Sized>(&self, value: &T) -> Result<String, serde_json::Error> {
        let mut out = Vec::new();
        match self {
            Self::Compact => value.serialize(&mut Serializer::with_formatter(&mut out, CompactFormatter))?,
            Self::Spaced => value.serialize(&mut Serializer::with_formatter(&mut out, SpacedFormatter))?,
            Self::Pretty { unit, .. } => {
                let formatter = PrettyFormatter::with_indent(unit.as_bytes());
                value.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
            }
        }
        // serde_json writes UTF-8 and nothing else.
        let text = String::from_utf8(out).unwrap_or_default();
        Ok(match self {
            Self::Pretty { base, newline, .. } if !base.is_empty() || *newline != "\n" => {
                text.replace('\n', &format!("{newline}{base}"))
            }
            _ => text,
        })
    }
}

/// The white space after the opening bracket of `value`.
pub(crate) fn opening_gap(value: &str) -> &str {
    let inner = value.get(1..).unwrap_or_default();
    &inner[..inner.len() - inner.trim_start().len()]
}

/// The indentation that a gap ends with, if it has a line break.
pub(crate) fn indent_of(gap: &str) -> Option<&str> {
    gap.rfind('\n').map(|at| &gap[at + 1..])
}

/// The white space at the start of the line on which `at` stands.
pub(crate) fn line_indent(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..at];
    &rest[..rest.len() - rest.trim_start().len()]
}

pub(crate) fn newline_of(gap: &str) -> &'static str {
    if gap.contains("\r\n") { "\r\n" } else { "\n" }
}

struct SpacedFormatter;

impl Formatter for SpacedFormatter {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
