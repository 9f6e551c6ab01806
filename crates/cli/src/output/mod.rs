//! Where answers go: stdout for what was asked, stderr for everything else.

pub(crate) mod brief;
pub(crate) mod closing;
mod fit;
mod frame;
pub(crate) mod ids;
pub(crate) mod message;
pub(crate) mod outlet;
pub(crate) mod pager;
pub(crate) mod paint;
pub(crate) mod private;
pub(crate) mod progress;
pub(crate) mod safe;
mod screen;
mod sink;
pub(crate) mod table;
pub(crate) mod times;
pub(crate) mod trace;
pub(crate) mod waiting;
mod warned;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};
use std::mem;
use std::sync::Mutex;

use atm_office::progress::Intake;
use serde::Serialize;

use crate::args::{ColorChoice, Global};
use paint::Paint;
use progress::Progress;
use screen::Screen;
use sink::Sink;
use table::{Cell, Column};
use times::Times;
use waiting::Waiting;

/// The two streams, and how to write to them.
#[derive(Debug)]
pub(crate) struct Out {
    stdout: Sink,
    pub(crate) json: bool,
    quiet: bool,
    pub(crate) paint: Paint,
    pub(crate) times: Times,
    screen: Screen,
    may_page: bool,
    /// What was warned of, for the document that follows.
    warnings: Vec<String>,
}

impl Out {
    /// Keeps what is written, for [`Out::take_kept`].
    pub(crate) fn keeping() -> Self {
        Self {
            stdout: Sink::Kept(Vec::new()),
            json: false,
            quiet: false,
            paint: Paint::new(false),
            times: Times::new(false),
            screen: Screen::default(),
            may_page: false,
            warnings: Vec::new(),
        }
    }

    /// What was kept since the last time.
    pub(crate) fn take_kept(&mut self) -> String {
        self.stdout.take_kept()
    }

    pub(crate) fn new(global: &Global, color: ColorChoice) -> Self {
        paint::choose_for_stderr(color);
        Self {
            stdout: Sink::stdout(),
            json: global.json,
            quiet: global.quiet,
            paint: Paint::chosen(color, io::stdout().is_terminal()),
            times: Times::new(global.utc),
            screen: Screen::of_stdout(),
            may_page: !global.no_pager && !global.json,
            warnings: Vec::new(),
        }
    }

    /// From here on the answer is for looking at: on a terminal, what is longer than the screen goes to a pager. Not for
    /// streams, which are shown as they come, nor for mail that counts as read once it is shown.
    pub(crate) fn page(&mut self) {
        if self.may_page && self.screen.rows.is_some() {
            self.stdout.hold();
        }
    }

    /// From here to [`Out::finish`] the answer replaces what is on the terminal: it is cut where the screen ends, which may
    /// have another size than before.
    pub(crate) fn begin_frame(&mut self) -> io::Result<()> {
        self.screen = Screen::of_stdout();
        self.stdout.flush()?;
        self.stdout.begin_frame();
        Ok(())
    }

    /// Fails if nobody could see what is written: to be asked before what is shown counts as seen.
    pub(crate) fn check_open(&self) -> io::Result<()> {
        self.stdout.check_open()
    }

    /// What was asked for.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.stdout, "{}", line.as_ref())
    }

    /// What is nice to know; `--quiet` leaves it out.
    pub(crate) fn note(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.line(line) }
    }

    /// Rows in columns that fit the terminal.
    pub(crate) fn table(
        &mut self,
        columns: &[Column],
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> io::Result<()> {
        let rows: Vec<Vec<Cell>> = rows.into_iter().collect();
        let lines = table::lines(columns, &rows, self.screen.columns, self.paint);
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// A text behind something that stands before its first line; the other lines are below that text.
    pub(crate) fn hanging(&mut self, before: &str, text: &str) -> io::Result<()> {
        let indent = fit::width(&fit::without_colours(before));
        let text = safe::line(text);
        let Some(columns) = self.screen.columns.filter(|columns| *columns > indent + 20) else {
            return self.line(format!("{before}{text}"));
        };
        for (at, piece) in fit::wrap(&text, columns - indent).iter().enumerate() {
            let before = if at == 0 { before.to_owned() } else { " ".repeat(indent) };
            self.line(format!("{before}{piece}"))?;
        }
        Ok(())
    }

    /// The same, of what is nice to know; `--quiet` leaves it out.
    pub(crate) fn hanging_note(&mut self, before: &str, text: &str) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.hanging(before, text) }
    }

    /// A text behind something that stands before it, cut where the line ends.
    pub(crate) fn cut(&mut self, before: &str, text: &str) -> io::Result<()> {
        let used = fit::width(&fit::without_colours(before));
        let room = self.screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(used).max(1));
        self.line(format!("{before}{}", fit::cut(&safe::line(text), room)))
    }

    /// Says how many were left out, and how to see them.
    pub(crate) fn more(&mut self, left_out: usize, how: &str) -> io::Result<()> {
        match left_out {
            0 => Ok(()),
            left_out => self.line(self.paint.dim(&format!("… {left_out} more: {how}"))),
        }
    }

    /// Whether only what was asked for is to be said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A bar for long work: on a terminal, unless somebody wants quiet or JSON.
    pub(crate) fn progress(&self, what: &str) -> Progress {
        Progress::new(what, self.shows_progress())
    }

    /// A quiet line while something takes long: on a terminal, unless somebody wants quiet or JSON.
    pub(crate) fn waiting(&self, what: &str) -> Waiting {
        Waiting::new(what, self.shows_progress())
    }

    /// For an office to say how far it is with much mail, whatever the command is. Where nobody is to be shown anything, it
    /// is found out when there is something to show.
    pub(crate) fn intake_observer(&self) -> impl Fn(&Intake<'_>) + Send + Sync + 'static {
        let is_wanted = !self.json && !self.quiet;
        let shown: Mutex<Option<Progress>> = Mutex::new(None);
        move |intake| {
            let Ok(mut shown) = shown.lock() else { return };
            if !is_wanted || intake.done >= intake.of {
                // What comes next is written where the bar was.
                *shown = None;
                return;
            }
            let new = || {
                let what = format!("taking in mail for {}@{}", intake.name, intake.team);
                Progress::new(&what, io::stderr().is_terminal())
            };
            shown.get_or_insert_with(new).at(intake.done as u64, intake.of as u64);
        }
    }

    fn shows_progress(&self) -> bool {
        !self.json && !self.quiet && io::stderr().is_terminal()
    }

    /// One JSON document. An object that has no `warnings` gets those that were said so far, if any.
    pub(crate) fn document<T: Serialize + ?Sized>(&mut self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        let text = warned::with_warnings(text, &mem::take(&mut self.warnings))?;
        writeln!(self.stdout, "{}", safe::json(&text))
    }

    /// One line of JSON Lines, flushed at once for the reader of the stream.
    pub(crate) fn json_line<T: Serialize + ?Sized>(&mut self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        writeln!(self.stdout, "{}", safe::json_line(&text))?;
        self.stdout.flush()
    }

    /// What may help beside the answer, on a terminal: nobody else reads it.
    pub(crate) fn hint(&mut self, hint: &str) -> io::Result<()> {
        if self.quiet || !io::stderr().is_terminal() {
            return Ok(());
        }
        self.stdout.flush()?;
        let _ = writeln!(io::stderr(), "hint: {}", safe::lines(hint));
        Ok(())
    }

    /// Something that went on beside the answer.
    pub(crate) fn warn(&mut self, warning: &str) -> io::Result<()> {
        self.stdout.flush()?;
        if self.json {
            self.warnings.push(warning.to_owned());
        }
        waiting::clear();
        let word = paint::of_stderr().attention("warning:");
        // If nobody listens there, the answer still counts.
        let _ = writeln!(io::stderr(), "{word} {}", safe::lines(warning));
        Ok(())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)
    }

    /// Gives up what was written and could not be flushed.
    pub(crate) fn discard(&mut self) {
        self.stdout.discard();
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.stdout.release(self.screen)
    }
}
