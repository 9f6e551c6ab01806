//! The terminal: how wide and how high it is.

use std::env;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// What is known of the terminal that stdout goes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    /// How many columns a line may take; none where nothing limits it.
    pub(crate) columns: Option<usize>,
    /// How many lines it shows at once; none where stdout is no terminal.
    pub(crate) rows: Option<usize>,
}

impl Screen {
    /// Of stdout. `COLUMNS` counts also where it is no terminal, so that somebody can ask for it.
    pub(crate) fn of_stdout() -> Self {
        let said = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
        let columns = said.filter(|columns| *columns > 0);
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Self { columns, rows: None };
        }
        let (wide, high) = size(&stdout).unwrap_or((80, 24));
        Self { columns: Some(columns.unwrap_or(wide)), rows: Some(high) }
    }
}

/// The columns and rows of a terminal that says them.
fn size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

/// How wide the terminal is that stderr goes to.
pub(crate) fn width_of_stderr() -> usize {
    size(io::stderr()).map_or(80, |(columns, _)| columns)
}
