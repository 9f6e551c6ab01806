//! An export that can be imported: one JSON document, or JSON Lines.

use std::io::{self, Write};

use atm_wire::json::{Laid, Style};
use atm_wire::team::TeamConfig;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Exported, Head, Writer};

/// One document, written as it comes.
pub(super) struct Document<'a> {
    out: &'a mut dyn Write,
    is_first: bool,
}

impl<'a> Document<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_first: true }
    }

    fn element<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.is_first, false) { "" } else { "," };
        let text = Style::two_spaces("").render(value)?;
        write!(self.out, "{comma}\n    {}", Style::two_spaces("    ").render(&Laid(&text))?)
    }
}

impl Writer for Document<'_> {
    fn head(&mut self, head: &Head, _: &TeamConfig) -> io::Result<()> {
        let text = serde_json::to_string(head)?;
        let text = Style::two_spaces("").render(&Laid(&text))?;
        // Tasks and messages follow in the same object.
        write!(self.out, "{}", text.strip_suffix("\n}").unwrap_or(&text))
    }

    fn tasks(&mut self, tasks: &[Box<RawValue>]) -> io::Result<()> {
        write!(self.out, ",\n  \"tasks\": [")?;
        tasks.iter().try_for_each(|task| self.element(task))?;
        write!(self.out, "\n  ],\n  \"messages\": [")?;
        self.is_first = true;
        Ok(())
    }

    fn mail(&mut self, _: &str, messages: &[Exported]) -> io::Result<()> {
        messages.iter().try_for_each(|message| self.element(message))
    }

    fn end(&mut self) -> io::Result<()> {
        write!(self.out, "\n  ]\n}}\n")
    }
}

/// A line each, under a key that says what it is: the team, its tasks, its messages.
pub(super) struct Lines<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Lines<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }

    fn line<T: Serialize + ?Sized>(&mut self, kind: &str, value: &T) -> io::Result<()> {
        writeln!(self.out, "{{\"{kind}\":{}}}", serde_json::to_string(value)?)
    }
}

impl Writer for Lines<'_> {
    fn head(&mut self, head: &Head, _: &TeamConfig) -> io::Result<()> {
        self.line("team", head)
    }

    fn tasks(&mut self, tasks: &[Box<RawValue>]) -> io::Result<()> {
        tasks.iter().try_for_each(|task| self.line("task", task))
    }

    fn mail(&mut self, _: &str, messages: &[Exported]) -> io::Result<()> {
        messages.iter().try_for_each(|message| self.line("message", message))
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}
