//! A quiet line on the terminal while a command waits, or works for long.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::screen::width_of_stderr;
use super::{fit, safe};

/// What takes less than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether a line is on the terminal.
static SHOWN: Mutex<bool> = Mutex::new(false);

/// A line on stderr, for as long as this lives. It comes after a moment, so that short work does not flicker.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Waiting {
    pub(crate) fn new(what: &str, shown: bool) -> Self {
        if !shown {
            return Self::default();
        }
        let line = format!("{}…", safe::line(what));
        let line = fit::cut(&line, width_of_stderr().saturating_sub(1)).into_owned();
        let (end, ended) = mpsc::channel::<()>();
        let draw = move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                draw(&line);
                // Until it is dropped.
                let _ = ended.recv();
            }
        };
        let drawer = thread::Builder::new().name("waiting".to_owned()).spawn(draw);
        Self { drawer: drawer.ok().map(|drawer| (end, drawer)) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((end, drawer)) = self.drawer.take() {
            drop(end);
            let _ = drawer.join();
            clear();
        }
    }
}

/// Draws a line in the place of the one that is shown.
pub(super) fn draw(line: &str) {
    if let Ok(mut shown) = SHOWN.lock() {
        // If nobody can be shown it, the work goes on all the same.
        let _ = write!(io::stderr(), "\r\x1b[K{line}").and_then(|()| io::stderr().flush());
        *shown = true;
    }
}

/// Takes the line away: before anything else is written there, and at the end of the process.
pub(crate) fn clear() {
    if let Ok(mut shown) = SHOWN.lock()
        && *shown
    {
        let _ = write!(io::stderr(), "\r\x1b[K").and_then(|()| io::stderr().flush());
        *shown = false;
    }
}
