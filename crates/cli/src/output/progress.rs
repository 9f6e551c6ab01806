//! How far long work has come, on one line of the terminal.

use std::time::{Duration, Instant};

use super::{safe, waiting};

/// Work that takes less shows nothing.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often the line is drawn anew.
const EVERY: Duration = Duration::from_millis(100);
const WIDTH: u64 = 30;

/// A bar on stderr, which is wiped out on drop.
#[derive(Debug)]
pub(crate) struct Progress {
    what: String,
    shown: bool,
    started: Instant,
    drawn: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(what: &str, shown: bool) -> Self {
        Self { what: what.to_owned(), shown, started: Instant::now(), drawn: None }
    }

    /// So much of so much is done.
    pub(crate) fn at(&mut self, done: u64, of: u64) {
        let is_due = self.drawn.map_or(self.started.elapsed() > PATIENCE, |drawn| drawn.elapsed() > EVERY);
        if self.shown && is_due {
            let line = bar(&safe::line(&self.what), done, of);
            waiting::draw(&line);
            self.drawn = Some(Instant::now());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            waiting::clear();
        }
    }
}

fn bar(what: &str, done: u64, of: u64) -> String {
    let done = done.min(of);
    let part = |of_it: u64| done.saturating_mul(of_it).checked_div(of).unwrap_or(of_it);
    let full = usize::try_from(part(WIDTH)).unwrap_or_default();
    let rest = usize::try_from(WIDTH).unwrap_or_default().saturating_sub(full);
    format!("{what} [{}{}] {}%", "#".repeat(full), "-".repeat(rest), part(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_never_more_than_full() {
        assert_eq!(bar("x", 0, 4), format!("x [{}] 0%", "-".repeat(30)));
        assert_eq!(bar("x", 1, 2), format!("x [{}{}] 50%", "#".repeat(15), "-".repeat(15)));
        for (done, of) in [(9, 2), (0, 0), (u64::MAX, u64::MAX)] {
            assert!(bar("x", done, of).starts_with("x [") && bar("x", done, of).len() <= 40, "{done} {of}");
        }
    }
}
