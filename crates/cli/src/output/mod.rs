//! Where answers go: stdout for what was asked, stderr for everything else.

pub(crate) mod brief;
pub(crate) mod message;
pub(crate) mod outlet;
pub(crate) mod paint;
pub(crate) mod private;
pub(crate) mod progress;
pub(crate) mod safe;
pub(crate) mod table;

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::mem;

use serde::Serialize;

use crate::args::ColorChoice;
use paint::Paint;
use progress::Progress;

/// The two streams, and how to write to them.
#[derive(Debug)]
pub(crate) struct Out {
    stdout: Sink,
    pub(crate) json: bool,
    quiet: bool,
    pub(crate) paint: Paint,
}

/// Where stdout goes.
#[derive(Debug)]
enum Sink {
    Stdout(BufWriter<Stdout>),
    Kept(Vec<u8>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Kept(kept) => kept.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Kept(_) => Ok(()),
        }
    }
}

impl Out {
    /// Keeps what is written, for [`Out::take_kept`].
    pub(crate) fn keeping() -> Self {
        Self { stdout: Sink::Kept(Vec::new()), json: false, quiet: false, paint: Paint::new(false) }
    }

    /// What was kept since the last time.
    pub(crate) fn take_kept(&mut self) -> String {
        match &mut self.stdout {
            Sink::Stdout(_) => String::new(),
            Sink::Kept(kept) => String::from_utf8_lossy(&mem::take(kept)).into_owned(),
        }
    }

    pub(crate) fn new(json: bool, quiet: bool, color: ColorChoice) -> Self {
        let on = match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            }
        };
        Self { stdout: Sink::Stdout(BufWriter::new(io::stdout())), json, quiet, paint: Paint::new(on) }
    }

    /// Fails if nobody could see what is written: to be asked before what is shown counts as seen.
    pub(crate) fn check_open(&self) -> io::Result<()> {
        match &self.stdout {
            Sink::Stdout(stdout) => outlet::check(stdout.get_ref(), "stdout"),
            Sink::Kept(_) => Ok(()),
        }
    }

    /// What was asked for.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.stdout, "{}", line.as_ref())
    }

    /// What is nice to know; `--quiet` leaves it out.
    pub(crate) fn note(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.line(line) }
    }

    /// A bar for long work: on a terminal, unless somebody wants quiet or JSON.
    pub(crate) fn progress(&self, what: &str) -> Progress {
        let shown = !self.json && !self.quiet && io::stderr().is_terminal();
        Progress::new(what, shown)
    }

    /// One JSON document.
    pub(crate) fn document<T: Serialize + ?Sized>(&mut self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        writeln!(self.stdout, "{}", safe::json(&text))
    }

    /// One line of JSON Lines, flushed at once for the reader of the stream.
    pub(crate) fn json_line<T: Serialize + ?Sized>(&mut self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        writeln!(self.stdout, "{}", safe::json_line(&text))?;
        self.stdout.flush()
    }

    /// Something that went on beside the answer.
    pub(crate) fn warn(&mut self, warning: &str) -> io::Result<()> {
        self.stdout.flush()?;
        // If nobody listens there, the answer still counts.
        let _ = writeln!(io::stderr(), "warning: {}", safe::lines(warning));
        Ok(())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)
    }

    /// Gives up what was written and could not be flushed.
    pub(crate) fn discard(&mut self) {
        if let Sink::Stdout(stdout) = &mut self.stdout {
            let unwritten = mem::replace(stdout, BufWriter::new(io::stdout()));
            drop(unwritten.into_parts());
        }
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}
