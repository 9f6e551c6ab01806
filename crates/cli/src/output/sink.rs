//! What stands before stdout: a buffer, or a text that is held until it is known whether it needs a pager.

use std::io::{self, BufWriter, Stdout, Write};
use std::mem;

use super::screen::Screen;
use super::{frame, outlet, pager};

/// Where stdout goes.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout(BufWriter<Stdout>),
    /// For stdout, once all of it is known.
    Held(Vec<u8>),
    /// For stdout in place of what is on the terminal, once all of it is known.
    Frame(Vec<u8>),
    Kept(Vec<u8>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Held(kept) | Self::Frame(kept) | Self::Kept(kept) => kept.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Held(_) | Self::Frame(_) | Self::Kept(_) => Ok(()),
        }
    }
}

impl Sink {
    pub(super) fn stdout() -> Self {
        Self::Stdout(BufWriter::new(io::stdout()))
    }

    /// Holds what is written from now on, until it is released.
    pub(super) fn hold(&mut self) {
        if matches!(self, Self::Stdout(_)) && self.flush().is_ok() {
            *self = Self::Held(Vec::new());
        }
    }

    /// Holds what is written from now on, for the terminal as a whole.
    pub(super) fn begin_frame(&mut self) {
        if matches!(self, Self::Stdout(_)) {
            *self = Self::Frame(Vec::new());
        }
    }

    /// Writes what was held: to the pager, if it is longer than the screen.
    pub(super) fn release(&mut self, screen: Screen) -> io::Result<()> {
        if let Self::Frame(text) = self {
            let text = frame::of(&String::from_utf8_lossy(text), screen);
            *self = Self::stdout();
            self.write_all(text.as_bytes())?;
            return self.flush();
        }
        let Self::Held(text) = self else { return self.flush() };
        let text = mem::take(text);
        *self = Self::stdout();
        let is_long = pager::is_needed(&String::from_utf8_lossy(&text), screen);
        let pager = Some(()).filter(|()| is_long).and_then(|()| pager::of_environment());
        if let Some(pager) = pager
            && pager::show(&pager, &text)?
        {
            return Ok(());
        }
        self.write_all(&text)?;
        self.flush()
    }

    pub(super) fn take_kept(&mut self) -> String {
        match self {
            Self::Stdout(_) | Self::Held(_) | Self::Frame(_) => String::new(),
            Self::Kept(kept) => String::from_utf8_lossy(&mem::take(kept)).into_owned(),
        }
    }

    pub(super) fn check_open(&self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => outlet::check(stdout.get_ref(), "stdout"),
            Self::Held(_) | Self::Frame(_) => outlet::check(io::stdout(), "stdout"),
            Self::Kept(_) => Ok(()),
        }
    }

    pub(super) fn discard(&mut self) {
        match self {
            Self::Stdout(stdout) => {
                let unwritten = mem::replace(stdout, BufWriter::new(io::stdout()));
                drop(unwritten.into_parts());
            }
            Self::Held(text) | Self::Frame(text) => text.clear(),
            Self::Kept(_) => {}
        }
    }
}
